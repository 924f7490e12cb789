"""The verdict on a batch: the printed word and the exit code come from here and nowhere else (SAFE v0 §7.3)."""

from dataclasses import dataclass

from touchstone.ops.reports.text import counted, percent
from touchstone.schemas.reports.safe import SafeV0BatchReport

EXIT_PASS, EXIT_FAIL, EXIT_REVIEW, EXIT_ERROR = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """A word, why, and the exit code that says the same."""

    word: str
    reason: str
    exit_code: int

    def __str__(self) -> str:
        """One line."""
        return f"{self.word}: {self.reason} (exit {self.exit_code})"


def verdict_of(report: SafeV0BatchReport, min_pass_rate: float | None = None) -> Verdict:
    """Judge a batch.

    3: a case could not be scored, or there is none. Else, with `min_pass_rate` (ratio): 0 where the share of Pass labels
    reaches it, 1 where not. Else by labels: 1 with a Fail, 2 with a Review, 0 where all pass.
    """
    labels, total = report.label_distribution, report.total_cases
    if report.errors:
        return Verdict("ERROR", f"{counted(len(report.errors), 'problem')}, {counted(total, 'case')} scored", EXIT_ERROR)
    if not total:
        return Verdict("ERROR", "no case was scored", EXIT_ERROR)
    if min_pass_rate is not None:
        rate = report.pass_rates.overall
        told = f"pass rate {percent(rate)} of {counted(total, 'case')}, at least {min_pass_rate:.4g} asked"
        return Verdict("PASS", told, EXIT_PASS) if rate >= min_pass_rate else Verdict("FAIL", told, EXIT_FAIL)
    if labels.Fail:
        return Verdict("FAIL", f"{labels.Fail} of {counted(total, 'case')} failed", EXIT_FAIL)
    if labels.Review:
        return Verdict("REVIEW", f"{labels.Review} of {counted(total, 'case')} to review, none failed", EXIT_REVIEW)
    return Verdict("PASS", f"{counted(total, 'case')} passed", EXIT_PASS)
