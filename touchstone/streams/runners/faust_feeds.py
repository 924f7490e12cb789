"""What a Faust agent does with what it is given: records go to the intake, and what is done goes to Faust's commits.

One feed for each fetcher: the stock one yields events one by one, ours slices of records.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from touchstone.streams.intake.offsets import TopicPartition
from touchstone.streams.runners.base import Job
from touchstone.streams.wire.codec import Record

log = structlog.get_logger(__name__)

#: Bounds of how long an event waits for a slice to fill before it is scored: Faust yields events one by one, slices are cheaper.
#: A quiet stream waits the short time, a busy one up to the long time, where slices fill before it has passed.
LINGER_MIN_S = 0.002
LINGER_MAX_S = 0.025
#: A flush that finds so many events gathered belongs to a busy stream.
BUSY_RECORDS = 16
#: The value of a record that Faust's consumer makes up itself, known by its identity: the partition had to be sought. Its key is where it could not be read.
MOVED = b"moved"


class _FaustRecord:
    """A Faust message in the form that the codec reads: milliseconds, and headers as pairs."""

    __slots__ = ("event", "headers", "key", "offset", "partition", "timestamp", "topic", "value")

    def __init__(self, event: Any) -> None:
        message = event.message
        self.event = event
        self.topic: str = message.topic
        self.partition: int = message.partition
        self.offset: int = message.offset
        self.timestamp = round((message.timestamp or 0) * 1000)  # Faust divides it by 1000
        self.key: bytes | None = message.key
        self.value: bytes | None = message.value
        headers = message.headers
        self.headers: list[tuple[str, bytes]] = list(headers.items()) if isinstance(headers, dict) else list(headers or ())


class EventFeed:
    """Between the stock fetcher's agent and the intake: gathers events into slices, and acknowledges them in order."""

    def __init__(self, app: Any, job: Job) -> None:
        self._app = app
        self._job = job
        self._gathered: dict[TopicPartition, list[_FaustRecord]] = {}
        self._unacknowledged: dict[TopicPartition, deque[Any]] = {}
        self._taken: dict[TopicPartition, int] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._linger_s = LINGER_MIN_S
        self._jumps: dict[TopicPartition, int] = {}
        self.closed = False
        self.fenced = True

    async def take(self, event: Any) -> None:
        """Take one event from the stream. Waits while the window is full, which pauses the stream."""
        intake = self._job.intake
        if not intake.has_room():
            self.flush()
            await intake.room()
        message = event.message
        # Faust counts the generation up only when the next assignment is there; until then its number does not fence.
        if self.closed or self.fenced or message.generation_id != self._app.consumer_generation_id:
            return  # of an assignment that has ended: the partition's new owner consumes it
        partition = (message.topic, message.partition)
        if message.value is MOVED:
            self._go_on(partition, message.offset, int(message.key))
            return
        if message.offset <= self._taken.get(partition, -1):
            return
        self._taken[partition] = message.offset
        gathered = self._gathered.setdefault(partition, [])
        gathered.append(_FaustRecord(event))
        if len(gathered) >= self._job.settings.worker.slice_records:
            self._start(partition)
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._linger_s, self.flush)

    def flush(self) -> None:
        """Hand every gathered slice to the intake."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        busy = sum(map(len, self._gathered.values())) >= BUSY_RECORDS
        self._linger_s = min(self._linger_s * 2, LINGER_MAX_S) if busy else max(self._linger_s / 2, LINGER_MIN_S)
        for partition in list(self._gathered):
            self._start(partition)

    def _go_on(self, partition: TopicPartition, start: int, position: int) -> None:
        """Everything that was fetched before a partition had to be sought has been taken: now it goes on from `start` instead of `position`."""
        self._start(partition)
        self._job.go_on(partition, start, position)
        self._taken[partition] = start - 1
        if position > start:
            self._unacknowledged.pop(partition, None)
            self._app.consumer.restart(partition, start)
        else:
            self._jumps[partition] = start

    def _start(self, partition: TopicPartition) -> None:
        records = self._gathered.pop(partition, None)
        if records:
            self._unacknowledged.setdefault(partition, deque()).extend(record.event for record in records)
            self._job.intake.start(partition, records)

    async def settle(self) -> None:
        """Acknowledge what is done to Faust, which commits it on its next tick."""
        worker = self._job.settings.worker
        try:
            async with asyncio.timeout(worker.commit_timeout_s):
                offsets = await self._job.intake.settle()
        except TimeoutError:
            self._job.metrics.count("commit_failures")
            return
        for partition, after in offsets.items():
            waiting = self._unacknowledged.get(partition)
            while waiting and waiting[0].message.offset < after:
                waiting.popleft().ack()
        if offsets:
            self._job.on_committed(offsets)
        for partition in [partition for partition, start in self._jumps.items() if offsets.get(partition, -1) >= start]:
            del self._jumps[partition]
            self._app.consumer.jump(partition, offsets[partition])
            self._job.owed[partition] = offsets[partition]
        if self._job.owed:
            await self._repay()

    async def _repay(self) -> None:
        """Commit once more what the broker does not have, past Faust's own books, which say that it has."""
        owed = dict(self._job.owed)
        try:
            async with asyncio.timeout(self._job.settings.worker.commit_timeout_s):
                committed = await self._app.consumer.commit_now(owed)
        except TimeoutError:
            committed = False
        if committed:
            self._job.paid(owed)
        else:
            self._job.metrics.count("commit_failures")

    def forget(self) -> None:
        """A rebalance: gathered and unacknowledged events belong to this worker no more, and no event is taken until it has ended."""
        self.fenced = True
        self._gathered.clear()
        self._unacknowledged.clear()
        self._taken.clear()
        self._jumps.clear()


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive records of one partition on their way to the agent. `epoch`: of the assignment in which their fetch began; `number`: counts them there."""

    epoch: int
    number: int
    partition: TopicPartition
    records: Sequence[Record]


class BatchFeed:
    """Between our fetcher's agent and the intake. What it settles, Faust's consumer commits from the job's books (`Job.owed`).

    `epoch`: raised at every rebalance, at its beginning and at its end. `behind`: records were fetched and then dropped, so the next fetch must begin at
    what is committed.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._made = 0
        self._taken = 0
        self._next: dict[TopicPartition, int] = {}
        self.epoch = 0
        self.behind = False
        self.closed = False
        self.fenced = True

    def batch(self, epoch: int, partition: TopicPartition, records: Sequence[Record]) -> Batch:
        """The next batch for the channel."""
        self._made += 1
        return Batch(epoch, self._made, partition, records)

    def is_stale(self, epoch: int) -> bool:
        """True if what was fetched in that epoch belongs to this worker no more, or is not begun any more."""
        return self.closed or self.fenced or epoch != self.epoch

    async def take(self, batch: Batch) -> None:
        """Take one batch from the channel. Waits while the window is full, which stops the fetcher."""
        if self.is_stale(batch.epoch):
            return  # the partition's new owner fetches it again
        if batch.number != self._taken + 1:
            self.lost()
            return
        intake = self._job.intake
        while not intake.has_room():
            await intake.room()
        if self.is_stale(batch.epoch):
            return
        self._start(batch.partition, batch.records)
        self._taken = batch.number

    def _start(self, partition: TopicPartition, records: Sequence[Record]) -> None:
        """Hand over what has not been handed over: a seek to what is committed brings some of it again."""
        if records[0].value is MOVED:
            start, position = records[0].offset, int(records[0].key or b"0")
            self._job.go_on(partition, start, position)
            self._next[partition] = start
            return
        expected = self._next.get(partition, 0)
        if records[0].offset < expected:
            records = [record for record in records if record.offset >= expected]
        if records:
            self._next[partition] = records[-1].offset + 1
            self._job.intake.start(partition, records)

    def lost(self) -> None:
        """A batch has not arrived, and what comes behind it must not be committed: everything begins again at what is committed."""
        log.warning("batch_lost")
        self._begin_epoch()
        self.behind = True
        self._job.intake.revoke()

    def _begin_epoch(self) -> None:
        self.epoch += 1
        self._made = self._taken = 0
        self._next.clear()

    def flush(self) -> None:
        """Nothing: it gathers nothing."""

    async def settle(self) -> None:
        """Note what is done; Faust commits it on its next tick."""
        try:
            async with asyncio.timeout(self._job.settings.worker.commit_timeout_s):
                offsets = await self._job.intake.settle()
        except TimeoutError:
            self._job.metrics.count("commit_failures")
            return
        self._job.owed.update(offsets)

    def forget(self) -> None:
        """A rebalance: what was fetched belongs to this worker no more, and nothing is taken until it has ended."""
        self.fenced = True
        self._begin_epoch()
