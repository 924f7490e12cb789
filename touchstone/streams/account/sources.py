"""Reads events at given places of their topics: by partition and in order, and skips what lies far between two of them."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from zlib import crc32

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError, KafkaTimeoutError

from touchstone.schemas.settings.house import KafkaSettings
from touchstone.streams.account.archive_port import Outcome
from touchstone.streams.account.projection import Position
from touchstone.streams.topics.identity import Topic, TopicMetadata
from touchstone.streams.wire.clients import client_options
from touchstone.streams.wire.closing import close_client
from touchstone.streams.wire.codec import Record

POLL_MS = 250
RECORDS_MAX = 200
#: More offsets than this between two wanted ones are skipped by a seek, which costs a round trip.
GAP_MAX = 1_000
#: A broker that returns nothing for this long, with records left to read, counts as gone.
STALL_S = 30.0

Found = tuple[Position, Record | Outcome]


class Sources:
    """A reader without a consumer group. Not for several tasks at once."""

    def __init__(self, kafka: KafkaSettings, fetch_bytes_max: int) -> None:
        """`fetch_bytes_max`: of one answer of a broker, unless one record is larger."""
        self._kafka = kafka
        self._fetch_bytes = fetch_bytes_max
        self._metadata = TopicMetadata(kafka)
        self._consumer: AIOKafkaConsumer = None

    async def close(self) -> None:
        """Disconnect."""
        await self._metadata.close()
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            await close_client(consumer.stop)

    async def read(self, wanted: Mapping[Position, int]) -> AsyncIterator[Found]:
        """Each place with its record, or why there is none. `wanted`: place → checksum of the event; 0: not known. Raises `KafkaError`, `TimeoutError`."""
        topics = await self._metadata.read({place.topic for place in wanted})
        there = [place for place in wanted if _is_there(place, topics.get(place.topic))]
        for place in wanted.keys() - set(there):
            yield place, "made_anew"
        left: dict[TopicPartition, list[Position]] = defaultdict(list)
        for place in sorted(there, key=lambda place: place.offset, reverse=True):
            left[TopicPartition(place.topic, place.partition)].append(place)
        if not left:
            return
        consumer = await self._connected()
        consumer.assign(list(left))
        starts, ends = await consumer.beginning_offsets(list(left)), await consumer.end_offsets(list(left))
        for part, places in list(left.items()):
            for place in _below(places, starts[part]):
                yield place, "source_expired"
            while places and places[0].offset >= ends[part]:
                yield places.pop(0), "made_anew"
            self._go_on(part, places, 0, left)
        async for found in self._polled(consumer, left, wanted):
            yield found

    async def _polled(self, consumer: AIOKafkaConsumer, left: dict[TopicPartition, list[Position]], wanted: Mapping[Position, int]) -> AsyncIterator[Found]:
        """Read until nothing is left."""
        moved = time.monotonic()
        while left:
            polled = await consumer.getmany(*left, timeout_ms=POLL_MS, max_records=RECORDS_MAX)
            for part, records in polled.items():
                for record in records:
                    for found in _passed(left.get(part, []), record, wanted):
                        yield found
            for part in list(left):
                position = await asyncio.wait_for(consumer.position(part), self._kafka.request_timeout_s)
                for place in _below(left[part], position):  # markers of transactions, and what compaction removed
                    yield place, "source_expired"
                self._go_on(part, left[part], position, left)
            if polled:
                moved = time.monotonic()
            elif left and time.monotonic() - moved > STALL_S:
                raise KafkaTimeoutError

    def _go_on(self, part: TopicPartition, places: Sequence[Position], position: int, left: dict[TopicPartition, list[Position]]) -> None:
        """Seek to the next place where it is far, or end the partition's turn."""
        if not places:
            del left[part]
            self._consumer.pause(part)
        elif position == 0 or places[-1].offset - position > GAP_MAX:
            self._consumer.seek(part, places[-1].offset)

    async def _connected(self) -> AIOKafkaConsumer:
        if self._consumer is None:
            # "earliest": what retention deletes while it is read is passed over.
            consumer = AIOKafkaConsumer(
                **client_options(self._kafka), group_id=None, enable_auto_commit=False, auto_offset_reset="earliest", fetch_max_bytes=self._fetch_bytes
            )
            try:
                await consumer.start()
            except (KafkaError, OSError, TimeoutError, asyncio.CancelledError):
                await close_client(consumer.stop)
                raise
            self._consumer = consumer
        return self._consumer


def _is_there(place: Position, topic: Topic | None) -> bool:
    """True if the place is on the topic that has its name now."""
    if topic is None or place.partition >= topic.partitions:
        return False
    return not (place.topic_id and topic.topic_id) or place.topic_id == topic.topic_id


def _passed(places: list[Position], record: Record, wanted: Mapping[Position, int]) -> list[Found]:
    """What a record decides: its own place, and those before it, which nothing is at. `places`: descending."""
    found: list[Found] = [(place, "source_expired") for place in _below(places, record.offset)]
    while places and places[-1].offset == record.offset:
        place = places.pop()
        checksum = wanted[place]
        same = not checksum or checksum == crc32(record.value or b"", record.timestamp & 0xFFFFFFFF)
        found.append((place, record if same else "made_anew"))
    return found


def _below(places: list[Position], offset: int) -> list[Position]:
    found = []
    while places and places[-1].offset < offset:
        found.append(places.pop())
    return found
