"""What follows from stated values: how long from two dates, how much more, what a dose makes in a day."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, islice

from touchstone.scorers.summary.values.dates import days_between
from touchstone.scorers.summary.values.surroundings import Placed, Reading
from touchstone.scorers.summary.values.units import DAY_S, YEAR_DAYS
from touchstone.scorers.summary.values.value import Value

#: Pairs of values that are tried.
PAIRS_MAX = 400
_CUES = frozenset(
    ["by", "more", "fewer", "less", "another", "extra", "additional", "other", "others", "rest", "remaining", "remained", "total", "altogether", "combined", "together", "gap", "margin", "difference", "majority", "lead", "between", "increase", "rise", "fall", "drop", "rose", "fell", "grew", "climbed", "cut", "added", "saved", "lost", "gained", "higher", "lower", "over", "under", "up", "down", "left", "further", "sum", "all", "each"]
)


def follows(placed: Placed, stated: Reading, read: Sequence[Reading]) -> bool:
    """Whether the value can be worked out from values of the units (and of the sentence itself)."""
    value = placed.value
    known = [one.value for unit in (stated, *read) for one in unit.values if one.value is not value]
    if value.kind == "duration" and _between_dates(value, known):
        return True
    if value.kind == "percentage":
        return _is_ratio(value, known)
    if value.kind in {"quantity", "frequency"}:
        return _is_product(value, stated, read)
    return value.kind in {"money", "number", "duration", "age"} and bool(stated.words & _CUES) and _is_sum(value, known)


def _between_dates(value: Value, known: Sequence[Value]) -> bool:
    days = value.readings[0][1] / DAY_S if value.readings else 0.0
    apart = days_between(when for one in known for when in one.whens[:1])
    if any(abs(days - one) <= max(1.0, 0.08 * one) for one in apart):
        return True
    years = [when.years[0] for one in known for when in one.whens[:1] if when.years and when.years[0] == when.years[1]][:12]
    return any(abs(days / YEAR_DAYS - abs(one - other)) <= 1.0 for one, other in combinations(years, 2) if one != other and days >= 0.9 * YEAR_DAYS)


def _amounts(known: Sequence[Value], dimension: str) -> list[float]:
    found = {amount for one in known for name, amount in one.readings[:1] if name == dimension}
    return sorted(found)[:28]


def _is_sum(value: Value, known: Sequence[Value]) -> bool:
    """Whether two known amounts add up to this one, or differ by it."""
    dimension, amount = value.readings[0]
    pairs = combinations(_amounts(known, dimension), 2)
    return any(math.isclose(amount, total, rel_tol=1e-6) for one, other in islice(pairs, PAIRS_MAX) for total in (one + other, abs(one - other)))


def _is_ratio(value: Value, known: Sequence[Value]) -> bool:
    """Whether one known amount is this share of another, or grew by it."""
    share = value.readings[0][1]
    near = 0.03 if value.hedge or value.words else 0.006
    for low, high in islice(_grown(known), PAIRS_MAX):
        if any(abs(share - ratio) <= near * max(share, 1e-9) for ratio in (low / high, (high - low) / low, (high - low) / high)):
            return True
    return False


def _grown(known: Sequence[Value]) -> Iterator[tuple[float, float]]:
    for dimension in dict.fromkeys(one.readings[0][0] for one in known if one.readings and one.kind in {"number", "money", "quantity", "duration"}):
        for low, high in combinations(_amounts(known, dimension), 2):
            if 0 < low < high:
                yield low, high


def _is_product(value: Value, stated: Reading, read: Sequence[Reading]) -> bool:
    """Whether dose and number make the same in both: two 5 mg tablets and 10 mg, 1 g a day and 500 mg twice daily."""
    mine = _products(stated)
    here = {value.readings[0]} if value.kind == "quantity" else set()
    for unit in read:
        its = _products(unit)
        single = {one.value.readings[0] for one in unit.values if one.value.kind == "quantity"}
        if any(
            name == other and math.isclose(one, two, rel_tol=1e-6)
            for name, one in mine | here
            for other, two in its | single
            if (name, one) not in here or (other, two) not in single
        ):
            return True
    return False


def _products(reading: Reading) -> set[tuple[str, float]]:
    """Each quantity of a text times each count or frequency that stands close to it."""
    out: set[tuple[str, float]] = set()
    values = [one.value for one in reading.values][:16]
    for one, other in zip(values, values[1:], strict=False):
        for dose, times in ((one, other), (other, one)):
            if (
                (dose.kind == "quantity"
                and times.kind in {"number", "frequency"}
                and abs(dose.first - times.after) <= 4)
                or (dose.kind == "quantity"
                and times.kind == "frequency")
            ):
                name, amount = dose.readings[0]
                count = times.readings[0][1]
                if 0 < count <= 24 and not (times.kind == "frequency" and count == 1):
                    out.add((name, amount * count))
    return out
