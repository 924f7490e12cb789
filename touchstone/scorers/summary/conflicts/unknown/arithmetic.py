"""What one step of arithmetic makes of known values: sums, differences, averages, products, shares, and what follows from years."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from touchstone.scorers.summary.conflicts.values.surroundings import TextValues
from touchstone.scorers.summary.conflicts.values.units import DAY_S, YEAR_DAYS
from touchstone.scorers.summary.conflicts.values.value import Value, last_place

#: Amounts of one dimension that are combined with each other.
AMOUNTS_MAX = 160
#: Of so few amounts any may be added up.
FEW_MAX = 6
#: How often a period holds another, for prices.
_PERIODS = (4.0, 7.0, 12.0, 24.0, 30.0, 52.0, 60.0, 365.0)
#: The lengths of periods in seconds, as people reckon with them.
_LENGTHS_S = {
    1.0: ("second", "secondly"),
    60.0: ("minute",),
    3_600.0: ("hour", "hourly"),
    DAY_S: ("day", "daily", "night", "nightly"),
    7 * DAY_S: ("week", "weekly"),
    30 * DAY_S: ("month", "monthly"),
    91 * DAY_S: ("quarter", "quarterly"),
    365 * DAY_S: ("year", "yearly", "annual", "annually"),
}
_LENGTH_S = {name: length for length, names in _LENGTHS_S.items() for name in names}
#: Where calendars are reckoned in whole periods: months, quarters and weeks of a year, weeks and months of a quarter, weeks of a month.
_WHOLE = {(365, 30): (12.0,), (365, 91): (4.0,), (365, 7): (52.0,), (91, 7): (13.0,), (91, 30): (3.0,), (30, 7): (4.0, 52 / 12)}
_YEAR_S = YEAR_DAYS * DAY_S
#: Spans from half a year on lead from one year to another.
SPAN_YEARS_MIN = 0.5
_NO_AMOUNTS = frozenset({"ratio", "clock", "frequency"})
_Made = NDArray[np.float64]


class Workings:
    """What can be made of the values of some texts; worked out where it is first asked for."""

    def __init__(self, texts: Sequence[TextValues]) -> None:
        self._texts = [[placed.value for placed in text.values] for text in texts if text.values]
        self._made: dict[tuple[str, bool], _Made] = {}
        #: All values.
        self.values = [value for text in self._texts for value in text]

    def makes(self, value: Value, *, anywhere: bool) -> bool:
        """True if values of one text, or of two that follow each other, make the value; `anywhere`: or any two add up to it, or one is a share of another."""
        return any(
            is_near(value, dimension, amount, self._of(dimension, anywhere=where))
            for dimension, amount in value.readings
            for where in ((False, True) if anywhere else (False,))
        )

    def _of(self, dimension: str, *, anywhere: bool) -> _Made:
        """Everything that is made in one dimension, in order."""
        key = dimension, anywhere
        if key not in self._made:
            groups = [self.values] if anywhere else [[*one, *two] for one, two in pairwise(self._texts)] or self._texts
            made = [amount for group in groups for amount in (_anywhere if anywhere else _steps)(dimension, group)]
            self._made[key] = np.unique(np.asarray(made, dtype=np.float64))
        return self._made[key]


def is_rate(value: Value, words: Collection[str], texts: Iterable[TextValues]) -> bool:
    """True if a known amount by another period makes the value: 350 a day, 2,450 a week. `words`: of the value's sentence, which names its period."""
    periods = {_LENGTH_S[word] for word in words if word in _LENGTH_S}
    if not periods:
        return False
    for text in texts:
        factors = [factor for its in {_LENGTH_S[word] for word in text.words if word in _LENGTH_S} for mine in periods for factor in _factors(mine, its)]
        for other in (placed.value for placed in text.values) if factors else ():
            if value.heads and other.heads and not value.heads & other.heads:
                continue
            known = dict(other.readings[:1])
            if any(is_near(value, name, amount, np.asarray([known[name] * one])) for name, amount in value.readings if name in known for one in factors):
                return True
    return False


def _factors(mine_s: float, its_s: float) -> Iterator[float]:
    """How often one period holds another, or, where it is the shorter one, which part of it it is."""
    if mine_s < its_s:
        yield from (1 / factor for factor in _factors(its_s, mine_s))
    elif mine_s > its_s:
        yield from _WHOLE.get((int(mine_s / DAY_S), int(its_s / DAY_S)), (mine_s / its_s,))


