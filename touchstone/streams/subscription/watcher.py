"""One client's bounded queue, and the short way past it for a client that has taken everything."""

import asyncio
import time
from collections import deque
from collections.abc import Callable

from touchstone.schemas.settings.house import ServeSettings
from touchstone.streams.subscription.items import Batch, Gap, Item
from touchstone.streams.telemetry.serve_counts import ServeCounts

#: Hands events to a client at once; False if it takes none at the moment.
Outlet = Callable[[Batch], bool]


class Watcher:
    """One client's queue. `take` from one task; everything else is called by the hub.

    `outlet`: used while the task waits for more, which means that everything before has been sent.
    """

    def __init__(self, settings: ServeSettings, counts: ServeCounts, outlet: Outlet | None = None) -> None:
        self._events_max, self._bytes_max = settings.queue_events, settings.queue_bytes
        self._counts = counts
        self._outlet = outlet
        self._is_waiting = False
        self._queue: deque[Item] = deque()
        self._events = 0
        self._bytes = 0
        self._dropped = 0
        self._resume = ""
        self._wake = asyncio.Event()
        self.idle_since = time.monotonic()

    @property
    def is_idle(self) -> bool:
        """True if everything that came has been taken."""
        return not self._queue and not self._dropped

    def offer(self, batch: Batch, before: str) -> None:
        """Hand events over, or queue them, or drop them where the queue is full. `before`: the position before them."""
        if self._is_waiting and self._outlet is not None and self._outlet(batch):
            self.idle_since = time.monotonic()
            return
        count = len(batch)
        is_full = self._events and (self._events + count > self._events_max or self._bytes + batch.size > self._bytes_max)
        if self._dropped or is_full:
            if not self._dropped:
                self._resume = before
            self._dropped += count
            self._counts.dropped(count)
            self._rouse()
        else:
            self.preload(batch)

    def add_notice(self, item: Item) -> None:
        """Queue an item that is not an event; such items are few, and never dropped."""
        self._queue.append(item)
        self._rouse()

    def preload(self, batch: Batch) -> None:
        """Queue events that were asked for, whatever the queue holds."""
        self._queue.append(batch)
        self._events += len(batch)
        self._bytes += batch.size
        self._counts.queued(len(batch))
        self._rouse()

    def clear(self) -> None:
        """Forget what is queued."""
        self._counts.queued(-self._events)
        self._queue.clear()
        self._events = self._bytes = self._dropped = 0

    async def take(self) -> Item:
        """The next item, when there is one."""
        while not self._queue:
            if self._dropped:
                gap = Gap(self._dropped, self._resume)
                self._dropped = 0
                return gap
            self._wake.clear()
            self._is_waiting = True
            await self._wake.wait()
        item = self._queue.popleft()
        if isinstance(item, Batch):
            self._events -= len(item)
            self._bytes -= item.size
            self._counts.queued(-len(item))
        self.idle_since = time.monotonic()
        return item

    def _rouse(self) -> None:
        """Let the task go on; until it waits again, what comes is queued behind this."""
        self._is_waiting = False
        self._wake.set()
