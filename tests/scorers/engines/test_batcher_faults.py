import asyncio
import ctypes
from collections.abc import Sequence

import pytest

from tests.scorers.engines.fakes import PATIENCE_S, Device, count, limits, running, works
from touchstone.scorers.base import Unavailable
from touchstone.scorers.engines.batcher import RECOVER_AFTER_BATCHES, Batcher, ItemFailed, ItemTooLarge, Work


def poison(*bad: int) -> object:
    def fail(items: Sequence[int]) -> None:
        if set(items) & set(bad):
            raise RuntimeError(f"the secret words of {items}")

    return fail


def memory_for(items_max: int) -> object:
    def fail(items: Sequence[int]) -> None:
        if len(items) > items_max:
            raise MemoryError

    return fail


async def test_a_poison_item_fails_its_own_calls_and_no_other() -> None:
    device = Device()
    device.fail = poison(13)  # type: ignore[assignment]
    async with running(device) as batcher:
        asked = [[1, 2, 3], [4, 13, 5], [13], [5, 6], list(range(20, 60))]
        answers = await asyncio.gather(*(batcher.ask(works(*items)) for items in asked), return_exceptions=True)
        assert [type(answer) for answer in answers] == [list, ItemFailed, ItemFailed, list, list]
        assert answers[4] == [n * 2 for n in range(20, 60)]
        assert count(batcher, "engine_poisoned_items") == 1
        assert await batcher.ask(works(1)) == [2]


async def test_the_words_of_a_failure_are_not_passed_on() -> None:
    device = Device()
    device.fail = poison(13)  # type: ignore[assignment]
    async with running(device) as batcher:
        with pytest.raises(ItemFailed) as caught:
            await batcher.ask(works(13))
        assert caught.value.kind == "RuntimeError"
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None


async def test_what_cannot_be_prepared_is_poison_too() -> None:
    device = Device()

    def prepare(items: Sequence[int]) -> list[int]:
        if 13 in items:
            raise ValueError("no such token")
        return list(items)

    batcher = Batcher("test", prepare, device.forward, limits(wait_s=0.02))
    bad, good = await asyncio.gather(batcher.ask(works(12, 13)), batcher.ask(works(14)), return_exceptions=True)
    assert isinstance(bad, ItemFailed)
    assert good == [28]
    await batcher.close(PATIENCE_S)


async def test_a_model_that_answers_too_few_rows_is_not_believed() -> None:
    batcher: Batcher[int, list[int], int] = Batcher("test", list, lambda _: [], limits(wait_s=0.02))
    with pytest.raises(ItemFailed):
        await batcher.ask(works(1))
    await batcher.close(PATIENCE_S)


async def test_a_device_that_is_unavailable_fails_the_batch_once_and_is_not_asked_in_halves() -> None:
    device = Device()

    def lost(_: object) -> None:
        raise Unavailable("device_failed")

    device.fail = lost
    async with running(device) as batcher:
        with pytest.raises(Unavailable, match="device_failed"):
            await batcher.ask(works(*range(8)))
        assert len(device.batches) == 1


async def test_out_of_memory_halves_the_batch_and_every_item_is_answered() -> None:
    device = Device()
    device.fail = memory_for(3)  # type: ignore[assignment]
    async with running(device) as batcher:
        assert await batcher.ask(works(*range(20))) == [n * 2 for n in range(20)]
        assert count(batcher, "engine_out_of_memory") > 0
        assert count(batcher, "engine_poisoned_items") == 0


async def test_a_lowered_budget_is_remembered_and_comes_back_little_by_little() -> None:
    device = Device()
    device.fail = memory_for(5)  # type: ignore[assignment]
    async with running(device, batch_tokens=10) as batcher:
        await batcher.ask(works(*range(10)))
        assert count(batcher, "engine_batch_budget_tokens") == 5
        device.batches.clear()
        await batcher.ask(works(*range(100, 110)))
        assert max(map(len, device.batches)) == 5  # it does not run into the wall again at once
        device.fail = lambda _: None
        seen = set()
        for n in range(RECOVER_AFTER_BATCHES * 8):
            await batcher.ask(works(n))
            seen.add(count(batcher, "engine_batch_budget_tokens"))
        assert seen == {5, 7, 9, 10}


async def test_one_item_that_does_not_fit_the_memory_fails_by_name() -> None:
    device = Device()

    def fail(items: Sequence[int]) -> None:
        if 13 in items:
            raise MemoryError

    device.fail = fail
    async with running(device) as batcher:
        bad, good = await asyncio.gather(batcher.ask([Work(13, 13, 512)]), batcher.ask([Work(1, 1, 512)]), return_exceptions=True)
        assert isinstance(bad, ItemTooLarge)
        assert bad.tokens == 512
        assert "512 tokens" in str(bad)
        assert good == [2]


async def test_a_killed_inference_thread_answers_everyone_and_the_next_call_starts_anew() -> None:
    device = Device()
    async with running(device, batch_tokens=2, queue_items_max=4) as batcher:

        def die(_: object) -> None:
            raise SystemExit

        device.fail = die
        calls = [asyncio.create_task(batcher.ask(works(*range(10 * n, 10 * n + 6)))) for n in range(4)]  # in flight, prepared, queued and in line
        for call in calls:
            with pytest.raises(Unavailable, match="engine_died"):
                await call
        device.fail = lambda _: None
        assert await batcher.ask(works(1)) == [2]
        assert count(batcher, "engine_deaths") == 1
        assert not batcher._entries


@pytest.mark.parametrize("which", [0, 1])
async def test_a_thread_killed_in_its_sleep_is_noticed(which: int) -> None:
    device = Device()
    async with running(device) as batcher:
        assert await batcher.ask(works(1)) == [2]
        assert batcher._crew is not None
        thread = batcher._crew.threads[which]
        assert thread.ident is not None
        assert ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit)) == 1
        # It dies when it wakes, which is when there is work.
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(Unavailable, match="engine_died"):
                await batcher.ask(works(2))
            assert await batcher.ask(works(3)) == [6]


async def test_an_engine_that_keeps_dying_stays_down_and_says_so() -> None:
    device = Device()

    def die(_: object) -> None:
        raise SystemExit

    device.fail = die
    async with running(device, deaths_max=2) as batcher:
        for n in range(4):
            with pytest.raises(Unavailable, match="engine_died"):
                await batcher.ask(works(n))
        assert len(device.batches) == 2  # the last two calls did not start a thread
        assert count(batcher, "engine_up") == 0


async def test_a_failed_call_in_line_does_not_wait_for_room() -> None:
    device = Device()
    device.fail = poison(0)  # type: ignore[assignment]
    async with running(device, queue_items_max=1, batch_tokens=1) as batcher:
        with pytest.raises(ItemFailed):
            await batcher.ask(works(*range(50)))
        assert await batcher.ask(works(100)) == [200]
        assert len(device.batches) < 50  # the rest of the failed call was not computed
