"""The watchdog: checks that waiting records are read, measures lag, and notices a worker that has dropped out of its group."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CorruptRecordException, KafkaError

from touchstone.streams.runners.base import Job, Stalled
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
                    await self._look(consumer)
                except (KafkaError, OSError, TimeoutError) as error:
                    self._silent(type(error).__name__)
                else:
                    self._answered()
        finally:
            if consumer is not None:
                await close_client(consumer.stop)

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
        unknown = [tp for tp in partitions if tp not in known]
        if unknown:
            reset = consumer.beginning_offsets if job.settings.worker.auto_offset_reset == "earliest" else consumer.end_offsets
            resets = await reset(unknown)
            for tp in unknown:
                committed = await consumer.committed(tp)
                known[tp] = resets[tp] if committed is None else max(committed, 0)
        return {tp: job.positions.get((tp.topic, tp.partition), known[tp]) for tp in partitions}

    async def _owe(self, consumer: AIOKafkaConsumer, quiet: list[TopicPartition]) -> None:
        """Request another commit of offsets that are settled and not committed.

        A commit may fail without an error, and an abandoned one may arrive after a later one and set the offset back.
        Where more events come the next commit corrects that, so only quiet partitions are checked.
        """
        job = self._job
        for tp in quiet:
            partition = (tp.topic, tp.partition)
            settled = job.positions.get(partition)
            if settled is None:
                continue
            committed = await consumer.committed(tp)
            if max(committed or 0, 0) < settled and job.positions.get(partition) == settled:
                job.owed[partition] = settled

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
        if job.unassigned_since is not None or not job.assigned:
            async with asyncio.timeout(answer_s):
                await consumer.topics()  # asks the broker, so that its outage is not mistaken for a stall of this worker
            # A runner that was refused and joins again is not lost: a new process could do no more.
            if job.unassigned_since is not None and now - max(job.unassigned_since, job.joining_since) > job.settings.worker.rebalance_max_s:
                log.error("out_of_group", seconds=round(now - job.unassigned_since), **self._state(now))
                raise Stalled
        partitions = [TopicPartition(*partition) for partition in job.assigned]
        if not partitions:
            job.metrics.lag({})
            self._since = now
            return
        async with asyncio.timeout(answer_s):
            ends = await consumer.end_offsets(partitions)
            positions = await self._positions(consumer, partitions)
            await self._owe(consumer, [tp for tp in partitions if self._seen.get(tp) == positions[tp]])
        tails = {tp: (positions[tp], ends[tp]) for tp in partitions}
        moved, self._seen = positions != self._seen, positions
        idle_s = now - job.intake.progress_at
        job.metrics.lag({(tp.topic, tp.partition): (max(end - at, 0), idle_s if end > at else 0.0) for tp, (at, end) in tails.items()})
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

    def _say_if_stuck(self, now: float) -> None:
        """One line for work in flight that does not move, though every stage is there: at once when that is noticed, and again after as long."""
        job, limit_s = self._job, self._job.settings.worker.stall_timeout_s
        idle_s = now - job.intake.progress_at
        if job.intake.in_flight and job.intake.available and not job.intake.flood and min(idle_s, now - self._told_at) > limit_s:
            self._told_at = now
            log.warning("in_flight_stuck", seconds=round(idle_s), **self._state(now))

    def _state(self, now: float) -> dict[str, Any]:
        """Facts that distinguish one standstill from another: what is held and where, whether the runner still polls, and after which rebalance."""
        job, worker = self._job, self._job.settings.worker
        held: dict[str, Any] = {}
        if (oldest := job.intake.oldest) is not None:
            (topic, partition), piece = oldest
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
