"""The interfaces of scorers and suites."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel

from touchstone.schemas.case import Case
from touchstone.schemas.result import Problem, Scorecard, ScoreResult
from touchstone.scorers.reporting.report import RunFacts, suite_event, suite_report, suite_verdict, suite_view
from touchstone.scorers.reporting.verdict import Gate, Verdict
from touchstone.scorers.reporting.view import CaseView, Column, Group, LayoutOptions, View

#: Values that a one-line listing shows of a suite that names no columns.
COLUMNS_MAX = 4
#: Cases that wait for a judge at a time where a suite does not say how many: the last of them waits for the others' answers.
JUDGED_CASES_MAX = 200
Execution = Literal["inline", "window", "processes"]


class Unavailable(Exception):
    """Something outside the scorer (a model, a service) does not work now: nothing is acknowledged, and the caller backs off and asks again.

    `code` is a stable short name, fit for a metric label; the exception never carries payload text. `card`: what the case comes to without it, for those who
    cannot wait, as with files; a worker waits all the same. Without one such a case is unscored.
    """

    def __init__(self, code: str, card: Scorecard | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.card = card


class Lost(Unavailable):
    """Unavailable for good in this process (an inference thread that keeps dying, a failed device): the worker ends, and its successor replays."""


class Shed(Exception):
    """A scorer puts a case aside: the event has the outcome `shed(reason)`, no result, and can be scored later. `reason`: a stable short name.

    `again_in_s`: after how long it can be; None where that is not known. `card`: as in `Unavailable`; with files nothing is put aside.
    """

    def __init__(self, reason: str, again_in_s: float | None = None, card: Scorecard | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.again_in_s = again_in_s
        self.card = card


class ConfigError(Exception):
    """The user's configuration cannot be used; the message says what, where and how to fix it."""


CaseT_contra = TypeVar("CaseT_contra", bound=Case, contravariant=True)


class Scorer(Protocol[CaseT_contra]):
    """One specification that scores one case at a time."""

    @property
    def name(self) -> str:
        """Stable id, used in results, metrics and the entry point."""
        ...

    @property
    def version(self) -> str:
        """Raised when old and new scores stop being comparable."""
        ...

    async def score(self, case: CaseT_contra) -> Scorecard:
        """Score one case. Raises `Unavailable`; anything else it raises is its own defect and becomes a `Failure`."""
        ...


@dataclass(frozen=True, slots=True)
class FollowUp:
    """An event that a slower stage is to score next. `role`: of the topic that it goes to, one of `Suite.hands_on`; `record`: the event, as JSON types."""

    role: str
    record: Mapping[str, Any]


@runtime_checkable
class HandsOn(Protocol):
    """A scorer that hands cases on to a slower stage, by an event on that stage's topic."""

    async def follow_up(self, case: Any, event_id: str, card: Scorecard) -> FollowUp | Sequence[FollowUp] | None:
        """The event for the next stage, or one for each of several; None where the case ends here. The same for a replay of the same event.

        `card`: what `score` said of the case. The source's offset is committed only after the broker has these events; one that is sent twice has the same id.
        """
        ...


@dataclass(frozen=True, slots=True)
class Reading:
    """One number that a scorer's engine counts, as Prometheus defines it but without its library.

    `name`: without prefix and without `_total`, unit last. `buckets`: for a histogram, (upper bound, how many up to it) in
    ascending order, the last bound infinite; `value` is then the sum of what was observed.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    value: float
    labels: tuple[tuple[str, str], ...] = ()
    buckets: tuple[tuple[float, int], ...] = ()


@runtime_checkable
class Measured(Protocol):
    """A scorer that has readings of its own."""

    def readings(self) -> Iterable[Reading]:
        """Its current readings; called from any thread."""
        ...


@runtime_checkable
class Warmed(Protocol):
    """A scorer that loads something on first use, so that it can be loaded before the first case of a stream."""

    def warm(self) -> None:
        """Load it now."""
        ...


@runtime_checkable
class Closeable(Protocol):
    """A scorer that holds resources."""

    async def close(self) -> None:
        """Finish what is in flight and release the resources."""
        ...


class NoSettings(BaseModel):
    """Settings of a suite that has nothing to configure."""


@dataclass(frozen=True, slots=True)
class Document:
    """A file whose content is not case JSON, for a suite to read. `named`: on the command line, not found in a folder.

    `data`: the whole file, unpacked, within the bounds of input. `file`: its name as it was given; `-` for standard input. `is_cut`: the file is
    beyond the bounds, and `data` its beginning; the `kind` and `format` of the first problem then identify it, and it yields no case.
    """

    file: str
    data: bytes
    named: bool = True
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A case inside a document, as an event would carry it. `place`: inside the document; empty where the document is the case."""

    record: Mapping[str, Any]
    place: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """The names of a case's folder and file, which fill in what the case itself does not name."""

    folder: str | None = None
    name: str | None = None
    #: The folder is the concern by rule (`--data`), so a case that names another is an error.
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """One finding of `touchstone doctor`. `bad` must be fixed; `note` is information, and nothing fails for it. `mend`: what to do."""

    area: str
    state: Literal["good", "note", "bad"]
    what: str
    mend: str = ""


