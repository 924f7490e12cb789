"""A client of one server for event loops. It bounds the size of a response; its callers bound the time, with `asyncio.timeout` around the whole exchange.

It exists because the connection pool below httpx looks at every connection and every waiting request whenever one of them changes: 400 requests in flight cost
16 times as much as 100. This one takes a free connection off a list.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from touchstone.scorers.http.idle import is_readable
from touchstone.scorers.http.requests import Server
from touchstone.scorers.http.responses import ConnectError, ConnectTimeout, HttpError, ReadError, RemoteProtocolError, Response, ResponseReader, tls_mismatch

#: A connection that was idle for longer is not used again, because the server may be closing it at this moment.
IDLE_S: Final = 15.0
CONNECT_S: Final = 10.0


class HttpClient:
    """A client of the server at `url`, for any number of requests at a time. It can be used in one event loop after another.

    `headers`: of every request. `connect_s`: the time limit of a new connection; None: none. `keeps_connections`: use them again; otherwise each request has
    its own. `tls`: makes the context that checks certificates, by default against the system's authorities. Raises `ValueError` for a URL or header that
    cannot be used.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        *,
        bytes_max: int,
        connect_s: float | None = CONNECT_S,
        keeps_connections: bool = True,
        unpacks: bool = True,
        tls: Callable[[], ssl.SSLContext] = ssl.create_default_context,
    ) -> None:
        self._server = Server.of(url, {"User-Agent": "touchstone", "Accept-Encoding": "identity", **(headers or {})})
        self._bytes_max = bytes_max
        self._connect_s = connect_s
        self._keeps_connections = keeps_connections
        self._unpacks = unpacks
        self._tls_context = tls
        self._tls: ssl.SSLContext | None = None
        self._tls_lock = threading.Lock()
        self._idle: list[_Connection] = []
        self._all: set[_Connection] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def send(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None, *, bytes_max: int | None = None) -> Response:
        """The response to one request. `path`: below that of the URL. Raises `HttpError`; of these, `ConnectError` means that nothing was sent."""
        return await self.exchange(self._server.request(method, path, body, headers), bytes_max)

    async def exchange(self, request: bytes, bytes_max: int | None = None) -> Response:
        """As `send`, for a request that is already made."""
        self._forget_other_loops()
        connection = self._idle_connection() or await self._connected()
        try:
            response = await connection.exchange(request, ResponseReader(bytes_max or self._bytes_max, unpacks=self._unpacks))
        except BaseException:
            # The caller is gone or the connection is broken. Nobody waits for what may still arrive.
            connection.abort()
            raise
        if connection.is_reusable and self._keeps_connections:
            connection.idle_since = time.monotonic()
            self._idle.append(connection)
        else:
            connection.abort()
        return response

    async def close(self) -> None:
        """Close all connections."""
        self._forget_other_loops()
        for connection in list(self._all):
            connection.abort()
        self._idle.clear()

    def _forget_other_loops(self) -> None:
        """Drop the connections of another event loop, because an ended loop reads nothing."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop = loop
            self._idle.clear()
            self._all.clear()

    def _idle_connection(self) -> _Connection | None:
        """A connection that can be used at once: the last one used, so that surplus ones grow old."""
        while self._idle:
            connection = self._idle.pop()
            if time.monotonic() - connection.idle_since < IDLE_S and connection.is_quiet:
                return connection
            connection.abort()
        return None

    def _made_tls(self) -> ssl.SSLContext:
        """The context for all connections, made once: hundreds may be opened at the same moment, and loading the authorities takes long."""
        with self._tls_lock:
            if self._tls is None:
                self._tls = self._tls_context()
            return self._tls

    async def _connected(self) -> _Connection:
        """A new connection. Each address of the host gets a share of the time, so that a silent one does not use it up."""
        loop, server = asyncio.get_running_loop(), self._server
        tls: dict[str, Any] = {}
        if server.is_tls:
            tls = {"ssl": self._tls or await asyncio.to_thread(self._made_tls), "server_hostname": server.host}
        try:
            async with asyncio.timeout(self._connect_s):
                found = await loop.getaddrinfo(server.host, server.port, type=socket.SOCK_STREAM)
                addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
                for address in addresses:
                    try:
                        async with asyncio.timeout(None if self._connect_s is None else self._connect_s / len(addresses)):
                            return (await loop.create_connection(lambda: _Connection(self._all), address, server.port, **tls))[1]
                    except (OSError, TimeoutError):
                        if address == addresses[-1]:
                            raise
        except TimeoutError:
            raise ConnectTimeout("not connected in time") from None
        except (OSError, ValueError) as error:
            raise tls_mismatch(error) or ConnectError(f"not connected ({type(error).__name__})") from None
        raise ConnectError("the host has no address")


class _Connection(asyncio.Protocol):
    """One connection, with one request at a time. `is_reusable`: after a response, whether it may carry another request."""

    def __init__(self, among: set[_Connection]) -> None:
        self._among = among
        self._answer: asyncio.Future[Response] | None = None
        self._reader: ResponseReader | None = None
        self.is_lost = False
        self.is_reusable = False
        self.idle_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's class is not derived from it
        self._among.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        self.is_reusable = False
        self._among.discard(self)
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ReadError("the connection broke") if exc else RemoteProtocolError("the server ended the connection"))

    def eof_received(self) -> bool:
        self._deliver(lambda reader: reader.end())
        return False

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():
            self.abort()  # it answers no request of ours, so the next request must not get it
            return
        self._deliver(lambda reader: reader.feed(data))

    async def exchange(self, request: bytes, reader: ResponseReader) -> Response:
        """Send a request and wait for its response."""
        self._answer = asyncio.get_running_loop().create_future()
        self._reader = reader
        self.is_reusable = False
        self._transport.write(request)
        try:
            return await self._answer
        finally:
            self._answer = self._reader = None

    @property
    def is_quiet(self) -> bool:
        """True if the connection is open and has nothing to read. While the event loop was busy, the server may have closed it unnoticed."""
        return not (self.is_lost or self._transport.is_closing() or is_readable(self._transport.get_extra_info("socket")))

    def abort(self) -> None:
        """Close at once."""
        self.is_lost = True
        self.is_reusable = False
        self._transport.abort()

    def _deliver(self, read: Callable[[ResponseReader], Response | None]) -> None:
        """Hand the response to the caller once it is complete."""
        if self._answer is None or self._answer.done() or self._reader is None:
            return
        try:
            response = read(self._reader)
        except HttpError as error:
            self._answer.set_exception(error)
            return
        if response is not None:
            self.is_reusable = self._reader.is_reusable and not self.is_lost
            self._answer.set_result(response)
