"""The brokers that integration tests run on, behind one face, so that each test is written once."""

import os
import socket
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.integration import shared_classes
from touchstone.ops.local.kafka import artifacts
from touchstone.ops.local.kafka.cluster import KafkaCluster
from touchstone.ops.local.kafka.processes import free_ports
from touchstone.schemas.settings.house import TOPIC_ROLES, TopicSettings
from touchstone.scorers.base import ConfigError
from touchstone.streams.embedded.broker import EmbeddedBroker

KAFKA_IMAGE = "apache/kafka:4.3.1"
ROLES = TOPIC_ROLES
#: Tests start dozens of nodes, and each lives for seconds: what Java's second compiler gains comes after their end, and costs a fifth of the start.
SHORT_LIVED = ("-XX:TieredStopAtLevel=1",)

#: For what neither the broker nor the runner alone decides: each kind of broker and each runner once. Where they may differ together, a test takes every pair.
EACH_ONCE = pytest.mark.parametrize(("broker", "runner"), [("embedded", "faust"), ("apache", "direct"), ("container", "faust")], indirect=True)

#: For what the two fetchers of Faust do in different ways: the runners, and Faust with its own fetcher.
EACH_FETCHER = pytest.mark.parametrize("runner", ["direct", "faust", "faust-stock"], indirect=True)


@dataclass
class Broker:
    """A running broker. `embedded` or `cluster` is there for tests that break it; shared ones are left whole."""

    kind: str
    bootstrap_servers: str
    embedded: EmbeddedBroker | None = None
    cluster: KafkaCluster | None = None

    def create_topics(self, topics: Mapping[str, int], **config: Any) -> None:
        """Create topics (name → partitions) on whatever this is. `config`: topic settings with _ for . (real Kafka only)."""
        if self.embedded is not None:
            for name, partitions in topics.items():
                self.embedded.create_topic(name, partitions)
            return
        from confluent_kafka.admin import AdminClient, NewTopic

        settings = {key.replace("_", "."): str(value) for key, value in config.items()}
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})
        wanted = [NewTopic(name, num_partitions=partitions, replication_factor=-1, config=settings) for name, partitions in topics.items()]
        for created in admin.create_topics(wanted, operation_timeout=20).values():
            created.result(timeout=30)


