"""The heart: records in, outcomes sent, offsets acknowledged. Knows neither Faust nor a consumer.

A runner hands over consecutive records of one partition (`room`, `start`), asks from time to time what may be committed
(`settle`), and says when partitions go (`revoke`). Everything an outcome needs has been acknowledged by the broker before
its offset is returned by `settle`; the partition's earlier offsets too.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

import structlog

from schemas.case import Case
from schemas.config import TopicSettings, WorkerSettings
from schemas.ledger import LedgerRecord
from schemas.result import Failure, Scorecard, ScoreResult, SourceRef
from scorers.base import Scorer, Unavailable
from streams.codec import Codec, Read, Record, Reject, encode_ledger, encode_result, result_id, result_id_suffix
from streams.deadletter import dead_letter
from streams.metrics import WorkerMetrics
from streams.offsets import PartitionProgress, Slice, Span, TopicPartition, append_span, ledger_entries
from streams.outbox import Message, TooLarge

log = structlog.get_logger(__name__)

#: A larger result is sent without its findings and details, so that it fits the brokers' default limit.
RESULT_BYTES_MAX = 800_000


class Publisher(Protocol):
    """Where outcomes go: the outbox, or a test's stand-in."""

    async def publish(self, topic: str, partition: int, messages: Sequence[Message]) -> None:
        """Return when the broker has acknowledged the messages."""
        ...


@dataclass(frozen=True, slots=True)
class RunningSuite:
    """A suite, configured and built. `inline`: score the cases of a slice in a row, not in a task each."""

    name: str
    version: str
    digest: str
    scorer: Scorer[Any]
    codec: Codec
    inline: bool


@dataclass(frozen=True, slots=True)
class Destinations:
    """Output topics and how many partitions they have."""

    results: str
    results_partitions: int
    dead: str
    dead_partitions: int

    @classmethod
    def of(cls, topics: TopicSettings, partitions: dict[str, int]) -> "Destinations":
        """From the settings and what the broker says (`streams.clients.check_topics`)."""
        return cls(topics.results, partitions[topics.results], topics.dead, partitions[topics.dead])


