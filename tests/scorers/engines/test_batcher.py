import asyncio
import itertools
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scorers.engines.fakes import PATIENCE_S, Device, count, limits, made, running, works
from touchstone.scorers.base import Unavailable
from touchstone.scorers.engines.batcher import Batcher, Work
from touchstone.scorers.engines.batcher_metrics import ITEMS, TOKENS


async def busy(device: Device, batcher: Batcher[int, list[int], int]) -> asyncio.Task[list[int]]:
    """A call that is inside the forward until the device is freed."""
    device.hold()
    call = asyncio.create_task(batcher.ask(works(-1)))
    assert await asyncio.to_thread(device.entered.wait, PATIENCE_S)
    return call


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_rows_come_in_the_order_of_the_call() -> None:
    async with running(Device()) as batcher:
        shuffled = [Work(n, n, 1 + n * 7 % 10) for n in range(100)]
        assert await batcher.ask(shuffled) == [n * 2 for n in range(100)]


async def test_an_empty_call_is_answered_without_a_thread() -> None:
    batcher = made(Device())
    assert await batcher.ask([]) == []
    assert batcher._crew is None


async def test_what_is_submitted_in_one_turn_of_the_loop_goes_together() -> None:
    device = Device()
    async with running(device) as batcher:
        await asyncio.gather(*(batcher.ask(works(n)) for n in range(50)))
        assert [sorted(batch) for batch in device.batches] == [list(range(50))]
        assert count(batcher, "engine_flushes", reason="idle") == 1


async def test_a_batch_is_closed_when_its_budget_is_full() -> None:
    device = Device()
    async with running(device, batch_tokens=40) as batcher:
        await batcher.ask(works(*range(10), length=10))
        assert [len(batch) for batch in device.batches] == [4, 4, 2]
        assert count(batcher, "engine_flushes", reason="budget") == 2


async def test_beside_a_busy_device_a_batch_waits_for_company() -> None:
    device = Device()
    async with running(device) as batcher:
        first = await busy(device, batcher)
        calls = []
        for n in range(3):
            calls.append(asyncio.create_task(batcher.ask(works(n))))
            await settled()
        device.free()
        await asyncio.gather(first, *calls)
        assert [sorted(batch) for batch in device.batches] == [[-1], [0, 1, 2]]


async def test_beside_a_busy_device_the_oldest_item_waits_no_longer_than_its_deadline() -> None:
    device = Device()
    async with running(device, wait_s=0.01) as batcher:
        first = await busy(device, batcher)
        second = asyncio.create_task(batcher.ask(works(1)))
        await asyncio.to_thread(device.wait_prepared, 2)  # closed and prepared while the device was still busy
        assert count(batcher, "engine_flushes", reason="deadline") == 1
        device.free()
        await asyncio.gather(first, second)


async def test_the_next_batch_is_prepared_while_the_device_is_busy() -> None:
    device = Device()
    async with running(device, batch_tokens=2) as batcher:
        first = await busy(device, batcher)
        rest = asyncio.create_task(batcher.ask(works(1, 2, 3, 4)))
        await asyncio.to_thread(device.wait_prepared, 2)
        assert len(device.batches) == 1
        assert len(device.prepared) == 2  # one ahead, not all
        device.free()
        await asyncio.gather(first, rest)


async def test_identical_items_are_computed_once_queued_or_in_flight() -> None:
    device = Device()
    async with running(device) as batcher:
        first = await busy(device, batcher)
        same = [asyncio.create_task(batcher.ask(works(-1, 7, 7))) for _ in range(3)]
        await settled()
        device.free()
        assert await asyncio.gather(first, *same) == [[-2], *[[-2, 14, 14]] * 3]
        assert device.batches == [[-1], [7]]
        assert count(batcher, "engine_collapsed_items") == 8


async def test_work_whose_caller_has_gone_is_not_computed() -> None:
    device = Device()
    async with running(device) as batcher:
        first = await busy(device, batcher)
        gone = asyncio.create_task(batcher.ask(works(1, 2)))
        stays = asyncio.create_task(batcher.ask(works(2, 3)))
        await settled()
        gone.cancel()
        await settled()
        device.free()
        assert await stays == [4, 6]
        await first
        assert device.batches == [[-1], [2, 3]]
        assert count(batcher, "engine_dropped_items") == 1
        with pytest.raises(asyncio.CancelledError):
            await gone


