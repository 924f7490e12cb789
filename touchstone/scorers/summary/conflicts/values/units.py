"""Units of measure, currencies and spans of time: what each name means."""

from collections.abc import Iterable
from typing import NamedTuple

from touchstone.scorers.summary.conflicts.values.tokens import Tokens
from touchstone.scorers.summary.word_lists import rows

DAY_S = 86_400.0
MONTH_DAYS, YEAR_DAYS = 30.4375, 365.25


class Unit(NamedTuple):
    """A unit. An amount of it times `factor` is in the unit that its dimension is compared in. `clinical`: 2 always, 1 if the text is clinical, 0 never."""

    dimension: str
    factor: float
    clinical: int = 0
    offset: float = 0.0


def _table(lines: Iterable[str]) -> dict[str, tuple[Unit, ...]]:
    """Rows of `dimension factor clinical names…`; a name in two rows has both readings."""
    table: dict[str, tuple[Unit, ...]] = {}
    for line in lines:
        dimension, factor, clinical, *names = line.split()
        for name in names:
            table[name] = (*table.get(name, ()), Unit(dimension, float(factor), int(clinical)))
    return table


#: Names in lower case; mass in grams, volume in litres, length in metres, and so on.
UNITS = _table(rows(__file__, "units"))
#: One letter is a unit only close behind figures, or in figures' company: "5 g", not "the g".
SHORT = frozenset({"g", "t", "l", "m", "j", "w", "v", "k", "c", "f"})
_CELSIUS, _FAHRENHEIT = Unit("temperature", 1.0, 1), Unit("temperature", 5 / 9, 1, -160 / 9)
_DEGREES = {"c": _CELSIUS, "celsius": _CELSIUS, "centigrade": _CELSIUS, "f": _FAHRENHEIT, "fahrenheit": _FAHRENHEIT}
#: Spans of time in seconds.
SPANS_S = {
    name: seconds
    for seconds, names in (
        (1e-3, "ms millisecond milliseconds"),
        (1.0, "s sec secs second seconds"),
        (60.0, "min mins minute minutes"),
        (3600.0, "h hr hrs hour hours"),
        (DAY_S, "day days d night nights"),
        (7 * DAY_S, "week weeks wk wks"),
        (14 * DAY_S, "fortnight fortnights"),
        (MONTH_DAYS * DAY_S, "month months mth mths"),
        (YEAR_DAYS * DAY_S, "year years yr yrs"),
        (10 * YEAR_DAYS * DAY_S, "decade decades"),
        (100 * YEAR_DAYS * DAY_S, "century centuries"),
    )
    for name in names.split()
}
#: What one may count a rate by: "a day", "per hour".
PERIODS_S = {name: seconds for name, seconds in SPANS_S.items() if len(name) > 2 or name == "h"} | {
    "morning": DAY_S,
    "evening": DAY_S,
    "bedtime": DAY_S,
    "afternoon": DAY_S,
}
ADVERBS_S = {
    "hourly": 3600.0,
    "daily": DAY_S,
    "nightly": DAY_S,
    "weekly": 7 * DAY_S,
    "fortnightly": 14 * DAY_S,
    "monthly": MONTH_DAYS * DAY_S,
    "quarterly": 3 * MONTH_DAYS * DAY_S,
    "yearly": YEAR_DAYS * DAY_S,
    "annually": YEAR_DAYS * DAY_S,
}
CURRENCY_SIGNS = {"$": "dollar", "£": "pound", "€": "euro", "¥": "yen", "₹": "rupee"}
#: Codes and names: the currency and the share of it that one is.
CURRENCIES: dict[str, tuple[str, float]] = {
    **{name: (currency, 1.0) for currency, names in (
        ("dollar", "usd dollar dollars aud cad"), ("euro", "eur euro euros"), ("pound", "gbp pound pounds quid"), ("yen", "jpy yen"),
        ("rupee", "inr rupee rupees"), ("franc", "chf franc francs"), ("krona", "sek nok dkk krona kronor krone kroner"), ("yuan", "cny rmb yuan"),
    ) for name in names.split()},
    "pence": ("pound", 0.01), "cent": ("", 0.01), "cents": ("", 0.01),
}  # fmt: skip


def unit(tokens: Tokens, place: int) -> tuple[tuple[Unit, ...], int] | None:
    """The units that the tokens from this place on may name, and the place behind them."""
    token = tokens[place]
    name = token.text
    if name in {"°", "º", "degree", "degrees", "deg"}:
        scale = _DEGREES.get(tokens.text(place + 1))
        return ((scale,), place + 2) if scale else ((_CELSIUS, _FAHRENHEIT), place + 1)
    if name in {"℃", "c"} and (token.capital or name == "℃") and token.close:
        return (_CELSIUS,), place + 1
    if name in {"square", "sq", "cubic"} and tokens.text(place + 1) in UNITS:
        sides = [side.factor for side in UNITS[tokens.text(place + 1)] if side.dimension == "length"]
        squared = (Unit("volume", 1000 * side**3) if name == "cubic" else Unit("area", side**2) for side in sides)
        return (tuple(squared), place + 2) if sides else None
    if name in {"beats", "breaths"}:
        return _per_minute(tokens, place)
    if name == "mm" and tokens.text(place + 1) == "hg":
        return UNITS["mmhg"], place + 2
    if name == "a" and not token.close:
        return None
    found = UNITS.get(name)
    if not found or (name in SHORT and tokens[place - 1].kind != "number"):
        return None
    return _per(tokens, place + 1, found)


def _per_minute(tokens: Tokens, place: int) -> tuple[tuple[Unit, ...], int] | None:
    if tokens.text(place + 1) in {"a", "per", "/", "each"} and tokens.text(place + 2) in {"minute", "min"}:
        return (Unit("rate", 1.0, 2),), place + 3
    return None


def _per(tokens: Tokens, after: int, upper: tuple[Unit, ...]) -> tuple[tuple[Unit, ...], int]:
    """The unit, divided by what follows "/" or "per": mg/dL, km/h, miles per hour, mg/kg."""
    sign = tokens.text(after)
    if sign not in {"/", "per", "an", "a"}:
        return upper, after
    lower = tokens.text(after + 1)
    if lower in {"h", "hr", "hour", "s", "second", "min", "minute"} and any(part.dimension in {"length", "volume", "information"} for part in upper):
        seconds = SPANS_S[lower]
        named = {"length": "speed", "volume": "flow", "information": "bandwidth"}
        return tuple(Unit(named[part.dimension], part.factor / seconds, part.clinical) for part in upper if part.dimension in named), after + 2
    if sign in {"/", "per"} and lower in UNITS:
        parts = tuple(
            Unit(f"{part.dimension}/{below.dimension}", part.factor / below.factor, max(part.clinical, below.clinical))
            for part in upper
            for below in UNITS[lower]
        )
        return parts, after + 2
    return upper, after
