"""Find every value of a text (dates, doses, prices, counts) and skip mere line numbers of lists."""

from touchstone.scorers.summary.conflicts.values import dates, measures
from touchstone.scorers.summary.conflicts.values.clocks import clock
from touchstone.scorers.summary.conflicts.values.frequencies import frequency
from touchstone.scorers.summary.conflicts.values.numerals import VAGUE, Numeral, numeral
from touchstone.scorers.summary.conflicts.values.ranges import joined
from touchstone.scorers.summary.conflicts.values.stems import stem
from touchstone.scorers.summary.conflicts.values.tokens import Tokens
from touchstone.scorers.summary.conflicts.values.value import Hedge, Value
from touchstone.scorers.summary.lexical import STOPWORDS
from touchstone.scorers.summary.word_lists import word_lists

_LISTS = word_lists(__file__, "words")

#: Values of one text that are compared; no sentence has more.
VALUES_MAX = 32
#: Words of the noun phrase behind a number that count as its noun.
HEAD_WORDS = 3
_MARKED = frozenset({"step", "figure", "fig", "table", "item", "point", "section", "part", "chapter"})
_NO_COUNT = frozenset(["the", "this", "that", "each", "every", "any", "which", "no", "another", "only", "some", "other"])
_NOT_COUNTED = _LISTS["not_counted"]
_HEDGES: tuple[tuple[tuple[str, ...], Hedge], ...] = (
    (("just", "over"), "over"), (("more", "than"), "over"), (("at", "least"), "over"), (("upwards", "of"), "over"), (("no", "less", "than"), "over"),
    (("no", "fewer", "than"), "over"), (("over",), "over"), (("above",), "over"), (("exceeding",), "over"), ((">",), "over"), (("≥",), "over"),
    (("topped",), "over"), (("exceeded",), "over"), (("exceeds",), "over"), (("topping",), "over"), (("minimum", "of"), "over"),
    (("no", "more", "than"), "under"), (("not", "more", "than"), "under"), (("less", "than"), "under"), (("fewer", "than"), "under"), (("up", "to"), "under"),
    (("at", "most"), "under"), (("maximum", "of"), "under"), (("under",), "under"), (("below",), "under"), (("<",), "under"), (("≤",), "under"),
    (("just", "under"), "nearly"), (("just", "below"), "nearly"), (("short", "of"), "nearly"), (("nearly",), "nearly"), (("almost",), "nearly"),
    (("approaching",), "nearly"), (("soon", "be"), "nearly"), (("turning",), "nearly"), (("soon", "turn"), "nearly"),
    (("close", "to"), "about"), (("about",), "about"), (("around",), "about"), (("roughly",), "about"),
    (("approximately",), "about"), (("approx",), "about"), (("approx", "."), "about"), (("some",), "about"), (("circa",), "about"), (("ca", "."), "about"),
    (("c", "."), "about"), (("~",), "about"), (("≈",), "about"), (("near",), "about"), (("estimated",), "about"), (("barely",), "about"),
    (("not", "quite"), "nearly"),
    (("getting", "on", "for"), "nearly"), (("part", "of"), "nearly"), (("most", "of"), "nearly"), (("much", "of"), "nearly"), (("as", "many", "as"), "under"),
    (("region", "of"), "about"), (("order", "of"), "about"), (("upward", "of"), "over"), (("north", "of"), "over"), (("inside",), "under"),
)  # fmt: skip
_LONGEST_FIRST = sorted(_HEDGES, key=lambda pair: -len(pair[0]))


def read(text: str) -> tuple[Tokens, list[Value]]:
    """The text as tokens, and its values in their order."""
    tokens = Tokens(text)
    values: list[Value] = []
    place = 0
    while place < len(tokens) and len(values) < VALUES_MAX:
        skipped = _marker(tokens, place)
        if skipped > place:
            place = skipped
            continue
        found = _values_at(tokens, place, values)
        values.extend(value for value in found if value.readings or value.whens)
        place = max(place + 1, max((value.after for value in found), default=0))
    return tokens, joined(tokens, values)


