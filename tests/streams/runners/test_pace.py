"""After small fetches both runners look once more, and then pause, so that slices grow with the load; full slices are fetched without a pause."""

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from faust.types.tuples import TP as FAUST_TP

from tests.streams.fakes import GatedPublisher, StepScorer, make_intake, safe_record
from touchstone.schemas.case import SafeCase
from touchstone.schemas.result import Scorecard
from touchstone.schemas.settings.house import Settings, WorkerSettings
from touchstone.streams.runners import base, direct
from touchstone.streams.runners.base import POLL_S, SOON_S, Job
from touchstone.streams.runners.faust_feeds import BatchFeed
from touchstone.streams.runners.faust_private import BatchFetcher

GENERATIONS = "generations"
SLICE = 4
#: Records of each fetch → what the runner does. The second partition's fetch makes their slices small together, or full.
ROUNDS = [
    pytest.param([[2], [1]], ["fetch", "fetch soon", "pause"], id="small"),
    pytest.param([[2], []], ["fetch", "fetch soon", "pause"], id="nothing more"),
    pytest.param([[2], [6]], ["fetch", "fetch soon"], id="full together"),
    pytest.param([[2, 2], [4]], ["fetch", "fetch soon", "pause"], id="small, of several partitions"),
    pytest.param([[4]], ["fetch"], id="full"),
    pytest.param([[]], ["fetch"], id="nothing"),
]


def make_job(scorer: Any = None) -> Job:
    intake, metrics = make_intake(GatedPublisher(), scorer, slice_records=SLICE)
    return Job(Settings(worker=WorkerSettings(slice_records=SLICE)), intake, metrics, (GENERATIONS,), "pace.step", asyncio.Event())


class Fetched:
    """Hands out the fetches of one round, and notes what is done in it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, sizes: Sequence[Sequence[int]], kind: Any) -> None:
        self.done: list[str] = []
        self._kind = kind
        self._next: dict[int, int] = {}
        self._sizes = list(sizes)

        async def pause(_: Job) -> None:
            self.done.append("pause")

        monkeypatch.setattr(Job, "pace", pause)

    def fetch(self, wait_s: float) -> dict[Any, list[Any]]:
        self.done.append({POLL_S: "fetch", SOON_S: "fetch soon"}[wait_s])
        found = {}
        for partition, size in enumerate(self._sizes.pop(0)):
            first = self._next.get(partition, 0)
            self._next[partition] = first + size
            found[self._kind(GENERATIONS, partition)] = [safe_record(first + number) for number in range(size)]
        return found


@pytest.mark.parametrize(("sizes", "done"), ROUNDS)
async def test_direct_pauses_after_two_small_fetches(monkeypatch: pytest.MonkeyPatch, sizes: Sequence[Sequence[int]], done: list[str]) -> None:
    job = make_job()
    fetched = Fetched(monkeypatch, sizes, TopicPartition)

    async def getmany(timeout_ms: int, max_records: int) -> Any:
        return fetched.fetch(timeout_ms / 1000)

    await direct._poll(job, SimpleNamespace(getmany=getmany), direct._Listener(job))
    assert fetched.done == done
    assert await job.intake.drain(5)


@pytest.mark.parametrize(("sizes", "done"), ROUNDS)
async def test_faust_pauses_after_two_small_fetches(monkeypatch: pytest.MonkeyPatch, sizes: Sequence[Sequence[int]], done: list[str]) -> None:
    job = make_job()
    feed = BatchFeed(job)
    feed.fenced = False
    fetched = Fetched(monkeypatch, sizes, FAUST_TP)

    async def getmany(active: Any, wait_s: float) -> Any:
        return fetched.fetch(wait_s)

    async def put(batch: Any) -> None:
        await feed.take(batch)

    transport = SimpleNamespace(channel=SimpleNamespace(put=put))
    consumer: Any = SimpleNamespace(flow_active=True, _get_active_partitions=lambda: {FAUST_TP(GENERATIONS, 0)}, _getmany=getmany)
    fetcher: Any = SimpleNamespace(app=SimpleNamespace(rebalancing=False, transport=transport))
    fetcher._hand_over = lambda batch: BatchFetcher._hand_over(fetcher, batch)
    fetcher._hand_all_over = lambda *of: BatchFetcher._hand_all_over(fetcher, *of)
    await BatchFetcher._round(fetcher, consumer, feed, job)
    assert fetched.done == done
    assert await job.intake.drain(5)


async def test_a_pause_lasts_until_the_last_slice_has_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "PACE_S", 0.0)
    monkeypatch.setattr(base, "PACE_MAX_S", 60.0)
    gates = [asyncio.Event() for _ in range(3)]
    begun: list[str | None] = []

    async def score(case: SafeCase) -> Scorecard:
        begun.append(case.id)
        await gates[len(begun) - 1].wait()
        return Scorecard(label="Pass", values={})

    async def until(number: int) -> None:
        async with asyncio.timeout(10):
            while len(begun) < number:  # noqa: ASYNC110 -- what is waited for has no event
                await asyncio.sleep(0.001)

    job = make_job(StepScorer(score))
    for partition in range(3):
        job.intake.start((GENERATIONS, partition), [safe_record(0, f"e{partition}")])
    await until(1)
    pausing = asyncio.create_task(job.pace())
    gates[0].set()
    await until(2)
    assert not pausing.done()  # the third slice waits
    gates[1].set()
    async with asyncio.timeout(10):
        await pausing
    assert job.intake.in_flight == 1  # scored meanwhile, with what comes next fetched beside it
    gates[2].set()
    assert await job.intake.drain(5)


async def test_a_turn_that_does_not_come_ends_a_pause_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "PACE_S", 0.0)
    monkeypatch.setattr(base, "PACE_MAX_S", 0.01)
    gate = asyncio.Event()

    async def score(case: SafeCase) -> Scorecard:
        await gate.wait()
        return Scorecard(label="Pass", values={})

    job = make_job(StepScorer(score))
    for partition in range(2):
        job.intake.start((GENERATIONS, partition), [safe_record(0)])
    async with asyncio.timeout(10):
        await job.pace()
    gate.set()
    assert await job.intake.drain(5)


async def test_after_a_revoked_slice_nobody_waits_for_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "PACE_S", 0.0)
    monkeypatch.setattr(base, "PACE_MAX_S", 60.0)
    begun = asyncio.Event()

    async def score(case: SafeCase) -> Scorecard:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    job = make_job(StepScorer(score))
    for partition in range(2):
        job.intake.start((GENERATIONS, partition), [safe_record(0)])
    await begun.wait()
    job.intake.revoke()
    async with asyncio.timeout(10):
        await job.pace()
