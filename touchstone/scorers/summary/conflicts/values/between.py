"""A span beside a time of day, where no other time is so far from it: "at 6.40, fifty minutes later", and nothing happened at 5.50."""

from collections.abc import Sequence

from touchstone.scorers.summary.conflicts.difference import Difference
from touchstone.scorers.summary.conflicts.values.clocks import MINUTES_A_DAY, NOON
from touchstone.scorers.summary.conflicts.values.surroundings import TextValues
from touchstone.scorers.summary.conflicts.values.value import Value, same

#: Rounding that a span may have, in minutes and as a share; and one in minutes without "about": nobody writes fifty for 45.
OFF_MINUTES, OFF_SHARE, OFF_EXACT_MINUTES = 10.0, 0.12, 4.0
#: Behind a span these say that it parts two times.
_SHIFTING = frozenset({"later", "earlier", "afterwards", "beforehand"})


def find(stated: TextValues, read: Sequence[TextValues], near: int) -> list[Difference]:
    """The one span of a sentence with one time of day. `read`: all units, any of which may confirm it; one of the first `near` must have the time."""
    spans = [one.value for one in stated.values if one.value.kind == "duration" and _SHIFTING & set(one.right)]
    clocks = [one.value for one in stated.values if one.value.kind == "clock"]
    if len(spans) != 1 or len(clocks) != 1 or clocks[0].hedge or spans[0].weak or not spans[0].readings:
        return []
    (span,), (clock,) = spans, clocks
    if span.readings[0][1] / 60 >= NOON or any(same(span, one.value) for unit in read for one in unit.values if one.value.kind == "duration"):
        return []
    told = [(number, one.value) for number, unit in enumerate(read) for one in unit.values if one.value.kind == "clock"]
    at = [(number, one) for number, one in told if number < near and same(clock, one)]
    others = [one for _, one in told if not same(clock, one)]
    if not at or not others or any(_parts(span, clock, one) for one in others):
        return []
    number, one = at[0]
    return [Difference("duration", (span.start, span.end), (one.start, one.end), number)]


def _parts(span: Value, one: Value, other: Value) -> bool:
    """True if the span is the time between two times of day, rounded; the later one may be of the next day."""
    minutes = span.readings[0][1] / 60
    exact = not span.hedge and span.figures[:1] == (minutes,)
    off = OFF_EXACT_MINUTES if exact else max(OFF_MINUTES, OFF_SHARE * minutes)
    apart = [(mine - its) % MINUTES_A_DAY for _, mine in one.readings for _, its in other.readings]
    return any(abs(minutes - min(gap, MINUTES_A_DAY - gap)) <= off for gap in apart)
