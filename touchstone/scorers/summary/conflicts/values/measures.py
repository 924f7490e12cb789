"""Numbers with something behind them: prices, shares, ages, spans of time, measured quantities, blood pressures."""

from touchstone.scorers.summary.conflicts.values.numerals import SHORT_SCALES, Numeral, numeral
from touchstone.scorers.summary.conflicts.values.tokens import Tokens
from touchstone.scorers.summary.conflicts.values.units import CURRENCIES, CURRENCY_SIGNS, DAY_S, SPANS_S, UNITS, YEAR_DAYS, unit
from touchstone.scorers.summary.conflicts.values.value import Value
from touchstone.scorers.summary.lexical import STOPWORDS
from touchstone.scorers.summary.word_lists import word_lists

_LISTS = word_lists(__file__, "words")

SIGNS = frozenset(CURRENCY_SIGNS)
_CODES = frozenset({"usd", "eur", "gbp", "chf", "jpy", "aud", "cad", "inr", "cny", "sek", "nok", "dkk"})
_YEAR_S = YEAR_DAYS * DAY_S
_OLD = frozenset({"old", "olds"})
#: "A woman of 72" gives her age.
_PERSONS = frozenset(["man", "woman", "boy", "girl", "lady", "gentleman", "male", "female", "youth", "child"])
_FULL = frozenset({"full", "whole", "consecutive", "further", "more", "additional", "long", "straight", "successive", "calendar", "working", "business"})
_PRESSURE_WORDS = frozenset({"bp", "pressure", "blood", "systolic", "diastolic", "hypertensive", "hypertension", "mmhg", "readings", "reading"})
_LASTING_BEFORE = _LISTS["lasting_before"]
_LASTING_AFTER = frozenset(["of", "later", "ago", "earlier", "before", "after", "or", "long", "and", "old"])


def code(tokens: Tokens, place: int) -> bool:
    """True for a currency's code before a number: USD 5."""
    return tokens.text(place) in _CODES and tokens[place + 1].kind == "number"


def money(tokens: Tokens, place: int, found: Numeral) -> Value | None:
    """$1.2 million, £250k, 1,200,000 dollars, 40 euros, USD 5."""
    readings, after = found.readings, found.after
    first = tokens.text(place)
    currency = CURRENCY_SIGNS.get(first) or (CURRENCIES[first][0] if first in _CODES else None)
    if currency is not None:
        if tokens[after].close and tokens.text(after) in SHORT_SCALES and tokens[after].kind == "word":
            readings, after = tuple(value * SHORT_SCALES[tokens.text(after)] for value in readings), after + 1
        amounts = tuple((f"money:{currency}", value) for value in readings)
        return _value("money", tokens, place, after, amounts, readings)
    after = tokens.past_hyphen(after)
    if tokens[after].close and tokens.text(after) in {"m", "b"} and tokens.text(after + 1) in CURRENCIES:
        readings, after = tuple(value * SHORT_SCALES[tokens.text(after)] for value in readings), after + 1
    if tokens.text(after) in CURRENCY_SIGNS:
        return _value("money", tokens, place, after + 1, tuple((f"money:{CURRENCY_SIGNS[tokens.text(after)]}", value) for value in readings), readings)
    if found.figures and tokens[after].close and tokens.text(after) == "p":
        return _value("money", tokens, place, after + 1, tuple(("money:pound", value / 100) for value in readings), readings)
    after += tokens.text(after) in {"us", "american", "canadian", "australian", "swiss", "british", "sterling", "indian"}
    name = tokens.text(after)
    if name not in CURRENCIES or (name in {"cad", "aud"} and not tokens[after].capital):
        return None
    named, part = CURRENCIES[name]
    amounts = tuple((f"money:{named}", value * part) for value in readings)
    masses = tuple((measure.dimension, value * measure.factor) for value in readings for measure in UNITS.get(name, ()))
    return _value("money", tokens, place, after + 1, amounts + masses, readings)


