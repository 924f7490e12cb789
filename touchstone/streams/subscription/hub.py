"""Hands each event to every watcher that wants it, and never waits for one of them.

Watchers with the same filter share a channel: its events are chosen and encoded once. A client that has taken everything is handed a batch at once,
without its task; hundreds of tasks to wake for each batch would cost more than the bytes. Else the batch waits in the watcher's bounded queue; what
does not fit is dropped and counted, and the watcher gets a `Gap`. Everything here runs on one event loop.
"""

import asyncio
import time
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any

from touchstone.schemas.settings.house import ServeSettings
from touchstone.streams.subscription.events import Event, Filter, Outcomes
from touchstone.streams.subscription.items import Batch, Beat, Closing, Item, Reset, ResetReason
from touchstone.streams.subscription.positions import Clock, Place, Positions, TopicIds
from touchstone.streams.subscription.watcher import Watcher
from touchstone.streams.subscription.window import Seen, Window
from touchstone.streams.telemetry.serve_counts import ServeCounts

#: One piece for a watcher: what a stalled client's connection may hold at most.
PIECE_BYTES = 65_536
#: Events of the snapshot after a reset that nobody asked for.
SNAPSHOT_AFTER_RESET = 100
TICK_S = 0.25
#: Says to a watcher that what follows is new.
CAUGHT_UP = "caught up"

#: While the past is read, everyone hears how far this often.
PROGRESS_S = 1.0
CONNECTING = "connecting to the broker"

#: An event, outcomes, or nothing that is counted; its partition and its offset.
Arrival = tuple[Place, int, Event | Outcomes | None]


