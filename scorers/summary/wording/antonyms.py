"""Pairs of opposites, as they turn up where a summary gets a text wrong. Our own table; checked once against WordNet's antonyms."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Literal, NamedTuple

from touchstone.scorers.summary.lexical import stem
from touchstone.scorers.summary.wording.clauses import Clause

#: One family a line: words of one side | words of the other. A word may stand in several families. Words that often differ without a conflict
#: (big, good, long, new) have none, or only in their comparatives.
_FAMILIES = """
increase increases increased increasing rise rises rose risen rising grow grew grown grows growing growth climb climbed raise raised raises raising soar soared surge surged expand expanded
 | decrease decreases decreased decreasing fall fell fallen falls falling decline declined declines declining drop dropped drops dropping reduce reduced reduces reducing reduction lower
   lowered lowering shrink shrank shrunk dwindle dwindled plunge plunged cut diminish diminished
strengthen strengthened | weaken weakened
accelerate accelerated | decelerate decelerated slow slowed
improve improved improves improving improvement better | worsen worsened worsens worsening deteriorate deteriorated deterioration worse
approve approved approves approval accept accepted accepts acceptance adopt adopted endorse endorsed grant granted pass passed allow allowed
 | reject rejected rejects rejection refuse refused dismiss dismissed deny denied veto vetoed
uphold upheld affirm affirmed | overturn overturned reverse reversed quash quashed dismiss dismissed reject rejected
advance advanced advancing advances | retreat retreated retreating retreats recede receded receding
accept accepted accepts accepting | decline declined declines declining
continue continued continues continuing | stopped discontinue discontinued discontinuing end ended cease ceased
urgent urgently | routine routinely elective
clear free | filled full
switched-on | switched-off
on | off
nobody none nothing | everybody everyone everything all
support supported supports back backed favour favor favoured favored | oppose opposed opposes opposition
allow allowed allows permit permitted permits legalise legalised legalize legalized authorise authorised authorize authorized
 | ban banned prohibit prohibited prohibits forbid forbidden forbade outlaw outlawed prevent prevented
confirm confirmed | refute refuted disprove disproved
admit admitted admits acknowledge acknowledged | deny denied denies
agree agreed agrees | disagree disagreed disagrees
include included includes including | exclude excluded excludes excluding omit omitted
start started starts starting begin began begun begins initiate initiated commence commenced resume resumed introduce introduced
 | stop stopped stops stopping discontinue discontinued halt halted cease ceased end ended withdrawn suspend suspended
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
PEOPLE = frozenset(
    "male males men man boy boys female females women woman girl girls adult adults child children teacher teachers student students pupil pupils placebo drug treatment".split()
    + ["intervention"]
)
#: Both clauses must have their two sides in the same order: "A is larger than B" is "B is smaller than A".
_RELATIONAL_WRITTEN = """before after prior following earlier later sooner more less fewer higher lower larger bigger greater smaller longer shorter older younger newer faster quicker slower
    stronger weaker heavier lighter hotter warmer colder cooler deeper shallower thicker thinner wider narrower harder easier cheaper dearer richer poorer better worse above below beneath north
    south east west northeast southwest northwest southeast northern southern eastern western upstream downstream over under buy bought sell sold lend lent borrow borrowed
    ahead behind inside outside"""
RELATIONAL = frozenset(_RELATIONAL_WRITTEN.split())
COMPARATIVES = frozenset(
    """more less fewer higher lower larger bigger greater smaller longer shorter older younger newer faster quicker slower stronger weaker heavier lighter hotter warmer
    colder cooler deeper shallower thicker thinner wider narrower harder easier cheaper dearer richer poorer better worse earlier later sooner""".split()
)
#: Words whose complement, up to a mark, may stand first: "before lunch, they voted".
TEMPORAL = frozenset({"before", "after", "prior", "following"})
_COURTS = frozenset("court courts court's house chamber education school class limb limbs extremity extremities back house's".split())
_TERMS = {
    "lower": _COURTS,
    "upper": _COURTS,
    "higher": _COURTS,
    "high": frozenset("court school street seas sea".split()),
    "inferior": frozenset({"court", "vena"}),
    "first": frozenset("aid lady minister amendment".split()),
    "superior": frozenset({"court", "vena"}),
    "public": frozenset("school prosecutor house".split()),
    "open": frozenset("source".split()),
    "minority": frozenset({"leader"}),
    "majority": frozenset({"leader"}),
}
#: "For" is the opposite of "against" only behind these.
_VOTES = frozenset(map(stem, "vote rule argue decide campaign speak".split()))


