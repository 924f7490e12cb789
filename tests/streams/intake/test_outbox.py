import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import NotEnoughReplicasError
from aiokafka.producer.message_accumulator import BatchBuilder

from touchstone.schemas.settings.house import KafkaSettings, WorkerSettings
from touchstone.streams.embedded.broker import DISCONNECT, EmbeddedBroker
from touchstone.streams.intake.outbox import Outbox
from touchstone.streams.wire.message import Message

pytestmark = pytest.mark.integration

NOT_LEADER, REQUEST_TIMED_OUT, TOPIC_AUTHORIZATION_FAILED, MESSAGE_TOO_LARGE, OUT_OF_ORDER = 6, 7, 29, 10, 45


class Counted:
    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.gauges: dict[str, float] = {}

    def count(self, name: str, amount: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + amount

    def gauge(self, name: str, value: float) -> None:
        self.gauges[name] = value


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker({"out": 2}) as started:
        yield started


@pytest.fixture
async def outbox(broker: EmbeddedBroker) -> AsyncIterator[Outbox]:
    settings = WorkerSettings(retry_backoff_min_s=0.02, retry_backoff_max_s=0.1)
    box = Outbox(KafkaSettings(bootstrap_servers=broker.bootstrap_servers), settings, Counted())
    await box.start()
    yield box
    await box.stop()


def messages(count: int, start: int = 0) -> list[Message]:
    return [Message(b"k%d" % n, b"v%d" % n, [("n", b"%d" % n)]) for n in range(start, start + count)]


async def read(broker: EmbeddedBroker, partition: int, count: int) -> list[Any]:
    consumer = AIOKafkaConsumer(bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest")
    await consumer.start()
    try:
        consumer.assign([TopicPartition("out", partition)])
        found: list[Any] = []
        async with asyncio.timeout(10):
            while len(found) < count:
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    found.extend(records)
        return found
    finally:
        await consumer.stop()


async def test_messages_arrive_in_order_with_key_value_and_headers(outbox: Outbox, broker: EmbeddedBroker) -> None:
    await outbox.publish("out", 1, messages(50))
    found = await read(broker, 1, 50)
    assert [record.value for record in found] == [b"v%d" % n for n in range(50)]
    assert found[7].key == b"k7"
    assert found[7].headers == (("n", b"7"),)


async def test_concurrent_publishes_to_one_partition_share_batches_and_all_end(outbox: Outbox, broker: EmbeddedBroker) -> None:
    await asyncio.gather(*(outbox.publish("out", 0, messages(10, 10 * n)) for n in range(40)))
    assert {record.value for record in await read(broker, 0, 400)} == {b"v%d" % n for n in range(400)}


@pytest.mark.parametrize("code", [REQUEST_TIMED_OUT, NOT_LEADER, TOPIC_AUTHORIZATION_FAILED, OUT_OF_ORDER, DISCONNECT])
async def test_a_publish_ends_only_when_acknowledged_whatever_the_produce_errors(outbox: Outbox, broker: EmbeddedBroker, code: int) -> None:
    broker.inject_errors("Produce", [code] * 3)
    async with asyncio.timeout(20):
        await outbox.publish("out", 0, messages(5))
        await outbox.publish("out", 0, messages(5, 5))  # a gap in the idempotent sequence would refuse these
    assert {record.value for record in await read(broker, 0, 10)} >= {b"v%d" % n for n in range(10)}
    assert outbox.up


async def test_a_lane_that_waits_for_a_producer_that_another_lane_had_replaced_sends_again(
    outbox: Outbox, broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.create_topic("dead", 1)
    await outbox.publish("out", 0, messages(1))

    async def never(*_: Any) -> bool:
        return await asyncio.Event().wait()

    assert outbox._producer is not None
    monkeypatch.setattr(outbox._producer.client, "_metadata_update", never)  # as while a broker is slow to answer
    behind = asyncio.create_task(outbox.publish("dead", 0, messages(1)))
    await asyncio.sleep(0)
    broker.inject_errors("Produce", [TOPIC_AUTHORIZATION_FAILED])
    async with asyncio.timeout(20):
        await outbox.publish("out", 0, messages(1, 1))
        await behind
    assert not outbox._sending


async def test_a_broker_that_is_down_holds_the_publish_back_until_it_returns(outbox: Outbox, broker: EmbeddedBroker) -> None:
    broker.set_down()
    waiting = asyncio.create_task(outbox.publish("out", 0, messages(3)))
    await asyncio.sleep(0.5)
    assert not waiting.done()
    broker.set_up()
    async with asyncio.timeout(20):
        await waiting
    assert len(await read(broker, 0, 3)) >= 3


async def test_a_batch_refused_for_size_reaches_the_broker_message_by_message(outbox: Outbox, broker: EmbeddedBroker) -> None:
    broker.inject_errors("Produce", [MESSAGE_TOO_LARGE])
    async with asyncio.timeout(20):
        await outbox.publish("out", 0, messages(4))
    assert {record.value for record in await read(broker, 0, 4)} == {b"v0", b"v1", b"v2", b"v3"}


async def test_a_single_message_refused_for_size_is_said_and_hurts_no_neighbour(outbox: Outbox, broker: EmbeddedBroker) -> None:
    from touchstone.streams.intake.outbox import TooLarge

    broker.inject_errors("Produce", [MESSAGE_TOO_LARGE] * 2)
    async with asyncio.timeout(20):
        with pytest.raises(TooLarge):
            await outbox.publish("out", 0, messages(1))
        await outbox.publish("out", 0, messages(3, 1))
    assert {record.value for record in await read(broker, 0, 3)} == {b"v1", b"v2", b"v3"}


async def test_stopping_with_a_broker_that_is_gone_ends_and_leaves_nobody_waiting(outbox: Outbox, broker: EmbeddedBroker) -> None:
    broker.set_down()
    waiting = asyncio.create_task(outbox.publish("out", 0, messages(1)))
    await asyncio.sleep(0.2)
    async with asyncio.timeout(15):
        await outbox.stop()
        with pytest.raises(asyncio.CancelledError):
            await waiting


@pytest.mark.parametrize(("codec", "number"), [("gzip", 1), ("snappy", 2), ("lz4", 3), ("zstd", 4)])
async def test_results_leave_compressed_as_the_settings_say(broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch, codec: Any, number: int) -> None:
    sent: list[int] = []
    build = BatchBuilder._build

    def noted(self: Any) -> Any:
        built = build(self)
        sent.append(built[22] & 0x07)  # the lower byte of the batch's attributes
        return built

    monkeypatch.setattr(BatchBuilder, "_build", noted)
    box = Outbox(KafkaSettings(bootstrap_servers=broker.bootstrap_servers), WorkerSettings(compression=codec), Counted())
    await box.start()
    try:
        await box.publish("out", 0, [Message(b"k", b"v" * 1_000, [])])
    finally:
        await box.stop()
    assert sent == [number]
    assert [record.value for record in await read(broker, 0, 1)] == [b"v" * 1_000]


async def test_it_is_not_up_while_one_partition_fails_and_another_does_not(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    disk_is_full, send, tried = asyncio.Event(), outbox._send, asyncio.Event()
    disk_is_full.set()

    async def refuse(producer: Any, batch: Any, lane: Any) -> None:
        if lane.partition == 0 and disk_is_full.is_set():
            tried.set()
            raise NotEnoughReplicasError
        await send(producer, batch, lane)

    monkeypatch.setattr(outbox, "_send", refuse)
    waits = asyncio.create_task(outbox.publish("out", 0, messages(1)))
    await tried.wait()
    for number in range(20):
        await outbox.publish("out", 1, messages(1, number))
        assert not outbox.up
    disk_is_full.clear()
    await waits
    assert outbox.up


async def test_a_failing_partition_that_nobody_waits_for_does_not_keep_it_down(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    send, tried = outbox._send, asyncio.Event()

    async def refuse(producer: Any, batch: Any, lane: Any) -> None:
        if lane.partition == 0:
            tried.set()
            raise NotEnoughReplicasError
        await send(producer, batch, lane)

    monkeypatch.setattr(outbox, "_send", refuse)
    revoked = asyncio.create_task(outbox.publish("out", 0, messages(1)))
    await tried.wait()
    revoked.cancel()
    async with asyncio.timeout(30):
        while not outbox.up:
            await outbox.publish("out", 1, messages(1))
