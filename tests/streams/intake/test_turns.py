"""Slices of an inline suite take turns, and let the event loop turn meanwhile."""

import asyncio

import pytest

from tests.streams.fakes import GatedPublisher, StepScorer, make_intake, safe_record
from touchstone.schemas.case import SafeCase
from touchstone.schemas.result import Scorecard
from touchstone.scorers.base import Unavailable
from touchstone.streams.intake import scoring

CARD = Scorecard(label="Pass", values={"CR": 1.0})


async def test_the_first_slice_is_scored_first_and_others_have_the_loop_between_its_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "TURN_S", 0.0)
    seen: list[tuple[str | None, int]] = []
    turns = 0

    async def score(case: SafeCase) -> Scorecard:
        seen.append((case.id, turns))
        return CARD

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    intake, _ = make_intake(GatedPublisher(), StepScorer(score))
    counting = asyncio.create_task(count())
    for partition in (0, 1):
        intake.start(("generations", partition), [safe_record(offset, f"{partition}.{offset}") for offset in range(3)])
    assert await intake.drain(5)
    counting.cancel()
    assert [event_id for event_id, _ in seen] == ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"]
    at = [turn for _, turn in seen]
    assert at == sorted(set(at))


async def test_a_result_is_published_while_later_slices_wait_for_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "TURN_S", 0.0)
    publisher, published = GatedPublisher(), []

    async def score(case: SafeCase) -> Scorecard:
        published.append(len(publisher.acknowledged))
        return CARD

    intake, _ = make_intake(publisher, StepScorer(score))
    for partition in range(4):
        intake.start(("generations", partition), [safe_record(offset) for offset in range(5)])
    assert await intake.drain(5)
    assert published[-1] >= 10  # the results of two slices are out before the last one is scored


async def test_a_case_that_waits_for_a_stage_gives_its_turn_away() -> None:
    gone = True

    async def score(case: SafeCase) -> Scorecard:
        if gone:
            raise Unavailable("stage_gone")
        return CARD

    intake, metrics = make_intake(GatedPublisher(), StepScorer(score), retry_backoff_min_s=0.01, retry_backoff_max_s=0.01)
    for partition in (0, 1):
        intake.start(("generations", partition), [safe_record(offset) for offset in range(2)])
    async with asyncio.timeout(5):
        while metrics.totals()["consumed"] < 2:  # noqa: ASYNC110 -- the first record of each: the second slice was read, though the first waits
            await asyncio.sleep(0.001)
    gone = False
    assert await intake.drain(5)
    assert metrics.totals()["scored"] == 4


async def test_a_revoked_slice_in_the_midst_of_its_turn_passes_the_turn_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "TURN_S", 0.0)
    first = asyncio.Event()

    async def score(case: SafeCase) -> Scorecard:
        first.set()
        return CARD

    publisher = GatedPublisher()
    intake, metrics = make_intake(publisher, StepScorer(score))
    intake.start(("generations", 0), [safe_record(offset, f"0.{offset}") for offset in range(100)])
    intake.start(("generations", 1), [safe_record(offset, f"1.{offset}") for offset in range(3)])
    await first.wait()
    intake.revoke([("generations", 0)])
    assert await intake.drain(5)
    assert [value["event_id"] for value in publisher.values("results")] == ["1.0", "1.1", "1.2"]
    assert metrics.totals()["in_flight"] == 0
