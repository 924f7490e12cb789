import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from tests.integration.brokers import Broker, Namespace
from touchstone.schemas.settings.house import KafkaSettings, Settings
from touchstone.scorers.base import ConfigError
from touchstone.streams.topics import log_reader, produce
from touchstone.streams.topics.log_reader import LogReader
from touchstone.streams.topics.produce import Outgoing, send_events

EVENTS = 60


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(produce, "QUIET_S", 0.5)
    monkeypatch.setattr(log_reader, "PROBE_INTERVAL_S", 0.2)
    monkeypatch.setattr(log_reader, "PROBE_TIMEOUT_S", 1.0)


@pytest.fixture
def topic(namespace: Namespace) -> str:
    return namespace.topic("generations")


def settings(broker: Broker) -> Settings:
    return Settings(kafka=KafkaSettings(bootstrap_servers=broker.bootstrap_servers))


async def until(condition: Callable[[], bool], timeout_s: float = 240.0) -> None:
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 -- what is waited for is no event of ours
            await asyncio.sleep(0.02)


def outgoing(topic: str, handed_over: list[int], count: int = EVENTS) -> Iterator[Outgoing]:
    """Numbered events; `handed_over` tells how far the sender is."""
    for number in range(count):
        handed_over.append(number)
        yield Outgoing(f"line {number}", topic, b"k", json.dumps(number).encode())


async def kept(broker: Broker, topic: str) -> list[int]:
    consumer = AIOKafkaConsumer(bootstrap_servers=broker.bootstrap_servers, group_id=None)
    await consumer.start()
    try:
        part = TopicPartition(topic, 0)
        consumer.assign([part])
        await consumer.seek_to_beginning(part)
        end = (await consumer.end_offsets([part]))[part]
        found: list[int] = []
        while await consumer.position(part) < end:
            found += [json.loads(record.value) for record in (await consumer.getmany(timeout_ms=200)).get(part, ())]
        return found
    finally:
        await consumer.stop()


class Outage:
    """Takes a broker away and brings it back: the embedded one drops its connections, Apache Kafka is killed and started again."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def begin(self) -> None:
        if self._broker.embedded is not None:
            self._broker.embedded.set_down()
        else:
            assert self._broker.cluster is not None
            await asyncio.to_thread(self._broker.cluster.kill, 1)

    async def end(self) -> None:
        if self._broker.embedded is not None:
            self._broker.embedded.set_up()
        else:
            assert self._broker.cluster is not None
            await asyncio.to_thread(self._broker.cluster.start)


@pytest.fixture(params=["embedded", pytest.param("one_node", marks=pytest.mark.apache)])
def own(request: pytest.FixtureRequest, topic: str) -> Broker:
    broker: Broker = request.getfixturevalue(request.param)
    broker.create_topics({topic: 1})
    return broker


async def test_produce_at_a_rate_waits_for_the_broker_and_sends_everything_once_and_in_order(own: Broker, topic: str) -> None:
    said: list[str] = []
    handed_over: list[int] = []
    outage = Outage(own)
    sending = asyncio.create_task(send_events(settings(own), outgoing(topic, handed_over), [topic], rate_per_s=20, say=said.append))
    await until(lambda: len(handed_over) > EVENTS // 3)
    await outage.begin()
    await until(lambda: bool(said))
    await outage.end()
    async with asyncio.timeout(60):
        sent = await sending
    assert sent.total == EVENTS
    assert await kept(own, topic) == list(range(EVENTS))
    where = f"Kafka at {own.bootstrap_servers}"
    # A node that has just started may stop answering once more; each time is told with its end.
    assert said == [f"{where} does not answer; waiting for it for up to 300 s", f"{where} is back"] * (len(said) // 2)


async def test_produce_gives_up_after_its_bound_and_says_how_much_is_there(embedded: Broker, topic: str) -> None:
    embedded.create_topics({topic: 1})
    handed_over: list[int] = []
    sending = asyncio.create_task(send_events(settings(embedded), outgoing(topic, handed_over), [topic], rate_per_s=20, away_max_s=1.0))
    await until(lambda: len(handed_over) > 5)
    assert embedded.embedded is not None
    embedded.embedded.set_down()
    with pytest.raises(ConfigError, match=r"has accepted no event for 1 s; \d+ events were acknowledged before"):
        await asyncio.wait_for(sending, 30)


UNKNOWN_PRODUCER_ID, OUT_OF_ORDER = 59, 45


@pytest.mark.parametrize("code", [UNKNOWN_PRODUCER_ID, OUT_OF_ORDER])
async def test_produce_sends_anew_what_a_broker_refused_that_has_forgotten_the_producer(embedded: Broker, topic: str, code: int) -> None:
    embedded.create_topics({topic: 1})
    assert embedded.embedded is not None
    embedded.embedded.inject_errors("Produce", [code])
    async with asyncio.timeout(60):
        sent = await send_events(settings(embedded), outgoing(topic, []), [topic])
    assert sent.total == EVENTS
    assert await kept(embedded, topic) == list(range(EVENTS))


async def test_a_pause_between_events_is_no_outage(embedded: Broker, topic: str) -> None:
    embedded.create_topics({topic: 1})
    said: list[str] = []
    await send_events(settings(embedded), outgoing(topic, [], 2), [topic], rate_per_s=0.7, say=said.append)
    assert said == []


async def test_following_waits_for_the_broker_and_reads_on_where_it_stopped(own: Broker, topic: str) -> None:
    said: list[str] = []
    outage = Outage(own)
    await send_events(settings(own), outgoing(topic, [], 5), [topic])

    async def numbers(reader: LogReader) -> AsyncIterator[int]:
        async for record in reader.read("beginning", follow=True):
            yield json.loads(record.value)

    async with asyncio.timeout(400), LogReader(settings(own).kafka, [topic], said.append) as reader, aclosing(numbers(reader)) as following:
        assert [await anext(following) for _ in range(5)] == list(range(5))
        going_on = asyncio.ensure_future(anext(following))
        await outage.begin()
        await until(lambda: bool(said))
        await outage.end()
        await until(lambda: len(said) >= 2)
        await send_events(settings(own), outgoing(topic, [], 3), [topic])
        assert [await going_on, await anext(following), await anext(following)] == [0, 1, 2]
    where = f"Kafka at {own.bootstrap_servers}"
    # As above: a node that has just started may stop answering once more. What arrives says that it is back.
    assert said == [f"{where} does not answer; waiting for it", f"{where} is back; reading continues where it stopped"] * (len(said) // 2)


async def test_who_reads_a_record_after_an_outage_has_been_told_that_the_broker_is_back(embedded: Broker, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        # No probe after this one: only the records tell it.
        monkeypatch.setattr(log_reader, "PROBE_INTERVAL_S", 3600.0)

    embedded.create_topics({topic: 1})
    outage = Outage(embedded)
    await send_events(settings(embedded), outgoing(topic, [], 1), [topic])
    async with (
        asyncio.timeout(120),
        LogReader(settings(embedded).kafka, [topic], say) as reader,
        aclosing(reader.read("beginning", follow=True)) as following,
    ):
        await anext(following)
        going_on = asyncio.ensure_future(anext(following))
        await outage.begin()
        await until(lambda: bool(said))
        await outage.end()
        await send_events(settings(embedded), outgoing(topic, [], 1), [topic])
        await going_on
        where = f"Kafka at {embedded.bootstrap_servers}"
        assert said == [f"{where} does not answer; waiting for it", f"{where} is back; reading continues where it stopped"]
