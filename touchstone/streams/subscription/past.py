"""Reads events that have left the window from Kafka itself, for a watcher that comes back."""

import asyncio
import heapq
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError, KafkaTimeoutError, OffsetOutOfRangeError

from touchstone.schemas.settings.house import Settings
from touchstone.scorers.backoff import Backoff
from touchstone.streams.subscription.events import Event, EventReader, Filter
from touchstone.streams.subscription.hub import Hub, pieces
from touchstone.streams.subscription.items import Batch, Beat, Item, ResetReason
from touchstone.streams.subscription.positions import Clock, Place, Positions, TopicIds
from touchstone.streams.subscription.window import Seen
from touchstone.streams.wire.clients import client_options
from touchstone.streams.wire.closing import close_client
from touchstone.streams.wire.codec import Record

POLL_MS = 250
POLL_RECORDS_MAX = 500
#: Short, because someone watches; the broker answers at once if there is something.
FETCH_WAIT_MS = 100
#: A broker that returns nothing for this long, with records left to read, counts as gone.
STALL_S = 30.0
GONE = (KafkaError, OSError, TimeoutError)

#: () → first and next offset of every partition, as Kafka has them now.
Bounds = Callable[[], Awaitable[tuple[Positions, Positions]]]


class PositionLost(Exception):
    """A position that cannot be continued."""

    def __init__(self, reason: ResetReason) -> None:
        super().__init__(reason)
        self.reason = reason


class Past:
    """Reads ranges of the topics, for few watchers at a time. `bounds` asks Kafka for the topics' first and next offsets."""

    def __init__(self, settings: Settings, events: EventReader, bounds: Bounds) -> None:
        self._settings = settings
        self._events = events
        self._bounds = bounds
        self._topics = {role: topic for topic, role in events.roles.items()}
        self._places = asyncio.Semaphore(settings.serve.catch_ups_max)

    async def check(self, hub: Hub, reached: Mapping[Place, int], topics: TopicIds) -> None:
        """Raise `PositionLost` for a topic or partition that does not exist, and for a position beyond its end. `topics`: the ids that came with them."""
        if any(hub.topics.get(role, topic_id) != topic_id for role, topic_id in topics.items()):
            raise PositionLost("unknown")
        if not reached.keys() <= hub.positions.keys():
            raise PositionLost("unknown")
        if all(hub.positions[place] >= offset for place, offset in reached.items()):
            return
        # This instance may be behind another one: Kafka itself is asked.
        try:
            _, ends = await self._bounds()
        except GONE:
            ends = hub.ends
        if any(max(ends.get(place, 0), hub.positions[place]) < offset for place, offset in reached.items()):
            raise PositionLost("future")

    async def read(self, hub: Hub, reached: Positions, target: Mapping[Place, int], chosen: Filter) -> AsyncGenerator[Item, None]:
        """The wanted events from `reached` up to `target`; `reached` moves along. Waits for a broker that is away. Raises `PositionLost`."""
        worker = self._settings.worker
        backoff = Backoff(worker.retry_backoff_min_s, worker.retry_backoff_max_s)
        generation = hub.generation
        while not await self._place():
            yield Beat(note="waiting for others who read earlier events")
        try:
            while hub.generation == generation and not hub.closing:
                try:
                    async with aclosing(self._session(reached, target, chosen, hub.topics)) as batches:
                        async for batch in batches:
                            yield batch
                    return
                except OffsetOutOfRangeError:
                    raise PositionLost("expired") from None
                except GONE:
                    yield Beat(note="kafka is away")
                    await asyncio.sleep(backoff.next_s())
        finally:
            self._places.release()

    async def _place(self) -> bool:
        """True if this watcher may read now; False after waiting a while."""
        try:
            await asyncio.wait_for(self._places.acquire(), self._settings.serve.heartbeat_s)
        except TimeoutError:
            return False
        return True

    async def _session(self, reached: Positions, target: Mapping[Place, int], chosen: Filter, topics: TopicIds) -> AsyncGenerator[Batch, None]:
        """Read until every partition is at its target, or something breaks."""
        consumer = log_consumer(self._settings)
        try:
            await consumer.start()
            behind = [place for place, offset in target.items() if reached.get(place, 0) < offset]
            left = {TopicPartition(self._topics[role], number): (role, number) for role, number in behind}
            consumer.assign(list(left))
            begins = await consumer.beginning_offsets(list(left))
            for part, place in left.items():
                if reached.get(place, begins[part]) < begins[part]:
                    raise PositionLost("expired")
                reached[place] = max(reached.get(place, 0), begins[part])
                consumer.seek(part, reached[place])
            moved = time.monotonic()
            while left:
                polled = await consumer.getmany(*left, timeout_ms=POLL_MS, max_records=POLL_RECORDS_MAX)
                for batch in pieces(self._wanted(polled, left, reached, target, chosen, topics)):
                    yield batch
                for part, place in list(left.items()):
                    # Positions count, not records: markers and compacted records have offsets too.
                    if await consumer.position(part) >= target[place]:
                        reached[place] = target[place]
                        del left[part]
                if polled:
                    moved = time.monotonic()
                elif time.monotonic() - moved > STALL_S:
                    raise KafkaTimeoutError
        finally:
            await close_client(consumer.stop)

    def _wanted(
        self,
        polled: Mapping[Any, Sequence[Record]],
        left: Mapping[Any, Place],
        reached: Positions,
        target: Mapping[Place, int],
        chosen: Filter,
        topics: TopicIds,
    ) -> list[Seen]:
        """The wanted events of one poll; `reached` moves along."""
        found: list[Seen] = []
        clock = Clock(reached, topics)
        for record in in_time(polled.values()):
            place = left[TopicPartition(record.topic, record.partition)]
            if not reached[place] <= record.offset < target[place]:
                continue
            reached[place] = record.offset + 1
            clock.advance(place, record.offset + 1)
            event = self._events.read(record)
            if isinstance(event, Event) and chosen.admits(event):
                found.append(Seen(clock.text, event))
        return found


def log_consumer(settings: Settings) -> AIOKafkaConsumer:
    """A consumer without a group that says so where its position is gone, and answers soon."""
    options = client_options(settings.kafka)
    return AIOKafkaConsumer(**options, group_id=None, enable_auto_commit=False, auto_offset_reset="none", fetch_max_wait_ms=FETCH_WAIT_MS)


def in_time(partitions: Sequence[Sequence[Record]] | Any) -> list[Record]:
    """Records of several partitions by their timestamps; each partition's own stay in their order."""
    return list(heapq.merge(*partitions, key=lambda record: record.timestamp))