def _values_at(tokens: Tokens, place: int, before: list[Value]) -> list[Value]:
    """The values that begin at this token: the first reader that knows it says."""
    often = frequency(tokens, place, before)
    if often:
        return [often._replace(hedge=_hedge(tokens, place, often.after), words=True) if often.kind == "duration" else often]
    for reader in (_clock, measures.blood_pressure, _date, _numeral):
        found = reader(tokens, place)
        if found:
            return found
    return []


def _marker(tokens: Tokens, place: int) -> int:
    """The place behind a list's number, a reference in brackets or a telephone number, or the same place."""
    token, following = tokens[place], tokens.text(place + 1)
    if token.kind == "number" and token.opens_line and following in {".", ")", ":"} and tokens[place + 1].close and not tokens[place + 2].close:
        return place + 2
    if token.opens_line and token.text == "(" and tokens[place + 1].kind == "number" and tokens.text(place + 2) == ")":
        return place + 3
    if (
        token.text in _MARKED
        and tokens[place + 1].kind == "number"
        and ((token.opens_line and tokens.text(place + 2) in {":", ".", ")"}) or token.text in {"figure", "fig", "table"})
    ):
        return place + 2
    if token.text == "[" and tokens[place + 1].kind == "number":
        return _closed(tokens, place)
    if token.kind == "number" and following == "/" and token.text == "24" and tokens.text(place + 2) == "7":
        return place + 3
    return place


def _closed(tokens: Tokens, place: int) -> int:
    """The place behind a bracket that holds numbers and commas alone, a few of them."""
    for after in range(place + 1, place + 12):
        token = tokens[after]
        if token.text == "]":
            return after + 1
        if token.kind != "number" and token.text not in {",", "-"}:
            break
    return place


def _clock(tokens: Tokens, place: int) -> list[Value]:
    found = clock(tokens, place)
    if not found:
        return []
    readings = tuple(("clock", minutes) for minutes in found.readings)
    hedge: Hedge = "about" if tokens.text(place - 1) in {"after", "before", "past"} else _hedge(tokens, place, found.after)
    return [Value("clock", tokens[place].start, tokens[found.after - 1].end, place, found.after, readings, hedge=hedge)]


def _date(tokens: Tokens, place: int) -> list[Value]:
    found = dates.date(tokens, place)
    if not found:
        return []
    end = tokens[found.after - 1].end
    year = found.readings[0]
    bare = found.after == place + 1 and year.months is None and year.weekday is None and tokens.text(place).isdigit()
    figures = (float(tokens.text(place)),) if bare else ()
    readings = tuple(("number", figure) for figure in figures)
    values = [Value("date", tokens[place].start, end, place, found.after, readings, figures, found.readings, hedge=_bound(tokens, place))]
    values += [Value("date", tokens[other].start, end, other, found.after, whens=(when,)) for other, when in found.others]
    return values


def _bound(tokens: Tokens, place: int) -> Hedge:
    """True if a date only bounds: "before 1531", "after May"; "as of 2016"."""
    before = tokens.text(place - 1)
    if before == "after" or tokens.starts(place - 2, "later", "than") or tokens.starts(place - 3, "since", "at", "least"):
        return "over"
    bounded = before == "before" or tokens.starts(place - 2, "earlier", "than") or tokens.starts(place - 2, "prior", "to")
    return "under" if bounded else ""


def _numeral(tokens: Tokens, place: int) -> list[Value]:
    """Prices, percentages, ages, spans, quantities, ordinals and counts, by the words behind the number."""
    sign = tokens.text(place) in measures.SIGNS or measures.code(tokens, place)
    found = numeral(tokens, place + sign)
    if not found or (tokens.text(place - 1) in VAGUE and not found.figures and found.readings[0] >= 100):
        return []
    hedge = _hedge(tokens, place, found.after)
    for measure in (measures.money, measures.share, measures.age, measures.span, measures.quantity):
        value = measure(tokens, place, found)
        if value:
            return [value._replace(hedge=hedge, words=not found.figures, heads=value.heads or heads(tokens, value, following_only=True))]
    return [] if sign else _count(tokens, place, found, hedge)


