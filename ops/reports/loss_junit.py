"""The loss report as JUnit XML: a suite per category, a test per case.

Fail is a failure, Review is `skipped` with its reason (JUnit has no third verdict), a case that was not scored is an error.
"""

import io

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from touchstone.ops.reports.loss_table import COLUMNS, number, reason
from touchstone.ops.reports.text import visible
from touchstone.schemas.reports.safe import utc_text
from touchstone.schemas.reports.summary import LossReport, LossResult

NO_CATEGORY = "uncategorised"


def render_junit(report: LossReport) -> str:
    """The XML text. Characters that XML cannot carry are written as escapes."""
    document = JUnitXml("Loss V3")
    by_category: dict[str, list[TestCase]] = {}
    for result in report.results:
        by_category.setdefault(result.category or NO_CATEGORY, []).append(_test(result))
    if report.errors:
        by_category["not read"] = []
    for error in report.errors:
        test = TestCase(visible(error.where), "summary_loss", 0.0)
        test.result = [Error(visible(error.what), "not_read")]
        by_category["not read"].append(test)
    for category, tests in by_category.items():
        suite = TestSuite(visible(category))
        suite.timestamp = utc_text(report.generated_at)
        suite.add_testcases(tests)
        document.add_testsuite(suite)
    document.update_statistics()
    stream = io.BytesIO()
    document.write(stream, pretty=True)
    return stream.getvalue().decode("utf-8").rstrip("\n") + "\n"


def _test(result: LossResult) -> TestCase:
    """One case. The whole event id is in its name: a source has many generated summaries."""
    name = f"{result.case_id} [{result.event_id}]" if result.case_id else result.event_id
    classname = ".".join(filter(None, ("summary_loss", result.category, result.model)))
    test = TestCase(visible(name), visible(classname), 0.0)
    told = ", ".join(f"{heading.lower()} {number(result.values.get(value))}" for value, heading in COLUMNS if value in result.values)
    why = reason(result)
    if result.label == "Fail":
        failure = Failure(told, "Fail")
        failure.text = why
        test.result = [failure]
    elif result.label == "unscored":
        test.result = [Error(why or "unscored", "unscored")]
    elif result.label != "Pass":
        skipped = Skipped(f"{result.label}: {told}", result.label)
        skipped.text = why
        test.result = [skipped]
    return test
