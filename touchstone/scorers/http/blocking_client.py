"""A client of one server for threads. It bounds a whole exchange in time and size: sending, waiting and receiving share one deadline.

Libraries bound each wait for the next bytes instead, so a server that sends one header byte a second would hold a thread for ever.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
import weakref
from collections.abc import Mapping
from typing import Final

from touchstone.scorers.http.idle import is_readable
from touchstone.scorers.http.requests import Server
from touchstone.scorers.http.responses import HttpError, Response, ResponseReader, TlsMismatch, tls_mismatch

#: A connection that was idle for longer is not used again, because the server may be closing it at this moment.
IDLE_S: Final = 30.0
_RECEIVE_BYTES: Final = 65_536


class BlockingHttpClient:
    """A client of the server at `url`, safe to share between threads. Its connections are closed once it is no longer referenced.

    `headers`: of every request. `timeout_s`: of a whole exchange, except for the lookup of the host's address. `keeps_connections`: use them again; otherwise
    each request has its own. Certificates are checked against the system's authorities. Raises `ValueError` for a URL or header that cannot be used.
    """

    def __init__(self, url: str, headers: Mapping[str, str] | None = None, *, timeout_s: float, bytes_max: int, keeps_connections: bool = False) -> None:
        self._server = Server.of(url, {"User-Agent": "touchstone", "Accept-Encoding": "identity", **(headers or {})})
        self._tls = ssl.create_default_context() if self._server.is_tls else None
        self._timeout_s, self._bytes_max = timeout_s, bytes_max
        self._keeps_connections = keeps_connections
        self._idle: list[tuple[float, socket.socket]] = []
        weakref.finalize(self, _close_all, self._idle)

    def send(self, method: str, path: str = "", body: bytes = b"", headers: Mapping[str, str] | None = None, *, timeout_s: float | None = None) -> Response:
        """The response to one request. `path`: below that of the URL.

        Raises `TimeoutError`, and `ConnectionError` with the name of what went wrong.
        """
        request = self._server.request(method, path, body, headers)
        until = time.monotonic() + (timeout_s or self._timeout_s)
        while True:
            kept = self._idle_connection()
            try:
                return self._exchange(kept or self._connected(until), request, until)
            except TimeoutError:
                raise TimeoutError from None
            except (OSError, HttpError, UnicodeError) as error:
                # A server may close a kept connection at the moment when it is used again. Then the request is sent again, in the end over a new connection.
                if kept is None:
                    mismatch = error if isinstance(error, TlsMismatch) else tls_mismatch(error)
                    raise ConnectionError(str(mismatch) if mismatch else type(error).__name__) from None

    def _exchange(self, connection: socket.socket, request: bytes, until: float) -> Response:
        reader = ResponseReader(self._bytes_max, unpacks=False)
        response: Response | None = None
        is_kept = False
        try:
            unsent = memoryview(request)
            while unsent:
                connection.settimeout(_left_s(until))
                unsent = unsent[connection.send(unsent) :]
            while response is None:
                connection.settimeout(_left_s(until))
                received = connection.recv(_RECEIVE_BYTES)
                response = reader.feed(received) if received else reader.end()
            is_kept = self._keeps_connections and reader.is_reusable
        finally:
            if is_kept:
                self._idle.append((time.monotonic(), connection))
            else:
                connection.close()
        return response

    def _idle_connection(self) -> socket.socket | None:
        """A connection that can be used at once; None if there is none."""
        while self._idle:
            try:
                idle_since, connection = self._idle.pop()
            except IndexError:  # another thread was faster
                return None
            if time.monotonic() - idle_since < IDLE_S and not is_readable(connection):
                return connection
            connection.close()
        return None

    def _connected(self, until: float) -> socket.socket:
        """A new connection. Each address of the host gets a share of the time that is left."""
        found = socket.getaddrinfo(self._server.host, self._server.port, type=socket.SOCK_STREAM)
        last: Exception = OSError("the host has no address")
        for place, (family, kind, protocol, _, address) in enumerate(found):
            connection = socket.socket(family, kind, protocol)
            try:
                connection.settimeout(_left_s(until) / (len(found) - place))
                connection.connect(address)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.settimeout(_left_s(until))
                return connection if self._tls is None else self._tls.wrap_socket(connection, server_hostname=self._server.host)
            except OSError as error:
                connection.close()
                last = error
        raise last


def _left_s(until: float) -> float:
    left_s = until - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s


def _close_all(connections: list[tuple[float, socket.socket]]) -> None:
    for _, connection in connections:
        with contextlib.suppress(OSError):
            connection.close()
