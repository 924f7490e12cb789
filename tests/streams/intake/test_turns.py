"""Slices of an inline suite begin one in each turn of the event loop."""

import asyncio

from tests.streams.fakes import GatedPublisher, StepScorer, make_intake, safe_record
from touchstone.schemas.case import SafeCase
from touchstone.schemas.result import Scorecard
from touchstone.streams.intake.scoring import _Turns

PARTITIONS = [("generations", number) for number in range(8)]


async def test_the_loop_turns_between_two_slices() -> None:
    seen: list[str] = []

    async def score(case: SafeCase) -> Scorecard:
        seen.append("slice")
        return Scorecard(label="Pass", values={})

    async def other_work() -> None:
        while seen.count("slice") < len(PARTITIONS):
            seen.append("other")
            await asyncio.sleep(0)

    intake, _ = make_intake(GatedPublisher(), StepScorer(score))
    for partition in PARTITIONS:
        intake.start(partition, [safe_record(0)])
    await asyncio.wait_for(other_work(), 5)
    between = seen[seen.index("slice") : len(seen) - seen[::-1].index("slice")]
    assert all("other" in between[at : at + 2] for at in range(len(between) - 1))
    assert await intake.drain(5)


async def test_a_slice_that_waits_for_a_stage_holds_up_no_other_one() -> None:
    away = asyncio.Event()

    async def score(case: SafeCase) -> Scorecard:
        if case.id == "e0" and not away.is_set():
            await away.wait()
        return Scorecard(label="Pass", values={})

    publisher = GatedPublisher()
    intake, _ = make_intake(publisher, StepScorer(score))
    intake.start(PARTITIONS[0], [safe_record(0)])
    intake.start(PARTITIONS[1], [safe_record(1)])
    async with asyncio.timeout(5):
        while len(publisher.values("results")) < 1:  # noqa: ASYNC110 -- what is waited for has no event
            await asyncio.sleep(0.001)
    away.set()
    assert await intake.drain(5)


async def test_what_is_revoked_before_its_turn_leaves_it_to_the_next() -> None:
    intake, _ = make_intake(GatedPublisher())
    for partition in PARTITIONS:
        intake.start(partition, [safe_record(0)])
    await asyncio.sleep(0)
    intake.revoke(PARTITIONS[1:4])
    assert await intake.drain(5)
    assert set(await intake.settle()) == {PARTITIONS[0], *PARTITIONS[4:]}


async def test_what_is_revoked_as_its_turn_comes_leaves_it_to_the_next() -> None:
    turns = _Turns()
    turns._taken = True
    second, third = asyncio.create_task(turns.mine()), asyncio.create_task(turns.mine())
    await asyncio.sleep(0)
    turns._next()
    second.cancel()  # before the task has woken
    await asyncio.wait_for(third, 5)
    assert second.cancelled()
