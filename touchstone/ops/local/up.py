"""A whole Touchstone in one terminal: broker, topics, workers and projector, as children of this process.

Volatile: the broker ends with it, and all that it holds.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from touchstone.ops.local.broker import BrokerKind, local_broker
from touchstone.ops.local.kafka.processes import port_is_free
from touchstone.schemas.settings.house import KafkaSettings, Settings
from touchstone.scorers.base import ConfigError, Unavailable
from touchstone.streams.topics.log_reader import LogReader
from touchstone.streams.topics.provision import create_topics

#: A worker that loads a model takes seconds, on a very busy machine minutes; one that ends meanwhile is noticed at once.
READY_TIMEOUT_S = 300.0
PROJECTOR_GRACE_S = 15.0
SERVE_GRACE_S = 15.0
PROJECTED_TIMEOUT_S = 10.0
PROJECTED_POLL_S = 0.1
BROKER_CHECK_S = 1.0
#: Log events that mean a child is up.
READY_EVENTS = frozenset({"worker_started", "projector_started", "archiver_started", "serve_started"})
#: Signals that stop everything in order, as Ctrl-C does.
ENDING = (signal.SIGTERM, signal.SIGHUP)
LINE_BYTES_MAX = 65_536
PORT_MAX = 65_535
#: The child that keeps cases.
ARCHIVER = "archiver"
#: The child that serves the page.
PAGE = "mission control"


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


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run. `store`: URL; a temporary SQLite file where None. `port`: of the broker. `http_port`: of the first worker, the others follow.

    `page_port`: of the page, which everybody on this machine may open; None: no page. A port that is 0 is a free one.
    `env`: over the environment of every child.
    """

    suites: Sequence[str]
    workers: int = 1
    broker: BrokerKind = "embedded"
    runner: str = "faust"
    store: str | None = None
    port: int = 0
    http_port: int = 0
    page_port: int | None = 0
    config: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Child:
    """A child process and its state."""

    name: str
    process: asyncio.subprocess.Process
    grace_s: float
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    address: str | None = None
    last_words: str = ""


