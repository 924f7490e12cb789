"""Results: what a suite says of a case, and what leaves on the results topic."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, FiniteFloat

from touchstone.schemas.base import Outbound

Label = Literal["Pass", "Review", "Warn", "Fail", "unscored"]
Severity = Literal["critical", "major", "minor", "info"]
Outcome = Literal["scored", "skipped", "shed", "dead"]


class Finding(Outbound):
    """One thing a check found. `message` never quotes the payload; `path` says where to look."""

    severity: Severity
    code: str
    path: str
    message: str
    suggestion: str | None = None


class Failure(Outbound):
    """A component that could not be scored: data in the result, never a zero."""

    component: str
    kind: str
    code: str


class NotChecked(Outbound):
    """A rule that was not applied, and why."""

    check: str
    reason: str


class Scorecard(Outbound):
    """What one scorer says of one case, in the units of its specification.

    `values`: component name → number. `details`: the specification's own breakdown (JSON types only), with
    payload text replaced by references unless the suite is set to quote.
    """

    label: Label
    values: dict[str, FiniteFloat]
    findings: tuple[Finding, ...] = ()
    failures: tuple[Failure, ...] = ()
    components_missing: tuple[str, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    details: dict[str, Any] = Field(default_factory=dict)
    attributes: dict[str, str | int | float | bool | None] = Field(default_factory=dict)
    models: dict[str, str] = Field(default_factory=dict)


class SourceRef(Outbound):
    """Where an input event lies."""

    topic: str
    partition: Annotated[int, Field(ge=0)]
    offset: Annotated[int, Field(ge=0)]


class ScoreResult(Outbound):
    """The result event of one (input event, suite, version, configuration).

    `result_id` is UUIDv5 of exactly those four, so a replay overwrites and never double-counts.
    `attributes` holds what results are grouped by (for SAFE: test, archetype, concern, batch, batch size).
    `duration_ms`: stage → milliseconds.
    """

    result_id: str
    event_id: str
    case_id: str | None
    kind: str
    suite: str
    suite_version: str
    config_digest: str
    outcome: Literal["scored"] = "scored"
    label: Label
    values: dict[str, FiniteFloat]
    findings: tuple[Finding, ...] = ()
    failures: tuple[Failure, ...] = ()
    components_missing: tuple[str, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    details: dict[str, Any] = Field(default_factory=dict)
    attributes: dict[str, str | int | float | bool | None] = Field(default_factory=dict)
    models: dict[str, str] = Field(default_factory=dict)
    correlation: dict[str, str] = Field(default_factory=dict)
    source: SourceRef
    scored_at: datetime
    duration_ms: dict[str, float] = Field(default_factory=dict)
