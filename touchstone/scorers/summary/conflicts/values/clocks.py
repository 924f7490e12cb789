"""Times of day as they are written: 8 a.m., 08:00, half past nine."""

from typing import NamedTuple

from touchstone.scorers.summary.conflicts.values.numerals import Numeral, numeral
from touchstone.scorers.summary.conflicts.values.tokens import Tokens

MINUTES_A_DAY, NOON = 1440, 720
#: So far from the hour that it names "about seven", or "shortly after eleven", may be.
ROUNDED_MINUTES = 20
_MINUTES = {"five": 5.0, "ten": 10.0, "twenty": 20.0, "5": 5.0, "10": 10.0, "20": 20.0, "25": 25.0}


class Clock(NamedTuple):
    """A time of day: minutes after midnight, every one that the words may mean."""

    readings: tuple[float, ...]
    after: int


def clock(tokens: Tokens, place: int) -> Clock | None:
    """The time of day that begins at this token, or nothing."""
    text = tokens.text(place)
    if text in {"noon", "midday", "midnight"}:
        return Clock((0.0, float(MINUTES_A_DAY)) if text == "midnight" else (float(NOON),), place + 1)
    spoken = _past_the_hour(tokens, place)
    if spoken:
        return spoken
    found = numeral(tokens, place)
    if not found or found.form != "cardinal" or not found.readings[0].is_integer():
        return _with_point(tokens, place)
    hour, after = found.readings[0], found.after
    if tokens.text(after) == "o'clock":
        return _of(hour, 0, *_half_of_day(tokens, after + 1))
    if (
        found.figures
        and tokens.text(after) in {":", "h"}
        and tokens[after].close
        and tokens[after + 1].close
        and len(tokens.text(after + 1)) == 2
        and tokens.text(after + 1).isdigit()
    ):
        if tokens.text(after + 2) == ":":
            return None
        late, end = _half_of_day(tokens, after + 2)
        return _of(hour, float(tokens.text(after + 1)), late, end, exact=late is None and (hour > 12 or (len(tokens.text(place)) == 2 and hour < 10)))
    late, end = _half_of_day(tokens, after)
    if late is not None and hour <= 12:
        return _of(hour, 0, late, end)
    if tokens.starts(after, "at", "night") and 1 <= hour <= 12 and tokens.text(place - 1) in {"at", "after", "before", "by", "until", "around", "about"}:
        return _of(hour, 0, hour >= 6, after + 2)
    if (
        len(tokens.text(place)) == 4
        and tokens.text(place).isdigit()
        and tokens.text(after) in {"hours", "hrs"}
        and tokens.text(place - 1) in {"at", "by", "from", "until", "since", "before", "after"}
    ):
        return _of(hour // 100, hour % 100, None, after + 1, exact=True)
    return None


def _with_point(tokens: Tokens, place: int) -> Clock | None:
    """8.30 p.m."""
    parts = tokens.text(place).split(".")
    late, end = _half_of_day(tokens, place + 1)
    return (
        _of(float(parts[0]), float(parts[1]), late, end)
        if late is not None and len(parts) == 2 and all(part.isdigit() and len(part) <= 2 for part in parts)
        else None
    )


def _past_the_hour(tokens: Tokens, place: int) -> Clock | None:
    """Half past nine, a quarter to five, "at twenty to seven"."""
    first = tokens.text(place)
    step = place + (first == "a")
    minutes = {"half": 30.0, "quarter": 15.0}.get(tokens.text(step))
    if minutes is None and tokens.text(place - 1) in {"at", "by", "until", "since", "around", "about"}:
        minutes = _MINUTES.get(tokens.text(step))
    sign = tokens.text(step + 1)
    if minutes is None or sign not in {"past", "to"} or (sign == "to" and minutes == 30):
        return None
    found: Numeral | None = numeral(tokens, step + 2)
    if not found or not 1 <= found.readings[0] <= 12 or found.form != "cardinal":
        return None
    hour = found.readings[0]
    return _of(hour if sign == "past" else hour - 1 or 12, minutes if sign == "past" else 60 - minutes, *_half_of_day(tokens, found.after))


def _half_of_day(tokens: Tokens, place: int) -> tuple[bool | None, int]:
    """True if a.m. or p.m. follows: late or not, None if it does not; and the place behind it."""
    letter = tokens.text(place)
    if letter in {"am", "pm"}:
        return letter == "pm", place + 1
    if letter in {"a", "p"} and tokens.text(place + 1) == "." and tokens.text(place + 2) == "m" and tokens[place + 2].close:
        return letter == "p", place + 3 + (tokens.text(place + 3) == "." and tokens[place + 3].close)
    if tokens.starts(place, "in", "the") and tokens.text(place + 2) in {"morning", "afternoon", "evening"}:
        return tokens.text(place + 2) != "morning", place + 3
    return None, place


def _of(hour: float, minute: float, late: bool | None, after: int, *, exact: bool = False) -> Clock | None:
    if not 0 <= hour <= 24 or not 0 <= minute < 60:
        return None
    if late is not None and hour <= 12:
        return Clock(((hour % 12 + 12 * late) * 60 + minute,), after)
    base = hour * 60 + minute
    return Clock((base,) if exact or hour > 12 else (base, (base + NOON) % MINUTES_A_DAY), after)
