"""Values that follow from stated ones: the span between two dates, a difference, a daily dose."""

import math
from collections.abc import Container, Iterator, Sequence
from itertools import combinations, islice, pairwise

from touchstone.scorers.summary.conflicts.values.clocks import MINUTES_A_DAY, ROUNDED_MINUTES
from touchstone.scorers.summary.conflicts.values.surroundings import Placed, TextValues
from touchstone.scorers.summary.conflicts.values.units import DAY_S, YEAR_DAYS
from touchstone.scorers.summary.conflicts.values.value import LARGE, Value, last_place
from touchstone.scorers.summary.word_lists import word_lists

_LISTS = word_lists(__file__, "words")

#: Pairs of values that are tried.
PAIRS_MAX = 400
#: Values of one sort that are combined.
_VALUES_MAX = 12
_CUES = _LISTS["cues"]
#: Words beside a unit's value from which another value follows: "60, 15 more than last year".
_MORE = frozenset({"more", "fewer", "less", "longer", "shorter", "older", "younger", "higher", "lower", "another", "extra", "additional"})
#: Words that announce a sum anywhere in the sentence.
_WHOLES = frozenset({"total", "altogether", "combined", "together", "all", "overall", "sum"})
#: How often one of these periods holds another: a price a month and a price a year.
_RATES = frozenset({12.0, 52.0, 365.0, 7.0, 24.0, 60.0, 30.0, 4.0, 2.0, 3.0})
_RATE_WORDS = frozenset(
    {"year", "annual", "annually", "yearly", "month", "monthly", "week", "weekly", "day", "daily", "hour", "hourly", "quarter", "each", "per"}
)


def follows(placed: Placed, stated: TextValues, read: Sequence[TextValues], borne: Container[Value], *, cued: bool = False) -> bool:
    """True if the value can be worked out from values of the units (and of the sentence itself). `cued`: and words beside it say that it was.

    `borne`: the sentence's values that units state. A date and a span that are both new do not follow from each other: "three days before, on 7 March".
    """
    value = placed.value
    round_sum = value.kind == "number" and value.figures[0] >= LARGE and any(_is_whole(value, unit) for unit in read)
    if (
        cued
        and not round_sum
        and not stated.words & _WHOLES
        and value.kind in {"number", "money", "percentage", "age"}
        and not placed.beside & (_CUES | _RATE_WORDS | {"of"})
    ):
        return False
    texts = [[one.value for one in unit.values if one.value is not value] for unit in (stated, *read)]
    timed = [one for one in texts[0] if one in borne] + [one for text in texts[1:] for one in text]
    if value.kind in {"date", "clock"}:
        return _is_later(value, timed)
    if value.kind in {"duration", "age"} and _between(value, timed):
        return True
    if value.kind == "percentage" and any(_is_ratio(value, text) for text in texts):
        return True
    if value.kind in {"quantity", "frequency"} and _is_product(value, stated, read):
        return True
    if value.kind == "money" and _is_rate(placed, read):
        return True
    if value.kind == "number" and _is_counted(placed, stated, read):
        return True
    return _is_added(placed, stated, texts, read)


def _is_counted(placed: Placed, stated: TextValues, read: Sequence[TextValues]) -> bool:
    """True if a count is a remainder, a unit's total, or a stated share of a stated count."""
    value = placed.value
    if _is_rest(placed, stated, read):
        return True
    return not _opposed(placed) and any(_is_whole(value, unit) or _is_part(value, unit) for unit in read)


def _opposed(placed: Placed) -> bool:
    """True if a count is half of a score or of a vote: "three votes to none"."""
    return bool(placed.value.mate) or bool({"to", "against", "versus"} & set(placed.right))


def _is_added(placed: Placed, stated: TextValues, texts: Sequence[Sequence[Value]], read: Sequence[TextValues]) -> bool:
    """True if a value is the sum or the difference of two that are stated, and words or its many figures show that it is meant as one."""
    value = placed.value
    if any(one.beside & _MORE and _is_sum(value, text) for unit, text in zip(read, texts[1:], strict=True) for one in unit.values):
        return True
    if value.kind == "number" and _opposed(placed):
        return False
    others = [one for text in texts for one in text]
    if any(_is_sum(value, text) for text in (texts if value.is_distinctive else ())):
        return True
    together = [_alike(value, others)] if value.kind == "number" else [others]
    if placed.beside & _CUES:
        return any(_is_sum(value, text) for text in together)
    return bool(stated.words & _WHOLES) and any(_is_sum(value, text, differences=False) for text in together)


