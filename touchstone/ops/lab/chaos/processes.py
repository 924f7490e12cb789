"""Workers and the projector as processes that are killed, paused, asked to leave, and watched for ending by themselves."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from touchstone.ops.lab.runners import runner_of

STARTED = "worker_started"
#: A worker that cannot continue by itself asks its supervisor for a restart with this exit code (sysexits: a temporary failure).
EXIT_RESTART = 75
#: After this many unexpected endings the run is given up.
TROUBLES_MAX = 30
EXIT_TIMEOUT_S = 40.0
POLL_S = 0.02
WARNINGS_MAX = 3


class Broken(Exception):
    """The run cannot continue: a process does not start, or keeps ending."""


def _is_calm(line: str) -> bool:
    """True for log lines that every run has; False for a traceback."""
    try:
        entry = json.loads(line)
    except ValueError:
        return False
    return entry.get("level") in {"debug", "info"} or entry.get("event") == "dead_letters"


class Child:
    """One command line that may be started many times; every start appends to one log file."""

    def __init__(self, name: str, arguments: list[str], environment: dict[str, str], folder: Path) -> None:
        self.name = name
        self.log_path = folder / f"{name}.log"
        self._arguments = arguments
        # The caller's own Touchstone and Kafka settings are not this run's.
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("TOUCHSTONE_", "KAFKA_"))}
        self.environment = inherited | environment
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0
        #: How far this process's clock is off, from its next start on.
        self.clock_off_s = 0

    @property
    def running(self) -> bool:
        """True if it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """Of the last start; None while it runs or where there was none."""
        return self._process.poll() if self._process is not None else None

    def start(self) -> None:
        """Start the process."""
        self._log_start = self.log_path.stat().st_size if self.log_path.exists() else 0
        command = ["touchstone.ops.lab.chaos.shifted", str(self.clock_off_s)] if self.clock_off_s else ["touchstone.ops.cli"]
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", *command, *self._arguments],
                env=self.environment,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def peak_mib(self) -> int:
        """The most memory that it has held since it was started; 0 if it does not run."""
        if self._process is None or not self.running:
            return 0
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) // 1024

    def has_logged(self, word: str) -> bool:
        """True if the log of the last start contains the word."""
        with self.log_path.open("rb") as log:
            log.seek(self._log_start)
            return word.encode() in log.read()

    def last_warnings(self) -> str:
        """The latest warnings and errors of the last start, as its log has them."""
        with self.log_path.open("rb") as log:
            log.seek(self._log_start)
            lines = log.read().decode(errors="replace").splitlines()
        return " ".join([line for line in lines if not _is_calm(line)][-WARNINGS_MAX:])

    def wait_for(self, word: str, timeout_s: float = 120.0) -> bool:
        """Wait until the log holds the word; False if the process ended before, or the time was over."""
        deadline = time.monotonic() + timeout_s
        while not self.has_logged(word):
            if not self.running or time.monotonic() > deadline:
                return self.has_logged(word)
            time.sleep(POLL_S)
        return True

    def readiness(self) -> int | None:
        """Status of `/readyz`; None while there is none."""
        with self.log_path.open("rb") as log:
            log.seek(self._log_start)
            found = re.search(rb'"address": ?"(http://[^"]+)"', log.read())
        if found is None:
            return None
        try:
            with urllib.request.urlopen(found.group(1).decode() + "/readyz", timeout=5) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal if it runs."""
        if self._process is not None:
            self._process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait(timeout=10)
            self._process = None

    def leave(self, timeout_s: float = EXIT_TIMEOUT_S) -> int | None:
        """SIGTERM, wait, and return the exit code; None if it did not end in time and was killed."""
        process = self._process
        if process is None:
            return 0
        self.signal(signal.SIGTERM)
        try:
            code = process.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            return None
        self._process = None
        return code


class Fleet:
    """The workers of one run, the projector, and archivers where the run has any.

    `troubles`: unexpected endings. `may_restart`: a worker may ask for a new start; `restarts` counts.
    """

    def __init__(self, runner: str, suite: str, environment: dict[str, str], folder: Path, slots: int, may_restart: bool = False, archivers: int = 0) -> None:
        runner, settings = runner_of(runner)
        arguments = ["worker", "--suite", suite, "--runner", runner]
        self.workers = [Child(f"worker-{slot}", arguments, environment | settings, folder) for slot in range(slots)]
        self.projector = Child("projector", ["projector"], environment, folder)
        self.archivers = [Child(f"archiver-{number}", ["archive"], environment, folder) for number in range(archivers)]
        self.troubles: list[str] = []
        self.restarts = 0
        self._may_restart = may_restart

    @property
    def children(self) -> list[Child]:
        """Every process."""
        return [*self.workers, self.projector, *self.archivers]

    def start(self, *workers: int) -> None:
        """Start workers by slot, at once, and wait until each is up."""
        for slot in workers:
            self.workers[slot].start()
        for slot in workers:
            if not self.workers[slot].wait_for(STARTED):
                raise Broken(f"worker-{slot} did not start; see {self.workers[slot].log_path}")

    def ask_to_leave(self, slot: int) -> None:
        """SIGTERM a worker that is up; it must drain and exit 0."""
        child = self.workers[slot]
        if not child.wait_for(STARTED):
            self.troubles.append(f"worker-{slot} did not start")
        code = child.leave()
        if code != 0:
            self.troubles.append(f"worker-{slot} left with {'no exit in time' if code is None else f'exit code {code}'}")

    def look(self) -> None:
        """Note processes that ended by themselves, and start them again as a supervisor would."""
        for child in self.children:
            code = child.exit_code
            if code is not None and len(self.troubles) + self.restarts > TROUBLES_MAX:
                raise Broken(f"{child.name} ends again and again, last with exit code {code}; see {child.log_path}")
            if code == EXIT_RESTART and self._may_restart:
                self.restarts += 1
                child.start()
            elif code is not None:
                self.troubles.append(f"{child.name} ended by itself with exit code {code}; its last warnings: {child.last_warnings() or 'none'}")
                child.start()

    def kill_all(self) -> None:
        """Leave nothing behind."""
        for child in self.children:
            child.signal(signal.SIGCONT)
            child.kill()
