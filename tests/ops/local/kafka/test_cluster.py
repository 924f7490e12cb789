import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from tests.integration.brokers import Broker, start_apache
from touchstone.ops.local.kafka.cluster import KafkaCluster
from touchstone.ops.local.kafka.processes import is_running, wait_until
from touchstone.scorers.base import ConfigError

pytestmark = [pytest.mark.apache, pytest.mark.slow(10), pytest.mark.integration]


@pytest.fixture(params=[1, 3])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KafkaCluster]:
    started = start_apache(tmp_path / "kafka", nodes=request.param)
    yield started
    started.stop()


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """One node for tests that only look at it, and for one that breaks it at last."""
    started = start_apache(tmp_path_factory.mktemp("node") / "kafka")
    yield started
    started.stop()


async def produce(cluster: KafkaCluster, value: bytes) -> int:
    async with asyncio.timeout(60), AIOKafkaProducer(bootstrap_servers=cluster.bootstrap_servers, acks="all", enable_idempotence=True) as producer:
        return int((await producer.send_and_wait("events", value, partition=0)).offset)


@pytest.mark.slow(30)
async def test_records_outlive_a_kill_a_restart_a_stop_and_another_owner(cluster: KafkaCluster) -> None:
    Broker("apache", cluster.bootstrap_servers, cluster=cluster).create_topics({"events": 1})
    assert await produce(cluster, b"0") == 0
    last = len(cluster.nodes)
    cluster.kill(last)
    assert cluster.alive()[last] is False
    cluster.restart(last)
    assert await produce(cluster, b"1") == 1
    cluster.stop_node(1)
    cluster.restart(1)
    assert await produce(cluster, b"2") == 2
    cluster.stop()
    assert not any(cluster.alive().values())

    found = KafkaCluster.load(cluster.data_dir)
    assert found is not None
    assert found.start() == cluster.bootstrap_servers
    try:
        assert all(cluster.nodes[0].data_dir == node.data_dir for node in found.nodes[:1])
        async with AIOKafkaConsumer("events", bootstrap_servers=found.bootstrap_servers, auto_offset_reset="earliest") as consumer:
            assert [(await asyncio.wait_for(consumer.getone(), 20)).value for _ in range(3)] == [b"0", b"1", b"2"]
    finally:
        found.stop()


def test_a_second_start_changes_nothing_here_or_from_another_process(node: KafkaCluster) -> None:
    node.start()
    pids = [one.pid for one in node.nodes]
    assert node.start() == node.bootstrap_servers
    found = KafkaCluster.load(node.data_dir)
    assert found is not None
    assert found.alive() == {1: True}
    assert found.start() == node.bootstrap_servers
    assert [one.pid for one in found.nodes] == pids


def test_a_tied_node_ends_with_its_owner_even_by_sigkill(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import sys, time
        from pathlib import Path
        from touchstone.ops.local.kafka.cluster import KafkaCluster
        cluster = KafkaCluster(Path(sys.argv[1]), port=0, tied=True)
        cluster.start()
        print(cluster.nodes[0].pid, flush=True)
        time.sleep(60)
    """)
    owner = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "kafka")], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    pid, marker = int(owner.stdout.readline()), str(tmp_path)
    assert is_running(pid, marker)
    owner.kill()
    owner.communicate()
    assert wait_until(lambda: not is_running(pid, marker), 10)


def test_a_node_that_cannot_start_says_why_and_leaves_nothing_running(node: KafkaCluster) -> None:
    node.stop()
    meta = node.nodes[0].data_dir / "meta.properties"
    right = meta.read_text()
    meta.write_text(right.replace("node.id=1", "node.id=7"))
    with pytest.raises(ConfigError, match=r"Kafka node 1 exited at once: .*server\.log"):
        node.start()
    assert node.alive() == {1: False}
    meta.write_text(right)


def test_the_command_starts_tells_and_stops(tmp_path: Path) -> None:
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path)}

    def touchstone(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "touchstone.ops.cli", "kafka", *arguments], env=environment, capture_output=True, text=True, timeout=500, check=False
        )

    try:
        started = touchstone("start", "--port", "0")
        assert started.returncode == 0, started.stderr
        assert "export KAFKA_BOOTSTRAP_SERVERS=127.0.0.1:" in started.stdout
        again = touchstone("start")
        assert "already running" in again.stdout
        assert touchstone("status").returncode == 0
        other = touchstone("start", "--nodes", "3")
        assert (other.returncode, len(other.stderr.splitlines())) == (3, 1)
    finally:
        stopped = touchstone("stop")
    assert stopped.stdout == "Kafka stopped.\n"
    assert touchstone("stop").stdout == "Kafka was not running.\n"
    status = touchstone("status", "--json")
    assert status.returncode == 3
    assert '"running": false' in status.stdout


def test_a_reused_process_id_is_not_taken_for_a_node(tmp_path: Path) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        cluster = KafkaCluster(tmp_path)
        cluster.nodes[0].pid = stranger.pid
        assert cluster.alive() == {1: False}
        cluster.nodes[0].signal(signal.SIGKILL)
        cluster.stop()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()
