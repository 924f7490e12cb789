"""The JSON report of SAFE v0 §5.1."""

from datetime import datetime

from touchstone.schemas.reports.safe import SafeV0BatchReport, SafeV0FailureAnalysis, SafeV0JsonReport
from touchstone.scorers.safe.report import summary_of


def json_report(report: SafeV0BatchReport, generated_at: datetime) -> SafeV0JsonReport:
    """The document of §5.1; numbers are not rounded."""
    return SafeV0JsonReport(
        generated_at=generated_at,
        batch_id=report.batch_id,
        concern_id=report.concern_id,
        summary=summary_of(report),
        mean_scores=report.mean_scores,
        pass_rates=report.pass_rates,
        label_distribution=report.label_distribution,
        thresholds=report.thresholds,
        by_archetype=report.by_archetype,
        results=report.results,
        failure_analysis=SafeV0FailureAnalysis(
            worst_performers=report.worst_performers,
            common_CR_misses=report.common_CR_misses,
            common_AH_violations=report.common_AH_violations,
            common_AC_misses=report.common_AC_misses,
        ),
        errors=report.errors,
    )


def render_json(report: SafeV0BatchReport, generated_at: datetime) -> str:
    """The document as text, two spaces deep, field order as in the specification."""
    return json_report(report, generated_at).model_dump_json(indent=2) + "\n"
