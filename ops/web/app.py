"""The application: every address, what it needs, and what it answers."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket, WebSocketDisconnect

from touchstone.ops.web import cases
from touchstone.ops.web.access import Access, Grant
from touchstone.ops.web.asking import LIMIT_MAX, MINUTES_MAX, NAME_CHARS_MAX, BadRequest, asked_filter, asked_wish, number
from touchstone.ops.web.guard import Guard
from touchstone.ops.web.openapi import openapi
from touchstone.ops.web.page import load_page
from touchstone.ops.web.streams import CLOSE_TOKEN, HELLO_S, Abort, EventStream, counted, run_socket
from touchstone.ops.web.suites import suite_or_stand_in, told
from touchstone.ops.web.summary import MINUTE_MS, suite_summaries, utc
from touchstone.schemas.settings.house import Settings
from touchstone.scorers.base import Suite
from touchstone.streams.subscription.events import Filter
from touchstone.streams.subscription.hub import Hub
from touchstone.streams.subscription.past import Past
from touchstone.streams.telemetry.serve_counts import CONTENT_TYPE, exposition

RETRY_AFTER_S = 5
#: A summary is made at most this often for clients that ask for the same.
SUMMARY_AGE_S = 1.0
MINUTES = 15

Handler = Callable[[Request, Grant], Awaitable[Response]]


@dataclass(slots=True)
class Service:
    """What the addresses are about. `lag`: suite → what is known of its workers. `registry`: the metrics. `abort`: ends a connection."""

    settings: Settings
    hub: Hub
    past: Past
    suites: Mapping[str, Suite]
    registry: Any
    lag: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    abort: Abort = lambda _: None


class Json(Response):
    """JSON by orjson; a number that JSON does not have becomes null."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes."""
        return orjson.dumps(content)


def make_app(service: Service, clock: Callable[[], float] = time.time) -> ASGIApp:
    """The ASGI application."""
    serve = service.settings.serve
    access = Access(serve.grants(), serve.ticket_s, clock)
    page, policy = load_page()
    api = Api(service, access, clock)

    async def front(_: Request) -> Response:
        return HTMLResponse(page)

    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        fault = service.hub.fault
        return PlainTextResponse("ok\n" if fault is None else f"{fault}\n", 200 if fault is None else 503)

    async def nothing(_: Request) -> Response:
        return Response(status_code=204)

    routes = [
        Route("/", front),
        Route("/favicon.ico", nothing),
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        Route("/v1/events", api.events),
        WebSocketRoute("/v1/ws", api.socket),
        Route("/v1/ticket", api.ticket, methods=["POST"]),
    ]
    routes += [Route(path, api.with_grant(handler)) for path, handler in api.documents.items()]
    inner: ASGIApp = Starlette(routes=routes, exception_handlers={HTTPException: _told_in_json})
    if serve.cors_origins:
        names = ["Authorization", "Last-Event-ID", "Cache-Control"]
        inner = CORSMiddleware(
            inner, allow_origins=list(serve.cors_origins), allow_methods=["GET", "POST"], allow_headers=names, expose_headers=["Retry-After"]
        )
    return Guard(inner, serve, service.hub.counts, policy)


async def _told_in_json(_: Request, error: Exception) -> Response:
    """What the router itself refuses: an unknown address or a method."""
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": str(error.detail).lower()}, error.status_code, headers=error.headers)