class Live:
    """The processes of one run. An async context manager: entering starts everything, leaving ends it in order.

    Raises `ConfigError` for a plan that its broker cannot serve.
    """

    def __init__(self, settings: Settings, plan: Plan, on_line: Callable[[LogLine], None]) -> None:
        if plan.workers > 1 and plan.broker == "embedded":
            raise ConfigError("the embedded broker cannot share a suite's partitions between workers; use --broker apache, or --workers 1")
        check_ports(plan)
        self._plan = plan
        self._on_line = on_line
        self._given = settings
        self._broker = local_broker(plan.broker, dict.fromkeys(settings.topics.all_names(), settings.topics.partitions), plan.port)
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._readers: list[asyncio.Task[None]] = []
        self.settings = settings
        self.store_url = plan.store or ""
        self.archive_url = ""
        self.children: list[Child] = []
        self.stopped_hard: list[str] = []
        self.asked_by: signal.Signals | None = None

    async def __aenter__(self) -> Self:
        """Start all and wait until each is up. Raises `ConfigError` if one does not come up."""
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End all."""
        await self.stop()

    async def _start(self) -> None:
        address = await asyncio.to_thread(self._broker.start)
        # This broker speaks neither TLS nor SASL, whatever the settings say of another one.
        kafka = KafkaSettings(bootstrap_servers=address, client_id=self._given.kafka.client_id)
        if not self._plan.store:
            self._folder = tempfile.TemporaryDirectory(prefix="touchstone-up-")
            self.store_url = f"sqlite:///{self._folder.name}/results.db"
            self.archive_url = f"file://{self._folder.name}/archive"
        self.settings = self._given.model_copy(update={"kafka": kafka})
        await create_topics(self.settings)
        port = self._plan.http_port
        for suite in self._plan.suites:
            for number in range(1, self._plan.workers + 1):
                await self._spawn_worker(suite, number, port)
                port += 1 if port else 0
        # The broker is new every time, so a store from an earlier run remembers positions of topics that are gone.
        await self._spawn("projector", ["projector", "--from-start", "--store", self.store_url], PROJECTOR_GRACE_S)
        await self._spawn_archiver()
        if self._plan.page_port is not None:
            await self._spawn(PAGE, ["serve", "--host", "127.0.0.1", "--port", str(self._plan.page_port)], SERVE_GRACE_S)
        await self._await_ready()

    async def add(self, suite: str) -> None:
        """Start one more worker, of a suite outside the plan, and wait until it is up. Raises `ConfigError` if it does not come up."""
        await self._spawn_worker(suite, 1, 0)
        await self._await_ready()

    async def start_archiver(self) -> None:
        """Start an archiver in the place of one that has ended, and wait until it is up. Raises `ConfigError` if it does not come up."""
        await self._spawn_archiver()
        await self._await_ready()

    async def _spawn_archiver(self) -> None:
        await self._spawn(ARCHIVER, ["archive"], PROJECTOR_GRACE_S)

    async def _spawn_worker(self, suite: str, number: int, port: int) -> None:
        """Start one worker."""
        arguments = ["worker", "--suite", suite, "--runner", self._plan.runner, "--http-port", str(port)]
        await self._spawn(f"{suite}/{number}", arguments, self.settings.worker.drain_timeout_s + 5)

    async def _spawn(self, name: str, arguments: Sequence[str], grace_s: float) -> None:
        """Start one child. In a session of its own: Ctrl-C is for the parent, which ends its children in order."""
        own = ["--bootstrap", self.settings.kafka.bootstrap_servers]
        if self._plan.config is not None:
            own += ["--config", str(self._plan.config)]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "touchstone.ops.cli.child_command", str(os.getpid()), *arguments, *own),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment(),
            start_new_session=True,
            limit=LINE_BYTES_MAX,
        )
        child = Child(name, process, grace_s)
        self.children.append(child)
        self._readers.append(asyncio.create_task(self._read(child)))

    def _environment(self) -> dict[str, str]:
        """The parent's environment without variables of other clusters. Logs are JSON, because they are parsed here."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("KAFKA_", "TOUCHSTONE_KAFKA_"))}
        kept |= {"TOUCHSTONE_LOG_FORMAT": "json", "TOUCHSTONE_KAFKA_SECURITY_PROTOCOL": "PLAINTEXT"}
        kept["TOUCHSTONE_STORE_URL"] = self.store_url
        if self.archive_url:
            kept["TOUCHSTONE_ARCHIVE_URL"] = self.archive_url
        return kept | dict(self._plan.env)

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

    async def _await_ready(self) -> None:
        """Wait until every child is up. Raises `ConfigError` for one that ends first, or takes too long."""
        ready: asyncio.Future[Any] = asyncio.gather(*(child.ready.wait() for child in self.children))
        failed = asyncio.create_task(self.failure())
        both: set[asyncio.Future[Any]] = {ready, failed}
        try:
            await asyncio.wait(both, timeout=READY_TIMEOUT_S, return_when=asyncio.FIRST_COMPLETED)
            if failed.done():
                raise ConfigError(failed.result())
            if not ready.done():
                late = [child.name for child in self.children if not child.ready.is_set()]
                raise ConfigError(f"{', '.join(late)} did not start within {READY_TIMEOUT_S:g} s")
        finally:
            for task in (ready, failed):
                task.cancel()
            await asyncio.gather(ready, failed, return_exceptions=True)

    @property
    def page(self) -> str | None:
        """The address of the page; None before it is up."""
        return next((f"{child.address}/" for child in self.children if child.name == PAGE and child.address), None)

    @property
    def broker_name(self) -> str:
        """The kind of broker, as text."""
        return self._broker.name

    async def failure(self) -> str:
        """Wait until a child ends unexpectedly, and return which one and how."""
        waits = {asyncio.create_task(child.process.wait()): child for child in self.children}
        try:
            while True:
                done, _ = await asyncio.wait(waits, timeout=BROKER_CHECK_S, return_when=asyncio.FIRST_COMPLETED)
                if done:
                    child = waits[done.pop()]
                    await asyncio.sleep(0.1)  # its last words may still be in the pipe
                    said = f": {child.last_words.removeprefix('touchstone: ')}" if child.last_words else ""
                    return f"{child.name} ended {how(child.process.returncode)}{said}"
                if fault := await asyncio.to_thread(self._broker.fault):
                    return f"broker: {fault}"
        finally:
            for task in waits:
                task.cancel()

    async def stop(self) -> None:
        """Stop workers, then projector, archiver and page, then the broker, so that each can finish. Calling it twice is harmless."""
        projectors = [child for child in self.children if child.name in {"projector", ARCHIVER, PAGE}]
        workers = [child for child in self.children if child not in projectors]
        await asyncio.gather(*(self._end(child) for child in workers))
        if self._plan.store and any(child.process.returncode is None for child in projectors):
            await self._projected()
        await asyncio.gather(*(self._end(child) for child in projectors))
        for reader in self._readers:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait_for(reader, 2)
        await asyncio.to_thread(self._broker.stop)
        self.children, self._readers = [], []
        folder, self._folder = self._folder, None
        if folder is not None:
            folder.cleanup()

    async def _projected(self) -> None:
        """Wait, within a bound, until a store that is kept has the last results of a broker that is not."""
        from touchstone.ops.store.results import ResultStore

        topic = self.settings.topics.results
        with contextlib.suppress(ConfigError, Unavailable, TimeoutError):
            async with asyncio.timeout(PROJECTED_TIMEOUT_S), LogReader(self.settings.kafka, [topic]) as reader:
                ends = await reader.ends()
                store = await asyncio.to_thread(ResultStore.open, self.store_url)
                try:
                    read: dict[int, int] = {}
                    while any(read.get(partition, 0) < end for (_, partition), end in ends.items()):
                        await asyncio.sleep(PROJECTED_POLL_S)
                        read = await asyncio.to_thread(store.positions, topic)
                finally:
                    store.close()

    async def _end(self, child: Child) -> None:
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
        for child in self.children if children is None else children:
            with contextlib.suppress(ProcessLookupError):
                child.process.send_signal(signal.SIGKILL)


