"""Describes records for someone who watches a topic: ids, codes and numbers, never payload text."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from touchstone.schemas.result import ScoreResult
from touchstone.schemas.settings.house import TopicSettings
from touchstone.scorers.reporting import Group
from touchstone.scorers.suite import Suite, default_group
from touchstone.streams.topics.dlq import LETTER, RESOLUTION
from touchstone.streams.topics.log_reader import header_texts, moment
from touchstone.streams.wire.codec import LEDGER_TYPE, RESULT_TYPE, Codec, Read, Record, Reject
from touchstone.streams.wire.dead_letter import EXCEPTION, MESSAGE, OFFSET, PARTITION, SUITE, TOPIC

#: What a result line shows of `values`; --json shows the rest.
VALUES_SHOWN_MAX = 4
#: Counts of a report that a line shows in their own place, or not at all; and what another is called on it.
_COUNTED = frozenset({"total_cases", "overall_pass_rate", "pass", "review", "fail"})
_SPOKEN = {"unscored": "not scored"}


@dataclass(frozen=True, slots=True)
class Sighting:
    """One record, described. `what`: result, ledger, report, dead, resolution, event or record.

    `suite` and `label` are what a watcher filters by. `facts`: what `--json` adds; JSON types, no payload text.
    """

    what: str
    topic: str
    partition: int
    offset: int
    at: datetime
    text: str
    suite: str | None = None
    label: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The sighting as one JSON object."""
        place = {"what": self.what, "topic": self.topic, "partition": self.partition, "offset": self.offset, "at": self.at.isoformat()}
        return {**place, "suite": self.suite, "label": self.label, **self.facts}


class Describer:
    """Describes records. `suites`: those installed here, by name; they say how input events are recognised and what a line shows of a result."""

    def __init__(self, topics: TopicSettings, suites: Mapping[str, Suite], event_bytes_max: int) -> None:
        self._dead = topics.dead
        self._results = topics.results
        self._outputs = {topics.results, topics.reports}
        self._suites = suites
        self._reports = {suite.report_type: name for name, suite in suites.items()}
        self._codec = Codec({kind: model for suite in suites.values() for kind, model in suite.cases.items()}, bytes_max=event_bytes_max)

    def describe(self, record: Record) -> Sighting:
        """One record. Never raises for what it holds."""
        headers = header_texts(record.headers)
        if record.topic == self._dead:
            return self._seen(record, *_dead(record, headers))
        if record.topic not in self._outputs:
            return self._seen(record, *self._event(record))
        # Another program's record, or one that its suite cannot describe: only its size is shown.
        with suppress(Exception):
            document = orjson.loads(record.value or b"")
            kind = headers.get("ce_type", "")
            if kind == RESULT_TYPE:
                return self._seen(record, *_result(document, self._suites.get(document["suite"])))
            if kind == LEDGER_TYPE:
                return self._seen(record, *_ledger(document))
            if record.topic != self._results:
                return self._seen(record, *_report(kind, document, self._reports.get(kind, kind.partition(":")[0])))
        return self._seen(record, "record", f"{len(record.value or b''):,} bytes that are not a Touchstone event", None, None, {})

    def _seen(self, record: Record, what: str, text: str, suite: str | None, label: str | None, facts: Mapping[str, Any]) -> Sighting:
        return Sighting(what, record.topic, record.partition, record.offset, moment(record.timestamp), text, suite, label, facts)

    def _event(self, record: Record) -> tuple[str, str, None, None, dict[str, Any]]:
        """An input event, as the codec reads it."""
        step = self._codec.read(record)
        size = len(record.value or b"")
        facts: dict[str, Any] = {"bytes": size, "format": step.format}
        if isinstance(step, Read):
            facts |= {"kind": step.case.kind, "event_id": step.event_id, "case_id": step.case.case_id}
            return "event", f"{step.case.kind} {step.case.case_id or ''} {step.event_id} ({size:,} bytes)", None, None, facts
        code = step.code if isinstance(step, Reject) else step.reason
        return "event", f"{code} ({size:,} bytes)", None, None, facts | {"code": code}


Seen = tuple[str, str, str | None, str | None, dict[str, Any]]


