"""A whole Touchstone in one terminal: broker, topics, workers and projector, as children of this process.

Volatile: the broker ends with it, and all that it holds.
"""

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from touchstone.ops.local.broker import local_broker
from touchstone.ops.local.children import Child, Children, LogLine
from touchstone.ops.local.plan import Plan, check_ports
from touchstone.schemas.settings.house import KafkaSettings, Settings
from touchstone.scorers.base import ConfigError, Unavailable
from touchstone.streams.topics.log_reader import LogReader
from touchstone.streams.topics.provision import create_topics

PROJECTOR_GRACE_S = 15.0
SERVE_GRACE_S = 15.0
PROJECTED_TIMEOUT_S = 10.0
PROJECTED_POLL_S = 0.1
#: Signals that stop everything in order, as Ctrl-C does.
ENDING = (signal.SIGTERM, signal.SIGHUP)
#: The child that keeps cases.
ARCHIVER = "archiver"
#: The child that serves the page.
PAGE = "mission control"


class Live:
    """The processes of one run. An async context manager: entering starts everything, leaving ends it in order.

    Raises `ConfigError` for a plan that its broker cannot serve.
    """

    def __init__(self, settings: Settings, plan: Plan, on_line: Callable[[LogLine], None]) -> None:
        if plan.workers > 1 and plan.broker == "embedded":
            raise ConfigError("the embedded broker cannot share a suite's partitions between workers; use --broker apache, or --workers 1")
        check_ports(plan)
        self._plan = plan
        self._children = Children(on_line)
        self._given = settings
        self._broker = local_broker(plan.broker, dict.fromkeys(settings.topics.all_names(), settings.topics.partitions), plan.port)
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.settings = settings
        self.store_url = plan.store or ""
        self.archive_url = ""
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
        await self._children.await_ready(self.failure)

    async def add(self, suite: str) -> None:
        """Start one more worker, of a suite outside the plan, and wait until it is up. Raises `ConfigError` if it does not come up."""
        await self._spawn_worker(suite, 1, 0)
        await self._children.await_ready(self.failure)

    async def start_archiver(self) -> None:
        """Start an archiver in the place of one that has ended, and wait until it is up. Raises `ConfigError` if it does not come up."""
        await self._spawn_archiver()
        await self._children.await_ready(self.failure)

    async def _spawn_archiver(self) -> None:
        await self._spawn(ARCHIVER, ["archive"], PROJECTOR_GRACE_S)

    async def _spawn_worker(self, suite: str, number: int, port: int) -> None:
        """Start one worker."""
        arguments = ["worker", "--suite", suite, "--runner", self._plan.runner, "--http-port", str(port)]
        await self._spawn(f"{suite}/{number}", arguments, self.settings.worker.drain_timeout_s + 5)

    async def _spawn(self, name: str, arguments: Sequence[str], grace_s: float) -> None:
        """Start one child with this run's broker and settings."""
        own = ["--bootstrap", self.settings.kafka.bootstrap_servers]
        if self._plan.config is not None:
            own += ["--config", str(self._plan.config)]
        await self._children.spawn(name, [*arguments, *own], self._environment(), grace_s)

    def _environment(self) -> dict[str, str]:
        """The parent's environment without variables of other clusters. Logs are JSON, because they are parsed here."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("KAFKA_", "TOUCHSTONE_KAFKA_"))}
        kept |= {"TOUCHSTONE_LOG_FORMAT": "json", "TOUCHSTONE_KAFKA_SECURITY_PROTOCOL": "PLAINTEXT"}
        kept["TOUCHSTONE_STORE_URL"] = self.store_url
        if self.archive_url:
            kept["TOUCHSTONE_ARCHIVE_URL"] = self.archive_url
        return kept | dict(self._plan.env)

    @property
    def page(self) -> str | None:
        """The address of the page; None before it is up."""
        return next((f"{child.address}/" for child in self.children if child.name == PAGE and child.address), None)

    @property
    def broker_name(self) -> str:
        """The kind of broker, as text."""
        return self._broker.name

    @property
    def children(self) -> list[Child]:
        """Every process that was started."""
        return self._children.all

    @property
    def stopped_hard(self) -> list[str]:
        """Names of the processes that had to be killed at the end."""
        return self._children.stopped_hard

    async def failure(self) -> str:
        """Wait until a process or the broker ends unexpectedly, and return which one and how."""
        return await self._children.failure(self._broker.fault)

    def kill(self) -> None:
        """Kill all processes at once."""
        self._children.kill()

    async def stop(self) -> None:
        """Stop workers, then projector, archiver and page, then the broker, so that each can finish. Calling it twice is harmless."""
        projectors = [child for child in self.children if child.name in {"projector", ARCHIVER, PAGE}]
        workers = [child for child in self.children if child not in projectors]
        await asyncio.gather(*(self._children.end(child) for child in workers))
        if self._plan.store and any(child.process.returncode is None for child in projectors):
            await self._projected()
        await asyncio.gather(*(self._children.end(child) for child in projectors))
        await self._children.forget()
        await asyncio.to_thread(self._broker.stop)
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
