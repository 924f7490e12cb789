"""Numbers as they are written: in figures, with separators, in words, as fractions and ordinals."""

import unicodedata
from typing import NamedTuple

from touchstone.scorers.summary.conflicts.values.tokens import Token, Tokens
from touchstone.scorers.summary.word_lists import listed

_SMALL_WRITTEN = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
"""
_SMALL = _SMALL_WRITTEN.split()
_TENS = {word: 10 * tens for tens, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)} | {"fourty": 40}
_BELOW_TWENTY = {word: value for value, word in enumerate(_SMALL)}
#: Scales as words of their own: 5 million.
SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "dozen": 12.0, "lakh": 1e5, "crore": 1e7}
#: Scales directly behind figures: 5k.
SHORT_SCALES = {"k": 1e3, "m": 1e6, "mn": 1e6, "mln": 1e6, "bn": 1e9, "b": 1e9, "tn": 1e12}
_ORDINALS_WRITTEN = """
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth
    nineteenth twentieth
"""
_ROUND_ORDINALS = {"thirtieth": 30, "fortieth": 40, "fiftieth": 50, "sixtieth": 60, "seventieth": 70, "eightieth": 80, "ninetieth": 90, "hundredth": 100}
_ORDINALS = {word: value for value, word in enumerate(_ORDINALS_WRITTEN.split(), 1)} | _ROUND_ORDINALS
_PARTS = {"half": 2, "halves": 2, "quarter": 4, "quarters": 4, "third": 3, "thirds": 3} | {
    word + ending: value for word, value in _ORDINALS.items() if 5 <= value <= 10 for ending in ("", "s")
}
_ORDINAL_ENDINGS = frozenset({"st", "nd", "rd", "th"})
#: "several hundred" has no value that could be wrong.
VAGUE = frozenset({"several", "few", "many", "some", "couple", "various"})
#: Words of one number at most; "million million million …" ends there.
WORDS_MAX = 14
_FIGURES_MAX = 15
_LARGEST = 1e18


class Numeral(NamedTuple):
    """A number up to token `after`. `readings`: what it may mean, the likeliest first. `form`: cardinal, ordinal, fraction, year (nineteen eighty-seven)."""

    readings: tuple[float, ...]
    after: int
    form: str = "cardinal"
    figures: bool = True


def numeral(tokens: Tokens, place: int) -> Numeral | None:
    """The number that begins at this token, or nothing."""
    token = tokens[place]
    if token.kind == "number":
        return _in_figures(tokens, place)
    part = _vulgar(token)
    if part is not None:
        return Numeral((part,), place + 1, "fraction")
    return _in_words(tokens, place) if token.kind == "word" else None


def figures(text: str) -> tuple[float, ...]:
    """What a run of figures with separators may mean; nothing where it is a code, a version or longer than any count."""
    text = text.replace(" ", "").replace("'", "").replace("’", "")
    if len(text) > _FIGURES_MAX + 6:
        return ()
    commas, points = text.count(","), text.count(".")
    if not commas and not points:
        return (float(text),) if len(text) <= _FIGURES_MAX else ()
    if commas and points:
        decimal = "," if text.rfind(",") > text.rfind(".") else "."
        group = "." if decimal == "," else ","
        if text.count(decimal) > 1:
            return ()
        return (float(text.replace(group, "").replace(decimal, ".")),)
    sign = "," if commas else "."
    groups = text.split(sign)
    thousands = 1 <= len(groups[0]) <= 3 and groups[0] != "0" and all(len(group) == 3 for group in groups[1:])
    whole = float("".join(groups))
    if len(groups) > 2:
        lakhs = sign == "," and len(groups[-1]) == 3 and all(len(group) == 2 for group in groups[1:-1])
        return (whole,) if thousands or lakhs else ()
    decimals = float(".".join(groups))
    if not thousands:
        return (decimals,)
    return (whole, decimals) if sign == "," else (decimals, whole)


def _in_figures(tokens: Tokens, place: int) -> Numeral | None:
    readings = figures(tokens.text(place))
    if not readings:
        return None
    after, following = place + 1, tokens[place + 1]
    if following.close and following.text in _ORDINAL_ENDINGS:
        return Numeral(readings[:1], after + 1, "ordinal")
    part = _vulgar(following)
    if part is not None:
        return _scaled(tokens, Numeral((readings[0] + part,), after + 1))
    if following.kind == "number" and tokens.text(place + 2) == "/" and tokens[place + 3].kind == "number" and tokens[place + 2].close:
        upper, lower = figures(following.text), figures(tokens.text(place + 3))
        if upper and lower and 0 < upper[0] < lower[0] <= 16:
            return _scaled(tokens, Numeral((readings[0] + upper[0] / lower[0],), place + 4))
    return _with_half(tokens, _scaled(tokens, Numeral(readings, after)))


def _scaled(tokens: Tokens, number: Numeral) -> Numeral:
    """The number times the scale words that follow, "1.8 thousand"; two of them at most."""
    readings, after = number.readings, number.after
    for _ in range(2):
        step = 1 if tokens.text(after) == "-" and tokens[after].close else 0
        scale = SCALES.get(tokens.text(after + step))
        if scale is None or readings[0] * scale > _LARGEST:
            break
        readings, after = tuple(value * scale for value in readings), after + step + 1
    if number.figures and after == number.after and tokens[after].close and tokens.text(after) in {"k", "bn", "mn", "mln", "tn"}:
        scale = SHORT_SCALES[tokens.text(after)]
        readings, after = tuple(value * scale for value in readings), after + 1
    return number._replace(readings=readings, after=after)


def _with_half(tokens: Tokens, number: Numeral) -> Numeral:
    """The number and a half: "two and a half", then "million" where it follows."""
    after = number.after
    if tokens.text(after) == "and" and tokens.text(after + 1) in {"a", "one", "three"} and tokens.text(after + 2) in {"half", "quarter", "quarters"}:
        count = 3 if tokens.text(after + 1) == "three" else 1
        part = count / _PARTS[tokens.text(after + 2)]
        return _scaled(tokens, number._replace(readings=(number.readings[0] + part,), after=after + 3))
    return number


def _in_words(tokens: Tokens, place: int) -> Numeral | None:
    first = tokens.text(place)
    if first in {"half", "quarter"} or (first in {"a", "one", "an"} and tokens.text(place + 1) in {"half", "quarter"}):
        return _half(tokens, place)
    if first in {"a", "an"}:
        return _after_article(tokens, place)
    if first not in _BELOW_TWENTY and first not in _TENS and first not in _ORDINALS:
        return None
    if first in _ORDINALS:
        return Numeral((float(_ORDINALS[first]),), place + 1, "ordinal", figures=False)
    return _run(tokens, place)


def _half(tokens: Tokens, place: int) -> Numeral | None:
    """Half, half a million, a quarter of a million, half a dozen."""
    article = tokens.text(place) in {"a", "one", "an"}
    name = tokens.text(place + article)
    if name == "quarter" and not article:
        return None
    after = place + article + 1
    part = 1 / _PARTS[name]
    skip = after + (tokens.text(after) == "of")
    if tokens.text(skip) in {"a", "one"} and tokens.text(skip + 1) in SCALES:
        return Numeral((part * SCALES[tokens.text(skip + 1)],), skip + 2, figures=False)
    if name == "half" and tokens.text(after) in SCALES:
        return Numeral((part * SCALES[tokens.text(after)],), after + 1, figures=False)
    return Numeral((part,), after, "fraction", figures=False)


def _after_article(tokens: Tokens, place: int) -> Numeral | None:
    """A hundred, a dozen, a couple of, a third of."""
    name = tokens.text(place + 1)
    if name in SCALES:
        return _run(tokens, place + 1, start=1.0)
    if name in {"couple", "pair"} and tokens.text(place + 2) == "of" and tokens.text(place + 3) not in SCALES:
        return Numeral((2.0,), place + 3, figures=False)
    if name in _PARTS and not _named(tokens[place + 2]):
        return Numeral((1 / _PARTS[name],), place + 2, "fraction", figures=False)
    return None


#: After these words an ordinal is a fraction.
_AFTER_FRACTION = listed(
    "of less more fewer lower higher in to from and or were was are is had have said because since after when if by on at with for as but while"
)


def _named(token: Token) -> bool:
    """True if an ordinal before this token counts a thing: "a third man", unlike "a third of", "a third said"."""
    return token.kind == "word" and token.text not in _AFTER_FRACTION


def _run(tokens: Tokens, place: int, start: float | None = None) -> Numeral | None:
    """A number in words from this token on. `start`: 1 behind an article before a scale ("a hundred")."""
    total, current, after, last = 0.0, start, place, 100.0 if start is None else 1.0
    form = "cardinal"
    for _ in range(WORDS_MAX):
        step = _step(tokens, after, begun=current is not None or total > 0)
        word = tokens.text(step)
        value = _BELOW_TWENTY.get(word, _TENS.get(word))
        if value is not None:
            if current is None:
                current = float(value)
            elif _fits(value, current, last):
                current += value
            elif form == "cardinal" and not total and 13 <= current <= 20 and last >= 10 and value >= 10 and current * 100 + value < 2100:
                current, form = current * 100 + value, "year"
            else:
                break
            last = float(value) if value >= 10 else 1.0
        elif word in SCALES and (current is not None or total) and form == "cardinal":
            scale = SCALES[word]
            if scale in {1e2, 12.0}:
                current = (current or 1.0) * scale
                last = 100.0
            else:
                total, current = (
                    (total + (current or 0.0)) * scale if current is not None and total and total < scale else total + (current or 1.0) * scale,
                    None,
                )
                last = 100.0
            if total > _LARGEST:
                return None
        else:
            break
        after = step + 1
    if after == place:
        return None
    return _ending(tokens, Numeral((total + (current or 0.0),), after, form, figures=False), last)


def _step(tokens: Tokens, after: int, *, begun: bool) -> int:
    """The place of the next word of a number: behind a hyphen, or an "and" that follows a scale."""
    if begun and tokens.text(after) == "-" and tokens[after].close and tokens[after + 1].close:
        return after + 1
    if begun and tokens.text(after) == "and" and tokens.text(after - 1) in SCALES:
        following = tokens.text(after + 1)
        if following in _BELOW_TWENTY or following in _TENS:
            return after + 1
    return after


def _fits(value: float, current: float, last: float) -> bool:
    """True if a word below a hundred continues the number: twenty + one, two hundred + five."""
    return (last == 100.0 and current >= 100) or (last >= 20 and last < 100 and 0 < value < 10)


def _ending(tokens: Tokens, number: Numeral, last: float) -> Numeral:
    """What may close a number in words: an ordinal, the parts of a fraction, decimals, a half."""
    after, value = number.after, number.readings[0]
    step = tokens.past_hyphen(after)
    word = tokens.text(step)
    if word in _PARTS and (word.endswith(("s", "halves")) or value == 1) and value < _PARTS[word] <= 10 and number.form == "cardinal":
        if tokens.text(step + 1) == "of" and tokens.text(step + 2) in {"a", "one"} and tokens.text(step + 3) in SCALES:
            return Numeral((value / _PARTS[word] * SCALES[tokens.text(step + 3)],), step + 4, figures=False)
        return Numeral((value / _PARTS[word],), step + 1, "fraction", figures=False)
    if word in _ORDINALS and 20 <= last < 100 and _ORDINALS[word] < 10:
        return Numeral((value + _ORDINALS[word],), step + 1, "ordinal", figures=False)
    if word == "point":
        digits: list[str] = []
        while len(digits) < 6 and tokens.text(step + 1 + len(digits)) in _SMALL[:10]:
            digits.append(str(_BELOW_TWENTY[tokens.text(step + 1 + len(digits))]))
        if digits:
            return _scaled(tokens, Numeral((float(f"{value:.0f}.{''.join(digits)}"),), step + 1 + len(digits), figures=False))
    return _with_half(tokens, number)


def _vulgar(token: Token) -> float | None:
    """The value of a sign such as ½."""
    if len(token.text) != 1 or token.text.isascii():
        return None
    value = unicodedata.numeric(token.text, None)
    return value if value is not None and 0 < value < 1 else None
