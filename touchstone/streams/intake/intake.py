"""The intake: takes records, sends outcomes and acknowledges offsets. It knows neither Faust nor a consumer.

A runner hands over consecutive records of one partition (`room`, `start`), asks at intervals which offsets may be committed
(`settle`), and reports revoked partitions (`revoke`). Everything an outcome needs has been acknowledged by the broker before
its offset is returned by `settle`; the partition's earlier offsets too.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Protocol

import structlog

from touchstone.schemas.ledger import LedgerRecord
from touchstone.schemas.settings.house import TopicSettings, WorkerSettings
from touchstone.scorers.scoring import trimmed, without_follow_up
from touchstone.streams.intake.dead_limit import DeadLimit
from touchstone.streams.intake.incarnations import Incarnations
from touchstone.streams.intake.offsets import PartitionProgress, Slice, Span, TopicPartition, ledger_entries, records_of
from touchstone.streams.intake.outbox import TooLarge
from touchstone.streams.intake.scoring import Handed, RunningSuite, Scored, SliceScorer
from touchstone.streams.telemetry.metrics import WorkerMetrics
from touchstone.streams.wire.codec import Record, Reject, changed_value, encode_ledger
from touchstone.streams.wire.dead_letter import dead_letter
from touchstone.streams.wire.message import Message

log = structlog.get_logger(__name__)


#: Offset ranges of one ledger record: always under 100 kB.
LEDGER_SPANS_MAX = 2_000
#: Offset ranges that may wait for the ledger before the intake stops reading.
SPANS_MAX = 50_000


def _size(records: Sequence[Record]) -> int:
    """Payload bytes of a slice."""
    size = sum([len(record.value) for record in records if record.value])
    size += sum([len(record.key) for record in records if record.key])
    return size + sum([len(name) + len(content or b"") for record in records if record.headers for name, content in record.headers])


class Publisher(Protocol):
    """Sends outcomes: the outbox, or a test double."""

    async def publish(self, topic: str, partition: int, messages: Sequence[Message]) -> None:
        """Return when the broker has acknowledged the messages."""
        ...


@dataclass(frozen=True, slots=True)
class Destinations:
    """Output topics and how many partitions they have. `next_stages`: role of a slower stage's topic → its name and partitions."""

    results: str
    results_partitions: int
    dead: str
    dead_partitions: int
    next_stages: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, topics: TopicSettings, partitions: dict[str, int], hands_on: tuple[str, ...] = ()) -> "Destinations":
        """From the settings and the broker's topics (`touchstone.streams.wire.clients.check_topics`). `hands_on`: roles of the slower stages' topics."""
        names = dict(zip(hands_on, topics.inputs(hands_on), strict=True))
        next_stages = {role: (name, partitions[name]) for role, name in names.items()}
        return cls(topics.results, partitions[topics.results], topics.dead, partitions[topics.dead], next_stages)


