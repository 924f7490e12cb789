"""Reads HTTP/1.1 responses from bytes, however they arrive, within bounds. It opens no connection."""

from __future__ import annotations

import ssl
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

HEAD_BYTES_MAX: Final = 64 * 1024
#: Statuses whose responses have no body.
_NO_TLS: Final = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"})
#: How a TLS server answers plain text: an alert, in any version.
_TLS_ALERT: Final = b"\x15\x03"
_BODILESS: Final = frozenset({204, 304})
#: Headers about how the body travelled. It has arrived, so they no longer describe it.
_TRANSFER_HEADERS: Final = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})


class HttpError(Exception):
    """No response. The message has no text of the server."""


class ConnectError(HttpError):
    """No connection was made, so nothing was sent."""


class ConnectTimeout(ConnectError):
    """No connection was made in time, so nothing was sent."""


class TlsMismatch(ConnectError):
    """One end speaks TLS and the other does not. The message says how to write the URL."""


def tls_mismatch(error: BaseException) -> TlsMismatch | None:
    """The mismatch that a failed handshake shows: the server's first bytes were no TLS. None for other errors."""
    if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
        return TlsMismatch("the server speaks no TLS: write http:// or its TLS port")
    return None


class ReadError(HttpError):
    """The connection broke before the response was complete."""


class RemoteProtocolError(HttpError):
    """The server sent something that is not a response, or ended the connection before the response was complete."""