def made_of(value: Value, others: Sequence[Value]) -> bool:
    """True if some values make another one."""
    return any(is_near(value, dimension, amount, np.unique(np.asarray(list(_steps(dimension, others))))) for dimension, amount in value.readings)


def is_near(value: Value, dimension: str, amount: float, made: _Made) -> bool:
    """True if an amount is among those made, within the precision it is written with and its hedge."""
    figure = value.figures[0]
    rounded = dimension != "number" or abs(figure) >= 100
    reach = max(1e-6 * abs(amount), min(0.501 * abs(amount / figure) * last_place(figure), 0.03 * abs(amount)) if figure and rounded else 0.0)
    if value.hedge:
        reach = max(reach, (0.06 if value.hedge == "about" else 0.15) * abs(amount))
    first = int(np.searchsorted(made, amount - reach))
    return first < len(made) and bool(made[first] <= amount + reach)


def _anywhere(dimension: str, others: Sequence[Value]) -> Iterator[float]:
    """Sums and differences of any two, and shares of any."""
    yield from _sums(dimension, others)
    yield from (amount * made for amount in _amounts(others, dimension) for part in _amounts(others, "ratio") for made in (part, 1 - part, 1 + part))


def _sums(dimension: str, others: Sequence[Value]) -> Iterator[float]:
    """Sums and differences of any two."""
    for one, two in combinations(_amounts(others, dimension), 2):
        yield one + two
        yield abs(one - two)


def _steps(dimension: str, others: Sequence[Value]) -> Iterator[float]:
    """Sums, differences, averages, products and shares of the values, in one dimension."""
    amounts = _amounts(others, dimension)
    yield from _sums(dimension, others)
    yield from ((one + two) / 2 for one, two in combinations(amounts, 2))
    if dimension.startswith("money"):
        yield from (made for one in amounts for factor in _PERIODS for made in (one * factor, one / factor))
    if 2 < len(amounts) <= FEW_MAX:
        yield from (sum(part) for count in range(3, len(amounts) + 1) for part in combinations(amounts, count))
    counts, shares = _amounts(others, "number"), _amounts(others, "ratio")
    yield from (made for amount in amounts for count in counts if count for made in (amount * count, amount / count))
    yield from (amount * made for amount in amounts for part in shares for made in (part, 1 - part, 1 + part))
    if dimension == "ratio":
        yield from (1 - one for one in amounts)
        for like in dict.fromkeys(one.readings[0][0] for one in others if one.readings and one.readings[0][0] not in _NO_AMOUNTS):
            values = _amounts(others, like)
            yield from (made for one in values for two in values if two for made in (one / two, abs(one - two) / two))


def _amounts(others: Iterable[Value], dimension: str) -> list[float]:
    return sorted({amount for one in others for name, amount in one.readings[:1] if name == dimension})[:AMOUNTS_MAX]


def follows_from_years(value: Value, others: Sequence[Value]) -> bool:
    """True if a date's year is a known one and a known span later or earlier, or a span or an age the time between two known years or months."""
    whens = [when for one in others if one is not value for when in one.whens[:1] if when.years and when.years[0] == when.years[1]]
    years = {when.years[0] for when in whens if when.years}
    if value.whens:
        spans = {one.readings[0][1] / _YEAR_S for one in others if one.kind == "duration" and one.readings}
        mine = {when.years[0] for when in value.whens if when.years}
        return any(abs(abs(year - other) - span) < 1 for year in mine for other in years for span in spans if span >= SPAN_YEARS_MIN)
    if value.kind not in {"duration", "age"} or not value.readings:
        return False
    span = value.readings[0][1] / (1.0 if value.kind == "age" else _YEAR_S)
    months = {12 * when.years[0] + min(when.months) for when in whens if when.years and when.months and len(when.months) == 1}
    if any(abs(abs(two - one) / 12 - span) <= max(0.09, 0.06 * span) for one, two in combinations(months, 2)):
        return True
    reach = max(1.0, 0.06 * span if value.hedge else 0.0)
    return span >= 1 and any(abs(abs(one - two) - span) <= reach for one, two in combinations(years, 2))
