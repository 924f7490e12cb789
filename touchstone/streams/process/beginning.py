"""Where a consumer group begins on a topic: committed at its first start, before any worker joins.

A commit for every partition makes the beginning a fact: a crash before the first outcome changes nothing, and a partition without a commit is one that
appeared later, which is read from its beginning (KIP-842), whatever `worker.auto_offset_reset` says.
"""

from collections.abc import Mapping
from typing import Literal

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import CommitFailedError

from touchstone.schemas.settings.house import Settings
from touchstone.streams.intake import offsets
from touchstone.streams.wire.clients import client_options
from touchstone.streams.wire.closing import close_client
from touchstone.streams.wire.group_offsets import committed_offsets

log = structlog.get_logger(__name__)

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
        bare = _partitions(topics) if anew else await _never_committed(settings, group, topics)
        if not bare:
            return {}
        begins: dict[TopicPartition, int] = await (consumer.beginning_offsets(bare) if reset == "earliest" else consumer.end_offsets(bare))
        consumer.assign(bare)  # no member of the group: such a consumer may commit as long as nobody has joined
        try:
            await consumer.commit(begins)
        except CommitFailedError:
            still = await _never_committed(settings, group, topics)  # empty, if another worker has committed and joined meanwhile
            begins = await consumer.beginning_offsets(still) if still else {}
            return {(tp.topic, tp.partition): offset for tp, offset in begins.items()}
        for topic in sorted({tp.topic for tp in bare}):
            log.info("group_begins", group=group, topic=topic, partitions=topics[topic], where=reset)
        return {}
    finally:
        await close_client(consumer.stop)


def _partitions(topics: Mapping[str, int]) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for topic, count in topics.items() for number in range(count)]


async def _never_committed(settings: Settings, group: str, topics: Mapping[str, int]) -> list[TopicPartition]:
    """Partitions of the topics on none of whose partitions the group has committed."""
    parts = _partitions(topics)
    admin = AIOKafkaAdminClient(**client_options(settings.kafka))
    try:
        await admin.start()
        begun = {part.topic for part, known in (await committed_offsets(admin, group, parts)).items() if known.offset >= 0}
    finally:
        await close_client(admin.close)
    return [part for part in parts if part.topic not in begun]
