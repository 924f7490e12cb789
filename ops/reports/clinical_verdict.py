"""The verdict on a run over clinical files: the printed word and the exit code come from here and nowhere else."""

from touchstone.ops.reports.text import counted, percent
from touchstone.ops.reports.verdict import EXIT_ERROR, EXIT_FAIL, EXIT_PASS, EXIT_REVIEW, Verdict
from touchstone.schemas.reports.clinical import ClinicalSummary

EXIT_WARN = EXIT_REVIEW


def clinical_verdict(summary: ClinicalSummary, *, noun: str = "file", min_pass_rate: float | None = None) -> Verdict:
    """Judge a run. `noun`: what was validated.

    3: one could not be read, or there was nothing to validate. Else, with `min_pass_rate` (ratio): 0 where the share of Pass labels
    reaches it, 1 where not. Else by labels: 1 with a Fail, 2 with a Warn or one that was not validated, 0 where all pass.
    """
    files = counted(summary.total, noun)
    rest = f"; {counted(summary.passed_over, noun)} of no known or wanted format passed over" if summary.passed_over else ""
    if summary.problems:
        return Verdict("ERROR", f"{summary.problems} of {files} could not be read{rest}", EXIT_ERROR)
    if not summary.total:
        return Verdict("ERROR", f"nothing to validate{rest}", EXIT_ERROR)
    if min_pass_rate is not None:
        told = f"pass rate {percent(summary.pass_rate)} of {files}, at least {min_pass_rate:.4g} asked{rest}"
        return Verdict("PASS", told, EXIT_PASS) if summary.pass_rate >= min_pass_rate else Verdict("FAIL", told, EXIT_FAIL)
    if summary.failed:
        return Verdict("FAIL", f"{summary.failed} of {files} failed{rest}", EXIT_FAIL)
    if summary.warned or summary.unvalidated:
        parts = [f"{summary.warned} warned"] if summary.warned else []
        parts += [f"{summary.unvalidated} not validated"] if summary.unvalidated else []
        return Verdict("WARN", f"{', '.join(parts)} of {files}, none failed{rest}", EXIT_WARN)
    return Verdict("PASS", f"{files} passed{rest}", EXIT_PASS)
