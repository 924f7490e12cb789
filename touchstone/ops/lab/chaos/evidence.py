"""The content of the topics after a run, read by clients that share no code with the workers."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from touchstone.ops.lab.chaos.grounds import PARTITIONS, Field
from touchstone.ops.lab.chaos.plan import PLACE, Plan
from touchstone.ops.lab.chaos.topiclog import read_all

_SOURCE = ("__streams.errors.partition", "__streams.errors.offset")
_RESULT, _LEDGER = b"touchstone.result", b"touchstone.ledger"


class Position(NamedTuple):
    """The place of a record on its topic."""

    partition: int
    offset: int


class SentResult(NamedTuple):
    """One result on the results topic."""

    at: Position
    event_id: str
    result_id: str


class Letter(NamedTuple):
    """One dead letter; `intact`: value, key and headers are the original's, byte for byte."""

    at: Position
    intact: bool


@dataclass
class Evidence:
    """Everything found, by the position of its source record.

    `places`: the records on the input topic; a record that the feeder produced twice is there twice.
    """

    places: dict[Position, int] = field(default_factory=dict)
    results: dict[Position, list[SentResult]] = field(default_factory=lambda: defaultdict(list))
    ledger: dict[Position, list[Position]] = field(default_factory=lambda: defaultdict(list))
    letters: dict[Position, list[Letter]] = field(default_factory=lambda: defaultdict(list))
    reports: dict[str, dict[str, Any]] = field(default_factory=dict)
    unreadable: int = 0

    @property
    def result_ids(self) -> dict[str, set[str]]:
        """Event id → the result ids that the results topic has for it."""
        ids: dict[str, set[str]] = defaultdict(set)
        for results in self.results.values():
            for one in results:
                ids[one.event_id].add(one.result_id)
        return ids

    @property
    def duplicates(self) -> int:
        """Outcomes sent more than once for the same source record: allowed, but counted."""
        return sum(len(found) - 1 for group in (self.results, self.letters) for found in group.values() if found)


def gather(field: Field, plan: Plan) -> Evidence:
    """Read the topics of a run. Raises `TimeoutError`."""
    evidence = Evidence()
    servers = field.grounds.bootstrap_servers
    for message in read_all(servers, field.topic("generations"), PARTITIONS):
        evidence.places[_at(message)] = int(dict(message.headers())[PLACE])
    for message in read_all(servers, field.topic("results"), PARTITIONS):
        _read_outcome(evidence, message)
    for message in read_all(servers, field.topic("dead"), PARTITIONS):
        headers = message.headers() or []
        named = dict(headers)
        source = Position(*(int(named[name]) for name in _SOURCE))
        evidence.letters[source].append(Letter(_at(message), _intact(plan, evidence.places.get(source), message, headers)))
    evidence.reports = read_reports(field)
    return evidence


def read_reports(field: Field) -> dict[str, dict[str, Any]]:
    """Batch → the last report event."""
    return {
        report["batch_id"]: report
        for report in (json.loads(message.value()) for message in read_all(field.grounds.bootstrap_servers, field.topic("reports"), PARTITIONS))
    }


def _read_outcome(evidence: Evidence, message: Any) -> None:
    """One record of the results topic."""
    kind = dict(message.headers() or []).get("ce_type")
    document = json.loads(message.value())
    if kind == _RESULT:
        source = document["source"]
        evidence.results[Position(source["partition"], source["offset"])].append(SentResult(_at(message), document["event_id"], document["result_id"]))
    elif kind == _LEDGER:
        for entry in document["entries"]:
            for first, last in entry["ranges"]:
                for offset in range(first, last + 1):
                    evidence.ledger[Position(document["partition"], offset)].append(_at(message))
    else:
        evidence.unreadable += 1


def _intact(plan: Plan, place: int | None, message: Any, headers: Sequence[tuple[str, bytes | None]]) -> bool:
    """True if a dead letter carries the original: value, key, and the headers first."""
    if place is None:
        return False
    wire = plan.wire(plan.records[place])
    # The client distinguishes an absent value (None) from an empty one (b"").
    return message.value() == wire.value and message.key() == wire.key and list(headers[: len(wire.headers)]) == wire.headers


def _at(message: Any) -> Position:
    return Position(message.partition(), message.offset())
