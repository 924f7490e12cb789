"""Follows the results and reports topics for one process, through outages, and hands new events to the hub."""

import asyncio
import time
from base64 import urlsafe_b64decode
from collections import deque
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaConnectionError, OffsetOutOfRangeError, for_code

from touchstone.schemas.settings.house import Settings
from touchstone.scorers.backoff import Backoff
from touchstone.streams.subscription.events import EventReader
from touchstone.streams.subscription.hub import Arrival, Hub
from touchstone.streams.subscription.items import ResetReason
from touchstone.streams.subscription.past import GONE, POLL_MS, POLL_RECORDS_MAX, in_time, log_consumer
from touchstone.streams.subscription.positions import Place, Positions, TopicIds
from touchstone.streams.topics.identity import TopicMetadata
from touchstone.streams.wire.clients import check_topics, client_options
from touchstone.streams.wire.closing import close_client
from touchstone.streams.wire.codec import Record
from touchstone.streams.wire.waiting import once_reached

log = structlog.get_logger("touchstone.serve")

#: Shortest time between two publications: events that arrive meanwhile go to each watcher together.
PUBLISH_INTERVAL_S = 0.05


class Reader:
    """One reader of all partitions. `run` until `stop` is set."""

    def __init__(self, settings: Settings, hub: Hub, events: EventReader) -> None:
        self._settings = settings
        self._hub = hub
        self._events = events
        self._topics = {role: topic for topic, role in events.roles.items()}
        self._consumer: AIOKafkaConsumer = None
        self._ids: TopicIds = {}
        self._made = time.monotonic()

    async def reach(self, stop: asyncio.Event) -> bool:
        """Wait until the cluster answers and has the topics; False if `stop` came first. Raises `ConfigError` for missing topics."""

        def on_wait(waits: bool) -> None:
            if waits:
                self._hub.offline("the broker has not answered since the start")

        kafka = self._settings.kafka
        return await once_reached(lambda: check_topics(kafka, self._events.roles), kafka, self._backoff(), stop, on_wait) is not None

    async def run(self, stop: asyncio.Event) -> None:
        """Read until `stop`, one session after the other, with a pause between two."""
        work = asyncio.create_task(self._sessions())
        stopped = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
        finally:
            for task in (work, stopped):
                task.cancel()
            await asyncio.gather(work, stopped, return_exceptions=True)

    async def bounds(self) -> tuple[Positions, Positions]:
        """First and next offset of every partition, freshly asked. Raises aiokafka's errors."""
        consumer = self._consumer
        if consumer is None:
            raise KafkaConnectionError("no session")
        parts = {part: self._place(part) for part in consumer.assignment()}
        async with asyncio.timeout(self._settings.kafka.probe_timeout_s):
            begins = await consumer.beginning_offsets(list(parts))
            ends = await consumer.end_offsets(list(parts))
        return {place: begins[part] for part, place in parts.items()}, {place: ends[part] for part, place in parts.items()}

    async def _sessions(self) -> None:
        backoff = self._backoff()
        while True:
            began = time.monotonic()
            try:
                await self._session()
            except OffsetOutOfRangeError:
                log.warning("results_position_gone")  # the next session finds out what became of the topics
            except GONE as error:
                self._gone(error)
            if time.monotonic() - began > self._settings.worker.retry_backoff_max_s:
                backoff.reset()
            await asyncio.sleep(backoff.next_s())

    async def _session(self) -> None:
        """Connect, continue where the hub is, and read until something breaks."""
        async with AsyncExitStack() as stack:
            stack.callback(setattr, self, "_consumer", None)
            admin = AIOKafkaAdminClient(**client_options(self._settings.kafka))
            stack.push_async_callback(close_client, admin.close)
            await admin.start()
            consumer = log_consumer(self._settings)
            stack.push_async_callback(close_client, consumer.stop)
            await consumer.start()
            self._consumer = consumer
            metadata = TopicMetadata(self._settings.kafka)
            stack.push_async_callback(metadata.close)
            self._ids = await self._topic_ids(metadata)
            await self._assign(consumer, await self._partitions(admin))
            self._back()
            while True:
                await self._follow(consumer)
                async with asyncio.timeout(self._settings.kafka.probe_timeout_s):
                    parts = await self._partitions(admin)
                if set(parts) - consumer.assignment():
                    await self._assign(consumer, parts)
                await self._probe()
                if await self._topic_ids(metadata) != self._ids:
                    raise OffsetOutOfRangeError

    async def _follow(self, consumer: AIOKafkaConsumer) -> None:
        """Publish what comes, until it is time to look after the broker.

        A poll may bring no more than one small batch of a producer, however much waits, so several polls make one publication; the first after a pause
        goes at once. What was polled and not published when the session breaks is read again: the hub has not seen it.
        """
        now = published = time.monotonic()
        until = now + self._settings.kafka.probe_interval_s
        waiting: list[Arrival] = []
        while now < until:
            due_s = published + PUBLISH_INTERVAL_S - now
            if waiting and (due_s <= 0 or len(waiting) >= POLL_RECORDS_MAX):
                await asyncio.sleep(max(0.0, due_s))
                published = time.monotonic()
                self._hub.publish(waiting)
                waiting = []
            wait_ms = POLL_MS if not waiting else int(due_s * 1000) + 1
            polled = await consumer.getmany(timeout_ms=wait_ms, max_records=POLL_RECORDS_MAX - len(waiting))
            if not polled and not waiting and self._hub.catching_up is not None and await self._is_at_the_end(consumer):
                self._hub.caught_up()  # what is left has no records: markers of transactions, or compacted ones
            waiting += [self._arrival(record) for record in in_time(polled.values())]
            now = time.monotonic()
        if waiting:
            self._hub.publish(waiting)

    async def _is_at_the_end(self, consumer: AIOKafkaConsumer) -> bool:
        """True if nothing is left to read up to the ends that were last asked for."""
        for part in consumer.assignment():
            if await consumer.position(part) < self._hub.ends.get(self._place(part), 0):
                return False
        return True

    async def _assign(self, consumer: AIOKafkaConsumer, parts: list[Any]) -> None:
        """Take every partition: where the hub is, or with the latest events if it is nowhere yet or its place is gone."""
        consumer.assign(parts)
        begins, ends = await self.bounds()
        self._hub.ends = ends
        reached = self._hub.positions
        lost: ResetReason | None = None
        if any(ends.get(place, 0) < offset for place, offset in reached.items()):
            lost = "future"
        elif any(self._ids.get(role, topic_id) != topic_id for role, topic_id in self._hub.topics.items()) or reached.keys() - begins.keys():
            lost = "unknown"
        elif any(begins[place] > offset for place, offset in reached.items()):
            lost = "expired"
        if reached and lost is None:
            for place, begin in begins.items():
                self._hub.add_partition(place, begin)
            for part in parts:
                consumer.seek(part, self._hub.positions[self._place(part)])
            self._hub.aim(ends)
            return
        if lost is not None:
            log.warning("results_start_again", code=lost)
        start, records = await self._latest(consumer, begins, ends)
        self._hub.begin(start, [self._arrival(record) for record in in_time(records.values())], lost, self._ids)

    async def _latest(self, consumer: AIOKafkaConsumer, begins: Positions, ends: Positions) -> tuple[Positions, Mapping[Place, deque[Record]]]:
        """The latest records of each partition, as many as the window takes, and the positions before them."""
        serve = self._settings.serve
        share = {role: max(1, serve.window_events // max(1, sum(place[0] == role for place in ends))) for role in self._topics}
        start = {place: max(begins[place], end - share[place[0]]) for place, end in ends.items()}
        parts = {part: self._place(part) for part in consumer.assignment()}
        for part, place in parts.items():
            consumer.seek(part, start[place])
        found: dict[Place, deque[Record]] = {place: deque() for place in ends}
        size = 0
        left = {part for part, place in parts.items() if start[place] < ends[place]}
        at = {part: start[place] for part, place in parts.items()}
        began, total = sum(at.values()), sum(max(0, ends[place] - start[place]) for place in ends)
        self._hub.catching_up = (0, total) if total else None
        while left:
            async with asyncio.timeout(self._settings.kafka.request_timeout_s):
                polled = await consumer.getmany(*left, timeout_ms=POLL_MS, max_records=POLL_RECORDS_MAX)
                for part, records in polled.items():
                    found[parts[part]].extend(records)
                    size += sum(len(record.value or b"") for record in records)
                at |= {part: await consumer.position(part) for part in left}
                left = {part for part in left if at[part] < ends[parts[part]]}
            self._hub.catching_up = (min(total, sum(at.values()) - began), total)
            while size > serve.window_bytes:
                place = max(found, key=lambda one: len(found[one]))
                dropped = found[place].popleft()
                start[place] = dropped.offset + 1
                size -= len(dropped.value or b"")
        return start, found

    async def _topic_ids(self, metadata: TopicMetadata) -> TopicIds:
        """Role → id of its topic, as bytes, where the broker gives one. Raises aiokafka's errors."""
        found = await metadata.read(self._events.roles)
        return {self._events.roles[name]: urlsafe_b64decode(topic.topic_id + "==") for name, topic in found.items() if topic.topic_id}

    async def _partitions(self, admin: AIOKafkaAdminClient) -> list[Any]:
        """Every partition of the topics, freshly asked."""
        found = []
        for described in await admin.describe_topics(list(self._events.roles)):
            if described["error_code"]:
                raise for_code(described["error_code"])
            found += [TopicPartition(described["topic"], entry["partition"]) for entry in described["partitions"]]
        return found

    async def _probe(self) -> None:
        """Ask for the log's ends: an idle connection that has died shows here, and so does a recreated topic."""
        _, ends = await self.bounds()
        self._hub.ends = ends
        if any(ends.get(place, 0) < offset for place, offset in self._hub.positions.items()):
            raise OffsetOutOfRangeError
        self._hub.counts.lag(sum(max(0, ends[place] - self._hub.positions.get(place, 0)) for place in ends))

    def _arrival(self, record: Record) -> Arrival:
        return (self._events.roles[record.topic], record.partition), record.offset, self._events.read(record)

    def _place(self, part: Any) -> Place:
        return self._events.roles[part.topic], part.partition

    def _backoff(self) -> Backoff:
        worker = self._settings.worker
        return Backoff(worker.retry_backoff_min_s, worker.retry_backoff_max_s)

    def _gone(self, error: BaseException) -> None:
        if self._hub.fault is None:
            log.warning("dependency_down", stage="kafka", code=type(error).__name__)
        self._hub.offline(f"the broker does not answer ({type(error).__name__})")

    def _back(self) -> None:
        if self._hub.fault is not None:
            log.info("dependency_up", stage="kafka")
        if not self._hub.live.is_set():
            log.info("serve_ready", records=len(self._hub.window), seconds=round(time.monotonic() - self._made, 1))
        self._hub.online()
