"""A case's reading for a terminal. Without colour and width it is plain text; every sign stands beside its colour."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

import touchstone.schemas.reading as parts
from touchstone.ops.reports.reading_parts import (
    CONSOLE,
    TIMELINE_COLUMNS,
    beside,
    cut,
    fraction,
    headline,
    in_order,
    kept_columns,
    lines_wanted,
    matter,
    span_of,
    told,
)
from touchstone.ops.reports.rich_text import drawn, literal
from touchstone.ops.reports.signs import SIGNS, by_line, pieces
from touchstone.schemas.reading import CaseReading, Mark, MarkState
from touchstone.scorers.reporting.words import counted, number, visible

_BAR_CELLS: Final = 20
#: Columns that are folded where they do not fit; a table of more would fold its words, and its rows become lines.
_COLUMNS_FOLDED_MAX: Final = 4
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
    blocks += [Text(" ").join((_sign(state), _cell(words))) for state, words in headline(reading)]
    if not reading.has_text:
        blocks.append(literal("The text of the case is not shown.", "dim"))
    for block in blocks:
        yield drawn(block, colour=drawing.colour, width=drawing.width)
    for section in reading.sections:
        for part in _section(section, drawing):
            yield drawn(part, colour=drawing.colour, width=drawing.width)


def _section(section: parts.Section, drawing: Drawing) -> Iterator[RenderableType]:
    folded = section.folded and not drawing.everything
    if folded and isinstance(section, parts.CodeSection):
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


def _wrong_lines(section: parts.CodeSection) -> Iterator[RenderableType]:
    """The lines of a folded document where something is wrong or missing."""
    marks = by_line(section.text, tuple(mark for mark in section.marks if mark.state in {"bad", "missing"}))
    words = counted(section.text.count("\n") + 1, "line")
    note = f"{words}, those where something is wrong; {_EVERYTHING}" if marks else f"{words}; folded, {_EVERYTHING}"
    yield Text()
    yield Text().append_text(literal(section.title, "bold")).append_text(literal(f" ({'; '.join(filter(None, (section.note, note)))})", "dim"))
    lines = section.text.split("\n") if marks else []
    gutter = len(str(len(lines)))
    for line in sorted(marks)[: CONSOLE.items]:
        found = sorted(marks[line], key=lambda mark: mark.state != "bad")
        head = literal(f"{line:>{gutter}} ", "dim").append_text(_sign(found[0].state)).append(" ").append_text(_cut(lines[line - 1], found))
        yield Padding(head.append_text(literal(f"  [{', '.join(dict.fromkeys(mark.code for mark in found if mark.code))}]", "dim")), (0, 0, 0, 2), expand=False)
    if len(marks) > CONSOLE.items:
        yield Padding(literal(f"and {counted(len(marks) - CONSOLE.items, 'more line')}; {_EVERYTHING}", "dim"), (0, 0, 0, 2), expand=False)


def _content(section: parts.Section, drawing: Drawing) -> Iterator[RenderableType]:
    match section:
        case parts.TextSection():
            yield from _text(section, drawing)
        case parts.CodeSection():
            yield from _code(section, drawing)
        case parts.ChecksSection():
            yield from _bounded((_item(item) for item in section.items), len(section.items), drawing)
        case parts.PairsSection():
            yield from _bounded((_line(f"{one.key}: ", one.value, one.state) for one in section.pairs), len(section.pairs), drawing)
        case parts.TableSection():
            rows = [[_sign(row.state), *map(_cell, row.cells), literal(row.note, "dim")] for row in section.rows]
            yield from _grid(("", *section.columns, ""), rows, drawing)
        case parts.TimelineSection():
            rows = [[_sign(one.state), literal(span_of(one)), literal(one.lane, "dim"), _cell(one.text), literal(one.note, "dim")] for one in in_order(section)]
            yield from _grid(TIMELINE_COLUMNS, rows, drawing)
        case parts.BarsSection():
            yield _bars(section)


def _item(item: parts.Item) -> Text:
    """Sign, label, text, and what is the matter."""
    line = Text(" ").join(part for part in (_sign(item.state), literal(item.label, "dim"), _cell(item.text)) if part.plain)
    note = matter(item)
    return line.append_text(literal(f"  [{note}]", "dim")) if note else line


def _line(head: str, text: str, state: MarkState | None) -> Text:
    line = Text("").join((literal(head, "dim"), _cell(text)))
    return line if state is None else Text(" ").join((_sign(state), line))


def _sign(state: MarkState | None) -> Text:
    return Text() if state is None else Text(SIGNS[state], style=_STYLES[state])


def _cell(text: str) -> Text:
    """A text of the case in one line, cut where it is long."""
    flat = " ".join(text.split())
    return literal(flat if len(flat) <= CONSOLE.line_chars else f"{flat[: CONSOLE.line_chars]}…")


def _bounded(lines: Iterable[Text], count: int, drawing: Drawing) -> Iterator[RenderableType]:
    most = count if drawing.everything else CONSOLE.items
    yield from (line for _, line in zip(range(most), lines, strict=False))
    if count > most:
        yield literal(f"and {count - most} more; {_EVERYTHING}", "dim")


def _grid(header: tuple[str, ...], rows: list[list[Text]], drawing: Drawing) -> Iterator[RenderableType]:
    most = len(rows) if drawing.everything else CONSOLE.items
    grid = Grid(box=SIMPLE_HEAD if any(header[1:]) else None, pad_edge=False, show_edge=False)
    kept = kept_columns(header, [[cell.plain for cell in row] for row in rows])
    for column in kept:
        grid.add_column(literal(header[column]), overflow="fold")
    for row in rows[:most]:
        grid.add_row(*(row[column] if column < len(row) else Text() for column in kept))
    widest = sum(max((cell_len(header[column]), *(row[column].cell_len for row in rows[:most] if column < len(row)))) + 3 for column in kept)
    if drawing.width is not None and widest > drawing.width and len(kept) > _COLUMNS_FOLDED_MAX:
        yield from (_row_line(header, row, kept) for row in rows[:most])
    elif kept:
        yield grid
    if len(rows) > most:
        yield literal(f"and {len(rows) - most} more; {_EVERYTHING}", "dim")


def _row_line(header: tuple[str, ...], row: list[Text], kept: list[int]) -> Text:
    """A row of a table that is too wide for the terminal: its cells one after the other, each but the first with its heading."""
    cells = [(header[column], row[column]) for column in kept if column < len(row) and row[column].plain]
    line = Text()
    named = 0
    for heading, cell in cells:
        if line.plain:
            line.append(", " if named and heading else " ")
        if heading and named:
            line.append_text(literal(f"{heading} ", "dim"))
        named += bool(heading)
        line.append_text(cell)
    return line


def _bars(section: parts.BarsSection) -> RenderableType:
    """Name, value, a bar, and the share in the whole."""
    grid = Grid.grid(padding=(0, 2))
    rests = [beside(one) for one in section.bars]
    # rich would take the width of an empty last column from the one before
    has_rest = any(rests)
    for justify in ("left", "right", "left"):
        grid.add_column(justify=justify, no_wrap=True)
    for bar, rest in zip(section.bars, rests, strict=True):
        filled = round(_BAR_CELLS * fraction(bar))
        drawn_bar = Text("█" * filled, style=_STYLES[bar.state] if bar.state else "blue").append("░" * (_BAR_CELLS - filled), style="dim")
        grid.add_row(literal(bar.name), literal(bar.printed or number(bar.value)), drawn_bar, *([literal(rest, "dim")] if has_rest else []))
    return grid


def _text(section: parts.TextSection, drawing: Drawing) -> Iterator[RenderableType]:
    """Running text, marked places in brackets with their sign."""
    whole = Text()
    for piece, mark in pieces(section.text, section.marks):
        if mark is None:
            whole.append_text(_lines(piece))
        else:
            style = _STYLES[mark.state]
            whole.append(f"[{SIGNS[mark.state]} ", style=style).append_text(_lines(piece, style)).append("]", style=style)
    lines = whole.split("\n")
    most = len(lines) if drawing.everything else CONSOLE.lines
    yield Group(*lines[:most])
    if len(lines) > most:
        yield literal(f"and {counted(len(lines) - most, 'more line')}; {_EVERYTHING}", "dim")


def _lines(text: str, style: str = "") -> Text:
    """Text with its line ends and without other control characters."""
    return Text("\n".join(visible(line.expandtabs(4)) for line in text.splitlines() or [""]) + ("\n" if text.endswith("\n") else ""), style=style)


def _code(section: parts.CodeSection, drawing: Drawing) -> Iterator[RenderableType]:
    """A document's lines around its marks, with their numbers; all of a short one."""
    lines = section.text.split("\n")
    marks = by_line(section.text, section.marks)
    wanted = range(1, len(lines) + 1) if drawing.everything else lines_wanted(len(lines), marks, CONSOLE)
    if len(wanted) < len(lines):
        yield literal(f"{counted(len(lines), 'line')}; {'those around marks' if marks else 'none is marked'}, {_EVERYTHING}", "dim")
    gutter = len(str(len(lines)))
    before = 0
    for line in wanted:
        if before and line > before + 1:
            yield literal(f"{'⋮':>{gutter}}", "dim")
        before = line
        found = marks.get(line, [])
        state = found[0].state if found else None
        head = literal(f"{line:>{gutter}} ", "dim").append_text(_sign(state) if state else Text(" ")).append(" ")
        yield head.append_text(_cut(lines[line - 1], found))
        for mark in found:
            if words := told(mark):
                yield literal(f"{'':>{gutter}}   ^ {words}", _STYLES[mark.state])


def _cut(line: str, marks: list[Mark]) -> Text:
    """A line, or the part of a long one around its first mark."""
    return literal(cut(line.expandtabs(4), marks, CONSOLE))
