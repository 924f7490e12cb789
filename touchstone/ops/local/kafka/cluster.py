"""Apache Kafka on this machine: one or three KRaft nodes on loopback, for development, tests and chaos."""

import json
import signal
import subprocess
import sys
import uuid
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from touchstone.ops.local.kafka.artifacts import KAFKA_VERSION, Distribution, distribution
from touchstone.ops.local.kafka.node import Node
from touchstone.ops.local.kafka.processes import free_ports, port_is_free, wait_until
from touchstone.ops.local.kafka.properties import CONTROLLER, HOST, PLAINTEXT, Security, server_properties
from touchstone.scorers.base import ConfigError

START_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 20.0
CUSTOMARY_PORT = 9092
NODE_COUNTS = (1, 3)


class KafkaCluster:
    """A cluster whose state lives in `data_dir`, so that another process finds it again (`KafkaCluster.load`).

    Its nodes are detached: they outlive this process, unless `tied` is set (then a helper process kills them when this
    one has gone, even by SIGKILL). Topics, records and committed offsets survive `stop` and `start`.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        nodes: int = 1,
        port: int | None = None,
        security: Security | None = None,
        tied: bool = False,
        start_timeout_s: float = START_TIMEOUT_S,
        jvm: tuple[str, ...] = (),
    ) -> None:
        """`port`: of node 1's plain listener; None takes 9092 where it is free, 0 always takes a free one. `jvm`: further options of each node's Java."""
        if nodes not in NODE_COUNTS:
            raise ConfigError(f"{nodes} Kafka nodes: one or three (two have no majority once one fails)")
        # One name for one folder, however it is written: the nodes are found again by the path in their command line.
        self.data_dir = data_dir.resolve()
        self._port = port
        self._security = security
        self._tied = tied
        self._start_timeout_s = start_timeout_s
        self._jvm = jvm
        self._kafka: Distribution | None = None
        self._minder: subprocess.Popen[bytes] | None = None
        self.cluster_id = uuid.uuid4().hex
        self.nodes = [Node(number, self.data_dir / f"node-{number}", {}) for number in range(1, nodes + 1)]

    @classmethod
    def load(cls, data_dir: Path, *, port: int | None = None) -> Self | None:
        """Find the cluster that was started in `data_dir`, running or not; None where none was. Raises `ConfigError`."""
        state_file = data_dir / "cluster.json"
        try:
            state = json.loads(state_file.read_text(encoding="utf-8"))
            cluster = cls(data_dir, nodes=len(state["nodes"]), port=port)
            cluster.cluster_id = state["cluster_id"]
            for node, saved in zip(cluster.nodes, state["nodes"], strict=True):
                node.pid, node.ports = saved["pid"], saved["ports"]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"{state_file}: not a cluster's state ({type(error).__name__}); remove {data_dir} and start again") from None
        return cluster

    @property
    def bootstrap_servers(self) -> str:
        """host:port,… of the plain listeners; empty before the first start."""
        return self.bootstrap_for(PLAINTEXT)

    def bootstrap_for(self, listener: str) -> str:
        """host:port,… of one listener: PLAINTEXT, or with `Security` SASL_PLAINTEXT, SASL_SSL, SSL."""
        return ",".join(f"{HOST}:{node.ports[listener]}" for node in self.nodes if listener in node.ports)

    def node(self, node_id: int) -> Node:
        """A node by its number, from 1 on."""
        return self.nodes[node_id - 1]

    def alive(self) -> dict[int, bool]:
        """Node number → whether its JVM runs."""
        return {node.node_id: node.is_alive() for node in self.nodes}

    def start(self) -> str:
        """Start what does not run yet, wait until every node serves, and return the plain bootstrap servers.

        Idempotent. Raises `ConfigError`; a first start that fails leaves nothing running.
        """
        down = [node for node in self.nodes if not node.is_alive()]
        if not down:
            return self.bootstrap_servers
        self._kafka = distribution()
        try:
            self.data_dir.mkdir(parents=True, exist_ok=True)
            if len(down) == len(self.nodes):
                # No node runs, so none depends on the old ports, which other programs may have taken meanwhile.
                self._assign_ports()
                self._configure()
            self._format([node for node in down if not node.is_formatted()])
            self._launch(down)
        except OSError as error:
            raise ConfigError(f"{self.data_dir}: Kafka's files cannot be written ({error.strerror})") from None
        return self.bootstrap_servers

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Ask every node to end (SIGTERM), and kill what has not ended in time. Harmless when nothing runs."""
        for node in self.nodes:
            node.signal(signal.SIGTERM)
        if not wait_until(lambda: not any(self.alive().values()), timeout_s):
            for node in self.nodes:
                node.signal(signal.SIGKILL)
            wait_until(lambda: not any(self.alive().values()), 10)
        if self._minder is not None and self._minder.stdin is not None:
            self._minder.stdin.close()
            self._minder.wait(timeout=10)
            self._minder = None

    def kill(self, node_id: int) -> None:
        """SIGKILL one node, and return when it is gone."""
        self._end(node_id, signal.SIGKILL)

    def stop_node(self, node_id: int) -> None:
        """SIGTERM one node (a controlled shutdown), and return when it is gone."""
        self._end(node_id, signal.SIGTERM)

    def restart(self, node_id: int) -> None:
        """Start a node that was killed or stopped, on its old ports, and wait until it serves.

        A killed node takes up to about 5 s: its old registration has to expire first. Raises `ConfigError`.
        """
        node = self.node(node_id)
        if not node.is_alive():
            self._kafka = self._kafka or distribution()
            self._launch([node])

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop."""
        self.stop()

    def _assign_ports(self) -> None:
        """Choose ports for every listener of every node; ports of an earlier start are kept where they are free."""
        if self._port and not port_is_free(HOST, self._port):
            raise ConfigError(f"port {self._port} is taken: choose another with --port, or leave it out to get a free one")
        names = (PLAINTEXT, *(self._security.listeners if self._security else ()), CONTROLLER)
        wanted = self._port if self._port is not None else CUSTOMARY_PORT
        fresh = iter(free_ports(HOST, len(names) * len(self.nodes), taken=[wanted]))
        first_time = not self.nodes[0].ports
        for node in self.nodes:
            kept = {name: port for name, port in node.ports.items() if port_is_free(HOST, port)}
            node.ports = {name: kept.get(name) or next(fresh) for name in names}
        if self._port or (self._port is None and first_time and port_is_free(HOST, wanted)):
            self.nodes[0].ports[PLAINTEXT] = wanted

    def _configure(self) -> None:
        """Write every node's properties."""
        ports = [node.ports for node in self.nodes]
        for node in self.nodes:
            node.write_properties(server_properties(node.node_id, ports, node.data_dir, self._security))

    def _format(self, nodes: list[Node]) -> None:
        """Format data folders, all at once."""
        assert self._kafka is not None
        arguments = self._security.format_arguments() if self._security else []
        begun = [(node, node.begin_format(self._kafka, self.cluster_id, arguments)) for node in nodes]
        for node, process in begun:
            node.end_format(process)

    def _launch(self, nodes: list[Node]) -> None:
        """Start JVMs, remember them, and wait until each serves; on failure none of them is left."""
        assert self._kafka is not None
        for node in nodes:
            self._mind(node, node.launch(self._kafka, self._jvm))
        self._save()
        wait_until(lambda: all(node.is_ready() or not node.is_alive() for node in nodes), self._start_timeout_s)
        failed = [node for node in nodes if not (node.is_ready() and node.is_alive())]
        if not failed:
            return
        why = "exited at once" if not failed[0].is_alive() else f"is not ready after {self._start_timeout_s:g} s"
        message = f"Kafka node {failed[0].node_id} {why}: {failed[0].last_words()} (log: {failed[0].log_file})"
        for node in nodes:
            node.signal(signal.SIGKILL)
        wait_until(lambda: not any(node.is_alive() for node in nodes), 10)
        raise ConfigError(message)

    def _mind(self, node: Node, pid: int) -> None:
        """Have the node end with this process, where that was asked for."""
        if not self._tied:
            return
        if self._minder is None:
            command = [sys.executable, "-m", "touchstone.ops.local.kafka.minder"]
            self._minder = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
        assert self._minder.stdin is not None
        self._minder.stdin.write(f"{pid} {node.properties_file}\n".encode())
        self._minder.stdin.flush()

    def _end(self, node_id: int, number: signal.Signals) -> None:
        node = self.node(node_id)
        node.signal(number)
        if not wait_until(lambda: not node.is_alive(), STOP_TIMEOUT_S):
            node.signal(signal.SIGKILL)
            wait_until(lambda: not node.is_alive(), 10)

    def _save(self) -> None:
        """Write the state file at once or not at all."""
        state: dict[str, Any] = {
            "kafka": KAFKA_VERSION,
            "cluster_id": self.cluster_id,
            "nodes": [{"id": node.node_id, "pid": node.pid, "ports": node.ports} for node in self.nodes],
        }
        scratch = self.data_dir / ".cluster.json"
        scratch.write_text(json.dumps(state, indent=2) + "\n", encoding="utf-8")
        scratch.replace(self.data_dir / "cluster.json")
