"""The server as a process of its own, so that a benchmark does not share its interpreter."""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from touchstone.scorers.base import ConfigError

STOP_S = 10.0


class JudgeProcess:
    """`python -m tests.doubles.judges` for `with`, on a free port. `base_url`: for clients."""

    def __init__(self, *, latency_ms: float = 0.0, script: Path | None = None, options: tuple[str, ...] = ()) -> None:
        self._command = [sys.executable, "-m", "tests.doubles.judges", "--port", "0", "--latency-ms", f"{latency_ms:g}", "--end-with-parent", *options]
        if script is not None:
            self._command += ["--script", str(script)]

    def __enter__(self) -> Self:
        """Start it and wait until it listens. Raises `ConfigError` where it does not."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.base_url = self._process.stdout.readline().rstrip("\n")
        if not self.base_url.startswith("http://"):
            code = self._process.wait(STOP_S)
            raise ConfigError(f"The scripted judge did not start: exit code {code}. Its own message says why.")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End it."""
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def seen(self) -> dict[str, Any]:
        """What it was asked so far: the counts of `Seen.summary`."""
        with urllib.request.urlopen(self.base_url.removesuffix("/v1") + "/seen", timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
        return found
