import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import ValidationError
from structlog.testing import capture_logs

from tests.streams.fakes import FakeRecord, GatedPublisher, identity_holds, make_intake, safe_record
from tests.streams.intake.test_intake import until
from touchstone.schemas.settings.house import WorkerSettings
from touchstone.streams.intake.dead_limit import DeadLimit
from touchstone.streams.intake.intake import Intake
from touchstone.streams.wire.message import Message

TP = ("generations", 0)
SLICE = 10
SMALL = {"dead_limit_records": 40, "dead_window_records": 200, "dead_limit_share": 0.5}


def bad(begin: int) -> list[FakeRecord]:
    return [FakeRecord(offset, b"\xff") for offset in range(begin, begin + SLICE)]


def good(begin: int) -> list[FakeRecord]:
    return [safe_record(offset) for offset in range(begin, begin + SLICE)]


def dead_letters(publisher: GatedPublisher) -> int:
    return sum(topic == "dead" for topic, _, _ in publisher.acknowledged)


async def feed(intake: Intake, slices: Sequence[Sequence[FakeRecord]]) -> int:
    """Hand over slices while there is room, each settled before the next; return how many were taken."""
    for taken, records in enumerate(slices):
        if not intake.has_room():
            return taken
        intake.start(TP, records)
        await intake.drain(2)
        await intake.settle()
    return len(slices)


async def test_a_flood_of_dead_letters_is_stopped_and_not_committed() -> None:
    publisher = GatedPublisher()
    intake, metrics = make_intake(publisher, **SMALL)
    with capture_logs() as lines:
        assert await feed(intake, [bad(begin) for begin in range(0, 1000, SLICE)]) == 4
    assert dead_letters(publisher) == 30
    assert intake.flood.startswith("40 of the last 40 records are dead letters (not_utf8 40)")
    assert "--dead-limit off" in intake.flood
    assert await intake.settle() == {}
    assert metrics.totals()["dead"] == 30
    assert intake.in_flight == SLICE
    (line,) = [line for line in lines if line["event"] == "dead_limit_reached"]
    assert (line["count"], line["records"], line["code"]) == (40, 40, "not_utf8 40")


async def test_slices_that_were_in_flight_when_it_was_reached_send_no_dead_letter_either() -> None:
    publisher = GatedPublisher()
    intake, _ = make_intake(publisher, **SMALL)
    with capture_logs() as lines:
        for begin in range(0, 500, SLICE):
            intake.start(TP, bad(begin))
        await intake.drain(2)
    assert dead_letters(publisher) < 40
    assert await intake.settle() == {TP: 30}
    assert len([line for line in lines if line["event"] == "dead_limit_reached"]) == 1


async def test_good_records_before_the_flood_are_committed_and_those_behind_it_wait() -> None:
    publisher = GatedPublisher()
    intake, _ = make_intake(publisher, **SMALL | {"dead_limit_records": 5, "dead_limit_share": 0.1})
    intake.start(TP, good(0))
    intake.start(TP, bad(10))
    intake.start(TP, good(20))
    assert await intake.drain(2)
    assert await intake.settle() == {TP: 10}
    assert intake.in_flight == 2 * SLICE


async def test_it_stays_reached_after_a_rebalance_and_the_accounting_holds() -> None:
    intake, metrics = make_intake(GatedPublisher(), **SMALL)
    await feed(intake, [bad(begin) for begin in range(0, 1000, SLICE)])
    intake.revoke()
    assert not intake.has_room()
    assert intake.flood
    await until(lambda: identity_holds(metrics.totals()))
    assert intake.in_flight == 0


async def test_waiting_for_room_lasts_as_long_as_the_flood_is_not_looked_at() -> None:
    intake, _ = make_intake(GatedPublisher(), **SMALL)
    await feed(intake, [bad(begin) for begin in range(0, 1000, SLICE)])
    waiter = asyncio.create_task(intake.room())
    await asyncio.sleep(0.02)
    assert not waiter.done()
    waiter.cancel()


async def test_a_drain_does_not_wait_for_what_is_held_but_for_everything_else() -> None:
    gate = asyncio.Event()

    async def wait(topic: str, messages: Sequence[Message]) -> None:
        if topic == "results":
            await gate.wait()

    intake, _ = make_intake(GatedPublisher(wait), **SMALL | {"dead_limit_records": 5, "dead_limit_share": 0.1})
    intake.start(TP, bad(0))
    await until(lambda: bool(intake.flood))
    intake.start(("generations", 1), good(0))
    assert not await intake.drain(0.05)
    gate.set()
    assert await intake.drain(2)
    assert await intake.settle() == {("generations", 1): 10}


async def test_told_that_they_shall_be_dead_letters_it_sends_them_all() -> None:
    publisher = GatedPublisher()
    intake, _ = make_intake(publisher, **SMALL, dead_limit="off")
    assert await feed(intake, [bad(begin) for begin in range(0, 500, SLICE)]) == 50
    assert dead_letters(publisher) == 500
    assert intake.flood == ""


async def test_the_state_is_a_metric() -> None:
    from prometheus_client import CollectorRegistry, generate_latest

    intake, metrics = make_intake(GatedPublisher(), **SMALL)
    registry = CollectorRegistry()
    registry.register(metrics)
    assert 'touchstone_dead_limit_reached{suite="step"} 0.0' in generate_latest(registry).decode()
    await feed(intake, [bad(begin) for begin in range(0, 1000, SLICE)])
    assert 'touchstone_dead_limit_reached{suite="step"} 1.0' in generate_latest(registry).decode()


def limit(**settings: Any) -> DeadLimit:
    return DeadLimit(WorkerSettings(**settings))


def test_by_default_a_thousand_dead_records_and_half_of_the_window_are_let_through() -> None:
    by_default = limit()
    assert all(by_default.admits(100, {"not_json": 50}) for _ in range(500))
    for _ in range(9):
        assert limit().admits(100, {"not_json": 100})


@pytest.mark.parametrize(("dead", "reached"), [(50, False), (51, True)])
def test_both_share_and_number_must_be_passed(dead: int, reached: bool) -> None:
    one = limit(dead_limit_records=50)
    one.admits(100 - dead, {})
    assert one.admits(dead, {"not_json": dead}) is not reached


@pytest.mark.parametrize("settings", [{"dead_window_records": 500}, {"dead_limit_records": 10_001}])
def test_a_window_too_small_for_the_limit_is_refused(settings: dict[str, int]) -> None:
    with pytest.raises(ValidationError, match="lower dead_limit_records or raise dead_window_records"):
        WorkerSettings(**settings)


def test_a_window_as_large_as_the_limit_is_enough_to_reach_it() -> None:
    one = limit(dead_limit_records=500, dead_window_records=500)
    assert [one.admits(100, {"not_json": 100}) for _ in range(5)] == [True] * 4 + [False]


def test_what_lies_behind_the_window_does_not_count() -> None:
    one = limit(dead_limit_records=50, dead_window_records=100)
    assert one.admits(100, {"not_json": 49})
    for _ in range(20):
        assert one.admits(10, {})
    assert one.admits(10, {"not_json": 10})
    assert (one.dead, one.records) == (10, 100)