async def test_work_already_prepared_is_dropped_too_when_its_caller_goes() -> None:
    device = Device()
    async with running(device, wait_s=0) as batcher:
        first = await busy(device, batcher)
        gone = asyncio.create_task(batcher.ask(works(1)))
        stays = asyncio.create_task(batcher.ask(works(2)))
        await asyncio.to_thread(device.wait_prepared, 2)
        gone.cancel()
        await settled()
        device.free()
        assert await stays == [4]
        await first
        assert [1] not in device.batches
        assert all(1 not in batch for batch in device.batches)


async def test_a_key_asked_for_again_after_it_was_dropped_is_computed() -> None:
    device = Device()
    async with running(device) as batcher:
        first = await busy(device, batcher)
        gone = asyncio.create_task(batcher.ask(works(1)))
        await settled()
        gone.cancel()
        await settled()
        again = asyncio.create_task(batcher.ask(works(1)))
        await settled()
        device.free()
        assert await again == [2]
        await first


async def test_the_queue_is_bounded_and_a_larger_call_passes_in_pieces() -> None:
    device = Device()
    deepest = 0
    async with running(device, queue_items_max=4, batch_tokens=2) as batcher:

        def look(_: object) -> None:
            nonlocal deepest
            deepest = max(deepest, int(count(batcher, "engine_queue_depth_items")))

        device.fail = look
        assert await batcher.ask(works(*range(100))) == [n * 2 for n in range(100)]
        assert 0 < deepest <= 4


async def test_a_caller_beyond_the_bound_waits_and_callers_are_served_in_turn() -> None:
    device = Device()
    async with running(device, queue_items_max=2, batch_tokens=1) as batcher:
        first = await busy(device, batcher)
        calls = [asyncio.create_task(batcher.ask(works(10 * n, 10 * n + 1))) for n in range(1, 5)]
        await settled()
        assert count(batcher, "engine_queue_depth_items") <= 2
        assert sum(map(len, batcher._lines.values())) >= 2
        device.free()
        assert await asyncio.gather(*calls) == [[20 * n, 20 * n + 2] for n in range(1, 5)]
        await first
        assert device.batches == [[-1], [10], [11], [20], [21], [30], [31], [40], [41]]


async def test_a_caller_that_leaves_the_line_lets_the_next_one_in() -> None:
    device = Device()
    async with running(device, queue_items_max=1, batch_tokens=1) as batcher:
        first = await busy(device, batcher)
        calls = [asyncio.create_task(batcher.ask(works(10 * n, 10 * n + 1))) for n in range(1, 4)]
        await settled()
        calls[0].cancel()
        calls[1].cancel()
        await settled()
        device.free()
        assert await calls[2] == [60, 62]
        await first
        assert not batcher._lines


async def test_closing_finishes_what_was_accepted_and_refuses_what_is_new() -> None:
    device = Device()
    batcher = made(device, queue_items_max=2, batch_tokens=2)
    first = await busy(device, batcher)
    queued = asyncio.create_task(batcher.ask(works(1, 2)))
    in_line = asyncio.create_task(batcher.ask(works(*range(10, 20))))
    await settled()
    closing = asyncio.create_task(batcher.close(PATIENCE_S))
    await settled()
    with pytest.raises(Unavailable, match="engine_closed"):
        await batcher.ask(works(3))
    device.free()
    assert await queued == [2, 4]
    assert await in_line == [n * 2 for n in range(10, 20)]
    await asyncio.gather(first, closing)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("test-")]
    assert count(batcher, "engine_up") == 0


async def test_what_is_left_in_the_queue_at_closing_is_drained_without_waiting_for_company() -> None:
    device = Device()
    batcher = made(device)
    first = await busy(device, batcher)
    queued = asyncio.create_task(batcher.ask(works(1)))
    await settled()
    closing = asyncio.create_task(batcher.close(PATIENCE_S))
    await asyncio.to_thread(device.wait_prepared, 2)
    assert count(batcher, "engine_flushes", reason="drain") == 1
    device.free()
    await asyncio.gather(first, queued, closing)


async def test_closing_twice_or_before_any_work_is_nothing_special() -> None:
    batcher = made(Device())
    await batcher.close()
    await batcher.close()


async def test_a_device_that_does_not_come_back_does_not_hold_the_end() -> None:
    device = Device()
    batcher = made(device)
    first = await busy(device, batcher)
    queued = asyncio.create_task(batcher.ask(works(1)))
    await settled()
    await batcher.close(timeout_s=0.01)
    for call in (first, queued):
        with pytest.raises(Unavailable, match="engine_closed"):
            await call
    device.free()


