"""Any report for a terminal. rich draws colour, tables and line breaks; without colour and width it is plain text, the same everywhere."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from touchstone.ops.reports.changes import comparison_tables, headline, remarks, sparkline, trend_table
from touchstone.ops.reports.listing import cells_of, choose, columns_of, finding_lines, not_read, origin, passed_over, rate_of, span_of
from touchstone.ops.reports.rich_text import drawn, literal
from touchstone.scorers.reporting.view import CaseView, LayoutOptions, View
from touchstone.scorers.reporting.words import counted, visible

#: Cases that are listed; more if the caller selects them.
CASES_MAX: Final = 50
CASES_ASKED_MAX: Final = 1_000
#: Findings of one case.
FINDINGS_MAX: Final = 50
PASSED_OVER_MAX: Final = 20
PROBLEMS_MAX: Final = 100
_STATES: Final = {"good": "green", "middling": "yellow", "bad": "red"}
_STATUSES: Final = {"pass": "green", "review": "yellow", "fail": "red", "unscored": "magenta", "error": "red", "passed_over": "dim"}
_LABELS: Final = {"Pass": "green", "Review": "yellow", "Warn": "yellow", "Fail": "red", "unscored": "magenta"}
_CHANGES: Final = {"better": "green", "worse": "red", "no clear change": "dim", "the same": "dim"}
_VERDICTS: Final = {0: "bold green", 2: "bold yellow"}


def console_pieces(view: View, options: LayoutOptions) -> Iterator[str]:
    """Title, figures, tables, cases, what was not read, and the verdict as the last line."""
    for block in _blocks(view, options):
        yield drawn(block, colour=options.colour, width=options.width)


def change_pieces(options: LayoutOptions) -> Iterator[str]:
    """The comparison and the trend, below a layout of the suite's own."""
    for block in _changes(options):
        yield drawn(block, colour=options.colour, width=options.width)


def _changes(options: LayoutOptions) -> Iterator[RenderableType]:
    """The comparison and the trend, if there are any."""
    if (comparison := options.comparison) is not None:
        title = headline(comparison)
        yield from _titled(title[:1].upper() + title[1:], *(literal(f"  {remark}", "dim") for remark in remarks(comparison)))
        for table in comparison_tables(comparison):
            rows = [[literal(cell, _CHANGES.get(cell, "")) for cell in row] for row in table.rows]
            yield from _titled(table.title, _grid(table.header, rows, table.numeric))
    if (trend := options.trend) is not None:
        table = trend_table(trend, spans=False)
        line = literal(f"  pass rate {sparkline(trend)}", "dim")
        yield from _titled(table.title, line, _grid(table.header, [[literal(cell) for cell in row] for row in table.rows], table.numeric))


def _blocks(view: View, options: LayoutOptions) -> Iterator[RenderableType]:
    yield literal(view.title, "bold")
    yield literal(origin(view), "dim")
    yield from (literal(fact, "dim") for fact in view.facts)
    yield Text()
    yield literal(view.counts or counted(view.total, view.noun))
    if view.labels:
        yield Text("  ").join(literal(f"{label} {count}", _LABELS.get(label, "") if count else "dim") for label, count in view.labels.items())
    if rate := rate_of(view):
        yield literal(rate[:1].upper() + rate[1:])
    if view.figures:
        spans = any(figure.interval for figure in view.figures)
        yield from _titled(f"Figures{', with the 95% intervals of means' if spans else ''}", _figures(view))
    for table in view.tables:
        yield from _titled(table.title, _grid(table.header, [[literal(cell) for cell in row] for row in table.rows], table.numeric))
    yield from _changes(options)
    yield from _cases(view, options)
    if problems := not_read(view):
        yield from _titled(f"Not read: {len(problems)}", _lines(problems, PROBLEMS_MAX, "red"))
    if options.width is None:
        # On a terminal the command's own last line repeats it, right below.
        yield Text()
        yield Text(": ").join((literal(options.verdict.word, _VERDICTS.get(options.verdict.exit_code, "bold red")), literal(options.verdict.reason)))


def _cases(view: View, options: LayoutOptions) -> Iterator[RenderableType]:
    """The table of cases; with `verbose` the findings of each."""

    def row(case: CaseView) -> tuple[list[Text], list[RenderableType]]:
        style = _STATUSES[case.status]
        cells = [literal(cell, style if cell.casefold() == case.label.casefold() else "") for cell in cells_of(view, case)]
        return cells, list(_details(case, style)) if options.verbose else []

    most = CASES_ASKED_MAX if options.only else CASES_MAX
    listed = choose(view, most, options.only, row, passed_over_most=PASSED_OVER_MAX)
    if listed.rows:
        yield from _titled(listed.title(view.noun), _grid(columns_of(view), [cells for cells, _ in listed.rows], view.numeric_columns))
    details = [block for _, blocks in listed.rows for block in blocks]
    if details:
        yield from _titled("Details", *details)
    over = [*listed.passed_over, *passed_over(view)]
    if over:
        total = listed.passed_over_count + len(over) - len(listed.passed_over)
        yield from _titled(f"Passed over: {total}", _lines(over, PASSED_OVER_MAX, "dim", total))


def _details(case: CaseView, style: str) -> Iterator[RenderableType]:
    """The findings of one case and its details, if any."""
    lines = [*(visible(line) for line in case.details), *finding_lines(case, FINDINGS_MAX, with_info=True)]
    if lines:
        yield Text(" ").join((literal(case.label.upper(), style), literal(case.name, "bold"), literal(case.summary)))
        yield from (Padding(Text(line), (0, 0, 0, 2), expand=False) for line in lines)


def _figures(view: View) -> RenderableType:
    """Name, value, interval and note of each."""
    grid = Grid.grid(padding=(0, 2))
    grid.add_column()
    grid.add_column(justify="right")
    rest = [(span_of(figure), figure.note) for figure in view.figures]
    # rich would take the width of an empty last column from the one before
    kept = [place for place in range(2) if any(cells[place] for cells in rest)]
    for figure, cells in zip(view.figures, rest, strict=True):
        head = [literal(figure.name), literal(figure.text, _STATES.get(figure.state or "", ""))]
        grid.add_row(*head, *(literal(cells[place], "dim") for place in kept))
    return Padding(grid, (0, 0, 0, 2), expand=False)


def _grid(header: Sequence[str], rows: Iterable[Sequence[Text]], numeric: frozenset[int]) -> RenderableType:
    grid = Grid(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column, heading in enumerate(header):
        grid.add_column(literal(heading), justify="right" if column in numeric else "left", overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return Padding(grid, (0, 0, 0, 2), expand=False)


def _lines(pairs: Sequence[tuple[str, str]], most: int, style: str, total: int = 0) -> RenderableType:
    """A line for each of the first items, and how many more there are."""
    lines = [literal(f"{where}: {what}" if what else where, style) for where, what in pairs[:most]]
    if rest := max(total, len(pairs)) - len(lines):
        lines.append(Text(f"and {rest} more; all are in the JSON report"))
    return Padding(Text("\n").join(lines), (0, 0, 0, 2), expand=False)


def _titled(title: str, *blocks: RenderableType) -> Iterator[RenderableType]:
    """An empty line, a heading, and its content."""
    yield Text()
    yield literal(title, "bold")
    yield from blocks