class Api:
    """The addresses below /v1, and those for programs."""

    def __init__(self, service: Service, access: Access, clock: Callable[[], float]) -> None:
        self._service = service
        self._hub = service.hub
        self._access = access
        self._clock = clock
        self._summaries: dict[tuple[Any, ...], tuple[float, bytes]] = {}
        self._summing = asyncio.Lock()
        self.documents: Mapping[str, Handler] = {
            "/v1/summary": self._summary,
            "/v1/results": self._results,
            "/v1/results/{id}": self._result,
            "/v1/batches": self._batches,
            "/v1/batches/{id}": self._batch,
            "/v1/suites": self._suites,
            "/metrics": self._metrics,
            "/openapi.json": self._openapi,
            "/asyncapi.json": self._asyncapi,
        }

    def with_grant(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        """An address that needs a token, and says in one line what is wrong with a request."""

        async def endpoint(request: Request) -> Response:
            grant = self._access.by_header(request.headers.get("authorization"))
            if grant is None:
                return self._unknown_client()
            try:
                return await handler(request, grant)
            except BadRequest as error:
                return JSONResponse({"error": str(error)}, 400)

        return endpoint

    def _unknown_client(self) -> Response:
        self._hub.counts.refused("token")
        return JSONResponse({"error": "a bearer token is required"}, 401, {"WWW-Authenticate": "Bearer"})

    def _full(self) -> Response | None:
        if self._hub.counts.clients < self._hub.settings.clients_max:
            return None
        self._hub.counts.refused("full")
        return JSONResponse({"error": "no more clients are taken now; try again later"}, 503, {"Retry-After": str(RETRY_AFTER_S)})

    # -- streams

    async def events(self, request: Request) -> Response:
        """GET /v1/events."""
        grant = self._access.by_header(request.headers.get("authorization")) or self._access.by_ticket(request.query_params.get("ticket"))
        if grant is None:
            return self._unknown_client()
        try:
            wish = asked_wish(request.query_params, request.headers.get("last-event-id"), grant)
        except BadRequest as error:
            return JSONResponse({"error": str(error)}, 400)
        return self._full() or EventStream(self._hub, self._service.past, wish, self._service.abort)

    async def socket(self, socket: WebSocket) -> None:
        """GET /v1/ws."""
        if (full := self._full()) is not None:
            await socket.send_denial_response(full)
            return
        with counted(self._hub, "websocket"):
            grant = self._access.by_header(socket.headers.get("authorization")) or self._access.by_ticket(socket.query_params.get("ticket"))
            try:
                wish = asked_wish(socket.query_params, None, grant or Grant(frozenset()))
            except BadRequest as error:
                await socket.send_denial_response(JSONResponse({"error": str(error)}, 400))
                return
            await socket.accept()
            grant = grant or await self._introduced(socket)
            if grant is None:
                self._hub.counts.refused("token")
                await socket.close(CLOSE_TOKEN, "a token or a ticket is required, as the first message")
                return
            wish = asked_wish(socket.query_params, None, grant)
            try:
                await run_socket(socket, self._hub, self._service.past, wish)
            except TimeoutError:
                self._hub.counts.stalled()
                self._service.abort(socket.scope)

    async def _introduced(self, socket: WebSocket) -> Grant | None:
        """What the first message of a client grants: a token or a ticket, plain or as JSON."""
        try:
            async with asyncio.timeout(HELLO_S):
                text = await socket.receive_text()
        except (TimeoutError, WebSocketDisconnect, KeyError):
            return None
        try:
            told_as = orjson.loads(text)
        except orjson.JSONDecodeError:
            told_as = text
        if isinstance(told_as, dict):
            told_as = told_as.get("token") or told_as.get("ticket")
        return self._access.by_token(told_as) if isinstance(told_as, str) else None

    async def ticket(self, request: Request) -> Response:
        """POST /v1/ticket."""
        ticket = self._access.ticket(request.headers.get("authorization"))
        if ticket is None:
            return self._unknown_client()
        return Json({"ticket": ticket, "expires_in_s": self._hub.settings.ticket_s})

    # -- documents

    async def _summary(self, request: Request, grant: Grant) -> Response:
        query = request.query_params
        chosen = asked_filter(query, grant, known=frozenset({"minutes"}))
        minutes = number(query, "minutes", default=MINUTES, least=1, most=MINUTES_MAX)
        key = (chosen, minutes)
        async with self._summing:
            made_at, body = self._summaries.get(key, (-SUMMARY_AGE_S, b""))
            if time.monotonic() - made_at >= SUMMARY_AGE_S:
                now = self._clock()
                since_ms = now * 1000 - minutes * MINUTE_MS
                events = [seen.event for seen in self._hub.window.current(since_ms, chosen.admits)]
                outcomes = [one for one in self._hub.window.outcomes if grant.sees(one.suite) and (not chosen.suites or one.suite in chosen.suites)]
                names = [name for name in self._service.suites if grant.sees(name) and (not chosen.suites or name in chosen.suites)]
                suites = await asyncio.to_thread(suite_summaries, events, outcomes, self._service.suites, now_ms=int(now * 1000), minutes=minutes, names=names)
                body = orjson.dumps(self._summed(suites, minutes, now, since_ms))
                if len(self._summaries) > 100:
                    self._summaries.clear()
                self._summaries[key] = (time.monotonic(), body)
        return Response(body, media_type="application/json")

    def _summed(self, suites: list[dict[str, Any]], minutes: int, now: float, since_ms: float) -> dict[str, Any]:
        """The summary around the suites'."""
        hub = self._hub
        oldest = next(iter(hub.window.page(hub.window.first, 1)), None)
        first_ms = oldest.event.at_ms if oldest is not None else None
        is_away = hub.fault is not None
        for suite in suites:
            suite["lag"] = self._service.lag.get(suite["suite"])
        return {
            "now": utc(now * 1000),
            "started_at": utc(hub.started_at * 1000),
            "minutes": minutes,
            "position": hub.id,
            "connection": {
                "state": "away" if is_away else "live",
                "reason": hub.fault,
                "since": utc(hub.fault_since * 1000) if is_away else None,
                "lag_records": None if is_away else hub.counts.unread,
            },
            # The window is whole where nothing has left it: then there simply was no more.
            "window": {
                "events": len(hub.window),
                "first_at": utc(first_ms) if first_ms is not None else None,
                "is_whole": not hub.window.is_cut or (first_ms is not None and first_ms <= since_ms),
            },
            "per_second": sum(suite["per_second"] for suite in suites),
            "dead_letters": sum(suite["dead_letters"] for suite in suites),
            "clients": hub.counts.clients,
            "suites": suites,
        }

    async def _results(self, request: Request, grant: Grant) -> Response:
        query = request.query_params
        chosen = asked_filter(query, grant, known=frozenset({"limit", "minutes"}))
        limit = number(query, "limit", default=50, least=1, most=LIMIT_MAX)
        minutes = number(query, "minutes", default=60, least=1, most=MINUTES_MAX)
        found = self._hub.window.current(self._clock() * 1000 - minutes * MINUTE_MS, chosen.admits)
        return Json({"results": await asyncio.to_thread(cases.worst, found, self._service.suites, limit)})

    async def _result(self, request: Request, grant: Grant) -> Response:
        topic = self._service.settings.topics.results
        found = cases.found_result(self._hub.window, _id(request), grant, self._service.suites, topic)
        return Json(found) if found is not None else _missing("result")

    async def _batches(self, request: Request, grant: Grant) -> Response:
        chosen = asked_filter(request.query_params, grant, known=frozenset({"limit"}))
        limit = number(request.query_params, "limit", default=50, least=1, most=LIMIT_MAX)
        return Json({"batches": cases.batches(self._hub.window, chosen, limit)})

    async def _batch(self, request: Request, grant: Grant) -> Response:
        found = cases.found_batch(self._hub.window, _id(request), grant)
        return Json(found) if found is not None else _missing("batch")

    async def _suites(self, _: Request, grant: Grant) -> Response:
        concerns: defaultdict[str, set[str]] = defaultdict(set)
        everything = Filter(scope=grant.scope)
        for seen in self._hub.window.backwards():
            event = seen.event
            if event.suite is not None and everything.admits(event):
                concerns[event.suite].update([event.concern] if event.concern else [])
        installed = self._service.suites
        names = sorted({name for name in installed if grant.sees(name)} | concerns.keys())
        return Json({"suites": [told(suite_or_stand_in(installed, name), sorted(concerns[name]), installed=name in installed) for name in names]})

    async def _metrics(self, _: Request, __: Grant) -> Response:
        return Response(exposition(self._service.registry), media_type=CONTENT_TYPE)

    async def _openapi(self, _: Request, __: Grant) -> Response:
        return Json(openapi())

    async def _asyncapi(self, _: Request, __: Grant) -> Response:
        try:
            contracts = import_module("touchstone.ops.contracts")
            document = contracts.asyncapi()
        except (ImportError, AttributeError):
            return JSONResponse({"error": "this installation has no AsyncAPI document"}, 404)
        return Json(document)


def _id(request: Request) -> str:
    """The id in the address. Raises `BadRequest`."""
    found = str(request.path_params["id"])
    if len(found) > NAME_CHARS_MAX:
        raise BadRequest(f"an id has at most {NAME_CHARS_MAX} characters")
    return found


def _missing(what: str) -> Response:
    return JSONResponse({"error": f"no such {what} among the latest events; older ones are in the store (touchstone report)"}, 404)
