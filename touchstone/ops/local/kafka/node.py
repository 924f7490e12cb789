"""One Kafka node: a JVM that is started, waited for, stopped or killed."""

import os
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from touchstone.ops.local.kafka.artifacts import Distribution
from touchstone.ops.local.kafka.processes import is_running, send
from touchstone.scorers.base import ConfigError

READY_LINE = b"Kafka Server started"
FORMAT_TIMEOUT_S = 240
_SMALL_JVM = ("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_NODE_JVM = (
    "-Xms128m",
    "-Xmx384m",
    "-XX:+UseSerialGC",
    "-XX:MaxDirectMemorySize=256m",
    "-XX:ReservedCodeCacheSize=64m",
    # A thread keeps a direct buffer as large as the largest record it ever sent, unless configured otherwise.
    "-Djdk.nio.maxCachedBufferSize=1048576",
)


@dataclass
class Node:
    """Its folder holds `server.properties`, `server.log` and `data/`. `pid` is 0 where none was started."""

    node_id: int
    folder: Path
    ports: dict[str, int]
    pid: int = 0
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _log_start: int = field(default=0, repr=False)

    @property
    def properties_file(self) -> Path:
        """Path of `server.properties`. It also identifies the process: no other command line contains it."""
        return self.folder / "server.properties"

    @property
    def log_file(self) -> Path:
        """The node's log of all its starts."""
        return self.folder / "server.log"

    @property
    def data_dir(self) -> Path:
        """Kafka's own files."""
        return self.folder / "data"

    def write_properties(self, text: str) -> None:
        """Write `server.properties`, readable by its owner only: it may hold a password."""
        self.folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.properties_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
            handle.write(text)

    def is_formatted(self) -> bool:
        """True if the data folder already belongs to a cluster."""
        return (self.data_dir / "meta.properties").exists()

    def begin_format(self, kafka: Distribution, cluster_id: str, arguments: list[str]) -> "subprocess.Popen[bytes]":
        """Start formatting the data folder; `end_format` waits for it, so that three nodes are formatted at once."""
        # `--cluster-id=ID` in one word: an id that starts with a dash would be read as an option.
        options = ["format", f"--cluster-id={cluster_id}", "-c", str(self.properties_file), *arguments]
        return subprocess.Popen(
            kafka.command("kafka.tools.StorageTool", *options, jvm=_SMALL_JVM), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    def end_format(self, process: "subprocess.Popen[bytes]") -> None:
        """Wait for the formatter. Its standard output is never kept: it prints credentials. Raises `ConfigError`."""
        try:
            _, errors = process.communicate(timeout=FORMAT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise ConfigError(f"node {self.node_id}: formatting {self.data_dir} took more than {FORMAT_TIMEOUT_S} s") from None
        if process.returncode != 0:
            lines = errors.decode(errors="replace").strip().splitlines() or ["no message"]
            raise ConfigError(f"node {self.node_id}: Kafka could not format {self.data_dir}: {lines[0][:300]}")

    def launch(self, kafka: Distribution, jvm: tuple[str, ...] = ()) -> int:
        """Start the JVM in a session of its own (Ctrl-C here is not meant for it) and return its process id. `jvm`: further options of Java."""
        self._log_start = self.log_file.stat().st_size if self.log_file.exists() else 0
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                kafka.command("kafka.Kafka", str(self.properties_file), jvm=(*_NODE_JVM, *jvm)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=self.folder,
            )
        self.pid = self._process.pid
        return self.pid

    def is_alive(self) -> bool:
        """True if the JVM runs.

        A child of this process is asked for directly: for an instant after its start the command line, by which a
        stranger's child is known, is still empty.
        """
        if self._process is not None:
            return self._process.poll() is None
        return is_running(self.pid, str(self.properties_file))

    def is_ready(self) -> bool:
        """True if it has logged that it is ready since its last start here."""
        if not self.log_file.exists():
            return False
        with self.log_file.open("rb") as log:
            log.seek(self._log_start)
            return READY_LINE in log.read()

    def signal(self, number: signal.Signals) -> None:
        """Signal the JVM if it still runs."""
        if self._process is not None:
            self._process.send_signal(number)  # does nothing once the process has ended
        else:
            send(self.pid, str(self.properties_file), number)

    def last_words(self) -> str:
        """The last error line of its log, for a message to the user."""
        if not self.log_file.exists():
            return "it wrote nothing"
        with self.log_file.open("rb") as log:
            log.seek(self._log_start)
            lines = log.read().decode(errors="replace").splitlines()
        telling = [line for line in lines if " ERROR " in line or " FATAL " in line or line.startswith("Error")] or lines
        return telling[-1][:300] if telling else "it wrote nothing"
