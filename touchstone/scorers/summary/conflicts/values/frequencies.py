"""How often: twice daily, every 8 hours, BID, 3 times a week."""

from touchstone.scorers.summary.conflicts.values.measures import article_span
from touchstone.scorers.summary.conflicts.values.numerals import numeral
from touchstone.scorers.summary.conflicts.values.tokens import Tokens
from touchstone.scorers.summary.conflicts.values.units import ADVERBS_S, DAY_S, PERIODS_S, SPANS_S
from touchstone.scorers.summary.conflicts.values.value import Value
from touchstone.scorers.summary.lexical import STOPWORDS

#: Prescribers' shorthand, in times a day.
_SHORTHAND = {"bid": 2, "bd": 2, "tid": 3, "tds": 3, "qid": 4, "qds": 4, "qd": 1, "od": 1, "qhs": 1, "qam": 1, "qpm": 1, "nocte": 1, "mane": 1, "qod": 0.5}
_DOTTED = {"bid": 2, "tid": 3, "qid": 4}
_TIMES = {"once": 1.0, "twice": 2.0, "thrice": 3.0}
_EACH = frozenset({"a", "an", "per", "each", "every", "/"})
_PARTS_OF_DAY = frozenset({"morning", "evening", "night", "bedtime", "afternoon", "lunchtime", "breakfast", "noon"})


def frequency(tokens: Tokens, place: int, before: list[Value]) -> Value | None:
    """The frequency that begins at this token, or nothing; a span after an article, which it could be taken for."""
    word = tokens.text(place)
    if tokens[place].kind not in {"word", "number", "code"}:
        return None
    if tokens.starts(place, "alternate", "days"):
        return _found(tokens, place, place + 2, 0.5)
    return (
        _shorthand(tokens, place)
        or _times(tokens, place)
        or (_every(tokens, place) if word in {"every", "each", "per"} else None)
        or _adverb(tokens, place, before)
        or (_rate(tokens, place, before) if word in {"a", "an"} else None)
        or (_part_of_day(tokens, place) if word in {"in", "at"} else None)
        or article_span(tokens, place)
    )


def _found(tokens: Tokens, place: int, after: int, a_day: float, *, weak: bool = False, times: float = 0.0) -> Value:
    figures = (times,) if times else ()
    return Value("frequency", tokens[place].start, tokens[after - 1].end, place, after, (("frequency", a_day),), figures, weak=weak, clinical=1)


def _shorthand(tokens: Tokens, place: int) -> Value | None:
    word = tokens.text(place)
    if (
        word in _SHORTHAND
        and (tokens[place].capital or place > 0)
        and word not in {"od", "mane", "bd"} | ({"bid"} if not tokens[place].capital and _is_offer(tokens, place) else set())
    ):
        return _found(tokens, place, place + 1, float(_SHORTHAND[word]))
    if word in {"od", "bd"} and tokens[place - 1].text in {"mg", "mcg", "g", "ml", "units", "unit", "tablet", "tablets", "puffs"}:
        return _found(tokens, place, place + 1, float(_SHORTHAND[word]))
    if len(word) == 1 and tokens.text(place + 1) == "." and tokens.text(place + 3) == "." and tokens.text(place + 5) in {".", ""} | {tokens.text(place + 5)}:
        spelt = word + tokens.text(place + 2) + tokens.text(place + 4)
        if spelt in _DOTTED and tokens[place + 2].close:
            return _found(tokens, place, place + 5 + (tokens.text(place + 5) == "." and tokens[place + 5].close), float(_DOTTED[spelt]))
    if tokens[place].kind == "code" and word.startswith("q") and word.endswith("h") and word[1:-1].isdigit() and 0 < len(word) <= 5 and int(word[1:-1]):
        return _found(tokens, place, place + 1, 24 / int(word[1:-1]))
    return None


def _is_offer(tokens: Tokens, place: int) -> bool:
    """True if "bid" is the word, not the shorthand."""
    return tokens[place - 1].kind == "word" and tokens.text(place - 1) not in {"mg", "mcg", "g", "ml", "units", "tablet", "tablets"}


def _times(tokens: Tokens, place: int) -> Value | None:
    """Once daily, three times a day, twice every week; "four times" alone is a count."""
    word = tokens.text(place)
    if word in _TIMES:
        times, after, sure = _TIMES[word], place + 1, False
    else:
        found = numeral(tokens, place)
        if not found or found.form != "cardinal" or found.readings[0] > 60:
            return None
        times, after, sure = found.readings[0], found.after, True
        after = tokens.past_hyphen(after)
        if tokens.text(after) == "hourly":
            return _found(tokens, place, after + 1, 24 / times) if times else None
        if tokens.text(after) not in {"times", "time", "x", "×"}:
            return None
        after += 1
    after = tokens.past_hyphen(after)
    period_s, end = _period(tokens, after)
    if period_s:
        often = _found(tokens, place, end, times * DAY_S / period_s, times=times)
        return often._replace(readings=(*often.readings, ("rate", times))) if period_s == SPANS_S["minute"] else often
    if sure or word == "once" or tokens.text(place + 1) in {"as", "the"}:
        return None
    return Value(
        "number",
        tokens[place].start,
        tokens[place].end,
        place,
        place + 1,
        (("number", times),),
        (times,),
        heads=frozenset({"time"}),
        weak=word != "twice",
        words=True,
    )


