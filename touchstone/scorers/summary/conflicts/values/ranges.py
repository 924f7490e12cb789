"""Ranges and scores: two numbers that form one statement."""

from touchstone.scorers.summary.conflicts.values.numerals import SCALES, SHORT_SCALES
from touchstone.scorers.summary.conflicts.values.tokens import Tokens
from touchstone.scorers.summary.conflicts.values.value import LARGE, Value

_JOINS = frozenset({"x", "×", "by", "-", ":", "to", "and", "or", "through", "until", "versus", "vs", "v", "against", "→"})
#: Words that join two numbers to one statement.
_MATING = _JOINS - {"or", "and"}
#: Before these there may be a noun that both count: "nine votes to four".
_OPPOSING = frozenset({"to", "against", "versus", "vs"})
#: Signs of a range, and of two numbers to choose from: the scale behind the second is meant for both.
_SCALING = frozenset({"-", "to", "through", "until", "and", "or", "→"})
#: Two ends of a range are not further apart than by this factor: "from 950 to 1.2 million" is read as it is written.
APART_MAX = 50.0
#: From here on a number is written out, and takes no scale.
WRITTEN_OUT = 1_000.0
_SPANNING = frozenset({"-", "to", "through", "until"})


def joined(tokens: Tokens, values: list[Value]) -> list[Value]:
    """The values, where "5 to 10 mg" gives both numbers the unit, and both ends of a range know the range."""
    out = list(values)
    for index in range(len(out) - 1):
        one, two = out[index], out[index + 1]
        place = one.after + (tokens.text(one.after + 1) in _OPPOSING and two.first == one.after + 2)
        sign = tokens.text(place)
        rough = sign == "to" and two.hedge and two.first == place + 2
        arrow = rough or (sign == "-" and tokens.text(place + 1) == ">")
        if two.first != place + 1 + arrow or sign not in _JOINS:
            continue
        if sign == ":" and not (tokens[place].close and tokens[place + 1].close):
            continue
        if sign == "to" and one.kind == "percentage" and two.kind != "percentage" and not rough and _is_amount(two):
            continue  # "sales rose 14 % to 421 million": a change, and what it leads to
        one = _in_unit_of(one, two)
        if sign in _SCALING:
            one = _in_scale_of(tokens, one, two)
        if sign in _MATING or (sign == "and" and tokens.text(one.first - 1) == "between"):
            one, two = one._replace(mate=1), two._replace(mate=-1)
        spanning = (sign in _SPANNING and tokens.text(one.first - 1) != "from") or (sign == "and" and tokens.text(one.first - 1) == "between")
        if one.kind == two.kind == "number" and sign in _SPANNING | _OPPOSING | {"v"}:
            shared = one.heads | two.heads
            one, two = one._replace(heads=one.heads or shared), two._replace(heads=two.heads or shared)
        if (
            spanning
            and place == one.after
            and one.readings
            and two.readings
            and one.readings[0][0] == two.readings[0][0]
            and one.readings[0][1] < two.readings[0][1]
        ):
            ends = (one.readings[0][1], two.readings[0][1])
            if one.kind != "date":
                one, two = one._replace(span=ends), two._replace(span=ends)
        out[index], out[index + 1] = one, two
    return out


def _is_amount(value: Value) -> bool:
    """True for what a change may lead to: not for the second number of "three quarters to 1"."""
    return value.kind in {"money", "quantity"} or (value.kind == "number" and bool(value.figures) and value.figures[0] >= LARGE)


def _in_unit_of(bare: Value, measured: Value) -> Value:
    """A number without a unit in the unit of the one it is joined to."""
    if bare.kind != "number" or bare.heads - measured.heads or measured.kind in {"number", "date", "clock", "ordinal"} or not measured.figures:
        return bare
    figure = measured.figures[0]
    if not figure or not bare.figures:
        return bare
    readings = tuple((dimension, amount / figure * bare.figures[0]) for dimension, amount in measured.readings)
    return bare._replace(kind=measured.kind, readings=readings, clinical=measured.clinical, heads=measured.heads)


def _in_scale_of(tokens: Tokens, bare: Value, scaled: Value) -> Value:
    """The first number in the scale of the second, "from 185 to 246 million"; what is written stays its second reading."""
    scales = [scale for place in range(scaled.first, scaled.after) if (scale := _scale(tokens, place))]
    heads = scaled.heads if bare.label else bare.heads
    if len(scales) != 1 or bare.kind != scaled.kind or heads - scaled.heads or not (bare.figures and scaled.figures and bare.readings):
        return bare
    figure, other = bare.figures[0], scaled.figures[0] / scales[0]
    has_scale = any(_scale(tokens, place) for place in range(bare.first, bare.after))
    if has_scale or not 0 < figure < WRITTEN_OUT or not 1 / APART_MAX <= figure / other <= APART_MAX:
        return bare
    meant = tuple((dimension, amount * scales[0]) for dimension, amount in bare.readings)
    return bare._replace(readings=(*meant, *bare.readings), figures=(figure * scales[0], *bare.figures), heads=heads, label=False)


def _scale(tokens: Tokens, place: int) -> float | None:
    """The scale that a token is, a word of its own or directly behind figures: 5k."""
    word = tokens.text(place)
    return SCALES.get(word) or (SHORT_SCALES.get(word) if tokens[place].close else None)
