"""What fences a runner against records and commits of an assignment that has ended."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaConnectionError
from faust.transport.drivers.aiokafka import Consumer as AIOKafkaConsumer
from faust.types.tuples import TP as FAUST_TP

from tests.streams.fakes import GatedPublisher, make_intake, safe_record
from touchstone.schemas.settings.house import Settings, WorkerSettings
from touchstone.scorers.backoff import Backoff
from touchstone.streams.intake.incarnations import Incarnations
from touchstone.streams.runners import direct, faust_private
from touchstone.streams.runners.base import Job
from touchstone.streams.runners.faust_feeds import MOVED, EventFeed
from touchstone.streams.wire.codec import LEDGER_TYPE
from touchstone.streams.wire.message import Message

GENERATIONS = "generations"
TP = (GENERATIONS, 0)


def make_job(publisher: GatedPublisher | None = None, **worker: Any) -> Job:
    intake, metrics = make_intake(publisher or GatedPublisher(), **worker)
    return Job(Settings(worker=WorkerSettings(**worker)), intake, metrics, (GENERATIONS,), "fences.step", asyncio.Event())


class FakeEvent:
    def __init__(self, offset: int, generation: int) -> None:
        self.message = SimpleNamespace(
            topic=GENERATIONS,
            partition=0,
            offset=offset,
            generation_id=generation,
            timestamp=time.time(),
            key=None,
            value=safe_record(offset).value,
            headers=None,
        )
        self.acked = False

    def ack(self) -> None:
        self.acked = True


async def test_events_of_an_assignment_that_has_ended_are_neither_taken_nor_acknowledged() -> None:
    publisher = GatedPublisher()
    job = make_job(publisher)
    feed_of = EventFeed(SimpleNamespace(consumer_generation_id=2), job)
    feed_of.fenced = False
    old, between, new = FakeEvent(0, generation=1), FakeEvent(1, generation=2), FakeEvent(0, generation=2)
    await feed_of.take(old)
    feed_of.flush()
    assert job.intake.in_flight == 0
    feed_of.forget()  # a rebalance begins: Faust's generation is still the old one
    await feed_of.take(between)
    feed_of.flush()
    assert job.intake.in_flight == 0
    feed_of.fenced = False
    await feed_of.take(new)
    feed_of.flush()
    await job.intake.drain(1)
    await feed_of.settle()
    assert (old.acked, between.acked, new.acked) == (False, False, True)


async def test_faust_is_told_to_commit_the_done_prefix_and_nothing_behind_it() -> None:
    second = asyncio.Event()

    async def hold_second(topic: str, messages: Sequence[Message]) -> None:
        if b'"e1"' in (messages[0].value or b""):
            await second.wait()

    publisher = GatedPublisher(hold_second)
    job = make_job(publisher, slice_records=1)
    feed_of = EventFeed(SimpleNamespace(consumer_generation_id=1), job)
    feed_of.fenced = False
    events = [FakeEvent(offset, generation=1) for offset in range(3)]
    for event in events:
        await feed_of.take(event)
    async with asyncio.timeout(10):
        while len(publisher.acknowledged) < 2:  # noqa: ASYNC110 -- what is waited for is no event of ours
            await asyncio.sleep(0.005)
    await feed_of.settle()
    assert [event.acked for event in events] == [True, False, False]
    second.set()
    await job.intake.drain(5)
    await feed_of.settle()
    assert all(event.acked for event in events)


class FakeConsumer:
    """Fetches what it is given, and takes the commits that it does not refuse."""

    def __init__(self, fetched: dict[TopicPartition, list[Any]] | None = None) -> None:
        self._fetched = fetched or {}
        self.refuses = False
        self.committed: list[dict[TopicPartition, int]] = []

    async def getmany(self, **_: Any) -> dict[TopicPartition, list[Any]]:
        return self._fetched

    async def commit(self, offsets: dict[TopicPartition, int]) -> None:
        if self.refuses:
            raise KafkaConnectionError
        self.committed.append(offsets)


async def test_direct_hands_nothing_over_that_was_fetched_before_a_rebalance() -> None:
    job = make_job(slice_records=1)
    listener = direct._Listener(job)
    consumer = FakeConsumer({TopicPartition(*TP): [safe_record(0), safe_record(1)]})
    started: list[int] = []

    def start(partition: Any, records: Sequence[Any]) -> None:
        started.append(records[0].offset)
        listener.epoch += 1  # a rebalance, while the second slice waits for its turn

    job.intake.start = start  # type: ignore[method-assign]
    await direct._poll(job, consumer, listener)
    assert started == [0]


async def test_what_an_assignment_has_settled_is_not_committed_in_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The partition may have had another owner in between, who has committed more: its offset would go back, and stay there where it is quiet."""
    job, consumer = make_job(), FakeConsumer()
    job.on_assigned({TP})
    job.owed = {TP: 5}

    async def rebalanced(topics: Any) -> set[str]:
        if topics:  # the question about what is owed
            job.on_revoked()
            job.on_assigned({TP})
        return set(topics)

    monkeypatch.setattr(job.intake, "unchanged", rebalanced)
    await direct.commit(job, consumer)
    assert (consumer.committed, job.positions) == ([], {})


