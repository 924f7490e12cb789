"""The default report of a suite: labels, means, findings by code, and the results themselves.

Nothing but results (and what could not be read) goes into a report, so it is the same from files, from a store and from Python.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol, get_args

from pydantic import BaseModel

from touchstone.schemas.reports.fields import utc_text
from touchstone.schemas.reports.intervals import Interval, Intervals
from touchstone.schemas.reports.suite import SuiteEvent
from touchstone.schemas.result import Label, Problem, ScoreResult
from touchstone.scorers.reporting.intervals import Rate, mean_intervals
from touchstone.scorers.reporting.verdict import Gate, Verdict, verdict_by_labels
from touchstone.scorers.reporting.view import STATUSES, CaseView, Column, Distribution, Figure, Group, Reiterable, Table, View
from touchstone.scorers.reporting.words import counted, number, number_span, some

Entry = ScoreResult | Problem
#: Bins of a distribution.
BINS = 20
#: Rows of the table of findings by code.
CODES_MAX = 20
#: Unreadable inputs that a report lists; all are counted.
PROBLEMS_MAX = 1_000
_LABELS: tuple[Label, ...] = get_args(Label)


class ReportedSuite(Protocol):
    """The part of a suite that reports read; `touchstone.scorers.suite.Suite` documents each member."""

    @property
    def name(self) -> str: ...  # noqa: D102 -- see the class
    @property
    def version(self) -> str: ...  # noqa: D102
    @property
    def title(self) -> str | None: ...  # noqa: D102
    @property
    def metrics(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def value_max(self) -> float: ...  # noqa: D102
    @property
    def tables(self) -> Callable[[SuiteReport], Iterable[Table]] | None: ...  # noqa: D102
    def group_of(self, result: ScoreResult) -> Group | None: ...  # noqa: D102
    def shown_columns(self, values: Mapping[str, float]) -> tuple[Column, ...]: ...  # noqa: D102
    def case_name(self, result: ScoreResult) -> str: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Facts that a report needs besides the results: what scored them, when, and what was requested.

    `settings`: the suite's, as far as they are known here. `configuration`: the settings behind `config_digest`, if known.
    `asked`: the caller's choices by name (`concern_id`, `batch_id` or a pattern of it, `worst`). `repeated`: repeated events that were
    counted once. `duration_s`: of the run.
    """

    suite: ReportedSuite
    settings: Any
    config_digest: str
    generated_at: datetime
    suite_version: str = ""
    configuration: Mapping[str, Any] = field(default_factory=dict)
    asked: Mapping[str, Any] = field(default_factory=dict)
    repeated: int = 0
    duration_s: float = 0.0
    noun: str = "case"

    @property
    def version(self) -> str:
        """The version that scored: from the results, else the one installed here."""
        return self.suite_version or self.suite.version


@dataclass(slots=True)
class LabelCounts:
    """How many cases have each label; every label is present, at zero if need be."""

    counts: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(_LABELS, 0)))

    def add(self, label: str) -> None:
        """Count one case."""
        self.counts[label] += 1

    @property
    def passed(self) -> int:
        """Pass."""
        return self.counts["Pass"]

    @property
    def review(self) -> int:
        """Review and Warn: neither passed nor failed."""
        return self.counts["Review"] + self.counts["Warn"]

    @property
    def failed(self) -> int:
        """Fail."""
        return self.counts["Fail"]

    @property
    def unscored(self) -> int:
        """Cases that could not be scored."""
        return self.counts["unscored"]

    @property
    def scored(self) -> int:
        """All others."""
        return self.passed + self.review + self.failed

    @property
    def rate(self) -> Rate:
        """Pass among the scored."""
        return Rate(self.passed, self.scored)

    @property
    def pass_rate(self) -> float:
        """Share of Pass among the scored; 0 of none."""
        return self.rate.share


@dataclass(frozen=True, slots=True)
class SuiteReport:
    """A batch of any suite. `means`: value → mean over the cases that have it. `codes`: finding's or failure's code → cases.

    `mean_intervals`: value → the 95 % interval of its mean, if there is one. `incomplete`: code of a part's failure → cases scored without that part.
    `entries` can be read again and again; it is never held as a whole.
    """

    facts: RunFacts
    labels: LabelCounts
    means: Mapping[str, float]
    counts: Mapping[str, int]
    distributions: tuple[Distribution, ...]
    codes: Mapping[str, int]
    unscored: Mapping[str, int]
    problems: tuple[Problem, ...]
    problem_count: int
    passed_over: int
    models: Mapping[str, str]
    latest: datetime | None
    concern_id: str
    batch_id: str
    entries: Iterable[Entry]
    mean_intervals: Mapping[str, Interval] = field(default_factory=dict)
    incomplete: Mapping[str, int] = field(default_factory=dict)

    @property
    def intervals(self) -> Intervals:
        """The 95 % intervals of the pass rate and of the means."""
        return Intervals(pass_rate=self.labels.rate.interval, means=dict(self.mean_intervals))

    @property
    def results(self) -> Iterator[ScoreResult]:
        """The results alone."""
        return (entry for entry in self.entries if isinstance(entry, ScoreResult))


