"""Any report as JUnit XML, which every CI system reads: a suite per group of cases, a test per case.

Fail is a failure. Review and Warn are `skipped` with their reason, because JUnit has no third verdict and a failure would make them and Fail
one; so is a case that was passed over. A case that could not be scored or read is an error. JUnit has no place for figures of a whole report: each
suite has the pass rate of its own cases, with its 95 % interval, as properties.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from touchstone.ops.reports.changes import word
from touchstone.ops.reports.listing import finding_lines
from touchstone.scorers.reporting.intervals import Rate
from touchstone.scorers.reporting.view import CaseView, LayoutOptions, View
from touchstone.scorers.reporting.words import visible

FINDINGS_MAX: Final = 50
_NOT_READ: Final = "not read"

#: The element for the outcome of a case; a pass has none.
_ELEMENTS: Final = {"fail": "failure", "review": "skipped", "passed_over": "skipped", "unscored": "error", "error": "error"}
#: Cases with one of these count for the pass rate.
_JUDGED: Final = frozenset({"pass", "review", "fail"})
_TOTALS: Final = "COUNT(*), SUM(element = 'error'), SUM(element = 'failure'), SUM(element = 'skipped'), SUM(seconds)"
_RATE: Final = "SUM(judged AND element = ''), SUM(judged)"


def junit_pieces(view: View, options: LayoutOptions | None = None) -> Iterator[str]:
    """The XML text. Characters that XML cannot carry are written as escapes. The first suite has the comparison and the trend as properties.

    JUnit has the totals before the tests, and the tests by group. So the tests go to SQLite's own temporary file first, which holds a
    few megabytes in memory for any number of tests; a library for JUnit would hold all of them.
    """
    with closing(sqlite3.connect("")) as tests:
        tests.execute("CREATE TABLE tests (suite TEXT, element TEXT, judged INTEGER, seconds REAL, xml TEXT)")
        tests.executemany("INSERT INTO tests VALUES (?, ?, ?, ?, ?)", _tests(view))
        totals = tests.execute(f"SELECT {_TOTALS} FROM tests").fetchone()  # noqa: S608  # our own words
        yield f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites name={_quoted(view.title)}{_counts(*totals)}>\n'
        begun: str | None = None
        groups = f"SELECT suite, MIN(rowid) AS place, {_TOTALS}, {_RATE} FROM tests GROUP BY suite"  # noqa: S608  # our own words
        joined = f"SELECT grouped.*, xml FROM tests JOIN ({groups}) AS grouped USING (suite) ORDER BY place, tests.rowid"  # noqa: S608
        for suite, _, *counts, passed, judged, xml in tests.execute(joined):
            if suite != begun:
                yield "\t</testsuite>\n" if begun is not None else ""
                yield f"\t<testsuite name={_quoted(suite)} timestamp={_quoted(view.generated_at)}{_counts(*counts)}>\n"
                yield _properties(
                    [
                        *_rate(Rate(passed, judged)),
                        *(view.properties if begun is None else ()),
                        *(_changes(options) if begun is None and options is not None else ()),
                    ]
                )
                begun = suite
            yield xml
        yield "\t</testsuite>\n" if begun is not None else ""
        yield "</testsuites>\n"


def _counts(tests: int, errors: int | None, failures: int | None, skipped: int | None, seconds: float | None) -> str:
    """The attributes with counts. SQLite's sum of no rows is None."""
    return f' tests="{tests}" failures="{failures or 0}" errors="{errors or 0}" skipped="{skipped or 0}" time="{round(seconds or 0.0, 3)}"'


def _properties(named: Sequence[tuple[str, str]]) -> str:
    """The properties of a suite; nothing without any."""
    lines = (f"\t\t\t<property name={_quoted(name)} value={_quoted(value)}/>\n" for name, value in named)
    return f"\t\t<properties>\n{''.join(lines)}\t\t</properties>\n" if named else ""


def _rate(rate: Rate) -> Iterator[tuple[str, str]]:
    """The pass rate of a suite, and both ends of its interval, as ratios; nothing without a case that counts."""
    if (interval := rate.interval) is not None:
        yield from (("pass_rate", f"{rate.share:.4f}"), ("pass_rate_95_low", f"{interval.low:.4f}"), ("pass_rate_95_high", f"{interval.high:.4f}"))


def _changes(options: LayoutOptions) -> Iterator[tuple[str, str]]:
    """The comparison of the whole report, and the pass rates of its trend, the oldest first."""
    if (comparison := options.comparison) is not None:
        yield "against", comparison.before.name
        for name, one in (("pass_rate", comparison.pass_rate), *((value.name, value) for value in comparison.values)):
            if one.before is not None and one.now is not None:
                yield f"against.{name}_before", f"{one.before:.4f}"
                yield f"against.{name}_now", f"{one.now:.4f}"
            if one.difference is not None and one.interval is not None:
                yield f"against.{name}_difference", f"{one.difference:.4f}"
                yield f"against.{name}_difference_95_low", f"{one.interval.low:.4f}"
                yield f"against.{name}_difference_95_high", f"{one.interval.high:.4f}"
            yield f"against.{name}_change", word(one)
        yield "against.cases_better", str(comparison.improved)
        yield "against.cases_worse", str(comparison.worsened)
    if (trend := options.trend) is not None:
        rates = (f"{point.name} {'-' if point.pass_rate is None else f'{point.pass_rate:.4f}'}" for point in trend.points)
        yield "trend.pass_rate", "; ".join(rates)


def _tests(view: View) -> Iterator[tuple[str, str, bool, float, str]]:
    """A row for every case and problem: suite, element, whether it counts for the pass rate, seconds, XML."""
    for case in view.cases:
        element = _ELEMENTS.get(case.status, "")
        kind = case.label if case.status in {"fail", "review"} else case.status
        body = _element(element, _message(case), kind, _lines(case)) if element else ""
        yield (
            visible(case.group or view.suite),
            element,
            case.status in _JUDGED,
            case.duration_s,
            _test(case.name, case.class_name or view.suite, case.duration_s, body),
        )
    for problem in view.problems:
        element = "skipped" if problem.kind == "passed_over" else "error"
        lines = (f"[{finding.severity}] {visible(finding.path)}: {visible(finding.message)}" for finding in problem.findings[:FINDINGS_MAX])
        yield _NOT_READ, element, False, 0.0, _test(problem.where, view.suite, 0.0, _element(element, problem.what, problem.kind, lines))


def _message(case: CaseView) -> str:
    """The text that a CI system shows first: the scores, and why the case does not pass."""
    message = "; ".join(filter(None, (case.summary, case.why)))
    return f"{case.label}: {message}" if case.status == "review" else message


def _lines(case: CaseView) -> Iterator[str]:
    """Details and the most severe findings, a line each."""
    yield from (visible(line) for line in case.details[:FINDINGS_MAX])
    yield from finding_lines(case, FINDINGS_MAX)


def _test(name: str, class_name: str, seconds: float, body: str) -> str:
    head = f"\t\t<testcase name={_quoted(name)} classname={_quoted(class_name)} time={_quoted(str(round(seconds, 3)))}"
    return f"{head}>\n{body}\t\t</testcase>\n" if body else f"{head}/>\n"


def _element(name: str, message: str, kind: str, lines: Iterable[str]) -> str:
    """The element of a test's outcome."""
    text = escape("\n".join(lines))
    head = f"\t\t\t<{name} message={_quoted(message)} type={_quoted(kind)}"
    return f"{head}>{text}</{name}>\n" if text else f"{head}/>\n"


def _quoted(text: str) -> str:
    return quoteattr(visible(text))
