"""Where a group begins: committed before its first worker joins."""

from typing import Any

from aiokafka import TopicPartition

from tests.integration.brokers import Broker, Namespace
from tests.integration.test_expired import events
from tests.integration.workers import committed, produce
from touchstone.schemas.settings.house import KafkaSettings, Settings
from touchstone.streams.process.beginning import _never_committed, begin


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


async def test_a_group_that_has_begun_is_not_asked_for_every_partition() -> None:
    asked: list[int] = []

    class Committed:  # all that is asked of a consumer
        async def committed(self, partition: TopicPartition) -> int | None:
            asked.append(partition.partition)
            return 5 if partition.partition in has else None

    consumer: Any = Committed()
    has = {3}
    assert await _never_committed(consumer, {"t": 200}) == []
    assert max(asked) < 64
    has, asked = {199}, []
    assert await _never_committed(consumer, {"t": 200}) == []
    has = set()
    assert await _never_committed(consumer, {"t": 200}) == [TopicPartition("t", number) for number in range(200)]
