"""Processes of the command line that begin with its modules imported: each is a process of its own, forked by a server that has imported them once.

A start costs a second or two of processor time less, which hundreds of tests would spend on the same imports.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import IO, Final

from touchstone.scorers.registry import suite_entry_points

_IMPORTED: Final = (
    "touchstone.ops.cli.worker",
    "touchstone.streams.process.worker",
    "touchstone.streams.runners.direct",
    "touchstone.streams.runners.faust_agents",
    "sqlalchemy",
)
_FORKED: Final = get_context("forkserver")
_FORKED.set_forkserver_preload([*_IMPORTED, *(point.module for point in suite_entry_points().values())])


class ForkedProcess:
    """What tests use of `subprocess.Popen`, of a command that a forked process runs. Its output goes to `log`."""

    def __init__(self, arguments: Sequence[str], env: Mapping[str, str], cwd: Path | None, log: IO[bytes]) -> None:
        self._process = _FORKED.Process(target=_run, args=(list(arguments), dict(env), str(cwd or Path.cwd()), log.name), daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, minus the signal's number after one; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """The exit code if it has ended."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once it has ended. Raises `subprocess.TimeoutExpired`."""
        self._process.join(timeout)
        if (code := self._process.exitcode) is None:
            raise subprocess.TimeoutExpired("touchstone", timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal; one that has ended gets none."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


def _run(arguments: list[str], env: dict[str, str], cwd: str, log: str) -> None:
    with Path(log).open("ab", buffering=0) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    tempfile.tempdir = None  # it may have been found, from the server's environment
    sys.argv = ["touchstone", *arguments]
    from touchstone.ops.cli import main

    main()
