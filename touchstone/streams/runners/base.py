"""What runners share: their job, their errors and their clock."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog
from aiokafka.errors import KafkaError, NoOffsetForPartitionError, OffsetOutOfRangeError

from touchstone.schemas.settings.house import Settings
from touchstone.streams.intake.intake import Intake
from touchstone.streams.intake.offsets import TopicPartition
from touchstone.streams.telemetry.metrics import WorkerMetrics

log = structlog.get_logger(__name__)

#: How often a runner checks whether it should stop, and the longest that an idle poll waits.
POLL_S = 0.2
#: The least and the longest pause after a fetch of small slices.
PACE_S, PACE_MAX_S = 0.01, 0.1
#: How long a second fetch waits where the one before it brought small slices.
SOON_S = 0.005


#: A consumer that does not choose where to read raises these: nothing is committed, or the log does not have the offset.
NOWHERE = (NoOffsetForPartitionError, OffsetOutOfRangeError)


def places_of(error: KafkaError) -> dict[Any, int | None]:
    """Partition → the offset that was asked for, of one of these errors; None if nothing is committed."""
    (found,) = error.args
    return dict(found) if isinstance(error, OffsetOutOfRangeError) else {found: None}


class Unreadable(Exception):
    """The client library cannot read a batch of a partition; no worker gets past it without intervention."""


class Stalled(Exception):
    """The watchdog found records that wait and are not read; the process ends so that its supervisor starts a new one."""


def mixed_runners(group: str, runner: str, other: str) -> str:
    """The error where the group's coordinator refuses a member because the others use another protocol, as another runner does."""
    return (
        f"group {group}: its other workers run with --runner {other} (or are not Touchstone workers), and a group cannot mix them with {runner}; "
        f"stop them first, or start this one with --runner {other}"
    )


@dataclass(slots=True)
class Job:
    """One worker process: the intake it drives and where the events come from.

    `begins`: where partitions begin that the group has not committed on; 0 for all others.
    `positions`: partition → next offset to settle, as far as this process knows; read by the watchdog.
    `owed`: settled offsets that are not committed, though a commit was made: to be committed once more. `unassigned_since`: monotonic time since which no
    rebalance has given this member an assignment (an empty one counts as one); None while it has one. `joining_since`: monotonic time of the latest attempt to
    join the group anew. `polled_at`: monotonic time of the latest poll, where the runner polls itself. `rebalances`: assignments so far.
    """

    settings: Settings
    intake: Intake
    metrics: WorkerMetrics
    topics: tuple[str, ...]
    group: str
    stop: asyncio.Event
    begins: Mapping[TopicPartition, int] = field(default_factory=dict)
    assigned: set[TopicPartition] = field(default_factory=set)
    positions: dict[TopicPartition, int] = field(default_factory=dict)
    owed: dict[TopicPartition, int] = field(default_factory=dict)
    unassigned_since: float | None = field(default_factory=time.monotonic)
    joining_since: float = field(default_factory=time.monotonic)
    joined_at: float | None = None
    rebalances: int = 0
    polled_at: float | None = None

    def begin_of(self, partition: TopicPartition) -> int:
        """Where a partition begins that the group has not committed on: it appeared after the group, so nothing of it has been read."""
        return self.begins.get(partition, 0)

    def go_on(self, partition: TopicPartition, start: int, position: int | None) -> int:
        """Where to read on, when Kafka has no record to give: `start` is where its log begins now, `position` what was asked for; None if nothing is committed.

        Offsets that were deleted unread are told as expired. A position past the log's end is of a topic that was deleted and made anew.
        """
        at = self.begin_of(partition) if position is None else position
        if at < start:
            self.intake.expired(partition, at, start)
            return start
        if position is None:
            return at
        log.warning("position_past_end", topic=partition[0], partition=partition[1], offset=position)
        self.restart(partition, start)
        return start

    def restart(self, partition: TopicPartition, start: int) -> None:
        """Forget a partition's past, and have its new beginning committed."""
        self.intake.revoke([partition])
        self.positions.pop(partition, None)
        self.owed[partition] = start

    def on_joining(self) -> None:
        """The runner joins the group anew, because it knows that its membership has ended: it has not dropped out in silence."""
        self.joining_since = time.monotonic()

    @property
    def unassigned_s(self) -> float:
        """How long no rebalance has given this member an assignment; 0 while it has one."""
        since = self.unassigned_since
        return 0.0 if since is None else time.monotonic() - since

    def on_assigned(self, partitions: set[TopicPartition]) -> None:
        """A rebalance has ended: everything recorded about the partitions before it is void."""
        self.intake.revoke()
        self.assigned = set(partitions)
        self.positions.clear()
        self.owed.clear()
        self.unassigned_since = None
        self.joined_at = time.monotonic()
        self.rebalances += 1
        self.metrics.count("rebalances")
        self.metrics.gauge("assigned_partitions", len(partitions))

    def on_revoked(self) -> None:
        """A rebalance begins."""
        self.intake.revoke()
        self.assigned = set()
        self.positions.clear()
        self.owed.clear()
        if self.unassigned_since is None:
            self.unassigned_since = time.monotonic()
        self.metrics.gauge("assigned_partitions", 0)

    def on_committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Offsets were committed."""
        self.positions.update(offsets)
        self.paid(offsets)
        self.metrics.count("commits")

    async def owed_now(self) -> dict[TopicPartition, int]:
        """The owed offsets that may be committed: Kafka takes a commit by the topic's name, also for another topic that was made under it meanwhile.

        None after a rebalance: a partition that came back may have had another owner, who has committed more.
        """
        assigned, owed = self.assigned, dict(self.owed)
        still = await self.intake.unchanged({topic for topic, _ in owed})
        if self.assigned is not assigned:
            return {}
        return {partition: offset for partition, offset in owed.items() if partition[0] in still}

    def are_small(self, sizes: Sequence[int]) -> bool:
        """True if what was fetched, by partition, makes slices that are not full."""
        return sum(sizes) < len(sizes) * self.settings.worker.slice_records

    async def pace(self) -> None:
        """Pause after small slices, at least until the last one has its turn to be scored. What comes meanwhile shares a slice, a question and a request;
        what is fetched earlier only waits for its turn in smaller ones.
        """
        await asyncio.sleep(PACE_S)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PACE_MAX_S - PACE_S):
                await self.intake.caught_up()

    def paid(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Note that the owed offsets have been committed, unless more are owed by now."""
        for partition, offset in offsets.items():
            if self.owed.get(partition) == offset:
                del self.owed[partition]


class Clock:
    """Calls `act` at an interval, in a task of its own, until it is ended.

    Trap: Python 3.11's `asyncio.wait_for`, with which aiokafka makes its calls, swallows a cancellation that arrives as its
    work is done. A loop that is only cancelled then runs on forever, and so does the caller that waits for it. So the loop checks
    a flag, and its end is waited for within a bound only.
    """

    def __init__(self, act: Callable[[], Awaitable[None]], interval_s: float) -> None:
        self._act = act
        self._interval_s = interval_s
        self._ended = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while not self._ended.is_set():
            try:
                async with asyncio.timeout(self._interval_s):
                    await self._ended.wait()
            except TimeoutError:
                await self._act()

    async def end(self, patience_s: float) -> None:
        """Let the call that is under way finish, within a bound; then abandon it. Raises the error that ended the task early."""
        self._ended.set()
        _, late = await asyncio.wait({self._task}, timeout=patience_s)
        if late:
            self._task.cancel()
        elif not self._task.cancelled():
            self._task.result()
