import asyncio
from typing import Any

import pytest
from aiokafka import TopicPartition

from tests.streams.subscription.made import P0, R0, TOPICS, make_hub, record, result_bytes
from touchstone.schemas.settings.house import KafkaSettings, Settings
from touchstone.streams.subscription.events import EventReader
from touchstone.streams.subscription.hub import Arrival
from touchstone.streams.subscription.positions import Positions, read_topic_ids
from touchstone.streams.subscription.reader import Reader

WAIT_S = 60


class OneByOne:
    """A broker that gives one record a poll, however many there are."""

    def __init__(self, count: int) -> None:
        self.records = [record(R0, offset, result_bytes(str(offset))) for offset in range(count)]

    async def getmany(self, *, timeout_ms: int, max_records: int) -> dict[str, list[Any]]:
        assert max_records > 0
        await asyncio.sleep(0 if self.records else timeout_ms / 1000)
        return {"part": [self.records.pop(0)]} if self.records else {}


async def test_a_broker_that_gives_little_at_a_time_does_not_hold_the_service_back() -> None:
    hub = make_hub()
    published: list[int] = []
    publish = hub.publish

    def counted(arrivals: list[Arrival]) -> None:
        published.append(len(arrivals))
        publish(arrivals)

    hub.publish = counted  # type: ignore[method-assign,assignment]
    settings = Settings(kafka=KafkaSettings(probe_interval_s=WAIT_S))
    reading = asyncio.create_task(Reader(settings, hub, EventReader(TOPICS, {}))._follow(OneByOne(300)))  # type: ignore[arg-type]
    async with asyncio.timeout(WAIT_S):
        while hub.positions[R0] < 300:  # noqa: ASYNC110 -- what is waited for has no event
            await asyncio.sleep(0.01)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert sum(published) == 300
    assert len(published) < 150


class Empty:
    """A broker whose topics have one partition each, and nothing in them."""

    def assign(self, parts: list[Any]) -> None:
        self.parts = {TopicPartition(topic, 0) for topic in (TOPICS.results, TOPICS.reports)}

    def assignment(self) -> set[TopicPartition]:
        return self.parts

    def seek(self, part: TopicPartition, offset: int) -> None:
        assert (part in self.parts, offset) == (True, 0)


async def test_topics_that_were_made_anew_with_fewer_partitions_are_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = make_hub()  # has a further partition of the results, in which nothing was
    reader = Reader(Settings(), hub, EventReader(TOPICS, {}))

    async def bounds() -> tuple[Positions, Positions]:
        return {R0: 0, P0: 0}, {R0: 0, P0: 0}

    monkeypatch.setattr(reader, "bounds", bounds)
    await reader._assign(Empty(), [])  # type: ignore[arg-type]
    assert (hub.positions, hub.lost, hub.generation) == ({R0: 0, P0: 0}, "unknown", 1)


@pytest.mark.parametrize(("was", "lost"), [(b"a" * 16, "unknown"), (b"b" * 16, None)], ids=["another topic", "the same topic"])
async def test_topics_that_were_made_anew_are_known_by_their_ids_however_long_they_are(monkeypatch: pytest.MonkeyPatch, was: bytes, lost: str | None) -> None:
    hub = make_hub()
    hub.begin({R0: 0, P0: 0}, topics={"r": was})
    reader = Reader(Settings(), hub, EventReader(TOPICS, {}))
    reader._ids = {"r": b"b" * 16}

    async def bounds() -> tuple[Positions, Positions]:
        return {R0: 0, P0: 0}, {R0: 0, P0: 0}

    monkeypatch.setattr(reader, "bounds", bounds)
    await reader._assign(Empty(), [])  # type: ignore[arg-type]
    assert (hub.lost, hub.generation) == ((lost, 1) if lost else ("unknown", 0))
    assert read_topic_ids(hub.id) == {"r": b"b" * 16}
