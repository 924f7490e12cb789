"""A case's reading for a terminal. Without colour and width it is plain text; every sign stands beside its colour."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from touchstone.ops.reports.rich_text import drawn, literal
from touchstone.ops.reports.signs import SIGNS, by_line, pieces
from touchstone.schemas.reading import (
    Bar,
    BarsSection,
    CaseReading,
    ChecksSection,
    CodeSection,
    Item,
    Mark,
    MarkState,
    PairsSection,
    Section,
    TableSection,
    TextSection,
    TimelineSection,
)
from touchstone.scorers.reporting.words import counted, number, percent, visible

#: What is shown of one section without `everything`.
ITEMS_MAX: Final = 40
LINES_MAX: Final = 60
#: Lines of a document around each mark.
CONTEXT_LINES: Final = 2
#: Characters of one line; documents may be one line of megabytes.
LINE_CHARS_MAX: Final = 400
_BAR_CELLS: Final = 20
_STYLES: Final[dict[MarkState, str]] = {"good": "green", "missing": "yellow", "bad": "red", "unsure": "magenta", "note": "cyan"}
_LABELS: Final = {"Pass": "green", "Review": "yellow", "Warn": "yellow", "Fail": "red", "unscored": "magenta"}
_EVERYTHING: Final = "--all shows everything"


@dataclass(frozen=True, slots=True)
class Drawing:
    """How a reading is drawn. `everything`: folded sections and long ones too."""

    colour: bool = False
    width: int | None = None
    everything: bool = False


def reading_pieces(reading: CaseReading, drawing: Drawing) -> Iterator[str]:
    """The reading: name and label, then its sections."""
    blocks = [Text(" ").join((literal(reading.label.upper(), f"bold {_LABELS[reading.label]}"), literal(reading.name, "bold"), literal(reading.suite, "dim")))]
    if not reading.has_text:
        blocks.append(literal("The text of the case is not shown.", "dim"))
    for block in blocks:
        yield drawn(block, colour=drawing.colour, width=drawing.width)
    for section in reading.sections:
        for part in _section(section, drawing):
            yield drawn(part, colour=drawing.colour, width=drawing.width)


def _section(section: Section, drawing: Drawing) -> Iterator[RenderableType]:
    folded = section.folded and not drawing.everything
    if folded and isinstance(section, CodeSection):
        yield from _wrong_lines(section)
        return
    yield Text()
    title = Text().append_text(literal(section.title, "bold"))
    if note := "; ".join(filter(None, (section.note, f"folded, {_EVERYTHING}" if folded else ""))):
        title.append_text(literal(f" ({note})", "dim"))
    yield title
    if not folded:
        for block in _content(section, drawing):
            yield Padding(block, (0, 0, 0, 2), expand=False)


def _wrong_lines(section: CodeSection) -> Iterator[RenderableType]:
    """The lines of a folded document where something is wrong or missing."""
    marks = by_line(section.text, tuple(mark for mark in section.marks if mark.state in {"bad", "missing"}))
    words = counted(section.text.count("\n") + 1, "line")
    note = f"{words}, those where something is wrong; {_EVERYTHING}" if marks else f"{words}; folded, {_EVERYTHING}"
    yield Text()
    yield Text().append_text(literal(section.title, "bold")).append_text(literal(f" ({'; '.join(filter(None, (section.note, note)))})", "dim"))
    lines = section.text.split("\n") if marks else []
    gutter = len(str(len(lines)))
    for line in sorted(marks)[:ITEMS_MAX]:
        found = sorted(marks[line], key=lambda mark: mark.state != "bad")
        head = literal(f"{line:>{gutter}} ", "dim").append_text(_sign(found[0].state)).append(" ").append_text(_cut(lines[line - 1], found))
        yield Padding(head.append_text(literal(f"  [{', '.join(dict.fromkeys(mark.code for mark in found if mark.code))}]", "dim")), (0, 0, 0, 2), expand=False)
    if len(marks) > ITEMS_MAX:
        yield Padding(literal(f"and {counted(len(marks) - ITEMS_MAX, 'more line')}; {_EVERYTHING}", "dim"), (0, 0, 0, 2), expand=False)


def _content(section: Section, drawing: Drawing) -> Iterator[RenderableType]:
    match section:
        case TextSection():
            yield from _text(section, drawing)
        case CodeSection():
            yield from _code(section, drawing)
        case ChecksSection():
            yield from _bounded((_item(item) for item in section.items), len(section.items), drawing)
        case PairsSection():
            yield from _bounded((_line(f"{one.key}: ", one.value, one.state) for one in section.pairs), len(section.pairs), drawing)
        case TableSection():
            rows = [[_sign(row.state), *map(_cell, row.cells), literal(row.note, "dim")] for row in section.rows]
            yield from _grid(("", *section.columns, ""), rows, drawing)
        case TimelineSection():
            entries = sorted(section.entries, key=lambda entry: (entry.begin is None, entry.begin or ""))
            spans = (" – ".join(filter(None, (one.begin, one.end))) for one in entries)
            rows = [
                [_sign(one.state), literal(span), literal(one.lane, "dim"), _cell(one.text), literal(one.note, "dim")]
                for one, span in zip(entries, spans, strict=True)
            ]
            yield from _grid(("", "When", "", "", ""), rows, drawing)
        case BarsSection():
            yield _bars(section)


def _item(item: Item) -> Text:
    """Sign, label, text, and what is the matter."""
    line = Text(" ").join(part for part in (_sign(item.state), literal(item.label, "dim"), _cell(item.text)) if part.plain)
    note = "; ".join(dict.fromkeys(filter(None, (item.note, item.code if item.code not in item.note else ""))))
    return line.append_text(literal(f"  [{note}]", "dim")) if note else line


def _line(head: str, text: str, state: MarkState | None) -> Text:
    line = Text("").join((literal(head, "dim"), _cell(text)))
    return line if state is None else Text(" ").join((_sign(state), line))


def _sign(state: MarkState | None) -> Text:
    return Text() if state is None else Text(SIGNS[state], style=_STYLES[state])


def _cell(text: str) -> Text:
    """A text of the case in one line, cut where it is long."""
    flat = " ".join(text.split())
    return literal(flat if len(flat) <= LINE_CHARS_MAX else f"{flat[:LINE_CHARS_MAX]}…")


def _bounded(lines: Iterable[Text], count: int, drawing: Drawing) -> Iterator[RenderableType]:
    most = count if drawing.everything else ITEMS_MAX
    yield from (line for _, line in zip(range(most), lines, strict=False))
    if count > most:
        yield literal(f"and {count - most} more; {_EVERYTHING}", "dim")


def _grid(header: tuple[str, ...], rows: list[list[Text]], drawing: Drawing) -> Iterator[RenderableType]:
    most = len(rows) if drawing.everything else ITEMS_MAX
    grid = Grid(box=SIMPLE_HEAD if any(header[1:]) else None, pad_edge=False, show_edge=False)
    kept = [column for column in range(len(header)) if any(column < len(row) and row[column].plain for row in rows)]
    for column in kept:
        grid.add_column(literal(header[column]), overflow="fold")
    for row in rows[:most]:
        grid.add_row(*(row[column] if column < len(row) else Text() for column in kept))
    if kept:
        yield grid
    if len(rows) > most:
        yield literal(f"and {len(rows) - most} more; {_EVERYTHING}", "dim")


def _bars(section: BarsSection) -> RenderableType:
    """Name, value, a bar, and the share in the whole."""
    grid = Grid.grid(padding=(0, 2))
    rests = [", ".join(filter(None, ("lower is better" if one.better == "lower" else "", _share(one)))) for one in section.bars]
    # rich would take the width of an empty last column from the one before
    has_rest = any(rests)
    for justify in ("left", "right", "left"):
        grid.add_column(justify=justify, no_wrap=True)
    for bar, rest in zip(section.bars, rests, strict=True):
        extent = bar.high - bar.low
        filled = 0 if bar.value is None or extent <= 0 else round(_BAR_CELLS * min(1.0, max(0.0, (bar.value - bar.low) / extent)))
        drawn_bar = Text("█" * filled, style=_STYLES[bar.state] if bar.state else "blue").append("░" * (_BAR_CELLS - filled), style="dim")
        grid.add_row(literal(bar.name), literal(bar.printed or number(bar.value)), drawn_bar, *([literal(rest, "dim")] if has_rest else []))
    return grid


def _share(bar: Bar) -> str:
    return "" if bar.share is None else f"{percent(bar.share)} of the whole"


def _text(section: TextSection, drawing: Drawing) -> Iterator[RenderableType]:
    """Running text, marked places in brackets with their sign."""
    whole = Text()
    for piece, mark in pieces(section.text, section.marks):
        if mark is None:
            whole.append_text(_lines(piece))
        else:
            style = _STYLES[mark.state]
            whole.append(f"[{SIGNS[mark.state]} ", style=style).append_text(_lines(piece, style)).append("]", style=style)
    lines = whole.split("\n")
    most = len(lines) if drawing.everything else LINES_MAX
    yield Group(*lines[:most])
    if len(lines) > most:
        yield literal(f"and {counted(len(lines) - most, 'more line')}; {_EVERYTHING}", "dim")


def _lines(text: str, style: str = "") -> Text:
    """Text with its line ends and without other control characters."""
    return Text("\n".join(visible(line.expandtabs(4)) for line in text.splitlines() or [""]) + ("\n" if text.endswith("\n") else ""), style=style)


def _code(section: CodeSection, drawing: Drawing) -> Iterator[RenderableType]:
    """A document's lines around its marks, with their numbers; all of a short one."""
    lines = section.text.split("\n")
    marks = by_line(section.text, section.marks)
    wanted = set(range(1, len(lines) + 1))
    if len(lines) > LINES_MAX and not drawing.everything:
        wanted = {near for line in marks for near in range(line - CONTEXT_LINES, line + CONTEXT_LINES + 1)} & wanted
        yield literal(f"{counted(len(lines), 'line')}; {'those around marks' if marks else 'none is marked'}, {_EVERYTHING}", "dim")
    gutter = len(str(len(lines)))
    before = 0
    for line in sorted(wanted):
        if before and line > before + 1:
            yield literal(f"{'⋮':>{gutter}}", "dim")
        before = line
        found = marks.get(line, [])
        state = found[0].state if found else None
        head = literal(f"{line:>{gutter}} ", "dim").append_text(_sign(state) if state else Text(" ")).append(" ")
        yield head.append_text(_cut(lines[line - 1], found))
        for mark in found:
            if told := ": ".join(filter(None, (mark.code, mark.note))):
                yield literal(f"{'':>{gutter}}   ^ {told}", _STYLES[mark.state])


def _cut(line: str, marks: list[Mark]) -> Text:
    """A line, or the part of a long one around its first mark."""
    text = line.expandtabs(4)
    if len(text) <= LINE_CHARS_MAX:
        return literal(text)
    at = next((mark.column for mark in marks if mark.column is not None), 1)
    start = max(0, min(at - LINE_CHARS_MAX // 2, len(text) - LINE_CHARS_MAX))
    return literal(f"{'…' if start else ''}{text[start : start + LINE_CHARS_MAX]}{'…' if start + LINE_CHARS_MAX < len(text) else ''}")
