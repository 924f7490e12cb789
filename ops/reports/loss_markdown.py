"""The loss report as markdown, fit for a pull request or a job summary."""

from collections.abc import Sequence

from touchstone.ops.reports.loss_table import CASE_HEADER, COMPONENT_HEADER, case_row, component_rows, counts_text, label_counts, loss_text
from touchstone.ops.reports.safe_markdown import escaped
from touchstone.ops.reports.text import counted
from touchstone.ops.reports.verdict import Verdict
from touchstone.schemas.reports.safe import utc_text
from touchstone.schemas.reports.summary import LossReport, LossResult

#: A job summary has a size limit, so a long batch lists the cases that did not pass, up to this many.
CASES_MAX = 1_000


def render_markdown(report: LossReport, verdict: Verdict) -> str:
    """Verdict, losses, components, worst cases, cases and errors."""
    labels = ", ".join(f"{count} {label}" for label, count in label_counts(report))
    facts = [f"Loss: {escaped(loss_text(report))}."]
    facts += [f"Hard fails: {escaped(counts_text(report.hard_fails))}."] if report.hard_fails else []
    facts += [f"Unscored: {escaped(counts_text(report.unscored))}."] if report.unscored else []
    facts += [f"Models: {escaped(', '.join(f'{role} {model}' for role, model in report.models.items()))}."] if report.models else []
    counts = f"{counted(report.total_cases, 'case')}: {labels}."
    origin = f"Suite summary\\_loss {escaped(report.suite_version)}, configuration {report.config_digest}, generated {utc_text(report.generated_at)}."
    parts = [
        "# Loss V3",
        "",
        f"**{verdict.word}**: {escaped(verdict.reason)}.",
        "",
        f"{origin} {counts}",
        "",
        *(f"{fact}  " for fact in facts),
        *_section("Components", COMPONENT_HEADER, component_rows(report)),
        *_section(f"Worst {len(report.worst)}", CASE_HEADER, [case_row(case) for case in report.worst]),
        *_section(_title(report), CASE_HEADER, [case_row(case) for case in _shown(report)]),
        *_section("Not read", ("Where", "What"), [(error.where, error.what) for error in report.errors]),
    ]
    return "\n".join(parts) + "\n"


def _section(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A titled table; nothing where it has no rows."""
    if not rows:
        return []
    table = [f"| {' | '.join(header)} |", "|" + " --- |" * len(header)]
    return ["", f"## {title}", "", *table, *(f"| {' | '.join(escaped(cell) for cell in row)} |" for row in rows)]


def _title(report: LossReport) -> str:
    """What the table of cases holds."""
    return "Cases" if report.total_cases <= CASES_MAX else f"Cases that did not pass (at most {CASES_MAX}; all are in the JSON report)"


def _shown(report: LossReport) -> Sequence[LossResult]:
    """Every case; of a long batch those that did not pass."""
    if report.total_cases <= CASES_MAX:
        return report.results
    return [result for result in report.results if result.label != "Pass"][:CASES_MAX]
