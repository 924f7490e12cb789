"""A server's address, and requests to it as bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlsplit

#: Characters of a path and query that are sent as they are; the rest is percent-encoded.
_SENT_AS_IS: Final = "/?%:@!$&'()*+,;=~-._[]"


@dataclass(frozen=True, slots=True)
class Server:
    """Where requests go, and the headers that each of them has. `base`: the part of the path that every path begins with, without a slash at its end."""

    host: str
    port: int
    is_tls: bool
    base: str
    headers: bytes

    @classmethod
    def of(cls, url: str, headers: Mapping[str, str]) -> Server:
        """The server at a URL. Raises `ValueError` for a URL that names no host, and for a header that cannot be sent."""
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("not a URL of a server")
        is_tls = parts.scheme == "https"
        ascii_host = parts.hostname.encode("idna").decode()
        default_port = 443 if is_tls else 80
        port = parts.port or default_port
        name = f"[{ascii_host}]" if ":" in ascii_host else ascii_host
        host_header = name if port == default_port else f"{name}:{port}"
        return cls(ascii_host, port, is_tls, parts.path.rstrip("/"), _lines({"Host": host_header, **headers}))

    def request(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
        """A request as it is sent. `path`: below the base, with its query. Raises `ValueError` for a header that cannot be sent."""
        target = quote(self.base + path, safe=_SENT_AS_IS) or "/"
        length = b"content-length: %d\r\n" % len(body) if body or method != "GET" else b""
        return b"%b %b HTTP/1.1\r\n%b%b%b\r\n%b" % (method.encode(), target.encode(), self.headers, _lines(headers or {}), length, body)


def _lines(headers: Mapping[str, str]) -> bytes:
    if any(not text.isascii() or not text.isprintable() for header in headers.items() for text in header):
        raise ValueError("a header has characters that cannot be sent")
    return b"".join(f"{name}: {value}\r\n".encode() for name, value in headers.items())
