"""Stand-ins for what lies outside the intake: records, a publisher under the test's control, a toy scorer."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from touchstone.schemas.case import SafeCase
from touchstone.schemas.result import Scorecard
from touchstone.schemas.settings.house import WorkerSettings
from touchstone.streams.intake.intake import Destinations, Intake
from touchstone.streams.intake.scoring import RunningSuite
from touchstone.streams.telemetry.metrics import WorkerMetrics
from touchstone.streams.wire.codec import Codec
from touchstone.streams.wire.message import Message


@dataclass
class FakeRecord:
    offset: int
    value: bytes | None
    topic: str = "generations"
    partition: int = 0
    timestamp: int = field(default_factory=lambda: int(time.time() * 1000))
    key: bytes | None = None
    headers: Sequence[tuple[str, bytes]] = ()


def safe_event(event_id: str | None = None, **extra: Any) -> dict[str, Any]:
    document: dict[str, Any] = {
        "kind": "safe",
        "test_id": "T-1",
        "archetype": "Process_Auditor",
        "concern_id": "I25",
        "batch_id": "b1",
        "expectations": {"signal_generation": {"must_find_signals": ["delay to surgery"]}},
        "output": {"signals": ["Delay to surgery of 30 hours"], "summary": "Stable."},
    }
    if event_id is not None:
        document["id"] = event_id
    return document | extra


def safe_record(offset: int, event_id: str | None = None, **extra: Any) -> FakeRecord:
    return FakeRecord(offset, json.dumps(safe_event(event_id or f"e{offset}", **extra)).encode())


class GatedPublisher:
    """Acknowledges only what the test lets through; `open` lets everything through."""

    def __init__(self, gate: Callable[[str, Sequence[Message]], Awaitable[None]] | None = None) -> None:
        self.acknowledged: list[tuple[str, int, Message]] = []
        self.asked: list[tuple[str, int, Message]] = []
        self._gate = gate

    async def publish(self, topic: str, partition: int, messages: Sequence[Message]) -> None:
        self.asked.extend((topic, partition, message) for message in messages)
        if self._gate is not None:
            await self._gate(topic, messages)
        self.acknowledged.extend((topic, partition, message) for message in messages)

    def values(self, topic: str, ce_type: str | None = None) -> list[dict[str, Any]]:
        chosen = [m for t, _, m in self.acknowledged if t == topic and (ce_type is None or dict(m.headers).get("ce_type") == ce_type.encode())]
        return [json.loads(message.value or b"null") for message in chosen]


class StepScorer:
    name = "step"
    version = "1"

    def __init__(self, score: Callable[[SafeCase], Awaitable[Scorecard]] | None = None) -> None:
        self._score = score
        self.waiting: dict[str, asyncio.Future[None]] = {}

    async def score(self, case: SafeCase) -> Scorecard:
        if self._score is not None:
            return await self._score(case)
        return Scorecard(label="Pass", values={"CR": 1.0})


def make_intake(
    publisher: GatedPublisher, scorer: Any = None, *, inline: bool = True, known: Sequence[str] = (), **settings: Any
) -> tuple[Intake, WorkerMetrics]:
    worker = WorkerSettings(**({"retry_backoff_min_s": 0.01, "retry_backoff_max_s": 0.02} | settings))
    metrics = WorkerMetrics("step", "1", "test")
    suite = RunningSuite("step", "1", "0" * 16, scorer or StepScorer(), Codec({"safe": SafeCase}, known, worker.event_bytes_max), inline)
    return Intake(suite, publisher, Destinations("results", 4, "dead", 4), worker, metrics), metrics


def identity_holds(totals: dict[str, int]) -> bool:
    return totals["consumed"] == sum(totals[name] for name in ("scored", "skipped", "shed", "dead", "released", "in_flight"))
