"""What carries the judge's requests: HTTP as servers really speak it, bounds, and connections that are used again only when that is safe."""

import asyncio
import gzip
import ssl
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import httpx2
import pytest
import trustme

from touchstone.scorers.judges.serve import transport as module
from touchstone.scorers.judges.serve.transport import KeptConnections, LeanClient, transport_to

BOUND = 10_000
PLAIN = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


class Scripted:
    """A server that sends the next of its replies for each request; a reply of several parts is sent part by part, and None ends the connection."""

    def __init__(self, replies: Sequence[Sequence[bytes | None]], tls: ssl.SSLContext | None = None) -> None:
        self._replies = iter(replies)
        self._tls = tls
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
                    await asyncio.sleep(0)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.ended.set()
            writer.close()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Its address."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        port = server.sockets[0].getsockname()[1]
        yield f"http{'s' if self._tls else ''}://{'localhost' if self._tls else '127.0.0.1'}:{port}/v1"
        server.close()


async def post(carrier: KeptConnections, address: str, body: bytes = b'{"a":1}') -> httpx2.Response:
    """One request, in a test's time."""
    async with asyncio.timeout(20):
        return await carrier.handle_async_request(httpx2.Request("POST", address, content=body, headers={"content-type": "application/json"}))


@asynccontextmanager
async def carried(*replies: Sequence[bytes | None]) -> AsyncIterator[tuple[KeptConnections, str, Scripted]]:
    """A transport and the server that it is to ask."""
    server = Scripted(replies)
    carrier = KeptConnections(body_bytes_max=BOUND)
    async with server.serving() as address:
        yield carrier, address, server
        await carrier.aclose()


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


@pytest.mark.parametrize("reply", GOOD.values(), ids=GOOD)
async def test_an_answer_is_read_whole_however_it_comes(reply: Sequence[bytes | None]) -> None:
    async with carried(reply) as (carrier, address, server):
        response = await post(carrier, address)
    assert (response.status_code, response.content) == (200, b"{}")
    assert server.requests[0].startswith(b"POST /v1 HTTP/1.1\r\n")
    assert server.requests[0].endswith(b'accept-encoding: identity\r\ncontent-length: 7\r\n\r\n{"a":1}')
    assert server.requests[0].lower().count(b"content-length:") == server.requests[0].lower().count(b"\r\nhost:") == 1


