"""Negations and opposites: a sentence that says of the same thing what a unit denies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from touchstone.scorers.summary.differences import Difference
from touchstone.scorers.summary.wording.antonyms import Opposite, alike, opposites, rule_of, turned
from touchstone.scorers.summary.wording.clauses import Clause, Overlap, Reading, listed, overlap
from touchstone.scorers.summary.wording.negations import Cue, cues
from touchstone.scorers.summary.wording.opposites import PEOPLE

#: How much of the shorter clause both must share where each says something more.
SAME_BUT_OPPOSITE, SAME_BUT_NEGATED = 0.75, 0.8

_UNSURE = listed(
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
    disallow disallowed block blocked halt halted contest contested dispute disputed question questioned doubt doubted without lacks lacked"""
)
#: Behind a verb these point to what another sentence says.
POINTERS = listed("this that these those it them both him her")
_PERMITS = frozenset({"must", "may", "can", "cannot", "can't", "shall", "allowed", "permitted"})
_SHIFTS = listed(
    """initially previously formerly originally once now later then eventually finally currently today still again ultimately subsequently afterwards
    meanwhile until ago baseline admission discharge used yesterday tomorrow temporarily nearly almost"""
)
_PARTS = listed("""some others other another several certain partly partially most many few half each either part parts every half majority minority""")
_ORDINALS = listed("second third fourth fifth sixth seventh eighth ninth tenth")
CALENDAR = listed(
    """january february march april june july august september october november december monday tuesday wednesday thursday friday saturday sunday spring
    summer autumn winter morning evening night afternoon"""
)


class Compared(NamedTuple):
    """Two clauses: their negations and opposites, and what else they share."""

    negations_here: list[Cue]
    negations_there: list[Cue]
    opposites: list[Opposite]
    overlap: Overlap

    @property
    def parity_differs(self) -> bool:
        """Whether one of them is negated and the other not; a double negation is none."""
        return len(self.negations_here) % 2 != len(self.negations_there) % 2

    @property
    def flips(self) -> int:
        """How often they differ in sense; two differences may make the same sense ("not rejected", "accepted")."""
        return len(self.opposites) + self.parity_differs


def compare(here: Clause, there: Clause) -> Compared:
    """Compare two clauses."""
    mine, theirs = cues(here, there), cues(there, here)
    taken_here, taken_there = _taken(mine), _taken(theirs)
    pairs = opposites(here, there, taken_here, taken_there)
    roots = {head for cue in (*mine, *theirs) if cue.prefixed for head in cue.heads}
    first = _rest(here, taken_here | {pair.here for pair in pairs}, roots)
    second = _rest(there, taken_there | {pair.there for pair in pairs}, roots)
    return Compared(mine, theirs, pairs, overlap(first, second))


def _taken(found: Sequence[Cue]) -> set[int]:
    return {place for cue in found for place in range(cue.first, cue.last + 1)}


def _rest(clause: Clause, without: set[int], roots: set[str]) -> frozenset[str]:
    return frozenset(word.stem for place, word in enumerate(clause.words) if word.content and place not in without and word.stem not in roots)


def find(sentence: Reading, units: Sequence[Reading]) -> Iterator[Difference]:
    """Negations and opposites of what a unit says."""
    for clause in sentence.clauses:
        for number, unit in enumerate(units):
            for other in unit.clauses:
                if not clause.all_stems & other.all_stems or elsewhere(clause, other, sentence, unit):
                    continue
                compared = compare(clause, other)
                if compared.flips != 1:
                    continue
                found = _opposite(clause, other, compared, number) if compared.opposites else _negated(clause, other, compared, number)
                if found is not None and not _borne(clause, other, compared, units):
                    yield found


def _opposite(here: Clause, there: Clause, compared: Compared, number: int) -> Difference | None:
    """A word in the place of its opposite."""
    (pair,) = compared.opposites
    if not compared.overlap.same_thing(SAME_BUT_OPPOSITE) or turned(here, there, pair) or _soft(compared):
        return None
    # A word beside it must be about the same thing: "the old mill was sold, a new one was built" has two mills.
    if here.words[pair.here].fold in PEOPLE or there.words[pair.there].fold in PEOPLE:
        return None
    if any(clause.words[place + 1].fold in POINTERS for clause, place in ((here, pair.here), (there, pair.there)) if place + 1 < len(clause.words)):
        return None
    if not (_beside(here, pair.here) & there.stems and _beside(there, pair.there) & here.stems):
        return None
    return Difference(
        rule_of(here.words[pair.here].fold, there.words[pair.there].fold), _span(here, pair.here, pair.here), _span(there, pair.there, pair.there), number
    )


