import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from tests.integration.brokers import Broker, Namespace
from touchstone.ops.selftest.kafka_system import KafkaTopics
from touchstone.schemas.settings.house import KafkaSettings
from touchstone.scorers.base import ConfigError
from touchstone.scorers.selftest.system import NAMESPACE, SystemFault, Task
from touchstone.scorers.selftest.system_settings import KafkaSystem
from touchstone.streams.topics import request_reply

TASK = Task("selftest-20260206-1234-a001", "selftest-20260206-1234-a", "Please organise it.")
Answer = Callable[[dict[str, Any]], list[Any]]


def answers(request: dict[str, Any]) -> list[Any]:
    """Noise, a reply to somebody else, a state that is not the end, and the end."""
    mine = {"correlation_id": request["correlation_id"], "task_id": "t1"}
    end = {"status": "COMPLETE", "output": "Flat."} if "reply" in request else {"status": "AWAITING_RESPONSE", "output": "Flat or nested?"}
    return [b"noise", {"correlation_id": "other", "status": "COMPLETE", "output": "wrong"}, mine | {"status": "RUNNING"}, mine | end]


@asynccontextmanager
async def system_behind(broker: Broker, requests: str, replies: str, answer: Answer) -> AsyncIterator[list[dict[str, Any]]]:
    """A system that reads requests and sends what `answer` gives; the requests that it got."""
    got: list[dict[str, Any]] = []
    consumer = AIOKafkaConsumer(bootstrap_servers=broker.bootstrap_servers, group_id=None, auto_offset_reset="earliest")
    producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers)
    await consumer.start()
    await producer.start()
    consumer.assign([TopicPartition(requests, number) for number in range(2)])
    await consumer.seek_to_beginning()

    async def serve() -> None:
        async for record in consumer:
            request = json.loads(record.value)
            got.append({**request, "headers": dict(record.headers)})
            for told in answer(request):
                await producer.send_and_wait(replies, told if isinstance(told, bytes) else json.dumps(told).encode())

    serving = asyncio.create_task(serve())
    try:
        yield got
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await consumer.stop()
        await producer.stop()


@pytest.fixture
def topics(shared_embedded: Broker, namespace: Namespace) -> KafkaSystem:
    system = KafkaSystem(adapter="kafka", request_topic=f"{namespace.prefix}.selftest.requests", reply_topic=f"{namespace.prefix}.selftest.replies")
    shared_embedded.create_topics({system.request_topic: 2, system.reply_topic: 2})
    return system


async def test_a_task_and_its_reply_go_over_topics_of_their_own(shared_embedded: Broker, topics: KafkaSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    groups: list[Any] = []
    real = request_reply.AIOKafkaConsumer

    def consumer(**options: Any) -> Any:
        groups.append((options["group_id"], options["enable_auto_commit"]))
        return real(**options)

    monkeypatch.setattr(request_reply, "AIOKafkaConsumer", consumer)
    async with system_behind(shared_embedded, topics.request_topic, topics.reply_topic, answers) as got:
        system = KafkaTopics(topics, KafkaSettings(bootstrap_servers=shared_embedded.bootstrap_servers))
        await system.open()
        try:
            before = await system.ask(TASK, 60)
            assert (before.task_id, before.status, before.output) == ("t1", "AWAITING_RESPONSE", "Flat or nested?")
            after = await system.reply(TASK, before, "Flat, please.", 60)
            assert (after.status, after.output) == ("COMPLETE", "Flat.")
        finally:
            await system.close()
    assert groups == [(None, False)]
    assert [request["task_type"] for request in got] == ["READ_INFO", "READ_INFO"]
    assert [request["kind"] for request in got] == ["selftest", "selftest"]
    assert (got[1]["task_id"], got[1]["reply"]) == ("t1", "Flat, please.")
    for request in got:
        assert all(NAMESPACE.fullmatch(request[name]) for name in ("session_id", "task_group_id", "correlation_id"))
        assert request["headers"]["correlation_id"].decode() == request["correlation_id"]
    assert got[0]["correlation_id"] != got[1]["correlation_id"]


async def test_a_reply_that_never_comes_and_one_that_cannot_be_read_are_faults(shared_embedded: Broker, topics: KafkaSystem) -> None:
    told: list[list[Any]] = [[], [{"correlation_id": None}]]

    def answer(request: dict[str, Any]) -> list[Any]:
        return [{**one, "correlation_id": request["correlation_id"]} for one in told.pop(0)]

    async with system_behind(shared_embedded, topics.request_topic, topics.reply_topic, answer):
        system = KafkaTopics(topics, KafkaSettings(bootstrap_servers=shared_embedded.bootstrap_servers))
        await system.open()
        try:
            with pytest.raises(SystemFault) as silent:
                await system.ask(TASK, 1)
            with pytest.raises(SystemFault) as unreadable:
                await system.ask(TASK, 60)
        finally:
            await system.close()
    assert (silent.value.code, unreadable.value.code) == ("timeout", "unreadable")


async def test_requests_at_a_time_get_their_own_answers(shared_embedded: Broker, topics: KafkaSystem) -> None:
    waiting: list[dict[str, Any]] = []

    def the_last_first(request: dict[str, Any]) -> list[Any]:
        waiting.append({"correlation_id": request["correlation_id"], "status": "COMPLETE", "output": request["prompt"]})
        return [] if len(waiting) < 6 else waiting[::-1]

    tasks = [Task(f"{TASK.task_group_id}{number:03d}", TASK.task_group_id, f"request {number}") for number in range(6)]
    async with system_behind(shared_embedded, topics.request_topic, topics.reply_topic, the_last_first):
        system = KafkaTopics(topics, KafkaSettings(bootstrap_servers=shared_embedded.bootstrap_servers))
        await system.open()
        try:
            outcomes = await asyncio.gather(*(system.ask(task, 60) for task in tasks))
        finally:
            await system.close()
    assert [outcome.output for outcome in outcomes] == [task.prompt for task in tasks]


async def test_a_missing_topic_is_told_and_not_created(shared_embedded: Broker, namespace: Namespace) -> None:
    missing = KafkaSystem(adapter="kafka", request_topic=f"{namespace.prefix}.selftest.a", reply_topic=f"{namespace.prefix}.selftest.b")
    for _ in range(2):
        with pytest.raises(ConfigError, match="no topic"):
            await KafkaTopics(missing, KafkaSettings(bootstrap_servers=shared_embedded.bootstrap_servers)).open()


async def test_a_broker_that_does_not_answer_is_told() -> None:
    kafka = KafkaSettings(bootstrap_servers="127.0.0.1:1", connect_timeout_s=0.5)
    with pytest.raises(ConfigError, match="does not answer"):
        await KafkaTopics(KafkaSystem(adapter="kafka"), kafka).open()