async def test_faust_does_not_commit_in_the_next_assignment_what_this_one_has_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    job = make_job()
    job.on_assigned({TP})
    consumer = SimpleNamespace(transport=SimpleNamespace(job=job))
    assert await faust_private.EventConsumer._unchanged(consumer, {FAUST_TP(*TP): 5}) == {FAUST_TP(*TP): 5}

    async def rebalanced(topics: Any) -> set[str]:
        job.on_assigned({TP})
        return set(topics)

    monkeypatch.setattr(job.intake, "unchanged", rebalanced)
    assert await faust_private.EventConsumer._unchanged(consumer, {FAUST_TP(*TP): 5}) == {}


async def test_a_commit_that_is_answered_in_the_next_assignment_says_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    job, consumer = make_job(), FakeConsumer()
    job.on_assigned({TP})
    job.owed = {TP: 5}

    async def commit(_: Any) -> None:
        job.on_revoked()
        job.on_assigned({TP})

    monkeypatch.setattr(consumer, "commit", commit)
    await direct.commit(job, consumer)
    assert job.positions == {}


async def test_direct_commits_again_what_a_failed_commit_left_owed_though_nothing_newer_comes() -> None:
    job = make_job()
    consumer = FakeConsumer()
    job.intake.start(TP, [safe_record(0)])
    await job.intake.drain(5)
    consumer.refuses = True
    await direct.commit(job, consumer)
    consumer.refuses = False
    await direct.commit(job, consumer)
    assert consumer.committed == [{TopicPartition(*TP): 1}]


async def test_direct_commits_nothing_owed_on_another_topic_of_the_name() -> None:
    job, names = make_job(), {GENERATIONS: "old"}

    async def ask() -> Mapping[str, str]:
        return names

    job.intake._incarnations = Incarnations(dict(names), ask, lambda: Backoff(0.001, 0.002))
    consumer = FakeConsumer()
    job.intake.start(TP, [safe_record(0)])
    await job.intake.drain(5)
    consumer.refuses = True
    await direct.commit(job, consumer)
    consumer.refuses = False
    names[GENERATIONS] = "new"
    await direct.commit(job, consumer)
    assert consumer.committed == []
    assert job.intake.made_anew.is_set()


@pytest.mark.parametrize(("now", "commits"), [("old", 1), ("new", 0)])
async def test_faust_commits_nothing_on_another_topic_of_the_name(monkeypatch: pytest.MonkeyPatch, now: str, commits: int) -> None:
    """Its tick comes up to a second after the acknowledgement, and nothing but the name is in the commit."""
    job, committed = make_job(), []

    async def ask() -> Mapping[str, str]:
        return {GENERATIONS: now}

    async def commit(_self: Any, offsets: Any) -> bool:
        committed.append(offsets)
        return True

    job.intake._incarnations = Incarnations({GENERATIONS: "old"}, ask, lambda: Backoff(0.001, 0.002))
    monkeypatch.setattr(AIOKafkaConsumer, "_commit", commit)
    consumer = faust_private.EventConsumer.__new__(faust_private.EventConsumer)
    consumer.transport = SimpleNamespace(job=job)
    assert await consumer._commit({FAUST_TP(*TP): 5}) is bool(commits)
    assert len(committed) == commits


async def test_faust_tells_every_range_that_was_deleted_before_it_had_told_the_first() -> None:
    publisher = GatedPublisher()
    job = make_job(publisher)
    feed_of = EventFeed(SimpleNamespace(consumer_generation_id=1), job)
    feed_of.fenced = False
    for position, start in ((5, 20), (20, 30)):  # both wait in Faust's buffer
        mark = FakeEvent(start, generation=1)
        mark.message.value, mark.message.key = MOVED, str(position).encode()
        await feed_of.take(mark)
    assert await job.intake.settle() == {TP: 30}
    (record,) = publisher.values("results", LEDGER_TYPE)
    assert record["entries"] == [{"outcome": "expired", "reason": "deleted", "ranges": [[5, 29]]}]
