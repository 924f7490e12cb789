"""A server that answers nobody gets the requests in flight, then one at each interval; a case that fails alone delays nobody."""

import asyncio
import re
import socket
import time
from collections.abc import Sequence
from typing import Any

import pytest

from tests.doubles.judges.asked import Asked
from tests.doubles.judges.faults import Fault, Kind
from tests.doubles.judges.replies import Reply
from tests.scorers.judges.helpers import PROMPT, Verdict, counted, judged, score_of, scripted, settings_for
from touchstone.scorers.base import Unavailable
from touchstone.scorers.judges.ask.judge import Answer, Judge, Unanswered
from touchstone.scorers.judges.serve import open_judge
from touchstone.scorers.judges.serve.faults import BROKEN_OFF
from touchstone.scorers.judges.serve.gate import Gate

CASES = 200
CONCURRENCY = 20
INTERVAL_S = 0.2
AWAY: dict[str, Any] = {
    "concurrency": CONCURRENCY, "timeout_s": 0.3, "deadline_s": 0.9, "retry_backoff_min_s": INTERVAL_S, "retry_backoff_max_s": INTERVAL_S,
}  # fmt: skip
#: For tests in which some requests are answered: on a busy machine an answer takes longer than those above wait.
PATIENT = AWAY | {"timeout_s": 1.5, "deadline_s": 4.5}
KINDS = [Kind.HANG, Kind.ERROR_503, Kind.RATE_LIMITED, Kind.DRIP, Kind.RESET]


async def ask(judge: Judge, number: int) -> Answer[Verdict]:
    return await judge.ask(PROMPT, {"note": f"case {number} of many"}, Verdict)


async def ask_all(judge: Judge, cases: int = CASES, window: int = CASES) -> Sequence[Any]:
    """The outcomes of all cases, so many of them at a time."""
    places = asyncio.Semaphore(window)

    async def one(number: int) -> Answer[Verdict]:
        async with places:
            return await ask(judge, number)

    return await asyncio.gather(*(one(number) for number in range(cases)), return_exceptions=True)


def requests_max(elapsed_s: float) -> float:
    """In flight at first, and then one at each interval."""
    return CONCURRENCY + 1 + elapsed_s / INTERVAL_S


@pytest.mark.parametrize(("kind", "window"), [*((kind, CASES) for kind in KINDS), (Kind.HANG, CONCURRENCY)])
async def test_a_server_that_answers_nobody_gets_one_request_an_interval_and_costs_one_deadline(kind: Kind, window: int) -> None:
    async with judged(Fault(kind, pace_s=0.05), **AWAY) as (judge, server):
        begun = time.monotonic()
        told = await ask_all(judge, window=window)
        elapsed_s = time.monotonic() - begun
        assert all(isinstance(each, Unavailable) for each in told)
        assert server.seen.requests <= requests_max(elapsed_s)
        assert elapsed_s < 5 * AWAY["deadline_s"]
        assert counted(judge, "judge_up") == 0
        # New cases fail at once, but for the one that tries.
        before, begun = server.seen.requests, time.monotonic()
        await ask_all(judge, 40, window=1)
        elapsed_s = time.monotonic() - begun
        assert server.seen.requests - before <= 1 + elapsed_s / INTERVAL_S


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_server_that_cannot_be_connected_to_is_tried_once_an_interval(scheme: str) -> None:
    """With https, the server is there and does not speak TLS."""
    async with judged(**AWAY) as (_, server):
        url = server.base_url.replace("http:", f"{scheme}:")
        if scheme == "http":
            await server.__aexit__(None, None, None)
        judge = open_judge(settings_for(url, **{**AWAY, "timeout_s": 10.0, "connect_timeout_s": 0.4, "deadline_s": 3.0}), suite="a_suite")
        begun = time.monotonic()
        told = await ask_all(judge)
        elapsed_s = time.monotonic() - begun
        assert {each.code for each in told if isinstance(each, Unavailable)} == {"judge_connection"}
        assert counted(judge, "judge_calls") <= requests_max(elapsed_s)
        assert server.seen.connections <= requests_max(elapsed_s)
        await judge.close()


async def test_a_server_that_begins_to_hang_is_away_also_for_questions_that_run() -> None:
    """A second wave may be in flight when the first request fails."""

    def answer(asked: Asked) -> Any:
        return scripted(asked) if asked.number <= 50 else Reply(fault=Fault(Kind.HANG))

    async with judged(answer=answer, server={"latency_s": 0.02}, **PATIENT) as (judge, server):
        begun = time.monotonic()
        told = await ask_all(judge)
        elapsed_s = time.monotonic() - begun
        assert sum(isinstance(each, Answer) for each in told) == 50
        assert sum(isinstance(each, Unavailable) for each in told) == CASES - 50
        assert server.seen.requests <= 50 + CONCURRENCY + requests_max(elapsed_s)
        assert elapsed_s < 5 * PATIENT["deadline_s"]


async def test_a_server_that_comes_back_is_asked_by_all_again() -> None:
    async with judged(Fault(Kind.HANG, seconds=6.0), **PATIENT) as (judge, server):
        assert all(isinstance(each, Unavailable) for each in await ask_all(judge, 60))
        async with asyncio.timeout(30):
            while True:
                try:
                    await ask(judge, 1_000)
                except Unavailable:
                    await asyncio.sleep(0.05)
                else:
                    break
        assert counted(judge, "judge_up") == 1
        before = server.seen.requests
        assert all(isinstance(each, Answer) for each in await ask_all(judge, 60))
        assert server.seen.requests == before + 60


