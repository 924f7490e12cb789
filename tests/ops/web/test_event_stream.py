import asyncio
import contextlib
import json
import re
import socket
from urllib.parse import urlsplit

import pytest
from websockets.asyncio.client import connect

from tests.ops.web.served import ALL, ONE, TOKENS, TWO, WAIT_S, Served, served, until
from tests.streams.subscription.made import P0, R0, R1, compact, event, publish, read, record, report_bytes, result_bytes, run_of
from touchstone.streams.subscription.events import Event
from touchstone.streams.subscription.positions import read_positions


async def joined(web: Served, count: int = 1) -> None:
    await until(lambda: web.hub.watchers == count)


async def test_a_result_arrives_as_the_bytes_of_its_topic_with_type_and_position() -> None:
    async with served() as web, web.stream() as stream:
        assert stream.answer.headers["content-type"].startswith("text/event-stream")
        await joined(web)
        value = result_bytes("é", label="Fail")
        publish(web.hub, read(record(R1, 0, value)))  # type: ignore[arg-type]
        message = await anext(stream)
        assert (message.event, message.id, message.raw.encode()) == ("touchstone.result", compact("r0.0-r1.1-p0.0"), value)
        assert stream.retry == 2000


async def test_a_report_arrives_under_its_own_type() -> None:
    async with served() as web, web.stream("/v1/events?event=one:v1:result,other") as stream:
        await joined(web)
        run_of(web.hub, 1)
        report = read(record(P0, 0, report_bytes("b"), "one:v1:result"))
        assert isinstance(report, Event)
        publish(web.hub, report)
        message = await anext(stream)
        assert (message.event, message.data["batch_id"]) == ("one:v1:result", "b")


async def test_filters_may_be_repeated_or_separated_by_commas() -> None:
    async with served() as web, web.stream("/v1/events?suite=one&suite=two&label=fail,review&snapshot=10") as stream:
        await joined(web)
        publish(
            web.hub,
            *(
                event(f"{suite}{label}", R0, place, suite=suite, label=label)
                for place, (suite, label) in enumerate([("one", "Pass"), ("one", "Fail"), ("two", "Review"), ("three", "Fail"), ("two", "Warn")])
            ),
        )
        assert [(await anext(stream)).data["event_id"] for _ in range(2)] == ["oneFail", "twoReview"]


async def test_a_snapshot_comes_first() -> None:
    async with served() as web:
        run_of(web.hub, 5)
        async with web.stream("/v1/events?snapshot=2") as stream:
            assert [(await anext(stream)).data["event_id"] for _ in range(2)] == ["r0.3", "r0.4"]


@pytest.mark.parametrize("how", ["header", "query", "both"])
async def test_a_stream_continues_after_the_last_event(how: str) -> None:
    async with served() as web:
        run_of(web.hub, 5)
        query = "" if how == "header" else "?since=r0.3-r1.0-p0.0" if how == "query" else "?since=r0.0-r1.0-p0.0&snapshot=5"
        headers = {} if how == "query" else {"last_event_id": "r0.3-r1.0-p0.0"}
        async with web.stream(f"/v1/events{query}", **headers) as stream:
            assert [(await anext(stream)).data["event_id"] for _ in range(2)] == ["r0.3", "r0.4"]
            await joined(web)
            run_of(web.hub, 1)
            assert (await anext(stream)).data["event_id"] == "r0.5"


async def test_an_id_that_means_nothing_gives_a_reset_and_a_snapshot() -> None:
    async with served() as web:
        run_of(web.hub, 2)
        async with web.stream(last_event_id="of-another-service") as stream:
            message = await anext(stream)
            assert (message.event, message.data) == ("touchstone.reset", {"reason": "unknown"})
            assert (await anext(stream)).data["event_id"] == "r0.0"


