"""Where a consumer group begins on a topic: committed at its first start, before any worker joins.

A commit for every partition makes the beginning a fact: a crash before the first outcome changes nothing, and a partition without a commit is one that
appeared later, which is read from its beginning (KIP-842), whatever `worker.auto_offset_reset` says.
"""

import asyncio
from collections.abc import Mapping
from typing import Literal

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CommitFailedError

from touchstone.schemas.settings.house import Settings
from touchstone.streams.intake import offsets
from touchstone.streams.wire.clients import client_options
from touchstone.streams.wire.closing import close_client

log = structlog.get_logger(__name__)

#: Partitions whose commits are asked for at the same time.
AT_ONCE = 32
Reset = Literal["earliest", "latest"]


async def begin(settings: Settings, group: str, topics: Mapping[str, int], reset: Reset, *, anew: bool = False) -> dict[offsets.TopicPartition, int]:
    """Commit where the group begins on each topic that it has never committed on. `topics`: name → partitions. `anew`: they were made anew, so a commit
    that is there may be a late one for the topic before.

    Returns where to begin if that cannot be committed, because the group has members: then it is not its first start, and it begins with what there is.
    Raises `KafkaError`.
    """
    consumer = AIOKafkaConsumer(**client_options(settings.kafka), group_id=group, enable_auto_commit=False)
    try:
        await consumer.start()
        bare = _partitions(topics) if anew else await _never_committed(consumer, topics)
        if not bare:
            return {}
        begins: dict[TopicPartition, int] = await (consumer.beginning_offsets(bare) if reset == "earliest" else consumer.end_offsets(bare))
        consumer.assign(bare)  # no member of the group: such a consumer may commit as long as nobody has joined
        try:
            await consumer.commit(begins)
        except CommitFailedError:
            still = await _never_committed(consumer, topics)  # empty, if another worker has committed and joined meanwhile
            begins = await consumer.beginning_offsets(still) if still else {}
            return {(tp.topic, tp.partition): offset for tp, offset in begins.items()}
        for topic in sorted({tp.topic for tp in bare}):
            log.info("group_begins", group=group, topic=topic, partitions=topics[topic], where=reset)
        return {}
    finally:
        await close_client(consumer.stop)


def _partitions(topics: Mapping[str, int]) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for topic, count in topics.items() for number in range(count)]


async def _never_committed(consumer: AIOKafkaConsumer, topics: Mapping[str, int]) -> list[TopicPartition]:
    """Partitions of the topics on none of whose partitions the group has committed."""
    bare: list[TopicPartition] = []
    for topic, count in topics.items():
        parts = _partitions({topic: count})
        for begin in range(0, count, AT_ONCE):  # a group that has begun has committed on the first ones, so the others need not be asked for
            if any(offset is not None for offset in await asyncio.gather(*map(consumer.committed, parts[begin : begin + AT_ONCE]))):
                break
        else:
            bare += parts
    return bare
