"""SAFE v0 as JUnit XML, which every CI system reads: a suite per archetype, a test per case.

Fail is a failure. Review is `skipped` with its reason, because JUnit has no third verdict and a failure would make Review
and Fail one. A case that could not be scored is an error.
"""

import io
from datetime import datetime

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from touchstone.ops.reports.text import visible
from touchstone.schemas.reports.safe import SafeV0BatchReport, SafeV0Result, utc_text
from touchstone.scorers.safe.settings import METRICS


def render_junit(report: SafeV0BatchReport, generated_at: datetime) -> str:
    """The XML text. Characters that XML cannot carry are written as escapes."""
    document = JUnitXml(f"SAFE v0 {visible(report.concern_id)} {visible(report.batch_id)}")
    for archetype in report.by_archetype:
        suite = TestSuite(visible(archetype))
        suite.timestamp = utc_text(generated_at)
        suite.add_testcases([_test(result, report.concern_id) for result in report.results if result.archetype == archetype])
        document.add_testsuite(suite)
    if report.errors:
        suite = TestSuite("not scored")
        suite.timestamp = utc_text(generated_at)
        for error in report.errors:
            test = TestCase(visible(error.where), visible(report.concern_id), 0.0)
            test.result = [Error(visible(error.what), "not_scored")]
            suite.add_testcase(test)
        document.add_testsuite(suite)
    document.update_statistics()
    stream = io.BytesIO()
    document.write(stream, pretty=True)
    return stream.getvalue().decode("utf-8").rstrip("\n") + "\n"


def _test(result: SafeV0Result, concern_id: str) -> TestCase:
    """One case."""
    test = TestCase(visible(result.test_id), f"{visible(concern_id)}.{visible(result.archetype)}", 0.0)
    scores = ", ".join(f"{name} {getattr(result.scores, name):.2f}" for name in (*METRICS, "composite"))
    if result.label == "Fail":
        failure = Failure(scores, "Fail")
        failure.text = _issues(result)
        test.result = [failure]
    elif result.label == "Review":
        skipped = Skipped(f"Review: {scores}", "Review")
        skipped.text = _issues(result)
        test.result = [skipped]
    return test


def _issues(result: SafeV0Result) -> str:
    """What was missed or used, a line each."""
    parts = (
        ("CR missing", result.details.CR.missing),
        ("AH violation", result.details.AH.violations),
        ("AC missing", result.details.AC.missing),
    )
    return "\n".join(f"{name}: {visible(text)}" for name, texts in parts for text in texts)
