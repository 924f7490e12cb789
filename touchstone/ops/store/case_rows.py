"""Objects that the history of cases is made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from touchstone.ops.store.rows import from_micros, to_micros
from touchstone.streams.account.projection import Position, ResultRow

#: `source_expired`: Kafka had deleted the event, or its topic was made anew. `removed`: retention removed the object. `forgotten`: somebody asked for it.
CaseState = Literal["kept", "source_expired", "too_large", "unreadable", "removed", "forgotten"]
STATES: Final[tuple[CaseState, ...]] = ("kept", "source_expired", "too_large", "unreadable", "removed", "forgotten")
Rating = Literal["up", "down"]
_MOMENTS: Final = ("at", "kept_at")


@dataclass(frozen=True, slots=True)
class CaseRow:
    """What the archive holds of an event, or why it does not. `at`: when the event was scored or produced. `bytes`: size of the event."""

    event_id: str
    kind: str
    at: datetime
    kept_at: datetime
    case_id: str = ""
    trace_id: str = ""
    source: str = ""
    path: str = ""
    bytes: int = 0
    state: CaseState = "kept"
    topic: str = ""
    topic_id: str = ""
    partition: int = -1
    offset: int = -1


def columns_of_case(row: CaseRow) -> dict[str, Any]:
    """The row as the columns of its table."""
    values = {name: getattr(row, name) for name in CaseRow.__dataclass_fields__}
    return values | {name: to_micros(values[name]) for name in _MOMENTS}


def case_of(row: Any) -> CaseRow:
    """A row of the table."""
    values = {name: getattr(row, name) for name in CaseRow.__dataclass_fields__}
    return CaseRow(**values | {name: from_micros(values[name]) for name in _MOMENTS})


@dataclass(frozen=True, slots=True)
class ListedCase:
    """One result in a list. `overall`: how good it is, from 0 to 1.

    `kept`: the archive's row of its event, if there is one. `matched`: which of id and codes holds the text searched for.
    """

    result_id: str
    event_id: str
    case_id: str
    kind: str
    suite: str
    suite_version: str
    config_digest: str
    label: str
    values: dict[str, float]
    codes: tuple[str, ...]
    severity: str
    findings_total: int
    failures_total: int
    concern_id: str
    batch_id: str
    model: str
    at: datetime
    place: Position
    overall: float | None = None
    kept: CaseRow | None = None
    feedback: Rating | None = None
    annotations_total: int = 0
    matched: str = ""

    @property
    def source(self) -> str:
        """Where the event comes from: `production`, `eval`, `other`; empty if the archive does not know it."""
        return self.kept.source if self.kept else ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a list. `next`: cursor of the next one; None on the last. `total`: of all pages; None above a bound, then `total_at_least`."""

    rows: tuple[ListedCase, ...]
    next: str | None
    total: int | None
    total_at_least: int


@dataclass(frozen=True, slots=True)
class FacetValue:
    """How many results have a value, and how many of each label."""

    value: str
    count: int
    labels: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Annotation:
    """What a reviewer wrote about a case. `body`: JSON."""

    event_id: str
    revision: int
    id: str
    trace_id: str
    reviewer: str
    review_pass: int
    at: datetime
    body: Mapping[str, Any]

    @property
    def queue(self) -> str:
        """The queue that it was written in; empty if it was in none."""
        return str(self.body.get("queue") or "")

    @property
    def suite(self) -> str | None:
        """The suite whose result was judged; None for the case as a whole."""
        return str(self.body["suite"]) if self.body.get("suite") else None

    @property
    def settled(self) -> bool:
        """True if it decides after reviewers disagreed."""
        return self.body.get("settled") is True

    @property
    def withdrawn(self) -> bool:
        """True if the reviewer took back what was said before."""
        return self.body.get("withdrawn") is True


@dataclass(frozen=True, slots=True)
class Feedback:
    """A thumb from an application."""

    id: str
    rating: Rating
    at: datetime


@dataclass(frozen=True, slots=True)
class CaseHistory:
    """Everything that the store has of an event. `results`: newest first; `results_total` counts those beyond the limit, too.

    `others`: further events with the same trace id. `revision`: of its annotations, 0 without any.
    """

    event_id: str
    results: tuple[ResultRow, ...]
    results_total: int
    kept: CaseRow | None
    annotations: tuple[Annotation, ...] = ()
    feedback: Feedback | None = None
    others: tuple[str, ...] = field(default=())

    @property
    def revision(self) -> int:
        """The revision of the annotations, 0 without any."""
        return self.annotations[-1].revision if self.annotations else 0


@dataclass(frozen=True, slots=True)
class Run:
    """Results that were scored alike: of one batch, or all of them. `run`: its name in an address."""

    run: str
    suite: str
    suite_version: str
    config_digest: str
    concern_id: str
    batch_id: str
    total: int
    labels: Mapping[str, int]
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class ValueShift:
    """The means of one value over the cases that have it in both runs. `low`, `high`: 95 % interval of the difference. `changed`: cases that differ."""

    name: str
    before: float
    now: float
    difference: float
    low: float | None
    high: float | None
    pairs: int
    changed: int


@dataclass(frozen=True, slots=True)
class CodeShift:
    """How many results of either run have a code."""

    code: str
    before: int
    now: int


@dataclass(frozen=True, slots=True)
class ChangedCase:
    """A case whose label changed. The event ids differ if the runs were paired by case ids."""

    event_id: str
    case_id: str
    result_id: str
    event_before: str
    result_before: str
    label_before: str
    label: str


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs side by side. `by`: the id that pairs their cases. `labels`: (label before, label now) → cases, of all `pairs`.

    `cases`: a page of those whose label changed.
    """

    before: Run
    now: Run
    by: str
    pairs: int
    labels: Mapping[tuple[str, str], int]
    values: tuple[ValueShift, ...]
    codes: tuple[CodeShift, ...]
    cases: tuple[ChangedCase, ...]
    next: str | None
