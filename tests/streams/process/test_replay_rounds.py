import asyncio
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from tests.streams.fakes import FakeRecord, safe_record
from touchstone.schemas.case import SafeCase
from touchstone.schemas.result import Scorecard
from touchstone.schemas.settings.house import Settings
from touchstone.scorers.base import Reading
from touchstone.streams.account.intervals import Interval
from touchstone.streams.intake.intake import Intake
from touchstone.streams.intake.outbox import Outbox
from touchstone.streams.intake.scoring import RunningSuite
from touchstone.streams.process.replay import Replay, Replayed, catch_up
from touchstone.streams.topics.log_reader import LogReader, Place
from touchstone.streams.wire.codec import Codec

PLACE = ("generations", 0)


class Judged:
    name, version = "toy", "1"

    async def score(self, case: SafeCase) -> Scorecard:
        raise NotImplementedError

    def readings(self) -> list[Reading]:
        return [Reading("judge_cost_usd", "counter", "what it has cost", 0.25, (("model", "m"),))]


def suite() -> RunningSuite:
    return RunningSuite("toy", "1", "0" * 16, Judged(), Codec({"safe": SafeCase}), inline=True)


class Log:
    """A topic of so many records, which notes how far it was read."""

    def __init__(self, records: int) -> None:
        self.records = records
        self.read_to = 0

    async def ends(self) -> dict[Place, int]:
        return {PLACE: self.records}

    async def read(self, start: Mapping[Place, int]) -> AsyncIterator[FakeRecord]:
        for offset in range(start[PLACE], self.records):
            self.read_to = offset
            yield safe_record(offset)


class Taken:
    def __init__(self) -> None:
        self.defect = asyncio.Event()
        self.offsets: list[int] = []

    async def room(self) -> None: ...

    def start(self, place: Place, records: list[FakeRecord]) -> None:
        self.offsets += [record.offset for record in records]


async def test_a_round_reads_what_is_put_aside_and_not_the_rest_of_the_topic() -> None:
    log, taken = Log(1_000), Taken()
    spans = {PLACE: [Interval(10, 11, "shed", "budget"), Interval(14, 14, "shed", "budget")]}
    count = await Replay(suite(), ("generations",), Settings())._feed(cast("Intake", taken), cast("LogReader", log), spans, 2)
    assert (count, taken.offsets, log.read_to) == (3, [10, 11, 14], 14)


@pytest.mark.parametrize(("outcomes", "left"), [({"scored": 5, "shed": 4}, 4), ({"scored": 8, "dead": 1}, 0), ({"scored": 8, "skipped": 1}, 0), ({}, 9)])
def test_what_is_dead_or_skipped_now_is_not_left(outcomes: dict[str, int], left: int) -> None:
    done = Replayed(Counter(budget=11), 9, Counter(outcomes))
    assert (done.left, done.waiting) == (left, left + 2)


async def test_a_process_that_follows_serves_probes_and_what_its_judge_has_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    stop, looked = asyncio.Event(), asyncio.Event()

    async def once(_: Any) -> Replayed:
        looked.set()
        return Replayed(Counter(budget=9), 9, Counter(scored=5, shed=4))

    def page(path: str) -> str:
        with urllib.request.urlopen(f"{started['address']}{path}", timeout=30) as answer:
            return str(answer.read().decode())

    monkeypatch.setattr(Replay, "once", once)
    with capture_logs() as lines:
        following = asyncio.create_task(catch_up(suite(), ("generations",), Settings(), stop))
        await asyncio.wait_for(looked.wait(), 30)
    started = lines[0]
    assert await asyncio.to_thread(page, "/healthz") == await asyncio.to_thread(page, "/readyz") == "ok\n"
    metrics = await asyncio.to_thread(page, "/metrics")
    stop.set()
    await asyncio.wait_for(following, 30)
    assert 'touchstone_replay_events_total{outcome="scored",suite="toy"} 5.0' in metrics
    assert 'touchstone_replay_waiting_events{suite="toy"} 4.0' in metrics
    assert 'touchstone_judge_cost_usd_total{model="m",suite="toy"} 0.25' in metrics
    assert "touchstone_events_consumed_total" not in metrics


async def test_a_round_that_waits_for_broker_or_stage_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    stop, looked, waits, goes_on = asyncio.Event(), asyncio.Event(), asyncio.Event(), asyncio.Event()
    intake, outbox = SimpleNamespace(why_unavailable=""), SimpleNamespace(up=True)

    async def once(self: Replay) -> Replayed:
        if looked.is_set():
            self._at_work = cast("tuple[Intake, Outbox]", (intake, outbox))
            waits.set()
            await goes_on.wait()
        looked.set()
        return Replayed()

    def ready() -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"{lines[0]['address']}/readyz", timeout=30) as answer:
                return int(answer.status), str(answer.read().decode())
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    monkeypatch.setattr(Replay, "once", once)
    with capture_logs() as lines:
        following = asyncio.create_task(catch_up(suite(), ("generations",), Settings(), stop, every_s=0.01))
        async with asyncio.timeout(30):
            await waits.wait()
            assert await asyncio.to_thread(ready) == (200, "ok\n")
            outbox.up = False
            assert await asyncio.to_thread(ready) == (503, "the broker does not accept results\n")
            outbox.up, intake.why_unavailable = True, "a stage is unavailable: judge_down"
            assert await asyncio.to_thread(ready) == (503, "a stage is unavailable: judge_down\n")
            goes_on.set()
            stop.set()
            await following
