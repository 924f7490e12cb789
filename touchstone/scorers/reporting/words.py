"""Words and numbers as reports print them."""

import math
from collections.abc import Sequence
from typing import Final

from touchstone.schemas.reports.intervals import Interval

#: Most decimal places of a value beside its bound; a smaller distance is rounding error.
_PLACES_MAX: Final = 9


def counted(count: int, noun: str) -> str:
    """`1 case`, `2 cases`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def percent(ratio: float) -> str:
    """A whole percentage; 0 % and 100 % are only printed if they are exact."""
    if 0 < ratio < 1:
        return f"{min(99, max(1, round(ratio * 100)))}%"
    return f"{ratio:.0%}"


def beside_bound(value: float, bound: float, places: int) -> str:
    """A value that is printed beside its bound: with more places than asked if rounding would put it on the bound or beyond it."""
    for more in range(places, _PLACES_MAX):
        shown = round(value, more)
        if (shown > bound, shown < bound) == (value > bound, value < bound) or abs(value - bound) < 10**-_PLACES_MAX:
            return f"{value:.{more}f}"
    return f"{value:.{_PLACES_MAX}f}"


def percent_beside_bound(ratio: float, bound: float) -> str:
    """A percentage that is printed beside its bound, whole if that is on the right side of the bound."""
    whole = percent(ratio)
    shown = int(whole[:-1]) / 100
    if (shown > bound, shown < bound) == (ratio > bound, ratio < bound) or ratio == bound:
        return whole
    places = next((places for places in range(1, _PLACES_MAX) if 0 < round(100 * ratio, places) < 100), 1)
    return f"{beside_bound(100 * ratio, 100 * bound, places)}%"


def visible(text: str) -> str:
    """The text with everything that a terminal interprets (control characters, direction marks) written as escapes."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else character.encode("unicode_escape", "surrogatepass").decode() for character in text)


def some(names: Sequence[str], most: int) -> str:
    """The first names: `a, b and 2 more`."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def number(value: float | None, places: int = 2) -> str:
    """A value to some places; a missing value is a dash, never a zero."""
    return "–" if value is None else f"{value:.{places}f}"


def score_text(score: float | None) -> str:
    """A score of 0 to 100 to one place, cut off rather than rounded: one below a threshold must not read as if it reached it."""
    return "–" if score is None else f"{math.floor(score * 10 + 1e-6) / 10:.1f}".removesuffix(".0")


def of_scored(scored: int | None, total: int) -> str:
    """`(3 of 5 scored)`; empty if all are scored or `scored` is unknown."""
    return f" ({scored} of {total} scored)" if scored is not None and scored != total else ""


def number_span(interval: Interval, places: int = 2) -> str:
    """Both ends of an interval of a mean: `0.67 to 0.81`."""
    return f"{number(interval.low, places)} to {number(interval.high, places)}"


def percent_span(interval: Interval) -> str:
    """Both ends of an interval of a rate: `32% to 81%`."""
    return f"{percent(interval.low)} to {percent(interval.high)}"
