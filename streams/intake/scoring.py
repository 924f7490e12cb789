"""One slice of records: bytes → cases → scorecards → result events. The hot path; what it measures, it measures per slice."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from touchstone.schemas.case import Case
from touchstone.schemas.result import Failure, Scorecard
from touchstone.schemas.settings.house import WorkerSettings
from touchstone.scorers.base import Lost, Scorer, Unavailable
from touchstone.streams.intake.offsets import Span, append_span
from touchstone.streams.intake.outbox import Message
from touchstone.streams.process.metrics import WorkerMetrics
from touchstone.streams.wire.codec import Codec, Read, Record, Reject, ResultEncoder, trimmed

log = structlog.get_logger(__name__)

#: A larger result is sent without its findings and details, so that it fits the brokers' default limit.
RESULT_BYTES_MAX = 800_000


@dataclass(frozen=True, slots=True)
class RunningSuite:
    """A suite, configured and built. `inline`: score the cases of a slice in a row, not in a task each. `value_max`: of a component's value."""

    name: str
    version: str
    digest: str
    scorer: Scorer[Any]
    codec: Codec
    inline: bool
    value_max: float = 1.0


@dataclass(frozen=True, slots=True)
class PlannedSuite:
    """A suite, configured and not built yet: a model takes seconds to load, and the worker's pages answer meanwhile.

    `build` is called in a thread; it raises `ConfigError`, or `Unavailable` to be asked again.
    """

    name: str
    version: str
    build: Callable[[], RunningSuite]


@dataclass(slots=True)
class Scored:
    """What becomes of a slice: result events to publish and their records, records nobody can read, outcomes without a result.

    `consumed`: how many of its records the metrics have counted as consumed.
    """

    messages: list[Message] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    rejected: list[tuple[Record, Reject]] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    consumed: int = 0


