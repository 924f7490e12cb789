"""Which input partitions nobody in the group reads: those that were added, or whose topic is missing."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass

import aiokafka
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from aiokafka.errors import IncompatibleBrokerVersion

from touchstone.streams.intake.offsets import TopicPartition
from touchstone.streams.runners.base import Job
from touchstone.streams.topics.identity import Topic, TopicMetadata
from touchstone.streams.wire.clients import client_options
from touchstone.streams.wire.closing import close_client
from touchstone.streams.wire.group_offsets import committed_offsets

#: Partitions that a message names.
NAMED_MAX = 5


@dataclass(frozen=True, slots=True)
class Unread:
    """What nobody reads. `missing`: topics that do not exist. `ours`: True if this worker reports the lag of these partitions for its group."""

    missing: tuple[str, ...] = ()
    partitions: tuple[TopicPartition, ...] = ()
    ours: bool = False

    def why(self) -> str:
        """As a reason for not being ready; empty if everything is read."""
        if self.missing:
            return f"missing topic {', '.join(self.missing)}"
        if not self.partitions:
            return ""
        named = ", ".join(f"{topic}[{number}]" for topic, number in self.partitions[:NAMED_MAX])
        more = f" and {len(self.partitions) - NAMED_MAX} more" if len(self.partitions) > NAMED_MAX else ""
        return f"no worker of the group reads {named}{more}"


class Ownership:
    """Compares the partitions of the input topics with what the members of the group have been assigned."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._metadata = TopicMetadata(job.settings.kafka)
        self._admin: AIOKafkaAdminClient | None = None
        self.clock = self._metadata.clock
        self._can_describe = True
        self.unread = Unread()

    async def look(self) -> dict[str, Topic]:
        """Update `unread`; return the topics as they are now. Raises `KafkaError`, `OSError` or `TimeoutError`."""
        job = self._job
        topics = await self._metadata.read(job.topics)
        missing = tuple(name for name in job.topics if name not in topics)
        there = {(name, number) for name, topic in topics.items() for number in range(topic.partitions)}
        if there <= job.assigned:
            self.unread = Unread(missing)
        elif self._can_describe and job.unassigned_since is None:
            async with asyncio.timeout(job.settings.kafka.probe_timeout_s):
                owned = await self._owned()
            if owned is not None:  # otherwise a rebalance is under way, and what was found before it is the best answer
                lowest = min(owned, default=None)
                self.unread = Unread(missing, tuple(sorted(there - owned)), lowest is None or lowest in job.assigned)
        return topics

    async def _owned(self) -> set[TopicPartition] | None:
        """Partitions that the group's members have been assigned; None while a rebalance is under way, or if the broker cannot tell."""
        admin = await self._connected()
        try:
            (answer,) = await admin.describe_consumer_groups([self._job.group])
        except IncompatibleBrokerVersion:
            self._can_describe = False  # the embedded broker, whose topics never change
            return None
        code, _, state, _, _, members = answer.groups[0][:6]
        if code or state not in {"Stable", "Empty", "Dead"}:
            return None
        return {(tp.topic, tp.partition) for member in members if member[4] for tp in ConsumerProtocolMemberAssignment.decode(member[4]).partitions()}

    async def committed(self, partitions: Collection[aiokafka.TopicPartition]) -> dict[aiokafka.TopicPartition, int | None]:
        """Partition → the offset that the group has committed; None if none. Waits for a coordinator that can tell: bound it."""
        found = await committed_offsets(await self._connected(), self._job.group, partitions) if partitions else {}
        return {tp: known.offset if known.offset >= 0 else None for tp, known in found.items()}

    async def _connected(self) -> AIOKafkaAdminClient:
        if self._admin is None:
            admin = AIOKafkaAdminClient(**client_options(self._job.settings.kafka))
            try:
                await admin.start()
            except BaseException:
                await close_client(admin.close)
                raise
            self._admin = admin
        return self._admin

    async def close(self) -> None:
        """Disconnect, within a bound."""
        await self._metadata.close()
        admin, self._admin = self._admin, None
        if admin is not None:
            await close_client(admin.close)
