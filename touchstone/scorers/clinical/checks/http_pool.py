"""GET requests to one address over connections that are kept open, each bounded in time and size as a whole.

httpx bounds the wait for the next bytes, not the wait for an answer: a server that drips its headers would hold a thread forever. So the
network layer under its pool is replaced here, and gives every read and write what is left of the request's time.
"""

from __future__ import annotations

import ssl
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final

import httpcore
import httpx

#: An idle connection is closed after this time, before most servers and firewalls would drop it.
IDLE_S: Final = 30.0
#: UnicodeError: a host name that no resolver takes.
_FAILED: Final = (httpcore.NetworkError, httpcore.ProtocolError, httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError)


class HttpPool:
    """A client of one address, safe to share between threads; its connections are closed once it is no longer referenced.

    It follows no redirect, keeps no cookie, asks for no compression, and takes neither proxies nor credentials from the environment or
    `.netrc`. Certificates are checked against the system's store. `timeout_s`: for a whole request, the search for the host's address
    excepted. `connections_max`: more threads than these must not ask at once. Raises `ValueError` for a URL that cannot be used.
    """

    def __init__(self, url: str, headers: Mapping[str, str], *, timeout_s: float, bytes_max: int, connections_max: int) -> None:
        """Opens no connection."""
        try:
            self._url = httpx.URL(url)
        except httpx.InvalidURL:
            raise ValueError("not a URL") from None
        self._timeout_s, self._bytes_max = timeout_s, bytes_max
        self._time = _Time()
        pool = httpcore.ConnectionPool(
            ssl_context=ssl.create_default_context(),
            max_connections=connections_max,
            max_keepalive_connections=connections_max,
            keepalive_expiry=IDLE_S,
            network_backend=_Network(self._time),
        )
        self._client = httpx.Client(
            transport=_Transport(pool),
            headers={"Accept-Encoding": "identity", **headers},
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            timeout=timeout_s,
            follow_redirects=False,
            trust_env=False,
        )
        weakref.finalize(self, self._client.close)

    def get(self, query: str) -> tuple[int, bytes | None]:
        """The status and the body of the answer to an encoded query; None for a body of more than `bytes_max`.

        Raises `TimeoutError`, and `ConnectionError` with the name of what went wrong.
        """
        self._time.until = time.monotonic() + self._timeout_s
        while True:
            self._time.has_connected = False
            try:
                return self._get(query)
            except httpcore.TimeoutException:
                raise TimeoutError from None
            except _FAILED as error:
                # A server may close a kept connection in the moment it is used again. That connection has left the pool: ask once more,
                # at the latest over a new one.
                if self._time.has_connected:
                    raise ConnectionError(_name(error)) from None

    def _get(self, query: str) -> tuple[int, bytes | None]:
        # httpx logs the URL of every request. The target is what is sent, and is not logged.
        target = self._url.raw_path + b"?" + query.encode("ascii")
        body = bytearray()
        with self._client.stream("GET", self._url, extensions={"target": target}) as response:
            for chunk in response.iter_raw():
                body += chunk
                if len(body) > self._bytes_max:
                    return response.status_code, None
        return response.status_code, bytes(body)


def _name(error: Exception) -> str:
    """What kind of error it was in the first place: httpcore's hold the one that they were made from."""
    first = error.args[0] if error.args else None
    return type(first if isinstance(first, Exception) else error).__name__


class _Time(threading.local):
    """What is known of the request that this thread is making: until when it may last, and whether it has opened a connection."""

    until = 0.0
    has_connected = False

    def left_s(self) -> float:
        left_s = self.until - time.monotonic()
        if left_s <= 0:
            raise httpcore.TimeoutException
        return left_s


class _Network(httpcore.SyncBackend):
    """Opens connections that keep to the time of a request."""

    def __init__(self, request_time: _Time) -> None:
        self._time = request_time

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        self._time.has_connected = True
        return _Stream(super().connect_tcp(host, port, self._time.left_s(), local_address, socket_options), self._time)


class _Stream(httpcore.NetworkStream):
    """A connection whose every wait is bounded by what is left of the time of the request that uses it."""

    def __init__(self, stream: httpcore.NetworkStream, request_time: _Time) -> None:
        self._stream, self._time = stream, request_time

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._time.left_s())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._time.left_s())

    def start_tls(self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None) -> httpcore.NetworkStream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, self._time.left_s()), self._time)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def close(self) -> None:
        self._stream.close()


class _Transport(httpx.BaseTransport):
    """httpx over a given httpcore pool: its own transport makes the pool itself. Errors are httpcore's."""

    def __init__(self, pool: httpcore.ConnectionPool) -> None:
        self._pool = pool

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = httpcore.URL(scheme=request.url.raw_scheme, host=request.url.raw_host, port=request.url.port, target=request.url.raw_path)
        answer = self._pool.handle_request(httpcore.Request(request.method, url, headers=request.headers.raw, extensions=request.extensions))
        assert isinstance(answer.stream, Iterable)
        return httpx.Response(answer.status, headers=answer.headers, stream=_Body(answer.stream), extensions=answer.extensions)

    def close(self) -> None:
        self._pool.close()


class _Body(httpx.SyncByteStream):
    """An answer's body; closing it gives the connection back, or ends it where the body was not read to its end."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        yield from self._stream

    def close(self) -> None:
        self._stream.close()