def check_ports(plan: Plan) -> None:
    """Refuse a port that is taken, or wanted twice, before anything is started. Raises `ConfigError`."""
    workers = len(plan.suites) * plan.workers if plan.http_port else 0
    wanted = [("--port", plan.port), ("--page-port", plan.page_port or 0), *(("--http-port", plan.http_port + number) for number in range(workers))]
    chosen: dict[int, str] = {}
    for option, port in wanted:
        if not port:
            continue
        if port in chosen:
            raise ConfigError(f"{option} {port}: the port of {chosen[port]}, too; choose another port")
        if port > PORT_MAX:
            raise ConfigError(f"{option}: {workers} workers count up to port {port}, and {PORT_MAX} is the highest; choose a lower one")
        if not port_is_free("127.0.0.1", port):
            raise ConfigError(f"{option} {port}: another program listens there; choose another port, or end that program")
        chosen[port] = option


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


def stop_on_signals(stop: asyncio.Event, live: Live) -> None:
    """First SIGINT, SIGTERM or SIGHUP (the terminal is gone): stop in order. A second one: at once. `live.asked_by` says which it was."""
    loop = asyncio.get_running_loop()

    def asked(number: signal.Signals) -> None:
        if stop.is_set():
            live.kill()
        live.asked_by = live.asked_by or number
        stop.set()

    for number in (signal.SIGINT, *ENDING):
        # nohup ignores SIGHUP on purpose, so it stays ignored.
        if signal.getsignal(number) != signal.SIG_IGN:
            loop.add_signal_handler(number, asked, number)