def _result(document: Mapping[str, Any], suite: Suite | None) -> Seen:
    """A result event: the columns that its suite names, else its first few values."""
    values = {name: float(value) for name, value in document["values"].items()}
    attributes = document.get("attributes") or {}
    columns = [(column.heading, values[column.value]) for column in suite.columns if column.value in values] if suite is not None else []
    shown = " ".join(f"{name} {value:.2f}" for name, value in (columns or list(values.items()))[:VALUES_SHOWN_MAX])
    group = _group(document, suite)
    batch = f"  {group.concern_id}/{group.batch_id}" if group is not None else ""
    failures = [failure["code"] for failure in document.get("failures") or ()]
    missing = f"  failed: {', '.join(failures)}" if failures else ""
    text = f"{document['suite']}  {document['label']:<8} {_name(document, suite)}  {shown}{batch}{missing}"
    facts = {name: document.get(name) for name in ("result_id", "event_id", "case_id", "kind", "suite_version", "config_digest", "source", "scored_at")}
    facts |= {name: document.get(name, []) for name in ("findings", "not_checked", "components_missing")}
    facts |= {"values": values, "failures": failures, "concern_id": attributes.get("concern_id"), "batch_id": attributes.get("batch_id")}
    return "result", text, document["suite"], document["label"], facts


def _name(document: Mapping[str, Any], suite: Suite | None) -> str:
    event_id, case_id = str(document["event_id"]), document.get("case_id")
    with suppress(Exception):
        if suite is not None:
            return suite.call(event_id, case_id)
    return str(case_id or event_id)


def _group(document: Mapping[str, Any], suite: Suite | None) -> Group | None:
    """The batch that the result is reported in; None if it is in none, or is no whole result."""
    try:
        return (suite.group if suite is not None else default_group)(ScoreResult.model_validate(document, extra="ignore"))
    except Exception:  # noqa: BLE001 -- what its suite cannot group is a result all the same
        return None


def _ledger(document: Mapping[str, Any]) -> Seen:
    """A ledger record: outcomes without a result."""
    counts: dict[str, int] = {}
    for entry in document["entries"]:
        name = f"{entry['outcome']} {entry['reason']}"
        counts[name] = counts.get(name, 0) + sum(last - first + 1 for first, last in entry["ranges"])
    place = f"{document['topic']}[{document['partition']}]"
    text = f"{document['suite']}  ledger   {place}: {', '.join(f'{count} {name}' for name, count in counts.items())}"
    return "ledger", text, document["suite"], None, {"source": place, "outcomes": counts}


def _report(kind: str, document: Mapping[str, Any], suite: str) -> Seen:
    summary = document["summary"]
    state = "final" if document.get("final") else "so far"
    total = int(summary["total_cases"]) + int(summary.get("unscored", 0))  # the report's own total is of the scored ones
    shown = [f"{summary[name]} {name}" for name in ("pass", "review", "fail")]
    # What else a suite counts is shown if there is any.
    shown += [f"{count} {_SPOKEN.get(name, name)}" for name, count in summary.items() if name not in _COUNTED and count]
    counts = f"{total} case{'' if total == 1 else 's'}: {', '.join(shown)}"
    return "report", f"{kind}  {document['concern_id']}/{document['batch_id']}  {counts} ({state})", suite, None, dict(document)


def _dead(record: Record, headers: Mapping[str, str]) -> Seen:
    """A dead letter, or what became of one."""
    size = len(record.value or b"")
    if TOPIC in headers:
        place = f"{headers.get(TOPIC)}[{headers.get(PARTITION)}] offset {headers.get(OFFSET)}"
        text = f"{headers.get(SUITE)}  dead     {headers.get(MESSAGE)}  {place} ({size:,} bytes)"
        return "dead", text, headers.get(SUITE), None, {"code": headers.get(EXCEPTION), "message": headers.get(MESSAGE), "source": place, "bytes": size}
    if RESOLUTION in headers:
        done, letter = headers[RESOLUTION], headers.get(LETTER)
        return "resolution", f"{done} {letter}", None, None, {"resolution": done, "letter": letter}
    return "record", f"{size:,} bytes that are not a Touchstone event", None, None, {"bytes": size}
