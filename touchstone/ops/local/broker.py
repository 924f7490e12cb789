"""The broker of one terminal: the embedded one, or an Apache Kafka of its own. Both are volatile here."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol

from touchstone.ops.local.kafka.cluster import KafkaCluster
from touchstone.streams.embedded.broker import EmbeddedBroker, EmbeddedBrokerError

BrokerKind = Literal["embedded", "apache"]


class LocalBroker(Protocol):
    """A broker that is started and ended with everything else. Calls block for seconds: make them in a thread."""

    name: str

    def start(self) -> str:
        """Start; returns host:port. Raises `ConfigError`."""

    def fault(self) -> str | None:
        """What is wrong with it; None while it runs."""

    def stop(self) -> None:
        """End it, and everything it holds."""


class Embedded:
    """librdkafka's broker, in memory. One worker per group: its SyncGroup refuses a member that comes after the leader."""

    name = "embedded, in memory"

    def __init__(self, topics: Mapping[str, int], port: int) -> None:
        self._broker = EmbeddedBroker(topics, port=port)

    def start(self) -> str:
        """Start it (0.1 s)."""
        return self._broker.start()

    def fault(self) -> str | None:
        """Ask it for something that does nothing."""
        try:
            self._broker.clear_errors("Heartbeat")
        except EmbeddedBrokerError as error:
            return str(error)
        return None

    def stop(self) -> None:
        """End it."""
        self._broker.stop()


class Apache:
    """One Apache Kafka node in a temporary folder, tied to this process."""

    name = "Apache Kafka, in a temporary folder"

    def __init__(self, port: int) -> None:
        self._port = port
        self._folder = tempfile.TemporaryDirectory(prefix="touchstone-kafka-")
        self._cluster: KafkaCluster | None = None

    def start(self) -> str:
        """Start it (some seconds; the first time ever it is fetched through Maven)."""
        self._cluster = KafkaCluster(Path(self._folder.name), port=self._port, tied=True)
        self._cluster.start()
        return self._cluster.bootstrap_servers

    def fault(self) -> str | None:
        """Look whether its process is there."""
        return None if self._cluster is not None and all(self._cluster.alive().values()) else "its process has ended"

    def stop(self) -> None:
        """End it and remove its folder."""
        if self._cluster is not None:
            self._cluster.stop()
            self._cluster = None
        self._folder.cleanup()


def local_broker(kind: BrokerKind, topics: Mapping[str, int], port: int = 0) -> LocalBroker:
    """A broker of the kind, not started yet. `topics`: name → partitions, made at once where clients cannot. `port`: 0 takes a free one."""
    return Embedded(topics, port) if kind == "embedded" else Apache(port)