def suite_report(entries: Iterable[Entry], facts: RunFacts) -> SuiteReport:
    """Count a batch. Equal entries in any order give equal figures: means are exactly rounded sums."""
    labels, codes, unscored, incomplete = LabelCounts(), Counter[str](), Counter[str](), Counter[str]()
    values: dict[str, array[float]] = {}
    problems: list[Problem] = []
    problem_count = passed_over = 0
    models: dict[str, str] = {}
    latest: datetime | None = None
    named: set[tuple[str, str]] = set()
    for entry in entries:
        if isinstance(entry, Problem):
            passed_over += entry.kind == "passed_over"
            problem_count += entry.kind != "passed_over"
            if len(problems) < PROBLEMS_MAX:
                problems.append(entry)
            continue
        labels.add(entry.label)
        for name, value in entry.values.items():
            values.setdefault(name, array("d")).append(value)
        codes.update({finding.code for finding in entry.findings if finding.severity != "info"})
        if entry.label == "unscored":
            unscored.update(_why_unscored(entry) or ["no reason given"])
        else:
            incomplete.update({failure.code for failure in entry.failures})
        models.update(entry.models)
        latest = entry.scored_at if latest is None else max(latest, entry.scored_at)
        if (group := facts.suite.group_of(entry)) is not None:
            named.add((group.concern_id, group.batch_id))
    ordered = [name for name in facts.suite.metrics if name in values] + sorted(values.keys() - set(facts.suite.metrics))
    return SuiteReport(
        facts=facts,
        labels=labels,
        means={name: math.fsum(values[name]) / len(values[name]) for name in ordered},
        counts={name: len(values[name]) for name in ordered},
        distributions=tuple(distribution(name, values[name], facts.suite.value_max) for name in ordered),
        codes=_by_count(codes),
        unscored=_by_count(unscored),
        problems=tuple(problems),
        problem_count=problem_count,
        passed_over=passed_over,
        models=models,
        latest=latest,
        concern_id=shared_name({concern for concern, _ in named}, facts.asked.get("concern_id")),
        batch_id=shared_name({batch for _, batch in named}, facts.asked.get("batch_id")),
        entries=entries,
        mean_intervals=mean_intervals({name: values[name] for name in ordered}),
        incomplete=_by_count(incomplete),
    )


def _by_count(codes: Counter[str]) -> dict[str, int]:
    """The most frequent first, equals by name: the same for every order of the entries."""
    return dict(sorted(codes.items(), key=lambda item: (-item[1], item[0])))


def shared_name(names: set[str], asked: Any) -> str:
    """The name that all cases share; otherwise the requested one."""
    return next(iter(names)) if len(names) == 1 else str(asked or "")


