import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import GroupAuthorizationFailedError

from touchstone.ops.local.kafka.processes import is_running, wait_until
from touchstone.scorers.base import ConfigError
from touchstone.streams.embedded import mock_cluster as mockcluster
from touchstone.streams.embedded.broker import DISCONNECT, EmbeddedBroker, EmbeddedBrokerError
from touchstone.streams.embedded.mock_cluster import RETENTION_BYTES_BUILT_IN, Unsupported

REQUEST_TIMED_OUT = 7
NOT_LEADER = 6
GROUP_AUTHORIZATION_FAILED = GroupAuthorizationFailedError.errno  # final: a client does not try again

logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # faults are what these tests are about


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker({"events": 2}) as started:
        yield started


def producer_for(broker: EmbeddedBroker, **options: object) -> AIOKafkaProducer:
    return AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, acks="all", enable_idempotence=True, retry_backoff_ms=20, **options)


def consumer_for(broker: EmbeddedBroker, *topics: str, group: str | None = "group") -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        *topics,
        bootstrap_servers=broker.bootstrap_servers,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        fetch_max_wait_ms=50,
        session_timeout_ms=1500,  # a group that is joined again waits for this less one second
        heartbeat_interval_ms=300,
        retry_backoff_ms=20,
    )


async def read(broker: EmbeddedBroker, topic: str, count: int, group: str | None = None) -> list[bytes]:
    async with asyncio.timeout(20):
        async with consumer_for(broker, topic, group=group) as consumer:
            return [(await consumer.getone()).value for _ in range(count)]


@pytest.mark.asyncio
async def test_records_and_committed_offsets_make_the_round_trip(broker: EmbeddedBroker) -> None:
    async with producer_for(broker) as producer:
        for number in range(10):
            await producer.send_and_wait("events", b"%d" % number, partition=0)
    partition = TopicPartition("events", 0)
    async with consumer_for(broker, "events") as consumer:
        assert [(await consumer.getone()).value for _ in range(4)] == [b"0", b"1", b"2", b"3"]
        await consumer.commit({partition: 4})
    async with consumer_for(broker, "events") as successor:
        assert await successor.committed(partition) == 4
        assert (await successor.getone()).value == b"4"


@pytest.mark.asyncio
@pytest.mark.parametrize("faults", [[REQUEST_TIMED_OUT], [NOT_LEADER, REQUEST_TIMED_OUT, NOT_LEADER], [DISCONNECT]])
async def test_an_idempotent_producer_survives_injected_produce_errors_without_a_duplicate(broker: EmbeddedBroker, faults: list[int]) -> None:
    async with producer_for(broker) as producer:
        await producer.send_and_wait("events", b"before", partition=0)
        broker.inject_errors("Produce", faults)
        sent = await producer.send_and_wait("events", b"after", partition=0)
    assert sent.offset == 1
    assert await read(broker, "events", 2) == [b"before", b"after"]


@pytest.mark.asyncio
async def test_an_injected_commit_error_reaches_the_consumer_and_commits_nothing(broker: EmbeddedBroker) -> None:
    partition = TopicPartition("events", 0)
    async with producer_for(broker) as producer:
        await producer.send_and_wait("events", b"one", partition=0)
    async with consumer_for(broker, "events") as consumer:
        await consumer.getone()
        broker.inject_errors("OffsetCommit", [GROUP_AUTHORIZATION_FAILED])
        with pytest.raises(GroupAuthorizationFailedError):
            await consumer.commit({partition: 1})
        assert await consumer.committed(partition) is None
        await consumer.commit({partition: 1})
        assert await consumer.committed(partition) == 1


@pytest.mark.asyncio
async def test_errors_that_were_cleared_are_not_met(broker: EmbeddedBroker) -> None:
    broker.inject_errors("Produce", [29] * 50)  # TOPIC_AUTHORIZATION_FAILED is final: one would fail the send
    broker.clear_errors("Produce")
    async with producer_for(broker) as producer:
        assert (await producer.send_and_wait("events", b"one", partition=0)).offset == 0


