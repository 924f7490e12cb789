"""Clinical files as JUnit XML: a suite per kind of file, a test per file.

Fail is a failure. Warn, and what was not validated, is `skipped` with its reason, because JUnit has no third verdict; so is what was passed
over. A file that could not be read is an error.
"""

import io
from datetime import UTC, datetime

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from touchstone.ops.reports.clinical_text import DIMENSIONS, counts_text, format_text, reason_text, score_text
from touchstone.ops.reports.text import visible
from touchstone.ops.reports.verdict import Verdict
from touchstone.schemas.reports.clinical import ClinicalEntry, ClinicalSummary, JudgedFile
from touchstone.schemas.reports.safe import utc_text
from touchstone.schemas.result import Finding

FINDINGS_MAX = 50


class JunitReporter:
    """Collects a test per file, and writes them at the end."""

    def __init__(self) -> None:
        self._tests: dict[str, list[TestCase]] = {}

    def begin(self) -> str:
        """Nothing: the counts come first."""
        return ""

    def add(self, judged: JudgedFile) -> str:
        """Nothing yet."""
        self._tests.setdefault(format_text(judged.entry), []).append(_test(judged))
        return ""

    def end(self, summary: ClinicalSummary, verdict: Verdict) -> str:
        """The XML text. Characters that XML cannot carry are written as escapes."""
        document = JUnitXml("Clinical validation")
        for kind, tests in self._tests.items():
            suite = TestSuite(kind)
            suite.timestamp = utc_text(datetime.now(UTC))
            suite.add_testcases(tests)
            document.add_testsuite(suite)
        document.update_statistics()
        stream = io.BytesIO()
        document.write(stream, pretty=True)
        return stream.getvalue().decode("utf-8").rstrip("\n") + "\n"


def _test(judged: JudgedFile) -> TestCase:
    """One file."""
    entry = judged.entry
    test = TestCase(visible(entry.file), f"clinical.{entry.format or 'unrecognised'}", round(judged.duration_s, 3))
    if judged.outcome == "problem":
        test.result = [Error(visible(reason_text(entry)), "not_read")]
    elif judged.outcome != "validated":
        test.result = [Skipped(visible(reason_text(entry)), judged.outcome)]
    elif entry.label == "Fail":
        failure = Failure(_told(entry), "Fail")
        failure.text = _listed(entry)
        test.result = [failure]
    elif entry.label != "Pass":
        skipped = Skipped(f"{entry.label}: {_told(entry)}", entry.label)
        skipped.text = _listed(entry)
        test.result = [skipped]
    return test


def _told(entry: ClinicalEntry) -> str:
    """Scores and counts in one line."""
    scores = [f"{name} {score_text(entry.scores[name])}" for name in ("overall", *(name for name, _ in DIMENSIONS)) if name in entry.scores]
    return "; ".join(filter(None, (", ".join(scores), counts_text(entry))))


def _listed(entry: ClinicalEntry) -> str:
    """The gravest findings, a line each."""
    grave = [finding for finding in entry.findings if finding.severity != "info"]
    lines = [f"[{finding.severity}] {visible(finding.path) or 'document'}: {visible(finding.message)}{_hint(finding)}" for finding in grave[:FINDINGS_MAX]]
    rest = len(grave) + entry.findings_dropped - len(lines)
    return "\n".join(lines + ([f"and {rest} more"] if rest > 0 else []))


def _hint(finding: Finding) -> str:
    return f" ({visible(finding.suggestion)})" if finding.suggestion else ""
