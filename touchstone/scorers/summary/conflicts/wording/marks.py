"""Words that tell a plain statement of one thing from one that is unsure, of another time, or of a part."""

from __future__ import annotations

from touchstone.scorers.summary.conflicts.wording.clauses import listed
from touchstone.scorers.summary.lexical import stem

UNSURE = listed(
    """may might could would should if unless whether perhaps possibly possible likely unlikely probably expect expected expects plan planned plans propose
    proposed hope hoped hopes want wanted wants allege alleged alleges claim claimed claims argue argued argues warn warned threaten threatened fear
    feared predict predicted consider considered seek sought ask asked asks potential potentially apparently suggest suggested hypothetically attempt
    attempted try tried intend intended believe believed believes recommend recommended"""
)
#: Where one stands anywhere in a sentence, none of its clauses is stated as a fact.
CONDITIONS = frozenset({"if", "unless", "whether"})
#: They deny by themselves: "lost power" is "without power".
NEGATIVE = listed(
    """lose lost loses losing loss stop stopped end ended cease ceased miss missed misses missing fail failed fails failure reject rejected refuse refused
    deny denied avoid avoided prevent prevented ban banned cancel cancelled canceled dismiss dismissed impossible empty absent remove removed quit abandon
    abandoned collapse collapsed broke broken free unavailable withdrew withdrawn resign resigned void wrong false hardly barely scarcely neglected
    omitted forgot overturned prohibited forbidden vetoed opposed objected denies rejects refuses different differ differs differed
    exclude excluded excludes bar barred spare spared
    outside unnecessary needless unsuitable vain gone vanished lapsed expired vacant idle short avoids avoiding prevents preventing unlike instead
    refrain refrains refrained withhold withheld inactive incapable insufficient excluding unless except beyond deny withstand withstood resist resisted resists
    abolished scrapped dropped axed shelved postponed deferred delayed ended ending escape escaped escapes survived survive survives turned unhurt unharmed
    uninjured unaffected unscathed exempt exempted nil zero blocked dry spurned snubbed shunned skip skipped kept
    closed close closes shut shuts lapse sealed sheltered immune secret hidden unknown unaware untouched intact
    disallow disallowed block blocked halt halted contest contested dispute disputed question questioned doubt doubted without lacks lacked"""
)
#: Behind a verb these point to what another sentence says.
POINTERS = listed("this that these those it them both him her")
PERMITS = frozenset({"must", "may", "can", "cannot", "can't", "shall", "allowed", "permitted"})
SHIFTS = listed(
    """initially previously formerly originally once now later then eventually finally currently today still again ultimately subsequently afterwards
    meanwhile until ago baseline admission discharge yesterday tomorrow temporarily nearly almost"""
)
PARTS = listed("""some others other another several certain partly partially most many few half each either part parts every half majority minority""")
ORDINALS = listed("second third fourth fifth sixth seventh eighth ninth tenth")
#: "None of them" is the opposite of these.
SOME = listed("some several certain most many few half all both each every majority two three")
ZERO = listed("none nobody no neither nothing")
#: What these say of the present is no other time than "not yet" and "no longer".
PRESENT = listed("now currently today still already yet longer")
TELLING = listed("said says say told announced announces promised promises")
FUTURE = listed("will shall")
#: Before a name these say who its bearer is.
OFFICES = listed(
    """executive officer coach manager goalkeeper keeper striker captain midfielder defender driver witness referee spokesman spokeswoman minister judge
    lawyer professor author director chairman chairwoman president mayor treasurer secretary engineer analyst researcher surgeon nurse doctor owner founder
    pilot teacher councillor deputy chief player editor inspector counsel"""
)
CALENDAR = listed(
    """january february march april june july august september october november december monday tuesday wednesday thursday friday saturday sunday spring
    summer autumn winter morning evening night afternoon"""
)
#: They say little of what is there or not: "evidence of infection" is infection.
NEUTRAL = frozenset(
    map(
        stem,
        listed("""evidence sign signs history presence able possible see observe observed detect present current currently manage managed
    whatsoever involve undergo occur happen take"""),
    )
)
NEGATIVE_STEMS = frozenset(map(stem, NEGATIVE))
