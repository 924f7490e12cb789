"""What a value read from a text is, and when two of them are the same one."""

import math
from typing import Literal, NamedTuple

from touchstone.scorers.summary.conflicts.values.clocks import ROUNDED_MINUTES
from touchstone.scorers.summary.conflicts.values.dates import When

Kind = Literal["number", "ordinal", "age", "quantity", "frequency", "date", "clock", "duration", "money", "percentage"]
Hedge = Literal["", "about", "nearly", "over", "under"]

#: How far "about" reaches, and the same for fractions and spans in words: "about a third" of 31 %, "about an hour" of 55 minutes.
ABOUT, ABOUT_FRACTION = 0.055, 0.12
#: How far "more than" and "less than" a fraction in words reach: 38 % is more than a third, 61 % more than half.
OVER_FRACTION = 0.3
#: Largest relative difference between a rounded value and the exact one.
ROUNDED = 0.025
#: A month has 28 to 31 days: calendars are compared a little loosely.
CALENDAR = 0.09
#: Conversions between systems of units are rounded: 1,000 feet, 300 metres.
CONVERTED = 0.03
_EXACT = 1e-6
#: A number with so many significant figures is distinctive.
DISTINCTIVE_FIGURES = 3
#: From here on a number is no other one's bound by chance.
LARGE = 100


class Value(NamedTuple):
    """One value in a text, at [start, end) and at tokens [first, after).

    `readings`: dimension and amount, the likeliest first, in one unit for each dimension. `figures`: the number as it is written.
    `whens`: what a date may mean. `span`: the range of which it is an end, in the dimension of its first reading. `heads`: stems of what it counts
    or labels (`label`, as in "room 310"). `weak`: too slight to be called wrong. `clinical`: 2 always, 1 if the text is clinical.
    `mate`: the value that is joined to it, 1: the next one, -1: the one before: "9 to 4", "from 18 to 60", "6 × 4 mm".
    """

    kind: Kind
    start: int
    end: int
    first: int
    after: int
    readings: tuple[tuple[str, float], ...] = ()
    figures: tuple[float, ...] = ()
    whens: tuple[When, ...] = ()
    hedge: Hedge = ""
    span: tuple[float, float] | None = None
    heads: frozenset[str] = frozenset()
    weak: bool = False
    clinical: int = 0
    words: bool = False
    label: bool = False
    mate: int = 0

    @property
    def is_distinctive(self) -> bool:
        """True if it has so many figures that two texts hardly share it by chance."""
        digits = f"{self.figures[0]:.10g}".replace(".", "").strip("0") if self.figures else ""
        return len(digits) >= DISTINCTIVE_FIGURES

    @property
    def is_whole(self) -> bool:
        """True if it is written as a whole number."""
        return bool(self.figures) and self.figures[0].is_integer()

    @property
    def is_score(self) -> bool:
        """True if it is one of two bare numbers that are joined: 3-2."""
        return bool(self.mate) and self.kind == "number" and not self.heads


def same(here: Value, there: Value) -> bool:
    """True if two values are the same, within the precision that each claims."""
    if here.whens and there.whens and any(mine.agreement(its) or _bounded(here, mine, there, its) for mine in here.whens for its in there.whens):
        return True
    for dimension, amount in here.readings:
        for other, its in there.readings:
            if _one_dimension(dimension, other) and (_near(here, amount, there, its) or _covered(here, amount, there) or _covered(there, its, here)):
                return True
    return _same_figures(here, there)


def _one_dimension(mine: str, its: str) -> bool:
    """True if amounts of two dimensions are comparable; cents have no currency."""
    return mine == its or ("money:" in {mine, its} and mine.startswith("money") and its.startswith("money"))


def _bounded(here: Value, mine: When, there: Value, its: When) -> bool:
    """True if a date keeps to the other one's "before" or "after"; two dates with the same such word must be the same."""
    if here.hedge == there.hedge or not (here.hedge or there.hedge):
        return False
    if mine.day is not None and its.day is not None and mine.months == its.months:
        return False
    if here.hedge in {"over", "under"}:
        return its.follows(mine) is (here.hedge == "over")
    return there.hedge in {"over", "under"} and mine.follows(its) is (there.hedge == "over")


def leaves_room(rough: Value, exact: Value) -> bool:
    """True if a value that is the same as another one says less: a date without the day, a range about it, a bound."""
    if rough.whens and exact.whens:
        return all(its.leaves_open(mine) for its in rough.whens for mine in exact.whens if its.agreement(mine))
    if rough.hedge in {"over", "under"} and rough.hedge != exact.hedge:
        near = 0.01 if max(rough.figures, default=0.0) < LARGE else 0.1
        return not any(math.isclose(mine, its, rel_tol=near) for dimension, mine in exact.readings for other, its in rough.readings if dimension == other)
    ends = rough.span is not None and not any(math.isclose(end, mine, rel_tol=0.01) for end in rough.figures for mine in exact.figures)
    return ends and exact.span is None