@dataclass(frozen=True, slots=True)
class Response:
    """A response. `headers`: in the order in which they came, as sent. `body`: None if it is larger than the caller allows."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes | None

    def header_map(self) -> Mapping[str, str]:
        """Header → value, with names in lower case; of a repeated header the last value."""
        return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in self.headers}


class ResponseReader:
    """Reads one response. `feed` it what arrives; `is_reusable` says afterwards whether the connection may carry another request.

    `unpacks`: decompress a body that the server compressed, although it was not asked to. The size limit holds for what comes out, too.
    """

    def __init__(self, bytes_max: int, *, unpacks: bool) -> None:
        self._bytes_max = bytes_max
        self._unpacks = unpacks
        self._buffer = bytearray()
        self._head: _Head | None = None
        self._chunks = bytearray()
        self.is_reusable = False

    def feed(self, data: bytes) -> Response | None:
        """The response, once it is complete. Raises `RemoteProtocolError`."""
        self._buffer += data
        if self._head is None and self._buffer.startswith(_TLS_ALERT):
            raise TlsMismatch("the server speaks TLS: write https://")
        try:
            if self._head is None:
                self._head = _read_head(self._buffer)
            return None if self._head is None else self._complete(self._head)
        except ValueError:
            raise RemoteProtocolError("not HTTP") from None

    def end(self) -> Response:
        """The response after the server has ended the connection, which may be how the body ends. Raises `RemoteProtocolError`."""
        if self._head is None or not self._head.ends_with_connection:
            raise RemoteProtocolError("the server ended the connection")
        return self._response(self._head, bytes(self._buffer))

    def _complete(self, head: _Head) -> Response | None:
        try:
            body = self._chunked_body() if head.is_chunked else self._plain_body(head)
        except _TooLarge:
            return Response(head.status, head.headers, None)
        if body is None:
            return None
        self.is_reusable = head.keeps_connection and not self._buffer
        return self._response(head, body)

    def _response(self, head: _Head, body: bytes) -> Response:
        try:
            return Response(head.status, head.headers, _unpacked(body, head.encoding, self._bytes_max) if self._unpacks else body)
        except _TooLarge:
            self.is_reusable = False
            return Response(head.status, head.headers, None)

    def _plain_body(self, head: _Head) -> bytes | None:
        """A body of a known length, or of any length where it ends with the connection."""
        length = head.length
        if max(length or 0, len(self._buffer)) > self._bytes_max:
            raise _TooLarge
        if length is None or len(self._buffer) < length:
            return None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        return body

    def _chunked_body(self) -> bytes | None:
        buffer = self._buffer
        while (line := buffer.find(b"\r\n")) >= 0:
            size = int(bytes(buffer[:line]).split(b";")[0], 16)
            if size < 0:
                raise ValueError
            if len(self._chunks) + size > self._bytes_max:
                raise _TooLarge
            if size == 0:
                # Trailers may follow the last chunk; an empty line ends them.
                end = line if buffer[line : line + 4] == b"\r\n\r\n" else buffer.find(b"\r\n\r\n", line)
                if end < 0:
                    if len(buffer) > HEAD_BYTES_MAX:
                        raise ValueError
                    break
                del buffer[: end + 4]
                return bytes(self._chunks)
            if len(buffer) < line + 2 + size + 2:
                break
            self._chunks += buffer[line + 2 : line + 2 + size]
            del buffer[: line + 2 + size + 2]
        if line < 0 and len(buffer) > HEAD_BYTES_MAX:
            raise ValueError  # a line of this length is no size, and searching it again for every byte takes long
        return None


class _TooLarge(Exception):
    """The body is larger than the caller allows."""


@dataclass(slots=True)
class _Head:
    """What the head of a response says about its body and its connection. `length`: None for a body that ends with the connection or with a last chunk."""

    status: int
    headers: list[tuple[bytes, bytes]]
    encoding: bytes
    length: int | None
    is_chunked: bool
    ends_with_connection: bool
    keeps_connection: bool


def _read_head(buffer: bytearray) -> _Head | None:
    """Take the head of a response off the buffer; None while it is incomplete. Skips interim responses such as 100 Continue."""
    while True:
        end = buffer.find(b"\r\n\r\n")
        if end < 0 or end > HEAD_BYTES_MAX:
            if len(buffer) > HEAD_BYTES_MAX:
                raise RemoteProtocolError("the head of the response is too large")
            return None
        first, *lines = bytes(buffer[:end]).split(b"\r\n")
        del buffer[: end + 4]
        if not first.startswith(b"HTTP/1.") or not first[9:12].isdigit():
            raise RemoteProtocolError("not HTTP")
        status = int(first[9:12])
        if status >= 200:
            headers = [(name.strip(), value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
            return _head_of(status, headers, is_http_1_1=first.startswith(b"HTTP/1.1"))


def _head_of(status: int, headers: list[tuple[bytes, bytes]], *, is_http_1_1: bool) -> _Head:
    found = {name.lower(): value for name, value in headers}
    is_chunked = status not in _BODILESS and b"chunked" in found.get(b"transfer-encoding", b"").lower()
    sent_length = found.get(b"content-length")
    if sent_length is not None and not sent_length.isdigit():
        raise RemoteProtocolError("a content-length that is no number")
    length = 0 if status in _BODILESS else None if is_chunked or sent_length is None else int(sent_length)
    ends_with_connection = length is None and not is_chunked
    connection = found.get(b"connection", b"").lower()
    return _Head(
        status,
        [(name, value) for name, value in headers if name.lower() not in _TRANSFER_HEADERS],
        found.get(b"content-encoding", b"identity").lower(),
        length,
        is_chunked,
        ends_with_connection,
        not ends_with_connection and (b"close" not in connection if is_http_1_1 else b"keep-alive" in connection),
    )


def _unpacked(body: bytes, encoding: bytes, bytes_max: int) -> bytes:
    """A body as it was before the server compressed it."""
    if encoding in {b"", b"identity"}:
        return body
    if encoding not in {b"gzip", b"x-gzip", b"deflate"}:
        raise RemoteProtocolError("a compression that was not asked for")
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | (16 if encoding != b"deflate" else 0))
    try:
        whole = unpacker.decompress(body, bytes_max)
    except zlib.error:
        raise RemoteProtocolError("a body that is not compressed as its headers say") from None
    if unpacker.unconsumed_tail:
        raise _TooLarge
    if not unpacker.eof:
        raise RemoteProtocolError("a body that is not compressed as its headers say")
    return whole