class Intake:
    """Scores slices of records with a bounded window in flight."""

    def __init__(
        self,
        suite: RunningSuite,
        publisher: Publisher,
        to: Destinations,
        settings: WorkerSettings,
        metrics: WorkerMetrics,
        incarnations: Incarnations | None = None,
    ) -> None:
        """`incarnations`: of the input topics; None: their ids are not known, and not asked for."""
        self._suite = suite
        self._publisher = publisher
        self._to = to
        self._settings = settings
        self._metrics = metrics
        self._slices = SliceScorer(suite, settings, metrics)
        self._dead_limit = DeadLimit(settings)
        self._held = 0
        self._partitions: dict[TopicPartition, PartitionProgress] = {}
        self._tasks: dict[PartitionProgress, set[asyncio.Task[None]]] = {}
        self._records = 0
        self._bytes = 0
        self._changed = asyncio.Event()
        #: Set when the intake itself has failed: its worker must end, and another one replays.
        self.defect = asyncio.Event()
        self._settling = asyncio.Lock()
        self._unwritten = 0
        self._moved_at = time.monotonic()
        self._incarnations = incarnations
        #: Set when an input topic was made anew: nothing of the one before can be told from it any more, so the worker must end and begin with the new one.
        self.made_anew = asyncio.Event()
        self.anew: set[str] = set()

    # -- admission

    @property
    def in_flight(self) -> int:
        """Records taken up and not yet part of a partition's done prefix."""
        return self._records

    @property
    def idle_s(self) -> float:
        """How long nothing has been done, from when work began or the stages came back; 0 without work in flight. Read from another thread."""
        return self._since(self._moved_at) if self._records else 0.0

    def progress(self, partition: TopicPartition) -> PartitionProgress | None:
        """What is in flight on a partition, and when it moved last; None before its first slice."""
        return self._partitions.get(partition)

    def standstill_s(self, progress: PartitionProgress) -> float:
        """How long the done prefix of a partition has not grown, counted as in `idle_s`; 0 without work in flight there."""
        return self._since(progress.moved_at) if progress.in_flight else 0.0

    def slowest(self) -> tuple[TopicPartition, Slice, float] | None:
        """The partition that has stood still for longest, its oldest slice, and for how many seconds; None without work in flight. Read from another thread."""
        heads = [(self.standstill_s(progress), partition, head) for partition, progress in list(self._partitions.items()) if (head := progress.oldest)]
        still_s, partition, head = max(heads, key=itemgetter(0), default=(0.0, ("", 0), None))
        return None if head is None else (partition, head, still_s)

    def _since(self, moved_at: float) -> float:
        """Seconds since something moved; a stage that was away held up everything, so then since it came back."""
        return time.monotonic() - max(moved_at, self._slices.available_at)

    @property
    def available(self) -> bool:
        """False while a stage that scoring needs is unavailable."""
        return self._slices.available

    @property
    def why_unavailable(self) -> str:
        """Names the stages that are unavailable by their codes; empty if there is none. Read from another thread."""
        codes = self._slices.away
        return f"a stage is unavailable: {', '.join(codes)}" if codes else ""

    @property
    def again_at(self) -> float | None:
        """When the case last put aside can be scored (as `time.time`); None if that is not known."""
        return self._slices.again_at

    @property
    def flood(self) -> str:
        """Why the intake has stopped reading until someone intervenes; empty while it reads."""
        return self._dead_limit.why() if self._dead_limit.reached else ""

    def has_room(self) -> bool:
        """True if another slice may be started now. One slice is always admitted, however large."""
        if self._dead_limit.reached:
            return False
        if self._unwritten > SPANS_MAX:
            return False  # the ledger is behind: settle first
        return self._records == 0 or (self._records < self._settings.window_records and self._bytes < self._settings.window_bytes)

    async def room(self) -> None:
        """Wait until another slice may be started."""
        while not self.has_room():
            self._changed.clear()
            await self._changed.wait()

    async def caught_up(self) -> None:
        """Wait until no slice waits for its turn to be scored; a suite whose slices take no turns does not keep anyone waiting."""
        await self._slices.caught_up()

    def start(self, partition: TopicPartition, records: Sequence[Record]) -> None:
        """Take up consecutive records of one partition. Never waits: ask `room` first."""
        if not records:
            return
        progress = self._begun(partition)
        if not self._records:
            self._moved_at = time.monotonic()  # what was idle before says nothing about this work
        size = _size(records)
        first, last = records[0], records[-1]
        piece = Slice(first.offset, last.offset + 1, len(records), size, first_ms=first.timestamp, last_ms=last.timestamp)
        progress.begin(piece)
        self._records += piece.records
        self._bytes += size
        task = asyncio.create_task(self._work(progress, piece, records))
        self._tasks[progress].add(task)
        task.add_done_callback(self._tasks[progress].discard)

    def expired(self, partition: TopicPartition, first: int, after: int) -> None:
        """Take note that Kafka has deleted the offsets from `first` up to `after`, which no worker had read. They take their turn behind what is in flight."""
        progress = self._begun(partition)
        piece = Slice(first, after, records=0, payload_bytes=0, spans=[("expired", "deleted", first, after - 1)])
        progress.begin(piece)
        self._release(progress, piece)

    def _begun(self, partition: TopicPartition) -> PartitionProgress:
        """The partition's progress since it was assigned."""
        progress = self._partitions.get(partition)
        if progress is None:
            progress = self._partitions[partition] = PartitionProgress("" if self._incarnations is None else self._incarnations.id_of(partition[0]))
            self._tasks[progress] = set()
        return progress

    # -- rebalance and shutdown

    def revoke(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        """Forget partitions (all by default): none of their offsets is committed from here on, even if work on them still completes."""
        for partition in list(self._partitions) if partitions is None else list(partitions):
            progress = self._partitions.pop(partition, None)
            if progress is None:
                continue
            for task in self._tasks.pop(progress):
                task.cancel()
            self._metrics.released(progress.unwritten())
            self._unwritten -= progress.spans_waiting
            for piece in progress.in_flight:
                self._records -= piece.records
                self._bytes -= piece.payload_bytes
        self._changed.set()

    async def drain(self, timeout_s: float) -> bool:
        """Wait until nothing is in flight but what the dead-letter limit holds back. False when the time ran out first."""
        deadline = time.monotonic() + timeout_s
        while self._busy():
            self._changed.clear()
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return False
            try:
                await asyncio.wait_for(self._changed.wait(), remaining)
            except TimeoutError:
                return False
        return True

    def _busy(self) -> bool:
        """True if some slice in flight is still to end: done ones may wait for one that the dead-letter limit holds back."""
        if not self._held:
            return self._records > 0
        return any(not (piece.done or piece.held) for progress in self._partitions.values() for piece in progress.in_flight)

    # -- acknowledgement

    async def settle(self) -> dict[TopicPartition, int]:
        """Write the ledger of what is done; return partition → offset that may now be committed.

        One ledger record per partition, and only where an outcome has no result of its own.
        """
        # One at a time: a second one would find later offsets ready while the ledger of earlier ones is still under way.
        async with self._settling:
            return await self._settle()

    async def _settle(self) -> dict[TopicPartition, int]:
        """See `settle`."""
        # An offset that is done on one topic must not be committed on another one of its name. A topic that is missing must not hold up the others.
        still = await self.unchanged({topic for (topic, _), progress in self._partitions.items() if progress.is_ready})
        taken = [(partition, progress, *progress.take_ready()) for partition, progress in self._partitions.items() if partition[0] in still]
        taken = [entry for entry in taken if entry[2] is not None]
        try:
            written = await asyncio.gather(
                *(self._write_ledger(partition, progress.topic_id, spans) for partition, progress, _, spans in taken), return_exceptions=True
            )
        except asyncio.CancelledError:
            # A runner that waits no longer for a broker that is down. What was taken must not be forgotten: a later
            # settlement would commit past outcomes that no ledger record holds. Writing one twice is harmless.
            for partition, progress, ready, spans in taken:
                self._give_back(partition, progress, ready, spans)
            raise
        committable: dict[TopicPartition, int] = {}
        failure: BaseException | None = None
        for (partition, progress, ready, spans), outcome in zip(taken, written, strict=True):
            if isinstance(outcome, BaseException):
                self._give_back(partition, progress, ready, spans)
                failure = failure or outcome
                continue
            self._count_spans(partition, spans)
            if ready is not None and self._partitions.get(partition) is progress:
                committable[partition] = ready
        self._unwritten = sum(each.spans_waiting for each in self._partitions.values())
        self._changed.set()
        if failure is not None:
            if not isinstance(failure, Exception):
                raise failure
            self._metrics.count("commit_failures")
            log.warning("ledger_failed", code=type(failure).__name__)
        return committable

    def _give_back(self, partition: TopicPartition, progress: PartitionProgress, ready: int | None, spans: list[Span]) -> None:
        """Undo taking; where the partition has gone meanwhile, its next owner accounts for the records."""
        if self._partitions.get(partition) is progress:
            progress.give_back(ready, spans)
        else:
            self._metrics.released(records_of(spans))

    async def _write_ledger(self, partition: TopicPartition, topic_id: str, spans: list[Span]) -> None:
        """Publish the outcomes without a result of one partition."""
        if not spans:
            return
        suite = self._suite
        messages = [
            Message(
                *encode_ledger(
                    LedgerRecord(
                        suite=suite.name,
                        suite_version=suite.version,
                        config_digest=suite.digest,
                        topic=partition[0],
                        topic_id=topic_id,
                        partition=partition[1],
                        entries=ledger_entries(spans[begin : begin + LEDGER_SPANS_MAX]),
                    )
                )
            )
            for begin in range(0, len(spans), LEDGER_SPANS_MAX)
        ]
        await self._publisher.publish(self._to.results, partition[1] % self._to.results_partitions, messages)

    def _count_spans(self, partition: TopicPartition, spans: list[Span]) -> None:
        """Count outcomes whose ledger record is acknowledged; log dead letters once per code, not once per event."""
        counts: Counter[tuple[str, str]] = Counter()
        dead: dict[str, int] = {}
        for outcome, reason, first, last in spans:
            if outcome == "expired":
                log.warning("events_expired", topic=partition[0], partition=partition[1], offset=first, count=last - first + 1, code=reason)
                self._metrics.expired(partition[0], last - first + 1)
                continue
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
        fetched_at, settled = time.monotonic(), 0
        confirmed: asyncio.Task[None] | None = None

        def begin() -> None:
            nonlocal confirmed
            piece.stage = "score"
            if confirmed is None and progress.topic_id:  # only now: by its turn, an answer for slices before it may serve; meanwhile it is scored
                confirmed = asyncio.create_task(self._confirm(records[0].topic, fetched_at))

        scored = Scored(progress.topic_id, begun=begin)
        try:
            await self._slices.score(records, scored)
            if confirmed is not None:
                piece.stage = "confirm"
                await confirmed
            if not self._dead_limit.admits(scored.consumed, scored.dead()):
                await self._hold(piece)
            if scored.rejected:
                piece.stage = "dead"
                await self._publish_dead(scored.rejected, progress.topic_id)
            if scored.handed:
                piece.stage = "hand_on"
                # Before the results: who sees one can rely on the next stage's event.
                await self._hand_on(scored.handed, records[0].partition)
            if scored.messages:
                piece.stage = "produce"
                started = time.perf_counter()
                too_large = await self._publish_results(scored)
                self._metrics.stage("produce", time.perf_counter() - started)
                for record in too_large:
                    scored.spans.append(("dead", "result_too_large", record.offset, record.offset))
                settled = len(scored.messages) - len(too_large)
                self._metrics.finished({("scored", ""): settled})
                self._metrics.latency([record.timestamp for record in scored.records], time.time())
            piece.spans = sorted(scored.spans, key=itemgetter(2))
        except asyncio.CancelledError:
            if confirmed is not None:
                confirmed.cancel()
            self._metrics.released(scored.consumed - settled)
            raise
        except Exception as error:
            log.error("intake_defect", code=type(error).__name__, partition=records[0].partition, offset=piece.first, exc_info=True)  # noqa: G201
            self.defect.set()
            return
        self._release(progress, piece)

    def _release(self, progress: PartitionProgress, piece: Slice) -> None:
        """Take a slice that is done, and those that waited for it, out of the window."""
        if progress not in self._tasks:  # revoked, and what the slice waited for has swallowed the cancellation (see `Clock`): it left the window then
            self._metrics.released(records_of(piece.spans))
            return
        before = progress.spans_waiting
        for done in progress.finish(piece):
            self._records -= done.records
            self._bytes -= done.payload_bytes
        self._unwritten += progress.spans_waiting - before
        self._moved_at = time.monotonic()
        self._metrics.gauge("window_records", self._records)
        self._changed.set()

    async def _confirm(self, topic: str, fetched_at: float) -> None:
        """Return if what was fetched by then (monotonic time) is of the topic with which the process began; else never: the process ends."""
        if self._incarnations is None or await self._incarnations.is_still(topic, fetched_at):
            return
        self._on_made_anew(topic)
        await asyncio.Event().wait()

    async def unchanged(self, topics: Collection[str]) -> set[str]:
        """Those of the topics that are the ones with which the process began, asked after this call; not one that is missing, or made anew."""
        if self._incarnations is None:
            return set(topics)
        found = dict(zip(topics, await asyncio.gather(*map(self._incarnations.find, topics)), strict=True))
        for topic in [topic for topic, is_still in found.items() if is_still is False]:
            self._on_made_anew(topic)
        return {topic for topic, is_still in found.items() if is_still}

    def see(self, topic_ids: Mapping[str, str]) -> None:
        """Take note of the topics' ids as they are now. A worker that has nothing to read asks for none itself."""
        for topic, topic_id in topic_ids.items():
            if self._incarnations is not None and self._incarnations.is_other(topic, topic_id):
                self._on_made_anew(topic)

    def _on_made_anew(self, topic: str) -> None:
        if topic not in self.anew:
            log.error("topic_made_anew", topic=topic)
            self.anew.add(topic)
            self.made_anew.set()

    async def lost(self, tails: Mapping[TopicPartition, tuple[int, int]]) -> None:
        """Write to the ledger what a topic that was deleted took with it. `tails`: partition → (next offset to settle, end), as they were seen last."""
        for partition, (first, end) in tails.items():
            if partition[0] in self.anew and first < end and self._incarnations is not None:
                spans: list[Span] = [("expired", "topic_deleted", first, end - 1)]
                await self._write_ledger(partition, self._incarnations.id_of(partition[0]), spans)
                self._count_spans(partition, spans)

    async def _hold(self, piece: Slice) -> None:
        """Keep a slice in flight for good: its offsets are not committed, and its records come again after a restart."""
        limit = self._dead_limit
        if not self._held:
            self._metrics.gauge("dead_limit_reached", 1)
            log.error("dead_limit_reached", count=limit.dead, records=limit.records, code=limit.codes())
        self._held += 1
        piece.held = True
        self._changed.set()
        await asyncio.Event().wait()  # until the partition or the process goes

    async def _hand_on(self, handed: Sequence[Handed], source_partition: int) -> None:
        """Send the events for slower stages; if the broker refuses one for its size, the result says so."""
        for role in dict.fromkeys(one.role for one in handed):
            topic, partitions = self._to.next_stages[role]
            mine = [one for one in handed if one.role == role]
            try:
                await self._publisher.publish(topic, source_partition % partitions, [one.message for one in mine])
            except TooLarge:
                for one in mine:
                    try:
                        await self._publisher.publish(topic, source_partition % partitions, [one.message])
                    except TooLarge:
                        one.result.value = changed_value(one.result.value or b"", without_follow_up)
            self._metrics.count("follow_ups", len(mine))

    async def _publish_results(self, scored: Scored) -> list[Record]:
        """Send a slice's results; return the records whose result the broker refuses at any size, sent to the dead letters instead.

        Results of one source partition stay together and in order, so that the ledger's intervals stay few.
        """
        partition = scored.records[0].partition % self._to.results_partitions
        try:
            await self._publisher.publish(self._to.results, partition, scored.messages)
        except TooLarge:
            pass
        else:
            return []
        refused: list[Record] = []
        for record, message in zip(scored.records, scored.messages, strict=True):
            try:
                await self._publisher.publish(self._to.results, partition, [message])
            except TooLarge:
                message.value = changed_value(message.value or b"", trimmed)
                try:
                    await self._publisher.publish(self._to.results, partition, [message])
                except TooLarge:
                    refused.append(record)
        if refused:
            await self._publish_dead([(record, Reject("result_too_large", "", "json")) for record in refused], scored.topic_id)
        return refused

    async def _publish_dead(self, rejected: Sequence[tuple[Record, Reject]], topic_id: str) -> None:
        """Send unreadable records to the dead-letter topic, together; singly if the broker refuses one for its size."""
        partition = rejected[0][0].partition % self._to.dead_partitions
        try:
            await self._publisher.publish(self._to.dead, partition, [self._dead_letter(record, step, topic_id) for record, step in rejected])
        except TooLarge:
            for record, step in rejected:
                try:
                    await self._publisher.publish(self._to.dead, partition, [self._dead_letter(record, step, topic_id)])
                except TooLarge:
                    await self._publisher.publish(self._to.dead, partition, [self._dead_letter(record, step, topic_id, payload=False)])

    def _dead_letter(self, record: Record, step: Reject, topic_id: str, payload: bool = True) -> Message:
        """The dead letter of one rejected record."""
        suite = self._suite
        return dead_letter(record, suite=suite.name, version=suite.version, code=step.code, where=step.where, topic_id=topic_id, payload=payload)
