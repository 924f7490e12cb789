"""Where a group begins: committed before its first worker joins."""

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import NotCoordinatorForGroupError
from aiokafka.protocol.commit import OffsetFetchRequest

from tests.integration.brokers import Broker, Namespace
from tests.integration.test_expired import events
from tests.integration.workers import committed, produce
from touchstone.schemas.settings.house import KafkaSettings, Settings
from touchstone.streams.process.beginning import begin
from touchstone.streams.wire.clients import client_options


async def test_a_group_begins_once_and_what_appears_later_is_not_its_beginning(shared_embedded: Broker, namespace: Namespace) -> None:
    broker, topic, group = shared_embedded, namespace.topic("generations"), namespace.group()
    settings = Settings(kafka=KafkaSettings(bootstrap_servers=broker.bootstrap_servers))
    broker.create_topics({topic: 3, namespace.topic("traces"): 1})
    await produce(broker, topic, events(0, 3))
    assert await begin(settings, group, {topic: 2}, "latest") == {}
    assert await committed(broker, group, topic, 2) == [3, 0]
    await produce(broker, topic, events(3, 5))
    await produce(broker, namespace.topic("traces"), events(0, 2))
    await produce(broker, topic, events(5, 9, partition=2))
    # A later start, which finds one more partition and one more topic: only the topic is new for the group, the partition is read from its beginning.
    assert await begin(settings, group, {topic: 3, namespace.topic("traces"): 1}, "latest") == {}
    assert await committed(broker, group, topic, 3) == [3, 0, 0]
    assert await committed(broker, group, namespace.topic("traces"), 1) == [2]


async def test_on_a_topic_that_was_made_anew_a_commit_that_is_there_already_is_not_the_groups_beginning(shared_embedded: Broker, namespace: Namespace) -> None:
    """Kafka deletes commits with their topic, and then takes a late one for the next topic of the name."""
    broker, topic, group = shared_embedded, namespace.topic("generations"), namespace.group()
    settings = Settings(kafka=KafkaSettings(bootstrap_servers=broker.bootstrap_servers))
    broker.create_topics({topic: 1})
    await produce(broker, topic, events(0, 3))
    await begin(settings, group, {topic: 1}, "latest")
    assert await begin(settings, group, {topic: 1}, "earliest", anew=True) == {}
    assert await committed(broker, group, topic, 1) == [0]


@pytest.mark.apache
async def test_a_broker_that_is_not_the_groups_coordinator_any_more_does_not_say_that_nothing_is_committed(three_nodes: Broker, namespace: Namespace) -> None:
    topic, group = namespace.topic("generations"), namespace.group()
    settings = Settings(kafka=KafkaSettings(bootstrap_servers=three_nodes.bootstrap_servers))
    three_nodes.create_topics({topic: 1})
    await produce(three_nodes, topic, events(0, 3))
    await begin(settings, group, {topic: 1}, "latest")
    part = TopicPartition(topic, 0)
    async with AIOKafkaConsumer(**client_options(settings.kafka), group_id=group, enable_auto_commit=False) as consumer:
        assert await consumer.committed(part) == 3
        coordinator = consumer._coordinator
        others = [broker.nodeId for broker in consumer._client.cluster.brokers() if broker.nodeId != coordinator.coordinator_id]
        answer = await consumer._client.send(others[0], OffsetFetchRequest(group, [(topic, [0])]))
        assert (answer.topics, answer.error_code) == ([], NotCoordinatorForGroupError.errno)  # no partition has this error
        coordinator.coordinator_id = others[0]
        assert await consumer.committed(part) == 3
        assert coordinator.coordinator_id not in others
