"""Words with a scale: a sentence has a word of another class than a unit that says the same of the same thing ("doubled" for "tripled", "all" for "most")."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from touchstone.scorers.summary.conflicts.difference import Difference
from touchstone.scorers.summary.conflicts.values.surroundings import Placed, look
from touchstone.scorers.summary.conflicts.wording.clauses import Clause, ParsedText, overlap
from touchstone.scorers.summary.conflicts.wording.elsewhere import elsewhere
from touchstone.scorers.summary.conflicts.wording.negations import cues
from touchstone.scorers.summary.word_lists import listed, table

#: How much of the shorter clause both must share besides the words of the scale, where each says something more.
SAME_BUT_SCALED = 0.75
#: So many words must be shared; where a clause has fewer besides the words of the scale, the sentences are compared.
SHARED_MIN = 2
#: The quantified noun is among the next words.
NOUN_WORDS = 3
#: Values of a sentence that are compared.
VALUES_MAX = 24
_OPPOSITE = {"over": "under", "under": "over"}
_WON = listed("won win wins winning beat beats defeat defeated defeats victory victorious")
_LOST = listed("lost lose loses losing beaten defeat loss")
_DETERMINERS = listed("of the a an its his her their our these those this that them")


class _Scale(NamedTuple):
    pattern: re.Pattern[str]
    classes: dict[str, str]
    beside: frozenset[frozenset[str]]


class _Mark(NamedTuple):
    """A phrase of a scale in a text. `noun`: stems of the words behind it."""

    scale: str
    of: str
    start: int
    end: int
    noun: tuple[str, ...]


@lru_cache(maxsize=1)
def _scales() -> dict[str, _Scale]:
    found = {}
    for name, rows in table(__file__, "scales").items():
        classes = {phrase: of for of, phrases in rows["classes"].items() for phrase in phrases} | dict.fromkeys(rows["nothing"], "")
        longest_first = sorted(classes, key=lambda phrase: -len(phrase))
        pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b", re.IGNORECASE)
        found[name] = _Scale(pattern, classes, frozenset(frozenset(pair) for pair in rows["beside"]))
    return found


def find(sentence: ParsedText, units: Sequence[ParsedText]) -> Iterator[Difference]:
    """Words of a scale, bounds, shares and scores that differ from those of a unit about the same thing."""
    mine, own = _marks(sentence.text), _values(sentence)
    hedged = [one for one in own if one.value.hedge in _OPPOSITE]
    shares = [one for one in own if one.value.kind == "percentage"]
    scores = _scores(own)
    if not (mine or hedged or shares or scores):
        return
    for number, unit in enumerate(units):
        for one, other in _unlike(sentence, unit, mine):
            if not any(_says(sentence, other_unit, one) for other_unit in units):
                yield Difference("relation", (one.start, one.end), (other.start, other.end), number)
        if hedged or shares or scores:
            yield from _of_values(sentence, unit, (hedged, shares, scores), number, units)


@lru_cache(maxsize=4_096)
def _marks(text: str) -> tuple[_Mark, ...]:
    """The phrases of all scales in a text."""
    found = []
    for name, scale in _scales().items():
        for match in scale.pattern.finditer(text[:1_200]):
            of = scale.classes[match.group().casefold()]
            if of:
                found.append(_Mark(name, of, match.start(), match.end(), _behind(text, match.end())))
    return tuple(found)


def _behind(text: str, end: int) -> tuple[str, ...]:
    """Stems of the first words behind a place, without determiners."""
    from touchstone.scorers.summary.lexical import stem

    words = [word.casefold() for word in re.findall(r"[^\W\d_]+", text[end : end + 60])]
    return tuple(stem(word) for word in words if word not in _DETERMINERS)[:NOUN_WORDS]


def _unlike(sentence: ParsedText, unit: ParsedText, mine: Sequence[_Mark]) -> Iterator[tuple[_Mark, _Mark]]:
    """Phrases of one scale in another class, in clauses that say the same otherwise."""
    theirs = _marks(unit.text) if mine else ()
    for one in mine:
        scale = _scales()[one.scale]
        if any(other.scale == one.scale and other.of == one.of for other in theirs):
            continue
        for other in theirs:
            if other.scale != one.scale or frozenset({one.of, other.of}) in scale.beside:
                continue
            if one.scale == "extent" and (not one.noun or one.noun[:1] != other.noun[:1]):
                continue
            compared = [" as " in text[mark.start : mark.end] for text, mark in ((sentence.text, one), (unit.text, other))]
            if any(compared) and (one.noun != other.noun or not one.noun):
                continue  # "twice as much as the losers", "the losers get half as much": compared with another
            # "Half as much" names no part, though "half" does.
            if _same_besides(sentence, unit, (one.start, one.end), (other.start, other.end), parts=one.scale in {"extent", "degree"} or all(compared)):
                yield one, other


def _says(sentence: ParsedText, unit: ParsedText, one: _Mark) -> bool:
    """True if a unit has the sentence's class in a clause that shares words with the sentence's."""
    here = _clause(sentence, one.start)
    return any(
        other.scale == one.scale and other.of == one.of and len(here.stems & _clause(unit, other.start).stems) * 2 >= len(here.stems)
        for other in _marks(unit.text)
    )


def _clause(text: ParsedText, place: int) -> Clause:
    """The clause at a place, else the whole sentence."""
    return next((clause for clause in text.clauses if clause.words[0].start <= place < clause.words[-1].end), text.whole)


def _same_besides(sentence: ParsedText, unit: ParsedText, here: tuple[int, int], there: tuple[int, int], *, parts: bool = False) -> bool:
    """True if the clauses at two places say the same but for the words there, both negated or neither."""
    mine, theirs = _clause(sentence, here[0]), _clause(unit, there[0])
    if (not parts and elsewhere(mine, theirs, sentence, unit, names_too=False)) or len(cues(mine, theirs)) % 2 != len(cues(theirs, mine)) % 2:
        return False
    rest = [
        frozenset(word.stem for word in clause.words if word.content and not (place[0] <= word.start < place[1]))
        for clause, place in ((mine, here), (theirs, there))
    ]
    if min(map(len, rest)) < SHARED_MIN and not parts:
        rest = [
            frozenset(word.stem for word in text.whole.words if word.content and not (place[0] <= word.start < place[1]))
            for text, place in ((sentence, here), (unit, there))
        ]
    shared = overlap(*rest)
    return len(shared.shared) >= SHARED_MIN and shared.same_thing(SAME_BUT_SCALED)


def _of_values(
    sentence: ParsedText, unit: ParsedText, own: tuple[list[Placed], list[Placed], list[tuple[Placed, Placed]]], number: int, units: Sequence[ParsedText]
) -> Iterator[Difference]:
    """Bounds turned round, a share for the rest, a score from its other end."""
    hedged, shares, scores = own
    theirs = _values(unit)
    for one in hedged:
        for other in theirs:
            turned = other.value.hedge == _OPPOSITE[one.value.hedge] and _equal(one, other) and not _bounded_so(one, units)
            if turned and _same_besides(sentence, unit, _span(one), _span(other)):
                yield Difference("relation", _span(one), _span(other), number)
    for one in shares:
        for other in theirs:
            complement = other.value.kind == "percentage" and math.isclose(one.value.readings[0][1] + other.value.readings[0][1], 1.0, abs_tol=0.005)
            taken = not complement or _equal(one, other) or any(_equal(one, its) for two in units for its in _values(two))
            if not taken and one.right[:1] == other.right[:1] and _same_besides(sentence, unit, _span(one), _span(other)):
                yield Difference("percentage", _span(one), _span(other), number)
    for first, last in scores:
        for its_first, its_last in _scores(theirs):
            turned = first.value.figures == its_last.value.figures and last.value.figures == its_first.value.figures != its_last.value.figures
            turned = turned and any(sentence.whole.folds & words and unit.whole.folds & words for words in (_WON, _LOST))
            if turned and not _names_turned(sentence, unit) and not any(_has_score(two, first, last) for two in units):
                yield Difference("number", (first.value.start, last.value.end), (its_first.value.start, its_last.value.end), number)


def _span(placed: Placed) -> tuple[int, int]:
    return placed.value.start, placed.value.end


def _equal(one: Placed, other: Placed) -> bool:
    return any(mine == its and math.isclose(amount, exact) for mine, amount in one.value.readings for its, exact in other.value.readings)


def _bounded_so(one: Placed, units: Sequence[ParsedText]) -> bool:
    """True if a unit bounds the amount as the sentence does, or states it without a bound."""
    return any(_equal(one, its) and its.value.hedge in {"", one.value.hedge} for unit in units for its in _values(unit))


def _values(text: ParsedText) -> tuple[Placed, ...]:
    """The first values of a text: a table in one sentence is not compared cell by cell."""
    return look(text.text).values[:VALUES_MAX]


def _scores(values: Sequence[Placed]) -> list[tuple[Placed, Placed]]:
    """Pairs of joined bare numbers."""
    return [(one, two) for one, two in pairwise(values) if one.value.mate == 1 and two.value.mate == -1 and one.value.kind == two.value.kind == "number"]


def _has_score(unit: ParsedText, first: Placed, last: Placed) -> bool:
    return any(one.value.figures == first.value.figures and two.value.figures == last.value.figures for one, two in _scores(_values(unit)))


def _names_turned(sentence: ParsedText, unit: ParsedText) -> bool:
    """True if two words with capitals that both have come in another order: "A beat B 3-1", "B were beaten 1-3 by A"."""
    mine = [word.stem for word in sentence.whole.words if word.text[0].isupper() and word.content]
    theirs = [word.stem for word in unit.whole.words if word.text[0].isupper() and word.content]
    both = [word for word in dict.fromkeys(mine) if word in theirs]
    return any((mine.index(one) < mine.index(two)) != (theirs.index(one) < theirs.index(two)) for one, two in pairwise(both))
