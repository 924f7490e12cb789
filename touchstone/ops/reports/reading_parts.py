"""What terminals and HTML reports share in drawing a reading: bounds, the lines around marks, the order of entries, the words of an item."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from touchstone.schemas.reading import Bar, CaseReading, ChecksSection, Entry, Item, Mark, MarkState, TimelineSection
from touchstone.scorers.reporting.words import percent

#: Columns of a timeline drawn as a table; the first is of signs, the last of notes.
TIMELINE_COLUMNS: Final = ("", "When", "Lane", "What", "")
#: What a headline counts, the gravest first, and its word for it.
_COUNTED: Final[tuple[tuple[MarkState, str], ...]] = (("bad", "wrong"), ("missing", "missing"), ("unsure", "uncertain"))
#: Names in a headline of each state.
_NAMES_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is shown of one section. `items`: of a list or table; `lines`: of a document, `context_lines` around each mark; `line_chars`: of one line.

    `text_chars`: of a running text.
    """

    items: int
    lines: int
    context_lines: int
    line_chars: int
    text_chars: int


#: A terminal scrolls away what is longer; `--all` lifts these, except for the characters of a line: a document may be one line of megabytes.
CONSOLE: Final = Bounds(items=40, lines=60, context_lines=2, line_chars=400, text_chars=60_000)
PAGE: Final = Bounds(items=300, lines=400, context_lines=3, line_chars=1_000, text_chars=60_000)


def headline(reading: CaseReading) -> list[tuple[MarkState, str]]:
    """What is wrong, missing and uncertain by the checks, a line for each: how many, and the names of the first. It quotes nothing.

    For a case that did not pass and has no such check, one line that says so.
    """
    items = [item for section in reading.sections if isinstance(section, ChecksSection) for item in section.items]
    lines: list[tuple[MarkState, str]] = []
    for state, word in _COUNTED:
        names = [item.label or item.code for item in items if item.state == state]
        if names:
            told = list(dict.fromkeys(filter(None, names)))
            rest = len(names) - len(told[:_NAMES_MAX])
            listed = ", ".join(told[:_NAMES_MAX]) + (f" and {rest:,} more" if rest and told else "")
            lines.append((state, f"{len(names):,} {word}{f': {listed}' if listed else ''}"))
    if not lines and reading.label != "Pass":
        why = "not scored" if reading.label == "unscored" else "no check is marked as wrong"
        lines.append(("note", f"{why}; the scores and what was not checked are below"))
    return lines


def lines_wanted(count: int, marked: Iterable[int], bounds: Bounds) -> Sequence[int]:
    """The numbers of the lines to show, from 1: all of a short document, else those around its marks."""
    if count <= bounds.lines:
        return range(1, count + 1)
    around = {line + step for line in marked for step in range(-bounds.context_lines, bounds.context_lines + 1)}
    return sorted(line for line in around if 1 <= line <= count)


def cut(line: str, marks: Sequence[Mark], bounds: Bounds) -> str:
    """A line, or the part of a long one around its first mark."""
    if len(line) <= bounds.line_chars:
        return line
    at = next((mark.column for mark in marks if mark.column is not None), 1)
    start = max(0, min(at - bounds.line_chars // 2, len(line) - bounds.line_chars))
    return f"{'…' if start else ''}{line[start : start + bounds.line_chars]}{'…' if start + bounds.line_chars < len(line) else ''}"


def in_order(section: TimelineSection) -> list[Entry]:
    """The entries by when they begin, those without a date last."""
    return sorted(section.entries, key=lambda entry: (entry.begin is None, entry.begin or ""))


def span_of(entry: Entry) -> str:
    """When an entry begins and ends."""
    return " – ".join(filter(None, (entry.begin, entry.end)))


def matter(item: Item) -> str:
    """What is the matter with an item: its note, then its code where the note does not name it."""
    return "; ".join(dict.fromkeys(filter(None, (item.note, item.code if item.code not in item.note else ""))))


def told(mark: Mark) -> str:
    """What a mark says of its place."""
    return ": ".join(filter(None, (mark.code, mark.note)))


def fraction(bar: Bar) -> float:
    """How much of its scale a value fills, 0 to 1; 0 without a value."""
    extent = bar.high - bar.low
    return 0.0 if bar.value is None or extent <= 0 else min(1.0, max(0.0, (bar.value - bar.low) / extent))


def beside(bar: Bar) -> str:
    """What is said beside a bar: which way is good, and its share in the whole."""
    return ", ".join(filter(None, ("lower is better" if bar.better == "lower" else "", "" if bar.share is None else f"{percent(bar.share)} of the whole")))


def kept_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """The columns that a table needs: those with a heading, and of the others (signs, notes) those in which something stands."""
    return [column for column in range(len(header)) if header[column] or any(column < len(row) and row[column] for row in rows)]
