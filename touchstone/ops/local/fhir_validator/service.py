"""The service from outside: found by its state folder, started in the background, asked for its status, stopped."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from touchstone.ops.local.fhir_validator.supervisor import STATE_FILE, is_held
from touchstone.ops.local.kafka.processes import is_running, send, wait_until
from touchstone.scorers.base import ConfigError
from touchstone.scorers.http.blocking_client import BlockingHttpClient

LOG_FILE = "service.log"
COMMAND = "fhir-validator"
STOP_TIMEOUT_S = 30.0
ASK_TIMEOUT_S = 5.0


def default_state_dir() -> Path:
    """One service per user."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "touchstone" / "fhir-validator"


@dataclass(frozen=True, slots=True)
class Service:
    """A service that was started with this state folder, running or not."""

    state_dir: Path
    pid: int
    address: str

    @classmethod
    def load(cls, state_dir: Path) -> "Service | None":
        """The running service, or None. The file of a service that was killed does not count."""
        try:
            stored = json.loads((state_dir / STATE_FILE).read_text(encoding="utf-8"))
            found = cls(state_dir, int(stored["pid"]), str(stored["address"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return found if found.is_alive() else None

    def is_alive(self) -> bool:
        """True if its process runs. The folder's lock and the command line distinguish it from another program with a reused process id."""
        return is_held(self.state_dir) and is_running(self.pid, COMMAND)

    def status(self, token: str | None = None) -> dict[str, Any] | None:
        """Its own status; None if it does not answer. Raises `ConfigError` if it needs another token."""
        client = BlockingHttpClient(self.address, timeout_s=ASK_TIMEOUT_S, bytes_max=1_000_000)
        try:
            answer = client.send("GET", "/status", headers={"Authorization": f"Bearer {token}"} if token else {})
            status = json.loads(answer.body or b"")
        except (OSError, ValueError):
            return None
        if answer.status == HTTPStatus.UNAUTHORIZED:
            raise ConfigError(f"the service at {self.address} wants a token: set TOUCHSTONE_FHIR_VALIDATOR_TOKEN")
        return status if answer.status == HTTPStatus.OK and isinstance(status, dict) else None

    def stop(self) -> None:
        """Ask it to end, and kill it if it does not in time; its validators end with it."""
        if not self.is_alive():
            return
        send(self.pid, COMMAND, signal.SIGTERM)
        # It gives the folder back a little before it ends.
        if not wait_until(lambda: not is_running(self.pid, COMMAND), STOP_TIMEOUT_S):
            send(self.pid, COMMAND, signal.SIGKILL)
            wait_until(lambda: not is_running(self.pid, COMMAND), STOP_TIMEOUT_S)


def start_in_background(state_dir: Path, arguments: Sequence[str], token: str | None, start_timeout_s: float) -> Service:
    """Start a service that outlives this program, and return when it can answer. Raises `ConfigError`, and then leaves nothing running."""
    try:
        state_dir.mkdir(parents=True, exist_ok=True)
        with (state_dir / LOG_FILE).open("wb") as log:
            command = [sys.executable, "-m", "touchstone.ops.cli", COMMAND, "start", "--foreground", "--state-dir", str(state_dir), *arguments]
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
    except OSError as error:
        raise ConfigError(f"{state_dir}: cannot be written ({error.strerror}); give another --state-dir") from None

    def is_ready() -> bool:
        service = Service.load(state_dir)
        return service is not None and service.pid == process.pid and bool((service.status(token) or {}).get("ready"))

    try:
        wait_until(lambda: process.poll() is not None or is_ready(), start_timeout_s, interval_s=0.2)
        service = Service.load(state_dir) if process.poll() is None and is_ready() else None
        if service is not None:
            return service
        why = "ended" if process.poll() is not None else f"was not ready after {start_timeout_s:g} s"
        raise ConfigError(f"the FHIR validator service {why}: {_last_line(state_dir / LOG_FILE)}")
    except BaseException:
        with suppress(ProcessLookupError):
            process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_TIMEOUT_S)
        raise


def _last_line(path: Path) -> str:
    lines = [line for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    own = [line for line in lines if line.startswith("touchstone: ")]
    return (own or lines or ["it wrote nothing"])[-1].removeprefix("touchstone: ")[:500]
