"""The embedded broker: a real Kafka wire protocol with nothing installed, in memory, in a child process.

For `touchstone up`, demos and tests; never for anything that must outlive the process. What it cannot do is listed in
docs/brokers.md.
"""

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from touchstone.scorers.base import ConfigError
from touchstone.streams.embedded.broker_process import RETENTION_BYTES

#: Kafka's request kinds, by the names that the protocol gives them, for `EmbeddedBroker.inject_errors`.
API_KEYS: Mapping[str, int] = {
    "Produce": 0,
    "Fetch": 1,
    "ListOffsets": 2,
    "Metadata": 3,
    "OffsetCommit": 8,
    "OffsetFetch": 9,
    "FindCoordinator": 10,
    "JoinGroup": 11,
    "Heartbeat": 12,
    "LeaveGroup": 13,
    "SyncGroup": 14,
    "InitProducerId": 22,
}
#: Injected as an "error", it closes the client's connection instead of answering.
DISCONNECT = -195
EVERY_BROKER = -1
COMMAND = ("-m", "touchstone.streams.embedded.broker_process", "--control")


class EmbeddedBrokerError(RuntimeError):
    """The embedded broker refused a command, or its process has ended."""


class EmbeddedBroker:
    """An in-memory Kafka cluster on loopback that lives as long as this program.

    Methods block for at most `command_timeout_s` (one round trip over a pipe, well under a millisecond); they are not
    thread-safe. Starting takes about 0.1 s.
    """

    def __init__(
        self,
        topics: Mapping[str, int] | None = None,
        *,
        brokers: int = 1,
        port: int = 0,
        retention_bytes: int = RETENTION_BYTES,
        start_timeout_s: float = 15.0,
        command_timeout_s: float = 10.0,
    ) -> None:
        """`topics`: name → partitions. `retention_bytes`: kept per partition, oldest batches dropped first (read or not).

        `port`: port of the bootstrap address; 0: a free one. For a port that is taken `start` raises `ConfigError`.
        """
        self._topics = dict(topics or {})
        self._brokers = brokers
        self._port = port
        self._retention_bytes = retention_bytes
        self._start_timeout_s = start_timeout_s
        self._command_timeout_s = command_timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._received = b""
        self._bootstrap_servers = ""
        #: Topic → what its partitions really keep, in bytes: 5 MiB where the platform does not let it be raised.
        self.retention_bytes: dict[str, int] = {}

    def start(self) -> str:
        """Start the child process and return its bootstrap servers. Raises `ConfigError` if it cannot run here."""
        if self._process is not None:
            return self._bootstrap_servers
        command = [sys.executable, *COMMAND, f"--brokers={self._brokers}", f"--port={self._port}"]
        command += [f"--retention-bytes={self._retention_bytes}", *(f"--topic={name}:{partitions}" for name, partitions in self._topics.items())]
        self._process = subprocess.Popen(
            # A session of its own: Ctrl-C in a terminal reaches every process of the group, and this program decides when the broker ends.
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            ready = self._receive(self._start_timeout_s)
        except EmbeddedBrokerError as error:
            self.stop()
            raise ConfigError(f"the embedded broker did not start: {error}") from None
        if "error" in ready:
            self.stop()
            raise ConfigError(f"the embedded broker did not start: {ready['error']}")
        self._bootstrap_servers = ready["bootstrap_servers"]
        self.retention_bytes = {name: kept for name, kept in ready["retention_bytes"].items() if kept is not None}
        return self._bootstrap_servers

    def stop(self) -> None:
        """End the child process; everything it kept is gone. Harmless when it is not running."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(BrokenPipeError):
            if process.stdin:
                process.stdin.close()
        try:
            process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout:
            process.stdout.close()
        self._received = b""

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop."""
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """host:port,…; empty before `start`."""
        return self._bootstrap_servers

    @property
    def pid(self) -> int | None:
        """Process id of the child, None when it is not running."""
        return self._process.pid if self._process else None

    def create_topic(self, name: str, partitions: int = 4) -> bool:
        """Create a topic; False if it existed already (then its partition count stays). Clients cannot: there is no admin API."""
        kept = self._ask("create_topic", name=name, partitions=partitions)
        if kept is None:
            return False
        self.retention_bytes[name] = kept
        return True

    def inject_errors(self, api: str, codes: Sequence[int]) -> None:
        """Answer the next requests of one kind with error codes, one each, without doing what they ask.

        `api`: a name of `API_KEYS`. `codes`: Kafka's error numbers (7 REQUEST_TIMED_OUT, 6 NOT_LEADER_OR_FOLLOWER, …) or
        `DISCONNECT`; 0 lets one request through.
        """
        self._ask("inject_errors", api_key=API_KEYS[api], codes=list(codes))

    def clear_errors(self, api: str) -> None:
        """Forget injected errors that no request has met yet."""
        self._ask("clear_errors", api_key=API_KEYS[api])

    def set_down(self, broker_id: int = EVERY_BROKER) -> None:
        """Cut all connections and refuse new ones; ids count from 1. Leaders stay where they are."""
        self._ask("set_down", broker_id=broker_id)

    def set_up(self, broker_id: int = EVERY_BROKER) -> None:
        """Accept connections again; records and committed offsets are still there."""
        self._ask("set_up", broker_id=broker_id)

    def set_rtt(self, rtt_ms: int, broker_id: int = EVERY_BROKER) -> None:
        """Delay every response by this time; 0 removes the delay."""
        self._ask("set_rtt", broker_id=broker_id, rtt_ms=rtt_ms)

    def set_leader(self, topic: str, partition: int, broker_id: int) -> None:
        """Move a partition's leadership; -1 leaves it without a leader."""
        self._ask("set_leader", topic=topic, partition=partition, broker_id=broker_id)

    def _ask(self, command: str, **arguments: Any) -> Any:
        """One round trip over the control channel."""
        if self._process is None or self._process.stdin is None:
            raise EmbeddedBrokerError("the embedded broker is not running")
        try:
            self._process.stdin.write(json.dumps({"do": command} | arguments).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise EmbeddedBrokerError(f"the embedded broker has ended (exit status {self._process.poll()})") from None
        reply = self._receive(self._command_timeout_s)
        if "error" in reply:
            raise EmbeddedBrokerError(f"{command}: {reply['error']}")
        return reply["ok"]

    def _receive(self, timeout_s: float) -> dict[str, Any]:
        """The next JSON line of the child, within a bound."""
        assert self._process is not None
        assert self._process.stdout is not None
        deadline = time.monotonic() + timeout_s
        descriptor = self._process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while b"\n" not in self._received:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise EmbeddedBrokerError(f"no answer from it within {timeout_s:g} s")
                received = os.read(descriptor, 65_536)
                if not received:
                    raise EmbeddedBrokerError(f"it ended with exit status {self._process.wait(timeout=5)}")
                self._received += received
        line, _, self._received = self._received.partition(b"\n")
        reply: dict[str, Any] = json.loads(line)
        return reply
