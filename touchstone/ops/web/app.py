"""The application: addresses, authentication, and streams."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus

import orjson
from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket, WebSocketDisconnect

from touchstone.ops.web.access import Access, Grant
from touchstone.ops.web.api.api import endpoints, open_sources
from touchstone.ops.web.api.calls import Desk, EncodedRoute
from touchstone.ops.web.api.link_grants import LinkGrants
from touchstone.ops.web.api.sources import Sources
from touchstone.ops.web.documents import METRICS, OPENAPI, Documents
from touchstone.ops.web.guard import DEFECT, Guard
from touchstone.ops.web.known_names import checked
from touchstone.ops.web.links import Signer
from touchstone.ops.web.page import PAGES, load_page
from touchstone.ops.web.query import BadRequest, MissingScope, UnknownClient, check_names, check_scope, read_wish
from touchstone.ops.web.service import Handler, Json, Service, refused
from touchstone.ops.web.streams import CLOSE_QUERY, CLOSE_TOKEN, HELLO_S, EventStream, close_reason, counted, run_socket

RETRY_AFTER_S = 5
#: Sockets that have not authenticated yet.
UNKNOWN_MAX = 64
BAD_TICKET = "the ticket was used, has expired or is of another service; POST /v1/ticket gives a new one"
UNKNOWN_TEXT = "the first message has no token of this service; send one of serve.tokens, or a ticket of POST /v1/ticket"


class WholeConvertor(Convertor[str]):
    """The rest of a path, whatever it contains. Ids may have slashes and line ends, percent-encoded, which are decoded before the routes see them."""

    regex = r"[\s\S]+"

    def convert(self, value: str) -> str:
        """The text itself."""
        return value

    def to_string(self, value: str) -> str:
        """The text itself."""
        return value


register_url_convertor("whole", WholeConvertor())


def make_app(service: Service, clock: Callable[[], float] = time.time) -> ASGIApp:
    """The ASGI application."""
    serve = service.settings.serve
    scraper = service.settings.http.token
    access = Access(serve.grants(), serve.ticket_s, clock, scraper=None if scraper is None else scraper.get_secret_value())
    page, policy = load_page()
    api = Api(service, access)

    async def front(_: Request) -> Response:
        return HTMLResponse(page)

    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        fault = service.hub.fault
        if fault is not None and service.hub.progress:
            fault = f"{fault}; {service.hub.progress}"
        return PlainTextResponse("ok\n" if fault is None else f"{fault}\n", 200 if fault is None else 503)

    async def nothing(_: Request) -> Response:
        return Response(status_code=204)

    routes = [
        *(Route(path.replace("{id}", "{id:whole}"), front) for path in PAGES),
        Route("/favicon.ico", nothing),
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        Route("/v1/events", api.events),
        WebSocketRoute("/v1/ws", api.socket),
        Route("/v1/ticket", api.ticket, methods=["POST"]),
    ]
    routes += [
        Route(path.replace("{id}", "{id:whole}"), api.with_grant(handler, for_scraper=path == METRICS, scope=None if path == OPENAPI else "results"))
        for path, handler in Documents(service, clock).handlers.items()
    ]
    sources = Sources(service.open_sources or partial(open_sources, service.settings), service.suites)
    signer = Signer(serve.grants())
    desk = Desk(LinkGrants(sources, signer, clock).grant)
    of_api = list(endpoints(sources, service.settings, signer, clock))
    for one in of_api:
        allowed = {other.method for other in of_api if other.path == one.path}
        routes.append(EncodedRoute(one.path, api.with_grant(desk.handler(one), scope=None, for_links=one.for_links), methods=[one.method], allowed=allowed))
    inner: ASGIApp = Starlette(routes=routes, exception_handlers={HTTPException: _as_json, Exception: _as_defect})
    if serve.cors_origins:
        names = ["Authorization", "Content-Type", "If-Match", "Last-Event-ID", "Cache-Control"]
        inner = CORSMiddleware(
            inner,
            allow_origins=list(serve.cors_origins),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=names,
            expose_headers=["Retry-After", "ETag"],
        )
    return Guard(inner, serve, service.hub.counts, policy)


async def _as_json(request: Request, error: Exception) -> Response:
    """Refusals of the router itself: an unknown address or method."""
    assert isinstance(error, HTTPException)
    text = str(error.detail).lower()
    if error.status_code == HTTPStatus.NOT_FOUND:
        in_ids = "; in an id, write / as %2F" if request.url.path.startswith(("/api/", "/v1/")) else ""
        text = f"no such address; /openapi.json lists them{in_ids}"
    elif error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        text = f"this address takes {(error.headers or {}).get('Allow', 'other methods')}"
    return refused(text, error.status_code, error.headers)


async def _as_defect(_: Request, __: Exception) -> Response:
    """The response of a request that met a defect; the guard logs it."""
    return refused(DEFECT, 500)


class Api:
    """Authentication, and the streams."""

    def __init__(self, service: Service, access: Access) -> None:
        self._service = service
        self._hub = service.hub
        self._access = access
        self._unknown = 0

    def with_grant(
        self, handler: Handler, *, for_scraper: bool = False, for_links: bool = False, scope: str | None
    ) -> Callable[[Request], Awaitable[Response]]:
        """A handler behind a token that has a scope (None: any token). Mistakes in a request are reported in one line.

        `for_scraper`: accept the scraper's token, too, which has no scope. `for_links`: accept a link to a queue, which the handler checks.
        """

        async def endpoint(request: Request) -> Response:
            header = request.headers.get("authorization")
            grant = self._access.by_header(header)
            if grant is None:
                scraper = self._access.by_scraper(header) if for_scraper else None
                return self._unknown_client(request) if scraper is None else await handler(request, scraper)
            if grant.link and not for_links:
                return refused("this link opens one queue and nothing else; its page is /review", 403)
            try:
                if scope is not None:
                    check_scope(grant, scope)
                return await handler(request, grant)
            except BadRequest as error:
                return refused(str(error), error.status)

        return endpoint

    def _unknown_client(self, client: HTTPConnection) -> Response:
        self._hub.counts.refused("token")
        why = "a bearer token is required"
        if "authorization" in client.headers:
            why = "the Authorization header has no token of this service; send Bearer and one of serve.tokens"
        elif "ticket" in client.query_params:
            why = BAD_TICKET
        return refused(why, 401, {"WWW-Authenticate": "Bearer"})

    def _full(self) -> Response | None:
        if self._hub.counts.clients < self._hub.settings.clients_max:
            return None
        self._hub.counts.refused("full")
        return refused("the service has as many clients as it may (serve.clients_max); try again later", 503, {"Retry-After": str(RETRY_AFTER_S)})

    async def events(self, request: Request) -> Response:
        """GET /v1/events."""
        grant = self._access.by_header(request.headers.get("authorization")) or self._access.by_ticket(request.query_params.get("ticket"))
        if grant is None:
            return self._unknown_client(request)
        try:
            check_scope(grant, "results")
            wish = checked(read_wish(request.query_params, request.headers.get("last-event-id"), grant), grant, self._service)
        except BadRequest as error:
            return refused(str(error), error.status)
        write = self._service.direct_writer(request.scope)
        return self._full() or EventStream(self._hub, self._service.past, wish, self._service.abort, write, has_text=grant.may("text"))

    async def socket(self, socket: WebSocket) -> None:
        """GET /v1/ws."""
        if (full := self._full()) is not None:
            await socket.send_denial_response(full)
            return
        with counted(self._hub, "websocket"):
            grant = self._access.by_header(socket.headers.get("authorization")) or self._access.by_ticket(socket.query_params.get("ticket"))
            try:
                if grant is not None:
                    check_scope(grant, "results")
                wish = read_wish(socket.query_params, None, grant or Grant(frozenset()))
                wish = checked(wish, grant, self._service) if grant is not None else wish
            except BadRequest as error:
                await socket.send_denial_response(refused(str(error), error.status))
                return
            if grant is None and self._unknown >= UNKNOWN_MAX:
                await socket.send_denial_response(self._unknown_client(socket))
                return
            await socket.accept()
            if grant is None:
                try:
                    grant = await self._first_message(socket)
                    check_scope(grant, "results")
                    wish = checked(read_wish(socket.query_params, None, grant), grant, self._service)
                except BadRequest as error:
                    await self._close(socket, error)
                    return
            try:
                await run_socket(socket, self._hub, self._service.past, wish, has_text=grant.may("text"))
            except TimeoutError:
                self._hub.counts.stalled()
                self._service.abort(socket.scope)

    async def _close(self, socket: WebSocket, error: BadRequest) -> None:
        """Close an accepted WebSocket whose first message, or whose query, cannot be used."""
        is_query = not isinstance(error, UnknownClient | MissingScope)
        if not is_query:
            self._hub.counts.refused("token")
        with suppress(WebSocketDisconnect, RuntimeError):  # it has disconnected, or its message was too long
            await socket.close(CLOSE_QUERY if is_query else CLOSE_TOKEN, close_reason(str(error)))

    async def _first_message(self, socket: WebSocket) -> Grant:
        """The grant of a client's first message: a token or a ticket, plain or as JSON. Raises `UnknownClient`."""
        self._unknown += 1
        try:
            async with asyncio.timeout(HELLO_S):
                text = await socket.receive_text()
        except TimeoutError:
            raise UnknownClient(f"no message came within {HELLO_S:g} s; send a token of serve.tokens, or a ticket of POST /v1/ticket") from None
        except (WebSocketDisconnect, KeyError):
            raise UnknownClient("the first message must be text: a token of serve.tokens, or a ticket of POST /v1/ticket") from None
        finally:
            self._unknown -= 1
        try:
            given = orjson.loads(text)
        except orjson.JSONDecodeError:
            given = text
        is_ticket = isinstance(given, dict) and "ticket" in given
        if isinstance(given, dict):
            given = given.get("token") or given.get("ticket")
        grant = self._access.by_token(given) if isinstance(given, str) else None
        if grant is None:
            raise UnknownClient(BAD_TICKET if is_ticket else UNKNOWN_TEXT)
        return grant

    async def ticket(self, request: Request) -> Response:
        """POST /v1/ticket."""
        try:
            check_names(request.query_params, frozenset())
        except BadRequest as error:
            return refused(str(error), 400)
        ticket = self._access.ticket(request.headers.get("authorization"))
        if ticket is None:
            return self._unknown_client(request)
        return Json({"ticket": ticket, "expires_in_s": self._hub.settings.ticket_s})
