"""Models of the JSON responses. The OpenAPI document is made from them, and tests compare the responses with them."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Answer(BaseModel):
    """A JSON response."""

    model_config = ConfigDict(extra="forbid")


class Error(Answer):
    """What is wrong and how to fix it, in one line."""

    error: str


class Ticket(Answer):
    """A ticket for one stream of a browser: `?ticket=`."""

    ticket: str
    expires_in_s: float


class Finding(Answer):
    """A finding without its text, which is in the result itself."""

    severity: str
    code: str
    path: str


class Failure(Answer):
    """A component that could not be scored."""

    component: str
    kind: str
    code: str


class Result(Answer):
    """A result in short. `name`: of the case. `at`: when it reached its topic."""

    result_id: str
    event_id: str | None
    case_id: str | None
    name: str
    suite: str
    label: str
    values: dict[str, float]
    findings: list[Finding] = Field(description="the first 20 of `findings_total`")
    findings_total: int
    failures: list[Failure]
    concern_id: str | None
    batch_id: str | None
    at: str


class Results(Answer):
    """The worst of the latest results, worst first; equal ones by time."""

    results: list[Result]


class Position(Answer):
    """A position on a topic."""

    topic: str
    partition: int
    offset: int


class OneResult(Result):
    """A result with its event. `position`: of the result. `source`: of the scored event. `replay`: a command that scores that event again."""

    event: dict[str, Any] = Field(description="the result event, as on its topic")
    position: Position
    source: dict[str, Any] | None
    replay: str | None


class Batch(Answer):
    """The latest report of a batch."""

    report_id: str
    suite: str | None
    type: str
    concern_id: str
    batch_id: str
    at: str
    report: dict[str, Any] = Field(description="the report event, as on its topic")


class Batches(Answer):
    """The batches with the latest reports, latest first."""

    batches: list[Batch]


class OneBatch(Batch):
    """A batch with its latest reports, latest first."""

    reports: list[Batch]


class Component(Answer):
    """One value of a suite's results. `better`: higher, lower, or neither. `listed`: whether short listings show it."""

    name: str
    heading: str
    better: str | None
    low: float
    high: float
    places: int
    listed: bool


class Suite(Answer):
    """The description of a suite. `named_by`: the id that names its cases. `concerns`: of its latest results."""

    name: str
    version: str
    title: str
    installed: bool
    kinds: list[str]
    report_type: str
    named_by: str | None
    components: list[Component]
    concerns: list[str]


class Suites(Answer):
    """Every suite that is installed here, or has results."""

    suites: list[Suite]


class Value(Component):
    """One value over the last minutes. `bins`: counts in about equal bins between neighbours of `edges`; the last bin has its upper edge too.

    `quantiles`: p05 to p95.
    """

    count: int
    mean: float
    edges: list[float]
    bins: list[int]
    quantiles: dict[str, float]


class Count(Answer):
    """How often a code occurs."""

    code: str
    count: int


class Change(Answer):
    """A suite began to score with another version or configuration: values before and after it measure different things."""

    at: str
    suite_version: str
    config_digest: str


class WithoutResult(Answer):
    """Events that ended without a result."""

    outcome: str
    reason: str
    count: int


class Ended(Answer):
    """Offsets in a row whose events ended without a result, from `first` to `last`. `at`: when the ledger was told."""

    at: str
    suite: str
    outcome: str
    reason: str
    topic: str
    partition: int
    first: int
    last: int


class Outcomes(Answer):
    """Where events ended without a result, the latest first; without those that were skipped. `events`: how many there are; the list may have fewer."""

    events: int
    outcomes: list[Ended]


class Lag(Answer):
    """Events without an outcome yet. `records` is null if the suite's consumer group has committed nothing."""

    records: int | None
    group: str


class SuiteSummary(Answer):
    """One suite over the last minutes. `pass_rate`: of the scored. `per_second`: results of the last minute. `minutes`: label → count, minute by minute."""

    suite: str
    version: str
    title: str
    total: int
    labels: dict[str, int]
    pass_rate: float | None
    per_second: float
    last_result_at: str | None
    minutes: list[dict[str, str | int]]
    changes: list[Change]
    values: list[Value]
    codes: list[Count]
    without_result: list[WithoutResult]
    dead_letters: int
    lag: Lag | None


class Connection(Answer):
    """The connection to Kafka. `state`: connecting, catching_up (earlier events are being read: `read` of `to_read` records), live, or away; files where there
    is no Kafka: `touchstone viewer`, which has read `read` of `to_read` files, both null when it has read all.

    `reason` and `since`: while no events come. `lag_records`: records that this service has not read yet.
    """

    state: str
    reason: str | None
    read: int | None
    to_read: int | None
    since: str | None
    lag_records: int | None


class Window(Answer):
    """The latest events in memory, from which the figures are computed. `is_whole`: they reach back as far as was asked, and have been read."""

    events: int
    first_at: str | None
    is_whole: bool


class Rising(Answer):
    """A code, or the label Fail, whose share grew beyond chance, in all results of a suite or in those of one concern or model.

    Only results of the suite's latest version and configuration count.
    `count` of `of` results since `since`, `before` of `before_of` in the period before it; `more`: beyond what was to be expected. `minutes`: per minute.
    """

    suite: str
    title: str
    code: str | None
    label: str | None
    concern: str | None
    model: str | None
    suite_version: str
    config_digest: str
    count: int
    of: int
    before: int
    before_of: int
    more: int
    since: str
    minutes: list[int]


class Summary(Answer):
    """The state of all suites. `position`: the event id from which a stream continues without a gap."""

    now: str
    started_at: str
    minutes: int
    position: str
    connection: Connection
    window: Window
    per_second: float
    dead_letters: int
    clients: int
    suites: list[SuiteSummary]
    rising: list[Rising]
