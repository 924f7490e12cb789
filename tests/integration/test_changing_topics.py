"""Partitions that are added, and topics that go, under a running worker."""

import time

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from tests.integration.brokers import EACH_FETCHER, Broker, Namespace
from tests.integration.test_expired import events
from tests.integration.workers import Start, Worker, committed, produce, reading
from touchstone.streams.process.ending import EXIT_STALLED

pytestmark = pytest.mark.apache

#: Clients notice a new partition late here, so that what the pages say before is seen.
LATE = {"TOUCHSTONE_KAFKA_METADATA_MAX_AGE_S": "6", "TOUCHSTONE_KAFKA_PROBE_INTERVAL_S": "0.5"}


def lag(worker: Worker, topic: str, partition: int) -> float:
    """Lag of a partition in the worker's metrics; -1 if it is not there."""
    name = f'touchstone_consumer_lag_records{{partition="{partition}",suite="safe_v0",topic="{topic}"}} '
    found = [line for line in worker.page("/metrics")[1].splitlines() if line.startswith(name)]
    return float(found[0].rpartition(" ")[2]) if found else -1


@EACH_FETCHER
async def test_partitions_that_are_added_are_read_from_their_beginning_and_are_lag_until_then(
    shared_apache: Broker, namespace: Namespace, runner: str, start: Start
) -> None:
    broker, topic, group = shared_apache, namespace.topic("generations"), namespace.group("safe_v0")
    broker.create_topics(namespace.topics(2))
    environment = namespace.environment(broker) | LATE | {"TOUCHSTONE_WORKER_AUTO_OFFSET_RESET": "latest"}
    await produce(broker, topic, events(0, 10))
    async with reading(broker, namespace, partitions=2) as until:
        worker = start(runner, environment)
        worker.until(lambda: worker.page("/readyz")[0] == 200)
        assert await committed(broker, group, topic, 2) == [10, 0]  # `latest` is where the group begins, whatever becomes of this worker
        worker.close()
        await produce(broker, topic, events(10, 15))

        worker = start(runner, environment)
        await until(lambda seen: len(seen.results) == 5)
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
        admin.create_partitions([NewPartitions(topic, 4)], operation_timeout=20)[topic].result(timeout=30)
        await produce(broker, topic, events(15, 35, partition=3))
        added = time.monotonic()
        worker.until(lambda: worker.page("/readyz") == (503, f"no worker of the group reads {topic}[2], {topic}[3]\n"), 10)
        worker.until(lambda: lag(worker, topic, 3) == 20, 10)
        await until(lambda seen: len(seen.results) == 25, 30)
        worker.until(lambda: worker.page("/readyz")[0] == 200, 10)
        assert time.monotonic() - added < 30
        worker.until(lambda: lag(worker, topic, 3) == 0, 10)
        assert worker.end() == 0, worker.log
    assert await committed(broker, group, topic) == [15, 0, 0, 20]


async def test_what_a_deleted_topic_took_with_it_is_told_and_its_successor_is_read_from_its_beginning(
    shared_apache: Broker, namespace: Namespace, runner: str, start: Start
) -> None:
    broker, topic = shared_apache, namespace.topic("generations")
    broker.create_topics(namespace.topics(1))
    environment = namespace.environment(broker) | {"TOUCHSTONE_KAFKA_PROBE_INTERVAL_S": "0.5", "TOUCHSTONE_WORKER_AUTO_OFFSET_RESET": "latest"}
    # The first dead letter stops the worker, and what comes after it waits. It must have stopped by then: in one slice with more events than dead
    # letters, these are no flood.
    worker = start(runner, environment | {"TOUCHSTONE_WORKER_DEAD_LIMIT_RECORDS": "1", "TOUCHSTONE_WORKER_DEAD_WINDOW_RECORDS": "4"})
    worker.until(lambda: worker.page("/readyz")[0] == 200)
    await produce(broker, topic, [(0, b"not JSON", ())] * 10)
    worker.until(lambda: "dead_limit_reached" in worker.log)
    await produce(broker, topic, events(0, 20))
    worker.until(lambda: lag(worker, topic, 0) == 30)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    admin.delete_topics([topic], operation_timeout=20)[topic].result(timeout=30)
    worker.until(lambda: f'"missing topic {topic}"' in worker.log, 20)
    broker.create_topics({topic: 1})
    await produce(broker, topic, events(20, 25))
    assert worker.process.wait(300) == EXIT_STALLED, worker.log
    async with reading(broker, namespace, partitions=1) as until:
        outcomes = await until(lambda seen: seen.told("expired") == 30)
        (record,) = [record for record in outcomes.ledger if record["entries"][0]["outcome"] == "expired"]
        assert record["entries"] == [{"outcome": "expired", "reason": "topic_deleted", "ranges": [[0, 29]]}]
        second = start(runner, environment)
        outcomes = await until(lambda seen: {f"e{number}" for number in range(20, 25)} <= seen.results.keys(), 60)
        (result,) = outcomes.results["e20"]
        assert record["topic_id"] != result["source"]["topic_id"]
    second.until(lambda: second.page("/readyz")[0] == 200, 20)
    assert second.end() == 0, second.log
