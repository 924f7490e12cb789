"""Child processes of one run: started with their output read, watched, and ended in order."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from touchstone.scorers.base import ConfigError

#: A worker that loads a model takes seconds, on a very busy machine minutes; one that ends meanwhile is noticed at once.
READY_TIMEOUT_S = 300.0
BROKER_CHECK_S = 1.0
#: Log events that mean a child is up.
READY_EVENTS = frozenset({"worker_started", "projector_started", "archiver_started", "serve_started"})
LINE_BYTES_MAX = 65_536


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a child's output. `fields` is empty if it was not a log event."""

    child: str
    text: str
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def level(self) -> str:
        """The log level; a line that is not a log event counts as an error."""
        return str(self.fields.get("level", "error"))


@dataclass(slots=True, eq=False)
class Child:
    """A child process and its state."""

    name: str
    process: asyncio.subprocess.Process
    grace_s: float
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    address: str | None = None
    last_words: str = ""


class Children:
    """The child processes. `all`: those that were started; `stopped_hard`: names of those that had to be killed."""

    def __init__(self, on_line: Callable[[LogLine], None]) -> None:
        """`on_line` is given every line of their standard error."""
        self._on_line = on_line
        self._readers: list[asyncio.Task[None]] = []
        self.all: list[Child] = []
        self.stopped_hard: list[str] = []

    async def spawn(self, name: str, arguments: Sequence[str], env: Mapping[str, str], grace_s: float) -> None:
        """Start one child. In a session of its own: Ctrl-C is for the parent, which ends its children in order."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "touchstone.ops.cli.child_command", str(os.getpid()), *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env=dict(env),
            start_new_session=True,
            limit=LINE_BYTES_MAX,
        )
        child = Child(name, process, grace_s)
        self.all.append(child)
        self._readers.append(asyncio.create_task(self._read(child)))

    async def _read(self, child: Child) -> None:
        """Pass on a child's lines."""
        assert child.process.stderr is not None
        while True:
            try:
                raw = await child.process.stderr.readline()
            except ValueError:
                continue  # a line past the limit: the reader has dropped it
            if not raw:
                return
            line = parse_line(child.name, raw)
            if line.fields.get("event") in READY_EVENTS:
                child.address = line.fields.get("address")
                child.ready.set()
            if line.level not in {"info", "debug"}:
                child.last_words = line.text
            self._on_line(line)

    async def await_ready(self, failure: Callable[[], Coroutine[Any, Any, str]]) -> None:
        """Wait until every child is up. Raises `ConfigError` for one that ends first, or takes too long."""
        ready: asyncio.Future[Any] = asyncio.gather(*(child.ready.wait() for child in self.all))
        failed = asyncio.create_task(failure())
        both: set[asyncio.Future[Any]] = {ready, failed}
        try:
            await asyncio.wait(both, timeout=READY_TIMEOUT_S, return_when=asyncio.FIRST_COMPLETED)
            if failed.done():
                raise ConfigError(failed.result())
            if not ready.done():
                late = [child.name for child in self.all if not child.ready.is_set()]
                raise ConfigError(f"{', '.join(late)} did not start within {READY_TIMEOUT_S:g} s")
        finally:
            for task in (ready, failed):
                task.cancel()
            await asyncio.gather(ready, failed, return_exceptions=True)

    async def failure(self, broker_fault: Callable[[], str | None]) -> str:
        """Wait until a child ends unexpectedly, or `broker_fault` names something, and return which one and how. `broker_fault` may block."""
        waits = {asyncio.create_task(child.process.wait()): child for child in self.all}
        try:
            while True:
                done, _ = await asyncio.wait(waits, timeout=BROKER_CHECK_S, return_when=asyncio.FIRST_COMPLETED)
                if done:
                    child = waits[done.pop()]
                    await asyncio.sleep(0.1)  # its last words may still be in the pipe
                    said = f": {child.last_words.removeprefix('touchstone: ')}" if child.last_words else ""
                    return f"{child.name} ended {how(child.process.returncode)}{said}"
                if fault := await asyncio.to_thread(broker_fault):
                    return f"broker: {fault}"
        finally:
            for task in waits:
                task.cancel()

    async def end(self, child: Child) -> None:
        """Send SIGTERM, wait, then send SIGKILL."""
        if child.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.process.terminate()
        try:
            await asyncio.wait_for(child.process.wait(), child.grace_s)
        except TimeoutError:
            self.stopped_hard.append(child.name)
            self.kill([child])
            await child.process.wait()

    def kill(self, children: Sequence[Child] | None = None) -> None:
        """Kill children at once (all by default)."""
        for child in self.all if children is None else children:
            with contextlib.suppress(ProcessLookupError):
                child.process.send_signal(signal.SIGKILL)

    async def forget(self) -> None:
        """Wait until everything that they said is read, and forget them."""
        for reader in self._readers:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait_for(reader, 2)
        self.all, self._readers = [], []


def parse_line(child: str, raw: bytes) -> LogLine:
    """One line of a child's standard error."""
    text = raw.decode("utf-8", "replace").rstrip()
    try:
        fields = json.loads(text)
    except json.JSONDecodeError:
        return LogLine(child, text)
    if not isinstance(fields, dict) or "event" not in fields:
        return LogLine(child, text)
    rest = " ".join(f"{name}={value}" for name, value in fields.items() if name not in {"event", "level", "timestamp"})
    return LogLine(child, f"{fields['event']} {rest}".rstrip(), fields)


def how(code: int | None) -> str:
    """An exit status in words."""
    if code is not None and code < 0:
        return f"by signal {signal.Signals(-code).name}"
    return f"with exit code {code}"
