"""Words and numbers as reports print them."""

import math
from collections.abc import Sequence

from touchstone.schemas.reports.intervals import Interval


def counted(count: int, noun: str) -> str:
    """`1 case`, `2 cases`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def percent(ratio: float) -> str:
    """A whole percentage; 0 % and 100 % are only printed if they are exact."""
    if 0 < ratio < 1:
        return f"{min(99, max(1, round(ratio * 100)))}%"
    return f"{ratio:.0%}"


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
