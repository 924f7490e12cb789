import asyncio
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest

from tests.clock import Clock
from tests.doubles.judges.faults import Fault, Kind
from tests.scorers.judges.helpers import PROMPT, Verdict, counted, judged, settings_for
from touchstone.scorers.http.retry_after import retry_after_s
from touchstone.scorers.judges.serve import open_judge
from touchstone.scorers.judges.serve.faults import fault_of
from touchstone.scorers.judges.serve.limits import CLEAN_S, Limits, Places, Rate
from touchstone.scorers.judges.settings import JudgeSettings


async def test_no_more_requests_are_in_flight_than_the_settings_allow() -> None:
    async with judged(concurrency=3, server={"latency_s": 0.02}) as (judge, server):
        await asyncio.gather(*(judge.ask(PROMPT, {"note": f"case {number}"}, Verdict) for number in range(12)))
        assert server.seen.at_once_max == 3


async def test_a_429_halves_the_requests_in_flight_once_for_all_that_met_it() -> None:
    clock = Clock()
    places = Places(16, clock)
    clock.now += 1
    for _ in range(5):
        places.halve(begun=100.5)
    assert places.limit == 8
    places.halve(begun=clock.now + 0.1)
    assert places.limit == 4


async def test_every_while_without_a_429_allows_one_more() -> None:
    clock = Clock()
    places = Places(4, clock)
    places.halve(begun=clock.now + 1)
    for expected in (3, 4, 4):
        clock.now += CLEAN_S
        await places.take()
        places.free()
        assert places.limit == expected


async def test_there_is_always_a_place_for_one() -> None:
    places = Places(1)
    places.halve(begun=float("inf"))
    await asyncio.wait_for(places.take(), 5)


async def test_places_are_given_first_come_first_served_and_none_is_lost() -> None:
    places, order = Places(1), []

    async def use(number: int) -> None:
        await places.take()
        order.append(number)
        await asyncio.sleep(0)
        places.free()

    tasks = [asyncio.create_task(use(number)) for number in range(20)]
    await asyncio.sleep(0)
    for number in (3, 7, 19):
        tasks[number].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == [number for number in range(20) if number not in {3, 7, 19}]
    assert places.used == 0


async def test_a_case_that_leaves_as_its_place_comes_gives_it_back() -> None:
    places = Places(1)
    await places.take()
    waiting = asyncio.create_task(places.take())
    await asyncio.sleep(0)
    places.free()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert places.used == 0


async def taken_at(rate: Rate, amounts: list[float]) -> list[float]:
    """When each amount was granted, in seconds of the loop's own time."""
    loop, granted = asyncio.get_running_loop(), []
    for amount in amounts:
        await rate.take(amount)
        granted.append(loop.time())
    return [moment - granted[0] for moment in granted]


async def test_no_minute_holds_more_than_the_rate() -> None:
    skipped = 0.0
    loop = asyncio.get_running_loop()
    real = loop.time
    loop.time = lambda: real() + skipped  # type: ignore[method-assign]

    async def skip() -> None:
        nonlocal skipped
        while True:
            await asyncio.sleep(0)
            skipped += 0.05

    skipping = asyncio.create_task(skip())
    try:
        for per_minute in (6, 30):
            moments = await taken_at(Rate(per_minute), [1] * (3 * per_minute))
            for start in moments:
                assert sum(start <= moment < start + 60 for moment in moments) <= per_minute
            assert moments[-1] < 60 * 3.5
        moments = await taken_at(Rate(1_000), [900, 50, 300])
        assert moments[-1] >= (300 + 50) / 1_000 * 60 * 0.9
    finally:
        skipping.cancel()
        loop.time = real  # type: ignore[method-assign]


async def test_the_rate_is_shared_by_all_cases() -> None:
    # Ten at once of a hundred a minute, and the others not within the time that the test takes.
    async with judged(requests_per_minute=100, concurrency=50) as (judge, server):
        asked = [asyncio.create_task(judge.ask(PROMPT, {"note": f"case {number}"}, Verdict)) for number in range(30)]
        done, _ = await asyncio.wait(asked, timeout=0.3)
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        assert len(done) <= server.seen.requests <= 10 + 12


async def test_waiting_in_line_is_not_taken_off_a_case_s_time() -> None:
    async with judged(concurrency=1, deadline_s=1.0, server={"latency_s": 0.3}) as (judge, _):
        told = await asyncio.gather(*(judge.ask(PROMPT, {"note": f"case {number}"}, Verdict) for number in range(8)))
        assert len(told) == 8