@pytest.mark.parametrize(("concurrency", "kind"), [(1, Kind.HANG), (1, Kind.ERROR_503), (2, Kind.HANG), (10, Kind.HANG)])
async def test_a_case_that_fails_alone_takes_nobody_s_time(concurrency: int, kind: Kind) -> None:
    def answer(asked: Asked) -> Any:
        return Reply(fault=Fault(kind)) if "case 0 " in asked.text else scripted(asked)

    chosen = {**AWAY, "concurrency": concurrency, "retry_backoff_min_s": 30.0, "retry_backoff_max_s": 30.0, "cache": "off"}
    async with judged(answer=answer, server={"latency_s": 0.03}, **chosen) as (judge, _):
        for window in (1, 10):
            async with asyncio.timeout(25):  # nobody waits for the interval
                told = await ask_all(judge, 10, window=window)
            assert isinstance(told[0], Unanswered | Unavailable)
            assert [each.verdict.score for each in told[1:]] == [score_of(f"case {number}") for number in range(1, 10)]
        assert counted(judge, "judge_up") == 1


async def test_a_refusal_of_a_case_shows_that_the_server_is_there() -> None:
    def answer(asked: Asked) -> Any:
        return Reply(fault=Fault(Kind.TOO_LONG)) if asked.number > CONCURRENCY + 2 else Reply(fault=Fault(Kind.ERROR_503))

    async with judged(answer=answer, **AWAY) as (judge, _):
        assert {type(each) for each in await ask_all(judge, 60)} == {Unanswered}
        assert counted(judge, "judge_up") == 1


async def _serve_one_at_a_time(turn: asyncio.Lock, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One request of a server with a single place, which case 0 occupies until its client hangs up."""
    head = await reader.readuntil(b"\r\n\r\n")
    body = await reader.readexactly(int(re.findall(rb"content-length: (\d+)", head.lower())[0]))
    gone = asyncio.ensure_future(reader.read(1))
    async with turn:
        if b"case 0 " in body:
            await gone
        if not gone.done():
            said = b'{"choices": [{"message": {"content": "{\\"score\\": 3}"}}]}'
            writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%b" % (len(said), said))
    gone.cancel()
    writer.close()


async def test_a_case_that_occupies_a_server_with_one_place_does_not_take_the_time_of_the_others() -> None:
    turn = asyncio.Lock()
    server = await asyncio.start_server(lambda reader, writer: _serve_one_at_a_time(turn, reader, writer), "127.0.0.1", 0)
    chosen = {**AWAY, "timeout_s": 2.0, "deadline_s": 6.0, "attempts_max": 1, "retry_backoff_min_s": 0.1, "retry_backoff_max_s": 20.0}
    judge = open_judge(settings_for(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", **chosen), suite="a_suite")
    told = await ask_all(judge, 10)
    # A case may have been sent each time behind the one that hangs.
    assert sum(isinstance(each, Answer) for each in told[1:]) >= 8
    await judge.close()
    server.close()


def test_a_judge_that_is_asked_from_one_event_loop_after_another_is_told_each_time_that_the_server_hangs() -> None:
    """As by calls of `score` with an open suite."""

    async def one(judge: Judge, number: int) -> Any:
        async with asyncio.timeout(5 * AWAY["deadline_s"]):
            return (await asyncio.gather(ask(judge, number), return_exceptions=True))[0]

    with socket.create_server(("127.0.0.1", 0)) as hangs:
        judge = open_judge(settings_for(f"http://127.0.0.1:{hangs.getsockname()[1]}/v1", **AWAY), suite="a_suite")
        assert all(isinstance(asyncio.run(one(judge, number)), Unavailable) for number in range(4))
        asyncio.run(judge.close())


async def test_a_case_that_is_cancelled_while_it_waits_lets_the_next_one_try() -> None:
    gate = Gate(settings_for("http://127.0.0.1:1/v1", timeout_s=60.0, deadline_s=60.0, retry_backoff_min_s=0.01, retry_backoff_max_s=0.01))
    for key in (b"a", b"b", b"c"):
        passage = gate.enter_at_once(key) or await gate.enter(key)
        assert gate.begin(passage)
        gate.failed(passage, BROKEN_OFF)
        gate.end(passage)
    new = gate.enter(b"d")
    new.send(None)  # it waits for the next interval, and is not there when that comes
    failed_before = asyncio.create_task(gate.enter(b"a"))
    await asyncio.sleep(0.1)  # the interval comes: a case that has not failed goes first
    assert not failed_before.done()
    with pytest.raises(asyncio.CancelledError):
        new.throw(asyncio.CancelledError())
    async with asyncio.timeout(5):
        assert (await failed_before).probes


async def test_where_nobody_can_pay_for_a_request_those_that_wait_end_after_a_deadline() -> None:
    """One case has failed, and nobody can try again: without requests nobody else fails, and the server would never count as away."""
    now = 0.0
    gate = Gate(settings_for("http://127.0.0.1:1/v1", timeout_s=10.0, deadline_s=10.0), lambda: 3600.0, lambda: now)
    for key in (b"a", b"b"):
        passage = gate.enter_at_once(key) or await gate.enter(key)
        assert gate.begin(passage)
        gate.failed(passage, BROKEN_OFF)
        gate.end(passage)
    now = 11.0
    waiting = asyncio.create_task(gate.enter(b"c"))
    await asyncio.sleep(0)
    assert not waiting.done()
    gate.hindered()
    async with asyncio.timeout(60):
        with pytest.raises(Unavailable):
            await waiting
