import asyncio
import json
import time
from typing import Any

import pytest
import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from tests.integration.brokers import Broker, Namespace
from tests.integration.workers import produce
from tests.streams.fakes import GatedPublisher, make_intake, safe_event, safe_record
from touchstone.schemas.settings.house import KafkaSettings, Settings, WorkerSettings
from touchstone.streams.process.watchdog import Watchdog
from touchstone.streams.runners.base import Job, Stalled
from touchstone.streams.telemetry.logs import FIELDS

RECORD = json.dumps(safe_event("e")).encode()
#: Long enough for a look at a busy machine, and no longer.
STALL_S = 0.4
LOOKS = 10


@pytest.fixture
def job(broker: Broker, namespace: Namespace) -> Job:
    broker.create_topics(namespace.topics(1))
    intake, metrics = make_intake(GatedPublisher())
    settings = Settings(kafka=KafkaSettings(bootstrap_servers=broker.bootstrap_servers, probe_interval_s=0.05), worker=WorkerSettings(stall_timeout_s=STALL_S))
    topic = namespace.topic("generations")
    one = Job(settings, intake, metrics, (topic,), namespace.group(), asyncio.Event())
    one.on_assigned({(topic, 0)})
    return one


class Enough(Exception):
    """The watchdog has looked often enough to have called a standstill by its name."""


async def stalls(job: Job) -> bool:
    """Whether the watchdog gives a verdict. It has looked at the topic for twice the time that a standstill may last."""
    watchdog, began, looks = Watchdog(job), time.monotonic(), 0
    look = watchdog._look

    async def counted(consumer: AIOKafkaConsumer) -> None:
        nonlocal looks
        await look(consumer)
        looks += 1
        if looks >= LOOKS and time.monotonic() - began > 2 * STALL_S:
            raise Enough

    watchdog._look = counted  # type: ignore[method-assign]
    try:
        async with asyncio.timeout(20):
            await watchdog.run()
    except Stalled:
        return True
    except Enough:
        return False


async def commit(broker: Broker, job: Job, offset: int) -> None:
    consumer = AIOKafkaConsumer(bootstrap_servers=broker.bootstrap_servers, group_id=job.group, enable_auto_commit=False)
    await consumer.start()
    try:
        partition = TopicPartition(job.topics[0], 0)
        consumer.assign([partition])
        await consumer.commit({partition: offset})
    finally:
        await consumer.stop()


async def test_records_that_nobody_takes_up_are_a_stall(broker: Broker, job: Job) -> None:
    await produce(broker, job.topics[0], [(0, RECORD, [])])
    assert await stalls(job)


async def test_an_empty_topic_is_quiet(job: Job) -> None:
    assert not await stalls(job)


async def test_a_worker_that_starts_on_a_finished_topic_is_quiet(broker: Broker, job: Job) -> None:
    await produce(broker, job.topics[0], [(0, RECORD, [])] * 3)
    await commit(broker, job, 3)
    assert not await stalls(job)


async def test_records_settled_by_this_worker_are_no_lag(broker: Broker, job: Job) -> None:
    await produce(broker, job.topics[0], [(0, RECORD, [])] * 3)
    job.on_committed({(job.topics[0], 0): 3})
    assert not await stalls(job)


async def test_a_finished_partition_that_stays_through_a_rebalance_is_no_lag(broker: Broker, job: Job) -> None:
    await produce(broker, job.topics[0], [(0, RECORD, [])] * 3)
    watchdog, place = Watchdog(job), (job.topics[0], 0)
    consumer = await watchdog._connect()
    try:
        await watchdog._look(consumer)
        assert watchdog._seen == {TopicPartition(*place): 0}
        await commit(broker, job, 3)
        job.on_assigned({place})
        await watchdog._look(consumer)
        assert watchdog._seen == {TopicPartition(*place): 3}
    finally:
        await consumer.stop()
        await watchdog._ownership.close()


async def test_a_stall_says_what_is_held_and_whether_the_runner_polls(broker: Broker, job: Job) -> None:
    await produce(broker, job.topics[0], [(0, RECORD, [])])
    job.polled_at = time.monotonic() - 7
    with structlog.testing.capture_logs() as logs:
        assert await stalls(job)
    (line,) = [line for line in logs if line["event"] == "stalled"]
    assert {name: line[name] for name in ("lag", "in_flight", "partitions", "rebalances")} == {"lag": 1, "in_flight": 0, "partitions": 1, "rebalances": 1}
    assert line["polled_s"] >= 7
    assert line.keys() <= FIELDS | {"log_level"}


async def test_work_in_flight_that_does_not_move_is_told_with_its_place_and_stage(broker: Broker, job: Job) -> None:
    held = asyncio.Event()

    async def wait(*_: Any) -> None:
        await held.wait()

    job.intake._publisher = GatedPublisher(wait)
    job.intake.start((job.topics[0], 0), [safe_record(0)])
    with structlog.testing.capture_logs() as logs:
        assert not await stalls(job)
    held.set()
    stuck = [line for line in logs if line["event"] == "in_flight_stuck"]
    assert stuck
    assert len(stuck) < LOOKS
    assert {name: stuck[0][name] for name in ("topic", "partition", "offset", "stage", "in_flight")} == {
        "topic": job.topics[0], "partition": 0, "offset": 0, "stage": "produce", "in_flight": 1,
    }  # fmt: skip
    assert stuck[0].keys() <= FIELDS | {"log_level"}


async def test_work_in_flight_is_not_a_stall(broker: Broker, job: Job) -> None:
    await produce(broker, job.topics[0], [(0, RECORD, [])])
    held = asyncio.Event()

    async def wait(*_: Any) -> None:
        await held.wait()

    job.intake._publisher = GatedPublisher(wait)
    job.intake.start((job.topics[0], 0), [safe_record(0)])
    assert not await stalls(job)
    held.set()


async def test_a_member_without_any_assignment_for_too_long_is_out_of_its_group(broker: Broker, job: Job) -> None:
    worker = job.settings.worker.model_copy(update={"rebalance_timeout_s": STALL_S / 8, "session_timeout_s": STALL_S / 8})
    job.settings = job.settings.model_copy(update={"worker": worker})
    job.on_revoked()
    assert await stalls(job)


@pytest.mark.apache
async def test_a_transaction_marker_at_the_end_is_not_a_waiting_record(shared_apache: Broker, namespace: Namespace) -> None:
    broker = shared_apache
    broker.create_topics(namespace.topics(1))
    topic = namespace.topic("generations")
    producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, transactional_id=namespace.prefix)
    await producer.start()
    async with producer.transaction():
        await producer.send(topic, RECORD, partition=0)
    await producer.stop()
    intake, metrics = make_intake(GatedPublisher())
    settings = Settings(kafka=KafkaSettings(bootstrap_servers=broker.bootstrap_servers, probe_interval_s=0.05), worker=WorkerSettings(stall_timeout_s=STALL_S))
    job = Job(settings, intake, metrics, (topic,), namespace.group(), asyncio.Event())
    job.on_assigned({(topic, 0)})
    job.on_committed({(topic, 0): 1})  # the end offset is 2: the record and the marker
    assert not await stalls(job)
