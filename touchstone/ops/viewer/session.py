"""A viewer's process: the page over a folder's store and archive, and the reading of the traces beside it. No Kafka is asked for anything."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn

from touchstone.ops.store.archive.archive import Archive, open_archive
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.history import History
from touchstone.ops.store.results import ResultStore
from touchstone.ops.viewer.loading import Loaded, Loader, steps
from touchstone.ops.viewer.places import TracePlace
from touchstone.ops.web.api.sources import Opened
from touchstone.ops.web.app import make_app
from touchstone.ops.web.server import REQUESTS_MAX, WebServer
from touchstone.ops.web.service import FilesRead, Service
from touchstone.schemas.settings.house import Settings
from touchstone.scorers.base import ConfigError
from touchstone.scorers.process import calm_collector
from touchstone.scorers.registry import load_suite, usable_suites
from touchstone.scorers.scoring import Scoring
from touchstone.scorers.suite import Suite
from touchstone.scorers.suite_settings import suite_settings
from touchstone.streams.subscription.events import EventReader
from touchstone.streams.subscription.hub import Hub
from touchstone.streams.subscription.past import Past
from touchstone.streams.telemetry.metrics import CollectorRegistry
from touchstone.streams.telemetry.serve_counts import ServeCounts

#: The page is announced when all traces are read, or after this time: what is still to be read appears while people read.
PATIENCE_S: Final = 5.0
#: After the streams have been closed, clients have this long to disconnect.
FAREWELL_S: Final = 1.0
#: What suites read from the topic of traces.
_TRACES: Final = "traces"


def scorings(names: Sequence[str], tell: Callable[[str], None]) -> list[Scoring]:
    """The suites that score traces here, opened: those named, else all that need no judge. Raises `ConfigError`."""
    chosen: Mapping[str, Suite] = {name: load_suite(name) for name in names} or {
        name: suite for name, suite in usable_suites().items() if _TRACES in suite.topics
    }
    found = []
    for name, suite in chosen.items():
        settings = suite_settings(suite)
        if not names and suite.asks_judge(settings):
            tell(f"{name} asks a judge by its settings, which costs time and money: not scored here; name it with --suite {name} to have it scored")
        else:
            found.append(Scoring(suite, settings))
    if not found:
        raise ConfigError("no suite here scores traces; install one (touchstone doctor lists them), or name one with --suite")
    return found


class Session:
    """One viewer. `start`, then `run`. `tell`: says a line to whoever started it."""

    def __init__(self, settings: Settings, place: TracePlace, suites: Sequence[str], tell: Callable[[str], None]) -> None:
        self._settings = settings
        self._place = place
        self._suites = suites
        self._tell = tell
        registry = CollectorRegistry()
        self._hub = Hub(settings.serve, ServeCounts(registry))
        self._server = WebServer(settings.serve.host, settings.serve.port, settings.serve.clients_max + REQUESTS_MAX, "serve")
        installed = usable_suites()
        past = Past(settings, EventReader(settings.topics, installed), _no_topics)
        self.files = FilesRead()
        self._service = Service(
            settings, self._hub, past, installed, registry, abort=self._server.abort, direct_writer=self._server.direct_writer, files=self.files
        )
        self._store: ResultStore | None = None
        self._scorings: list[Scoring] = []

    async def start(self) -> tuple[str, list[str]]:
        """Take the port, open the store, and look what there is to read; returns the page's address and the names. Raises `ConfigError`."""
        address = self._server.listen()
        names = await asyncio.to_thread(self._place.names)
        self._scorings = await asyncio.to_thread(scorings, self._suites, self._tell)
        self._store = store = await asyncio.to_thread(ResultStore.open, self._settings.store.url.get_secret_value(), create=True)
        index = CaseIndex(store.engine)
        archive = open_archive(self._settings.archive, index)
        self._service.open_sources = lambda: Opened(History(store.engine), index, lambda: archive)
        self._archive: Archive = archive
        self._hub.online()
        await self._server.start(make_app(self._service))
        return address, names

    async def run(self, names: Sequence[str], beside: Path | None, stop: asyncio.Event, opened: Callable[[Loaded], Any], told: Callable[[int], Any]) -> None:
        """Read the traces and serve until `stop`. `beside`: a file of annotations. `opened`: called once, when there is something to look at.

        `told`: called with the number of files that have been read.
        """
        loader = Loader(self._place, self._archive, self._scorings)
        ticking = asyncio.create_task(self._hub.tick())
        reading = asyncio.create_task(self._load(loader, names, beside, told))
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({reading, stopping}, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
            if not stop.is_set():
                opened(loader.loaded)
                await asyncio.wait({reading, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if reading.done():
                    reading.result()  # a fault of the store ends the command
                await stopping
        finally:
            for task in (reading, ticking, stopping):
                task.cancel()
            await asyncio.gather(reading, ticking, stopping, return_exceptions=True)
            await self.close()

    async def close(self) -> None:
        """Close the streams, the server and the store."""
        self._hub.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL_S):
                while self._hub.counts.clients:  # noqa: ASYNC110 -- at the end only, for a moment
                    await asyncio.sleep(0.02)
        await self._server.stop()
        await asyncio.gather(*(one.close() for one in self._scorings))
        if self._store is not None:
            await asyncio.to_thread(self._store.close)

    async def _load(self, loader: Loader, names: Sequence[str], beside: Path | None, told: Callable[[int], Any]) -> None:
        self.files.to_read = len(names)
        calm_collector()
        begun, said = time.monotonic(), 0
        for part in steps(names):
            await loader.step(part)
            self.files.read += len(part)
            told(self.files.read)
            said = self._tell_new(loader.loaded, said)
        await asyncio.to_thread(loader.take_annotations, beside)
        self._tell_new(loader.loaded, said)
        self.files.to_read = None
        loaded = loader.loaded
        self._tell(
            f"{loaded.traces:,} traces read in {time.monotonic() - begun:.1f} s: {loaded.scored:,} results new, {loaded.annotations:,} annotations taken over"
        )

    def _tell_new(self, loaded: Loaded, said: int) -> int:
        for line in loaded.problems[said:]:
            self._tell(line)
        return len(loaded.problems)


async def _no_topics() -> NoReturn:
    """Nothing is on a topic here; raises as a broker that is away."""
    raise OSError