def comparable(here: Value, there: Value) -> bool:
    """True if two values measure the same thing in kind: both masses, both dates that say a part in common, both bare numbers."""
    if here.whens or there.whens:
        return bool(here.whens and there.whens) and any(mine.agreement(its) is not None for mine in here.whens for its in there.whens)
    if (here.kind == "ordinal") != (there.kind == "ordinal") and not (here.label or there.label):
        return False
    mine, its = {dimension for dimension, _ in here.readings}, {dimension for dimension, _ in there.readings}
    if mine & its:
        return True
    if any(one.startswith("money") for one in mine) and any(one.startswith("money") for one in its):
        return True
    return (_bare(here) and there.kind in _AS_BARE) or (_bare(there) and here.kind in _AS_BARE)


_AS_BARE = frozenset({"quantity", "age", "money", "percentage"})
_COUNTS = frozenset({"number", "ordinal", "age"})


def _bare(value: Value) -> bool:
    """True for a number without a noun or unit."""
    return value.kind == "number" and not value.heads


def _same_figures(here: Value, there: Value) -> bool:
    """True if the bare numbers are equal where one of them does not say its unit, or both only count."""
    if (here.kind in _COUNTS and there.kind in _COUNTS) or _bare(here) or _bare(there):
        return any(_near(here, mine, there, its) for mine in here.figures for its in there.figures)
    return False


def same_figures(here: Value, there: Value) -> bool:
    """True if the bare numbers are equal, no matter what they count."""
    return any(math.isclose(mine, its, rel_tol=_EXACT, abs_tol=1e-12) for mine in here.figures for its in there.figures)


def _covered(point: Value, amount: float, ranged: Value) -> bool:
    """True if a single value is within the other one's range: "a week" in "5 to 10 days"."""
    return point.span is None and ranged.span is not None and ranged.span[0] * (1 - _EXACT) <= amount <= ranged.span[1] * (1 + _EXACT)


def _near(here: Value, mine: float, there: Value, its: float) -> bool:
    """True if two amounts of one dimension are equal within their hedges and rounding."""
    if math.isclose(mine, its, rel_tol=_EXACT, abs_tol=1e-12):
        return True
    if (
        here.kind in {"duration", "frequency"}
        and there.kind == here.kind
        and _scale(here, mine) != _scale(there, its)
        and abs(mine - its) <= CALENDAR * max(mine, its)
    ):
        return True
    if here.kind == there.kind == "quantity" and _converted(_scale(here, mine), _scale(there, its)) and abs(mine - its) <= CONVERTED * max(abs(mine), abs(its)):
        return True
    return _reaches(here, mine, its) or _reaches(there, its, mine) or _rounds(here, mine, there, its) or _rounds(there, its, here, mine)


def _converted(mine: float, its: float) -> bool:
    """True if one unit is not a decimal part of the other: miles and kilometres, unlike milligrams and grams."""
    if mine <= 0 or its <= 0:
        return False
    tens = math.log10(mine / its)
    return abs(tens - round(tens)) > 1e-3


def _scale(value: Value, amount: float) -> float:
    """How many of the compared unit the written unit is."""
    return round(amount / value.figures[0], 9) if value.figures and value.figures[0] else 0.0


def _reaches(hedged: Value, amount: float, other: float) -> bool:
    """True if "about", "nearly", "over" or "under" the amount may be the other one."""
    if hedged.kind == "clock":
        return bool(hedged.hedge) and abs(amount - other) <= ROUNDED_MINUTES
    low, high = _reach(hedged, amount)
    return min(low, high) <= other <= max(low, high)


def _reach(hedged: Value, amount: float) -> tuple[float, float]:
    fraction = hedged.words and hedged.kind == "percentage"
    if not hedged.hedge:
        reach = 0.04 * amount if fraction else 0.0
        return amount - reach, amount + reach
    if hedged.hedge == "about":
        rough = fraction or (hedged.words and hedged.kind == "duration")
        reach = (ABOUT_FRACTION if rough else ABOUT) * amount
        return amount - reach, amount + reach
    if hedged.hedge == "nearly":
        return 0.85 * amount, 1.01 * amount
    step = last_place(hedged.figures[0]) / hedged.figures[0] if hedged.figures and hedged.figures[0] else 0.0
    far = OVER_FRACTION if fraction else min(0.5, max(0.1, 1.5 * step))
    return (amount, (1 + far) * amount) if hedged.hedge == "over" else ((1 - far) * amount, amount)


def _rounds(short: Value, amount: float, long: Value, other: float) -> bool:
    """True if the amount is the other one rounded to the figures it is written with: 1,800 for 1,793, 12 % for 11.8 %, 7 years for 7.1; no room number is."""
    figure, exact = (value.figures[0] if value.figures else 0.0 for value in (short, long))
    if not figure or (short.words and short.kind == "percentage") or short.kind in {"date", "clock", "age", "ordinal", "frequency"}:
        return False
    place = last_place(figure)
    whole = exact.is_integer()
    if (figure < 10 * place and whole) or (short.kind == "number" and whole and figure < 1000) or abs(amount - other) > ROUNDED * abs(other):
        return False
    return abs(amount - other) <= 0.501 * place * abs(amount / figure)


def last_place(figure: float) -> float:
    """What one more in the last figure that is not zero is worth: 100 for 1,800, 0.1 for 2.5."""
    digits = f"{figure:.12g}"
    if "e" in digits:
        return 10.0 ** math.floor(math.log10(abs(figure))) if figure else 1.0
    if "." in digits:
        return float(10.0 ** -len(digits.split(".")[1]))
    return float(10.0 ** (len(digits) - len(digits.rstrip("0")))) if figure else 1.0
