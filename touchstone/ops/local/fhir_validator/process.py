"""One process of the official validator on loopback: start, wait until it serves, ask, end."""

import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from touchstone.ops.local.fhir_validator.artifacts import Distribution
from touchstone.ops.local.fhir_validator.packages import make_home
from touchstone.ops.local.kafka.processes import free_ports, port_is_free
from touchstone.scorers.base import ConfigError
from touchstone.scorers.http.blocking_client import BlockingHttpClient

HOST = "127.0.0.1"
START_TIMEOUT_S = 120.0
#: What each guide adds to the limit of a start.
GUIDE_START_S = 60.0
#: The service around a validator may take so long itself to start, on a busy machine, and to report one that was late.
SERVICE_START_S = 60.0
STOP_TIMEOUT_S = 10.0
MEMORY_MB = 3072
READY_LINE = b"validator ready"
#: Line that the JVM writes before it ends because of -XX:+ExitOnOutOfMemoryError.
_OUT_OF_MEMORY = b"Terminating due to java.lang.OutOfMemoryError"
_LINE_BYTES_MAX = 8192
ANSWER_BYTES_MAX = 64 * 1024 * 1024

#: (its user.home, an empty folder; its port) → the command line that serves.
Launch = Callable[[Path, int], list[str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a process."""

    status: int
    body: bytes


class NoAnswer(Exception):
    """The process did not answer: it has ended, or broke off."""


def start_limit_s(least_s: float, guides: int) -> float:
    """The limit for the start of one validator: it grows with the guides to load."""
    return least_s + GUIDE_START_S * guides


def launch_of(validator: Distribution, packages: Mapping[str, Path], guides: Mapping[str, Path], memory_mb: int = MEMORY_MB) -> Launch:
    """The command that starts the real validator. `packages` and `guides`: `id#version` → folder."""

    def launch(home: Path, port: int) -> list[str]:
        make_home(home, {**packages, **guides})
        return validator.command(home, str(port), *guides, memory_mb=memory_mb)

    return launch


class ValidatorProcess:
    """A validator that ends with this program, even if that is killed.

    `port`: 0 takes a free one. `folder`: for its home (default: with temporary files). It fetches nothing, and its output about documents is not kept.
    """

    def __init__(self, launch: Launch, *, port: int = 0, start_timeout_s: float = START_TIMEOUT_S, folder: Path | None = None) -> None:
        self.port = port
        self.ran_out_of_memory = False
        self._launch = launch
        self._start_timeout_s = start_timeout_s
        self._parent = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._reader: threading.Thread | None = None
        self._has_started_or_ended = threading.Event()
        self._is_ready = False
        self._is_given_up = False
        self._last_lines: deque[str] = deque(maxlen=200)

    @property
    def pid(self) -> int:
        """Its process id, 0 if it does not run."""
        return self._process.pid if self._process is not None and self._process.poll() is None else 0

    def begin(self) -> None:
        """Start it (5 to 10 s) and wait until it serves. Raises `ConfigError`, and then leaves nothing running."""
        if self.port and not port_is_free(HOST, self.port):
            raise ConfigError(f"port {self.port} is taken: choose another, or none to get a free one")
        self.port = self.port or free_ports(HOST, 1)[0]
        self._folder = tempfile.TemporaryDirectory(prefix="touchstone-fhir-validator-", dir=self._parent)
        home = Path(self._folder.name)
        try:
            command = self._launch(home, self.port)
        except BaseException:
            self.stop()
            raise
        # Its standard input is a pipe of this program: when this program goes, the pipe closes and the JVM ends itself.
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, cwd=home)
        self._reader = threading.Thread(target=self._read, args=(self._process,), name="fhir-validator-output", daemon=True)
        self._reader.start()
        if self._is_given_up:  # ended from another thread before there was a process
            self._process.kill()
        self._has_started_or_ended.wait(self._start_timeout_s)
        if self._is_ready and self.pid:
            return
        is_late = not self._has_started_or_ended.is_set()
        error = self._error_line()
        self.stop()
        if is_late:
            advice = "on a busy machine raise fhir_validator.start_timeout_s, or load fewer guides"
            raise ConfigError(f"the official FHIR validator is not ready after {self._start_timeout_s:g} s (so far: {error}): {advice}")
        raise ConfigError(f"the official FHIR validator ended at once: {error}")

    def ask(self, path: str, body: bytes, content_type: str, timeout_s: float) -> Answer:
        """Its answer to one request; it answers one at a time. Raises `NoAnswer`; `TimeoutError` if it has not answered within `timeout_s`."""
        client = BlockingHttpClient(f"http://{HOST}:{self.port}", timeout_s=timeout_s, bytes_max=ANSWER_BYTES_MAX)
        try:
            answer = client.send("POST", path, body, {"Content-Type": content_type, "Accept": "application/fhir+json"})
        except ConnectionError as error:
            raise NoAnswer(str(error)) from None
        if answer.body is None:
            raise NoAnswer("answer too large")
        return Answer(answer.status, answer.body)

    def wait(self, timeout_s: float | None = None) -> bool:
        """True if it has ended, after waiting this long for it."""
        if self._reader is not None:
            self._reader.join(timeout_s)  # its output ends with it
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout_s)
        return not self.pid

    def kill(self) -> None:
        """End it at once; `stop` then tidies up. May be called from another thread, also while it starts."""
        self._is_given_up = True
        if self._process is not None:
            self._process.kill()

    def stop(self) -> None:
        """End it, and remove its files. Does nothing if it does not run."""
        self._is_given_up = True
        process, folder = self._process, self._folder
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()
            process.terminate()  # it reads its input only once it serves
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(STOP_TIMEOUT_S)
            if self._reader is not None:
                self._reader.join(STOP_TIMEOUT_S)
        if folder is not None:
            folder.cleanup()

    def _read(self, process: "subprocess.Popen[bytes]") -> None:
        """Take its output, so that it never waits for a reader. Output after it started may quote documents and is not kept."""
        assert process.stdout is not None
        with process.stdout as output:
            while line := output.readline(_LINE_BYTES_MAX):
                if line.startswith(_OUT_OF_MEMORY):
                    self.ran_out_of_memory = True
                if self._is_ready:
                    continue
                if READY_LINE in line:
                    self._is_ready = True
                    self._has_started_or_ended.set()
                else:
                    self._last_lines.append(line.decode(errors="replace").strip())
        self._has_started_or_ended.set()

    def _error_line(self) -> str:
        """Its first line about an error. Nothing was validated yet, so it quotes no payload."""
        lines = [line for line in self._last_lines if line]
        return next((line for line in lines if "rror" in line or "xception" in line), lines[-1] if lines else "it wrote nothing")[:300]
