"""The reader's publications: seldom enough for hundreds of watchers, and never the reason why the service falls behind."""

import asyncio
from typing import Any

from tests.streams.subscription.made import R0, TOPICS, make_hub, record, result_bytes
from touchstone.schemas.settings.house import KafkaSettings, Settings
from touchstone.streams.subscription.events import EventReader
from touchstone.streams.subscription.hub import Arrival
from touchstone.streams.subscription.reader import Reader

WAIT_S = 60


class OneByOne:
    """A broker that gives one record a poll, however many there are."""

    def __init__(self, count: int) -> None:
        self.records = [record(R0, offset, result_bytes(str(offset))) for offset in range(count)]

    async def getmany(self, *, timeout_ms: int, max_records: int) -> dict[str, list[Any]]:
        """The next one."""
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
