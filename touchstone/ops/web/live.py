"""Composes the live service: reader, hub and application in one process."""

import asyncio
import difflib
from collections.abc import Collection, Iterator
from contextlib import suppress

import structlog

from touchstone.ops.web.app import make_app
from touchstone.ops.web.server import REQUESTS_MAX, WebServer
from touchstone.ops.web.service import Service
from touchstone.schemas.settings.house import ServeSettings, Settings
from touchstone.scorers.registry import suite_entry_points, usable_suites
from touchstone.streams.subscription.events import EventReader
from touchstone.streams.subscription.hub import Hub
from touchstone.streams.subscription.lag import SuiteLag
from touchstone.streams.subscription.past import Past
from touchstone.streams.subscription.reader import Reader
from touchstone.streams.telemetry.metrics import CollectorRegistry
from touchstone.streams.telemetry.serve_counts import ServeCounts

#: After the streams have been closed, clients have this long to disconnect.
FAREWELL_S = 2.0


def unknown_suites_of_tokens(serve: ServeSettings, installed: Collection[str]) -> Iterator[str]:
    """A line for each suite that a token names and that is not installed here: probably a typing error, though it may run elsewhere.

    The name is not quoted, because it may be a token in the wrong place.
    """
    for place, grant in enumerate(serve.grants(), 1):
        for name in sorted((grant.suites or frozenset()) - set(installed)):
            near = difflib.get_close_matches(name, installed, n=1)
            hint = f"did you mean {near[0]}?" if near else f"installed are {', '.join(sorted(installed)) or 'none'}"
            yield f"serve.tokens: token {place} names a suite that is not installed here; {hint}"


class Live:
    """The service of one process. `start`, then `run`."""

    def __init__(self, settings: Settings) -> None:
        registry = CollectorRegistry()
        suites = usable_suites()
        events = EventReader(settings.topics, suites)
        self.hub = Hub(settings.serve, ServeCounts(registry))
        self._reader = Reader(settings, self.hub, events)
        self._lag = SuiteLag(settings, suites)
        self._server = WebServer(settings.serve.host, settings.serve.port, settings.serve.clients_max + REQUESTS_MAX, "serve")
        past = Past(settings, events, self._reader.bounds)
        self.service = Service(settings, self.hub, past, suites, registry, self._lag.known, self._server.abort, self._server.direct_writer)

    async def start(self) -> str:
        """Serve requests; returns the address. Raises `ConfigError` if the port is not available."""
        for message in unknown_suites_of_tokens(self.service.settings.serve, suite_entry_points()):
            structlog.get_logger("touchstone.serve").warning("token_for_unknown_suite", message=message)
        address = self._server.listen()
        await self._server.start(make_app(self.service))
        return address

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop`. Raises `ConfigError` for what a person must fix."""
        beside = [asyncio.create_task(work) for work in (self.hub.tick(), self._lag.run())]
        try:
            if await self._reader.reach(stop):
                await self._reader.run(stop)
        finally:
            self.hub.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(FAREWELL_S):
                    while self.hub.counts.clients:  # noqa: ASYNC110 -- at the end only, for a moment
                        await asyncio.sleep(0.02)
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            await self._server.stop()
