"""Sides of the body: left for right, both for one."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from touchstone.scorers.summary.conflicts.difference import Difference
from touchstone.scorers.summary.conflicts.wording.clauses import Clause, Overlap, ParsedText, overlap
from touchstone.scorers.summary.conflicts.wording.polarity import compare
from touchstone.scorers.summary.lexical import stem
from touchstone.scorers.summary.word_lists import listed, word_lists

_LISTS = word_lists(__file__, "words")

_SIDES = {"left": "left", "left-sided": "left", "right": "right", "bilateral": "both", "bilaterally": "both", "both": "both"}
_PARTS = _LISTS["body_sides_parts"]
_PART_STEMS = frozenset(map(stem, _PARTS))
_SIDED = frozenset({stem("side"), stem("sided")})
#: If a text has both, the lobe belongs to the lung.
_WHOLE = {stem("lobe"): stem("lung")}
#: "Left" is a verb before these, and "right" a claim.
_NO_SIDE_AFTER = listed("the a an for to in at on his her hospital home against of away open")


class Side(NamedTuple):
    """A side of a part of the body; `place`: the word that names the side."""

    place: int
    side: str
    part: str


def _sides(clause: Clause) -> list[Side]:
    """Sides with the part that follows within three words, or precedes them: "of the knee (left)"."""
    found = []
    for place, word in enumerate(clause.words):
        side = _SIDES.get(word.fold)
        if side is None:
            continue
        after = clause.words[place + 1 : place + 5]
        if after and after[0].fold in _NO_SIDE_AFTER and side != "both":
            continue
        part = next((next_word.stem for next_word in after if next_word.stem in _PART_STEMS and next_word.stem not in _SIDED), None)
        if part is None and (not after or _stands_behind(clause, place)):
            part = next((before.stem for before in reversed(clause.words[max(0, place - 4) : place]) if before.stem in _PART_STEMS), None)
        if part is not None:
            found.append(Side(place, side, _WHOLE.get(part, part)))
    return found


def _stands_behind(clause: Clause, place: int) -> bool:
    """True if the side is said behind its part: "the kidney on the right", "the lung on his left"."""
    return [word.fold for word in clause.words[max(0, place - 2) : place]][-1:] in (["the"], ["his"], ["her"], ["their"]) and any(
        word.fold in {"on", "to"} for word in clause.words[max(0, place - 2) : place]
    )


def body_side(clause: Clause, place: int) -> Side | None:
    """The side that a word names, None if it names none."""
    return next((side for side in _sides(clause) if side.place == place), None)


def find(sentence: ParsedText, units: Sequence[ParsedText]) -> Iterator[Difference]:
    """Another side of the body than that of the unit."""
    of_clause = {id(clause): _sides(clause) for reading in (sentence, *units) for clause in reading.clauses}
    own = [side for clause in sentence.clauses for side in of_clause[id(clause)]]
    for clause in sentence.clauses:
        for mine in of_clause[id(clause)]:
            found = next(_against(clause, mine, own, units, of_clause), None)
            if found is not None and not _side_borne(clause, mine, found[1], units, of_clause):
                yield found[0]


def _against(
    here: Clause, mine: Side, own: Sequence[Side], units: Sequence[ParsedText], of_clause: dict[int, list[Side]]
) -> Iterator[tuple[Difference, frozenset[str]]]:
    """Clauses that say the same about the same part on another side, with the stems that they share."""
    for number, unit in enumerate(units):
        for there in unit.clauses:
            for theirs in of_clause[id(there)]:
                if theirs.part != mine.part or theirs.side in {mine.side, "both"} or any(one.part == theirs.part and one.side == theirs.side for one in own):
                    continue
                shared = _shared(here, there, mine.part)
                least = len(shared.shared) + min(len(shared.here), len(shared.there))
                if not compare(here, there).parity_differs and len(shared.shared) * 2 >= least:
                    yield Difference("laterality", here.span(mine.place), there.span(theirs.place), number, clinical=True), shared.shared


def _side_borne(here: Clause, mine: Side, alarm: frozenset[str], units: Sequence[ParsedText], of_clause: dict[int, list[Side]]) -> bool:
    """True if a unit has the sentence's side, and is not about something else there."""
    for unit in units:
        for there in unit.clauses:
            if any(one.part == mine.part and one.side in {mine.side, "both"} for one in of_clause[id(there)]):
                shared = _shared(here, there, mine.part)
                if not (shared.shared < alarm and shared.there):
                    return True
    return False


def _shared(here: Clause, there: Clause, part: str) -> Overlap:
    without = {part, *_SIDES, "sid"}
    return overlap(here.stems - without, there.stems - without)
