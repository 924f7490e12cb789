"""The verdict on a run over clinical files: the printed word and the exit code come from here and nowhere else."""

from ops.reporters.text import counted
from ops.reporters.verdict import EXIT_ERROR, EXIT_FAIL, EXIT_PASS, EXIT_REVIEW, Verdict
from schemas.clinical_report import ClinicalSummary

EXIT_WARN = EXIT_REVIEW


def clinical_verdict(summary: ClinicalSummary) -> Verdict:
    """Judge a run.

    3: a file could not be read, or there was nothing to validate. Else by labels: 1 with a Fail, 2 with a Warn or a file that was not
    validated, 0 where all pass.
    """
    files = counted(summary.total, "file")
    rest = f"; {counted(summary.passed_over, 'file')} of no known or wanted format passed over" if summary.passed_over else ""
    if summary.problems:
        return Verdict("ERROR", f"{summary.problems} of {files} could not be read{rest}", EXIT_ERROR)
    if not summary.total:
        return Verdict("ERROR", f"nothing to validate{rest}", EXIT_ERROR)
    if summary.failed:
        return Verdict("FAIL", f"{summary.failed} of {files} failed{rest}", EXIT_FAIL)
    if summary.warned or summary.unvalidated:
        parts = [f"{summary.warned} warned"] if summary.warned else []
        parts += [f"{summary.unvalidated} not validated"] if summary.unvalidated else []
        return Verdict("WARN", f"{', '.join(parts)} of {files}, none failed{rest}", EXIT_WARN)
    return Verdict("PASS", f"{files} passed{rest}", EXIT_PASS)