def distribution(name: str, values: Iterable[float], value_max: float) -> Distribution:
    """Values in equal bins from 0 to the suite's greatest value; where some lie outside, between the least and the greatest."""
    numbers = list(values)
    low, high = min([0.0, *numbers]), max([value_max, *numbers])
    counts = [0] * BINS
    # Divided before they are subtracted: the range of two finite values may be infinite.
    width = high / BINS - low / BINS or 1.0
    for value in numbers:
        counts[min(BINS - 1, max(0, int(value / width - low / width)))] += 1
    ordered = sorted(numbers)
    # Halved before they are added: the sum of two finite values may be infinite.
    middle = ordered[(len(ordered) - 1) // 2] / 2 + ordered[len(ordered) // 2] / 2 if ordered else None
    return Distribution(name, low, high, tuple(counts), middle)


def suite_verdict(report: SuiteReport, gate: Gate | None = None) -> Verdict:
    """The default verdict on a batch."""
    labels = report.labels
    why = ", ".join(f"{code} {count}" for code, count in report.unscored.items())
    return verdict_by_labels(
        passed=labels.passed,
        review=labels.review,
        failed=labels.failed,
        unscored=labels.unscored,
        problems=report.problem_count,
        noun=report.facts.noun,
        gate=gate,
        unscored_why=why,
        incomplete=report.incomplete,
    )


@dataclass(frozen=True, slots=True)
class Tally:
    """Running totals of a batch: labels, and means over the cases that have the value. It takes no memory per case."""

    labels: LabelCounts
    means: Mapping[str, float]


def suite_event(tally: Tally | SuiteReport, model: type[BaseModel] = SuiteEvent) -> dict[str, Any]:
    """The content of a report event: the counts that the model's `summary` names, and the means (SAFE v0 §8.2).

    A model without `warn` has Warn among `review`.
    """
    labels = tally.labels
    names = [field.alias or name for name, field in model.model_fields["summary"].annotation.model_fields.items()]  # type: ignore[union-attr]
    counts = {
        "total_cases": labels.scored,
        "pass": labels.passed,
        "warn": labels.counts["Warn"],
        "review": labels.counts["Review"] if "warn" in names else labels.review,
        "fail": labels.failed,
        "unscored": labels.unscored,
        "overall_pass_rate": labels.pass_rate,
    }
    return {"summary": {name: counts[name] for name in names}, "mean_scores": dict(tally.means)}


def suite_view(report: SuiteReport) -> View:
    """The default view of a report."""
    suite, facts, labels = report.facts.suite, report.facts, report.labels
    columns = suite.shown_columns(report.means)
    better = {column.value: column.better for column in columns}
    spans = {name: number_span(interval) for name, interval in report.mean_intervals.items()}
    rows = [(name, number(mean), spans.get(name, ""), str(report.counts[name]), better.get(name) or "") for name, mean in report.means.items()]
    named = " ".join(filter(None, (report.concern_id, report.batch_id)))
    return View(
        title=f"{suite.title or suite.name}{f': {named}' if named else ''}",
        suite=suite.name,
        suite_version=facts.version,
        config_digest=facts.config_digest,
        generated_at=utc_text(facts.generated_at),
        noun=facts.noun,
        total=labels.scored + labels.unscored,
        labels={label: count for label, count in labels.counts.items() if count or label in {"Pass", "Review", "Fail"}},
        counts=f"{counted(labels.scored + labels.unscored, facts.noun)}, {labels.scored} scored",
        facts=tuple(f"{role}: {model}" for role, model in report.models.items()),
        figures=tuple(_figure(column, report) for column in columns),
        tables=tuple(
            table
            for table in (
                *(suite.tables(report) if suite.tables is not None else ()),
                Table("Values", ("Value", "Mean", "95% interval", "Cases", "Better"), rows, frozenset({1, 2, 3})),
                Table("Findings", ("Code", "Cases"), [(code, str(count)) for code, count in list(report.codes.items())[:CODES_MAX]], frozenset({1})),
                Table("Not scored", ("Reason", "Cases"), [(code, str(count)) for code, count in report.unscored.items()], frozenset({1})),
            )
            if table.rows
        ),
        distributions=report.distributions,
        case_columns=("Case", "Label", *(column.heading for column in columns), "Why"),
        numeric_columns=frozenset(range(2, 2 + len(columns))),
        cases=Reiterable(lambda: (case_view(result, suite) for result in report.results)),
        problems=report.problems,
    )


def _figure(column: Column, report: SuiteReport) -> Figure:
    """The mean of a column's value."""
    text = number(report.means.get(column.value), column.places)
    return Figure(column.heading, text, interval=report.mean_intervals.get(column.value), places=column.places)


_WHY_MAX = 3


def unread(where: str, what: str) -> Problem:
    """A case that could not be read, from an entry of an earlier report."""
    return Problem.model_validate({"source": {"file": where}, "what": what})


def _why_unscored(result: ScoreResult) -> list[str]:
    """Codes of what failed; where nothing did, of the findings of severity info, which then say why nobody was asked."""
    return list(dict.fromkeys([one.code for one in result.failures] or [one.code for one in result.findings if one.severity == "info"]))


def case_view(result: ScoreResult, suite: ReportedSuite) -> CaseView:
    """One result as every format shows it."""
    columns = suite.shown_columns(result.values)
    codes = _why_unscored(result) if result.label == "unscored" else [failure.code for failure in result.failures]
    codes = codes or list(dict.fromkeys(one.code for one in result.findings if one.severity != "info"))
    why = some(codes, _WHY_MAX)
    name = suite.case_name(result)
    scores = [number(result.values.get(column.value), column.places) for column in columns]
    return CaseView(
        name=name,
        label=result.label,
        status=STATUSES[result.label],
        class_name=suite.name,
        cells=(name, result.label, *scores, why),
        summary=", ".join(f"{column.heading} {score}" for column, score in zip(columns, scores, strict=True) if column.value in result.values),
        why=why,
        ids=tuple(filter(None, (result.case_id, result.event_id))),
        values=result.values,
        findings=result.findings,
        duration_s=sum(result.duration_ms.values()) / 1000,
    )


def now() -> datetime:
    """This moment, in UTC."""
    return datetime.now(UTC)
