import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest

from tests.streams.fakes import FakeRecord, GatedPublisher, StepScorer, make_intake, safe_record
from touchstone.schemas.case import SafeCase
from touchstone.schemas.result import Scorecard
from touchstone.schemas.settings.house import Settings
from touchstone.scorers.base import Unavailable
from touchstone.streams.process import worker
from touchstone.streams.process.worker import _ready
from touchstone.streams.runners.base import Job

UP, ANSWERED = SimpleNamespace(up=True), SimpleNamespace(unanswered=lambda: "", unread=lambda: "", clock=SimpleNamespace(why=lambda: ""))


def make_job(publisher: GatedPublisher | None = None, **settings: Any) -> Job:
    intake, metrics = make_intake(publisher or GatedPublisher(), **settings)
    job = Job(Settings(worker=intake._settings), intake, metrics, ("generations",), "group", asyncio.Event())
    job.on_assigned({("generations", 0)})
    return job


async def test_a_rebalance_leaves_a_worker_ready_for_as_long_as_rebalances_take() -> None:
    job = make_job()
    assert _ready(job, UP, ANSWERED) == (True, "")  # type: ignore[arg-type]
    job.on_revoked()
    assert _ready(job, UP, ANSWERED)[0]  # type: ignore[arg-type]


async def test_a_worker_that_the_group_gives_nothing_for_long_is_not_ready_however_often_it_joins_anew() -> None:
    job = make_job()
    job.on_revoked()
    job.unassigned_since = time.monotonic() - 10_000
    job.on_joining()
    assert _ready(job, UP, ANSWERED) == (False, "no assignment from the group for 10000 s")  # type: ignore[arg-type]


async def pending() -> None:
    await asyncio.Event().wait()


async def test_work_that_begins_after_a_long_idle_time_has_its_whole_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "READY_PROGRESS_S", 0.2)
    job = make_job(GatedPublisher(lambda *_: pending()))
    await asyncio.sleep(0.3)
    job.intake.start(("generations", 0), [safe_record(0)])
    assert _ready(job, UP, ANSWERED) == (True, "")  # type: ignore[arg-type]
    await asyncio.sleep(0.3)
    assert _ready(job, UP, ANSWERED) == (False, "nothing settled for a minute")  # type: ignore[arg-type]
    job.on_revoked()


async def test_work_that_waited_for_a_stage_has_its_whole_minute_once_the_stage_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "READY_PROGRESS_S", 0.2)
    is_away = True

    async def score(case: SafeCase) -> Scorecard:
        if case.test_id == "slow":
            await pending()
        if is_away:
            raise Unavailable("judge_down")
        return Scorecard(label="Pass", values={})

    job = make_job(GatedPublisher(lambda *_: pending()), scorer=StepScorer(score), inline=False)
    job.intake.start(("generations", 1), [safe_record(0, test_id="slow")])
    await asyncio.sleep(0.01)  # it asks before the stage is away
    job.intake.start(("generations", 0), [safe_record(0)])
    await asyncio.sleep(0.3)
    assert _ready(job, UP, ANSWERED) == (False, "a stage is unavailable: judge_down")  # type: ignore[arg-type]
    is_away = False
    while not job.intake.available:  # noqa: ASYNC110 -- a flag without an event
        await asyncio.sleep(0.01)
    assert job.intake.in_flight
    assert _ready(job, UP, ANSWERED) == (True, "")  # type: ignore[arg-type]
    job.on_revoked()


async def test_a_partition_that_stands_still_while_others_flow_is_told_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "READY_PROGRESS_S", 0.2)
    job = make_job(GatedPublisher(lambda topic, messages: pending() if topic == "dead" else asyncio.sleep(0)), score_timeout_s=0.1)
    job.intake.start(("generations", 0), [FakeRecord(7, b"not JSON")])
    for offset in range(30):
        job.intake.start(("generations", 1), [safe_record(offset)])
        await asyncio.sleep(0.02)
    ready, why = _ready(job, UP, ANSWERED)  # type: ignore[arg-type]
    assert not ready
    assert why.startswith("generations[0] has not moved past offset 7 for ")
    job.on_revoked()


async def test_a_worker_of_whose_topics_something_is_read_by_nobody_is_not_ready() -> None:
    job = make_job()
    watchdog = SimpleNamespace(**vars(ANSWERED) | {"unread": lambda: "missing topic generations"})
    assert _ready(job, UP, watchdog) == (False, "missing topic generations")  # type: ignore[arg-type]
    job.on_revoked()
