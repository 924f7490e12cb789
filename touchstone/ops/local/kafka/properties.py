"""`server.properties` of a node: KRaft, loopback, sized for a laptop."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

CONTROLLER = "CONTROLLER"
PLAINTEXT = "PLAINTEXT"
#: Largest record batch a topic takes unless it sets its own limit, in bytes.
MESSAGE_BYTES_MAX = 33_554_432
#: A batch must fit one segment, and a topic may set max.message.bytes above the broker's.
SEGMENT_BYTES = 134_217_728
HOST = "127.0.0.1"


@dataclass(frozen=True)
class Security:
    """Listeners with authentication, beside the plain one. One user for PLAIN and both SCRAM mechanisms.

    `keystore`: PEM file with an unencrypted PKCS#8 key and its certificate chain; without it there is SASL_PLAINTEXT
    only. `truststore`: PEM file of the authority whose client certificates the SSL listener asks for.
    """

    username: str
    password: str = field(repr=False)
    keystore: Path | None = None
    truststore: Path | None = None

    def __post_init__(self) -> None:
        """Refuse names and passwords that would need quoting in JAAS or on the formatter's command line."""
        for name, value in (("username", self.username), ("password", self.password)):
            if not re.fullmatch(r"[A-Za-z0-9_.-]{1,100}", value):
                raise ValueError(f"{name} of a test broker: letters, digits and ._- only")
        if (self.keystore is None) != (self.truststore is None):
            raise ValueError("keystore and truststore go together")

    @property
    def listeners(self) -> tuple[str, ...]:
        """Listener names, each the security protocol that a client sets."""
        return ("SASL_PLAINTEXT", "SASL_SSL", "SSL") if self.keystore else ("SASL_PLAINTEXT",)

    def properties(self) -> dict[str, str]:
        """The broker's side of it."""
        lines = {"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"}
        plain = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{self.username}="{self.password}";'
        scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        for listener in self.listeners:
            if listener.startswith("SASL"):
                prefix = f"listener.name.{listener.lower()}"
                lines[f"{prefix}.plain.sasl.jaas.config"] = plain
                lines[f"{prefix}.scram-sha-256.sasl.jaas.config"] = scram
                lines[f"{prefix}.scram-sha-512.sasl.jaas.config"] = scram
        if self.keystore and self.truststore:
            lines |= {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": str(self.keystore),
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(self.truststore),
                "listener.name.ssl.ssl.client.auth": "required",
            }
        return lines

    def format_arguments(self) -> list[str]:
        """What StorageTool needs to know the SCRAM user from the first start on."""
        credentials = f"[name={self.username},password={self.password}]"
        return [argument for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512") for argument in ("--add-scram", f"{mechanism}={credentials}")]


def server_properties(node_id: int, ports: Sequence[Mapping[str, int]], log_dir: Path, security: Security | None) -> str:
    """The file of one node. `ports`: for each node, from 1 on, listener → port."""
    own = ports[node_id - 1]
    advertised = ",".join(f"{name}://{HOST}:{port}" for name, port in own.items() if name != CONTROLLER)
    replicas, in_sync = (3, 2) if len(ports) >= 3 else (1, 1)
    lines = {
        "process.roles": "broker,controller",
        "node.id": node_id,
        "controller.quorum.voters": ",".join(f"{number}@{HOST}:{each[CONTROLLER]}" for number, each in enumerate(ports, 1)),
        "listeners": f"{advertised},{CONTROLLER}://{HOST}:{own[CONTROLLER]}",
        "advertised.listeners": advertised,
        "controller.listener.names": CONTROLLER,
        "inter.broker.listener.name": PLAINTEXT,
        "listener.security.protocol.map": ",".join(f"{name}:{PLAINTEXT if name == CONTROLLER else name}" for name in own),
        "log.dirs": log_dir,
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": in_sync,
        # The default of 50 partitions each costs a small machine its first seconds.
        "offsets.topic.num.partitions": 4,
        "transaction.state.log.num.partitions": 4,
        "share.coordinator.state.topic.num.partitions": 4,
        "group.initial.rebalance.delay.ms": 0,
        "group.min.session.timeout.ms": 1000,
        "log.cleaner.dedupe.buffer.size": 4_194_304,
        "log.segment.bytes": SEGMENT_BYTES,
        "message.max.bytes": MESSAGE_BYTES_MAX,
        "auto.create.topics.enable": "false",
        "num.network.threads": 2,
        "num.io.threads": 2,
        # A killed node comes back only after its registration has expired: 9 s by default.
        "broker.session.timeout.ms": 2000,
        "broker.heartbeat.interval.ms": 300,
    } | (security.properties() if security else {})
    return "".join(f"{key}={value}\n" for key, value in lines.items())
