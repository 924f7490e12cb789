"""Which broker is asked for a topic's id."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import NodeNotReadyError

from touchstone.schemas.settings.house import KafkaSettings
from touchstone.streams.topics.identity import Topic, TopicMetadata

HERE = {"error_code": 0, "topic": "traces", "topic_id": bytes(15) + b"1", "partitions": [{}]}


class Cluster:
    """A client of three brokers: some hang, some cannot be reached, the others answer."""

    def __init__(self, hanging: set[int] = frozenset(), refusing: set[int] = frozenset()) -> None:  # type: ignore[assignment]
        self.hanging, self.refusing = hanging, refusing
        self.cluster = SimpleNamespace(brokers=lambda: [SimpleNamespace(nodeId=node) for node in (1, 2, 3)])
        self.asked: list[int] = []

    async def send(self, node: int, request: Any) -> Any:
        if "Quorum" in type(request).__name__:
            raise NotImplementedError
        self.asked.append(node)
        if node in self.hanging:
            await asyncio.Event().wait()
        if node in self.refusing:
            raise NodeNotReadyError
        return SimpleNamespace(to_object=lambda: {"topics": [HERE]})


def metadata_of(cluster: Cluster) -> TopicMetadata:
    metadata = TopicMetadata(KafkaSettings(probe_timeout_s=0.05))
    metadata._client = cluster
    metadata._rank.update({1: 0.1, 2: 0.2, 3: 0.3})  # else drawn
    return metadata


async def test_not_every_worker_asks_the_same_broker_first() -> None:
    asked = set()
    for _ in range(60):
        cluster = Cluster()
        metadata = metadata_of(cluster)
        metadata._rank.clear()
        await metadata.read(["traces"])
        asked.add(cluster.asked[0])
    assert asked == {1, 2, 3}


async def test_brokers_that_hang_are_passed_over_next_time() -> None:
    cluster = Cluster(hanging={1, 2})
    metadata = metadata_of(cluster)
    for _ in range(2):
        with pytest.raises(TimeoutError):
            await metadata.read(["traces"])
    for _ in range(2):
        assert isinstance((await metadata.read(["traces"]))["traces"], Topic)
    assert cluster.asked == [1, 2, 3, 3]


async def test_a_broker_that_cannot_be_reached_is_passed_over_at_once() -> None:
    cluster = Cluster(refusing={1})
    metadata = metadata_of(cluster)
    for _ in range(2):
        assert await metadata.read(["traces"])
    assert cluster.asked == [1, 2, 2]
