"""The application on a real port, with a hub that a test feeds itself."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

import httpx
from prometheus_client import CollectorRegistry

from tests.streams.subscription.made import P0, R0, R1, NoKafka
from touchstone.ops.web.app import make_app
from touchstone.ops.web.server import REQUESTS_MAX, WebServer
from touchstone.ops.web.service import Service
from touchstone.schemas.settings.house import ServeSettings, Settings
from touchstone.scorers.reporting.view import Column
from touchstone.scorers.suite import Suite, unknown_suite
from touchstone.streams.subscription.hub import Hub
from touchstone.streams.telemetry.serve_counts import ServeCounts

ALL, ONE, TWO = "all-sees-everything", "one-sees-suite-one", "two-sees-suite-two"
TOKENS = (f"all:{ALL}", f"one:{ONE}", f"two:{TWO}")
NOW = 1_800_000_030.0
WAIT_S = 60


def toy_suite(name: str) -> Suite:
    columns = (Column("score", "Score"), Column("loss", "Loss", "lower", 3))
    return replace(unknown_suite(name, "1.2"), title=f"Suite {name}", columns=columns, metrics=("score", "loss", "third"))


@dataclass
class Served:
    hub: Hub
    address: str
    server: WebServer
    client: httpx.AsyncClient
    service: Service

    def bearer(self, token: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {token}"}

    async def get(self, path: str, token: str | None = None, **headers: str) -> httpx.Response:
        return await self.client.get(path, headers=headers | (self.bearer(token) if token else {}))

    @asynccontextmanager
    async def stream(self, path: str = "/v1/events", token: str | None = None, **headers: str) -> AsyncIterator["Stream"]:
        named = {name.replace("_", "-"): value for name, value in headers.items()} | (self.bearer(token) if token else {})
        async with self.client.stream("GET", path, headers=named) as answer:
            assert answer.status_code == 200, await answer.aread()
            yield Stream(answer)


@asynccontextmanager
async def served(
    *,
    suites: tuple[str, ...] = ("one", "two"),
    past: Any = None,
    house: Settings | None = None,
    writes_directly: bool = True,
    sources: Any = None,
    **settings: Any,
) -> AsyncIterator[Served]:
    """The application on a free port of loopback. `house`: settings beside its own. `writes_directly`: past ASGI, to clients that have read everything.

    `sources`: the opened store and archive of the API.
    """
    serve = ServeSettings(**({"port": 0} | settings))
    registry = CollectorRegistry()
    hub = Hub(serve, ServeCounts(registry))
    hub.begin({R0: 0, R1: 0, P0: 0})
    hub.online()
    server = WebServer(serve.host, serve.port, serve.clients_max + REQUESTS_MAX, "serve")
    service = Service(
        (house or Settings()).model_copy(update={"serve": serve}),
        hub,
        past or NoKafka(),
        {name: toy_suite(name) for name in suites},
        registry,
        abort=server.abort,
        direct_writer=server.direct_writer if writes_directly else lambda _: None,
        open_sources=None if sources is None else lambda: sources,
    )
    address = server.listen()
    await server.start(make_app(service, lambda: NOW))
    async with httpx.AsyncClient(base_url=address, timeout=WAIT_S, trust_env=False) as client:
        try:
            yield Served(hub, address, server, client, service)
        finally:
            hub.close()
            await server.stop()


@dataclass
class Message:
    event: str
    data: Any
    id: str
    raw: str = ""


@dataclass
class Stream:
    """Reads Server-Sent Events as the specification says. `id`: the last event id; `comments`: the comment lines so far."""

    answer: httpx.Response
    id: str = ""
    retry: int | None = None
    comments: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lines = self.answer.aiter_lines()
        self._event, self._data = "message", list[str]()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        async with asyncio.timeout(WAIT_S):
            async for line in self._lines:
                if not line:
                    event, data, self._event, self._data = self._event, self._data, "message", []
                    if data:
                        return Message(event, json.loads("\n".join(data)), self.id, "\n".join(data))
                elif line.startswith(":"):
                    self.comments.append(line[1:].strip())
                else:
                    name, _, value = line.partition(": ")
                    if name == "event":
                        self._event = value
                    elif name == "data":
                        self._data.append(value)
                    elif name == "id":
                        self.id = value
                    elif name == "retry":
                        self.retry = int(value)
        raise StopAsyncIteration


async def until(condition: Any) -> None:
    async with asyncio.timeout(WAIT_S):
        while not condition():  # noqa: ASYNC110 -- what is waited for has no event
            await asyncio.sleep(0.01)
