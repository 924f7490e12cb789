"""One report over several concerns, for a suite whose own report holds one: the figures of all cases, and a row for each concern."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from touchstone.schemas.result import Problem, ScoreResult
from touchstone.scorers.reporting.report import LabelCounts, SuiteReport, case_view, suite_view
from touchstone.scorers.reporting.view import CaseView, Reiterable, Table, View
from touchstone.scorers.reporting.words import counted, percent


def concern_of(result: ScoreResult) -> str:
    """The concern of a result; empty if it names none."""
    named = result.attributes.get("concern_id") or result.correlation.get("concern_id")
    return named if isinstance(named, str) else ""


def has_several(entries: Iterable[ScoreResult | Problem]) -> bool:
    """True if the results are of more than one concern."""
    first: str | None = None
    for entry in entries:
        if isinstance(entry, ScoreResult) and (named := concern_of(entry)):
            if first is not None and named != first:
                return True
            first = named
    return False


def by_concern(report: SuiteReport) -> Iterator[Table]:
    """Labels and pass rate of each concern."""
    found: dict[str, LabelCounts] = {}
    for result in report.results:
        found.setdefault(concern_of(result), LabelCounts()).add(result.label)
    rows = [
        (concern or "–", *(str(count) for count in (one.scored + one.unscored, one.passed, one.review, one.failed, one.unscored)), percent(one.pass_rate))
        for concern, one in sorted(found.items())
    ]
    yield Table("By concern", ("Concern", "Cases", "Pass", "Review", "Fail", "Not scored", "Pass rate"), rows, frozenset(range(1, 7)))


def view_by_concern(report: SuiteReport) -> View:
    """The default view, with each case under its concern."""

    def cases() -> Iterator[CaseView]:
        for result in report.results:
            yield replace(case_view(result, report.facts.suite), group=concern_of(result))

    suite, concerns = report.facts.suite, {concern_of(result) for result in report.results}
    return replace(suite_view(report), title=f"{suite.title or suite.name}: {counted(len(concerns), 'concern')}", cases=Reiterable(cases))
