"""Runs an application under uvicorn in a task of the caller's event loop.

Workers do not use it for their pages (`streams/process/pages.py`): starlette and uvicorn would add 150 ms of processor time (20 %) and 5 MiB (10 %) to the
start of each, and their pages must answer from a thread even while the event loop is stuck.
"""

import asyncio
import contextlib
import logging
import os
import socket
import struct
from collections.abc import Iterator
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp, Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from touchstone.ops.web.streams import Write
from touchstone.scorers.base import ConfigError

#: struct linger: on, for no time.
RESET_AT_CLOSE = struct.pack("ii", 1, 0)
#: Time for running requests at shutdown.
DRAIN_S = 5
#: A message of a WebSocket client: a token, a ticket, or nothing.
MESSAGE_BYTES_MAX = 16_384
#: Requests at a time besides streams.
REQUESTS_MAX = 256


#: A request must be complete within this time; its response may take any time.
REQUEST_S = 10.0


class _Protocol(H11Protocol):
    """Ends a connection whose request takes too long to arrive. uvicorn waits for ever, so that a few hundred half requests would block all other clients."""

    _impatience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limit of the first request."""
        super().connection_made(transport)
        self._impatience = self.loop.call_later(REQUEST_S, self._end)

    def data_received(self, data: bytes) -> None:
        """Start the time limit of a further request at its first byte, and of a body that still comes though it was answered.

        Between requests, uvicorn limits how long a connection may be idle.
        """
        super().data_received(data)
        is_coming = self.cycle is None or (self.cycle.response_complete and (self.conn.trailing_data[0] or self.conn.their_state is h11.SEND_BODY))
        if is_coming and self._impatience is None:
            self._impatience = self.loop.call_later(REQUEST_S, self._end)
        elif not is_coming:
            self._forget()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time limit."""
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
    """A server that leaves signals to its owner."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle no signal."""
        yield


class WebServer:
    """An HTTP server. `connections_max`: open at a time; further ones get 503. `section`: of the settings, for messages."""

    def __init__(self, host: str, port: int, connections_max: int, section: str) -> None:
        self._host = host
        self._port = port
        self._connections_max = connections_max
        self._section = section
        self._server: _Server | None = None
        self._socket: socket.socket | None = None
        self._serving: asyncio.Task[None] | None = None

    def listen(self) -> str:
        """Bind the port; returns the address as `http://host:port`. Raises `ConfigError` if the port is not available."""
        host, port, section = self._host, self._port, self._section
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._socket = socket.create_server((host, port), family=family, backlog=2048)
        except (OSError, UnicodeError) as error:  # UnicodeError: not a host name
            code = getattr(error, "errno", None) or 0
            reason = os.strerror(code) if code > 0 else "not a host name"
            raise ConfigError(f"{section}.host/{section}.port: cannot listen on {host}:{port} ({reason}); choose another port, or 0 for a free one") from None
        self._socket.setblocking(False)
        return f"http://{f'[{host}]' if ':' in host else host}:{self._socket.getsockname()[1]}"

    async def start(self, app: ASGIApp) -> None:
        """Serve the application, in a task of its own."""
        assert self._socket is not None
        # The guard logs what goes wrong with a request, without its text.
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
        """End the connection of a request at once. Closing it in order would wait for a client that does not read."""
        connection = self._connection(scope)
        if connection is not None:
            # Without this the kernel keeps the unsent bytes, some MiB, and goes on offering them to the client.
            connection.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
            connection.transport.abort()

    def direct_writer(self, scope: Scope) -> Write | None:
        """A function that writes pieces of a response, once that has begun, as HTTP chunks to its connection.

        ASGI and h11 copy each piece twice and cost several times as much, which matters with hundreds of streams. None for HTTP/1.0, which has no chunks.
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
        """The connection of a request; None if it has ended."""
        client = tuple(scope.get("client") or ())
        open_ones = self._server.server_state.connections if self._server is not None else ()
        return next((connection for connection in list(open_ones) if getattr(connection, "client", None) == client), None)

    async def stop(self) -> None:
        """Accept no more requests, and wait up to `DRAIN_S` for running ones."""
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            await asyncio.gather(self._serving, return_exceptions=True)
        elif self._socket is not None:
            self._socket.close()
