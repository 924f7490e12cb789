"""A server that sends scripted bytes, and responses of every kind."""

import asyncio
import gzip
import ssl
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

#: The largest body that clients of the tests take.
BOUND = 10_000
PLAIN = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


class Scripted:
    """A server that sends the next of its replies for each request; a reply of several parts is sent part by part, and None ends the connection."""

    def __init__(self, replies: Sequence[Sequence[bytes | None]], tls: ssl.SSLContext | None = None, pause_s: float = 0) -> None:
        self._replies = iter(replies)
        self._tls = tls
        self._pause_s = pause_s
        self.connections = 0
        self.ended = asyncio.Event()
        self.requests: list[bytes] = []

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                self.requests.append(head + await reader.readexactly(length))
                for part in next(self._replies):
                    if part is None:
                        return
                    writer.write(part)
                    await writer.drain()
                    await asyncio.sleep(self._pause_s)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.ended.set()
            writer.close()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        port = server.sockets[0].getsockname()[1]
        yield f"http{'s' if self._tls else ''}://{'localhost' if self._tls else '127.0.0.1'}:{port}/v1"
        server.close()


GOOD = {
    "length": [PLAIN],
    "byte by byte": [PLAIN[at : at + 1] for at in range(len(PLAIN))],
    "chunks": [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;x=y\r\n{\r\n", b"1\r\n}\r", b"\n0\r\n\r\n"],
    "trailers": [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2\r\n{}\r\n0\r\nx-sum: 1\r\n", b"\r\n"],
    "until the end": [b"HTTP/1.1 200 OK\r\n\r\n{", b"}", None],
    "continue first": [b"HTTP/1.1 100 Continue\r\n\r\n", PLAIN],
    "packed": [b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n%b" % (len(gzip.compress(b"{}")), gzip.compress(b"{}"))],
    "deflated": [b"HTTP/1.1 200 OK\r\ncontent-encoding: deflate\r\ncontent-length: %d\r\n\r\n%b" % (len(zlib.compress(b"{}")), zlib.compress(b"{}"))],
    "old": [b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n{}"],
}


ZEROS = gzip.compress(bytes(BOUND * 100))
BROKEN = {
    "an endless head": [b"HTTP/1.1 200 OK\r\n", *([b"x: " + b"y" * 1000 + b"\r\n"] * 70)],
    "half a gzip": [b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 20\r\n\r\n%b" % ZEROS[:20]],
    "packed unknown": [b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 2\r\n\r\n{}"],
    "a negative length": [b"HTTP/1.1 200 OK\r\ncontent-length: -2\r\n\r\n{}"],
    "a negative chunk": [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-2\r\n{}\r\n"],
    "no chunk": [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n"],
    "an endless size of a chunk": [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;", b"x" * 66_000],
    "endless trailers": [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n", b"x: y\r\n" * 11_000],
    "no HTTP": [b"SSH-2.0-OpenSSH_9.6\r\n\r\n"],
    "no answer": [None],
    "half an answer": [b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{", None],
}
#: Bodies above the bound.
TOO_LARGE = {
    "too long": [b"HTTP/1.1 200 OK\r\ncontent-length: 10001\r\n\r\n"],
    "too many chunks": [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", *([b"3e8\r\n" + b"x" * 1000 + b"\r\n"] * 11)],
    "an endless body": [b"HTTP/1.1 200 OK\r\n\r\n", *([b"x" * 1000] * 11)],
    "a bomb": [b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n%b" % (len(ZEROS), ZEROS)],
}


@asynccontextmanager
async def refusing() -> AsyncIterator[str]:
    """A server of plain HTTP that refuses whatever does not begin like a request, as real ones do; its address."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
