import asyncio
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import pytest
import trustme

from tests.scorers.http.scripted import BOUND, BROKEN, GOOD, PLAIN, TOO_LARGE, Scripted, refusing
from touchstone.scorers.http import client as module
from touchstone.scorers.http.client import HttpClient
from touchstone.scorers.http.responses import ConnectError, ReadError, RemoteProtocolError, Response, ResponseReader, TlsMismatch


async def post(client: HttpClient, body: bytes = b'{"a":1}') -> Response:
    async with asyncio.timeout(20):
        return await client.send("POST", "", body, {"content-type": "application/json"})


@asynccontextmanager
async def asking(*replies: Sequence[bytes | None]) -> AsyncIterator[tuple[HttpClient, Scripted]]:
    server = Scripted(replies)
    async with server.serving() as address:
        client = HttpClient(address, bytes_max=BOUND)
        yield client, server
        await client.close()


@pytest.mark.parametrize("reply", GOOD.values(), ids=GOOD)
async def test_an_answer_is_read_whole_however_it_comes(reply: Sequence[bytes | None]) -> None:
    async with asking(reply) as (client, server):
        response = await post(client)
    assert (response.status, response.body) == (200, b"{}")
    assert server.requests[0].startswith(b"POST /v1 HTTP/1.1\r\n")
    assert server.requests[0].endswith(b'content-length: 7\r\n\r\n{"a":1}')
    assert server.requests[0].lower().count(b"content-length:") == server.requests[0].lower().count(b"\r\nhost:") == 1


async def test_an_error_keeps_its_status_headers_and_body() -> None:
    async with asking([b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\ncontent-length: 4\r\n\r\nwait"]) as (client, _):
        response = await post(client)
    assert (response.status, response.header_map()["retry-after"], response.body) == (429, "7", b"wait")


@pytest.mark.parametrize("reply", BROKEN.values(), ids=BROKEN)
async def test_what_is_no_response_is_an_error_and_ends_the_connection(reply: Sequence[bytes | None]) -> None:
    async with asking(reply, [PLAIN]) as (client, server):
        with pytest.raises((RemoteProtocolError, ReadError)):
            await post(client)
        assert (await post(client)).body == b"{}"
        assert server.connections == 2


@pytest.mark.parametrize("reply", TOO_LARGE.values(), ids=TOO_LARGE)
async def test_a_body_above_the_bound_is_dropped_and_ends_the_connection(reply: Sequence[bytes | None]) -> None:
    async with asking(reply, [PLAIN]) as (client, server):
        assert (await post(client)).body is None
        assert (await post(client)).body == b"{}"
        assert server.connections == 2


async def test_a_connection_is_used_again() -> None:
    async with asking([PLAIN], GOOD["chunks"], [PLAIN]) as (client, server):
        for _ in range(3):
            assert (await post(client)).body == b"{}"
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
    async with asking(first, [PLAIN]) as (client, server):
        assert (await post(client)).body == b"{}"
        async with asyncio.timeout(20):
            while len(first) > 1 and not all(connection.is_lost for connection in client._idle):  # noqa: ASYNC110
                await asyncio.sleep(0.001)
        assert (await post(client)).body == b"{}"
    assert server.connections == 2


async def test_what_comes_after_an_answer_and_before_it_is_taken_is_nobody_s() -> None:
    wire = Wire()
    connection = module._Connection(set())
    connection.connection_made(wire)
    asked = asyncio.ensure_future(connection.exchange(b"", ResponseReader(BOUND, unpacks=True)))
    await asyncio.sleep(0)
    connection.data_received(PLAIN)
    connection.data_received(PLAIN)
    assert (await asked).body == b"{}"
    assert not connection.is_reusable
    assert wire.is_aborted


class Wire(asyncio.Transport):
    is_aborted = False

    def write(self, data: object) -> None:
        pass

    def abort(self) -> None:
        self.is_aborted = True


async def test_a_connection_that_lay_idle_too_long_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IDLE_S", -1.0)
    async with asking([PLAIN], [PLAIN]) as (client, server):
        for _ in range(2):
            await post(client)
    assert server.connections == 2


async def test_a_connection_that_the_server_closed_while_the_event_loop_was_busy_is_not_used_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as threads:
        server.settimeout(20)

        def reply() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(PLAIN)
                closes.wait()

        client = HttpClient(f"http://127.0.0.1:{server.getsockname()[1]}/v1", bytes_max=BOUND)
        for _ in range(2):
            closes = threading.Event()
            replied = threads.submit(reply)
            assert (await post(client)).body == b"{}"
            closes.set()
            replied.result()  # blocks the event loop until the server has closed the connection
        await client.close()


async def test_it_can_be_used_in_one_event_loop_after_the_other() -> None:
    async with asking([PLAIN], [PLAIN]) as (client, server):
        for _ in range(2):
            assert (await asyncio.to_thread(lambda: asyncio.run(post(client)))).body == b"{}"
    assert server.connections == 2


async def test_whoever_gives_up_takes_the_connection_along() -> None:
    async with asking([b"HTTP/1.1 200 OK\r\n"], [PLAIN]) as (client, server):
        asked = asyncio.ensure_future(post(client))
        while not server.requests:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        async with asyncio.timeout(20):
            await server.ended.wait()
        assert (await post(client)).body == b"{}"
    assert server.connections == 2


async def test_where_nobody_listens_nothing_was_sent() -> None:
    async with asking() as (client, _server):
        pass
    for nobody in (client, HttpClient("http://no-such-host.invalid/v1", bytes_max=BOUND)):
        with pytest.raises(ConnectError):
            await post(nobody)


async def test_tls_is_checked_against_the_authorities() -> None:
    authority = trustme.CA()
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(tls)
    server = Scripted([[PLAIN]], tls)
    async with server.serving() as address:
        with pytest.raises(ConnectError):
            await post(HttpClient(address, bytes_max=BOUND))
        known = ssl.create_default_context()
        authority.configure_trust(known)
        client = HttpClient(address, bytes_max=BOUND, tls=lambda: known)
        assert (await post(client)).body == b"{}"
        await client.close()


async def test_a_url_of_the_other_protocol_is_said() -> None:
    async with refusing() as address:
        with pytest.raises(TlsMismatch, match="speaks no TLS: write http://"):
            await post(HttpClient(address.replace("http://", "https://"), bytes_max=BOUND))
    async with Scripted([[b"\x15\x03\x03\x00\x02\x02\x28"]]).serving() as address:
        with pytest.raises(TlsMismatch, match="speaks TLS: write https://"):
            await post(HttpClient(address, bytes_max=BOUND))