class Intake:
    """Scores slices of records with a bounded window in flight."""

    def __init__(self, suite: RunningSuite, publisher: Publisher, to: Destinations, settings: WorkerSettings, metrics: WorkerMetrics) -> None:
        self._suite = suite
        self._publisher = publisher
        self._to = to
        self._settings = settings
        self._metrics = metrics
        self._id_suffix = result_id_suffix(suite.name, suite.version, suite.digest)
        self._partitions: dict[TopicPartition, PartitionProgress] = {}
        self._tasks: dict[PartitionProgress, set[asyncio.Task[None]]] = {}
        self._records = 0
        self._bytes = 0
        self._changed = asyncio.Event()
        self._unavailable: set[str] = set()
        self.progress_at = time.monotonic()

    # -- admission

    @property
    def in_flight(self) -> int:
        """Records taken up and not yet part of a partition's done prefix."""
        return self._records

    @property
    def available(self) -> bool:
        """False while a stage that scoring needs is unavailable."""
        return not self._unavailable

    def has_room(self) -> bool:
        """Whether another slice may be started now. One slice is always let in, however large."""
        return self._records == 0 or (self._records < self._settings.window_records and self._bytes < self._settings.window_bytes)

    async def room(self) -> None:
        """Wait until another slice may be started."""
        while not self.has_room():
            self._changed.clear()
            await self._changed.wait()

    def start(self, partition: TopicPartition, records: Sequence[Record]) -> None:
        """Take up consecutive records of one partition. Never waits: ask `room` first."""
        if not records:
            return
        progress = self._partitions.get(partition)
        if progress is None:
            progress = self._partitions[partition] = PartitionProgress()
            self._tasks[progress] = set()
        size = sum(len(record.value or b"") for record in records)
        piece = Slice(first=records[0].offset, after=records[-1].offset + 1, records=len(records), payload_bytes=size)
        progress.begin(piece)
        self._records += piece.records
        self._bytes += size
        task = asyncio.create_task(self._work(progress, piece, records))
        self._tasks[progress].add(task)
        task.add_done_callback(self._tasks[progress].discard)

    # -- rebalance and shutdown

    def revoke(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        """Forget partitions (all by default): nothing of theirs is committed from here on, whatever still completes."""
        for partition in list(self._partitions) if partitions is None else list(partitions):
            progress = self._partitions.pop(partition, None)
            if progress is None:
                continue
            for task in self._tasks.pop(progress):
                task.cancel()
            self._metrics.released(progress.unwritten())
            for piece in progress.in_flight:
                self._records -= piece.records
                self._bytes -= piece.payload_bytes
        self._changed.set()

    async def drain(self, timeout_s: float) -> bool:
        """Wait until nothing is in flight. False when the time ran out first."""
        deadline = time.monotonic() + timeout_s
        while self._records:
            self._changed.clear()
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return False
            try:
                await asyncio.wait_for(self._changed.wait(), remaining)
            except TimeoutError:
                return False
        return True

    # -- acknowledgement

    async def settle(self) -> dict[TopicPartition, int]:
        """Write the ledger of what is done; return partition → offset that may now be committed.

        One ledger record per partition, and only where an outcome has no result of its own.
        """
        taken = [(partition, progress, *progress.take_ready()) for partition, progress in self._partitions.items()]
        taken = [entry for entry in taken if entry[2] is not None]
        written = await asyncio.gather(*(self._write_ledger(partition, spans) for partition, _, _, spans in taken), return_exceptions=True)
        committable: dict[TopicPartition, int] = {}
        failure: BaseException | None = None
        for (partition, progress, ready, spans), outcome in zip(taken, written, strict=True):
            if isinstance(outcome, BaseException):
                if self._partitions.get(partition) is progress:
                    progress.give_back(ready, spans)
                else:
                    self._metrics.released(sum(last - first + 1 for _, _, first, last in spans))
                failure = failure or outcome
                continue
            self._count_spans(partition, spans)
            if ready is not None and self._partitions.get(partition) is progress:
                committable[partition] = ready
        if failure is not None and not isinstance(failure, Exception):
            raise failure
        return committable

    async def _write_ledger(self, partition: TopicPartition, spans: list[Span]) -> None:
        """Publish the outcomes without a result of one partition."""
        if not spans:
            return
        suite = self._suite
        record = LedgerRecord(
            suite=suite.name,
            suite_version=suite.version,
            config_digest=suite.digest,
            topic=partition[0],
            partition=partition[1],
            entries=ledger_entries(spans),
        )
        await self._publisher.publish(self._to.results, partition[1] % self._to.results_partitions, [Message(*encode_ledger(record))])

    def _count_spans(self, partition: TopicPartition, spans: list[Span]) -> None:
        """Count outcomes whose ledger record is acknowledged; log dead letters once per code, not once per event."""
        counts: Counter[tuple[str, str]] = Counter()
        dead: dict[str, int] = {}
        for outcome, reason, first, last in spans:
            counts[outcome, reason] += last - first + 1
            if outcome == "dead":
                dead.setdefault(reason, first)
        for code, first in dead.items():
            log.warning("dead_letters", topic=partition[0], partition=partition[1], offset=first, count=counts["dead", code], code=code)
        if counts:
            self._metrics.finished(counts)

    # -- one slice

    async def _work(self, progress: PartitionProgress, piece: Slice, records: Sequence[Record]) -> None:
        """Bring every record of a slice to its outcome, then release the slice."""
        counted = 0
        scored = 0
        try:
            reads = self._read(records, piece)
            counted = len(records)
            await self._publish_dead(records, reads)
            messages = await self._score(reads)
            scored = len(messages)
            if messages:
                started = time.perf_counter()
                await self._publish_results(records[0].partition, messages)
                self._metrics.stage("produce", time.perf_counter() - started)
                now = time.time()
                self._metrics.finished({("scored", ""): scored})
                counted -= scored
                self._metrics.latency((now - record.timestamp / 1000 for record, step in reads if type(step) is Read), now)
        except asyncio.CancelledError:
            self._metrics.released(counted)
            raise
        except Exception as error:  # noqa: BLE001 -- a task must not die unseen
            # A defect of ours, not of an event: the slice stays unacknowledged and the watchdog ends the process loudly.
            log.error("intake_defect", code=type(error).__name__, partition=records[0].partition, offset=piece.first, exc_info=True)  # noqa: G201 -- the message has fields
            self._unavailable.add("intake_defect")
            return
        for done in progress.finish(piece):
            self._records -= done.records
            self._bytes -= done.payload_bytes
        self.progress_at = time.monotonic()
        self._changed.set()

    def _read(self, records: Sequence[Record], piece: Slice) -> list[tuple[Record, Read | Reject]]:
        """Decode a slice. Skipped and shed records go straight into its spans; the rest is returned."""
        reads: list[tuple[Record, Read | Reject]] = []
        formats: Counter[str] = Counter()
        read = self._suite.codec.read
        oldest_ms = (time.time() - self._settings.event_age_max_s) * 1000 if self._settings.event_age_max_s else None
        started = time.perf_counter()
        for record in records:
            step = read(record)
            formats[step.format] += 1
            if isinstance(step, Read):
                if oldest_ms is not None and record.timestamp < oldest_ms:
                    append_span(piece.spans, ("shed", "too_old", record.offset, record.offset))
                    continue
                reads.append((record, step))
            elif isinstance(step, Reject):
                reads.append((record, step))
                append_span(piece.spans, ("dead", step.code, record.offset, record.offset))
            else:
                append_span(piece.spans, ("skipped", step.reason, record.offset, record.offset))
        self._metrics.stage("decode", (time.perf_counter() - started) / len(records))
        self._metrics.consumed(records[0].topic, formats)
        return reads

    async def _publish_dead(self, records: Sequence[Record], reads: list[tuple[Record, Read | Reject]]) -> None:
        """Send the unreadable records to the dead-letter topic, together; singly where the broker refuses one for its size."""
        rejected = [(record, step) for record, step in reads if type(step) is Reject]
        if not rejected:
            return
        first = rejected[0][0]
        partition = first.partition % self._to.dead_partitions
        try:
            await self._publisher.publish(self._to.dead, partition, [self._dead_letter(record, step) for record, step in rejected])
        except TooLarge:
            for record, step in rejected:
                try:
                    await self._publisher.publish(self._to.dead, partition, [self._dead_letter(record, step)])
                except TooLarge:
                    await self._publisher.publish(self._to.dead, partition, [self._dead_letter(record, step, payload=False)])

    def _dead_letter(self, record: Record, step: Reject, payload: bool = True) -> Message:
        """The dead letter of one rejected record."""
        return dead_letter(record, suite=self._suite.name, version=self._suite.version, code=step.code, where=step.where, payload=payload)

    async def _score(self, reads: list[tuple[Record, Read | Reject]]) -> list[Message]:
        """Score the cases of a slice: in a row for inline suites, together otherwise."""
        cases = [(record, step) for record, step in reads if type(step) is Read]
        if self._suite.inline:
            return [await self._score_one(record, step) for record, step in cases]
        return list(await asyncio.gather(*(self._score_one(record, step) for record, step in cases)))

    async def _score_one(self, record: Record, read: Read) -> Message:
        """One case's result event."""
        case = read.case
        started = time.perf_counter()
        card = await self._ask(case)
        scored = time.perf_counter()
        suite = self._suite
        result = ScoreResult(
            result_id=result_id(read.event_id, self._id_suffix),
            event_id=read.event_id,
            case_id=case.case_id,
            kind=case.kind,
            suite=suite.name,
            suite_version=suite.version,
            config_digest=suite.digest,
            label=card.label,
            values=card.values,
            findings=card.findings,
            failures=card.failures,
            components_missing=card.components_missing,
            not_checked=card.not_checked,
            details=card.details,
            attributes=card.attributes,
            models=card.models,
            correlation=case.correlation,
            source=SourceRef(topic=record.topic, partition=record.partition, offset=record.offset),
            scored_at=datetime.now(UTC),
            duration_ms={"score": round((scored - started) * 1000, 3)},
        )
        message = Message(*encode_result(result))
        if len(message.value or b"") > RESULT_BYTES_MAX:
            message = Message(*encode_result(_trimmed(result)))
        metrics = self._metrics
        metrics.stage("score", scored - started)
        metrics.stage("encode", time.perf_counter() - scored)
        metrics.result(card.label, card.values)
        return message

    async def _ask(self, case: Case) -> Scorecard:
        """Ask the scorer; wait out an unavailable world, turn the scorer's own defect into a named failure."""
        backoff_s = self._settings.retry_backoff_min_s
        while True:
            try:
                card = await self._suite.scorer.score(case)
            except Unavailable as error:
                if error.code not in self._unavailable:
                    self._unavailable.add(error.code)
                    log.warning("stage_unavailable", code=error.code)
                self._metrics.count("unavailable")
                self._metrics.gauge("suite_up", 0)
                await asyncio.sleep(backoff_s)
                backoff_s = min(backoff_s * 2, self._settings.retry_backoff_max_s)
            except Exception as error:  # noqa: BLE001 -- whatever a scorer raises is its own failure, and data
                log.error("scorer_failed", suite=self._suite.name, code=type(error).__name__)
                failure = Failure(component=self._suite.name, kind="scorer_error", code=type(error).__name__)
                return Scorecard(label="unscored", values={}, failures=(failure,), components_missing=(self._suite.name,))
            else:
                if self._unavailable:
                    log.info("stage_available", code=",".join(sorted(self._unavailable)))
                    self._unavailable.clear()
                    self._metrics.gauge("suite_up", 1)
                return card

    async def _publish_results(self, source_partition: int, messages: list[Message]) -> None:
        """Results of one source partition stay together and in order, so that the ledger's intervals stay few."""
        await self._publisher.publish(self._to.results, source_partition % self._to.results_partitions, messages)


def _trimmed(result: ScoreResult) -> ScoreResult:
    """A result without what makes it too large for the broker; it says so."""
    failure = Failure(component="details", kind="too_large", code="result_too_large")
    return result.model_copy(update={"findings": (), "details": {}, "not_checked": (), "failures": (*result.failures, failure)})
