"""The loss report for a terminal: plain text without colour, the same in a pipe and under NO_COLOR."""

from collections.abc import Sequence

from rich.cells import cell_len

from touchstone.ops.reports.loss_table import CASE_HEADER, COMPONENT_HEADER, case_row, component_rows, counts_text, label_counts, loss_text
from touchstone.ops.reports.safe_console import pad
from touchstone.ops.reports.text import counted, percent, visible
from touchstone.schemas.reports.summary import LossReport

#: A longer batch shows its worst cases only; the JSON report has all.
CASES_MAX = 50


def render_console(report: LossReport) -> str:
    """Counts, losses, components, cases, and what could not be read."""
    total = report.total_cases
    labels = "   ".join(f"{label} {count} ({percent(count / total if total else 0)})" for label, count in label_counts(report))
    lines = [f"Loss V3 (summary_loss {report.suite_version}): {counted(total, 'case')}, {report.scored_cases} scored", f"  {labels}", ""]
    lines += [f"Loss        {loss_text(report)}"]
    if report.hard_fails:
        lines.append(f"Hard fails  {counts_text(report.hard_fails)}")
    if report.unscored:
        lines.append(f"Unscored    {counts_text(report.unscored)}")
    if report.models:
        lines.append("Models      " + ", ".join(f"{visible(role)} {visible(model)}" for role, model in report.models.items()))
    if report.components:
        lines += ["", *_table(COMPONENT_HEADER, component_rows(report), right=(1, 2))]
    if report.results and total <= CASES_MAX:
        lines += ["", "Cases:", *_cases([case_row(case) for case in report.results])]
    if report.worst:
        lines += ["", f"Worst {len(report.worst)} of {report.scored_cases}:", *_cases([case_row(case) for case in report.worst])]
    if report.errors:
        lines += ["", "Not read:", *(f"  {visible(error.where)}: {visible(error.what)}" for error in report.errors)]
    return "\n".join(lines) + "\n"


def _cases(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table of cases; the model's column only where a case names one."""
    kept = [place for place, heading in enumerate(CASE_HEADER) if heading != "Model" or any(row[place] for row in rows)]
    header = [CASE_HEADER[place] for place in kept]
    right = [place for place, heading in enumerate(header) if heading not in {"Case", "Model", "Label", "Why"}]
    return _table(header, [[row[place] for place in kept] for row in rows], right=right)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int]) -> list[str]:
    """Columns as wide as their widest cell; numbers stand at the right."""
    shown = [tuple(header), *(tuple(visible(cell) for cell in row) for row in rows)]
    widths = [max(cell_len(row[place]) for row in shown) for place in range(len(header))]

    def cell(place: int, text: str) -> str:
        return " " * (widths[place] - cell_len(text)) + text if place in right else pad(text, widths[place])

    return ["  " + "  ".join(cell(place, text) for place, text in enumerate(row)).rstrip() for row in shown]