def share(tokens: Tokens, place: int, found: Numeral) -> Value | None:
    """35 %, 35 percentage points, half, two-thirds, 3/4, one in five, nine out of ten."""
    value, after = found.readings[0], found.after
    joint = tokens.past_hyphen(after)
    name = tokens.text(joint)
    if name in {"%", "percent", "pct", "percentage"} or (name == "per" and tokens.text(joint + 1) == "cent"):
        end = joint + 1 + (name == "per") + (name == "percentage" and tokens.text(joint + 1) in {"point", "points"})
        return _value("percentage", tokens, place, end, tuple(("ratio", reading / 100) for reading in found.readings), found.readings, clinical=1)
    if found.form == "fraction":
        if tokens.text(place - 1) in {"first", "second", "other", "latter", "better", "last"} or joint != after or tokens.text(after) in SPANS_S:
            return None
        if tokens.text(_of_a(tokens, after)) in SPANS_S.keys() | UNITS.keys() and _of_a(tokens, after) > after:
            return None
        part = _value("percentage", tokens, place, after, (("ratio", value),), (value,))
        return part._replace(weak=tokens.text(after - 1) == "half" and tokens[after].kind == "word" and tokens.text(after) not in STOPWORDS)
    if not value.is_integer() or found.form != "cardinal":
        return None
    return _of_so_many(tokens, place, found)


def _of_a(tokens: Tokens, after: int) -> int:
    """The place behind "a" or "of a": half an hour, three quarters of an hour."""
    step = after + (tokens.text(after) == "of")
    return step + 1 if tokens.text(step) in {"a", "an"} else after


def _of_so_many(tokens: Tokens, place: int, found: Numeral) -> Value | None:
    """3/4, one in five, nine out of ten."""
    after, value = found.after, found.readings[0]
    if tokens.text(after) == "/" and tokens[after].close and tokens[after + 1].close:
        lower = numeral(tokens, after + 1)
    elif (
        tokens.starts(after, "in", "every")
        or tokens.starts(after, "of", "every")
        or tokens.starts(after, "out", "of", "every")
        or tokens.starts(after, "per", "hundred")
        or tokens.starts(after, "per", "thousand")
    ):
        step = after + (tokens.text(after) == "out")
        word = tokens.text(step + 1)
        lower = Numeral((100.0 if word == "hundred" else 1000.0,), after + 2) if word != "every" else _hundred(tokens, step + 2)
    elif tokens.starts(after, "out", "of"):
        lower = numeral(tokens, after + 2)
    elif tokens.text(after) == "in" and value <= 10:
        lower = numeral(tokens, after + 1)
        lower = lower if lower and lower.readings[0] in {2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 20, 25, 50, 100, 200, 500, 1000, 10_000} else None
        lower = None if lower and (tokens.text(lower.after) in SPANS_S or tokens.text(lower.after) == "%") else lower
    else:
        return None
    if not lower or lower.form != "cardinal" or not 0 < value < lower.readings[0]:
        return None
    return _value("percentage", tokens, place, lower.after, (("ratio", value / lower.readings[0]),), (value, lower.readings[0]))


def _hundred(tokens: Tokens, place: int) -> Numeral | None:
    """A number at this place; "hundred" alone is one."""
    alone = {"hundred": 100.0, "thousand": 1000.0}.get(tokens.text(place))
    return Numeral((alone,), place + 1) if alone else numeral(tokens, place)


def age(tokens: Tokens, place: int, found: Numeral) -> Value | None:
    """71-year-old, seventy-one years old, aged 71, 71 y/o, "Mrs Okafor, 71, …"."""
    value = found.readings[0]
    if found.form != "cardinal" or value > 125:
        return None
    joint = tokens.past_hyphen(found.after)
    span_s = SPANS_S.get(tokens.text(joint))
    if span_s and span_s >= DAY_S:
        after = _behind_span(tokens, place, joint, span_s)
        return None if after is None else _aged(tokens, place, after, value, span_s)
    after = _behind_shorthand(tokens, joint)
    if after is None and _is_bare_age(tokens, place, found.after, value):
        after = found.after
    return None if after is None else _aged(tokens, place, after, value, _YEAR_S)


