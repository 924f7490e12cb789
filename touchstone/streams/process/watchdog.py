"""The watchdog: checks that waiting records are read, measures lag, and notices a worker that has dropped out of its group."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CorruptRecordException, KafkaError

from touchstone.streams.process.ownership import Ownership
from touchstone.streams.runners.base import Job, Stalled
from touchstone.streams.topics.cluster_clock import ClusterClock
from touchstone.streams.wire.clients import client_options
from touchstone.streams.wire.closing import close_client

log = structlog.get_logger(__name__)

#: Fetches that may come back empty before a lagging partition is believed to hold records.
LOOKS = 10


class Watchdog:
    """Compares the ends of the input partitions with what the worker has settled.

    A stall is: records wait on an assigned partition, nothing is in flight, nothing is paused by an outage, and nothing
    has been settled for `stall_timeout_s`. Waiting for an unavailable stage or a broker that is down is not a stall: the
    readiness page and the metrics show it. A worker that has had no assignment, not even an empty one, for longer than
    any rebalance takes, and does not join anew either, has dropped out of its group: that is a stall, too.

    A partition that nobody in the group reads, or a topic that does not exist, is not a stall of this worker: it is the reason why it is not ready
    (`unread`), and its records are lag.

    The same requests, every `kafka.probe_interval_s`, show whether the cluster answers at all, within `kafka.probe_timeout_s`:
    a worker with nothing to do would not notice otherwise that its broker has died.
    """

    def __init__(self, job: Job, on_broker: Callable[[bool], None] | None = None) -> None:
        """`on_broker` is called after each round with whether the cluster answered."""
        self._job = job
        self._on_broker = on_broker
        self._answered_at = time.monotonic()
        self._down = ""
        self._since = time.monotonic()
        self._seen: dict[TopicPartition, int] = {}
        self._began: dict[TopicPartition, int] = {}
        self._joined_at: float | None = None
        self._told_at = float("-inf")
        self._waiting: dict[TopicPartition, tuple[float, float]] = {}
        #: Partition → (next offset to settle, end), as seen last: of all that this worker had, and still of a topic that is missing.
        self.tails: dict[tuple[str, int], tuple[int, int]] = {}
        self._ownership = Ownership(job)
        self._unread = ""

    def unread(self) -> str:
        """What of the input topics nobody reads; empty if everything is read. Read from another thread."""
        return self._unread

    @property
    def clock(self) -> ClusterClock:
        """This machine's clock beside the cluster's."""
        return self._ownership.clock

    def unanswered(self) -> str:
        """How long the cluster has not answered, and how it failed; empty while it answers. Read from another thread."""
        code = self._down
        return f"the broker has not answered for {time.monotonic() - self._answered_at:.0f} s ({code})" if code else ""

    async def run(self) -> None:
        """Watch until cancelled. Raises `Stalled`."""
        kafka = self._job.settings.kafka
        consumer: AIOKafkaConsumer | None = None
        try:
            while True:
                await asyncio.sleep(kafka.probe_interval_s)
                try:
                    if consumer is None:
                        consumer = await self._connect()
                    # First of all, so that an outage of the broker is not mistaken for a stall of this worker.
                    topics = await self._ownership.look()
                    self._job.intake.see({name: topic.topic_id for name, topic in topics.items()})
                    await self._look(consumer)
                except (KafkaError, OSError, TimeoutError) as error:
                    self._silent(type(error).__name__)
                else:
                    self._answered()
        finally:
            if consumer is not None:
                await close_client(consumer.stop)
            await self._ownership.close()

    async def _connect(self) -> AIOKafkaConsumer:
        """A client with the group's name, so that it may ask for commits; it assigns itself, so it never joins."""
        kafka = self._job.settings.kafka
        consumer = AIOKafkaConsumer(**client_options(kafka), group_id=self._job.group, enable_auto_commit=False)
        try:
            async with asyncio.timeout(kafka.probe_timeout_s):
                await consumer.start()
        except BaseException:
            await close_client(consumer.stop)
            raise
        return consumer

    def _silent(self, code: str) -> None:
        """The cluster did not answer: there is no verdict and no lag, and the broker counts as down."""
        now, job = time.monotonic(), self._job
        self._since = now
        self._waiting.clear()
        if job.unassigned_since is not None:
            job.unassigned_since = now
        if not self._down:
            self._down = code
            log.warning("broker_down", bootstrap=job.settings.kafka.bootstrap_servers, code=code)
        job.metrics.lag({})
        self._publish(False)

    def _answered(self) -> None:
        """The cluster has answered a whole round."""
        now = time.monotonic()
        if self._down:
            log.info("broker_up", seconds=round(now - self._answered_at, 1))
            self._down = ""
        self._answered_at = now
        self._publish(True)

    def _publish(self, up: bool) -> None:
        """Update the metrics and call `on_broker`."""
        self._job.metrics.gauge("broker_up", up)
        if self._on_broker is not None:
            self._on_broker(up)

    async def _positions(self, consumer: AIOKafkaConsumer, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Next offset to settle of each partition: what this process has settled, else where it began."""
        job, known = self._job, self._began
        if self._joined_at != job.joined_at:
            # A partition that stays through a rebalance starts again from what was committed until then.
            self._joined_at = job.joined_at
            known.clear()
        for tp in [tp for tp in known if tp not in partitions]:
            del known[tp]
        known.update(await self._begins(consumer, [tp for tp in partitions if tp not in known]))
        return {tp: job.positions.get((tp.topic, tp.partition), known[tp]) for tp in partitions}

    async def _begins(self, consumer: AIOKafkaConsumer, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Where a worker that is assigned these partitions now begins: at what is committed, or after what Kafka has deleted."""
        starts = await consumer.beginning_offsets(partitions) if partitions else {}
        committed = await self._ownership.committed(partitions)
        return {tp: max(self._job.begin_of((tp.topic, tp.partition)) if committed[tp] is None else committed[tp], starts[tp]) for tp in partitions}

    async def _owe(self, quiet: list[TopicPartition]) -> None:
        """Request another commit of offsets that are settled and not committed.

        A commit may fail without an error, and an abandoned one may arrive after a later one and set the offset back.
        Where more events come the next commit corrects that, so only quiet partitions are checked.
        """
        job = self._job
        settled = {tp: job.positions[tp.topic, tp.partition] for tp in quiet if (tp.topic, tp.partition) in job.positions}
        for tp, committed in (await self._ownership.committed(settled)).items():
            partition, after = (tp.topic, tp.partition), settled[tp]
            if (committed or 0) < after and job.positions.get(partition) == after:
                job.owed[partition] = after

    async def _records_wait(self, consumer: AIOKafkaConsumer, tails: dict[TopicPartition, tuple[int, int]]) -> bool:
        """True if some tail (position, end) holds a record: the last offset of a transactional producer is a marker, not a record."""
        for tp, (position, end) in tails.items():
            if position >= end:
                continue
            consumer.assign([tp])
            consumer.seek(tp, position)
            for _ in range(LOOKS):
                try:
                    if await consumer.getmany(tp, timeout_ms=500):
                        return True
                except (CorruptRecordException, ValueError):
                    return True  # a batch that cannot be read holds records
                if await consumer.position(tp) >= end:
                    break
            else:
                return True  # the broker returned neither records nor progress, so this is not an excuse for the stall
        return False

    async def _look(self, consumer: AIOKafkaConsumer) -> None:
        """One round: lag per partition, and whether anything moves. Raises `Stalled`."""
        job, now = self._job, time.monotonic()
        answer_s = job.settings.kafka.probe_timeout_s
        # A runner that was refused and joins again is not lost: a new process could do no more.
        if job.unassigned_since is not None and now - max(job.unassigned_since, job.joining_since) > job.settings.worker.rebalance_max_s:
            log.error("out_of_group", seconds=round(now - job.unassigned_since), **self._state(now))
            raise Stalled
        partitions = [TopicPartition(*partition) for partition in job.assigned if partition[0] not in self._ownership.unread.missing]
        async with asyncio.timeout(answer_s):
            unread_lags = await self._unread_lags(consumer, now)
        if not partitions:
            job.metrics.lag(unread_lags)
            self._since = now
            return
        async with asyncio.timeout(answer_s):
            ends = await consumer.end_offsets(partitions)
            positions = await self._positions(consumer, partitions)
            await self._owe([tp for tp in partitions if self._seen.get(tp) == positions[tp]])
            # Asked after the ends, which are looked up by name: the end of a topic that was made anew meanwhile is no loss of the one before.
            still = await job.intake.unchanged({tp.topic for tp in partitions})
        tails = {tp: (positions[tp], ends[tp]) for tp in partitions}
        kept = {partition: tail for partition, tail in self.tails.items() if partition[0] not in still}
        self.tails = kept | {(tp.topic, tp.partition): tail for tp, tail in tails.items() if tp.topic in still}
        job.metrics.lag(unread_lags | {(tp.topic, tp.partition): self._lag(tp, at, end, now) for tp, (at, end) in tails.items()})
        moved, self._seen = positions != self._seen, positions
        waiting = any(end > at for at, end in tails.values())
        self._say_if_stuck(now)
        blocked = job.intake.in_flight > 0 or not job.intake.available or bool(job.intake.flood)
        if moved or blocked or not waiting:
            self._since = now
        elif now - self._since > job.settings.worker.stall_timeout_s:
            if await self._records_wait(consumer, tails):
                log.error("stalled", seconds=round(now - self._since), lag=sum(max(end - at, 0) for at, end in tails.values()), **self._state(now))
                raise Stalled
            self._since = now

    def _lag(self, tp: TopicPartition, at: int, end: int, now: float) -> tuple[int, float, float]:
        """Records that wait on a partition, the age of the oldest, and for how long nothing has moved there; the last two in seconds.

        The record that the worker works on has a timestamp. One that is still to be read is younger than the latest done one, and has waited for at
        least as long as this has seen records wait.
        """
        if at >= end:
            self._waiting.pop(tp, None)
            return 0, 0.0, 0.0
        began, moved = self._waiting.get(tp, (now, now))
        if self._seen.get(tp, at) != at:
            moved = now
        self._waiting[tp] = began, moved
        intake, wall_ms = self._job.intake, time.time() * 1000
        progress = intake.progress((tp.topic, tp.partition))
        if progress is not None and (head := progress.oldest) is not None:
            still_s = intake.standstill_s(progress)
            return end - at, max((wall_ms - head.first_ms) / 1000, 0.0) if head.first_ms >= 0 else still_s, still_s
        age_s = now - began
        if progress is not None and progress.done_ms >= 0:
            age_s = min(age_s, max((wall_ms - progress.done_ms) / 1000, 0.0))
        return end - at, age_s, now - moved

    async def _unread_lags(self, consumer: AIOKafkaConsumer, now: float) -> dict[tuple[str, int], tuple[int, float, float]]:
        """Note what nobody reads; return its lag, if this worker is the one to report it for the group."""
        unread, was = self._ownership.unread, self._unread
        self._unread = unread.why()
        if self._unread and self._unread != was:
            log.warning("partitions_unread", message=self._unread)
        elif was and not self._unread:
            log.info("partitions_read")
        if not unread.ours:
            return {}
        partitions = [TopicPartition(*partition) for partition in unread.partitions]
        begins, ends = await self._begins(consumer, partitions), await consumer.end_offsets(partitions)
        return {(tp.topic, tp.partition): self._lag(tp, begins[tp], ends[tp], now) for tp in partitions}

    def _say_if_stuck(self, now: float) -> None:
        """One line for work in flight that does not move, though every stage is there: at once when that is noticed, and again after as long."""
        job, limit_s = self._job, self._job.settings.worker.stall_timeout_s
        slowest = job.intake.slowest()
        if slowest and job.intake.available and not job.intake.flood and min(slowest[2], now - self._told_at) > limit_s:
            self._told_at = now
            log.warning("in_flight_stuck", seconds=round(slowest[2]), **self._state(now))

    def _state(self, now: float) -> dict[str, Any]:
        """Facts that distinguish one standstill from another: what is held and where, whether the runner still polls, and after which rebalance."""
        job, worker = self._job, self._job.settings.worker
        held: dict[str, Any] = {}
        if (slowest := job.intake.slowest()) is not None:
            (topic, partition), piece, _ = slowest
            held = {"topic": topic, "partition": partition, "offset": piece.first, "stage": piece.stage}
        polled = {} if job.polled_at is None else {"polled_s": round(now - job.polled_at, 1)}
        return {
            "in_flight": job.intake.in_flight,
            "window": worker.window_records,
            "partitions": len(job.assigned),
            "rebalances": job.rebalances,
            **polled,
            **held,
        }
