"""Models of the API's JSON responses, for the OpenAPI document; tests compare the responses with them."""

from typing import Any, Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from touchstone.ops.web.response_models import Answer
from touchstone.schemas.reading import CaseReading

State = Literal["kept", "source_expired", "too_large", "unreadable", "removed", "forgotten"]


class ListedCase(Answer):
    """A case with one of its results. `kept`: the archive has it. `feedback`: up, down, or null. `annotated`: somebody has annotated it.

    `overall`: how good the result is, from 0 to 1, or null. `severity`: the highest of its findings.
    `matched`: which of id and codes holds the text that was searched for.
    """

    event_id: str
    result_id: str
    case_id: str | None
    name: str
    kind: str
    suite: str
    suite_version: str
    label: str
    values: dict[str, float | None]
    overall: float | None
    codes: list[str]
    severity: str | None
    findings_total: int
    failures_total: int
    concern_id: str | None
    batch_id: str | None
    model: str | None
    source: str | None
    at: str
    kept: bool
    feedback: str | None
    annotated: bool
    matched: str | None


class Cases(Answer):
    """A page of results, newest first. `next`: the cursor of the next page. `total`: of all pages; null if counting would take too long."""

    cases: list[ListedCase]
    next: str | None
    total: int | None
    total_at_least: int


class Facet(Answer):
    """A value, how many results have it, and how many of them have each label."""

    value: str
    count: int
    labels: dict[str, int]


class Facets(Answer):
    """Counts of results by a property."""

    by: str
    values: list[Facet]
    total: int | None


class Kept(Answer):
    """What the archive has of the event. `path`: of the object. `state`: kept, or why it is not."""

    path: str | None
    bytes: int | None
    state: State


class Can(Answer):
    """What this client may do here. `reviewer`: the name of its token, under which it annotates; null if it names the reviewer itself."""

    text: bool
    annotate: bool
    admin: bool
    reviewer: str | None


class CaseResult(Answer):
    """One result of the event. `result`: the result event, without the messages and details if the client has no right to text. `replay`: scores it again."""

    result_id: str
    suite: str
    suite_version: str
    config_digest: str
    label: str
    name: str
    at: str
    replay: str | None
    result: dict[str, Any]


class Span(Answer):
    """A step of the generation, as the producer tells it. What it does not tell, or not readably, is null.

    `name`: null without the right to text, unless the specification names the step; likewise `model`. `status`: ok or error.
    """

    name: str | None
    started_at: str | None
    duration_ms: float | None
    status: Literal["ok", "error"] | None
    model: str | None
    input_tokens: int | None
    output_tokens: int | None


class TextMark(Answer):
    """A place that a reviewer marked, in characters of a text of the event. `digest`: of that text."""

    field: str
    start: int
    end: int
    digest: str


class Annotation(Answer):
    """What a person says of a case.

    Without the right to text, `notes`, `commonIssues` and `marks` are null, because they may quote it; likewise what is no code.

    `suite`: whose result was judged; null for the case as a whole. `guideline`: the version of the text that says what passes. `queue`, `arm`: of the review
    that it was written in. `settled`: decides after reviewers disagreed.
    """

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)

    trace_id: str | None
    reviewer_id: str | None
    review_pass: int
    annotated_at: str | None
    verdict: str | None
    notes: str | None
    failure_mode: str | None
    severity_tag: str | None
    quality_rating: int | str | None
    common_issues: list[str] | None
    marks: list[TextMark] | None
    suite: str | None
    guideline: str | None
    queue: str | None
    arm: Literal["chosen", "random"] | None
    settled: bool


class Feedback(Answer):
    """Thumbs up or down from the application's user."""

    rating: Literal["up", "down"]
    timestamp: str


class OneCase(Answer):
    """An event with all its results, newest first, and what people say of it. Send `etag` as `If-Match` to annotate it.

    `blind`: results, feedback and others' annotations are left out, because the reviewer in a blind queue has given no verdict yet.
    """

    event_id: str
    case_id: str | None
    kind: str | None
    name: str
    source: str | None
    at: str | None
    kept: Kept | None
    can: Can
    results: list[CaseResult]
    results_total: int
    annotations: list[Annotation]
    feedback: Feedback | None
    others: list[str] = Field(description="further events with the same trace id")
    spans: list[Span] | None = Field(description="the first steps of its generation, and those of its timing; null if the event is not kept or cannot be read")
    spans_total: int | None
    blind: bool
    etag: str


class Reading(Answer):
    """How the case reads beside one result. `text`: shown, or why it is not.

    `no_right`: the token lacks the scope; `not_kept`: the archive's policy did not choose it; `no_archive`: there is no archive where this service
    looks for it; `gone`: it could not be kept, or was removed;
    `unreadable`: it is kept, and the installed suite cannot read it; `away`: the archive cannot be read now.
    `blind`: marks, states and figures are left out, and the label is `unscored`, because the reviewer in a blind queue has given no verdict yet.
    """

    reading: CaseReading
    result_id: str
    blind: bool
    text: Literal["shown", "no_right", "not_kept", "no_archive", "gone", "unreadable", "away"]


class Stored(Answer):
    """What became of what was sent. `state`: created, or the same as before."""

    event_id: str
    trace_id: str | None
    state: Literal["created", "same"]


class Found(Answer):
    """Results whose cases have the text. `searched` of `total` were looked at so far; go on with `next`.

    `unread`: cases of this step whose text could not be read; whether they have the text is not known.
    """

    cases: list[ListedCase]
    next: str | None
    searched: int
    total: int | None
    unread: int


class View(Answer):
    """A saved view: a name, and the query of `/cases` that it stands for."""

    name: str
    query: str


class Views(Answer):
    """All saved views, by name."""

    views: list[View]


class Trace(Answer):
    """A trace that the archive holds."""

    trace_id: str = Field(alias="traceId")
    event_id: str
    timestamp: str
    source: str | None
    bytes: int
    feedback: Feedback | None


class Traces(Answer):
    """A page of traces, newest first."""

    traces: list[Trace]
    next: str | None


class Rated(Answer):
    """Feedback as it was noted."""

    id: str
    rating: Literal["up", "down"]
    timestamp: str


class Place(Answer):
    """Where something of a case is or was. `kind`: object, row, results, annotations, feedback or topic."""

    kind: str
    name: str
    is_removed: bool


class Forgotten(Answer):
    """Everything that was removed of a case, or would be (`dry_run`)."""

    dry_run: bool
    places: list[Place]