async def test_nothing_polls() -> None:
    device = Device()
    batcher = made(device)
    waits: list[tuple[str, float | None]] = []

    class Watched(threading.Condition):
        def wait(self, timeout: float | None = None) -> bool:
            waits.append((threading.current_thread().name, timeout))
            return super().wait(timeout)

    batcher._changed = Watched()
    await batcher.ask(works(1))
    await asyncio.gather(*(batcher.ask(works(n)) for n in range(10)))
    await batcher.close(PATIENCE_S)
    # Neither thread ever set itself an alarm, but for the deadline of an item beside a device that was still busy: it slept until it was told.
    assert waits
    assert all(timeout is None or timeout > 900 for _, timeout in waits)
    assert len(waits) <= 30


def test_several_event_loops_share_one_batcher_and_a_closed_one_hurts_nobody() -> None:
    device = Device()
    batcher = made(device)

    async def left_behind() -> None:
        device.hold()
        lost = asyncio.ensure_future(batcher.ask(works(99)))
        assert await asyncio.to_thread(device.entered.wait, PATIENCE_S)
        lost.cancel()

    asyncio.run(left_behind())
    device.free()
    answers: dict[int, Any] = {}

    def caller(base: int) -> None:
        answers[base] = asyncio.run(batcher.ask(works(*range(base, base + 50))))

    threads = [threading.Thread(target=caller, args=(base,)) for base in (0, 25, 1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert answers == {base: [n * 2 for n in range(base, base + 50)] for base in (0, 25, 1000)}
    asyncio.run(batcher.close(PATIENCE_S))


async def test_a_loop_that_was_closed_while_it_stood_in_line_is_passed_over() -> None:
    device = Device()
    async with running(device, queue_items_max=1, batch_tokens=1) as batcher:
        first = await busy(device, batcher)
        full = asyncio.create_task(batcher.ask(works(1)))
        await settled()
        loop = asyncio.new_event_loop()

        def enter_the_line() -> None:
            asyncio.set_event_loop(loop)
            task = loop.create_task(batcher.ask(works(50, 51)))
            loop.call_soon(loop.stop)
            loop.run_forever()
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            loop.close()

        await asyncio.to_thread(enter_the_line)
        last = asyncio.create_task(batcher.ask(works(2)))
        await settled()
        device.free()
        assert await last == [4]
        await asyncio.gather(first, full)


async def test_it_counts_what_it_does() -> None:
    device = Device()
    async with running(device) as batcher:
        await batcher.ask([Work(1, 1, 10), Work(2, 2, 9)])
        assert count(batcher, "engine_tokens") == 19
        assert count(batcher, "engine_padding_tokens") == 1
        assert count(batcher, "engine_inferences") == 2
        assert count(batcher, "engine_batches") == 1
        assert count(batcher, "engine_queue_depth_items") == 0
        assert count(batcher, "engine_queue_limit_items") > 0
        assert count(batcher, "engine_up") == 1
        histograms = {reading.name: reading for reading in batcher.readings() if reading.kind == "histogram"}
        assert set(histograms) == {"engine_queue_wait_seconds", "engine_forward_seconds", "engine_batch_size_items", "engine_batch_size_tokens"}
        for reading in histograms.values():
            bounds = [bound for bound, _ in reading.buckets]
            assert bounds == sorted(bounds)
            assert bounds[-1] == float("inf")
        assert dict(histograms["engine_batch_size_items"].buckets)[2.0] == 1
        assert histograms["engine_batch_size_tokens"].value == 20
        assert all(("engine", "test") in reading.labels for reading in batcher.readings())


@pytest.mark.parametrize("bounds", [ITEMS, TOKENS])
def test_sizes_of_batches_fall_into_powers_of_two(bounds: tuple[float, ...]) -> None:
    assert all(later == 2 * bound for bound, later in itertools.pairwise(bounds))


calls = st.lists(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 60)), max_size=12), max_size=12)


@settings(max_examples=60, deadline=None)
@given(calls, st.integers(1, 200), st.integers(1, 20), st.integers(1, 20), st.sampled_from([0.0, 1000.0]))
def test_any_calls_in_any_order_get_the_answers_of_one_by_one(
    asked: list[list[tuple[int, int]]], batch_tokens: int, look_ahead_items: int, queue_items_max: int, wait_s: float
) -> None:
    async def run() -> list[list[int]]:
        device = Device()
        batcher = Batcher(
            "test",
            device.prepare,
            device.forward,
            limits(batch_tokens=batch_tokens, look_ahead_items=look_ahead_items, queue_items_max=queue_items_max, wait_s=wait_s),
        )
        try:
            return list(await asyncio.gather(*(batcher.ask([Work(item, item, length) for item, length in call]) for call in asked)))
        finally:
            await batcher.close(PATIENCE_S)

    assert asyncio.run(run()) == [[item * 2 for item, _ in call] for call in asked]