def _behind_span(tokens: Tokens, place: int, joint: int, span_s: float) -> int | None:
    """The place behind "years old", "years of age", or "years" where the words before the number speak of an age; None for a mere span."""
    behind = joint + 1 + (tokens.text(joint + 1) == "-")
    if tokens.text(behind) in _OLD:
        return behind + 1
    if tokens.starts(behind, "of", "age"):
        return behind + 2
    return joint + 1 if tokens.text(place - 1) == "aged" or (span_s == _YEAR_S and _of_age(tokens, place)) else None


def _behind_shorthand(tokens: Tokens, joint: int) -> int | None:
    """The place behind "y/o", "yo" or "yrs"."""
    if tokens.starts(joint, "y", "/", "o"):
        return joint + 3
    if tokens.starts(joint, "y", "o"):
        return joint + 2
    return joint + 1 if tokens.text(joint) in {"yo", "yrs"} else None


def _is_bare_age(tokens: Tokens, place: int, after: int, value: float) -> bool:
    """True if a number without a unit is an age: "aged 71", "18 or older", "a woman of 72", "Mrs Okafor, 71, …", "Okafor (71)"."""
    before, further, following = tokens.text(place - 1), tokens[place - 2], tokens.text(after)
    if before in {"aged", "age", "ages"} or (before in {"of", "at", "to", "was", "is"} and further.text in {"age", "aged"}):
        return True
    if following in {"or", "and"} and tokens.text(after + 1) in {"older", "younger"}:
        return True
    if before == "of" and further.text in _PERSONS and tokens[after].kind != "number":
        return True
    if before == "at" and tokens[place - 1].capital and following == ",":
        return True
    behind_name = further.capital and not further.opens_line and value < 111
    return behind_name and (((before, following) == (",", ",") and value >= 1) or ((before, following) == ("(", ")") and value > 15))


def _of_age(tokens: Tokens, place: int) -> bool:
    """True if the words before say that an age follows: "the mean age was 67 years"."""
    return tokens.text(place - 1) in {"was", "is", "of", ":", "were"} and "age" in {tokens.text(place - 2), tokens.text(place - 3), tokens.text(place - 4)}


def _aged(tokens: Tokens, place: int, after: int, value: float, span_s: float) -> Value:
    return _value("age", tokens, place, after, (("age", value * span_s / _YEAR_S),), (value,))


def span(tokens: Tokens, place: int, found: Numeral) -> Value | None:
    """Six weeks, a 24-hour stay, 2 h 4 min, half an hour, an hour and a half."""
    if found.form == "ordinal":
        return None
    value, after = found.readings[0], found.after
    if found.form == "fraction":
        after = _of_a(tokens, after)
    joint = tokens.past_hyphen(after)
    joint += tokens.text(joint) in _FULL
    name = tokens.text(joint)
    if name not in SPANS_S or (len(name) == 1 and tokens[joint - 1].kind != "number"):
        return None
    seconds, figure, after = value * SPANS_S[name], value, joint + 1
    after, more = _smaller(tokens, after, SPANS_S[name])
    return _value("duration", tokens, place, after, (("duration", seconds + more),), (figure,) if not more else ())


