"""A suite as data: what it scores, how it is run, how files are read for it, how it is reported and tried."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from pydantic import BaseModel

from touchstone.schemas.calibration import Basis
from touchstone.schemas.case import Case
from touchstone.schemas.reading import CaseReading
from touchstone.schemas.reports.suite import SuiteEvent
from touchstone.schemas.result import Problem, ScoreResult
from touchstone.scorers.base import AsksJudge, Check, ConfigError, Document, Found, NoSettings, Place, Samples, Scorer
from touchstone.scorers.reporting.concerns import by_concern, view_by_concern
from touchstone.scorers.reporting.plain_reading import plain_reading
from touchstone.scorers.reporting.report import RunFacts, SuiteReport, Tally, suite_event, suite_report, suite_verdict, suite_view
from touchstone.scorers.reporting.verdict import Gate, Verdict
from touchstone.scorers.reporting.view import CaseView, Column, Group, LayoutOptions, Table, View

#: Values that a one-line listing shows of a suite that names no columns.
COLUMNS_MAX = 4
#: Cases that wait for a judge at a time if the suite does not say how many: the last of them waits for the others' answers.
JUDGED_CASES_MAX = 200
#: Minutes within which the judge can be asked once about all of them, where its requests are limited: with a second request each, and the answers' own time,
#: the last one ends within `worker.score_timeout_s`.
JUDGED_MINUTES_MAX = 3
Execution = Literal["inline", "window", "processes"]


def _fingerprint(settings: BaseModel) -> Mapping[str, Any]:
    """All settings: by default every one of them changes scores."""
    return settings.model_dump(mode="json")


def _call(event_id: str, case_id: str | None) -> str:
    """The producer's own name of the case."""
    return case_id or event_id


def default_group(result: ScoreResult) -> Group | None:
    """Batch and concern from the result's attributes, else from its correlation; None without a batch."""
    concern, batch, size = (result.attributes.get(name) or result.correlation.get(name) for name in ("concern_id", "batch_id", "batch_size"))
    return Group.of(concern or result.suite, batch, size)


