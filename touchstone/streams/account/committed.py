"""Where a consumer group reads on: a committed offset belongs to one topic, whose id is kept beside it, in the commit itself.

A topic that is deleted and made anew has the same name. A commit of the one before would begin in its middle, or past its end.
"""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Self

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import NoOffsetForPartitionError, OffsetOutOfRangeError, UnknownTopicOrPartitionError
from aiokafka.structs import OffsetAndMetadata

from touchstone.schemas.settings.house import KafkaSettings
from touchstone.streams.topics.identity import TopicMetadata
from touchstone.streams.wire.clients import client_options
from touchstone.streams.wire.closing import close_client
from touchstone.streams.wire.group_offsets import committed_offsets

#: A consumer that does not choose where to read raises these: nothing is committed, or the log does not have the offset.
NOWHERE = (NoOffsetForPartitionError, OffsetOutOfRangeError)


class Rebalances(ConsumerRebalanceListener):  # type: ignore[misc]
    """Counts them, so that what was known before one is not taken for true after it."""

    count = 0

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """One begins."""
        self.count += 1

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """One has ended."""
        self.count += 1


@dataclass(slots=True)
class Places:
    """Where to read on. `expired`: offsets that the log no longer has, unread. `is_anew`: what was committed is of another topic of that name."""

    topic_id: str
    offsets: dict[TopicPartition, int] = field(default_factory=dict)
    moved: set[TopicPartition] = field(default_factory=set)
    expired: int = 0
    is_anew: bool = False

    def add(self, part: TopicPartition, committed: OffsetAndMetadata, known_id: str, start: int, end: int) -> None:
        """Find the place of one partition. `known_id`: of the topic that this process has read so far."""
        of_id = committed.metadata or known_id
        at: int = committed.offset
        if (of_id and self.topic_id and of_id != self.topic_id) or at > end:
            self.is_anew = True
            at = 0
        elif at < 0:
            at = start  # the group has never read it: what was deleted before is not its loss
        self.expired += max(start - at, 0)
        self.offsets[part] = max(at, start)
        if self.offsets[part] != committed.offset:
            self.moved.add(part)


class Committed:
    """What a group has committed on one topic. Not for several tasks at once."""

    def __init__(self, kafka: KafkaSettings, group: str, topic: str) -> None:
        self._kafka = kafka
        self._metadata = TopicMetadata(kafka)
        self._admin = AIOKafkaAdminClient(**client_options(kafka))
        self._group = group
        self._topic = topic
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Connect. Raises `KafkaError`."""
        self._stack.push_async_callback(self._metadata.close)
        self._stack.push_async_callback(close_client, self._admin.close)
        try:
            await self._admin.start()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """Disconnect."""
        await self._stack.aclose()

    async def topic_id(self) -> str:
        """The id that the topic has now; empty where the broker gives none. Raises `UnknownTopicOrPartitionError` while there is no such topic."""
        found = (await self._metadata.read([self._topic])).get(self._topic)
        if found is None:
            raise UnknownTopicOrPartitionError
        return found.topic_id

    async def find(self, consumer: AIOKafkaConsumer, known_id: str) -> Places:
        """Where to read on, for the partitions that a member of the group has now. `known_id`: as in `Places.add`. Raises `KafkaError`, or `TimeoutError`."""
        parts = sorted(consumer.assignment())
        places = Places(await self.topic_id())
        if not parts:
            return places
        async with asyncio.timeout(self._kafka.probe_timeout_s):
            committed = await committed_offsets(self._admin, self._group, parts)
        starts, ends = await consumer.beginning_offsets(parts), await consumer.end_offsets(parts)
        if await self.topic_id() != places.topic_id:
            raise UnknownTopicOrPartitionError  # made anew meanwhile: these are the bounds of either
        for part in parts:
            places.add(part, committed[part], known_id, starts[part], ends[part])
        return places


def with_id(offsets: Mapping[TopicPartition, int], topic_id: str) -> dict[TopicPartition, OffsetAndMetadata]:
    """Offsets as they are committed."""
    return {part: OffsetAndMetadata(offset, topic_id) for part, offset in offsets.items()}
