import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from touchstone.scorers.backoff import Backoff
from touchstone.scorers.base import Lost, Unavailable
from touchstone.scorers.breaker import TIMEOUTS_MAX, Breaker


class Seen:
    def __init__(self) -> None:
        self.told: list[str] = []
        self.failures = 0

    def failed(self, code: str) -> None:
        self.failures += 1

    def opened(self, code: str) -> None:
        self.told.append(f"down {code}")

    def closed(self, code: str) -> None:
        self.told.append(f"up {code}")


class Stage:
    """Fails so many calls, then answers; knows how many asked at once while it was down."""

    def __init__(self, failures: int, code: str = "engine") -> None:
        self.failures = failures
        self.code = code
        self.calls = self.now = self.most_while_down = 0

    async def ask(self) -> str:
        self.calls += 1
        self.now += 1
        if self.failures:
            self.most_while_down = max(self.most_while_down, self.now)
        try:
            await asyncio.sleep(0)
            if self.failures:
                self.failures -= 1
                raise Unavailable(self.code)
            return "answer"
        finally:
            self.now -= 1


def make_breaker(seen: Seen | None = None, pauses: list[float] | None = None) -> Breaker:
    def draw(low: float, high: float) -> float:
        if pauses is not None:
            pauses.append(high)
        return 0.0

    return Breaker(lambda: Backoff(0.1, 5, draw), seen or Seen())


async def bounded(*work: Awaitable[object]) -> list[object]:
    async with asyncio.timeout(10):
        return list(await asyncio.gather(*work))


async def test_cases_that_come_while_a_stage_is_down_wait_for_one_that_asks() -> None:
    stage, seen, pauses = Stage(20), Seen(), []  # type: ignore[var-annotated]
    breaker = make_breaker(seen, pauses)
    first = asyncio.create_task(breaker.call(stage.ask))
    while not breaker.is_open:  # noqa: ASYNC110 -- what is waited for has no event
        await asyncio.sleep(0)
    answers = await bounded(first, *(breaker.call(stage.ask) for _ in range(50)))
    assert answers == ["answer"] * 51
    assert stage.most_while_down == 1
    # 20 that failed, the one that found it back, and one for each of the others.
    assert stage.calls == 20 + 51
    assert len(pauses) == 20
    assert seen.told == ["down engine", "up engine"]
    assert seen.failures == 20


async def test_cases_that_had_asked_when_it_went_down_ask_once_each_and_then_wait() -> None:
    stage = Stage(50 + 7)
    assert await bounded(*(make.call(stage.ask) for make in [make_breaker()] * 50)) == ["answer"] * 50
    assert stage.calls == 50 + 7 + 50


async def test_once_it_answers_all_ask_together_again() -> None:
    breaker, stage = make_breaker(), Stage(1)
    together = asyncio.Barrier(10)

    async def ask() -> str:
        answer = await stage.ask()
        if stage.calls > 2:
            await together.wait()
        return answer

    failed = asyncio.create_task(breaker.call(ask))
    await asyncio.sleep(0)
    assert await bounded(failed, *(breaker.call(ask) for _ in range(10))) == ["answer"] * 11


async def test_a_case_that_no_stage_ever_answers_holds_no_other_up() -> None:
    breaker = make_breaker()
    never = asyncio.create_task(breaker.call(_always("judge_timeout")))
    while not breaker.is_open:  # noqa: ASYNC110 -- what is waited for has no event
        await asyncio.sleep(0)

    async def fine() -> int:
        return 1

    assert sum(await bounded(*(breaker.call(fine) for _ in range(50)))) == 50  # type: ignore[arg-type]
    assert breaker.is_open
    never.cancel()
    await asyncio.wait({never})
    assert not breaker.is_open


async def test_an_answer_to_a_case_that_does_not_need_the_stage_does_not_set_the_others_free() -> None:
    breaker, calls = make_breaker(), Counter[str]()
    back = asyncio.Event()

    async def needs() -> str:
        calls["needs"] += 1
        if not back.is_set():
            raise Unavailable("server")
        return "needed"

    async def plain() -> str:
        calls["plain"] += 1
        return "plain"

    waiting = [asyncio.create_task(breaker.call(needs)) for _ in range(20)]
    while not breaker.is_open:  # noqa: ASYNC110 -- what is waited for has no event
        await asyncio.sleep(0)
    before = calls["needs"]
    assert await bounded(*(breaker.call(plain) for _ in range(20))) == ["plain"] * 20
    # Between two turns of a case that needs the stage there is at most one round of the others, never a herd of its kind.
    assert breaker.is_open
    assert calls["needs"] - before <= 2 * 20 + 1
    back.set()
    assert await bounded(*waiting) == ["needed"] * 20


async def test_two_stages_go_down_and_come_back_by_themselves() -> None:
    seen = Seen()
    breaker, engine, server = make_breaker(seen), Stage(3, "engine"), Stage(5, "server")
    assert await bounded(breaker.call(engine.ask), breaker.call(server.ask)) == ["answer"] * 2
    assert sorted(seen.told) == ["down engine", "down server", "up engine", "up server"]
    assert not breaker.is_open


