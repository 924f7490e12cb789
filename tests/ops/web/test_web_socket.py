import asyncio
import json
from typing import Any

import pytest
from structlog.testing import capture_logs
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.ops.web.served import ALL, ONE, TOKENS, WAIT_S, Served, served, until
from tests.streams.subscription.made import R0, compact, event, publish, run_of
from touchstone.ops.web import app


def opened(web: Served, query: str = "", **options: Any) -> Any:
    return connect(f"ws{web.address.removeprefix('http')}/v1/ws{query}", proxy=None, **options)


async def told(socket: ClientConnection) -> Any:
    while True:
        message = json.loads(await asyncio.wait_for(socket.recv(), WAIT_S))
        if message["event"] != "touchstone.alive":
            return message


async def test_each_message_is_an_event_with_its_type_and_position() -> None:
    async with served() as web, opened(web) as socket:
        await until(lambda: web.hub.watchers == 1)
        (made,) = run_of(web.hub, 1)
        message = await told(socket)
        assert (message["event"], message["id"], message["data"]) == ("touchstone.result", compact("r0.1-r1.0-p0.0"), json.loads(made.value))


async def test_a_socket_continues_from_a_position_and_filters() -> None:
    async with served() as web:
        run_of(web.hub, 3)
        run_of(web.hub, 1, label="Fail")
        async with opened(web, "?since=r0.1-r1.0-p0.0&label=Pass") as socket:
            assert [(await told(socket))["data"]["event_id"] for _ in range(2)] == ["r0.1", "r0.2"]


@pytest.mark.parametrize("form", ["{}", '{{"token": "{}"}}', '{{"ticket": "{}"}}'])
async def test_the_first_message_may_be_the_token_or_a_ticket(form: str) -> None:
    async with served(tokens=TOKENS) as web:
        ticket = (await web.client.post("/v1/ticket", headers=web.bearer(ONE))).json()["ticket"]
        async with opened(web) as socket:
            await socket.send(form.format(ticket if "ticket" in form else ONE))
            await until(lambda: web.hub.watchers == 1)
            publish(web.hub, event("two", R0, 0, suite="two"), event("one", R0, 1, suite="one"))
            assert (await told(socket))["data"]["suite"] == "one"


async def closed(socket: ClientConnection) -> tuple[int, str]:
    await asyncio.wait_for(socket.wait_closed(), WAIT_S)
    assert socket.close_code is not None
    return socket.close_code, socket.close_reason or ""


@pytest.mark.parametrize(
    ("hello", "why"),
    [
        ("wrong", "the first message has no token of this service"),
        ('{"token": 7}', "the first message has no token of this service"),
        ("[]", "the first message has no token of this service"),
        ("{", "the first message has no token of this service"),
        ('{"ticket": "used"}', "the ticket was used, has expired or is of another service; POST /v1/ticket gives a new one"),
        (b"wrong", "the first message must be text"),
    ],
)
async def test_a_wrong_first_message_is_told_what_is_wrong_with_it(hello: str | bytes, why: str) -> None:
    async with served(tokens=TOKENS) as web, opened(web) as socket:
        run_of(web.hub, 1)
        await socket.send(hello)
        code, reason = await closed(socket)
        assert (code, reason[: len(why)]) == (4401, why)
        assert web.hub.watchers == 0


async def test_a_first_message_that_does_not_come_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "HELLO_S", 0.05)
    async with served(tokens=TOKENS) as web, opened(web) as socket:
        assert await closed(socket) == (4401, "no message came within 0.05 s; send a token of serve.tokens, or a ticket of POST /v1/ticket")


async def test_a_token_without_the_scope_is_told_which() -> None:
    async with served(tokens=("one/feedback:" + ONE,)) as web, opened(web) as socket:
        await socket.send(ONE)
        assert await closed(socket) == (4401, "this needs a token with the scope results (serve.tokens: suites/results:TOKEN)")


async def test_a_misspelt_suite_closes_a_socket_whose_token_comes_first() -> None:
    async with served(tokens=TOKENS, suites=("one_suite", "two")) as web, opened(web, "?suite=one_siute") as socket:
        await socket.send(ALL)
        code, reason = await closed(socket)
        assert (code, reason[:61]) == (4400, "suite: unknown name 'one_siute'; did you mean one_suite? Ther")
        assert len(reason) <= 123


async def test_an_unknown_suite_is_named_in_the_first_message() -> None:
    async with served() as web, opened(web, "?suite=elsewhere") as socket:
        message = json.loads(await asyncio.wait_for(socket.recv(), WAIT_S))
        assert message["event"] == "touchstone.alive"
        assert message["data"]["note"].startswith("suite 'elsewhere' is unknown here and has sent nothing yet (known: ")


async def test_the_end_of_the_service_is_told_and_closes_the_socket() -> None:
    async with served() as web, opened(web) as socket:
        await until(lambda: web.hub.watchers == 1)
        web.hub.close()
        assert (await told(socket))["event"] == "touchstone.closing"
        with pytest.raises(ConnectionClosed) as closed:
            await asyncio.wait_for(socket.recv(), WAIT_S)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1001


async def test_a_client_that_leaves_is_forgotten() -> None:
    async with served() as web:
        async with opened(web):
            await until(lambda: web.hub.watchers == 1)
        await until(lambda: web.hub.watchers == 0 and web.hub.counts.clients == 0)


async def test_a_page_of_another_origin_is_refused() -> None:
    async with served() as web:
        with pytest.raises(InvalidStatus) as refused:
            async with opened(web, origin="http://evil.example"):
                pass
        assert refused.value.response.status_code == 403
        async with opened(web, origin=web.address):
            await until(lambda: web.hub.watchers == 1)


@pytest.mark.parametrize("origin", ["http://[evil", "null", "://", "http://"])
async def test_an_origin_that_is_none_is_refused(origin: str) -> None:
    async with served() as web:
        with pytest.raises(InvalidStatus) as refused:
            async with opened(web, additional_headers={"Origin": origin}):
                pass
        assert refused.value.response.status_code == 403


async def test_what_a_client_says_besides_is_not_listened_to() -> None:
    async with served() as web, opened(web) as socket:
        await until(lambda: web.hub.watchers == 1)
        for said in (b"\x00\xff", "hello", b""):
            await socket.send(said)
        (made,) = run_of(web.hub, 1)
        assert (await told(socket))["data"] == json.loads(made.value)


@pytest.mark.parametrize("first", [None, "x" * 20_000, b"x" * 20_000])
async def test_a_client_that_does_not_say_who_it_is_is_no_defect(first: str | bytes | None) -> None:
    async with served(tokens=TOKENS) as web:
        with capture_logs() as logs:
            async with opened(web) as socket:
                await until(lambda: web.hub.counts.clients == 1)
                if first is not None:
                    await socket.send(first)
                    with pytest.raises(ConnectionClosed):
                        await asyncio.wait_for(socket.recv(), WAIT_S)
            await until(lambda: web.hub.counts.clients == 0)
        assert logs == []


async def test_one_client_too_many_is_refused() -> None:
    async with served(clients_max=1) as web, opened(web):
        await until(lambda: web.hub.watchers == 1)
        with pytest.raises(InvalidStatus) as refused:
            async with opened(web):
                pass
        assert refused.value.response.status_code == 503