async def test_a_pause_is_bounded() -> None:
    clock = Clock()
    limits = Limits(JudgeSettings(retry_after_max_s=30), clock)
    limits.slow_down(100.5, 86_400.0)
    assert limits.pause_left_s == 30
    limits.pause_for(1)
    assert limits.pause_left_s == 30


async def test_a_storm_of_429_ends_with_every_case_answered_and_fewer_at_a_time() -> None:
    faults = Fault(Kind.RATE_LIMITED, requests=frozenset(range(1, 30)), retry_after_s=0.05)
    async with judged(faults, concurrency=16, attempts_max=6) as (judge, _):
        told = await asyncio.gather(*(judge.ask(PROMPT, {"note": f"case {number}"}, Verdict) for number in range(30)))
        assert len(told) == 30
        assert counted(judge, "judge_in_flight_limit_calls") < 16


NOW = datetime(2026, 11, 22, 12, 0, 0, tzinfo=UTC)
RETRY_AFTER = [
    ({}, None),
    ({"retry-after": "7"}, 7.0),
    ({"retry-after": "0.5"}, 0.5),
    ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
    ({"retry-after": "Sun, 22 Nov 2026 12:00:30 GMT"}, 30.0),
    ({"retry-after": "Sun, 22 Nov 2026 12:00:30 GMT", "date": "Sun, 22 Nov 2026 12:00:20 GMT"}, 10.0),
    ({"retry-after": "Sun, 22 Nov 2026 11:00:00 GMT"}, 0.0),
    ({"retry-after": "-3"}, None),
    ({"retry-after": "nan"}, None),
    ({"retry-after": "soon"}, None),
    ({"retry-after": "Mon, 01 Jan 99999999999 00:00:00 GMT"}, None),
    ({"retry-after": "Mon, 01 Jan 2020 00:00:00 +99999999999999999"}, None),
    ({"retry-after": "Sun, 22 Nov 2026 12:00:30 GMT", "date": "Sun, 22 Nov 2026 12:00:20 +99999999999999999"}, 30.0),
]


@pytest.mark.parametrize(("headers", "expected"), RETRY_AFTER)
def test_retry_after_is_a_number_or_a_date(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after_s(headers, NOW) == expected


FAULTS = [
    (408, None, "again", "judge_timeout"),
    (409, None, "again", "judge_conflict"),
    (429, {"code": "insufficient_quota"}, "again", "judge_quota"),
    (500, None, "again", "judge_5xx"),
    (529, None, "again", "judge_5xx"),
    (501, {"message": "response_format is not implemented"}, "way", "rejected"),
    (307, None, "settings", "judge_redirected"),
    (400, "Client sent an HTTP request to an HTTPS server.", "settings", "judge_tls"),
    (400, "<center>The plain HTTP request was sent to HTTPS port</center>", "settings", "judge_tls"),
    (400, {"message": "no"}, "case", "rejected"),
    (413, None, "case", "too_long"),
    (422, {"detail": [{"loc": ["body", "response_format"]}]}, "way", "rejected"),
    (400, {"message": "This model's maximum context length is 8192 tokens"}, "case", "too_long"),
    (400, {"code": "content_filter"}, "case", "refused"),
    (400, {"param": "temperature", "message": "Unsupported value"}, "settings", "judge_temperature"),
]


@pytest.mark.parametrize(("status", "body", "kind", "code"), FAULTS)
def test_a_refusal_is_told_apart_by_what_can_be_done(status: int, body: Any, kind: str, code: str) -> None:
    fault = fault_of(status, body, {})
    assert (fault.kind, fault.code) == (kind, code)


async def test_a_server_that_wants_a_parameter_by_its_new_name_gets_it() -> None:
    bodies: list[bytes] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        bodies.append(request.content)
        if b"max_completion_tokens" not in request.content:
            return httpx2.Response(400, json={"error": {"message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}})
        return httpx2.Response(200, json={"choices": [{"message": {"content": '{"score": 2}'}}]})

    judge = open_judge(settings_for("http://127.0.0.1:9/v1"), suite="a_suite", transport=httpx2.MockTransport(respond))
    for number in range(2):
        assert (await judge.ask(PROMPT, {"note": f"case {number}"}, Verdict)).verdict.score == 2
    await judge.close()
    assert [b"max_completion_tokens" in body for body in bodies] == [False, True, True]