async def test_a_quiet_stream_moves_the_position_with_its_heartbeat() -> None:
    async with served(heartbeat_s=0.1) as web:
        ticking = asyncio.create_task(web.hub.tick())
        async with web.stream("/v1/events?label=Fail") as stream:
            await joined(web)
            run_of(web.hub, 3)
            reading = asyncio.create_task(anext(stream))
            await until(lambda: stream.id == compact("r0.3-r1.0-p0.0"))
            assert "alive" in stream.comments
            reading.cancel()
        ticking.cancel()
        await asyncio.gather(ticking, reading, return_exceptions=True)


async def test_the_end_of_the_service_is_told() -> None:
    async with served() as web, web.stream() as stream:
        await joined(web)
        web.hub.close()
        message = await anext(stream)
        assert (message.event, message.id) == ("touchstone.closing", compact("r0.0-r1.0-p0.0"))
        with pytest.raises(StopAsyncIteration):
            await anext(stream)


async def test_one_client_too_many_is_sent_away_and_may_come_later() -> None:
    async with served(clients_max=1) as web:
        async with web.stream():
            await joined(web)
            refused = await web.get("/v1/events")
            assert refused.status_code == 503
            assert int(refused.headers["retry-after"]) > 0
        await until(lambda: web.hub.counts.clients == 0)
        async with web.stream():
            await joined(web)


async def test_a_client_that_leaves_is_forgotten() -> None:
    async with served() as web:
        async with web.stream():
            await joined(web)
        await until(lambda: web.hub.watchers == 0 and web.hub.counts.clients == 0)