class SliceScorer:
    """Reads and scores slices for one suite."""

    def __init__(self, suite: RunningSuite, settings: WorkerSettings, metrics: WorkerMetrics) -> None:
        self._suite = suite
        self._settings = settings
        self._metrics = metrics
        self._encoder = ResultEncoder(suite.name, suite.version, suite.digest)
        self._down: set[str] = set()

    @property
    def available(self) -> bool:
        """False while a stage that scoring needs is unavailable."""
        return not self._down

    async def score(self, records: Sequence[Record], slice_: Scored) -> None:
        """Read and score a slice into `slice_`; on return all its records are counted as consumed."""
        cards: Counter[tuple[str, tuple[tuple[str, float], ...]]] = Counter()
        rounds = self._in_a_row if self._suite.inline else self._together
        times = await rounds(records, slice_, cards)
        metrics, scored = self._metrics, len(slice_.messages)
        metrics.stage("decode", times[0] / len(records), len(records))
        if scored:
            metrics.stage("score", times[1] / scored, scored)
            metrics.stage("encode", times[2] / scored, scored)
            metrics.results(cards, self._suite.value_max)

    def _count(self, topic: str, formats: dict[str, int], slice_: Scored) -> None:
        """Count what has been read as consumed, from now on in flight."""
        slice_.consumed += sum(formats.values())
        self._metrics.consumed(topic, formats)
        formats.clear()

    def _sort(self, record: Record, formats: dict[str, int], slice_: Scored, oldest_ms: float) -> Read | None:
        """Read one record: a case to score is returned, every other outcome is noted in the slice."""
        try:
            step = self._suite.codec.read(record)
        except Exception as error:  # noqa: BLE001 -- a gap in the codec must cost one event, not the partition
            log.error("codec_failed", code=type(error).__name__, topic=record.topic, partition=record.partition, offset=record.offset)
            step = Reject("codec_failed", "", "unread")
        formats[step.format] = formats.get(step.format, 0) + 1
        if isinstance(step, Read):
            if record.timestamp >= oldest_ms or record.timestamp < 0:  # -1 is Kafka's "no timestamp": nobody knows that it is old
                return step
            append_span(slice_.spans, ("shed", "too_old", record.offset, record.offset))
        elif isinstance(step, Reject):
            slice_.rejected.append((record, step))
            append_span(slice_.spans, ("dead", step.code, record.offset, record.offset))
        else:
            append_span(slice_.spans, ("skipped", step.reason, record.offset, record.offset))
        return None

    def _oldest_ms(self) -> float:
        """Events with an earlier timestamp are shed."""
        limit_s = self._settings.event_age_max_s
        return (time.time() - limit_s) * 1000 if limit_s else float("-inf")

    async def _in_a_row(self, records: Sequence[Record], slice_: Scored, cards: Counter[Any]) -> tuple[float, float, float]:
        """One record after the other from bytes to bytes, while it is warm in the caches; no task, no suspension."""
        score, clock = self._suite.scorer.score, time.perf_counter
        formats: dict[str, int] = {}
        oldest_ms = self._oldest_ms()
        score_s = encode_s = 0.0
        begun = clock()
        for record in records:
            read = self._sort(record, formats, slice_, oldest_ms)
            if read is None:
                continue
            decoded = clock()
            try:
                card = await score(read.case)
            except Exception as error:  # noqa: BLE001 -- told apart there
                self._count(record.topic, formats, slice_)  # it may take long: what is held must show
                card = await self._again(read.case, error)
            scored = clock()
            self._add(record, read, card, scored - decoded, slice_, cards)
            score_s += scored - decoded
            encode_s += clock() - scored
        self._count(records[0].topic, formats, slice_)
        return clock() - begun - score_s - encode_s, score_s, encode_s

    async def _together(self, records: Sequence[Record], slice_: Scored, cards: Counter[Any]) -> tuple[float, float, float]:
        """All cases of the slice at once, so that the engines' batchers see them together."""

        async def one(case: Case) -> tuple[Any, float]:
            before = time.perf_counter()
            try:
                async with asyncio.timeout(self._settings.score_timeout_s):
                    card = await self._suite.scorer.score(case)
            except Exception as error:  # noqa: BLE001 -- told apart there
                card = await self._again(case, error)
            return card, time.perf_counter() - before

        formats: dict[str, int] = {}
        begun = time.perf_counter()
        oldest_ms = self._oldest_ms()
        reads = [(record, read) for record in records if (read := self._sort(record, formats, slice_, oldest_ms)) is not None]
        self._count(records[0].topic, formats, slice_)
        decoded = time.perf_counter()
        scored = await asyncio.gather(*(one(read.case) for _, read in reads))
        answered = time.perf_counter()
        for (record, read), (card, spent_s) in zip(reads, scored, strict=True):
            self._add(record, read, card, spent_s, slice_, cards)
        return decoded - begun, sum(spent_s for _, spent_s in scored), time.perf_counter() - answered

    def _add(self, record: Record, read: Read, card: Any, spent_s: float, slice_: Scored, cards: Counter[Any]) -> None:
        """Add one result event. A card that is none, or that JSON cannot hold, is the scorer's failure like any other."""
        duration_ms = {"score": round(spent_s * 1000, 3)}
        try:
            if not isinstance(card, Scorecard):
                raise TypeError
            message = Message(*self._encoder.encode(record, read, card, duration_ms))
        except (TypeError, ValueError) as error:
            card = self._failed(f"scorecard_{type(error).__name__}")
            message = Message(*self._encoder.encode(record, read, card, duration_ms))
        if message.value is not None and len(message.value) > RESULT_BYTES_MAX:
            message.value = trimmed(message.value)
        slice_.messages.append(message)
        slice_.records.append(record)
        cards[card.label, tuple(card.values.items())] += 1

    def _failed(self, code: str) -> Scorecard:
        """The card of a scorer that failed: named, unscored, never a zero."""
        log.error("scorer_failed", suite=self._suite.name, code=code)
        failure = Failure(component=self._suite.name, kind="scorer_error", code=code)
        return Scorecard(label="unscored", values={}, failures=(failure,), components_missing=(self._suite.name,))

    async def _again(self, case: Case, error: Exception) -> Any:
        """After a scorer raised: wait out an unavailable world; its own defect is a named failure, never a zero."""
        backoff_s = self._settings.retry_backoff_min_s
        while True:
            if not isinstance(error, Unavailable):
                return self._failed(type(error).__name__)
            self._unavailable(error.code)
            if isinstance(error, Lost):
                raise error  # waiting would not bring it back: nothing is acknowledged, the worker ends
            await asyncio.sleep(backoff_s)
            backoff_s = min(backoff_s * 2, self._settings.retry_backoff_max_s)
            try:
                async with asyncio.timeout(self._settings.score_timeout_s):
                    card = await self._suite.scorer.score(case)
            except Exception as next_error:  # noqa: BLE001 -- told apart at the top of the loop
                error = next_error
            else:
                self._back()
                return card

    def _unavailable(self, code: str) -> None:
        """Count an attempt; log the first of a row."""
        self._metrics.count("unavailable")
        if code not in self._down:
            self._down.add(code)
            self._metrics.gauge("suite_up", 0)
            log.warning("stage_unavailable", code=code)

    def _back(self) -> None:
        """Note that what was unavailable has answered."""
        if self._down:
            log.info("stage_available", code=",".join(sorted(self._down)))
            self._down.clear()
            self._metrics.gauge("suite_up", 1)
