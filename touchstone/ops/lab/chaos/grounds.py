"""The surroundings of a run: a broker that can be broken, topics of its own, and the settings of its processes."""

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from confluent_kafka.admin import AdminClient, NewTopic

from touchstone.ops.lab.chaos.small_disk import SmallDisk, small_disk
from touchstone.ops.local.kafka.cluster import KafkaCluster
from touchstone.ops.settings import load_settings
from touchstone.schemas.settings.house import TOPIC_ROLES, Settings
from touchstone.streams.embedded.broker import EmbeddedBroker
from touchstone.streams.topics.provision import create_topics

BrokerKind = Literal["embedded", "apache", "apache3"]
SUITE = "safe_v0"
PARTITIONS = 4
#: Poison of five megabytes must not push its neighbours out of the embedded broker's memory.
EMBEDDED_RETENTION_BYTES = 1024 * 1024 * 1024


@dataclass
class Grounds:
    """A running broker: either `embedded` or `cluster` is set. `disk`: below its log, where that can be filled."""

    kind: BrokerKind
    embedded: EmbeddedBroker | None = None
    cluster: KafkaCluster | None = None
    disk: SmallDisk | None = None

    @property
    def bootstrap_servers(self) -> str:
        """host:port,…"""
        running = self.embedded or self.cluster
        assert running is not None
        return running.bootstrap_servers


@dataclass
class Field:
    """One run's own part of the grounds: topic names, group, store, settings, environment for child processes.

    `store_folder`: where the store lies, if not in `folder`.
    """

    grounds: Grounds
    folder: Path
    prefix: str
    knobs: Mapping[str, str] = field(default_factory=dict)
    store_folder: Path | None = None

    @property
    def environment(self) -> dict[str, str]:
        """Settings as environment variables, without the caller's own."""
        topics = {f"TOUCHSTONE_TOPICS_{role.upper()}": f"{self.prefix}.{role}" for role in TOPIC_ROLES}
        return {
            "KAFKA_BOOTSTRAP_SERVERS": self.grounds.bootstrap_servers,
            "TOUCHSTONE_WORKER_GROUP_PREFIX": self.prefix,
            "TOUCHSTONE_STORE_URL": f"sqlite:///{(self.store_folder or self.folder) / 'results.db'}",
            "TOUCHSTONE_TOPICS_PARTITIONS": str(PARTITIONS),
            "TOUCHSTONE_LOG_FORMAT": "json",
            **topics,
            **self.knobs,
        }

    @property
    def settings(self) -> Settings:
        """The same, for code that is called in this process."""
        return load_settings(env=self.environment)

    @property
    def group(self) -> str:
        """The workers' consumer group."""
        return f"{self.prefix}.{SUITE}"

    def topic(self, role: str) -> str:
        """Topic of a role."""
        return f"{self.prefix}.{role}"

    def make_topics(self, input_partitions: int = 0) -> None:
        """Create the topics. `input_partitions`: fewer for the workers' input (real Kafka only); 0: as many as the others have."""
        if self.grounds.embedded is not None:
            for role in TOPIC_ROLES:
                self.grounds.embedded.create_topic(self.topic(role), PARTITIONS)
        else:
            if input_partitions:
                admin = AdminClient({"bootstrap.servers": self.grounds.bootstrap_servers, "log_level": 0})
                name = self.topic("generations")
                admin.create_topics([NewTopic(name, num_partitions=input_partitions, replication_factor=-1)], operation_timeout=20)[name].result(timeout=30)
            asyncio.run(create_topics(self.settings))


@contextmanager
def open_grounds(folder: Path) -> Iterator["Brokers"]:
    """Brokers for a series of runs; they end with the block."""
    with ExitStack() as stack:
        yield Brokers(folder, stack)


class Brokers:
    """Starts each kind of broker when it is first asked for. An embedded one, or one on a small disk, is never shared: its faults would be shared, too."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._clusters: dict[str, KafkaCluster] = {}

    @contextmanager
    def ground(self, kind: BrokerKind, *, small: bool = False) -> Iterator[Grounds]:
        """A complete, running broker. `small`: one node of its own, on a disk that can be filled. Raises `ConfigError` if it cannot run here."""
        if small:
            with one_on_a_small_disk(Path(tempfile.mkdtemp(prefix="small-", dir=self._made()))) as grounds:
                yield grounds
            return
        if kind == "embedded":
            with EmbeddedBroker(retention_bytes=EMBEDDED_RETENTION_BYTES) as embedded:
                yield Grounds(kind, embedded=embedded)
            return
        cluster = self._clusters.get(kind)
        if cluster is None:
            for other in list(self._clusters.values()):
                other.stop()  # four JVMs at once are too much for a small machine; records survive
            cluster = self._clusters[kind] = KafkaCluster(self._folder / kind, nodes=3 if kind == "apache3" else 1, port=0, tied=True)
            self._stack.callback(cluster.stop)
        cluster.start()
        yield Grounds(kind, cluster=cluster)

    def _made(self) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder


@contextmanager
def one_on_a_small_disk(folder: Path) -> Iterator[Grounds]:
    """Apache Kafka of one node whose log has a file system of its own. Raises `ConfigError`."""
    cluster = KafkaCluster(folder, nodes=1, port=0, tied=True)
    with small_disk(cluster.node(1).data_dir) as disk:
        try:
            cluster.start()
            yield Grounds("apache", cluster=cluster, disk=disk)
        finally:
            disk.free()
            cluster.stop()
