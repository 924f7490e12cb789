"""What the projector and the archiver share: sessions over the results topic, and the state of what they depend on."""

import asyncio
import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import structlog
from aiokafka.errors import KafkaError

from touchstone.schemas.settings.house import Settings
from touchstone.scorers.backoff import Backoff
from touchstone.streams.account.store_port import StoreUnavailable
from touchstone.streams.telemetry.service_counts import ServiceCounts
from touchstone.streams.wire.clients import check_topics
from touchstone.streams.wire.waiting import once_reached

#: A call of a store that takes longer does not count as an answer.
PATIENCE_S = 30.0
#: How often is looked whether a call hangs.
LOOK_S = 0.5
#: SQLite's and PostgreSQL's codes for a full disk.
DISK_FULL = frozenset({"SQLITE_FULL", "53100"})
#: The code of a dependency that neither answers nor fails.
SILENT = "silent"


class Stuck(Exception):
    """A call of a store hangs for good: only a new process can go on."""


class Service(ABC):
    """Works in sessions: one ends with whatever breaks, and the next one trusts nothing in memory. `run` until `stop` is set."""

    #: Dependency → its name on the readiness page.
    SPOKEN: ClassVar[Mapping[str, str]]
    #: Whether the process ends when a call hangs for longer than `worker.stall_timeout_s`.
    ENDS_STUCK: ClassVar[bool] = False

    def __init__(self, settings: Settings, metrics: ServiceCounts, log: structlog.stdlib.BoundLogger, *topics: str) -> None:
        """`topics`: those that must exist, the results topic first."""
        self._settings = settings
        self._counts = metrics
        self._log = log
        self._topics = topics
        self._topic = topics[0]
        self._down: dict[str, tuple[float, str]] = {}
        self._asked: dict[object, float] = {}
        #: Held while something is written, so that a stop waits for it.
        self._writing = asyncio.Lock()
        self.ready = asyncio.Event()

    @abstractmethod
    async def _session(self, stop: asyncio.Event) -> None:
        """Connect and work until `stop`, or until something breaks."""

    def _failed(self, error: Exception) -> None:
        """Note why a session has ended. Raises what waiting cannot fix."""
        if isinstance(error, StoreUnavailable):
            self._gone("store", error.code)
        elif isinstance(error, KafkaError | OSError | TimeoutError):
            self._gone("kafka", type(error).__name__)
        else:
            raise error

    def _silence(self) -> tuple[str, float]:
        """Which dependency is waited for in a thread, and for how many seconds; 0 where none is."""
        now = time.monotonic()
        return "store", now - min(self._asked.copy().values(), default=now)

    def _why_not(self) -> list[str]:
        """Further reasons not to be ready."""
        return []

    def readiness(self) -> tuple[bool, str]:
        """Whether everything that it depends on takes part, and the reason if not. Read from another thread."""
        now = time.monotonic()
        gone = {name: (now - since, code) for name, (since, code) in sorted(self._down.copy().items())}
        name, silent_s = self._silence()
        if silent_s > PATIENCE_S:
            gone.setdefault(name, (silent_s, SILENT))
        why = [_gone_for(self.SPOKEN[name], *state) for name, state in gone.items()] + self._why_not()
        return (False, ", ".join(why)) if why else (self.ready.is_set(), f"connecting to {' and '.join(self.SPOKEN.values())}")

    async def reach(self, stop: asyncio.Event) -> bool:
        """Wait until the cluster answers and has the topics; False if `stop` came first. Raises `ConfigError` for missing topics."""
        kafka = self._settings.kafka

        def on_wait(waits: bool) -> None:
            self._mark("kafka", up=not waits, code="Unreachable")

        return await once_reached(lambda: check_topics(kafka, self._topics), kafka, self._backoff(), stop, on_wait) is not None

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop`; what is being written then is finished first.

        Waits for a dependency that goes away. Raises `ConfigError` for faults that waiting cannot fix, and `Stuck`.
        """
        session = asyncio.ensure_future(self._sessions(stop))
        listening = asyncio.ensure_future(self._listen())
        stopped = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait({session, listening, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if listening.done():
                listening.result()  # what hangs would be waited for in vain
            async with self._writing:
                # Nothing is being written now, so there is no reason to wait for a broker that does not answer.
                session.cancel()
            await session
        except asyncio.CancelledError:
            if not stop.is_set():
                raise
        finally:
            for task in (session, listening, stopped):
                task.cancel()

    async def _sessions(self, stop: asyncio.Event) -> None:
        """One session after the other, with a pause between two."""
        backoff = self._backoff()
        while not stop.is_set():
            began = time.monotonic()
            try:
                await self._session(stop)
            except Exception as error:  # noqa: BLE001 -- raised again unless it is known
                self._failed(error)
            finally:
                self.ready.clear()
            if time.monotonic() - began > self._settings.worker.retry_backoff_max_s:
                backoff.reset()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), backoff.next_s())

    async def _listen(self) -> None:
        """Note a dependency that says nothing, and its return: a call in a thread cannot be given up."""
        silent = ""
        while True:
            await asyncio.sleep(LOOK_S)
            name, silent_s = self._silence()
            if silent_s > PATIENCE_S:
                if name not in self._down:
                    silent = name
                    self._gone(name, SILENT)
                if self.ENDS_STUCK and silent_s > self._settings.worker.stall_timeout_s:
                    self._log.error("stalled", stage=name, seconds=round(silent_s))
                    raise Stuck
            elif silent:
                if self._down.get(silent, (0, ""))[1] == SILENT:
                    self._back(silent)
                silent = ""

    def _backoff(self) -> Backoff:
        """Pauses between the attempts of one outage."""
        worker = self._settings.worker
        return Backoff(worker.retry_backoff_min_s, worker.retry_backoff_max_s)

    async def _ask(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Call a store in a thread, noting since when it has been asked."""
        key = object()
        self._asked[key] = time.monotonic()
        try:
            return await asyncio.to_thread(call, *arguments)
        finally:
            del self._asked[key]

    def _gone(self, name: str, code: str) -> None:
        """Log once that a dependency is down."""
        if self._mark(name, up=False, code=code):
            self._log.warning("dependency_down", stage=name, code=code)

    def _back(self, name: str) -> None:
        """Log once that it is back."""
        if self._mark(name, up=True):
            self._log.info("dependency_up", stage=name)

    def _mark(self, name: str, *, up: bool, code: str = "") -> bool:
        """Record the state of a dependency; return whether it changed."""
        news = (name in self._down) is up
        self._counts.dependency(name, up)
        if up:
            self._down.pop(name, None)
        elif news:
            self._down[name] = (time.monotonic(), code)
        return news


def _gone_for(what: str, seconds: float, code: str) -> str:
    """Why a dependency keeps a service from being ready."""
    return f"the disk of {what} has been full for {seconds:.0f} s ({code})" if code in DISK_FULL else f"{what} has not answered for {seconds:.0f} s ({code})"