async def test_an_error_keeps_its_status_headers_and_body() -> None:
    async with carried([b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\ncontent-length: 4\r\n\r\nwait"]) as (carrier, address, _):
        response = await post(carrier, address)
    assert (response.status_code, response.headers["retry-after"], response.text) == (429, "7", "wait")


ZEROS = gzip.compress(bytes(BOUND * 100))
BAD = {
    "too long": [b"HTTP/1.1 200 OK\r\ncontent-length: 10001\r\n\r\n"],
    "too many chunks": [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", *([b"3e8\r\n" + b"x" * 1000 + b"\r\n"] * 11)],
    "an endless body": [b"HTTP/1.1 200 OK\r\n\r\n", *([b"x" * 1000] * 11)],
    "an endless head": [b"HTTP/1.1 200 OK\r\n", *([b"x: " + b"y" * 1000 + b"\r\n"] * 70)],
    "a bomb": [b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n%b" % (len(ZEROS), ZEROS)],
    "half a gzip": [b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 20\r\n\r\n%b" % ZEROS[:20]],
    "packed unknown": [b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 2\r\n\r\n{}"],
    "a negative length": [b"HTTP/1.1 200 OK\r\ncontent-length: -2\r\n\r\n{}"],
    "a negative chunk": [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-2\r\n{}\r\n"],
    "no chunk": [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n"],
    "no HTTP": [b"SSH-2.0-OpenSSH_9.6\r\n\r\n"],
    "no answer": [None],
    "half an answer": [b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{", None],
}


@pytest.mark.parametrize("reply", BAD.values(), ids=BAD)
async def test_what_is_no_answer_or_too_much_is_an_error_and_ends_the_connection(reply: Sequence[bytes | None]) -> None:
    async with carried(reply, [PLAIN]) as (carrier, address, server):
        with pytest.raises((httpx2.RemoteProtocolError, httpx2.ReadError)):
            await post(carrier, address)
        assert (await post(carrier, address)).content == b"{}"
        assert server.connections == 2


async def test_the_lean_client_sends_what_the_library_s_own_would() -> None:
    headers = [("content-type", "application/json"), ("authorization", "Bearer key"), ("x-count", "0")]
    async with carried(*[[PLAIN]] * 4) as (carrier, address, server):
        for client in (LeanClient(carrier), httpx2.AsyncClient(transport=carrier, headers={"user-agent": "", "accept": ""})):
            for content in (b'{"a":1}', b'{"bb":2}'):
                response = await client.send(client.build_request("POST", address, headers=headers, content=content))
                assert response.json() == {}
    lean, own = server.requests[:2], server.requests[2:]
    for mine, theirs in zip(lean, own, strict=True):
        assert {line.lower() for line in mine.split(b"\r\n")} == {line.lower() for line in theirs.split(b"\r\n") if line[-2:] != b": "}


async def test_a_connection_is_used_again() -> None:
    async with carried([PLAIN], GOOD["chunks"], [PLAIN]) as (carrier, address, server):
        for _ in range(3):
            assert (await post(carrier, address)).content == b"{}"
    assert server.connections == 1


@pytest.mark.parametrize(
    "first",
    [
        [b"HTTP/1.1 200 OK\r\nConnection: close\r\ncontent-length: 2\r\n\r\n{}"],
        [b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n{}"],
        [PLAIN + b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n\"bad\""],
        [PLAIN, b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n"],
        [PLAIN, None],
    ],
    ids=["closed", "old", "more than was asked for", "more, later", "gone"],
)  # fmt: skip
async def test_a_connection_that_may_bring_another_s_answer_is_not_used_again(first: Sequence[bytes | None]) -> None:
    async with carried(first, [PLAIN]) as (carrier, address, server):
        assert (await post(carrier, address)).content == b"{}"
        async with asyncio.timeout(20):
            while len(first) > 1 and not all(connection.is_lost for connection in carrier._idle):  # noqa: ASYNC110
                await asyncio.sleep(0.001)
        assert (await post(carrier, address)).content == b"{}"
    assert server.connections == 2


async def test_what_comes_after_an_answer_and_before_it_is_taken_is_nobody_s() -> None:
    wire = Wire()
    connection = module._Connection(set(), BOUND)
    connection.connection_made(wire)
    asked = asyncio.ensure_future(connection.exchange(b""))
    await asyncio.sleep(0)
    connection.data_received(PLAIN)
    connection.data_received(PLAIN)
    assert (await asked)[2] == b"{}"
    assert not connection.is_reusable
    assert wire.is_aborted


class Wire(asyncio.Transport):
    """Carries nothing."""

    is_aborted = False

    def write(self, data: object) -> None:
        pass

    def abort(self) -> None:
        self.is_aborted = True


async def test_a_connection_that_lay_idle_too_long_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IDLE_S", -1.0)
    async with carried([PLAIN], [PLAIN]) as (carrier, address, server):
        for _ in range(2):
            await post(carrier, address)
    assert server.connections == 2


async def test_it_can_be_used_in_one_event_loop_after_the_other() -> None:
    async with carried([PLAIN], [PLAIN]) as (carrier, address, server):
        for _ in range(2):
            assert (await asyncio.to_thread(lambda: asyncio.run(post(carrier, address)))).content == b"{}"
    assert server.connections == 2


async def test_whoever_gives_up_takes_the_connection_along() -> None:
    async with carried([b"HTTP/1.1 200 OK\r\n"], [PLAIN]) as (carrier, address, server):
        asked = asyncio.ensure_future(post(carrier, address))
        while not server.requests:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        async with asyncio.timeout(20):
            await server.ended.wait()
        assert (await post(carrier, address)).content == b"{}"
    assert server.connections == 2


async def test_where_nobody_listens_nothing_was_sent() -> None:
    async with carried() as (_, address, _server):
        pass
    with pytest.raises(httpx2.ConnectError):
        await post(KeptConnections(), address)
    with pytest.raises(httpx2.ConnectError):
        await post(KeptConnections(), "http://no-such-host.invalid/v1")


async def test_tls_is_checked_against_the_authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    authority = trustme.CA()
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(tls)
    server = Scripted([[PLAIN]], tls)
    async with server.serving() as address:
        unknown = KeptConnections()
        with pytest.raises(httpx2.ConnectError):
            await post(unknown, address)
        known = ssl.create_default_context()
        authority.configure_trust(known)
        monkeypatch.setattr(httpx2, "create_ssl_context", lambda: known)
        carrier = KeptConnections()
        assert (await post(carrier, address)).content == b"{}"
        await carrier.aclose()


def test_where_a_proxy_stands_between_the_client_s_own_transport_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    assert transport_to("https://judge.example/v1", is_loopback=False, connect_s=1) is None
    assert transport_to("http://127.0.0.1:8000/v1", is_loopback=True, connect_s=1) is not None
    monkeypatch.delenv("HTTPS_PROXY")
    assert transport_to("https://judge.example/v1", is_loopback=False, connect_s=1) is not None
