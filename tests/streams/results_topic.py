"""Records of the results topic, made for tests."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from touchstone.schemas.ledger import LedgerEntry, LedgerRecord
from touchstone.schemas.result import ScoreResult, SourceRef
from touchstone.scorers.identity import deterministic_id
from touchstone.streams.account.projection import Projection, project
from touchstone.streams.wire.codec import LEDGER_TYPE, RESULT_TYPE, Header

TOPIC = "touchstone.results"
SOURCE = "touchstone.generations"
BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@dataclass(frozen=True)
class Stored:
    offset: int
    value: bytes | None
    headers: Sequence[Header]
    partition: int = 0
    key: bytes | None = None
    topic: str = TOPIC
    timestamp: int = 0


@dataclass
class Told:
    event: str = "e1"
    offset: int = 0
    partition: int = 0
    label: str = "Pass"
    score: float = 1.0
    batch: str | None = "b1"
    concern: str = "I25"
    size: int | None = None
    digest: str = "d1"
    version: str = "0.1"
    suite: str = "safe_v0"
    seconds: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)


def result(**told: Any) -> ScoreResult:
    one = Told(**told)
    return ScoreResult.model_validate(
        {
            "result_id": deterministic_id(f"{one.event}/{one.suite}/{one.version}/{one.digest}"),
            "event_id": one.event,
            "case_id": f"T-{one.event}",
            "kind": "safe",
            "suite": one.suite,
            "suite_version": one.version,
            "config_digest": one.digest,
            "label": one.label,
            "values": {"CR": one.score, "AH": 1.0, "AC": one.score, "composite": one.score},
            "details": one.details,
            "attributes": {
                "test_id": f"T-{one.event}",
                "archetype": "A",
                "concern_id": one.concern,
                "batch_id": one.batch,
                "batch_size": one.size,
            },
            "source": SourceRef(topic=SOURCE, partition=one.partition, offset=one.offset),
            "scored_at": BEGAN + timedelta(seconds=one.seconds),
            "duration_ms": {"score": 0.25},
        }
    )


def ledger(*entries: tuple[str, str, tuple[tuple[int, int], ...]], partition: int = 0, version: str = "0.1") -> LedgerRecord:
    """A ledger record of (outcome, reason, ranges)."""
    listed = [LedgerEntry.model_validate({"outcome": outcome, "reason": reason, "ranges": ranges}) for outcome, reason, ranges in entries]
    return LedgerRecord(suite="safe_v0", suite_version=version, config_digest="d1", topic=SOURCE, partition=partition, entries=tuple(listed))


def records(*events: ScoreResult | LedgerRecord, first: int = 0) -> list[Stored]:
    return [Stored(first + index, event.model_dump_json().encode(), headers_of(event)) for index, event in enumerate(events)]


def headers_of(event: ScoreResult | LedgerRecord) -> list[Header]:
    """The header that tells the two apart, among others."""
    kind = RESULT_TYPE if isinstance(event, ScoreResult) else LEDGER_TYPE
    return [("ce_specversion", b"1.0"), ("ce_type", kind.encode())]


def projection(*events: ScoreResult | LedgerRecord, first: int = 0, expected: int | None = None) -> Projection:
    """The events as one polled batch of partition 0. `expected`: the position it was read from; None at the beginning."""
    return project(TOPIC, {0: expected if expected is not None or first == 0 else first}, {0: records(*events, first=first)})