def _period(tokens: Tokens, after: int) -> tuple[float, int]:
    """The period that is named here, in seconds, and the place behind it: daily, a day, every two weeks."""
    word = tokens.text(after)
    if word in ADVERBS_S:
        return ADVERBS_S[word], after + 1
    if word in _EACH or word in {"in", "at"}:
        hours = numeral(tokens, after + 1) if word == "in" else None
        if hours and hours.readings[0] > 0 and tokens.text(hours.after) in {"hours", "h", "days", "weeks"}:
            return hours.readings[0] * SPANS_S[tokens.text(hours.after)], hours.after + 1
        if word in {"in", "at"}:
            step = after + 1 + (tokens.text(after + 1) in {"the", "a"})
            return (DAY_S, step + 1) if tokens.text(step) in _PARTS_OF_DAY or (tokens.text(after + 1) == "a" and tokens.text(step) == "day") else (0.0, after)
        if tokens.text(after + 1) in PERIODS_S:
            return PERIODS_S[tokens.text(after + 1)], after + 2
        found = numeral(tokens, after + 1)
        if word == "every" and found and found.readings[0] > 0 and tokens.text(found.after) in SPANS_S:
            return found.readings[0] * SPANS_S[tokens.text(found.after)], found.after + 1
    return 0.0, after


def _every(tokens: Tokens, place: int) -> Value | None:
    """Every 8 hours, every 4 to 6 hours, every other day, each morning, per week."""
    word = tokens.text(place)
    if word == "per":
        return None
    if tokens.text(place + 1) in {"other", "second", "alternate"} and tokens.text(place + 2) in PERIODS_S:
        return _found(tokens, place, place + 3, DAY_S / (2 * PERIODS_S[tokens.text(place + 2)]))
    found = numeral(tokens, place + 1)
    if found and found.form == "cardinal" and found.readings[0] > 0:
        end = found.after
        upper = numeral(tokens, end + 1) if tokens.text(end) in {"to", "-", "or"} else None
        joint = upper.after if upper else end
        joint = tokens.past_hyphen(joint)
        if tokens.text(joint) in SPANS_S and SPANS_S[tokens.text(joint)] >= 60:
            a_day = DAY_S / (found.readings[0] * SPANS_S[tokens.text(joint)])
            value = _found(tokens, place, joint + 1, a_day)
            slow = DAY_S / (upper.readings[0] * SPANS_S[tokens.text(joint)]) if upper and upper.readings[0] else 0.0
            return value._replace(readings=(("frequency", a_day), ("frequency", slow))) if slow else value
        return None
    period_s = PERIODS_S.get(tokens.text(place + 1))
    more = _another_part(tokens, place + 2) if tokens.text(place + 1) in _PARTS_OF_DAY else 0
    if more:
        return _found(tokens, place, more, 2.0)
    return _found(tokens, place, place + 2, DAY_S / period_s, weak=period_s > DAY_S) if period_s and period_s >= 3600 else None


def _adverb(tokens: Tokens, place: int, before: list[Value]) -> Value | None:
    """Daily, weekly; before the word that it describes ("a weekly paper") it says how often of that alone."""
    word = tokens.text(place)
    period_s = ADVERBS_S.get(word)
    describes = tokens[place + 1].kind == "word" and tokens.text(place + 1) not in STOPWORDS and not (before and before[-1].after == place)
    return _found(tokens, place, place + 1, DAY_S / period_s, weak=word == "quarterly" or describes) if period_s else None


def _rate(tokens: Tokens, place: int, before: list[Value]) -> Value | None:
    """A frequency after a dose ("5 mg a day") means once a day unless the text gives another; "40 a month" is no frequency."""
    period_s = PERIODS_S.get(tokens.text(place + 1))
    if not period_s or not before or before[-1].after != place or tokens.text(place + 2) in {"later", "ago", "earlier", "before", "after"}:
        return None
    return _found(tokens, place, place + 2, DAY_S / period_s, weak=True)


def _part_of_day(tokens: Tokens, place: int) -> Value | None:
    """A part of the day, "at bedtime", "in the morning": once a day, where a medicine is spoken of."""
    step = place + 1 + (tokens.text(place + 1) == "the")
    if tokens.text(step) not in _PARTS_OF_DAY:
        return None
    more = _another_part(tokens, step + 1)
    return _found(tokens, place, more or step + 1, 2.0 if more else 1.0, weak=True)


def _another_part(tokens: Tokens, after: int) -> int:
    """The place behind "and at night", 0 if no such words follow."""
    if tokens.text(after) != "and":
        return 0
    step = after + 1 + (tokens.text(after + 1) in {"in", "at", "each", "every"})
    step += tokens.text(step) == "the"
    return step + 1 if tokens.text(step) in _PARTS_OF_DAY else 0