@dataclass(frozen=True, slots=True)
class Samples:
    """Cases written for the suite, to try it with.

    `paths`: files or folders, as a producer would send them. `env`: settings that show more of them (they are invented). `unexpected(results)`:
    which results are not what the samples were written for, a line each. `tolerance`: how far a value may differ between two runs.
    `requires`: module → extra, that these samples need although the suite runs without it.
    """

    paths: tuple[Path, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    unexpected: Callable[[Sequence[ScoreResult]], list[str]] = lambda _: []
    tolerance: float = 0.0
    requires: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AsksJudge:
    """How a suite asks a language model, and how that can be tried without one.

    `is_on(settings)`: whether it asks under these settings. `env`: variables with which it does; `env_of_all`: those that, besides, take away its cascade, so
    that it asks about every case and every part of one. `samples()`: cases to try it with. `answer(said)`: what a careful reader would answer to the user's
    part of a request about one of these, in the form of the verdict.
    """

    is_on: Callable[[Any], bool]
    env: Mapping[str, str]
    env_of_all: Mapping[str, str]
    samples: Callable[[], Samples]
    answer: Callable[[str], Mapping[str, Any]]


def _fingerprint(settings: BaseModel) -> Mapping[str, Any]:
    """All settings: by default every one of them changes scores."""
    return settings.model_dump(mode="json")


def _call(event_id: str, case_id: str | None) -> str:
    """The producer's own name of the case."""
    return case_id or event_id


def default_group(result: ScoreResult) -> Group | None:
    """Batch and concern from the result's attributes, else from its correlation; None without a batch."""
    batch = result.attributes.get("batch_id") or result.correlation.get("batch_id")
    if not isinstance(batch, str):
        return None
    concern = result.attributes.get("concern_id") or result.correlation.get("concern_id")
    size = result.attributes.get("batch_size") or result.correlation.get("batch_size")
    return Group(str(concern or result.suite), batch, int(size) if isinstance(size, int | str) and str(size).isdecimal() and len(str(size)) <= 18 else None)


@dataclass(frozen=True, slots=True)
class Suite:
    """Everything that Touchstone knows of a suite. Importing one must stay cheap: heavy imports belong inside its functions.

    **What it is.** `topics`: roles of its input topics (`generations`, `traces`). `cases`: kind → model; records of another kind are
    skipped. `resolve(env, document)`: its settings, from the process environment and the parsed optional document (`document_name`, looked up
    in the working directory); raises `ConfigError`. `build(settings)`: its scorer; may take seconds, raises `ConfigError` or `Unavailable`.
    `fingerprint(settings)`: the part of the settings that changes scores, as JSON types; by default all of them. `requires`: module that
    `build` imports (`a|b`: one of them is enough) → extra that brings it. `title`: its name for people.

    **How it is run.** `notes(settings)`: what the settings come to on this machine, a line each, for the worker's log and `doctor`.
    `hands_on(settings)`: roles of the topics to which a worker's scorer, which is then a `HandsOn`, sends cases on; none by default.
    `execution`: `inline` scores cases in a row (each is processor work below a millisecond); `window` scores many together,
    so that the engines' batchers see them; `processes` scores files in a row, and with `--jobs` in several processes. `window_cases`: how many
    cases are scored at a time where the settings do not say. `judged`: that it can ask a judge; while it does, it is run as `window`.

    **How files are read.** Case JSON (a document, an array, JSON lines, `{"cases": […]}`) needs nothing. `read(document, settings)`: cases and problems
    of any other document; None where the suite does not recognise it. `complete(record, place)`: a record with what its folder and file say of it.
    `by_file`: its report has an entry per file, so that a repeated case counts again; else each event counts once.

    **How it is reported.** `columns`: the values of one-line listings; `call(event_id, case_id)`: the name of a case in them.
    `group(result)`: the batch that a result is reported in; `mixes_concerns`: whether one report may hold several concerns.
    `report(entries, facts)`: a report of results and problems; `verdict(report, gate)` and `view(report)`: the verdict on it, and its contents for display.
    `event(tally)`: what a report event carries of a batch, from a `Tally` or a report, which both have its labels and means.
    `event_model`: a pydantic model of that; `report_model`: a model, or any type that pydantic knows, of its JSON report where that is its own: with
    them programs are told what to expect (`touchstone schemas`), and an earlier report can be compared with.
    `reported_cases(document)`: the cases of such a JSON report, as the view has them, where its model is not the report itself.
    `layouts`: format → a layout that a specification fixes, as pieces of text.
    `report_type`: the type of its report events, by default `<name>:v<major>:result`. `metrics`: values in the order in which reports name
    them; `value_max`: what a value is divided by to be a share of 1.

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
    metrics: tuple[str, ...] = ()
    value_max: float = 1.0
    call: Callable[[str, str | None], str] = _call
    mixes_concerns: bool = True
    group: Callable[[ScoreResult], Group | None] = default_group
    report: Callable[[Iterable[ScoreResult | Problem], RunFacts], Any] = suite_report
    verdict: Callable[[Any, Gate | None], Verdict] = suite_verdict
    view: Callable[[Any], View] = suite_view
    event: Callable[[Any], Mapping[str, Any]] = suite_event
    event_model: type[BaseModel] | None = None
    report_model: Any = None
    reported_cases: Callable[[Any], Iterable[CaseView]] | None = None
    layouts: Mapping[str, Callable[[Any, LayoutOptions], Iterable[str]]] = field(default_factory=dict)
    report_type: str = ""
    samples: Callable[[], Samples] | None = None
    doctor: Callable[[Any], Iterable[Check]] | None = None

    def __post_init__(self) -> None:
        """Fill in the defaults that depend on other fields."""
        if not self.report_type:
            object.__setattr__(self, "report_type", f"{self.name}:v{self.version.partition('.')[0]}:result")

    @property
    def inline(self) -> bool:
        """Whether cases are scored in a row, without a task for each."""
        return self.execution == "inline"

    def asks_judge(self, settings: Any) -> bool:
        """Whether cases wait for a judge with these settings."""
        return self.judged is not None and self.judged.is_on(settings)

    def execution_with(self, settings: Any) -> Execution:
        """How cases are run with these settings: together where they wait for a judge, whatever is usual."""
        return "window" if self.asks_judge(settings) else self.execution

    def window_with(self, settings: Any) -> int | None:
        """How many cases are scored at a time with these settings; None where that is left to who runs them."""
        return self.window_cases or (JUDGED_CASES_MAX if self.asks_judge(settings) else None)

    def group_of(self, result: ScoreResult) -> Group | None:
        """The batch that a result is reported in."""
        return self.group(result)

    def shown_columns(self, values: Mapping[str, float]) -> tuple[Column, ...]:
        """The columns of listings; where the suite names none, its first few values."""
        return self.columns or tuple(Column(name, name, None) for name in list(values)[:COLUMNS_MAX])

    def case_name(self, result: ScoreResult) -> str:
        """The name of a case for people."""
        return self.call(result.event_id, result.case_id)


def _unconfigured(*_: Any) -> BaseModel:
    return NoSettings()


def _unbuildable(_: Any) -> Scorer[Any]:
    raise ConfigError("this suite is not installed; install its package")


def unknown_suite(name: str, version: str) -> Suite:
    """A stand-in for a suite that is not installed here: its results are shown like those of any suite, and it scores nothing."""
    return Suite(name, version, topics=(), cases={}, resolve=_unconfigured, build=_unbuildable)
