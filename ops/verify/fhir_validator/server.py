"""The official validator as a child process: started on loopback, waited for, stopped by its process id."""

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from touchstone.ops.local.kafka.processes import free_ports, port_is_free, wait_until
from touchstone.ops.verify.fhir_validator.artifacts import distribution
from touchstone.ops.verify.fhir_validator.client import TIMEOUT_S, ValidatorClient
from touchstone.ops.verify.fhir_validator.packages import found_packages, guides, make_home
from touchstone.scorers.base import ConfigError

HOST = "127.0.0.1"
START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 10.0
MEMORY_MB = 3072
READY_LINE = b"validator ready"


class FhirValidator:
    """A validator that ends with this program, however that ends. `port`: 0 takes a free one; `known`: archives of implementation guides it is to know.

    Nothing is fetched while it validates, and nothing that it says of documents is kept.
    """

    def __init__(
        self,
        *,
        packages: Sequence[Path] = (),
        known: Sequence[Path] = (),
        port: int = 0,
        start_timeout_s: float = START_TIMEOUT_S,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self.port = port
        self._packages = packages
        self._known = known
        self._start_timeout_s = start_timeout_s
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def pid(self) -> int:
        """Its process id, 0 where it does not run."""
        return self._process.pid if self._process is not None and self._process.poll() is None else 0

    @property
    def client(self) -> ValidatorClient:
        """A client of it."""
        return ValidatorClient(self.port, HOST, timeout_s=self._timeout_s)

    def start(self) -> ValidatorClient:
        """Start it (5 to 10 s) and wait until it serves. Raises `ConfigError`, and then leaves nothing running."""
        validator = distribution()
        packages, known = found_packages(self._packages), guides(self._known)
        if self.port and not port_is_free(HOST, self.port):
            raise ConfigError(f"port {self.port} is taken: choose another, or none to get a free one")
        self.port = self.port or free_ports(HOST, 1)[0]
        self._folder = tempfile.TemporaryDirectory(prefix="touchstone-fhir-validator-")
        home = Path(self._folder.name)
        make_home(home, packages | known)
        with (home / "log").open("wb") as log:
            # Its standard input is a pipe of this program: when this program goes, the pipe closes and the JVM ends itself.
            self._process = subprocess.Popen(
                validator.command(home, str(self.port), *known, memory_mb=MEMORY_MB),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=home,
            )
        wait_until(lambda: self._is_ready() or not self.pid, self._start_timeout_s, interval_s=0.1)
        if self.pid and self._is_ready():
            (home / "log").unlink()  # its log from here on may quote what it validates, and is not read
            return self.client
        why = f"is not ready after {self._start_timeout_s:g} s" if self.pid else "ended at once"
        words = self._last_words()
        self.stop()
        raise ConfigError(f"the official FHIR validator {why}: {words}")

    def stop(self) -> None:
        """End it by its process id, and remove what it wrote. Harmless when nothing runs."""
        if self._process is not None:
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process.terminate()  # it reads its input only once it serves
            try:
                self._process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(STOP_TIMEOUT_S)
            self._process = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def __enter__(self) -> ValidatorClient:
        """Start."""
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop."""
        self.stop()

    def _log(self) -> bytes:
        path = Path(self._folder.name) / "log" if self._folder is not None else None
        return path.read_bytes() if path is not None and path.exists() else b""

    def _is_ready(self) -> bool:
        return READY_LINE in self._log()

    def _last_words(self) -> str:
        """The first line of its log about an error. Nothing was validated yet, so it quotes no payload."""
        lines = self._log().decode(errors="replace").splitlines()
        return next((line for line in lines if "rror" in line or "xception" in line), lines[-1] if lines else "it wrote nothing").strip()[:300]
