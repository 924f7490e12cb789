"""Creates the topics of the settings, and describes them as the broker has them."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import IncompatibleBrokerVersion, KafkaError, TopicAlreadyExistsError, for_code

from touchstone.schemas.settings.house import TOPIC_ROLES, Settings, TopicSettings
from touchstone.scorers.base import ConfigError
from touchstone.streams.wire.clients import client_options, existing_topics, open_admin, unreachable

MESSAGE_BYTES = "max.message.bytes"
#: The configuration that decides what is kept, how long, and how large a record may be.
CONFIGURATION_SHOWN = (MESSAGE_BYTES, "cleanup.policy", "retention.ms", "retention.bytes", "min.insync.replicas", "compression.type")
LEADER_WAIT_S = 10.0
LEADER_POLL_S = 0.1

Outcome = Literal["created", "existed", "created_by_broker"]


@dataclass(frozen=True, slots=True)
class TopicMade:
    """What became of one topic. `differs`: where the broker differs from the settings, and how to fix it."""

    name: str
    outcome: Outcome
    partitions: int
    differs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """One partition. `leader`: broker id, -1 without one. `begin`, `end`: offsets of the first record kept and of the next one."""

    partition: int
    leader: int
    replicas: int
    in_sync: int
    begin: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """One topic as the broker has it. `configuration` is None if the broker does not report it."""

    name: str
    role: str
    exists: bool
    partitions: tuple[PartitionFacts, ...] = ()
    configuration: Mapping[str, str] | None = field(default=None)


def topic_configuration(topics: TopicSettings, name: str) -> dict[str, str]:
    """What a topic is created with: a dead letter is the original record and its error headers, so it may be larger."""
    return {MESSAGE_BYTES: str(topics.dead_message_bytes_max)} if name == topics.dead else {}


def roles(topics: TopicSettings) -> dict[str, str]:
    """Topic name → the role it plays in the settings."""
    return {getattr(topics, role): role for role in TOPIC_ROLES}


def resolve_topic(topics: TopicSettings, name: str) -> str:
    """A role of the settings (`results`) or a topic's own name, as a topic's name."""
    return {role: topic for topic, role in roles(topics).items()}.get(name, name)


async def create_topics(settings: Settings) -> list[TopicMade]:
    """Create every topic that is missing. Raises `ConfigError` if the broker cannot be reached or refuses."""
    admin = await open_admin(settings.kafka)
    try:
        existing = await existing_topics(admin)
        missing = [name for name in settings.topics.all_names() if name not in existing]
        outcome: Outcome = "created"
        if missing:
            outcome = await _create(admin, settings.topics, missing)
            existing = await _await_leaders(admin, missing)
        configurations = await _configurations(admin, [name for name in settings.topics.all_names() if name not in missing])
        return [
            TopicMade(name, outcome if name in missing else "existed", len(existing[name]), _differences(settings.topics, name, existing[name], configurations))
            for name in settings.topics.all_names()
        ]
    except (KafkaError, OSError, TimeoutError) as error:
        raise ConfigError(unreachable(settings.kafka, error)) from None
    finally:
        await admin.close()


async def _create(admin: AIOKafkaAdminClient, topics: TopicSettings, missing: Sequence[str]) -> Outcome:
    """Ask the broker for the topics. Raises `ConfigError` that quotes the broker's reason."""
    wanted = []
    for name in missing:
        new = NewTopic(name, topics.partitions, 1, topic_configs=topic_configuration(topics, name))
        new.replication_factor = topics.replication_factor  # the constructor refuses -1, which brokers take as their default
        wanted.append(new)
    cluster = await admin.describe_cluster()
    if cluster["controller_id"] not in {broker["node_id"] for broker in cluster["brokers"]}:
        # The embedded broker has no controller and no CreateTopics; it creates a topic when a client asks for its metadata.
        await admin.describe_topics(list(missing))
        return "created_by_broker"
    response = await admin.create_topics(wanted)
    for name, code, message, *_ in response.topic_errors:
        error = for_code(code)
        if code and error is not TopicAlreadyExistsError:  # another program created it first
            reason = f"{error.__name__}{f' ({message})' if message else ''}"
            raise ConfigError(f"topic {name} was not created: {reason}; check the topics section of the settings, and the user's rights")
    return "created"