def _negated(here: Clause, there: Clause, compared: Compared, number: int) -> Difference | None:
    """A statement and its negation."""
    if (
        _soft(compared)
        or not compared.overlap.same_thing(SAME_BUT_NEGATED)
        or _denies_otherwise(here, there, compared)
        or _qualified(here, there, compared.overlap)
    ):
        return None
    shared, most = len(compared.overlap.shared), max(len(compared.overlap.here), len(compared.overlap.there))
    if shared < 2 or most > shared:
        return None
    if "allergy" in here.all_stems | there.all_stems or "allergic" in here.all_stems | there.all_stems:
        return None  # these have a rule of their own
    more_here = len(compared.negations_here) > len(compared.negations_there)
    clause, other = (here, there) if more_here else (there, here)
    for cue in compared.negations_here if more_here else compared.negations_there:
        heads = [place for place, word in enumerate(other.words) if word.stem and word.stem in cue.heads]
        if heads:
            one, two = _span(clause, cue.first, cue.last), _span(other, heads[0], heads[0])
            return Difference("negation", one if more_here else two, two if more_here else one, number)
    return None


def _qualified(here: Clause, there: Clause, shared: Overlap) -> bool:
    """Whether one is about a special one of what the other is about, as the deputy mayor and the mayor."""
    for clause, other in ((here, there), (there, here)):
        first = next((place for place, word in enumerate(clause.words) if word.content), None)
        if first is None or clause.words[first].stem in shared.shared or first + 1 >= len(clause.words):
            continue
        following = clause.words[first + 1]
        if following.content and following.stem in shared.shared and following.stem in other.next_content(-1, 1):
            return True
    return False


def _soft(compared: Compared) -> bool:
    return any(cue.soft for cue in (*compared.negations_here, *compared.negations_there))


def _beside(clause: Clause, place: int) -> set[str]:
    return {*clause.next_content(place, 2), *clause.last_content(place, 2)}


def _span(clause: Clause, first: int, last: int) -> tuple[int, int]:
    return clause.words[first].start, clause.words[last].end


def elsewhere(here: Clause, there: Clause, sentence: Reading, unit: Reading, *, names_too: bool = True) -> bool:
    """Whether the clauses speak of other times, parts, numbers or possibilities, so that both may be so."""
    if _differ(here, there, _SHIFTS) or _differ(here, there, _PARTS) or (here.folds & _PARTS & {"some", "others", "other", "several", "certain"}):
        return True
    unsure = (_unsure(here, sentence), _unsure(there, unit))
    if here.folds & _PERMITS and there.folds & _PERMITS:
        unsure = (unsure[0] - _PERMITS, unsure[1] - _PERMITS)
    if bool(unsure[0]) != bool(unsure[1]):
        return True
    mine, theirs = _particulars(here, names_too=names_too), _particulars(there, names_too=names_too)
    return bool(mine - sentence_wide(unit)) and bool(theirs - sentence_wide(sentence))


def _denies_otherwise(here: Clause, there: Clause, compared: Compared) -> bool:
    """Whether one has a verb that denies by itself, besides the negations found."""
    own = {
        word.fold
        for clause, found in ((here, compared.negations_here), (there, compared.negations_there))
        for word in clause.words
        for cue in found
        if word in clause.words[cue.first : cue.last + 1]
    }
    return (here.folds & NEGATIVE) - own != (there.folds & NEGATIVE) - own


def _unsure(clause: Clause, whole: Reading) -> set[str]:
    """Words by which a clause is no plain statement; "could not" is one, and May is a month."""
    found = {word.fold for place, word in enumerate(clause.words) if word.fold in _UNSURE and not (word.fold == "may" and place and word.text == "May")}
    if any(first.fold == "could" and second.stem == "not" for first, second in pairwise(clause.words)):
        found.discard("could")
    return found | {word.fold for word in whole.words if word.fold in CONDITIONS}


def _differ(here: Clause, there: Clause, marks: frozenset[str]) -> bool:
    return (here.folds & marks) != (there.folds & marks)


def _particulars(clause: Clause, *, names_too: bool) -> set[str]:
    """Numbers, ordinals, days and names: what tells one event from another."""
    return {
        word.stem
        for place, word in enumerate(clause.words)
        if (word.stem and word.stem[0].isdigit() and word.stem != "1")
        or word.fold in _ORDINALS
        or word.fold in CALENDAR
        or (names_too and word.content and place and word.text[0].isupper())
    }


def sentence_wide(reading: Reading) -> frozenset[str]:
    """Stems of all words of a sentence."""
    return frozenset(word.stem for word in reading.words if word.stem)


def _borne(here: Clause, there: Clause, alarm: Compared, units: Sequence[Reading]) -> bool:
    """Whether any given unit says what the sentence says."""
    for unit in units:
        for other in unit.clauses:
            if other is there or not here.all_stems & other.all_stems:
                continue
            compared = compare(here, other)
            if compared.flips or not compared.overlap.shared:
                continue
            if alarm.opposites and not alike(here, alarm.opposites[0].here, other):
                continue
            if not alarm.opposites and alarm.negations_here and not compared.negations_there:
                continue
            # A statement of the same kind about something else bears nothing: costs that fell beside sales that rose.
            if compared.overlap.shared < alarm.overlap.shared and compared.overlap.there:
                continue
            return True
    return False