class Opposite(NamedTuple):
    """Words number `here` and `there` of two clauses that are opposites of each other."""

    here: int
    there: int


@lru_cache(maxsize=1)
def _table() -> dict[str, dict[int, int]]:
    """Word as written, folded → number of the family → side, 0 or 1."""
    table: dict[str, dict[int, int]] = {}
    for number, family in enumerate(re.split(r"\n(?! )", _FAMILIES.strip())):
        for side, words in enumerate(family.split("|")):
            for word in words.split():
                table.setdefault(word, {})[number] = side
    return table


def sides(clause: Clause, index: int) -> dict[int, int]:
    """The families of a word, and which side of each it is on."""
    word = clause.words[index]
    if word.fold == "for" and not (_VOTES & set(clause.last_content(index, 1))):
        return {}
    return _table().get(word.fold, {})


def rule_of(one: str, other: str) -> Literal["negation", "antonym"]:
    """Unsafe is the negation of safe; dangerous is its opposite."""
    shorter, longer = sorted((one, other), key=len)
    return "negation" if longer.endswith(shorter) and longer[: -len(shorter)] in {"un", "in", "im", "il", "ir", "dis", "non", "a", "ab"} else "antonym"


def alike(clause: Clause, index: int, other: Clause) -> bool:
    """Whether another clause has the word too, or one of the same side."""
    word, mine = clause.words[index], sides(clause, index)
    return word.stem in other.all_stems or any(
        theirs.get(family) == side for place in range(len(other.words)) if (theirs := sides(other, place)) for family, side in mine.items()
    )


def opposites(here: Clause, there: Clause, taken_here: Collection[int] = (), taken_there: Collection[int] = ()) -> list[Opposite]:
    """Words of a clause whose opposite the other clause has, and not the word itself; each word once. `taken`: words that negate already."""
    found: list[Opposite] = []
    theirs = {place: known for place in range(len(there.words)) if place not in taken_there and (known := sides(there, place))}
    for index in range(len(here.words)):
        mine = {} if index in taken_here or not theirs or _term(here, index) else sides(here, index)
        if not mine or alike(here, index, there):
            continue
        for place, known in theirs.items():
            if any(known.get(family) == 1 - side for family, side in mine.items()) and not alike(there, place, here):
                found.append(Opposite(index, place))
                del theirs[place]
                break
    return found


def _term(clause: Clause, index: int) -> bool:
    """Whether the word is part of a term: a lower court is not lower than another thing."""
    return index + 1 < len(clause.words) and clause.words[index + 1].fold in _TERMS.get(clause.words[index].fold, ())


def turned(here: Clause, there: Clause, pair: Opposite) -> bool:
    """Whether the two may say the same from either end, as "A is larger than B" and "B is smaller than A" do; False for words without two ends."""
    first, second = here.words[pair.here].fold, there.words[pair.there].fold
    if first not in RELATIONAL or second not in RELATIONAL:
        return False
    of_here, of_there = _complement(here, pair.here), _complement(there, pair.there)
    if not of_here and not of_there:
        return first in TEMPORAL
    rest_here, rest_there = _without(here, pair.here) - of_here, _without(there, pair.there) - of_there
    # Each end must be found at the same end of the other.
    return not (of_here & of_there) or not (rest_here & rest_there) or len(of_here & rest_there) + len(rest_here & of_there) > 0


def _complement(clause: Clause, index: int) -> frozenset[str]:
    """Content of what follows the word: up to a mark for before, after, north of; behind "than" for comparatives; all that follows a verb."""
    after = clause.words[index + 1 :]
    if clause.words[index].fold in COMPARATIVES:
        than = next((place for place, word in enumerate(after) if word.fold == "than"), None)
        if than is None:
            return frozenset()
        after = after[than + 1 :]
    found = set()
    for word in after:
        if not word.stem:
            break
        if word.content:
            found.add(word.stem)
    return frozenset(found)


def _without(clause: Clause, index: int) -> frozenset[str]:
    return frozenset(word.stem for place, word in enumerate(clause.words) if word.content and place != index)
