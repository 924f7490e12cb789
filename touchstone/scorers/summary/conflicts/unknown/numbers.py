"""Numbers, amounts and dates that neither the gold nor its source has, and that cannot be worked out from those they have.

Small counts and words such as "a third" say too little: any text may use them.
"""

from __future__ import annotations

from collections.abc import Iterator

from touchstone.scorers.summary.conflicts.unknown import arithmetic
from touchstone.scorers.summary.conflicts.unknown.codes import LABELS
from touchstone.scorers.summary.conflicts.unknown.known import Known
from touchstone.scorers.summary.conflicts.values import arithmetic as beside
from touchstone.scorers.summary.conflicts.values import same, same_figures
from touchstone.scorers.summary.conflicts.values.surroundings import Placed, TextValues, look
from touchstone.scorers.summary.conflicts.values.value import Value, last_place

#: Counts up to this are never judged: they may be counts of what the text lists.
COUNT_MAX = 12
#: From here on two values make a count hardly by chance, wherever they are.
LARGE_MIN = 1_000
#: Comparisons of values in one summary; beyond them nothing is said of a number.
COMPARISONS_MAX = 40_000
#: A value in words, or in another unit, is rounded to this: "three quarters of a billion" for 740 million.
ROUGH = 0.03
_JUDGED = frozenset({"number", "quantity", "money", "percentage", "duration", "date", "age"})
#: Beside these a value may be half or twice a known one.
_TWICE = frozenset({"each", "half", "halve", "halved", "halving", "twice", "double", "doubled", "doubling", "apiece", "both", "per"})


def tries(known: Known) -> Iterator[int]:
    """An item for each value of a summary that may be compared with all known ones."""
    return iter(range(max(1, COMPARISONS_MAX // max(1, len(known.workings.values)))))


def unknown_numbers(sentence: str, known: Known, left: Iterator[int]) -> list[tuple[int, int]]:
    """Where a sentence has numbers, amounts and dates that are unknown: [start, end). `left`: see `tries`; each value that is compared takes an item."""
    stated = look(sentence)
    found: list[tuple[int, int]] = []
    for placed in stated.values:
        value = placed.value
        if not _is_judged(value) or not _stands_alone(sentence, value) or _has_figure(value, known):
            continue
        if next(left, None) is None:
            return found
        if _is_stated(value, known):
            continue
        if _is_label(sentence, value) or not _follows(placed, stated, known):
            found.append((value.start, value.end))
    return found


def _is_judged(value: Value) -> bool:
    """True for a value that is exact enough to be called unknown."""
    if value.kind not in _JUDGED or value.weak or value.mate:
        return False
    if value.kind == "date":
        return any(when.day is not None or (when.years is not None and when.years[0] == when.years[1]) for when in value.whens)
    if not value.figures or (value.words and (value.kind == "percentage" or (value.kind == "number" and not value.heads))):
        return False
    figure = value.figures[0]
    return value.kind in {"quantity", "money", "percentage"} or figure > COUNT_MAX or not figure.is_integer()


def _stands_alone(sentence: str, value: Value) -> bool:
    """True if the value is no part of a code: "2.1" in "v4.2.1"."""
    before, behind = sentence[max(0, value.start - 2) : value.start], sentence[value.end : value.end + 2]
    return not (before[-1:].isalnum() or (before[-1:] in {".", "-", "/", "_"} and before[:-1].isalnum()) or (behind[:1] in {"/", "_"} and behind[1:].isalnum()))


def _is_label(sentence: str, value: Value) -> bool:
    """True for "port 8443" and "ticket no. 5588": nobody works out the number of a thing."""
    before = sentence[: value.start].casefold().replace(".", " ").replace("#", " ").split()
    return value.label and value.is_distinctive and bool(LABELS & set(before[-1:]))


def _has_figure(value: Value, known: Known) -> bool:
    """True if a known text has the value's figure."""
    return bool(value.figures) and abs(value.figures[0]) in known.figures


def _is_stated(value: Value, known: Known) -> bool:
    """True if a known text has the value, in another form."""
    if value.figures and any(abs(abs(value.figures[0]) - exact) <= 0.5 * last_place(value.figures[0]) for exact in known.figures if not exact.is_integer()):
        return True  # rounded, and its unit left out: "up from 185" for 184.6 million
    return any(same(value, one) or same_figures(value, one) or _is_roughly(value, one) for one in known.workings.values)


def _is_roughly(value: Value, other: Value) -> bool:
    """True if a value in words, or in another unit, rounds the other one."""
    if not value.words and value.kind not in {"quantity", "duration"}:
        return False
    return any(mine == its and abs(amount - exact) <= ROUGH * abs(exact) for mine, amount in value.readings for its, exact in other.readings)


def _follows(placed: Placed, stated: TextValues, known: Known) -> bool:
    """True if the value can be worked out in one step."""
    value, values = placed.value, known.workings.values
    own = [one.value for one in stated.values if one.value is not value]
    if arithmetic.follows_from_years(value, [*values, *own]):
        return True
    if value.kind == "number" and not value.heads and _is_sum_of_figures(value.figures[0], known):
        return True
    if value.readings and value.figures:
        exact = value.kind in {"money", "quantity", "duration"} or value.figures[0] >= LARGE_MIN or value.words or not value.is_whole
        shares = [one for one in own if one.kind == "percentage"]
        nouns = value.heads.union(*(one.heads for one in shares))
        alike = [one for one in values if one.heads & nouns]
        if known.workings.makes(value, anywhere=exact) or arithmetic.made_of(value, [*own, *alike]):
            return True
        if any(arithmetic.made_of(value, [share, one]) for share in shares for one in values):
            return True
        if arithmetic.is_rate(value, stated.words, known.values):
            return True
        if stated.words & _TWICE and any(_is_twice(value, one) or _is_twice(one, value) for one in values):
            return True
    borne = [one for one in own if any(same(one, its) for its in values)]
    return beside.follows(placed, stated, [text for text in known.values if text.values], borne)


def _is_sum_of_figures(figure: float, known: Known) -> bool:
    """True if two known figures, whatever they measure, add up to a bare number or differ by it: "up from 185"."""
    return any(figure - one in known.figures or figure + one in known.figures for one in known.figures if one)


def _is_twice(one: Value, other: Value) -> bool:
    return any(mine == its and abs(amount - 2 * half) <= ROUGH * abs(amount) for mine, amount in one.readings for its, half in other.readings)