@pytest.mark.asyncio
async def test_a_broker_that_was_down_comes_back_with_its_records(broker: EmbeddedBroker) -> None:
    async with producer_for(broker) as producer:
        await producer.send_and_wait("events", b"before", partition=0)
        broker.set_down()
        waiting = asyncio.ensure_future(producer.send_and_wait("events", b"during", partition=0))
        done, _ = await asyncio.wait([waiting], timeout=0.3)
        assert not done
        broker.set_up()
        assert (await asyncio.wait_for(waiting, 20)).offset == 1
    assert await read(broker, "events", 2) == [b"before", b"during"]


@pytest.mark.asyncio
async def test_a_round_trip_time_delays_answers(broker: EmbeddedBroker) -> None:
    async with producer_for(broker) as producer:
        await producer.send_and_wait("events", b"one", partition=0)
        broker.set_rtt(200)
        began = time.monotonic()
        await producer.send_and_wait("events", b"two", partition=0)
        assert time.monotonic() - began >= 0.19


@pytest.mark.asyncio
async def test_several_brokers_share_the_partitions() -> None:
    with EmbeddedBroker({"events": 1}, brokers=3) as cluster:
        assert len(cluster.bootstrap_servers.split(",")) == 3
        cluster.set_leader("events", 0, 2)
        async with producer_for(cluster) as producer:
            await producer.send_and_wait("events", b"one", partition=0)
            cluster.set_leader("events", 0, 3)
            assert (await asyncio.wait_for(producer.send_and_wait("events", b"two", partition=0), 20)).offset == 1


@pytest.mark.asyncio
async def test_a_five_megabyte_record_arrives_and_its_neighbours_stay(broker: EmbeddedBroker) -> None:
    large = bytes(5_000_000)
    async with producer_for(broker, max_request_size=64_000_000) as producer:
        for value in (b"before", large, large, large, b"after"):
            await producer.send_and_wait("events", value, partition=0)
    assert await read(broker, "events", 5) == [b"before", large, large, large, b"after"]


@pytest.mark.asyncio
async def test_retention_drops_the_oldest_batches() -> None:
    with EmbeddedBroker({"events": 1}, retention_bytes=8_000_000) as broker:
        async with producer_for(broker, max_request_size=64_000_000) as producer:
            for _ in range(4):
                await producer.send_and_wait("events", bytes(3_000_000), partition=0)
        partition = TopicPartition("events", 0)
        async with consumer_for(broker, group=None) as consumer:
            assert await consumer.beginning_offsets([partition]) == {partition: 2}
            assert await consumer.end_offsets([partition]) == {partition: 4}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the built-in retention stays")
@pytest.mark.parametrize("partitions", [1, 2, 4, 64, 300])
def test_retention_is_raised_for_every_partition_count(broker: EmbeddedBroker, partitions: int) -> None:
    broker.create_topic("wide", partitions)
    assert broker.retention_bytes["wide"] == 64 * 1024 * 1024


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the built-in retention stays")
@pytest.mark.parametrize("partitions", [1, 4])
async def test_topics_made_on_sight_do_not_take_the_retention_of_others(broker: EmbeddedBroker, partitions: int) -> None:
    names = [f"made-{number}" for number in range(20)]
    async with producer_for(broker, max_request_size=64_000_000) as producer, consumer_for(broker, group=None) as consumer:
        for number, name in enumerate(names):
            await producer.send_and_wait(f"on-sight-{number}", b"x", partition=0)
            assert broker.create_topic(name, partitions)
            for _ in range(2):
                await producer.send_and_wait(name, bytes(3_000_000), partition=partitions - 1)
        ends = [TopicPartition(name, partitions - 1) for name in names]
        assert await consumer.beginning_offsets(ends) == dict.fromkeys(ends, 0)


def test_retention_that_cannot_be_found_stays_as_built_in(monkeypatch: pytest.MonkeyPatch) -> None:
    retention = mockcluster.Retention(cluster=0, retention_bytes=1_000_000_000)
    assert retention.raise_for("events", 4) == RETENTION_BYTES_BUILT_IN


