"""Results: a suite's scores for a case, and the events of the results topic."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, FiniteFloat

from touchstone.schemas.base import Outbound
from touchstone.schemas.html import table, titled

Label = Literal["Pass", "Review", "Warn", "Fail", "unscored"]
Severity = Literal["critical", "major", "minor", "info"]
Outcome = Literal["scored", "skipped", "shed", "dead", "expired"]


class Finding(Outbound):
    """One thing a check found. `message` never quotes the payload; `path` locates it.

    `line`, `column`: where `path` begins in the text of the document, both from 1; None where the suite gives none, or the path is no one place.
    """

    severity: Severity
    code: str
    path: str
    message: str
    suggestion: str | None = None
    line: Annotated[int, Field(ge=1)] | None = None
    column: Annotated[int, Field(ge=1)] | None = None


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
    """One scorer's scores for one case, in the units of its specification.

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
    """Place of an input event on its topic.

    `topic_id`: the topic's own id (KIP-516), which distinguishes it from one of the same name that was deleted before; empty if it is not known.
    `checksum`: of the event's bytes and timestamp (CRC-32), so that another event at the same place is noticed; 0 if it is not known.
    """

    topic: str
    partition: Annotated[int, Field(ge=0)]
    offset: Annotated[int, Field(ge=0)]
    topic_id: str = ""
    checksum: Annotated[int, Field(ge=0, lt=2**32)] = 0


class FileRef(Outbound):
    """Place of a case in a file. `place`: inside it (`line 3`, `case 2`); empty where the file is the case. `file` is `-` for standard input."""

    file: str
    place: str = ""


Source = SourceRef | FileRef


class Problem(Outbound):
    """Part of the input that gets no score: where it is and what is wrong with it, without its text.

    `kind`: `unreadable` could not be read; `invalid` is not a valid case; `unknown` is not a format that the suite reads; `passed_over` is
    listed and not counted (found in a folder and of another kind, or not asked for). `format`: what it was recognised as, where the suite
    tells formats apart. `findings`: what is wrong, in the suite's own terms, where it has any.
    """

    source: Source
    what: str
    kind: Literal["unreadable", "invalid", "unknown", "passed_over"] = "invalid"
    format: str | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def where(self) -> str:
        """The place as text."""
        return place_of(self.source)


def place_of(source: Source) -> str:
    """The place of a case, for people: `events[0]@17` on a topic, `a.jsonl, line 3` in a file."""
    if isinstance(source, SourceRef):
        return f"{source.topic}[{source.partition}]@{source.offset}"
    file = "standard input" if source.file == "-" else source.file
    return f"{file}, {source.place}" if source.place else file


class _Scored(Outbound):
    """What was scored, and by which suite in which configuration."""

    result_id: str
    event_id: str
    case_id: str | None
    kind: str
    suite: str
    suite_version: str
    config_digest: str
    outcome: Literal["scored"] = "scored"


class ScoreResult(Scorecard, _Scored):
    """The result of one (event, suite, version, configuration), the same from every way of scoring: a result event, and the input of reports.

    `result_id` is UUIDv5 of exactly those four, so a replay overwrites and never double-counts.
    `attributes` holds what reports group and list by. `duration_ms`: stage → milliseconds. `source`: a place on a topic, or in a file.
    """

    correlation: dict[str, str] = Field(default_factory=dict)
    source: Source
    scored_at: datetime
    duration_ms: dict[str, float] = Field(default_factory=dict)

    def _repr_html_(self) -> str:
        """What a notebook shows: label, values, findings and failures. Texts of the case are in it only where the suite quotes them."""
        name = self.case_id or self.event_id
        values = table(tuple(self.values), [tuple(self.values.values())]) if self.values else ""
        findings = [(one.severity, one.code, one.path, one.message) for one in self.findings]
        failures = [(one.component, one.kind, one.code) for one in self.failures]
        return "".join([
            titled(f"{name}: {self.label}", f"{self.suite} {self.suite_version}"),
            values,
            table(("Severity", "Code", "Path", "Message"), findings) if findings else "",
            table(("Failed part", "Kind", "Code"), failures) if failures else "",
        ])  # fmt: skip


#: Fields in which two results of the same event, suite, version and configuration may differ.
OF_ONE_SCORING = frozenset({"source", "scored_at", "duration_ms"})
