"""Runs the application under uvicorn, beside the reader, until a signal."""

import asyncio
import contextlib
import logging
import socket
import struct
from collections.abc import Iterator
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from touchstone.ops.web.streams import Write
from touchstone.scorers.base import ConfigError

#: struct linger: on, for no time.
RESET_AT_CLOSE = struct.pack("ii", 1, 0)
#: After the streams have been told that it is over.
DRAIN_S = 5
#: A message of a WebSocket client: a token, a ticket, or nothing.
MESSAGE_BYTES_MAX = 16_384
#: Requests at a time besides streams.
REQUESTS_MAX = 256


#: A request has to be complete after this time; its answer may take as long as it likes.
REQUEST_S = 10.0


class _Protocol(H11Protocol):
    """A connection that ends when a request is too long in coming: uvicorn waits for ever, and some hundred of half requests would keep everybody out."""

    _impatience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The time of the first request runs from here on."""
        super().connection_made(transport)
        self._impatience = self.loop.call_later(REQUEST_S, self._end)

    def data_received(self, data: bytes) -> None:
        """That of a further one runs from its first byte; between two the connection may be idle as long as uvicorn says."""
        super().data_received(data)
        is_coming = self.cycle is None or (self.cycle.response_complete and self.conn.trailing_data[0])
        if is_coming and self._impatience is None:
            self._impatience = self.loop.call_later(REQUEST_S, self._end)
        elif not is_coming:
            self._forget()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for."""
        self._forget()
        super().connection_lost(exc)

    def _forget(self) -> None:
        if self._impatience is not None:
            self._impatience.cancel()
            self._impatience = None

    def _end(self) -> None:
        self._impatience = None
        if self in self.connections:  # a WebSocket has left them
            self.transport.abort()


class _Server(uvicorn.Server):
    """A server whose signals are its owner's business."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take no signal."""
        yield


class WebServer:
    """The HTTP side of a process. `connections_max`: open at a time, one more is answered with 503. `section`: of the settings, for messages."""

    def __init__(self, host: str, port: int, connections_max: int, section: str) -> None:
        self._host = host
        self._port = port
        self._connections_max = connections_max
        self._section = section
        self._server: _Server | None = None
        self._socket: socket.socket | None = None
        self._serving: asyncio.Task[None] | None = None

    def listen(self) -> str:
        """Take the port; return the address as `http://host:port`. Raises `ConfigError` where it cannot be had."""
        host, port, section = self._host, self._port, self._section
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._socket = socket.create_server((host, port), family=family, backlog=2048)
        except (OSError, UnicodeError) as error:  # UnicodeError: no host name can be made of it
            reason = getattr(error, "strerror", None) or "not a host name"
            raise ConfigError(f"{section}.host/{section}.port: cannot listen on {host}:{port} ({reason}); choose another port, or 0 for a free one") from None
        self._socket.setblocking(False)
        return f"http://{f'[{host}]' if ':' in host else host}:{self._socket.getsockname()[1]}"

    async def start(self, app: ASGIApp) -> None:
        """Serve the application, in a task of its own."""
        assert self._socket is not None
        # What goes wrong with a request is logged by the guard, without its text.
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        config = uvicorn.Config(
            app,
            http=_Protocol,
            ws="websockets-sansio",
            ws_max_size=MESSAGE_BYTES_MAX,
            ws_per_message_deflate=False,
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=self._connections_max,
            timeout_graceful_shutdown=DRAIN_S,
        )
        self._server = _Server(config)
        self._serving = asyncio.create_task(self._server.serve([self._socket]))
        while not self._server.started and not self._serving.done():  # noqa: ASYNC110 -- uvicorn has a flag and no event
            await asyncio.sleep(0.01)

    def abort(self, scope: Scope) -> None:
        """End the connection of a request at once: closing it in order would wait for a client that takes nothing."""
        connection = self._connection(scope)
        if connection is not None:
            # Without this the kernel keeps what it holds for the client, some MiB, and goes on offering it.
            connection.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
            connection.transport.abort()

    def straight(self, scope: Scope) -> Write | None:
        """What writes pieces of a request's answer, once that has begun, as HTTP chunks straight to its connection.

        The way through ASGI and h11 copies a piece twice and costs several times what the bytes cost; for hundreds of streams that decides.
        None where there are no chunks (HTTP/1.0).
        """
        connection = self._connection(scope)
        if connection is None or scope.get("http_version") != "1.1":
            return None
        transport, flow = connection.transport, connection.flow

        def write(body: bytes) -> bool:
            if flow.write_paused or transport.is_closing():
                return False
            transport.writelines((b"%x\r\n" % len(body), body, b"\r\n"))
            return True

        return write

    def _connection(self, scope: Scope) -> Any:
        """The connection of a request; None where it is gone."""
        client = tuple(scope.get("client") or ())
        open_ones = self._server.server_state.connections if self._server is not None else ()
        return next((connection for connection in list(open_ones) if getattr(connection, "client", None) == client), None)

    async def stop(self) -> None:
        """Take no more requests, and wait a little for those that run."""
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            await asyncio.gather(self._serving, return_exceptions=True)
        elif self._socket is not None:
            self._socket.close()
