"""A look at the cluster within a bounded time: its topics, and the progress of each suite's group."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from touchstone.schemas.settings.house import Settings
from touchstone.scorers.base import ConfigError
from touchstone.streams.wire.clients import client_options, existing_topics, open_admin, unreachable

#: Shorter than a worker's timeouts, because a person is waiting.
PROBE_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """One suite's consumer group. `lag`: records it has not committed. `committed`: False if it never committed anything."""

    group: str
    committed: bool
    lag: int


@dataclass(slots=True)
class ClusterFacts:
    """`partitions`: topic → count, of every topic. `groups`: suite → its group; a suite whose topics are missing has none."""

    brokers: int
    partitions: dict[str, int]
    groups: dict[str, GroupFacts] = field(default_factory=dict)


async def probe(settings: Settings, inputs: Mapping[str, tuple[str, ...]]) -> ClusterFacts:
    """Look at the cluster. `inputs`: suite → topics that it reads. Raises `ConfigError` if nothing answers in time."""
    quick = settings.kafka.model_copy(update={"connect_timeout_s": min(settings.kafka.connect_timeout_s, PROBE_TIMEOUT_S)})
    admin = await open_admin(quick)
    try:
        existing = await asyncio.wait_for(existing_topics(admin), PROBE_TIMEOUT_S)
        cluster = await asyncio.wait_for(admin.describe_cluster(), PROBE_TIMEOUT_S)
    except (KafkaError, OSError, TimeoutError) as error:
        raise ConfigError(unreachable(settings.kafka, error)) from None
    finally:
        await admin.close()
    facts = ClusterFacts(len(cluster["brokers"]), {name: len(partitions) for name, partitions in existing.items()})
    for suite, topics in inputs.items():
        parts = [TopicPartition(name, entry["partition"]) for name in topics for entry in existing.get(name, ())]
        if parts:
            facts.groups[suite] = await _group(settings, f"{settings.worker.group_prefix}.{suite}", parts)
    return facts


async def _group(settings: Settings, group: str, parts: list[TopicPartition]) -> GroupFacts:
    """What a group has committed; asked without joining it."""
    consumer = AIOKafkaConsumer(**client_options(settings.kafka), group_id=group, enable_auto_commit=False)
    try:
        await asyncio.wait_for(consumer.start(), PROBE_TIMEOUT_S)
        committed = {part: await asyncio.wait_for(consumer.committed(part), PROBE_TIMEOUT_S) for part in parts}
        begins = await asyncio.wait_for(consumer.beginning_offsets(parts), PROBE_TIMEOUT_S)
        ends = await asyncio.wait_for(consumer.end_offsets(parts), PROBE_TIMEOUT_S)
    except (KafkaError, OSError, TimeoutError) as error:
        raise ConfigError(unreachable(settings.kafka, error)) from None
    finally:
        await consumer.stop()
    lag = sum(max(0, ends[part] - (begins[part] if committed[part] is None else committed[part])) for part in parts)
    return GroupFacts(group, any(offset is not None for offset in committed.values()), lag)