async def stalled(web: Served, buffer_bytes: int = 4096) -> socket.socket:
    place = urlsplit(web.address)
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
    client.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(client, (place.hostname, place.port))
    await loop.sock_sendall(client, f"GET /v1/events HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode())
    return client


async def test_a_client_that_takes_nothing_delays_nobody_and_is_cut_off() -> None:
    async with served(send_timeout_s=1, queue_events=50) as web:
        client = await stalled(web)
        await joined(web)
        async with web.stream() as stream:
            await joined(web, 2)
            for number in range(300):
                run_of(web.hub, 1, details={"long": "x" * 30_000})
                assert (await anext(stream)).data["event_id"] == f"r0.{number}"
            await until(lambda: web.hub.watchers == 1)
            await until(lambda: len(web.server._server.server_state.connections) == 1)  # type: ignore[union-attr]
        assert b"touchstone_serve_clients_stalled_total 1.0" in (await web.get("/metrics")).content
        with pytest.raises(ConnectionResetError):  # and what the kernel held for it is gone
            await asyncio.wait_for(read_on(client), WAIT_S)
        client.close()


async def read_on(client: socket.socket) -> None:
    while await asyncio.get_running_loop().sock_recv(client, 1_000_000):
        pass


@pytest.mark.parametrize("begun", [b"", b"GET /v1/events HTTP/1.1\r\nHost: 127.0", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /heal"])
async def test_a_connection_that_does_not_ask_is_ended_and_a_quiet_stream_is_not(begun: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchstone.ops.web.server.REQUEST_S", 0.5)
    async with served() as web, web.stream() as stream, connect(f"ws{web.address.removeprefix('http')}/v1/ws", proxy=None) as quiet:
        await joined(web, 2)
        place = urlsplit(web.address)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        writer.write(begun)
        with contextlib.suppress(ConnectionResetError):
            assert (await asyncio.wait_for(reader.read(), WAIT_S)).endswith(b"ok\n" if b"healthz" in begun else b"")
        writer.close()
        run_of(web.hub, 1)
        assert (await anext(stream)).data["event_id"] == "r0.0"
        messages = [json.loads(await asyncio.wait_for(quiet.recv(), WAIT_S)) for _ in range(2)]
        assert messages[1]["data"]["event_id"] == "r0.0", messages


async def test_a_client_that_was_slow_is_told_what_it_missed() -> None:
    async with served(send_timeout_s=60, queue_events=50) as web:
        client = await stalled(web)
        await joined(web)
        for _ in range(400):
            run_of(web.hub, 1, details={"long": "x" * 30_000})
            await asyncio.sleep(0)
        tail = b""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(WAIT_S):
            while b'touchstone.gap\ndata: {"dropped":' not in tail:
                tail = tail[-100:] + await loop.sock_recv(client, 1_000_000)
        client.close()


async def test_a_client_that_pauses_gets_everything_once_and_in_order() -> None:
    async with served(send_timeout_s=60) as web:
        client = await stalled(web, 1_000_000)
        await joined(web)
        written = web.hub.counts._counters["events_sent"]
        for _ in range(400):
            run_of(web.hub, 1, details={"long": "x" * 30_000})
            await asyncio.sleep(0)
        assert 0 < written["sse",] < 400  # some went straight to the connection, the others wait
        await taken(client, 400)
        run_of(web.hub, 1)
        await taken(client, 1, first=400)
        client.close()


async def taken(client: socket.socket, count: int, first: int = 0) -> None:
    """Read so many events, which must be the next ones; the lines between are those of HTTP chunks."""
    loop = asyncio.get_running_loop()
    found: list[int] = []
    tail = b""
    async with asyncio.timeout(WAIT_S):
        while len(found) < count:
            whole, mark, tail = (tail + await loop.sock_recv(client, 1_000_000)).rpartition(b"\n")
            ids = re.findall(rb"^id: ([\w-]+)\nevent: ", whole + mark, re.MULTILINE)
            found += [(read_positions(one.decode()) or {})[R0] for one in ids]
    assert found == list(range(first + 1, first + count + 1))


async def test_a_client_of_the_older_http_gets_events_without_chunks() -> None:
    async with served() as web:
        place = urlsplit(web.address)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        writer.write(f"GET /v1/events HTTP/1.0\r\nHost: {place.netloc}\r\n\r\n".encode())
        await joined(web)
        made = run_of(web.hub, 2)
        async with asyncio.timeout(WAIT_S):
            last = b"id: " + compact("r0.2-r1.0-p0.0").encode() + b"\nevent: touchstone.result\ndata: " + made[1].value + b"\n\n"
            text = await reader.readuntil(last)
        assert text.endswith(b"data: " + made[0].value + b"\n\n" + last)
        writer.close()


@pytest.mark.parametrize(("token", "seen"), [(ALL, ["one", "two"]), (ONE, ["one"]), (TWO, ["two"])])
async def test_a_token_sees_its_suites_and_no_other(token: str, seen: list[str]) -> None:
    async with served(tokens=TOKENS) as web, web.stream("/v1/events?suite=one,two", token) as stream:
        await joined(web)
        publish(web.hub, event("one", R0, 0, suite="one"), event("two", R0, 1, suite="two"), event("three", R0, 2, suite="three"))
        assert [(await anext(stream)).data["suite"] for _ in seen] == seen


async def test_a_ticket_opens_one_stream() -> None:
    async with served(tokens=TOKENS) as web:
        ticket = (await web.client.post("/v1/ticket", headers=web.bearer(ONE))).json()["ticket"]
        async with web.stream(f"/v1/events?ticket={ticket}") as stream:
            await joined(web)
            publish(web.hub, event("two", R0, 0, suite="two"), event("one", R0, 1, suite="one"))
            assert (await anext(stream)).data["suite"] == "one"
        again = await web.get(f"/v1/events?ticket={ticket}")
        assert (again.status_code, again.json()["error"][:19]) == (401, "the ticket was used")


@pytest.mark.parametrize(
    "query",
    ["label=nice", "snapshot=501", "snapshot=-1", "snapshot=x", "since=yesterday", "suit=one", "suite=" + "x" * 300, "suite=" + ",".join(map(str, range(101)))],
)
async def test_a_wish_that_cannot_be_read_is_one_line(query: str) -> None:
    async with served() as web:
        answer = await web.get(f"/v1/events?{query}")
        assert answer.status_code == 400
        assert query.partition("=")[0] in answer.json()["error"]


async def test_asking_for_the_headers_opens_no_stream() -> None:
    async with served() as web:
        answer = await web.client.head("/v1/events")
        assert (answer.status_code, answer.content) == (200, b"")
        assert web.hub.watchers == 0
