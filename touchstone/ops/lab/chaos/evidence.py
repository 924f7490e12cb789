"""The content of the topics after a run, read by clients that share no code with the workers."""

import hashlib
import json
import struct
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from aiokafka.record.util import calc_crc32c

from touchstone.ops.lab.chaos.grounds import PARTITIONS, Field
from touchstone.ops.lab.chaos.plan import BOMB, FORMER, PLACE, Plan
from touchstone.ops.lab.chaos.topiclog import read_all

_BATCH = "touchstone.batch_offsets"
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
    label: str = ""


class Letter(NamedTuple):
    """One dead letter; `intact`: value, key and headers are the original's, byte for byte."""

    at: Position
    intact: bool


@dataclass
class Evidence:
    """Everything found, by the position of its source record.

    `places`: the records that were on the input topic; a record that the feeder produced twice is there twice.
    `expired`: what the ledger gives as deleted unread. `topic_ids`: those that results name. `former`: the same for events of a topic that was
    deleted, with the result ids. `documents`: result id → digests of the documents that were sent with it.
    """

    places: dict[Position, int] = field(default_factory=dict)
    results: dict[Position, list[SentResult]] = field(default_factory=lambda: defaultdict(list))
    ledger: dict[Position, list[Position]] = field(default_factory=lambda: defaultdict(list))
    expired: set[Position] = field(default_factory=set)
    letters: dict[Position, list[Letter]] = field(default_factory=lambda: defaultdict(list))
    #: Records of batches that unpack to too much, and those that a dead letter with a whole, intact batch stands for.
    bombs: set[Position] = field(default_factory=set)
    defused: set[Position] = field(default_factory=set)
    reports: dict[str, dict[str, Any]] = field(default_factory=dict)
    former: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    topic_ids: Counter[str] = field(default_factory=Counter)
    documents: dict[str, set[bytes]] = field(default_factory=lambda: defaultdict(set))
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
    def gone(self) -> set[Position]:
        """Records that were deleted unread: expired, and without a result."""
        return {at for at in self.expired if at in self.places and at not in self.results}

    @property
    def duplicates(self) -> int:
        """Outcomes sent more than once for the same source record: allowed, but counted."""
        return sum(len(found) - 1 for group in (self.results, self.letters) for found in group.values() if found)


def gather(field: Field, plan: Plan, fed: Mapping[tuple[int, int], int] | None = None) -> Evidence:
    """Read the topics of a run. `fed`: (partition, offset) → place of every record that was acknowledged, deleted ones too. Raises `TimeoutError`."""
    evidence = Evidence({Position(*at): place for at, place in (fed or {}).items()})
    servers = field.grounds.bootstrap_servers
    for message in read_all(servers, field.topic("generations"), PARTITIONS):
        planted = dict(message.headers())
        if BOMB in planted:
            evidence.bombs.add(_at(message))
        else:
            evidence.places[_at(message)] = int(planted[PLACE])
    for message in read_all(servers, field.topic("results"), PARTITIONS):
        _read_outcome(evidence, message)
    for message in read_all(servers, field.topic("dead"), PARTITIONS):
        headers = message.headers() or []
        named = dict(headers)
        source = Position(*(int(named[name]) for name in _SOURCE))
        if _BATCH in named:
            _defuse(evidence, source, named[_BATCH], message.value())
            continue
        evidence.letters[source].append(Letter(_at(message), _intact(plan, evidence.places.get(source), message, headers)))
    evidence.reports = read_reports(field)
    return evidence


def _defuse(evidence: Evidence, source: Position, offsets: bytes, batch: bytes) -> None:
    """The dead letter of a whole batch: its own checksum shows whether it is what the producer sent."""
    first, last = map(int, offsets.split(b"-"))
    base, checksum, delta = struct.unpack_from(">q", batch)[0], *struct.unpack_from(">I2xi", batch, 17)
    if (first, last) == (source.offset, base + delta) and calc_crc32c(batch[21:]) == checksum:
        evidence.defused |= {Position(source.partition, offset) for offset in range(first, last + 1)}


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
        if document.get("attributes", {}).get("concern_id") == FORMER:
            evidence.former[source["topic_id"]].add(document["result_id"])
            return
        evidence.topic_ids[source.get("topic_id", "")] += 1
        sent = SentResult(_at(message), document["event_id"], document["result_id"], document.get("label", ""))  # a naive loop writes none
        evidence.results[Position(source["partition"], source["offset"])].append(sent)
        evidence.documents[sent.result_id].add(hashlib.sha256(message.value()).digest())
    elif kind == _LEDGER:
        for entry in document["entries"]:
            for first, last in entry["ranges"]:
                for offset in range(first, last + 1):
                    evidence.ledger[Position(document["partition"], offset)].append(_at(message))
                    if entry["outcome"] == "expired":
                        evidence.expired.add(Position(document["partition"], offset))
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
