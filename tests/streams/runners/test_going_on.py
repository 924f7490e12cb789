"""Where a partition is read on, if Kafka does not have the offset that is next."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.streams.fakes import GatedPublisher, StepScorer, identity_holds, make_intake, safe_record
from touchstone.schemas.case import SafeCase
from touchstone.schemas.result import Scorecard
from touchstone.schemas.settings.house import Settings
from touchstone.streams.runners.base import Job
from touchstone.streams.wire.codec import LEDGER_TYPE
from touchstone.streams.wire.message import Message

TP = ("generations", 0)


def make_job(publisher: GatedPublisher, **options: Any) -> Job:
    intake, metrics = make_intake(publisher, **options)
    job = Job(Settings(), intake, metrics, ("generations",), "group", asyncio.Event())
    job.on_assigned({TP})
    return job


def told(publisher: GatedPublisher) -> list[dict[str, Any]]:
    return [entry for record in publisher.values("results", LEDGER_TYPE) for entry in record["entries"]]


async def test_deleted_offsets_are_passed_only_behind_their_ledger_record() -> None:
    down = True

    async def gate(topic: str, messages: Sequence[Message]) -> None:
        if down:
            raise OSError

    publisher = GatedPublisher(gate)
    job = make_job(publisher)
    assert job.go_on(TP, 20, 5) == 20
    assert await job.intake.settle() == {}
    down = False
    assert await job.intake.settle() == {TP: 20}
    assert told(publisher) == [{"outcome": "expired", "reason": "deleted", "ranges": [[5, 19]]}]
    totals = job.metrics.totals()
    assert identity_holds(totals)
    assert totals["in_flight"] == 0


async def test_deleted_offsets_take_their_turn_behind_what_is_in_flight() -> None:
    done = asyncio.Event()

    async def score(case: SafeCase) -> Scorecard:
        await done.wait()
        return Scorecard(label="Pass", values={})

    publisher = GatedPublisher()
    job = make_job(publisher, scorer=StepScorer(score), inline=False)
    job.intake.start(TP, [safe_record(4)])
    job.go_on(TP, 20, 5)
    job.intake.start(TP, [safe_record(20)])
    assert await job.intake.settle() == {}
    done.set()
    assert await job.intake.drain(5)
    assert await job.intake.settle() == {TP: 21}
    assert told(publisher)[0]["ranges"] == [[5, 19]]
    assert identity_holds(job.metrics.totals())


async def test_what_a_rebalance_takes_away_before_it_is_told_is_no_record_given_back() -> None:
    job = make_job(GatedPublisher())
    job.go_on(TP, 20, 5)
    job.on_revoked()
    assert identity_holds(job.metrics.totals())
    assert job.metrics.totals()["released"] == 0


@pytest.mark.parametrize(("start", "at", "expired"), [(0, 0, []), (7, 7, [[0, 6]])])
async def test_a_partition_that_the_group_has_never_committed_is_owed_from_offset_0(start: int, at: int, expired: list[list[int]]) -> None:
    publisher = GatedPublisher()
    job = make_job(publisher)
    assert job.go_on(TP, start, None) == at
    await job.intake.settle()
    assert [entry["ranges"] for entry in told(publisher)] == ([expired] if expired else [])


async def test_a_group_that_could_not_commit_its_beginning_begins_there() -> None:
    publisher = GatedPublisher()
    job = make_job(publisher)
    job.begins = {TP: 7}
    assert job.go_on(TP, 7, None) == 7
    await job.intake.settle()
    assert told(publisher) == []


async def test_a_position_past_the_end_is_of_another_log_whose_beginning_is_committed() -> None:
    publisher = GatedPublisher()
    job = make_job(publisher)
    job.on_committed({TP: 40})
    assert job.go_on(TP, 3, 40) == 3
    assert (job.positions, job.owed) == ({}, {TP: 3})
    job.intake.start(TP, [safe_record(3)])
    assert await job.intake.drain(5)
    assert await job.intake.settle() == {TP: 4}
    assert told(publisher) == []
