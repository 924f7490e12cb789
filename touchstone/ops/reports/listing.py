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
    """Whether a case counts and did not pass."""
    return case.status not in _QUIET


def grave(case: CaseView) -> list[Finding]:
    """Its findings above info, the gravest first."""
    return gravest_first(case.findings)


def finding_lines(case: CaseView, most: int, *, with_info: bool = False) -> Iterator[str]:
    """A line for each of the gravest findings, equal ones as one, and one for the rest."""
    lines, rest = folded_case(case, most, with_info=with_info)
    for one in lines:
        hint = f" ({visible(one.finding.suggestion)})" if one.finding.suggestion else ""
        yield f"[{one.finding.severity}] {one.line}{hint}"
    if rest:
        yield f"and {rest} more"


@dataclass(slots=True)
class Listed(Generic[Row]):
    """Rows for a table of cases, bounded. `wanted`: cases that might have been listed. `passed_over`: (name, why), the first ones."""

    rows: list[Row] = field(default_factory=list)
    wanted: int = 0
    only_not_passed: bool = False
    passed_over: list[tuple[str, str]] = field(default_factory=list)
    passed_over_count: int = 0

    def title(self, noun: str) -> str:
        """The title of the table, which says where it is not complete."""
        plural = counted(2, noun).partition(" ")[2].capitalize()
        if len(self.rows) == self.wanted:
            return f"{plural} that did not pass" if self.only_not_passed else plural
        shown = f"the first {len(self.rows)} of {self.wanted}; all are in the JSON report"
        return f"{plural} that did not pass ({shown})" if self.only_not_passed else f"{plural} ({shown})"


def choose(view: View, most: int, only: frozenset[str], row: Callable[[CaseView], Row], *, passed_over_most: int) -> Listed[Row]:
    """Rows of all cases where these are few, else of those that did not pass; `most` of either. Reads the cases once.

    `only`: statuses that are listed; empty: every one. Cases that were passed over are listed apart, unless they are asked for.
    """
    every: Listed[Row] = Listed()
    striking: Listed[Row] = Listed(only_not_passed=True, passed_over=every.passed_over)
    for case in _of_status(view.cases, only):
        if case.status == "passed_over" and not only:
            every.passed_over_count += 1
            if len(every.passed_over) < passed_over_most:
                every.passed_over.append((case.name, case.why))
            continue
        made: Row | None = None
        for listed in (every, striking) if needs_attention(case) else (every,):
            listed.wanted += 1
            if len(listed.rows) < most:
                made = row(case) if made is None else made
                listed.rows.append(made)
    striking.passed_over_count = every.passed_over_count
    # With some statuses asked for, the first cases of these are listed and no others.
    return every if only or every.wanted <= most else striking


def _of_status(cases: Iterable[CaseView], only: frozenset[str]) -> Iterator[CaseView]:
    """The cases of the statuses that are asked for."""
    return (case for case in cases if not only or case.status in only)


def not_read(view: View) -> list[tuple[str, str]]:
    """Where and what, of everything in the input that counts and got no score."""
    return [(problem.where, problem.what) for problem in view.problems if problem.kind != "passed_over"]


def passed_over(view: View) -> list[tuple[str, str]]:
    """Where and why, of what was passed over before it became a case."""
    return [(problem.where, problem.what) for problem in view.problems if problem.kind == "passed_over"]


def rate_of(view: View) -> str:
    """The pass rate with its interval, in one line; empty without a case that counts."""
    rate = view.pass_rate
    return "" if rate.interval is None else f"pass rate {percent(rate.share)} (95% interval {percent_span(rate.interval)})"


def span_of(figure: Figure) -> str:
    """The interval of a figure; empty where it has none."""
    return "" if figure.interval is None else number_span(figure.interval, figure.places)


def origin(view: View) -> str:
    """Suite, version, configuration and time of the report, in one line."""
    return f"suite {view.suite} {view.suite_version}, configuration {view.config_digest}, generated {view.generated_at}"
