"""Watches that work which waits is taken up, and measures lag; a worker never sits silently outside its group."""

import asyncio
import time

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from streams.clients import client_options
from streams.closing import close_client
from streams.runners.base import Job, Stalled

log = structlog.get_logger(__name__)

LAG_INTERVAL_S = 5.0


class Watchdog:
    """Compares the ends of the input partitions with what the worker has settled.

    A stall is: records wait on an assigned partition, nothing is in flight, nothing is paused by an outage, and nothing
    has been settled for `stall_timeout_s`. Waiting for an unavailable stage or a broker that is down is not a stall: the
    readiness page and the metrics say it. A worker whom no rebalance has given even an empty assignment for longer than
    any rebalance takes has fallen out of its group without a word: a stall too.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._since = time.monotonic()
        self._seen: dict[tuple[str, int], int] = {}
        self._loop_at = time.monotonic()

    @property
    def _rebalance_max_s(self) -> float:
        """Every member has the rebalance timeout to join anew, and a dead one is noticed after its session; twice, for a second round."""
        worker = self._job.settings.worker
        return 2 * (worker.rebalance_timeout_s + worker.session_timeout_s)

    def loop_alive(self) -> bool:
        """False when the event loop has not come round for a while; read from another thread."""
        return time.monotonic() - self._loop_at < max(30.0, 4 * LAG_INTERVAL_S)

    async def run(self) -> None:
        """Watch until cancelled. Raises `Stalled`."""
        consumer: AIOKafkaConsumer | None = None
        try:
            while True:
                await self._pause()
                try:
                    if consumer is None:
                        fresh = AIOKafkaConsumer(**client_options(self._job.settings.kafka), enable_auto_commit=False)
                        await fresh.start()
                        consumer = fresh
                    await self._look(consumer)
                except (KafkaError, OSError, TimeoutError):
                    self._since = time.monotonic()  # no broker, no verdict
                    if self._job.unassigned_since is not None:
                        self._job.unassigned_since = self._since
        finally:
            if consumer is not None:
                await close_client(consumer.stop)

    async def _pause(self) -> None:
        """Sleep for one interval, in steps that show the loop is alive."""
        until = time.monotonic() + LAG_INTERVAL_S
        while (now := time.monotonic()) < until:
            self._loop_at = now
            await asyncio.sleep(min(1.0, until - now))

    async def _look(self, consumer: AIOKafkaConsumer) -> None:
        """One round: lag per partition, and whether anything moves."""
        job = self._job
        if job.unassigned_since is not None:
            await asyncio.wait_for(consumer.topics(), 10)  # asks the broker, so that its outage is not taken for ours
            if job.unassigned_since is not None and time.monotonic() - job.unassigned_since > self._rebalance_max_s:
                log.error("out_of_group", seconds=round(time.monotonic() - job.unassigned_since))
                raise Stalled
        assigned = set(job.assigned)
        partitions = [TopicPartition(*partition) for partition in assigned]
        ends = await asyncio.wait_for(consumer.end_offsets(partitions), 10) if partitions else {}
        lags: dict[tuple[str, int], tuple[int, float]] = {}
        waiting = False
        moved = False
        now = time.monotonic()
        for tp, end in ends.items():
            partition = (tp.topic, tp.partition)
            position = job.positions.get(partition)
            if position is None:
                waiting = waiting or end > 0
                continue
            moved = moved or position != self._seen.get(partition)
            self._seen[partition] = position
            lag = max(end - position, 0)
            waiting = waiting or lag > 0
            lags[partition] = (lag, now - job.intake.progress_at if lag else 0.0)
        job.metrics.lag(lags)
        blocked = job.intake.in_flight > 0 or not job.intake.available
        if moved or blocked or not waiting:
            self._since = now
        elif now - self._since > job.settings.worker.stall_timeout_s:
            log.error("stalled", seconds=round(now - self._since), lag=sum(lag for lag, _ in lags.values()))
            raise Stalled
