"""Negations and opposites: a sentence states what a unit denies, or the other way round."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from touchstone.scorers.summary.conflicts.difference import Difference
from touchstone.scorers.summary.conflicts.wording.antonyms import Opposite, alike, exchanged, opposites, rule_of, turned
from touchstone.scorers.summary.conflicts.wording.clauses import Clause, Overlap, ParsedText, overlap
from touchstone.scorers.summary.conflicts.wording.elsewhere import elsewhere
from touchstone.scorers.summary.conflicts.wording.marks import NEGATIVE_STEMS, NEUTRAL, OFFICES, POINTERS
from touchstone.scorers.summary.conflicts.wording.negations import Cue, cues
from touchstone.scorers.summary.conflicts.wording.opposites import PEOPLE
from touchstone.scorers.summary.lexical import stem

#: How much of the shorter clause both must share where each says something more.
SAME_BUT_OPPOSITE, SAME_BUT_NEGATED = 0.75, 0.8


_CAN, _ALLOWS = frozenset({"can", "may", "could"}), frozenset(map(stem, ("allow", "permit")))


class Compared(NamedTuple):
    """Two clauses: their negations and opposites, and what else they share."""

    negations_here: list[Cue]
    negations_there: list[Cue]
    opposites: list[Opposite]
    overlap: Overlap

    @property
    def parity_differs(self) -> bool:
        """True if one of them is negated and the other not; a double negation is none."""
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
    first = _rest(here, taken_here | {pair.here for pair in pairs}, roots) - _more_of_names(here, there)
    second = _rest(there, taken_there | {pair.there for pair in pairs}, roots) - _more_of_names(there, here)
    return Compared(mine, theirs, pairs, overlap(first, second))


def _more_of_names(clause: Clause, other: Clause) -> frozenset[str]:
    """First names, titles and offices before a name that both have: "Castleford coach Ivan Petrov" is "Petrov"."""
    found = set()
    for place, word in enumerate(clause.words):
        if not place or not word.content or not word.text[0].isupper() or word.stem not in other.all_stems:
            continue
        for before in reversed(clause.words[:place]):
            if not (before.text[0].isupper() or before.fold in OFFICES) or before.stem in other.all_stems:
                break
            found.add(before.stem)
    return frozenset(found)


def _taken(found: Sequence[Cue]) -> set[int]:
    return {place for cue in found for place in range(cue.first, cue.last + 1)}


def _rest(clause: Clause, without: set[int], roots: set[str]) -> frozenset[str]:
    return frozenset(word.stem for place, word in enumerate(clause.words) if word.content and place not in without and word.stem not in roots)


def find(sentence: ParsedText, units: Sequence[ParsedText]) -> Iterator[Difference]:
    """Negations and opposites of a unit's statement."""
    for clause in sentence.clauses:
        for number, unit in enumerate(units):
            for other in unit.clauses:
                if not clause.all_stems & other.all_stems or elsewhere(clause, other, sentence, unit):
                    continue
                compared = compare(clause, other)
                if not compared.flips and (pair := exchanged(clause, other)) is not None and not _ordered(clause, units):
                    yield Difference("antonym", clause.span(pair.here), other.span(pair.there), number)
                if compared.flips != 1:
                    continue
                found = _opposite(clause, other, compared, number) if compared.opposites else _negated(clause, other, compared, number)
                if found is not None and not _borne(clause, other, compared, units):
                    yield found


def _ordered(here: Clause, units: Sequence[ParsedText]) -> bool:
    """True if a unit has both ends as the sentence has them."""
    return any(exchanged(here, other, turned_round=False) is not None for unit in units for other in unit.clauses)


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
    return Difference(rule_of(here.words[pair.here].fold, there.words[pair.there].fold), here.span(pair.here), there.span(pair.there), number)


def _negated(here: Clause, there: Clause, compared: Compared, number: int) -> Difference | None:
    """A statement and its negation."""
    # "It is allowed" says no more than "it can"; without that it is a statement of its own.
    neutral = NEUTRAL | _ALLOWS if (here.folds | there.folds) & _CAN else NEUTRAL
    bare = overlap((compared.overlap.shared | compared.overlap.here) - neutral, (compared.overlap.shared | compared.overlap.there) - neutral)
    if _soft(compared) or not (bare.same_thing(SAME_BUT_NEGATED) or _only_one(here, there, bare)):
        return None
    if _denies_otherwise(here, there, compared) or _qualified(here, there, bare):
        return None
    shared, most = len(bare.shared), max(len(bare.here), len(bare.there))
    if (shared < 2 and not _only_one(here, there, bare)) or most > shared:
        return None
    if "allergy" in here.all_stems | there.all_stems or "allergic" in here.all_stems | there.all_stems:
        return None  # these have a rule of their own
    more_here = len(compared.negations_here) > len(compared.negations_there)
    clause, other = (here, there) if more_here else (there, here)
    for cue in compared.negations_here if more_here else compared.negations_there:
        place = _negated_place(clause, cue, other, neutral)
        if place is not None:
            one, two = clause.span(cue.first, cue.last), other.span(place)
            return Difference("negation", one if more_here else two, two if more_here else one, number)
    return None


def _only_one(here: Clause, there: Clause, bare: Overlap) -> bool:
    """True if one word is all that both say of the same "he" or "the patient": "he has no history of diabetes", "he is diabetic"."""
    if bare.here or bare.there or len(bare.shared) != 1 or not here.words or not there.words:
        return False
    return here.words[0].fold == there.words[0].fold and here.words[0].fold in {"he", "she", "there"}


def _negated_place(clause: Clause, cue: Cue, other: Clause, neutral: frozenset[str]) -> int | None:
    """The place of the negated words in the other clause: their first content word, and half of the rest; else None."""
    if cue.last + 1 == len(clause.words):
        return None  # "the client is not": what it is not was said before
    heads = [head for head in cue.heads if head not in neutral] or [head for head in clause.last_content(cue.first, 3) if head not in neutral]
    if not heads or heads[0] not in other.all_stems or 2 * sum(head in other.all_stems for head in heads) < len(heads):
        return None
    return next(place for place, word in enumerate(other.words) if word.stem == heads[0])


def _qualified(here: Clause, there: Clause, shared: Overlap) -> bool:
    """True if one is about a special case of the other, as the deputy mayor and the mayor."""
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


def _denies_otherwise(here: Clause, there: Clause, compared: Compared) -> bool:
    """True if one has a verb that denies by itself, besides the negations found."""
    own = {
        word.stem
        for clause, found in ((here, compared.negations_here), (there, compared.negations_there))
        for word in clause.words
        for cue in found
        if word in clause.words[cue.first : cue.last + 1]
    }
    return (here.all_stems & NEGATIVE_STEMS) - own != (there.all_stems & NEGATIVE_STEMS) - own


def _borne(here: Clause, there: Clause, alarm: Compared, units: Sequence[ParsedText]) -> bool:
    """True if any given unit says the same as the sentence."""
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
            # A statement of the same kind about something else is no support: costs that fell beside sales that rose.
            if compared.overlap.shared < alarm.overlap.shared and compared.overlap.there:
                continue
            return True
    return False
