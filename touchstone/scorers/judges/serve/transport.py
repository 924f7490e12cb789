"""Carries requests of the judge's client over connections that are kept: HTTP/1.1 with bounds, and little else, because the processor is what limits a judge.

The client's own transport looks at every connection and every waiting request whenever one changes, so that 400 requests in flight cost 16 times as much as
100. This one takes a free connection off a list. What it is given is one kind of request (POST, a whole body, one host), so it needs no more of HTTP than this.
Whoever waits for an answer bounds the time; this bounds the size, of what comes packed too.
"""

import asyncio
import socket
import ssl
import time
import zlib
from collections.abc import Callable
from typing import Any, Final, cast
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx2

HEAD_BYTES_MAX: Final = 64 * 1024
#: Verdicts are some kilobytes; a server that sends more than this is broken or means harm.
BODY_BYTES_MAX: Final = 4 * 1024 * 1024
#: A connection that lay idle for longer is not used again: the server may be closing it in this moment.
IDLE_S: Final = 15.0
CONNECT_S: Final = 10.0
_KNOWN_MAX: Final = 100
#: What this says itself, whatever a request says of it.
_OWN_HEADERS: Final = frozenset({b"accept-encoding", b"connection", b"content-length", b"transfer-encoding"})
_BODILESS: Final = frozenset({204, 304})


def transport_to(base_url: str, *, is_loopback: bool, connect_s: float) -> "KeptConnections | None":
    """The transport for a server; None where a proxy stands between, which the client's own transport knows how to use."""
    scheme = urlsplit(base_url).scheme
    proxies = getproxies()
    return None if not is_loopback and any(proxies.get(name) for name in (scheme, "all")) else KeptConnections(connect_s)


class LeanClient(httpx2.AsyncClient):
    """A client that adds nothing to a request and follows nothing: no cookies, no redirects, no log line, no second parsing of the same URL."""

    def __init__(self, transport: httpx2.AsyncBaseTransport) -> None:
        super().__init__(transport=transport, trust_env=False, follow_redirects=False)
        self._carrier = transport
        self._urls: dict[str, httpx2.URL] = {}
        self._parsed: dict[tuple[tuple[str, str], ...], httpx2.Headers] = {}

    def build_request(
        self, method: str, url: httpx2.URL | str, *, headers: Any = None, content: Any = None, timeout: Any = None, **more: Any
    ) -> httpx2.Request:
        """The request."""
        if not isinstance(content, bytes) or not isinstance(headers, list) or any(part is not None for part in more.values()):
            return super().build_request(method, url, headers=headers, content=content, timeout=timeout, **more)
        known = self._urls.get(str(url))
        if known is None or len(self._parsed) > _KNOWN_MAX:
            self._parsed.clear()
            known = self._urls[str(url)] = httpx2.URL(url)
        parsed = self._parsed.get(tuple(headers))
        if parsed is None:
            parsed = self._parsed[tuple(headers)] = httpx2.Request(method, known, headers=headers).headers
        # As a stream, because of a content it would look through all headers again.
        request = httpx2.Request(method, known, headers=parsed, stream=httpx2.ByteStream(content))
        request.read()
        return request

    async def send(self, request: httpx2.Request, **_: Any) -> httpx2.Response:
        """The response, whole."""
        response = await self._carrier.handle_async_request(request)
        response.request = request
        await response.aread()
        return response


