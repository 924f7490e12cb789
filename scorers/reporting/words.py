"""Words and numbers as reports print them."""

from touchstone.schemas.reports.intervals import Interval


def counted(count: int, noun: str) -> str:
    """`1 case`, `2 cases`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def percent(ratio: float) -> str:
    """A whole percentage; 0 % and 100 % are only printed where they are exact."""
    if 0 < ratio < 1:
        return f"{min(99, max(1, round(ratio * 100)))}%"
    return f"{ratio:.0%}"


def visible(text: str) -> str:
    """The text with everything that a terminal interprets (control characters, direction marks) written as escapes."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else character.encode("unicode_escape", "surrogatepass").decode() for character in text)


def number(value: float | None, places: int = 2) -> str:
    """A value to some places; a missing value is a dash, never a zero."""
    return "–" if value is None else f"{value:.{places}f}"


def number_span(interval: Interval, places: int = 2) -> str:
    """Both ends of an interval of a mean: `0.67 to 0.81`."""
    return f"{number(interval.low, places)} to {number(interval.high, places)}"


def percent_span(interval: Interval) -> str:
    """Both ends of an interval of a rate: `32% to 81%`."""
    return f"{percent(interval.low)} to {percent(interval.high)}"
