"""What every runner is given, what it tells about itself, and the clock that runners share."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from touchstone.schemas.settings.house import Settings
from touchstone.streams.intake.intake import Intake
from touchstone.streams.intake.offsets import TopicPartition
from touchstone.streams.telemetry.metrics import WorkerMetrics

#: How often a runner looks whether it is told to stop, and the longest an idle poll waits.
POLL_S = 0.2


class Unreadable(Exception):
    """The client library cannot read what lies on a partition; no worker will get past it without help."""


class Stalled(Exception):
    """The watchdog found work waiting and nobody taking it up; the process ends so that its supervisor starts a new one."""


def mixed_runners(group: str, runner: str, other: str) -> str:
    """What to say where the group's coordinator refuses a member because the others speak another protocol: the runners do."""
    return (
        f"group {group}: its other workers run with --runner {other} (or are not Touchstone workers), and a group cannot mix them with {runner}; "
        f"stop them first, or start this one with --runner {other}"
    )


@dataclass(slots=True)
class Job:
    """One worker process: the intake it drives and where the events come from.

    `positions`: partition → next offset to settle, as far as this process knows; read by the watchdog.
    `owed`: settled offsets that are not committed, though a commit was made: to be committed once more. `unassigned_since`: monotonic time since which no
    rebalance has given this member an assignment (an empty one counts as one); None while it has one.
    """

    settings: Settings
    intake: Intake
    metrics: WorkerMetrics
    topics: tuple[str, ...]
    group: str
    stop: asyncio.Event
    assigned: set[TopicPartition] = field(default_factory=set)
    positions: dict[TopicPartition, int] = field(default_factory=dict)
    owed: dict[TopicPartition, int] = field(default_factory=dict)
    unassigned_since: float | None = field(default_factory=time.monotonic)
    joined_at: float | None = None

    def on_assigned(self, partitions: set[TopicPartition]) -> None:
        """A rebalance has ended: everything known of the partitions before is void."""
        self.intake.revoke()
        self.assigned = set(partitions)
        self.positions.clear()
        self.owed.clear()
        self.unassigned_since = None
        self.joined_at = time.monotonic()
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

    def paid(self, offsets: Mapping[TopicPartition, int]) -> None:
        """What was owed has been committed, unless more is owed by now."""
        for partition, offset in offsets.items():
            if self.owed.get(partition) == offset:
                del self.owed[partition]


class Clock:
    """Calls `act` at an interval, in a task of its own, until it is ended.

    Trap: Python 3.11's `asyncio.wait_for`, with which aiokafka makes its calls, swallows a cancellation that arrives as its
    work is done. A loop that is only cancelled then goes on for ever, and whoever waits for it does, too. So the loop looks
    at a flag, and the end is not waited for without a bound.
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
        """Let the call that is under way finish, for so long; then leave it behind. Raises what ended the task before its time."""
        self._ended.set()
        _, late = await asyncio.wait({self._task}, timeout=patience_s)
        if late:
            self._task.cancel()
        elif not self._task.cancelled():
            self._task.result()