class KeptConnections(httpx2.AsyncBaseTransport):
    """A transport. Raises the client's own exceptions; `ConnectError` and `ConnectTimeout` mean that nothing was sent."""

    def __init__(self, connect_s: float = CONNECT_S, body_bytes_max: int = BODY_BYTES_MAX) -> None:
        self._connect_s = connect_s
        self._body_bytes_max = body_bytes_max
        self._idle: list[_Connection] = []
        self._all: set[_Connection] = set()
        self._tls: ssl.SSLContext | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it, and wait for the whole answer."""
        self._look_round()
        url = request.url
        connection = self._kept() or await self._connected(url.scheme == "https", url.host, url.port or (443 if url.scheme == "https" else 80))
        try:
            status, headers, body = await connection.exchange(_bytes_of(request))
        except BaseException:
            # Whoever waited has gone, or the connection is of no use: what would still come belongs to nobody.
            connection.abort()
            raise
        if connection.is_reusable:
            connection.idle_since = time.monotonic()
            self._idle.append(connection)
        else:
            connection.abort()
        return httpx2.Response(status, headers=headers, content=body)

    async def aclose(self) -> None:
        """Close all connections."""
        self._look_round()
        for connection in list(self._all):
            connection.abort()
        self._idle.clear()

    def _look_round(self) -> None:
        """Forget the connections of another event loop: a suite that stays open may be asked from one after the other, and an ended loop reads nothing."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop = loop
            self._idle.clear()
            self._all.clear()

    def _kept(self) -> "_Connection | None":
        """A connection that can be used at once: the one that was used last, so that those not needed grow old."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_lost and time.monotonic() - connection.idle_since < IDLE_S:
                return connection
            connection.abort()
        return None

    async def _connected(self, is_tls: bool, host: str, port: int) -> "_Connection":
        """A new connection: each address of the host gets its share of the time, so that one that swallows everything does not use it up."""
        if is_tls and self._tls is None:
            self._tls = await asyncio.to_thread(httpx2.create_ssl_context)
        loop = asyncio.get_running_loop()
        tls: dict[str, Any] = {"ssl": self._tls, "server_hostname": host} if is_tls else {}
        made: Callable[[], _Connection] = lambda: _Connection(self._all, self._body_bytes_max)  # noqa: E731
        try:
            async with asyncio.timeout(self._connect_s):
                found = list(dict.fromkeys(str(address[4][0]) for address in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
                for number, address in enumerate(found):
                    try:
                        async with asyncio.timeout(self._connect_s / len(found)):
                            return (await loop.create_connection(made, address, port, **tls))[1]
                    except (OSError, TimeoutError):
                        if number + 1 == len(found):
                            raise
        except TimeoutError:
            raise httpx2.ConnectTimeout("not connected in time") from None
        except (OSError, ValueError) as error:
            raise httpx2.ConnectError(f"not connected ({type(error).__name__})") from None
        raise httpx2.ConnectError("the host has no address")


def _bytes_of(request: httpx2.Request) -> bytes:
    """The request as it is sent."""
    lines = b"".join(b"%b: %b\r\n" % header for header in request.headers.raw if header[0].lower() not in _OWN_HEADERS)
    body = request.content
    first = b"%b %b HTTP/1.1\r\n" % (request.method.encode(), request.url.raw_path)
    return b"%b%baccept-encoding: identity\r\ncontent-length: %d\r\n\r\n%b" % (first, lines, len(body), body)


class _Connection(asyncio.Protocol):
    """One connection, with one request on it at a time. `is_reusable`: after an answer, whether it may carry another."""

    def __init__(self, among: "set[_Connection]", body_bytes_max: int) -> None:
        self._among = among
        self._body_bytes_max = body_bytes_max
        self._buffer = bytearray()
        self._answer: asyncio.Future[tuple[int, list[tuple[bytes, bytes]], bytes]] | None = None
        self._reading: _Reading | None = None
        self.is_lost = False
        self.is_reusable = False
        self.idle_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by class
        self._among.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        self.is_reusable = False
        self._among.discard(self)
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(httpx2.ReadError("the connection broke") if exc else httpx2.RemoteProtocolError("the server hung up"))

    def eof_received(self) -> bool:
        if self._reading is not None and self._reading.ends_with_connection:
            self._read(self._reading.whole)
        return False

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():
            self.abort()  # an answer to no question: whatever it is, the next request must not get it
            return
        self._buffer += data
        self._read(lambda buffer: None if self._reading is None else self._reading.more(buffer, self._body_bytes_max))

    async def exchange(self, data: bytes) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        """Send a request and wait for its answer."""
        self._answer = asyncio.get_running_loop().create_future()
        self.is_reusable = False
        self._transport.write(data)
        try:
            return await self._answer
        finally:
            self._answer = self._reading = None

    def abort(self) -> None:
        """Close at once."""
        self.is_lost = True
        self.is_reusable = False
        self._transport.abort()

    def _read(self, body_of: Callable[[bytearray], bytes | None]) -> None:
        """Give the answer to who waits for it, once `body_of` finds its body whole."""
        assert self._answer is not None
        if self._answer.done():
            return
        try:
            if self._reading is None:
                self._reading = _head(self._buffer)
            body = body_of(self._buffer)
            if self._reading is not None and body is not None:
                unpacked = _unpacked(body, self._reading.encoding, self._body_bytes_max)
                self.is_reusable = self._reading.is_kept and not self._buffer and not self.is_lost
                self._answer.set_result((self._reading.status, self._reading.headers, unpacked))
        except (httpx2.ProtocolError, ValueError) as error:
            self._answer.set_exception(httpx2.RemoteProtocolError(str(error) if isinstance(error, httpx2.ProtocolError) else "not HTTP"))


class _Reading:
    """An answer whose head is there. `encoding`: how the body is packed; `is_kept`: whether the server leaves the connection open."""

    def __init__(self, status: int, headers: list[tuple[bytes, bytes]], *, is_http_1_1: bool) -> None:
        self.status = status
        found = {name.lower(): value for name, value in headers}
        self.encoding = found.get(b"content-encoding", b"identity").lower()
        self.headers = [(name, value) for name, value in headers if name.lower() not in {b"content-encoding", b"content-length", b"transfer-encoding"}]
        self._is_chunked = b"chunked" in found.get(b"transfer-encoding", b"").lower()
        length = found.get(b"content-length")
        if length is not None and not length.isdigit():
            raise httpx2.RemoteProtocolError("a content-length that is no number")
        self._length = 0 if status in _BODILESS else None if self._is_chunked or length is None else int(length)
        self.ends_with_connection = self._length is None and not self._is_chunked
        kept = found.get(b"connection", b"").lower()
        self.is_kept = not self.ends_with_connection and (b"close" not in kept if is_http_1_1 else b"keep-alive" in kept)
        self._pieces = bytearray()

    def more(self, buffer: bytearray, bytes_max: int) -> bytes | None:
        """The body once it is whole; takes it off the buffer."""
        if self._is_chunked and self._length is None:
            return self._chunks(buffer, bytes_max)
        if max(self._length or 0, len(buffer)) > bytes_max:
            raise httpx2.RemoteProtocolError("the answer is too large")
        if self._length is None or len(buffer) < self._length:
            return None
        body = bytes(buffer[: self._length])
        del buffer[: self._length]
        return body

    def whole(self, buffer: bytearray) -> bytes:
        """The body of an answer that ends where the connection does."""
        body = bytes(buffer)
        buffer.clear()
        return body

    def _chunks(self, buffer: bytearray, bytes_max: int) -> bytes | None:
        while (line := buffer.find(b"\r\n")) >= 0:
            size = int(bytes(buffer[:line]).split(b";")[0], 16)
            if size < 0 or len(self._pieces) + size > bytes_max:
                raise httpx2.RemoteProtocolError("the answer is too large")
            if size == 0:
                # Whatever follows the last chunk (trailers) ends with an empty line.
                end = line if buffer[line : line + 4] == b"\r\n\r\n" else buffer.find(b"\r\n\r\n", line)
                if end < 0:
                    break
                del buffer[: end + 4]
                return bytes(self._pieces)
            if len(buffer) < line + 2 + size + 2:
                break
            self._pieces += buffer[line + 2 : line + 2 + size]
            del buffer[: line + 2 + size + 2]
        if len(buffer) > bytes_max + HEAD_BYTES_MAX:
            raise httpx2.RemoteProtocolError("the answer is too large")
        return None


def _head(buffer: bytearray) -> _Reading | None:
    """Take the head of an answer off the buffer; None while it is not whole. What the server says beforehand (100 Continue) is passed over."""
    while True:
        end = buffer.find(b"\r\n\r\n")
        if end < 0 or end > HEAD_BYTES_MAX:
            if len(buffer) > HEAD_BYTES_MAX:
                raise httpx2.RemoteProtocolError("the answer's head is too large")
            return None
        first, *lines = bytes(buffer[:end]).split(b"\r\n")
        del buffer[: end + 4]
        if not first.startswith(b"HTTP/1.") or not first[9:12].isdigit():
            raise httpx2.RemoteProtocolError("not HTTP")
        status = int(first[9:12])
        if status >= 200:
            headers = [(name.strip(), value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
            return _Reading(status, headers, is_http_1_1=first.startswith(b"HTTP/1.1"))


def _unpacked(body: bytes, encoding: bytes, bytes_max: int) -> bytes:
    """The body as it was before it was packed. It was not asked for, but some gateways do it."""
    if encoding in {b"", b"identity"}:
        return body
    if encoding not in {b"gzip", b"x-gzip", b"deflate"}:
        raise httpx2.RemoteProtocolError("an answer packed in a way that was not asked for")
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | (16 if encoding != b"deflate" else 0))
    try:
        whole = unpacker.decompress(body, bytes_max)
    except zlib.error:
        raise httpx2.RemoteProtocolError("an answer packed wrongly") from None
    if unpacker.unconsumed_tail:
        raise httpx2.RemoteProtocolError("the answer is too large")
    if not unpacker.eof:
        raise httpx2.RemoteProtocolError("an answer packed wrongly")
    return whole
