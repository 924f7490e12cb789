"""The list of cases in a report: the columns of its table, and a bounded choice among many."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from touchstone.schemas.result import Finding
from touchstone.scorers.reporting.findings import gravest_first
from touchstone.scorers.reporting.folding import folded_case
from touchstone.scorers.reporting.view import CaseView, Figure, View
from touchstone.scorers.reporting.words import counted, number_span, percent, percent_span, visible

_QUIET: Final = frozenset({"pass", "passed_over"})

Row = TypeVar("Row")


def columns_of(view: View) -> Sequence[str]:
    """The headings of the table of cases."""
    return view.case_columns or ("Case", "Label", "Scores", "Why")


def cells_of(view: View, case: CaseView) -> tuple[str, ...]:
    """The cells of one row: as many as there are headings."""
    cells = tuple(case.cells) if view.case_columns else (case.name, case.label, case.summary, case.why)
    wanted = len(columns_of(view))
    return (*cells, *([""] * (wanted - len(cells))))[:wanted]


def needs_attention(case: CaseView) -> bool:
    """True if a case counts and did not pass."""
    return case.status not in _QUIET


def grave(case: CaseView) -> list[Finding]:
    """The findings of a case above info, the most severe first."""
    return gravest_first(case.findings)


def finding_lines(case: CaseView, most: int, *, with_info: bool = False) -> Iterator[str]:
    """A line for each of the most severe findings, equal ones as one, and one for the rest."""
    lines, rest = folded_case(case, most, with_info=with_info)
    for one in lines:
        hint = f" ({visible(one.finding.suggestion)})" if one.finding.suggestion else ""
        yield f"[{one.finding.severity}] {one.line}{hint}"
    if rest:
        yield f"and {rest} more"


@dataclass(slots=True)
class Listed(Generic[Row]):
    """Rows for a table of cases, bounded. `wanted`: how many cases could have been listed. `passed_over`: (name, why), the first ones."""

    rows: list[Row] = field(default_factory=list)
    wanted: int = 0
    only_not_passed: bool = False
    passed_over: list[tuple[str, str]] = field(default_factory=list)
    passed_over_count: int = 0

    def title(self, noun: str) -> str:
        """The title of the table; it says so if the table is not complete."""
        plural = counted(2, noun).partition(" ")[2].capitalize()
        if len(self.rows) == self.wanted:
            return f"{plural} that did not pass" if self.only_not_passed else plural
        shown = f"the first {len(self.rows)} of {self.wanted}; all are in the JSON report"
        return f"{plural} that did not pass ({shown})" if self.only_not_passed else f"{plural} ({shown})"


def choose(view: View, most: int, only: frozenset[str], row: Callable[[CaseView], Row], *, passed_over_most: int) -> Listed[Row]:
    """Rows of all cases if they are few, otherwise of those that did not pass; at most `most`. Reads the cases once.

    `only`: statuses to list; empty lists all. Cases that were passed over are listed separately, unless `only` names them.
    """
    every: Listed[Row] = Listed()
    not_passed: Listed[Row] = Listed(only_not_passed=True, passed_over=every.passed_over)
    for case in _of_status(view.cases, only):
        if case.status == "passed_over" and not only:
            every.passed_over_count += 1
            if len(every.passed_over) < passed_over_most:
                every.passed_over.append((case.name, case.why))
            continue
        made: Row | None = None
        for listed in (every, not_passed) if needs_attention(case) else (every,):
            listed.wanted += 1
            if len(listed.rows) < most:
                made = row(case) if made is None else made
                listed.rows.append(made)
    not_passed.passed_over_count = every.passed_over_count
    # If `only` names statuses, their first cases are listed and no others.
    return every if only or every.wanted <= most else not_passed


def _of_status(cases: Iterable[CaseView], only: frozenset[str]) -> Iterator[CaseView]:
    """The cases with one of these statuses; all if none is named."""
    return (case for case in cases if not only or case.status in only)


def not_read(view: View) -> list[tuple[str, str]]:
    """Place and reason of every input that counts and got no score."""
    return [(problem.where, problem.what) for problem in view.problems if problem.kind != "passed_over"]


def passed_over(view: View) -> list[tuple[str, str]]:
    """Place and reason of every input that was passed over before it became a case."""
    return [(problem.where, problem.what) for problem in view.problems if problem.kind == "passed_over"]


def rate_of(view: View) -> str:
    """The pass rate with its interval, in one line; empty without a case that counts."""
    rate = view.pass_rate
    return "" if rate.interval is None else f"pass rate {percent(rate.share)} (95% interval {percent_span(rate.interval)})"


def span_of(figure: Figure) -> str:
    """The interval of a figure; empty if it has none."""
    return "" if figure.interval is None else number_span(figure.interval, figure.places)


def origin(view: View) -> str:
    """Suite, version, configuration and time of the report, in one line."""
    suite = f"suite {view.suite} {view.suite_version}, configuration {view.config_digest}, " if view.suite else ""
    return f"{suite}generated {view.generated_at}"
