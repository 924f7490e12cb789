"""The markdown report of SAFE v0 §5.3, fit for a pull request or a job summary."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from touchstone.ops.reports.text import counted, percent, visible
from touchstone.ops.reports.verdict import Verdict
from touchstone.schemas.reports.safe import SafeV0BatchReport, utc_text
from touchstone.scorers.safe.settings import METRICS

#: A job summary has a size limit, so a long batch lists the cases that did not pass, up to this many.
CASES_MAX = 1_000
ISSUES_MAX = 10

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$@:-])")


def escaped(text: str) -> str:
    """Text that markdown shows as it is: no markup, link, mention, HTML or cell border comes out of it."""
    return _SPECIAL.sub(r"\\\1", visible(text))


def render_markdown(report: SafeV0BatchReport, generated_at: datetime, verdict: Verdict) -> str:
    """Verdict, metrics, archetypes, cases, issues and errors."""
    labels, total = report.label_distribution, report.total_cases
    counts = f"{counted(total, 'case')}: {labels.Pass} Pass, {labels.Review} Review, {labels.Fail} Fail ({percent(report.pass_rates.overall)} pass)"
    parts = [
        f"# SAFE v0: {escaped(report.concern_id)}",
        "",
        f"**{verdict.word}**: {verdict.reason}.",
        "",
        f"Batch {escaped(report.batch_id)}, generated {utc_text(generated_at)}. {counts}. Composite {report.mean_scores.composite:.2f}.",
        "",
        *_table(("Metric", "Mean", "Pass rate", "Pass at", "Review at"), _metric_rows(report)),
        *_section("By archetype", ("Archetype", "Cases", "CR", "AH", "AC", "Pass rate"), _archetype_rows(report)),
        *_section(_cases_title(report), ("Test", "Archetype", "CR", "AH", "AC", "Composite", "Label"), _case_rows(report)),
        *_section("Most frequent issues", ("Metric", "Text", "Cases"), _issue_rows(report)),
        *_section("Not scored", ("Where", "What"), [(escaped(error.where), escaped(error.what)) for error in report.errors]),
    ]
    return "\n".join(parts) + "\n"


def _section(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A titled table; nothing where it has no rows."""
    return ["", f"## {title}", "", *_table(header, rows)] if rows else []


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A markdown table."""
    return [f"| {' | '.join(header)} |", "|" + " --- |" * len(header), *(f"| {' | '.join(row)} |" for row in rows)]


def _metric_rows(report: SafeV0BatchReport) -> list[tuple[str, ...]]:
    """Mean, pass rate and thresholds of each metric."""
    rows: list[tuple[str, ...]] = []
    for metric in METRICS:
        threshold = getattr(report.thresholds, metric)
        mean, rate = getattr(report.mean_scores, metric), getattr(report.pass_rates, metric)
        rows.append((metric, f"{mean:.2f}", percent(rate), f"{threshold.pass_:g}", f"{threshold.review:g}"))
    return rows


def _archetype_rows(report: SafeV0BatchReport) -> list[tuple[str, ...]]:
    """Means of each archetype."""
    return [
        (escaped(name), str(group.count), f"{group.mean_CR:.2f}", f"{group.mean_AH:.2f}", f"{group.mean_AC:.2f}", percent(group.pass_rate))
        for name, group in report.by_archetype.items()
    ]


def _cases_title(report: SafeV0BatchReport) -> str:
    """What the table of cases holds."""
    if report.total_cases <= CASES_MAX:
        return "Cases"
    return f"Cases that did not pass (at most {CASES_MAX}; all are in the JSON report)"


def _case_rows(report: SafeV0BatchReport) -> list[tuple[str, ...]]:
    """A row per case; of a long batch those that did not pass."""
    shown = report.results if report.total_cases <= CASES_MAX else [result for result in report.results if result.label != "Pass"][:CASES_MAX]
    return [
        (
            escaped(result.test_id),
            escaped(result.archetype),
            *(f"{getattr(result.scores, name):.2f}" for name in (*METRICS, "composite")),
            result.label,
        )
        for result in shown
    ]


def _issue_rows(report: SafeV0BatchReport) -> list[tuple[str, ...]]:
    """The most frequent issues of each metric."""
    return [
        *(("CR", escaped(entry.signal), str(entry.miss_count)) for entry in report.common_CR_misses[:ISSUES_MAX]),
        *(("AH", escaped(entry.term), str(entry.count)) for entry in report.common_AH_violations[:ISSUES_MAX]),
        *(("AC", escaped(entry.phrase), str(entry.miss_count)) for entry in report.common_AC_misses[:ISSUES_MAX]),
    ]