@dataclass(frozen=True)
class Namespace:
    """Names that no other test uses: topics, groups, and the settings that lead a process to them."""

    prefix: str = field(default_factory=lambda: f"t{uuid.uuid4().hex[:10]}")

    def topic(self, role: str) -> str:
        """Topic of a role (`generations`, `results`, …), or any other topic of this test."""
        return f"{self.prefix}.{role}"

    def group(self, suite: str = "group") -> str:
        """The consumer group that a worker of this suite uses under `environment`."""
        return f"{self.prefix}.{suite}"

    def topics(self, partitions: int = 4) -> dict[str, int]:
        return {self.topic(role): partitions for role in ROLES}

    def topic_settings(self, **others: Any) -> TopicSettings:
        """The same as settings, for code that is called in-process."""
        return TopicSettings(**({role: self.topic(role) for role in ROLES} | others))

    def environment(self, broker: Broker) -> dict[str, str]:
        """Variables for a child process, to be laid over `os.environ`."""
        variables = {f"TOUCHSTONE_TOPICS_{role.upper()}": self.topic(role) for role in ROLES}
        variables |= {"KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers, "TOUCHSTONE_WORKER_GROUP_PREFIX": self.prefix}
        # The last commit of a worker that ends is given up after this time: on a busy machine 5 seconds are not always enough.
        variables["TOUCHSTONE_WORKER_COMMIT_TIMEOUT_S"] = "20"
        if broker.embedded is not None:
            # A worker that joins again waits for its session timeout less one second there (docs/brokers.md).
            variables |= {"TOUCHSTONE_WORKER_SESSION_TIMEOUT_S": "4", "TOUCHSTONE_WORKER_HEARTBEAT_INTERVAL_S": "1"}
        return variables


@dataclass
class SecuredBroker(Broker):
    """Apache Kafka with SASL_PLAINTEXT, SASL_SSL and SSL listeners beside the plain one; the SSL one wants a client certificate."""

    username: str = ""
    password: str = field(default="", repr=False)
    cafile: Path = Path()
    certfile: Path = Path()
    keyfile: Path = Path()

    def bootstrap_for(self, protocol: str) -> str:
        """host:port of the listener of a security protocol."""
        assert self.cluster is not None
        return self.cluster.bootstrap_for(protocol)

    def connection(self, protocol: str, mechanism: str = "PLAIN") -> dict[str, str]:
        """Fields of `KafkaSettings` that connect to that listener; `KAFKA_<FIELD>` in an environment."""
        fields = {"bootstrap_servers": self.bootstrap_for(protocol), "security_protocol": protocol}
        if protocol.startswith("SASL"):
            fields |= {"sasl_mechanism": mechanism, "sasl_username": self.username, "sasl_password": self.password}
        if protocol.endswith("SSL"):
            fields["ssl_cafile"] = str(self.cafile)
        if protocol == "SSL":
            fields |= {"ssl_certfile": str(self.certfile), "ssl_keyfile": str(self.keyfile)}
        return fields


def absent(reason: str) -> NoReturn:
    """Skip, with the reason; in CI, where every broker but the container must be there, fail."""
    if os.environ.get("CI", "").lower() in {"true", "1"}:
        pytest.fail(f"CI must have this broker: {reason}", pytrace=False)
    pytest.skip(reason)


def start_apache(folder: Path, **options: Any) -> KafkaCluster:
    """A cluster that ends with this process, or `absent`."""
    reason = artifacts.missing()
    if reason is not None:
        absent(reason)
    cluster = KafkaCluster(folder, port=0, tied=True, jvm=(*SHORT_LIVED, *shared_classes.options(SHORT_LIVED)), **options)
    try:
        cluster.start()
    except ConfigError as error:
        absent(str(error))
    return cluster


def docker_answers(timeout_s: float = 0.5) -> bool:
    """Whether a Docker daemon is there, asked without Docker's own client."""
    host = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    scheme, _, address = host.partition("://")
    family = socket.AF_UNIX if scheme == "unix" else socket.AF_INET
    name, _, port = address.rpartition(":")
    try:
        with socket.socket(family, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout_s)
            connection.connect(address if scheme == "unix" else (name, int(port)))
            connection.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            return b" 200 " in connection.recv(64)
    except (OSError, ValueError):
        return False


def start_container() -> tuple[Any, str]:
    """Apache Kafka's own image in a container: (container, bootstrap servers). Skips where no Docker daemon answers."""
    if not docker_answers():
        pytest.skip("no Docker daemon answers")
    from testcontainers.core.container import DockerContainer
    from testcontainers.core.wait_strategies import LogMessageWaitStrategy

    # The port has to be known before the start, because the broker advertises it.
    (port,) = free_ports("127.0.0.1", 1)
    container = DockerContainer(KAFKA_IMAGE).with_bind_ports(9092, ("127.0.0.1", port))
    for key, value in {
        "KAFKA_NODE_ID": "1",
        "KAFKA_PROCESS_ROLES": "broker,controller",
        "KAFKA_LISTENERS": "PLAINTEXT://:9092,CONTROLLER://:9093",
        "KAFKA_ADVERTISED_LISTENERS": f"PLAINTEXT://127.0.0.1:{port}",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9093",
        "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
        "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
        "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
        "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
        "KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS": "1000",
        "KAFKA_MESSAGE_MAX_BYTES": "33554432",
        "KAFKA_AUTO_CREATE_TOPICS_ENABLE": "false",
    }.items():
        container.with_env(key, value)
    container.waiting_for(LogMessageWaitStrategy("Kafka Server started").with_startup_timeout(90))
    container.start()
    return container, f"127.0.0.1:{port}"