async def test_what_is_lost_for_good_is_raised_at_once() -> None:
    async def lost() -> None:
        raise Lost("engine_lost")

    with pytest.raises(Lost):
        await make_breaker().call(lost)


async def test_a_defect_while_it_probes_is_raised_and_the_next_one_asks() -> None:
    breaker, stage, defect = make_breaker(), Stage(1), True

    async def ask() -> str:
        nonlocal defect
        answer = await stage.ask()
        if defect:
            defect = False
            raise ZeroDivisionError
        return answer

    outcomes = await bounded(*(asyncio.gather(breaker.call(ask), return_exceptions=True) for _ in range(3)))
    flat = [one for outcome in outcomes for one in outcome]  # type: ignore[attr-defined]
    assert sum(isinstance(one, ZeroDivisionError) for one in flat) == 1
    assert flat.count("answer") == 2
    assert not breaker.is_open


async def test_a_first_attempt_made_elsewhere_counts_as_one() -> None:
    breaker, stage, seen = make_breaker(), Stage(0), Seen()
    breaker = make_breaker(seen)
    assert await breaker.call(stage.ask, Unavailable("engine")) == "answer"
    assert (seen.told, stage.calls) == (["down engine", "up engine"], 1)


async def test_a_stage_that_begins_to_hang_while_it_is_down_does_not_cost_every_case_its_own_time_limit() -> None:
    breaker, hangs, attempts = make_breaker(), False, 0

    async def ask() -> None:
        nonlocal attempts
        attempts += 1
        if not hangs:
            raise Unavailable("judge")
        async with asyncio.timeout(0.02):
            await asyncio.Event().wait()

    waiting = [asyncio.create_task(breaker.call(ask)) for _ in range(20)]
    while not breaker.is_open:  # noqa: ASYNC110 -- what is waited for has no event
        await asyncio.sleep(0)
    hangs, attempts = True, 0
    outcomes = await bounded(asyncio.gather(*waiting, return_exceptions=True))
    assert [type(one) for one in outcomes[0]] == [TimeoutError] * 20  # type: ignore[attr-defined]
    # Three in line, and then all at once.
    assert attempts == TIMEOUTS_MAX + 20
    assert not breaker.is_open


async def test_a_stage_that_hangs_for_a_moment_while_it_is_down_costs_no_case() -> None:
    seen, replies = Seen(), [Unavailable("judge"), TimeoutError(), TimeoutError(), Unavailable("judge"), TimeoutError()]
    breaker = make_breaker(seen)

    async def ask() -> str:
        await asyncio.sleep(0)
        if replies:
            raise replies.pop(0)
        return "answer"

    first = asyncio.create_task(breaker.call(ask))
    while not breaker.is_open:  # noqa: ASYNC110 -- what is waited for has no event
        await asyncio.sleep(0)
    assert await bounded(first, *(breaker.call(ask) for _ in range(9))) == ["answer"] * 10
    assert (seen.told, seen.failures) == (["down judge", "up judge"], 5)


async def test_a_case_that_always_times_out_while_a_stage_is_down_fails_with_the_timeout() -> None:
    breaker, asked = make_breaker(), 0
    never = asyncio.create_task(breaker.call(_always("engine")))
    while not breaker.is_open:  # noqa: ASYNC110 -- what is waited for has no event
        await asyncio.sleep(0)

    async def hang() -> None:
        nonlocal asked
        asked += 1
        raise TimeoutError

    with pytest.raises(TimeoutError):
        await bounded(breaker.call(hang))
    assert asked == TIMEOUTS_MAX
    assert breaker.is_open
    never.cancel()
    await asyncio.wait({never})


async def test_the_pauses_grow_while_two_stages_take_turns_in_failing_and_neither_is_called_back_before_an_answer() -> None:
    seen, pauses, codes = Seen(), [], ["x", "y"] * 5  # type: ignore[var-annotated]
    breaker = make_breaker(seen, pauses)

    async def ask() -> str:
        if codes:
            raise Unavailable(codes.pop(0))
        return "answer"

    assert await bounded(breaker.call(ask)) == ["answer"]
    assert pauses == [0.2, 0.2, 0.4, 0.4, 0.8, 0.8, 1.6, 1.6, 3.2, 3.2]
    assert seen.told[:2] == ["down x", "down y"]
    assert sorted(seen.told[2:]) == ["up x", "up y"]
    assert not breaker.is_open
    assert breaker.is_settled


async def test_a_stage_that_nobody_waits_for_is_available_only_after_an_answer() -> None:
    seen, pauses = Seen(), []  # type: ignore[var-annotated]
    breaker = make_breaker(seen, pauses)
    for _ in range(2):
        gone = asyncio.create_task(breaker.call(_always("engine")))
        while not breaker.is_open:  # noqa: ASYNC110 -- what is waited for has no event
            await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait({gone})
        assert not breaker.is_open
        assert not breaker.is_settled
    assert seen.told == ["down engine"]
    assert pauses == [0.2, 0.4]  # the second outage went on where the first had stopped
    assert await breaker.call(Stage(0).ask) == "answer"
    assert seen.told == ["down engine", "up engine"]
    assert breaker.is_settled


def _always(code: str) -> Callable[[], Awaitable[int]]:
    async def ask() -> int:
        raise Unavailable(code)

    return ask