def _alike(value: Value, others: Sequence[Value]) -> list[Value]:
    """Values with the same noun as this one, or without a noun."""
    return [one for one in others if one.label or not one.heads or not value.heads or one.heads & value.heads]


def _days(others: Sequence[Value]) -> list[int]:
    found = {day for one in others for day in (when.ordinal_day() for when in one.whens[:1]) if day is not None}
    return sorted(found)[:_VALUES_MAX]


def _years(others: Sequence[Value]) -> list[int]:
    return sorted({when.years[0] for one in others for when in one.whens[:1] if when.years and when.years[0] == when.years[1]})[:_VALUES_MAX]


def _spans(others: Sequence[Value]) -> list[float]:
    return sorted({one.readings[0][1] for one in others if one.kind == "duration" and one.readings})[:_VALUES_MAX]


def _clocks(others: Sequence[Value]) -> list[float]:
    return sorted({minutes for one in others if one.kind == "clock" for _, minutes in one.readings})[:_VALUES_MAX]


def _is_later(value: Value, others: Sequence[Value]) -> bool:
    """True if a date or time is a stated one and a stated span later, or earlier."""
    spans = _spans(others)
    if value.kind == "clock":
        starts = _clocks(others)
        off = ROUNDED_MINUTES if value.hedge else 1.0
        return any(
            (start + sign * span / 60 - mine + off) % MINUTES_A_DAY <= 2 * off
            for _, mine in value.readings
            for start in starts
            for span in spans
            for sign in (1, -1)
        )
    days, years = _days(others), _years(others)
    for when in value.whens:
        day = when.ordinal_day()
        if day is not None and any(abs(abs(day - start) - span / DAY_S) <= max(0.5, 0.03 * span / DAY_S) for start in days for span in spans):
            return True
        year = when.years[0] if when.years and when.months is None and when.weekday is None else None
        if year is not None and any(
            abs(abs(year - start) - span / DAY_S / YEAR_DAYS) < 0.5 for start in years for span in spans if span > 0.5 * YEAR_DAYS * DAY_S
        ):
            return True
    return False


def _between(value: Value, others: Sequence[Value]) -> bool:
    """True if a span, or an age, is the time between two stated dates or times of day."""
    seconds = value.readings[0][1] * (YEAR_DAYS * DAY_S if value.kind == "age" else 1.0)
    days = seconds / DAY_S
    if any(abs(days - (later - earlier)) <= max(1.0, 0.06 * (later - earlier)) for earlier, later in combinations(_days(others), 2)):
        return True
    if any(abs(seconds / 60 - (later - earlier)) < 1 for earlier, later in combinations(_clocks(others), 2)):
        return True
    return days >= 0.9 * YEAR_DAYS and any(abs(days / YEAR_DAYS - (later - earlier)) <= 0.6 for earlier, later in combinations(_years(others), 2))


def _amounts(others: Sequence[Value], dimension: str) -> list[float]:
    return sorted({amount for one in others for name, amount in one.readings[:1] if name == dimension})[: 2 * _VALUES_MAX]


def _is_sum(value: Value, others: Sequence[Value], *, differences: bool = True) -> bool:
    """True if two known amounts add up to this one, or differ by it; or all of a text's do."""
    if not value.readings:
        return False
    dimension, amount = value.readings[0]
    amounts = _amounts(others, dimension)
    if len(amounts) > 2 and math.isclose(amount, sum(amounts), rel_tol=1e-6):
        return True
    pairs = islice(combinations(amounts, 2), PAIRS_MAX)
    return any(math.isclose(amount, total, rel_tol=1e-6, abs_tol=1e-9) for one, other in pairs for total in (one + other, other - one)[: 1 + differences])


def _is_whole(value: Value, unit: TextValues) -> bool:
    """True if all that a unit counts adds up to it: two men and two women, four people; three stents are not one artery and two stents."""
    counts = [one.value for one in unit.values if one.value.kind == "number" and one.value.figures and not one.value.weak]
    named = [bool(one.heads & value.heads) for one in counts if one.heads]
    return len(counts) > 1 and (all(named) or not any(named)) and math.isclose(sum(one.figures[0] for one in counts), value.figures[0])