@dataclass(frozen=True, slots=True)
class Suite:
    """Everything that Touchstone knows of a suite. Importing one must stay cheap: heavy imports belong inside its functions.

    **What it is.** `topics`: roles of its input topics (`generations`, `traces`). `cases`: kind → model; records of another kind are
    skipped. `resolve(env, document)`: its settings, from the process environment and the parsed optional document (`document_name`, looked up
    in the working directory); raises `ConfigError`. `build(settings)`: its scorer; may take seconds, raises `ConfigError` or `Unavailable`.
    `fingerprint(settings)`: the part of the settings that changes scores, as JSON types; by default all of them. `requires`: module that
    `build` imports (`a|b`: one of them is enough) → extra that brings it. `title`: its name for people.

    **How it is run.** `notes(settings)`: how the settings work out on this machine (device, model), a line each, for the worker's log and `doctor`.
    `hands_on(settings)`: roles of the topics to which a worker's scorer, which is then a `HandsOn`, sends cases on; none by default.
    `execution`: `inline` scores cases in a row (each is processor work below a millisecond); `window` scores many together,
    so that the engines' batchers see them; `processes` scores files in a row, and with `--jobs` in several processes. `window_cases`: how many
    cases are scored at a time where the settings do not say. `judged`: that it can ask a judge; while it does, it is run as `window`.

    **How files are read.** Case JSON (a document, an array, JSON lines, `{"cases": […]}`) needs nothing. `read(document, settings)`: cases and problems
    of any other document; None if the suite does not recognise it. `complete(record, place)`: a record with what its folder and file say of it.
    `by_file`: its report has an entry per file, so that a repeated case counts again; else each event counts once.

    **How it is reported.** `columns`: the values of one-line listings and of the table of cases; `call(event_id, case_id)`: the name of a case in them.
    `overall`: the value that stands for a whole result, by which lists are sorted; by default the first column's.
    `tables(report)`: the suite's own tables, shown before the usual ones. `reading(case, result)`: how a case reads beside its result; the case is None
    if only the result is at hand. Without it, every suite has a plain reading. `with_references(case, result, settings)`: the case with what it only names,
    such as its gold, for its reading.
    `group(result)`: the batch that a result is reported in; `mixes_concerns`: whether one report may hold several concerns.
    `report(entries, facts)`: a report of results and problems; `verdict(report, gate)` and `view(report)`: the verdict on it, and its contents for display.
    `event_model`: a pydantic model of what report events carry of a batch; its `summary` names counts (see `suite_event`).
    `report_model`: a model, or any type that pydantic knows, of its JSON report, if it writes one of its own: `touchstone schemas` describes it,
    and an earlier report can be compared with. `reported_cases(document)`: the cases of such a JSON report, if the model is not the report itself.
    `layouts`: format → a layout that a specification fixes, as pieces of text.
    `report_type`: the type of its report events, by default `<name>:v<major>:result`. `metrics`: values in the order in which reports name
    them; `further_metrics(settings)`: values that depend on the settings, few enough for a metric each; `value_max`: what a value is divided by to be a
    share of 1.

    **How it is measured against people.** `judges(settings)`: judges of its own, each of which says pass (1) or fail (0) in the value of its name → what it
    decides by; `labels` stays empty. `only(settings, name)`: the settings with which no other of them is asked. `patient(case)`: what identifies the patient
    of a case, so that no patient is in two parts of a split; nothing if the case does not say.

    **How it is tried.** `samples()`, and `doctor(settings)`: what `touchstone doctor` looks at for it.
    """

    name: str
    version: str
    topics: tuple[str, ...]
    cases: Mapping[str, type[Case]]
    resolve: Callable[[Mapping[str, str], Mapping[str, Any] | None], BaseModel]
    build: Callable[[Any], Scorer[Any]]
    fingerprint: Callable[[Any], Mapping[str, Any]] = _fingerprint
    title: str | None = None
    document_name: str | None = None
    env_prefix: str | None = None
    requires: Mapping[str, str] = field(default_factory=dict)
    notes: Callable[[Any], Iterable[str]] | None = None
    hands_on: Callable[[Any], tuple[str, ...]] | None = None
    execution: Execution = "window"
    window_cases: int | None = None
    judged: AsksJudge | None = None
    read: Callable[[Document, Any], Iterable[Found | Problem] | None] | None = None
    complete: Callable[[dict[str, Any], Place], dict[str, Any]] | None = None
    by_file: bool = False
    columns: tuple[Column, ...] = ()
    tables: Callable[[SuiteReport], Iterable[Table]] | None = None
    reading: Callable[[Any, ScoreResult], CaseReading] | None = None
    with_references: Callable[[Any, ScoreResult, Any], Case] | None = None
    metrics: tuple[str, ...] = ()
    further_metrics: Callable[[Any], tuple[str, ...]] | None = None
    value_max: float = 1.0
    overall: str = ""
    call: Callable[[str, str | None], str] = _call
    mixes_concerns: bool = True
    group: Callable[[ScoreResult], Group | None] = default_group
    report: Callable[[Iterable[ScoreResult | Problem], RunFacts], Any] = suite_report
    verdict: Callable[[Any, Gate | None], Verdict] = suite_verdict
    view: Callable[[Any], View] = suite_view
    event_model: type[BaseModel] | None = None
    report_model: Any = None
    reported_cases: Callable[[Any], Iterable[CaseView]] | None = None
    layouts: Mapping[str, Callable[[Any, LayoutOptions], Iterable[str]]] = field(default_factory=dict)
    report_type: str = ""
    judges: Callable[[Any], Mapping[str, Basis]] | None = None
    only: Callable[[Any, str], Any] | None = None
    patient: Callable[[Any], tuple[str, ...]] | None = None
    samples: Callable[[], Samples] | None = None
    doctor: Callable[[Any], Iterable[Check]] | None = None

    def __post_init__(self) -> None:
        """Fill in the defaults that depend on other fields."""
        if not self.report_type:
            object.__setattr__(self, "report_type", f"{self.name}:v{self.version.partition('.')[0]}:result")

    @property
    def inline(self) -> bool:
        """True if cases are scored in a row, without a task for each."""
        return self.execution == "inline"

    def asks_judge(self, settings: Any) -> bool:
        """True if cases wait for a judge with these settings."""
        return self.judged is not None and self.judged.is_on(settings)

    def metrics_with(self, settings: Any) -> tuple[str, ...]:
        """The names of all values with these settings."""
        return self.metrics if self.further_metrics is None else (*self.metrics, *self.further_metrics(settings))

    def execution_with(self, settings: Any) -> Execution:
        """How cases are run with these settings: together where they wait for a judge, whatever is usual."""
        return "window" if self.asks_judge(settings) else self.execution

    def window_with(self, settings: Any) -> int | None:
        """How many cases are scored at a time with these settings; None if that is left to who runs them."""
        if self.judged is None or not self.judged.is_on(settings):
            return self.window_cases
        window, rate = self.window_cases or JUDGED_CASES_MAX, self.judged.per_minute(settings)
        return min(window, max(1, int(rate * JUDGED_MINUTES_MAX))) if rate else window

    def group_of(self, result: ScoreResult) -> Group | None:
        """The batch that a result is reported in."""
        return self.group(result)

    def event(self, tally: Tally | SuiteReport) -> dict[str, Any]:
        """What a report event carries of a batch."""
        return suite_event(tally, self.event_model or SuiteEvent)

    def shown_columns(self, values: Mapping[str, float]) -> tuple[Column, ...]:
        """The columns of listings; where the suite names none, its first few values."""
        return self.columns or tuple(Column(name, name, None) for name in list(values)[:COLUMNS_MAX])

    def overall_of(self, values: Mapping[str, float]) -> float | None:
        """How good a result is as a whole, from 0 to 1, the best; None if its values do not say, or no way is good."""
        name = self.overall or next((one.value for one in self.columns), "")
        better = next((one.better for one in self.columns if one.value == name), "higher")
        if name not in values or better is None:
            return None
        share = min(max(values[name] / self.value_max, 0.0), 1.0)
        return 1 - share if better == "lower" else share

    def case_name(self, result: ScoreResult) -> str:
        """The name of a case for people."""
        return self.call(result.event_id, result.case_id)

    def reading_of(self, case: Case | None, result: ScoreResult) -> CaseReading:
        """How a case reads beside its result; `case` is None if only the result is at hand."""
        if self.reading is not None:
            return self.reading(case, result)
        return plain_reading(case, result, self.case_name(result), self.value_max)

    def over_concerns(self) -> Self:
        """The suite with a report that may hold several concerns, for one whose own report may not: every case, and a row for each concern."""
        return replace(
            self,
            report=suite_report,
            verdict=suite_verdict,
            view=view_by_concern,
            tables=by_concern,
            mixes_concerns=True,
            layouts={},
            report_model=None,
            reported_cases=None,
        )


def _unconfigured(*_: Any) -> BaseModel:
    return NoSettings()


def _unbuildable(_: Any) -> Scorer[Any]:
    raise ConfigError("this suite is not installed; install its package")


def unknown_suite(name: str, version: str) -> Suite:
    """A stand-in for a suite that is not installed here: its results are shown like those of any suite, and it scores nothing."""
    return Suite(name, version, topics=(), cases={}, resolve=_unconfigured, build=_unbuildable)