async def _await_leaders(admin: AIOKafkaAdminClient, names: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Wait until every partition has a leader: a new topic cannot be written to at once."""
    deadline = asyncio.get_running_loop().time() + LEADER_WAIT_S
    while True:
        existing = await existing_topics(admin)
        ready = all(existing.get(name) and all(entry["leader"] >= 0 for entry in existing[name]) for name in names)
        if ready:
            return existing
        if asyncio.get_running_loop().time() > deadline:
            raise ConfigError(f"the broker has not given {', '.join(names)} a leader within {LEADER_WAIT_S:g} s; check its log")
        await asyncio.sleep(LEADER_POLL_S)


def _differences(
    topics: TopicSettings, name: str, partitions: Sequence[Mapping[str, Any]], configurations: Mapping[str, Mapping[str, str]] | None
) -> tuple[str, ...]:
    """Where an existing topic differs from the settings."""
    found = []
    if len(partitions) != topics.partitions:
        found.append(f"has {len(partitions)} partitions, topics.partitions asks for {topics.partitions}")
    replicas = min((len(entry["replicas"]) for entry in partitions), default=0)
    if topics.replication_factor > 0 and replicas != topics.replication_factor:
        found.append(f"has {replicas} replica(s), topics.replication_factor asks for {topics.replication_factor}")
    has = (configurations or {}).get(name, {})
    for key, wanted in topic_configuration(topics, name).items():
        if key in has and int(has[key]) < int(wanted):
            found.append(f"has {key}={has[key]}, {wanted} is asked for: larger dead letters are kept without their payload")
    return tuple(found)


async def _configurations(admin: AIOKafkaAdminClient, names: Sequence[str]) -> dict[str, dict[str, str]] | None:
    """Topic → the configuration that matters; None if the broker has no such request or refuses it."""
    if not names:
        return {}
    try:
        responses = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name) for name in names])
    except IncompatibleBrokerVersion:
        return None
    found: dict[str, dict[str, str]] = {}
    for response in responses:
        for code, _, _, name, entries in (resource[:5] for resource in response.resources):
            if code == 0:
                found[name] = {entry[0]: entry[1] for entry in entries if entry[0] in CONFIGURATION_SHOWN}
    return found


async def describe_topics(settings: Settings) -> list[TopicFacts]:
    """Every topic of the settings: partitions, leaders, offsets, configuration. Raises `ConfigError` for an unreachable broker."""
    names = roles(settings.topics)
    admin = await open_admin(settings.kafka)
    try:
        existing = await existing_topics(admin)
        configurations = await _configurations(admin, [name for name in names if name in existing])
        offsets = await _offsets(settings, {name: [entry["partition"] for entry in existing.get(name, ())] for name in names})
    except (KafkaError, OSError, TimeoutError) as error:
        raise ConfigError(unreachable(settings.kafka, error)) from None
    finally:
        await admin.close()
    facts = []
    for name, role in names.items():
        partitions = tuple(
            PartitionFacts(number, entry["leader"], len(entry["replicas"]), len(entry["isr"]), *offsets.get((name, number), (None, None)))
            for number, entry in sorted((entry["partition"], entry) for entry in existing.get(name, ()))
        )
        facts.append(TopicFacts(name, role, name in existing, partitions, configurations.get(name) if configurations is not None else None))
    return facts


async def _offsets(settings: Settings, partitions: Mapping[str, Sequence[int]]) -> dict[tuple[str, int], tuple[int, int]]:
    """(topic, partition) → begin and end offset; empty if a partition without a leader keeps the broker from answering."""
    wanted = [TopicPartition(name, number) for name, numbers in partitions.items() for number in numbers]
    if not wanted:
        return {}
    consumer = AIOKafkaConsumer(**client_options(settings.kafka), group_id=None, enable_auto_commit=False)
    await consumer.start()
    try:
        bound = settings.kafka.connect_timeout_s
        begins = await asyncio.wait_for(consumer.beginning_offsets(wanted), bound)
        ends = await asyncio.wait_for(consumer.end_offsets(wanted), bound)
    except TimeoutError:
        return {}
    finally:
        await consumer.stop()
    return {(part.topic, part.partition): (begins[part], ends[part]) for part in wanted}
