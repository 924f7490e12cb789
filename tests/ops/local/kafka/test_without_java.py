import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ops.local.java_tools import fake_tool
from touchstone.ops.local.java import java_version
from touchstone.ops.local.kafka import artifacts
from touchstone.ops.local.kafka.cluster import KafkaCluster
from touchstone.ops.local.kafka.node import Node
from touchstone.ops.local.kafka.processes import PORTS, free_ports, port_is_free
from touchstone.ops.local.kafka.properties import Security, server_properties
from touchstone.scorers.base import ConfigError


@pytest.mark.parametrize(
    ("answer", "version"),
    [('openjdk version "17.0.15" 2025-04-15', 17), ('java version "1.8.0_392"', 8), ('openjdk version "25" 2025-09-16', 25), ("no idea", None)],
)
def test_java_tells_its_version(answer: str, version: int | None) -> None:
    assert java_version(answer) == version


def test_no_java(tools: Path) -> None:
    with pytest.raises(ConfigError, match="no Java on the PATH: install Java 17 or newer"):
        artifacts.find_java()


def test_java_too_old(tools: Path) -> None:
    fake_tool(tools, "java", """echo 'openjdk version "11.0.2"' >&2""")
    with pytest.raises(ConfigError, match="is Java 11: Kafka needs 17 or newer; set JAVA_HOME"):
        artifacts.find_java()


def test_java_home_is_asked_first(tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_tool(tools, "java", """echo 'openjdk version "11.0.2"' >&2""")
    (tmp_path / "jdk").mkdir()
    fake_tool(tmp_path / "jdk" / "bin", "java", """echo 'openjdk version "21.0.1"' >&2""")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert artifacts.find_java() == str(tmp_path / "jdk" / "bin" / "java")


def test_the_command_without_java_is_one_line_and_exit_3(tools: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "touchstone.ops.cli", "kafka", "start", "--data-dir", str(tmp_path / "kafka")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (3, "", 1)
    assert "no Java on the PATH" in done.stderr


@pytest.mark.parametrize("nodes", [0, 2, 4])
def test_one_node_or_three(tmp_path: Path, nodes: int) -> None:
    with pytest.raises(ConfigError, match="one or three"):
        KafkaCluster(tmp_path, nodes=nodes)


def test_a_damaged_state_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "cluster.json").write_text('{"nodes": [')
    with pytest.raises(ConfigError, match=r"cluster\.json: not a cluster's state"):
        KafkaCluster.load(tmp_path)


def test_nothing_started_is_nothing_found(tmp_path: Path) -> None:
    assert KafkaCluster.load(tmp_path / "never") is None


def test_three_nodes_replicate_and_know_each_other(tmp_path: Path) -> None:
    ports = [{"PLAINTEXT": 1000 + number, "CONTROLLER": 2000 + number} for number in (1, 2, 3)]
    lines = dict(line.split("=", 1) for line in server_properties(2, ports, tmp_path, None).splitlines())
    assert lines["controller.quorum.voters"] == "1@127.0.0.1:2001,2@127.0.0.1:2002,3@127.0.0.1:2003"
    assert lines["listeners"] == "PLAINTEXT://127.0.0.1:1002,CONTROLLER://127.0.0.1:2002"
    assert (lines["default.replication.factor"], lines["min.insync.replicas"], lines["offsets.topic.replication.factor"]) == ("3", "2", "3")
    assert int(lines["message.max.bytes"]) >= 8 * 1024 * 1024


def test_every_listener_is_on_loopback(tmp_path: Path) -> None:
    security = Security("alice", "secret", keystore=tmp_path / "k.pem", truststore=tmp_path / "t.pem")
    names = ("PLAINTEXT", *security.listeners, "CONTROLLER")
    text = server_properties(1, [{name: number for number, name in enumerate(names, 1000)}], tmp_path, security)
    lines = dict(line.split("=", 1) for line in text.splitlines())
    assert all("://127.0.0.1:" in each for each in lines["listeners"].split(","))
    assert lines["listener.security.protocol.map"].endswith("SSL:SSL,CONTROLLER:PLAINTEXT")
    assert lines["listener.name.ssl.ssl.client.auth"] == "required"


def test_a_password_is_neither_shown_nor_able_to_break_out() -> None:
    assert "secret" not in repr(Security("alice", "secret"))
    with pytest.raises(ValueError, match="letters, digits"):
        Security("alice", 'a" user_admin="b')


def test_properties_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    node = Node(1, tmp_path / "node", {})
    node.write_properties("a=b\n")
    assert stat.S_IMODE(node.properties_file.stat().st_mode) == 0o600


def test_ports_are_distinct_and_not_ephemeral() -> None:
    ports = free_ports("127.0.0.1", 30)
    assert len(set(ports)) == 30
    assert all(port in PORTS for port in ports)


def test_a_taken_port_is_not_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert not port_is_free("127.0.0.1", server.getsockname()[1])


def test_a_folder_is_found_again_however_its_path_is_written(tmp_path: Path) -> None:
    """Nodes are known by the path in their command line: `status` and `stop` took a running cluster for another one."""
    (tmp_path / "here").mkdir()
    assert KafkaCluster(tmp_path / "here" / ".." / "kafka").data_dir == KafkaCluster(tmp_path / "kafka").data_dir