def _count(tokens: Tokens, place: int, found: Numeral, hedge: Hedge) -> list[Value]:
    """A bare number: how many, which one of a row, or a label such as "room 310"."""
    token, value = tokens[place], found.readings[0]
    if not found.figures and found.form == "cardinal" and value == 1 and tokens.text(place - 1) in _NO_COUNT:
        return []
    end = tokens[found.after - 1].end
    kind = "ordinal" if found.form == "ordinal" else "number"
    readings = tuple((kind, reading) for reading in found.readings)
    if kind == "ordinal":
        readings = (*readings, ("number", value))
    counted = Value(
        "ordinal" if kind == "ordinal" else "number", token.start, end, place, found.after, readings, found.readings, hedge=hedge, words=not found.figures
    )
    behind = heads(tokens, counted, following_only=True)
    label = not behind and kind != "ordinal" and value.is_integer()
    counted = counted._replace(heads=heads(tokens, counted) if label else behind)
    counted = counted._replace(label=label and bool(counted.heads))
    named = tokens.text(place - 1) == "-" and token.close and tokens[place - 1].close and tokens[place - 2].kind in {"word", "code"}
    if (named and found.figures and value < 100) or tokens.text(place - 1) in {"top", "possible", "maximum", "potential", "every"}:
        return [counted._replace(weak=True)]
    slight = not counted.heads or tokens.text(found.after) == "of"
    if kind == "ordinal" and not counted.heads and not found.figures:
        return [counted._replace(weak=True)]
    if not found.figures and value == 1:
        return [counted._replace(weak=slight)]
    return [counted]


def heads(tokens: Tokens, value: Value, *, following_only: bool = False) -> frozenset[str]:
    """Stems of a number's noun: the words behind it, or else the word before it, as in "room 310"."""
    place = value.after
    place = tokens.past_hyphen(place)
    if tokens.text(place) == "of":
        place += 1
        while tokens.text(place) in {"the", "these", "those", "its", "their", "all", "our", "his", "her"}:
            place += 1
        inner = numeral(tokens, place)
        place = inner.after if inner else place
    found: list[str] = []
    while len(found) < HEAD_WORDS and tokens[place].kind == "word" and tokens.text(place) not in STOPWORDS:
        if tokens.text(place) in _NOT_COUNTED or numeral(tokens, place):
            break
        if len(tokens.text(place)) > 1:
            found.append(stem(tokens.text(place)))
        place += 1
        place = tokens.past_hyphen(place)
    if found or following_only:
        return frozenset(found)
    before = tokens[value.first - 1]
    if before.text in {"-", "#", "."}:
        before = tokens[value.first - 2]
    labelled = before.kind == "word" and before.text not in STOPWORDS and not numeral(tokens, value.first - 1) and not value.hedge
    return frozenset({stem(before.text)}) if labelled else frozenset()


def _hedge(tokens: Tokens, place: int, after: int) -> Hedge:
    """What the words around a number say of its exactness."""
    article = tokens.text(place - 1) in {"a", "an", "the"}
    for words, hedge in _LONGEST_FIRST:
        for start in {place, place - article}:
            if tokens.starts(start - len(words), *words) and not (words == (">",) and tokens.text(start - 2) == "-"):
                return hedge
    if tokens.starts(after, "-", "odd") or tokens.starts(after, "or", "thereabouts"):
        return "about"
    if tokens.starts(after, "or", "so"):
        return "about"
    if tokens.starts(after, "or", "more") or tokens.text(after) == "+" or tokens.starts(after, "and", "over"):
        return "over"
    return "under" if tokens.starts(after, "or", "less") or tokens.starts(after, "or", "fewer") else ""
