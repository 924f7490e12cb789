"""Opposites, as they turn up where a summary gets a text wrong. Our own table; of its first 151 families WordNet 3.1 has a pair of 98, and none on one side."""

from __future__ import annotations

from touchstone.scorers.summary.conflicts.wording.clauses import listed

#: One family a line: words of one side | words of the other. A word may stand in several families. Words that often differ without a conflict
#: (big, good, long, new) have none, or only in their comparatives.
FAMILIES = """
increase increases increased increasing rise rises rose risen rising grow grew grown grows growing growth climb climbed raise raised raises raising
   soar soared surge surged expand expanded | decrease decreases decreased decreasing fall fell fallen falls falling decline declined declines
   declining drop dropped drops dropping reduce reduced reduces reducing reduction lower lowered lowering shrink shrank shrunk dwindle dwindled plunge
   plunged cut diminish diminished
strengthen strengthened | weaken weakened
accelerate accelerates accelerated accelerating hasten hastened sped | decelerate decelerated slow slows slowed slowing delay delayed
improve improved improves improving improvement better | worsen worsened worsens worsening deteriorate deteriorated deterioration worse
approve approved approves approval accept accepted accepts acceptance adopt adopted endorse endorsed grant granted pass passed allow allowed | reject
   rejected rejects rejection refuse refused dismiss dismissed deny denied veto vetoed
uphold upheld affirm affirmed | overturn overturned reverse reversed quash quashed dismiss dismissed reject rejected
advance advanced advancing advances | retreat retreated retreating retreats recede receded receding
accept accepted accepts accepting agree agreed agrees consent consented | decline declined declines declining refuse refused refuses
continue continued continues continuing | stopped discontinue discontinued discontinuing end ended cease ceased
urgent urgently | routine routinely elective
clear free | filled full
on | off
nobody none nothing | everybody everyone everything all
support supported supports back backed favour favor favoured favored | oppose opposed opposes opposition
allow allowed allows permit permitted permits legalise legalised legalize legalized authorise authorised authorize authorized | ban banned prohibit
   prohibited prohibits forbid forbidden forbade outlaw outlawed prevent prevented
confirm confirmed | refute refuted disprove disproved
admit admitted admits acknowledge acknowledged | deny denied denies
agree agreed agrees | disagree disagreed disagrees
include included includes including | exclude excluded excludes excluding omit omitted
start started starts starting begin began begun begins initiate initiated commence commenced resume resumed introduce introduced | stop stopped stops
   stopping discontinue discontinued halt halted cease ceased end ended withdrawn suspend suspended
open opened opens reopen reopened | close closed closes shut closing
win won wins winning | lose lost loses losing
gain gained | lose lost
succeed succeeded succeeds success successful successfully | fail failed fails failure unsuccessful unsuccessfully
hire hired recruit recruited appoint appointed | fire fired dismiss dismissed sack sacked
arrive arrived arrives | depart departed departs
enter entered | exit exited leave left
join joined | leave left quit
buy bought buys purchase purchased | sell sold sells
import imported imports | export exported exports
lend lent | borrow borrowed
create created build built construct constructed | destroy destroyed demolish demolished
attack attacked | defend defended
remember remembered | forget forgot forgotten
survive survived survives alive | die died dies dead
hurt injured wounded | unhurt unharmed uninjured unscathed unwounded
convict convicted guilty | acquit acquitted innocent
plaintiff plaintiffs claimant claimants | defendant defendants
landlord landlords | tenant tenants
employer employers | employee employees
buyer buyers | seller sellers vendor
teacher teachers | student students pupil pupils
majority | minority
minimum minimal | maximum maximal
profit profits profitable | loss losses unprofitable
surplus | deficit
credit credited | debit debited
benefit benefits beneficial | harm harms harmful
advantage advantages | disadvantage disadvantages
strength strengths | weakness weaknesses
cause causes caused causing | prevent prevents prevented
malignant | benign
positive | negative
acute | chronic
systolic | diastolic
hypertension hypertensive | hypotension hypotensive
tachycardia tachycardic | bradycardia bradycardic
hyperglycemia hyperglycaemia | hypoglycemia hypoglycaemia
hyperkalemia hyperkalaemia | hypokalemia hypokalaemia
hypernatremia hypernatraemia | hyponatremia hyponatraemia
hyperthyroidism | hypothyroidism
febrile | afebrile
symptomatic | asymptomatic
stable | unstable
normal | abnormal elevated
inpatient inpatients | outpatient outpatients
proximal | distal
anterior | posterior
upper | lower
superior | inferior
inhale inhaled | exhale exhaled
intravenous intravenously | oral orally
placebo | drug treatment intervention
male males men man boy boys | female females women woman girl girls
adult adults | child children
praise praised praises commend commended | criticise criticised criticises criticize criticized criticizes critical condemn condemned
enable enabled enables enabling activate activated activates | disable disabled disables disabling deactivate deactivated deactivates
top | bottom
lengthen lengthened extend extended | shorten shortened curtail curtailed
widen widened | narrow narrowed
promoted promotion | relegated relegation demoted
attend attended attends | miss missed misses skip skipped
appear appeared appears | disappear disappeared disappears vanish vanished
connect connected | disconnect disconnected
lock locked | unlock unlocked
tighten tightened tighter | loosen loosened relax relaxed looser
harmless | harmful
brighter brighten | darker dimmer dim dimmed
heat heated | cool cooled
contaminated polluted dirty | clean unpolluted uncontaminated
rescued saved | abandoned
north northern northward | south southern southward
east eastern eastward | west western westward
northeast northeastern | southwest southwestern
northwest northwestern | southeast southeastern
inside indoor indoors within | outside outdoor outdoors
urban | rural
public publicly | private privately
internal | external
local | global
upstream | downstream
horizontal horizontally | vertical vertically
front | rear
above | below beneath
over | under
before prior | after following
earlier sooner | later
first | last
morning | evening
day | night
early | late
more | less fewer
most | least fewest
higher | lower
high | low
highest | lowest
larger bigger greater | smaller
largest biggest greatest | smallest
longer | shorter
longest | shortest
older | younger newer
oldest | youngest newest
elderly | young
faster quicker | slower
fastest quickest | slowest
stronger | weaker
strongest | weakest
heavier | lighter
hotter warmer | colder cooler
warm hot | cold cool
wet | dry
deep deeper | shallow shallower
thick thicker | thin thinner
wide wider | narrow narrower
hard harder difficult | easy easier
cheap cheaper inexpensive | expensive dearer costly
rich richer wealthy | poor poorer
best | worst
strong | weak
fast quick quickly | slow slowly
full | empty
common frequent frequently often | rare rarely infrequent infrequently seldom
always | never rarely
permanent permanently | temporary temporarily
mandatory compulsory obligatory required | voluntary optional
legal lawful | illegal unlawful
constitutional | unconstitutional
safe | dangerous hazardous unsafe
true | false
correct | incorrect wrong
accurate | inaccurate
sufficient adequate | insufficient inadequate
effective | ineffective
optimistic | pessimistic
left-wing | right-wing
democratic democrat democrats | republican republicans
military | civilian civilians
unanimous unanimously | narrowly
ahead | behind
for favour favor | against
present | absent
alone | together
active | inactive passive
visible | invisible hidden
dominant | recessive
voluntary voluntarily deliberate deliberately intentional intentionally | accidental accidentally involuntary unintentional
sober | drunk intoxicated
pregnant | nonpregnant
"""
#: Between these the rest decides: most that is said of the one is not said of the other, so they alone are no conflict.
PEOPLE = listed(
    """male males men man boy boys female females women woman girl girls adult adults child children teacher teachers student students pupil pupils placebo
    drug treatment intervention"""
)
#: Both clauses must have their two sides in the same order: "A is larger than B" is "B is smaller than A".
RELATIONAL = listed(
    """before after prior following earlier later sooner more less fewer higher lower larger bigger greater smaller longer shorter older younger newer faster
    quicker slower stronger weaker heavier lighter hotter warmer colder cooler deeper shallower thicker thinner wider narrower harder easier cheaper
    dearer richer poorer better worse above below beneath north south east west northeast southwest northwest southeast northern southern eastern western
    upstream downstream over under buy bought sell sold lend lent borrow borrowed ahead behind inside outside"""
)
COMPARATIVES = listed(
    """more less fewer higher lower larger bigger greater smaller longer shorter older younger newer faster quicker slower stronger weaker heavier lighter
    hotter warmer colder cooler deeper shallower thicker thinner wider narrower harder easier cheaper dearer richer poorer better worse earlier later
    sooner"""
)
#: Words whose complement, up to a mark, may stand first: "before lunch, they voted".
TEMPORAL = frozenset({"before", "after", "prior", "following"})
