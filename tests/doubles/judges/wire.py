"""HTTP/1.1 as far as the protocol needs it, over a bare transport: requests are read whole, and bytes are sent at the pace of a fault."""

import asyncio
import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import cast

HEAD_BYTES_MAX = 64 * 1024
BODY_BYTES_MAX = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Received:
    """A request, whole. Header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Malformed(Exception):
    """Bytes that are no request. `status`: what to answer."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def response(status: int, body: bytes, headers: Mapping[str, str] | None = None, content_type: str = "application/json") -> bytes:
    """A response in one piece."""
    return head(status, {"content-type": content_type, "content-length": str(len(body)), **(headers or {})}) + body


def head(status: int, headers: Mapping[str, str]) -> bytes:
    """The head of a response."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{lines}\r\n".encode("latin-1")


def chunked(pieces: list[bytes]) -> bytes:
    """A body in chunks, with its end."""
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


Serve = Callable[[Received, "Connection"], None]
Told = Callable[["Connection"], None]


class Connection(asyncio.Protocol):
    """One connection: requests one after the other, each answered before the next is read.

    `serve` is called with each; `on_lost` once, when the connection has gone.
    """

    def __init__(self, serve: "Serve", on_made: "Told", on_lost: "Told") -> None:
        self._serve = serve
        self._on_made = on_made
        self._on_lost = on_lost
        self._buffer = bytearray()
        self._is_busy = False
        self._writable = asyncio.Event()
        self._writable.set()
        self.is_lost = False
        self.lost: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the transport."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by class
        self._on_made(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell who is answering."""
        self.is_lost = True
        self._writable.set()
        if self.lost is not None:
            self.lost()
        self._on_lost(self)

    def pause_writing(self) -> None:
        """The reader is slow."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """The reader has caught up."""
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        """Collect bytes, and serve complete requests."""
        self._buffer += data
        if not self._is_busy:
            self._next()

    def _next(self) -> None:
        try:
            received = take_request(self._buffer, self._transport.write)
        except Malformed as problem:
            self._transport.write(response(problem.status, b"", {"connection": "close"}))
            self._transport.close()
            return
        if received is not None:
            self._is_busy = True
            self._serve(received, self)

    def send(self, data: bytes) -> None:
        """Send a whole response; the next request may come."""
        if not self.is_lost:
            self._transport.write(data)
            self.done()

    def done(self) -> None:
        """The response is out: read on."""
        self._is_busy = False
        if self._buffer:
            self._next()

    async def write(self, data: bytes) -> bool:
        """Send some bytes and wait until there is room for more; False once the client has gone."""
        if not self.is_lost:
            self._transport.write(data)
            await self._writable.wait()
        return not self.is_lost

    def close(self) -> None:
        """Close after the written bytes are sent."""
        self._transport.close()

    def reset(self) -> None:
        """Close at once, with a reset."""
        found = self._transport.get_extra_info("socket")
        if found is not None:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()


def take_request(buffer: bytearray, write: Callable[[bytes], object]) -> Received | None:
    """Take one whole request off the buffer; None while it is not there. Raises `Malformed`."""
    end = buffer.find(b"\r\n\r\n")
    if end < 0 or end > HEAD_BYTES_MAX:
        if len(buffer) > HEAD_BYTES_MAX:
            raise Malformed(431)
        return None
    first, *lines = buffer[:end].decode("latin-1").split("\r\n")
    parts = first.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise Malformed(400)
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    found = _body(buffer, end + 4, headers)
    if found is None:
        if headers.get("expect", "").lower() == "100-continue" and len(buffer) == end + 4:
            write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return None
    body, taken = found
    del buffer[:taken]
    return Received(parts[0], parts[1], headers, body)


def _body(buffer: bytearray, start: int, headers: Mapping[str, str]) -> tuple[bytes, int] | None:
    """The body and where it ends; None while it is not whole."""
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return _chunks(buffer, start)
    length = headers.get("content-length", "0")
    if not length.isdecimal():
        raise Malformed(400)
    if int(length) > BODY_BYTES_MAX:
        raise Malformed(413)
    until = start + int(length)
    return (bytes(buffer[start:until]), until) if len(buffer) >= until else None


def _chunks(buffer: bytearray, at: int) -> tuple[bytes, int] | None:
    pieces = bytearray()
    while (line := buffer.find(b"\r\n", at)) >= 0:
        try:
            size = int(bytes(buffer[at:line]).split(b";")[0], 16)
        except ValueError:
            raise Malformed(400) from None
        if size + len(pieces) > BODY_BYTES_MAX:
            raise Malformed(413)
        at = line + 2 + size + 2
        if len(buffer) < at:
            return None
        if size == 0:
            return bytes(pieces), at
        pieces += buffer[line + 2 : line + 2 + size]
    return None