class Hub:
    """The window of latest events and the watchers of one process.

    `generation` changes when the topics have been replaced (`lost`: how that was met): positions of an earlier one mean nothing. `fault`: why no
    events come at the moment; None while they do. `ends`: the topics' ends as last asked for. `catching_up`: records read and records to read, while
    earlier events are read, at the start and after an outage; None once what comes is new.
    """

    def __init__(self, settings: ServeSettings, counts: ServeCounts | None = None) -> None:
        self.settings = settings
        self.counts = counts or ServeCounts()
        self.started_at = time.time()
        self.generation = 0
        self.lost: ResetReason = "unknown"
        self.fault: str | None = CONNECTING
        self.catching_up: tuple[int, int] | None = None
        self._goal: tuple[Positions, int] | None = None
        self.fault_since = time.time()
        self.closing = False
        self.window = Window({}, settings.window_events, settings.window_bytes)
        self.ends: Positions = {}
        self.live = asyncio.Event()
        self.counts.window = lambda: (len(self.window), self.window.bytes)
        self.counts.clients_max = settings.clients_max
        #: Ids of the topics, which are part of every position.
        self.topics: TopicIds = {}
        self._clock = Clock({})
        self._channels: dict[Filter, set[Watcher]] = {}
        self._published = asyncio.Event()

    @property
    def positions(self) -> Positions:
        """Next offset of every partition; do not change it."""
        return self._clock.positions

    @property
    def id(self) -> str:
        """The positions as text."""
        return self._clock.text

    @property
    def watchers(self) -> int:
        """How many watchers follow live."""
        return sum(len(watchers) for watchers in self._channels.values())

    # -- what the reader calls

    def begin(self, start: Mapping[Place, int], arrivals: Iterable[Arrival] = (), reason: ResetReason | None = None, topics: TopicIds | None = None) -> None:
        """Start, or start again, with the latest events of the log. `start`: the positions before them. `topics`: their ids, where they have any.

        `reason`: why positions from before mean nothing now; every watcher then gets it, and a snapshot.
        """
        self.topics = dict(topics or {})
        self.catching_up = self._goal = None
        self.window = Window(start, self.settings.window_events, self.settings.window_bytes)
        self._clock = Clock(start, self.topics)
        self._arrive(arrivals)
        if reason is not None:
            self.generation += 1
            self.lost = reason
            for chosen, watchers in self._channels.items():
                for watcher in watchers:
                    watcher.clear()
                    watcher.add_notice(Reset(reason))
                    self.snapshot(watcher, chosen, SNAPSHOT_AFTER_RESET)
        self._wake()

    def add_partition(self, place: Place, start: int) -> None:
        """A partition that the topics did not have before."""
        if place not in self._clock.positions:
            self._clock.advance(place, start)
            self.window.start[place] = start

    def publish(self, arrivals: Iterable[Arrival]) -> None:
        """Events in order: into the window, and to everyone who wants them."""
        before = self._clock.text
        fresh = self._arrive(arrivals)
        if fresh:
            for chosen, watchers in self._channels.items():
                self._fan_out(fresh, before, chosen, watchers)
        self._wake()
        self._count_down()

    def aim(self, ends: Mapping[Place, int]) -> None:
        """From here the events up to `ends` are of the past: they came while no one read."""
        total = self._unread(ends)
        self._goal = (dict(ends), total) if total else None
        self.catching_up = (0, total) if total else None

    def caught_up(self) -> None:
        """Everything up to the goal has been read."""
        if self.catching_up is not None:
            self.catching_up = self._goal = None
            self._notify(Beat(note=CAUGHT_UP))

    def _count_down(self) -> None:
        """Compare what has been read with the goal."""
        if self._goal is not None:
            ends, total = self._goal
            left = self._unread(ends)
            self.catching_up = (max(0, total - left), total)
            if not left:
                self.caught_up()

    def _unread(self, ends: Mapping[Place, int]) -> int:
        """How many records lie between what has been read and these ends."""
        return sum(max(0, end - self.positions.get(place, 0)) for place, end in ends.items())

    @property
    def progress(self) -> str:
        """How far the past has been read, as a line; empty where nothing is to be read."""
        return "" if self.catching_up is None else "catching up {:,} of {:,}".format(*self.catching_up)

    def _arrive(self, arrivals: Iterable[Arrival]) -> list[Seen]:
        """Count what has come, and keep it."""
        fresh: list[Seen] = []
        for place, offset, found in arrivals:
            self._clock.advance(place, offset + 1)
            if isinstance(found, Event):
                seen = Seen(self._clock.text, found)
                self.window.add(seen)
                fresh.append(seen)
                self.counts.record("result" if found.is_result else "report")
            elif found is None:
                self.counts.record("unreadable")
            else:
                self.window.outcomes.append(found)
                self.counts.record("ledger")
        return fresh

    def _wake(self) -> None:
        """Wake the streams that wait for the next events."""
        self._published.set()
        self._published = asyncio.Event()

    def _fan_out(self, fresh: Sequence[Seen], before: str, chosen: Filter, watchers: set[Watcher]) -> None:
        """One channel's share of what is new."""
        for batch in pieces([seen for seen in fresh if chosen.admits(seen.event)]):
            for watcher in watchers:
                watcher.offer(batch, before)
            before = batch.seen[-1].id

    def online(self) -> None:
        """Events come."""
        if self.fault is not None and self.live.is_set():
            self._notify(Beat(note="kafka is back"))
        self.fault = None
        self.counts.broker(up=True)
        self.live.set()

    def offline(self, why: str) -> None:
        """No events come, for the time being."""
        if self.fault is None:
            self._notify(Beat(note="kafka is away"))
            self.fault_since = time.time()
        self.fault = why
        self.counts.broker(up=False)

    async def tick(self) -> None:
        """Give every quiet watcher a sign of life, and all of them how far the past has been read, until cancelled."""
        reported = 0.0
        while True:
            await asyncio.sleep(min(TICK_S, self.settings.heartbeat_s))
            now = time.monotonic()
            if self.catching_up is not None and now - reported >= PROGRESS_S:
                reported = now
                self._notify(Beat(note=self.progress))
            for watcher in self._everyone():
                if watcher.is_idle and now - watcher.idle_since >= self.settings.heartbeat_s:
                    watcher.idle_since = now
                    watcher.add_notice(Beat(self.id))

    def close(self) -> None:
        """Tell every watcher that the service ends."""
        self.closing = True
        for watcher in self._everyone():
            watcher.add_notice(Closing(self.id if watcher.is_idle else None))
        self.live.set()
        self._published.set()

    # -- what a watcher's stream calls

    def join(self, watcher: Watcher, chosen: Filter) -> None:
        """From now on the watcher gets what its filter admits."""
        self._channels.setdefault(chosen, set()).add(watcher)
        if self.closing:
            watcher.add_notice(Closing(self.id))

    def snapshot(self, watcher: Watcher, chosen: Filter, most: int) -> None:
        """Queue the latest events that a watcher wants, and where it then is."""
        for batch in pieces(self.window.last(most, chosen.admits)):
            watcher.preload(batch)
        watcher.add_notice(Beat(self.id))

    def leave(self, watcher: Watcher, chosen: Filter) -> None:
        """The watcher is gone."""
        watcher.clear()
        watchers = self._channels.get(chosen, set())
        watchers.discard(watcher)
        if not watchers:
            self._channels.pop(chosen, None)

    def published(self) -> Coroutine[Any, Any, Any]:
        """Wait for the next events: those after this call, whenever it is awaited."""
        return self._published.wait()

    def _everyone(self) -> list[Watcher]:
        return [watcher for watchers in self._channels.values() for watcher in watchers]

    def _notify(self, item: Item) -> None:
        for watcher in self._everyone():
            watcher.add_notice(item)


def pieces(seen: Sequence[Seen]) -> Iterable[Batch]:
    """Events cut into batches of a bounded size; one that is larger is alone."""
    part: list[Seen] = []
    size = 0
    for one in seen:
        length = len(one.event.value)
        if part and size + length > PIECE_BYTES:
            yield Batch(part)
            part, size = [], 0
        part.append(one)
        size += length
    if part:
        yield Batch(part)
