import asyncio
import time
from collections.abc import Sequence

import pytest

from tests.scorers.http.scripted import BOUND, BROKEN, GOOD, PLAIN, TOO_LARGE, Scripted, refusing
from touchstone.scorers.http.blocking_client import BlockingHttpClient
from touchstone.scorers.http.responses import Response

# It unpacks nothing, so a broken gzip is no error to it.
BADLY_FRAMED = {name: reply for name, reply in BROKEN.items() if name not in {"half a gzip", "packed unknown"}}
UNPACKED = {name: reply for name, reply in GOOD.items() if name not in {"packed", "deflated"}}


async def post(client: BlockingHttpClient) -> Response:
    return await asyncio.to_thread(client.send, "POST", "", b'{"a":1}')


def client_of(address: str, *, timeout_s: float = 20, keeps_connections: bool = False) -> BlockingHttpClient:
    return BlockingHttpClient(address, timeout_s=timeout_s, bytes_max=BOUND, keeps_connections=keeps_connections)


@pytest.mark.parametrize("reply", UNPACKED.values(), ids=UNPACKED)
async def test_a_response_is_read_whole_however_it_comes(reply: Sequence[bytes | None]) -> None:
    server = Scripted([reply])
    async with server.serving() as address:
        response = await post(client_of(address))
    assert (response.status, response.body) == (200, b"{}")
    assert server.requests[0].startswith(b"POST /v1 HTTP/1.1\r\nHost: 127.0.0.1:")


async def test_a_compressed_body_stays_as_it_is() -> None:
    server = Scripted([GOOD["packed"]])
    async with server.serving() as address:
        assert ((await post(client_of(address))).body or b"").startswith(b"\x1f\x8b")


@pytest.mark.parametrize("reply", BADLY_FRAMED.values(), ids=BADLY_FRAMED)
async def test_what_is_no_response_is_an_error(reply: Sequence[bytes | None]) -> None:
    server = Scripted([reply])
    async with server.serving() as address:
        with pytest.raises(ConnectionError, match="RemoteProtocolError"):
            await post(client_of(address))


async def test_a_body_above_the_bound_is_dropped() -> None:
    replies = [reply for name, reply in TOO_LARGE.items() if name != "a bomb"]
    server = Scripted(replies)
    async with server.serving() as address:
        assert [(await post(client_of(address))).body for _ in replies] == [None] * len(replies)


@pytest.mark.parametrize(("keeps_connections", "connections"), [(True, 1), (False, 3)])
async def test_a_connection_is_used_again_where_that_is_asked_for(keeps_connections: bool, connections: int) -> None:
    server = Scripted([[PLAIN]] * 3)
    async with server.serving() as address:
        client = client_of(address, keeps_connections=keeps_connections)
        for _ in range(3):
            assert (await post(client)).body == b"{}"
        del client
    assert server.connections == connections


async def test_bytes_that_answer_no_request_end_a_kept_connection() -> None:
    server = Scripted([[PLAIN, b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n"], [PLAIN]])
    async with server.serving() as address:
        client = client_of(address, keeps_connections=True)
        for _ in range(2):
            assert (await post(client)).body == b"{}"
            await asyncio.sleep(0.1)
        del client
    assert server.connections == 2


@pytest.mark.parametrize("reply", [[b"HTTP/1.1 200 OK\r\nx: ", *[b"y"] * 400], [b"HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n", *[b"y"] * 400], []])
async def test_the_deadline_holds_for_the_whole_exchange(reply: Sequence[bytes | None]) -> None:
    server = Scripted([reply], pause_s=0.02)
    async with server.serving() as address:
        begun = time.monotonic()
        with pytest.raises(TimeoutError):
            await post(client_of(address, timeout_s=0.3))
        assert time.monotonic() - begun < 5


@pytest.mark.parametrize(
    ("url", "headers"),
    [("ftp://host", {}), ("http://", {}), ("http://[x/", {}), ("http://host:99999", {}), ("http://é..x/", {}), ("http://host", {"a": "b\r\nc: d"})],
)
def test_what_cannot_be_asked_is_refused_at_once(url: str, headers: dict[str, str]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        BlockingHttpClient(url, headers, timeout_s=1, bytes_max=1)


async def test_a_url_of_the_other_protocol_is_said() -> None:
    async with refusing() as address:
        with pytest.raises(ConnectionError, match="speaks no TLS: write http://"):
            await post(client_of(address.replace("http://", "https://")))
    async with Scripted([[b"\x15\x03\x03\x00\x02\x02\x28"]]).serving() as address:
        with pytest.raises(ConnectionError, match="speaks TLS: write https://"):
            await post(client_of(address))
