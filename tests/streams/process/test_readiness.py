import asyncio
import time
from types import SimpleNamespace

from tests.streams.fakes import GatedPublisher, make_intake
from touchstone.schemas.settings.house import Settings
from touchstone.streams.process.worker import _ready
from touchstone.streams.runners.base import Job

UP, ANSWERED = SimpleNamespace(up=True), SimpleNamespace(unanswered=lambda: "")


def make_job() -> Job:
    intake, metrics = make_intake(GatedPublisher())
    job = Job(Settings(), intake, metrics, ("generations",), "group", asyncio.Event())
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
