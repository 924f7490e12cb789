"""The live suite as a worker runs it, intake to result event, but with a broker that acknowledges at once."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from touchstone.ops.lab.bench.streams.in_process import Record
from touchstone.schemas.case import validate_case
from touchstone.schemas.settings.house import Settings
from touchstone.schemas.summary import SummaryCase
from touchstone.scorers.base import ConfigError, Reading
from touchstone.scorers.identity import config_digest
from touchstone.scorers.registry import known_signatures
from touchstone.scorers.summary import SUITE
from touchstone.scorers.summary.components.support import calibration_for
from touchstone.scorers.summary.scorer import SummaryLossScorer
from touchstone.scorers.summary.settings import SummarySettings
from touchstone.streams.intake.intake import Destinations, Intake
from touchstone.streams.intake.scoring import RunningSuite
from touchstone.streams.process.suites import paced
from touchstone.streams.telemetry.metrics import CollectorRegistry, WorkerMetrics
from touchstone.streams.wire.codec import Codec
from touchstone.streams.wire.message import Message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from touchstone.scorers.engines.base import Embedder, Engines, Floats, Nli
    from touchstone.scorers.engines.open_engines import OpenEngines

DRAIN_S = 600.0


class NotAllScored(ConfigError):
    """An event of a run has no loss: its speed means nothing."""


@dataclass(slots=True)
class Published:
    """A publisher whose broker acknowledges at once. Keeps each result's values and time."""

    values: dict[str, dict[str, float]] = field(default_factory=dict)
    at: dict[str, float] = field(default_factory=dict)

    async def publish(self, topic: str, partition: int, messages: Sequence[Message]) -> None:
        """Note the results; ledger records and dead letters have no event id."""
        now = time.perf_counter()
        for message in messages:
            document = orjson.loads(message.value or b"{}")
            if "event_id" in document:
                self.at[document["event_id"]] = now
                self.values[document["event_id"]] = document["values"]


def scorer_over(engines: Engines, settings: SummarySettings) -> SummaryLossScorer:
    """The suite's scorer over given engines."""
    return SummaryLossScorer(engines, settings, calibration=calibration_for(settings))


class LiveSuite:
    """The inside of one worker."""

    def __init__(self, engines: OpenEngines, settings: SummarySettings) -> None:
        self.engines = engines
        signatures = known_signatures()
        worker = paced(SUITE, Settings()).worker
        codec = Codec(SUITE.cases, signatures, worker.event_bytes_max, signatures)
        digest = config_digest(SUITE.fingerprint(settings))
        self._running = RunningSuite(SUITE.name, SUITE.version, digest, scorer_over(engines, settings), codec, SUITE.inline)
        self._worker = worker

    def intake(self, published: Published) -> Intake:
        """A fresh intake over the same scorer."""
        metrics = WorkerMetrics(SUITE.name, SUITE.version, "bench", CollectorRegistry())
        return Intake(self._running, published, Destinations("results", 4, "dead", 4), self._worker, metrics)

    async def run(self, values: Sequence[bytes]) -> tuple[float, dict[str, dict[str, float]]]:
        """Score events that are on the topic already: (seconds from the first record to the last commit, event id → its values)."""
        published = Published()
        intake = self.intake(published)
        records = [Record(number, value) for number, value in enumerate(values)]
        begun = time.perf_counter()
        for begin in range(0, len(records), self._worker.slice_records):
            await intake.room()
            intake.start(("touchstone.generations", 0), records[begin : begin + self._worker.slice_records])
        drained = await intake.drain(DRAIN_S)
        await intake.settle()
        took = time.perf_counter() - begun
        check_scored(published, len(values), drained=drained)
        return took, published.values


def check_scored(published: Published, count: int, *, drained: bool = True) -> None:
    """Raises: NotAllScored unless every event has a loss that was computed."""
    scored = sum("recall" in values for values in published.values.values())
    if not drained or scored < count:
        raise NotAllScored(f"{scored} of {count} events were scored; the rest timed out, failed hard or has no score")


@asynccontextmanager
async def live_suite(settings: SummarySettings) -> AsyncIterator[LiveSuite]:
    """A suite over engines of its own, with nothing remembered; closed at the end."""
    from touchstone.scorers.engines.open_engines import open_engines

    engines = open_engines(settings.engines)
    try:
        yield LiveSuite(engines, settings)
    finally:
        await engines.close()


class _Noting:
    """Engines whose NLI model answers at once, always the same, and keeps the pairs that it was asked."""

    model = "noting"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.asked: list[tuple[str, str]] = []

    @property
    def nli(self) -> Nli:
        return self

    @property
    def embedder(self) -> Embedder:
        return self._embedder

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        self.asked += pairs
        return np.full((len(pairs), 3), 1 / 3, dtype=np.float32)

    def readings(self) -> Iterable[Reading]:
        return ()

    async def close(self) -> None:
        pass


async def pairs_of(events: Sequence[dict[str, Any]], settings: SummarySettings, embedder: Embedder) -> list[list[tuple[str, str]]]:
    """The pairs that the suite asks the model for each event; the model itself is not used."""
    asked = []
    for event in events:
        noting = _Noting(embedder)
        await scorer_over(noting, settings).score(validate_case(SummaryCase, event))
        asked.append(noting.asked)
    return asked