def _smaller(tokens: Tokens, after: int, larger_s: float) -> tuple[int, float]:
    """What follows a span in a smaller unit: "4 min" behind "2 h"; "and a half"."""
    step = after + (tokens.text(after) == "and")
    if tokens.starts(step, "a", "half") and step > after:
        return step + 2, larger_s / 2
    found = numeral(tokens, step)
    if not found or found.form != "cardinal":
        return after, 0.0
    if (
        larger_s == SPANS_S["hour"]
        and step == after
        and found.readings[0] < 60
        and (tokens[found.after].kind != "word" or tokens.text(found.after) in STOPWORDS)
    ):
        return found.after, found.readings[0] * 60
    joint = found.after
    part_s = SPANS_S.get(tokens.text(joint), larger_s)
    return (joint + 1, found.readings[0] * part_s) if part_s < larger_s and tokens.text(joint + 1) not in {"old", "of"} else (after, 0.0)


def article_span(tokens: Tokens, place: int) -> Value | None:
    """A week, an hour and a half, a fortnight: where the words around it speak of how long."""
    if tokens.text(place) not in {"a", "an"}:
        return None
    name = tokens.text(place + 1)
    if name not in SPANS_S or len(name) < 3 or name in {"second", "sec", "min", "night"}:
        return None
    after, more = _smaller(tokens, place + 2, SPANS_S[name])
    lasting = (tokens.text(place - 1) in _LASTING_BEFORE or tokens.text(after) in _LASTING_AFTER) and not tokens.starts(after, "or")
    value = _value("duration", tokens, place, after, (("duration", SPANS_S[name] + more),), (1.0,) if not more else ())
    return value._replace(weak=not lasting and not more)


def quantity(tokens: Tokens, place: int, found: Numeral) -> Value | None:
    """5 mg, 3.6 mmol/L, 340 metres, 38.9 °C."""
    if found.form == "ordinal":
        return None
    after = found.after
    if found.form == "fraction":
        after = _of_a(tokens, after)
    joint = tokens.past_hyphen(after)
    named = unit(tokens, joint)
    if not named:
        return None
    units, end = named
    below = tokens.starts(end, "below", "zero") or tokens.starts(end, "below", "freezing")
    end += 2 * below
    sign = (
        -1.0 if below or tokens.text(place - 1) == "minus" or (tokens.text(place - 1) == "-" and tokens[place].close and not tokens[place - 1].close) else 1.0
    )
    readings = tuple((one.dimension, sign * value * one.factor + one.offset) for value in found.readings for one in units)
    if tokens.text(joint) == "m" and tokens[joint].close:
        readings += tuple(("number", value * 1e6) for value in found.readings)
    figures = tuple(sign * value for value in found.readings)
    return _value("quantity", tokens, place, end, readings, figures, clinical=max(one.clinical for one in units))


def blood_pressure(tokens: Tokens, place: int) -> list[Value]:
    """125/84 mmHg, 125 over 84: both numbers, each a pressure."""
    token, sign, last = tokens[place], tokens.text(place + 1), tokens[place + 2]
    if token.kind != "number" or last.kind != "number" or sign not in {"/", "over"} or not (token.text.isdigit() and last.text.isdigit()):
        return []
    upper, lower = (float(one.text) if len(one.text) <= 3 else 0.0 for one in (token, last))
    if not (60 <= upper <= 280 and 30 <= lower <= 160 and upper > lower):
        return []
    after = place + 3
    after += 2 if tokens.starts(after, "mm", "hg") else tokens.text(after) == "mmhg"
    near = {tokens.text(one) for one in range(max(0, place - 12), place + 12)}
    if after == place + 3 and not near & _PRESSURE_WORDS:
        return []
    upper_value = _value("quantity", tokens, place, place + 1, (("systolic", upper),), (upper,), clinical=2)
    return [upper_value, _value("quantity", tokens, place + 2, after, (("diastolic", lower),), (lower,), clinical=2)]


def _value(
    kind: str, tokens: Tokens, first: int, after: int, readings: tuple[tuple[str, float], ...], figures: tuple[float, ...], *, clinical: int = 0
) -> Value:
    return Value(kind, tokens[first].start, tokens[after - 1].end, first, after, readings, figures, clinical=clinical)  # type: ignore[arg-type]
