"""The one method of Faust that is replaced must keep its contract."""

import asyncio
import gc
import warnings

import pytest

from touchstone.streams.runners.faust_private import PromptRace


class Racer(PromptRace):
    """A service with nothing but the race."""


@pytest.fixture
async def racer() -> Racer:
    return Racer()


async def never() -> None:
    await asyncio.Event().wait()


async def at_once() -> int:
    return 7


async def soon(steps: int = 3) -> int:
    for _ in range(steps):
        await asyncio.sleep(0.001)
    return 7


async def test_a_coroutine_that_does_not_wait_wins_and_the_other_leaves_no_warning(racer: Racer) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        won = await racer.wait_first(at_once(), never())
        gc.collect()
    assert (won.results, won.stopped) == ([7], False)


async def test_no_task_is_made_for_it(racer: Racer) -> None:
    made: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_task_factory(lambda loop, coro, **kwargs: made.append(coro) or asyncio.Task(coro, loop=loop, **kwargs))  # type: ignore[func-returns-value]
    try:
        await racer.wait_first(at_once(), never())
    finally:
        loop.set_task_factory(None)
    assert made == []


async def test_a_coroutine_that_waits_is_driven_to_its_end(racer: Racer) -> None:
    won = await racer.wait_first(soon(), never())
    assert (won.results, won.stopped) == ([7], False)


async def test_another_that_ends_first_wins_and_the_first_is_cancelled(racer: Racer) -> None:
    cancelled = asyncio.Event()

    async def held() -> None:
        try:
            await never()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    await racer.wait_first(held(), soon())
    await asyncio.wait_for(cancelled.wait(), 1)


@pytest.mark.parametrize("steps", [0, 2])
async def test_what_the_first_raises_is_raised(racer: Racer, steps: int) -> None:
    async def fails() -> None:
        for _ in range(steps):
            await asyncio.sleep(0)
        raise LookupError

    with pytest.raises(LookupError):
        await racer.wait_first(fails(), never())


async def test_a_stop_ends_the_wait_of_a_held_first(racer: Racer) -> None:
    waiting = asyncio.create_task(racer.wait_first(never(), never()))
    await asyncio.sleep(0.01)
    racer._stopped.set()
    won = await asyncio.wait_for(waiting, 1)
    assert won.stopped


async def test_cancelling_the_race_cancels_the_first(racer: Racer) -> None:
    cancelled = asyncio.Event()

    async def held() -> None:
        try:
            await never()
        finally:
            cancelled.set()

    waiting = asyncio.create_task(racer.wait_first(held(), never()))
    await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await asyncio.wait_for(cancelled.wait(), 1)


async def test_others_run_between_two_records(racer: Racer) -> None:
    order: list[str] = []

    async def consumer() -> None:
        for _ in range(3):
            await racer.wait_first(at_once(), never())
            order.append("record")

    async def agent() -> None:
        for _ in range(3):
            order.append("agent")
            await asyncio.sleep(0)

    await asyncio.gather(consumer(), agent())
    assert order[:4] != ["record"] * 3 + ["agent"]