def _is_part(value: Value, unit: TextValues) -> bool:
    """True if a count is a stated share of a stated count: 55 % of 1.3 million, 715,000."""
    shares, wholes = (_amounts([one.value for one in unit.values], dimension) for dimension in ("ratio", "number"))
    return any(math.isclose(value.figures[0], part * whole, rel_tol=0.01) for share in shares for part in (share, 1 - share) for whole in wholes if part)


def _is_rest(placed: Placed, stated: TextValues, read: Sequence[TextValues]) -> bool:
    """True if a count is the rest: "four of the seven", where a unit says three of the seven."""
    value = placed.value
    mine = {one.value.figures[0] for one in stated.values if one.value.kind == "number"}
    for unit in read:
        parts = [one for one in unit.values if one.value.kind == "number"]
        counts = [one.value.figures[0] for one in parts]
        if any("of" in one.right and other.value.figures[0] - one.value.figures[0] == value.figures[0] for one, other in pairwise(parts)):
            return True
        if any("of" in placed.beside and whole in mine and whole - part == value.figures[0] for whole in counts for part in counts if part != whole):
            return True
    return False


def _is_ratio(value: Value, others: Sequence[Value]) -> bool:
    """True if one known amount is this share of another, or grew by it."""
    share = value.readings[0][1]
    figure = value.figures[0] if value.figures else 0.0
    rounded = 0.0051 * last_place(figure) if not value.words and figure else 0.0
    near = max((0.1 if value.words else 0.03) * share if value.hedge or value.words else 0.0, rounded)
    if any(abs(share + other - 1) <= max(rounded, 1e-6) for other in _amounts(others, "ratio")):
        return True
    for low, high in islice(_grown(others), PAIRS_MAX):
        if any(abs(share - ratio) <= near for ratio in (low / high, (high - low) / low, (high - low) / high)):
            return True
    return False


def _grown(others: Sequence[Value]) -> Iterator[tuple[float, float]]:
    for dimension in dict.fromkeys(one.readings[0][0] for one in others if one.readings and one.kind in {"number", "money", "quantity", "duration"}):
        for low, high in combinations(_amounts(others, dimension), 2):
            if 0 < low < high:
                yield low, high


def _is_rate(placed: Placed, read: Sequence[TextValues]) -> bool:
    """True if a price is a known one by another period: 950 a month, 11,400 a year."""
    if not placed.beside & _RATE_WORDS:
        return False
    others = [one.value for unit in read for one in unit.values if one.beside & _RATE_WORDS]
    dimension, amount = placed.value.readings[0]
    near = 0.06 if placed.value.hedge else 0.01
    return any(
        math.isclose(max(amount, other) / min(amount, other), rate, rel_tol=near)
        for other in _amounts(others, dimension)
        for rate in _RATES
        if amount and other
    )


def _is_product(value: Value, stated: TextValues, read: Sequence[TextValues]) -> bool:
    """True if dose and number make the same in both: two 5 mg tablets and 10 mg, 1 g a day and 500 mg twice daily."""
    counted, often = _products(stated, "number", value), _products(stated, "frequency", value)
    single = {value.readings[0]} if value.kind == "quantity" else set()
    for unit in read:
        plain = {one.value.readings[0] for one in unit.values if one.value.kind == "quantity"}
        its_often = _products(unit, "frequency")
        if _meet(counted, plain) or _meet(single, _products(unit, "number")) or _meet(often, its_often):
            return True
        if (not often and _meet(single, its_often)) or (not its_often and _meet(often, plain)):
            return True
    return False


def _meet(mine: set[tuple[str, float]], its: set[tuple[str, float]]) -> bool:
    return any(name == other and math.isclose(one, two, rel_tol=1e-6) for name, one in mine for other, two in its)


def _products(reading: TextValues, kind: str, only: Value | None = None) -> set[tuple[str, float]]:
    """Each quantity of a text times the count or frequency beside it; with `only`, products of that value alone."""
    out: set[tuple[str, float]] = set()
    for one, other in pairwise([placed.value for placed in reading.values][:_VALUES_MAX]):
        for dose, times in ((one, other), (other, one)):
            if dose.kind != "quantity" or times.kind != kind or not times.readings or (only is not None and only not in (dose, times)):
                continue
            (name, amount), count = dose.readings[0], times.readings[0][1]
            if 1 <= count <= 24 and 0 <= other.first - one.after <= 3:
                out.add((name, amount * count))
    return out
