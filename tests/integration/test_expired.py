"""Records that Kafka deletes before a worker has read them."""

import json
import signal
import time
from collections.abc import Sequence
from typing import Any

import pytest
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.integration.brokers import Broker, Namespace
from tests.integration.workers import Start, committed, produce, reading
from tests.streams.fakes import safe_event

pytestmark = pytest.mark.apache


def delete_before(broker: Broker, topic: str, offset: int, partition: int = 0) -> None:
    """Move the log's start, as retention does."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    deadline = time.monotonic() + 60
    while True:
        (done,) = admin.delete_records([TopicPartition(topic, partition, offset)], operation_timeout=20).values()
        try:
            done.result(timeout=30)
        except KafkaException:  # a follower that has not caught up, or the leader of a topic just made that does not know itself yet
            assert time.monotonic() < deadline
            time.sleep(0.2)
        else:
            return


def events(first: int, after: int, partition: int = 0) -> list[tuple[int, bytes, Sequence[tuple[str, bytes]]]]:
    return [(partition, json.dumps(safe_event(f"e{number}")).encode(), ()) for number in range(first, after)]


def expired(ledger: list[dict[str, Any]]) -> list[tuple[int, int, int]]:
    """(partition, first, last) of every expired range, in order and once."""
    entries = [(record["partition"], entry) for record in ledger for entry in record["entries"] if entry["outcome"] == "expired"]
    return sorted({(partition, first, last) for partition, entry in entries for first, last in entry["ranges"]})


@pytest.mark.parametrize(("runner", "nodes"), [("direct", "three_nodes"), ("faust", "shared_apache"), ("faust-stock", "shared_apache")], indirect=["runner"])
async def test_what_was_deleted_unread_is_told_before_it_is_passed(
    request: pytest.FixtureRequest, namespace: Namespace, runner: str, nodes: str, start: Start
) -> None:
    broker: Broker = request.getfixturevalue(nodes)
    topic, group = namespace.topic("generations"), namespace.group("safe_v0")
    broker.create_topics(namespace.topics(1))
    async with reading(broker, namespace, partitions=1) as until:
        # Deleted before the group exists: it owes nothing for that.
        await produce(broker, topic, events(0, 30))
        delete_before(broker, topic, 10)
        worker = start(runner, namespace.environment(broker))
        await until(lambda seen: len(seen.results) == 20)
        assert worker.end() == 0, worker.log

        # While no worker runs, some of what waits, then all of it.
        await produce(broker, topic, events(30, 50))
        delete_before(broker, topic, 45)
        worker = start(runner, namespace.environment(broker))
        await until(lambda seen: len(seen.results) == 25 and seen.told("expired") == 15)
        assert worker.end() == 0, worker.log
        await produce(broker, topic, events(50, 60))
        delete_before(broker, topic, 60)
        worker = start(runner, namespace.environment(broker))
        await until(lambda seen: seen.told("expired") == 25)
        worker.until(lambda: 'touchstone_events_expired_total{suite="safe_v0",topic="' + topic + '"} 10.0' in worker.page("/metrics")[1])

        # While a worker runs: stopped, it gets the first record as the answer to its fetch, and asks for the others too late.
        worker.process.send_signal(signal.SIGSTOP)
        await produce(broker, topic, events(60, 61))
        await produce(broker, topic, events(61, 80))
        delete_before(broker, topic, 75)
        worker.process.send_signal(signal.SIGCONT)
        outcomes = await until(lambda seen: "e79" in seen.results and seen.told("expired") == 25 + 14)
        assert expired(outcomes.ledger) == [(0, 30, 44), (0, 50, 59), (0, 61, 74)]
        worker.until(lambda: worker.log.count('"event": "events_expired"') == 2)  # written once the ledger record is acknowledged
        assert worker.end() == 0, worker.log
    assert await committed(broker, group, topic, 1) == [80]