def a_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.mark.asyncio
async def test_it_is_found_at_the_port_that_was_asked_for_also_after_it_was_down() -> None:
    port = a_free_port()
    with EmbeddedBroker({"events": 2}, port=port) as broker:
        assert broker.bootstrap_servers == f"127.0.0.1:{port}"
        for number in range(2):
            async with producer_for(broker) as producer:
                assert (await producer.send_and_wait("events", b"%d" % number, partition=0)).offset == number
            broker.set_down()
            broker.set_up()


def test_a_port_that_is_taken_is_one_clear_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"port {port} of 127\.0\.0\.1 cannot be used \(Address already in use\); choose another"):
            EmbeddedBroker(port=port).start()


def test_a_topic_is_created_once(broker: EmbeddedBroker) -> None:
    assert broker.create_topic("new", 3)
    assert not broker.create_topic("new", 5)


def test_a_wrong_command_is_an_error_and_the_broker_lives_on(broker: EmbeddedBroker) -> None:
    with pytest.raises(EmbeddedBrokerError, match="inject_errors"):
        broker.inject_errors("Produce", ["seven"])  # type: ignore[list-item]
    with pytest.raises(EmbeddedBrokerError, match="broker_set_down"):
        broker.set_down(17)
    assert broker.create_topic("still-here")


def test_it_listens_on_loopback_only(broker: EmbeddedBroker) -> None:
    assert all(server.startswith("127.0.0.1:") for server in broker.bootstrap_servers.split(","))
    port = int(broker.bootstrap_servers.rpartition(":")[2])
    listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines() if " 0A " in line]
    assert [local for _, local, *_ in listening if local.endswith(f":{port:04X}")] == [f"0100007F:{port:04X}"]


def test_stopping_ends_the_process_and_a_second_stop_is_harmless() -> None:
    broker = EmbeddedBroker()
    broker.start()
    pid = broker.pid
    assert pid is not None
    broker.stop()
    broker.stop()
    assert not is_running(pid, "broker_process")
    with pytest.raises(EmbeddedBrokerError, match="not running"):
        broker.create_topic("late")


def test_a_broker_that_died_says_so(broker: EmbeddedBroker) -> None:
    assert broker.pid is not None
    pid = broker.pid
    os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: not is_running(pid, "broker_process"), 5)
    with pytest.raises(EmbeddedBrokerError, match="ended"):
        broker.create_topic("late")


def test_it_ends_with_its_parent_even_by_sigkill() -> None:
    script = textwrap.dedent("""
        import sys, time
        from touchstone.streams.embedded.broker import EmbeddedBroker
        broker = EmbeddedBroker()
        broker.start()
        print(broker.pid, flush=True)
        time.sleep(60)
    """)
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert is_running(pid, "broker_process")
    parent.kill()
    parent.communicate()
    assert wait_until(lambda: not is_running(pid, "broker_process"), 5)


def test_ctrl_c_in_a_terminal_does_not_reach_it() -> None:
    """A terminal signals a whole process group; an interrupt while topics are made was a traceback."""
    with EmbeddedBroker({"one": 1}) as broker:
        assert broker._process is not None
        assert os.getpgid(broker._process.pid) != os.getpgrp()


def test_by_hand_it_tells_the_address_and_that_it_forgets() -> None:
    process = subprocess.Popen([sys.executable, "-m", "touchstone.streams.embedded.broker_process", "--topic", "events:2"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(3)]
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 0
    process.stdout.close()
    assert "127.0.0.1:" in told[0]
    assert "Volatile" in told[1]
    assert told[2].strip().startswith("export KAFKA_BOOTSTRAP_SERVERS=127.0.0.1:")


def test_where_it_cannot_run_there_is_one_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "confluent_kafka").mkdir()
    (tmp_path / "confluent_kafka" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "confluent_kafka", raising=False)
    with pytest.raises(Unsupported, match="reinstall confluent-kafka from a wheel"):
        mockcluster.library_path()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(ConfigError, match="did not start: the embedded broker needs a confluent-kafka wheel"):
        EmbeddedBroker().start()


def test_a_start_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/cat")  # reads and never answers
    monkeypatch.setattr("touchstone.streams.embedded.broker.COMMAND", ("-",))
    broker = EmbeddedBroker(start_timeout_s=0.2)
    with pytest.raises(ConfigError, match=r"did not start"):
        broker.start()
    assert broker.pid is None
