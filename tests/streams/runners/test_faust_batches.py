"""What fences our fetcher and its agent: nothing that a rebalance overtook is taken, nothing that did not arrive is passed over."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import faust
import pytest
from aiokafka.errors import ConsumerStoppedError, KafkaConnectionError, TopicAuthorizationFailedError
from faust.transport.consumer import Consumer as FaustConsumer
from faust.transport.drivers.aiokafka import Consumer as AIOKafkaConsumer
from faust.transport.drivers.aiokafka import Transport as AIOKafkaTransport
from faust.types.tuples import TP as FAUST_TP
from structlog.testing import capture_logs

from tests.streams.fakes import GatedPublisher, make_intake, safe_record
from touchstone.schemas.settings.house import Settings, WorkerSettings
from touchstone.streams.runners import faust_agents, faust_private
from touchstone.streams.runners.base import Job
from touchstone.streams.runners.faust_feeds import MOVED, BatchFeed
from touchstone.streams.runners.faust_private import BATCHES_NEED, BatchConsumer, BatchFetcher, BatchTransport, EventTransport, Name, changed
from touchstone.streams.wire.codec import LEDGER_TYPE

GENERATIONS = "generations"
TP = (GENERATIONS, 0)


def make_job(publisher: GatedPublisher | None = None, **worker: Any) -> Job:
    intake, metrics = make_intake(publisher or GatedPublisher(), **worker)
    return Job(Settings(worker=WorkerSettings(**worker)), intake, metrics, (GENERATIONS,), "fences.step", asyncio.Event())


def records(*offsets: int) -> list[Any]:
    return [safe_record(offset) for offset in offsets]


class Handed:
    """What the intake is handed, by offset."""

    def __init__(self, job: Job) -> None:
        self.offsets: list[int] = []
        start = job.intake.start

        def note(partition: Any, given: Sequence[Any]) -> None:
            self.offsets += [record.offset for record in given]
            start(partition, given)

        job.intake.start = note  # type: ignore[assignment, method-assign]


# -- the agent's side


@pytest.fixture
def feed() -> BatchFeed:
    feed = BatchFeed(make_job())
    feed.fenced = False
    return feed


async def test_a_batch_of_an_assignment_that_has_ended_is_not_taken(feed: BatchFeed) -> None:
    handed = Handed(feed._job)
    old = feed.batch(feed.epoch, TP, records(5))
    feed.forget()
    await feed.take(old)
    await feed.take(feed.batch(feed.epoch, TP, records(0)))  # nobody owns it yet
    assert handed.offsets == []
    feed.forget()
    feed.fenced = False
    await feed.take(old)
    await feed.take(feed.batch(feed.epoch, TP, records(0)))
    assert handed.offsets == [0]


async def test_a_rebalance_while_a_batch_waits_for_room_ends_its_wait_in_nothing() -> None:
    gate = asyncio.Event()

    async def hold(*_: Any) -> None:
        await gate.wait()

    job = make_job(GatedPublisher(hold), window_records=1)
    feed = BatchFeed(job)
    feed.fenced = False
    handed = Handed(job)
    await feed.take(feed.batch(feed.epoch, TP, records(0)))
    waiting = asyncio.create_task(feed.take(feed.batch(feed.epoch, TP, records(1))))
    await asyncio.sleep(0)
    assert not waiting.done()
    feed.forget()
    feed.fenced = False
    job.on_revoked()
    async with asyncio.timeout(10):
        await waiting
    assert handed.offsets == [0]


async def test_what_comes_behind_a_batch_that_was_lost_is_not_taken(feed: BatchFeed) -> None:
    handed = Handed(feed._job)
    first, lost, third = (feed.batch(feed.epoch, TP, records(offset)) for offset in range(3))
    await feed.take(first)
    await feed._job.intake.drain(5)
    await feed.settle()
    del lost
    with capture_logs() as lines:
        await feed.take(third)
    assert (handed.offsets, feed.behind, feed._job.owed) == ([0], True, {TP: 1})
    assert [line["event"] for line in lines] == ["batch_lost"]
    again = feed.batch(feed.epoch, TP, records(1, 2))
    await feed.take(again)
    assert handed.offsets == [0, 1, 2]


async def test_a_batch_whose_taking_failed_is_not_passed_over(feed: BatchFeed) -> None:
    """Faust starts an agent again that raised; its batch is gone."""
    handed = Handed(feed._job)
    start = feed._job.intake.start

    def fails(*_: Any) -> None:
        raise LookupError

    feed._job.intake.start = fails  # type: ignore[assignment, method-assign]
    with pytest.raises(LookupError):
        await feed.take(feed.batch(feed.epoch, TP, records(0)))
    feed._job.intake.start = start  # type: ignore[method-assign]
    await feed.take(feed.batch(feed.epoch, TP, records(1)))
    assert (handed.offsets, feed.behind) == ([], True)


async def test_what_a_seek_brings_again_is_handed_over_once(feed: BatchFeed) -> None:
    handed = Handed(feed._job)
    for offsets in ((0, 1), (0, 1), (1, 2)):
        await feed.take(feed.batch(feed.epoch, TP, records(*offsets)))
    assert handed.offsets == [0, 1, 2]


async def test_only_the_done_prefix_is_owed_to_faust() -> None:
    second = asyncio.Event()

    async def hold_second(topic: str, messages: Sequence[Any]) -> None:
        if b'"e1"' in (messages[0].value or b""):
            await second.wait()

    publisher = GatedPublisher(hold_second)
    job = make_job(publisher)
    feed = BatchFeed(job)
    feed.fenced = False
    for offset in range(3):
        await feed.take(feed.batch(feed.epoch, TP, records(offset)))
    async with asyncio.timeout(10):
        while len(publisher.acknowledged) < 2:  # noqa: ASYNC110 -- what is waited for is no event of ours
            await asyncio.sleep(0.005)
    await feed.settle()
    assert job.owed == {TP: 1}
    second.set()
    await job.intake.drain(5)
    await feed.settle()
    assert job.owed == {TP: 3}


def mark(position: int, start: int) -> list[Any]:
    return [SimpleNamespace(offset=start, value=MOVED, key=str(position).encode(), headers=(), timestamp=0)]


async def test_ranges_that_were_deleted_unread_are_told_in_their_turn() -> None:
    publisher = GatedPublisher()
    job = make_job(publisher)
    feed = BatchFeed(job)
    feed.fenced = False
    await feed.take(feed.batch(feed.epoch, TP, records(4)))
    for position, start in ((5, 20), (20, 30)):
        await feed.take(feed.batch(feed.epoch, TP, mark(position, start)))
    await job.intake.drain(5)
    assert await job.intake.settle() == {TP: 30}
    (record,) = publisher.values("results", LEDGER_TYPE)
    assert record["entries"] == [{"outcome": "expired", "reason": "deleted", "ranges": [[5, 29]]}]


async def test_a_log_that_begins_anew_is_read_from_its_beginning(feed: BatchFeed) -> None:
    handed = Handed(feed._job)
    await feed.take(feed.batch(feed.epoch, TP, records(7)))
    await feed.take(feed.batch(feed.epoch, TP, mark(8, 0)))
    assert feed._job.owed == {TP: 0}
    await feed.take(feed.batch(feed.epoch, TP, records(0)))
    assert handed.offsets == [7, 0]


# -- the fetcher's side, with Faust's own channel


class FakeConsumer:
    """Fetches what it is given, once; then nothing."""

    should_stop = False
    flow_active = True
    failed: str | None = None

    def __init__(self, app: Any, fetched: Sequence[Any]) -> None:
        self.transport = app.transport
        self.fetched = list(fetched)
        self.told: list[str] = []
        self.active: set[Any] = {TP}
        self.asked_for: Any = None

    def _get_active_partitions(self) -> set[Any]:
        return self.active

    async def _getmany(self, active: Any, timeout: float) -> Any:  # noqa: ASYNC109 -- Faust's signature
        self.told.append("fetch")
        self.asked_for = active
        await asyncio.sleep(0.001)
        if not self.fetched:
            return {}
        found = self.fetched.pop(0)
        return found() if callable(found) else found

    async def perform_seek(self) -> None:
        self.told.append("seek")


def fetch(*offsets: int) -> dict[Any, list[Any]]:
    return {FAUST_TP(*TP): records(*offsets)}


class Fetching:
    """A fetcher on a real channel whose one reader is the test."""

    def __init__(self, app: Any, job: Job, fetched: Sequence[Any]) -> None:
        self.app, self.job = app, job
        self.feed: BatchFeed = app.transport.feed
        self.feed.fenced = False
        self.channel = app.transport.channel.__aiter__()
        app.flow_control.resume()
        self.consumer = FakeConsumer(app, fetched)
        app._consumer = self.consumer
        self.task = asyncio.create_task(BatchFetcher._fetcher.fun(BatchFetcher(app)))

    async def next(self) -> list[int]:
        async with asyncio.timeout(10):
            batch = await self.channel.queue.get()
        return [record.offset for record in batch.records]

    async def until(self, condition: Any) -> None:
        async with asyncio.timeout(10):
            while not condition():  # noqa: ASYNC110 -- what is waited for has no event
                await asyncio.sleep(0.002)


@pytest.fixture
async def fetching(tmp_path: Path) -> AsyncIterator[Any]:
    begun: list[Fetching] = []

    def begin(*fetched: Any, **worker: Any) -> Fetching:
        job = make_job(**worker)
        app = faust_agents.make_app(job, str(tmp_path))
        faust_agents.attach(app, job)
        begun.append(Fetching(app, job, fetched))
        return begun[-1]

    yield begin
    for each in begun:
        each.consumer.should_stop = True
        each.task.cancel()
        await asyncio.gather(each.task, return_exceptions=True)


async def test_records_reach_the_agent_in_slices(fetching: Any) -> None:
    it = fetching(fetch(0, 1, 2), slice_records=2)
    assert [await it.next(), await it.next()] == [[0, 1], [2]]


async def test_a_fetch_that_spans_a_rebalance_is_dropped_and_sought_back(fetching: Any) -> None:
    def overtaken() -> Any:
        it.feed.forget()
        it.feed.forget()
        it.feed.fenced = False
        return fetch(5, 6)

    it = fetching(overtaken, fetch(3, 4))
    assert await it.next() == [3, 4]
    assert it.consumer.told[:3] == ["fetch", "seek", "fetch"]


async def test_a_second_fetch_that_spans_a_rebalance_is_dropped_and_sought_back(fetching: Any) -> None:
    def overtaken() -> Any:
        it.feed.forget()
        it.feed.forget()
        it.feed.fenced = False
        return fetch(5, 6)

    it = fetching(fetch(0), overtaken, fetch(3, 4))
    assert [await it.next(), await it.next()] == [[0], [3, 4]]
    assert it.consumer.told[:4] == ["fetch", "fetch", "seek", "fetch"]


async def test_partitions_that_are_paused_while_a_fetch_waits_do_not_open_it_to_all(fetching: Any) -> None:
    """Faust pauses by emptying its set of active partitions, and to aiokafka an empty set means every partition."""
    it = fetching()
    await it.until(lambda: it.consumer.asked_for is not None)
    it.consumer.active.clear()
    assert it.consumer.asked_for == {TP}


async def test_nothing_is_fetched_amid_a_rebalance(fetching: Any) -> None:
    it = fetching(fetch(0))
    it.app.rebalancing = True
    await asyncio.sleep(0.05)
    assert it.consumer.told == []
    it.app.rebalancing = False
    assert await it.next() == [0]


async def test_a_put_that_flow_control_cancels_does_not_end_the_fetcher(fetching: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    it = fetching(fetch(*range(40)), fetch(0), slice_records=1)
    await it.until(it.channel.queue._putters.__len__)
    it.app.rebalancing = True
    it.app.flow_control.suspend()
    it.app.flow_control.clear()
    await asyncio.sleep(0.03)
    assert not it.task.done()
    it.feed.forget()
    it.feed.fenced = False
    it.app.flow_control.resume()
    it.app.rebalancing = False
    assert await it.next() == [0]
    assert "seek" not in it.consumer.told  # Faust itself seeks when a rebalance has ended


async def test_a_put_that_is_cancelled_without_a_rebalance_begins_anew(fetching: Any) -> None:
    it = fetching(fetch(*range(40)), fetch(0), slice_records=1)
    await it.until(it.channel.queue._putters.__len__)
    epoch = it.feed.epoch
    it.app.flow_control.clear()
    assert await it.next() == [0]
    assert (it.feed.epoch, "seek" in it.consumer.told) == (epoch + 1, True)


async def test_a_seek_that_fails_is_made_again_before_anything_is_fetched(fetching: Any) -> None:
    it = fetching()
    await it.until(lambda: "fetch" in it.consumer.told)
    failures = [KafkaConnectionError(), TimeoutError()]

    async def seek() -> None:
        it.consumer.told.append("seek")
        if failures:
            raise failures.pop()

    it.consumer.perform_seek = seek
    it.consumer.told.clear()
    it.feed.behind = True
    await it.until(lambda: it.consumer.told.count("seek") == 3)
    first = it.consumer.told.index("seek")
    assert it.consumer.told[first : first + 3] == ["seek"] * 3
    assert not it.feed.behind


async def test_the_fetcher_ends_when_it_is_cancelled(fetching: Any) -> None:
    it = fetching(fetch(*range(40)), slice_records=1)
    await it.until(it.channel.queue._putters.__len__)
    it.task.cancel()
    async with asyncio.timeout(5):
        with pytest.raises(asyncio.CancelledError):
            await it.task


async def test_while_the_window_is_full_nothing_is_fetched(fetching: Any) -> None:
    it = fetching(fetch(0))
    it.job.intake.has_room = lambda: False
    await asyncio.sleep(0.05)
    assert it.consumer.told == []


# A cancellation in the consumer's thread arrives as one here, where nobody has cancelled.
@pytest.mark.parametrize("error", [TopicAuthorizationFailedError, ConsumerStoppedError, TimeoutError, LookupError, asyncio.CancelledError])
async def test_an_error_that_ends_the_fetcher_ends_the_worker_for_a_new_start(fetching: Any, error: type[BaseException]) -> None:
    def refused() -> Any:
        raise error

    it = fetching(refused)
    with pytest.raises(error):
        await it.task
    assert it.consumer.failed == error.__name__


@pytest.mark.parametrize("shut", ["fenced", "closed"])
async def test_what_nobody_would_take_is_not_fetched(fetching: Any, shut: str) -> None:
    """The agent would drop it, and the next fetch would begin behind it."""
    it = fetching(fetch(0))
    setattr(it.feed, shut, True)
    await asyncio.sleep(0.05)
    assert it.consumer.told == []
    setattr(it.feed, shut, False)
    assert await it.next() == [0]


async def test_a_stale_put_that_is_cancelled_is_no_loss(fetching: Any) -> None:
    it = fetching(fetch(*range(40)), slice_records=1)
    await it.until(it.channel.queue._putters.__len__)
    it.feed.forget()
    epoch = it.feed.epoch
    it.app.flow_control.clear()
    await asyncio.sleep(0.02)
    assert (it.feed.epoch, it.feed.behind) == (epoch, False)


# -- commits


class Committing(BatchConsumer):
    """The consumer with its books alone; the broker's answers are the test's."""

    def __init__(self, job: Job, feed: BatchFeed) -> None:
        self.transport = SimpleNamespace(job=job, feed=feed)


async def test_a_commit_that_fails_stays_owed_and_one_that_succeeds_does_not(monkeypatch: pytest.MonkeyPatch, feed: BatchFeed) -> None:
    job, answers, counted = feed._job, [False, True], list[str]()
    asked: list[Any] = []
    monkeypatch.setattr(job.metrics, "count", counted.append)

    async def commit(_self: Any, offsets: Mapping[Any, int]) -> bool:
        asked.append(dict(offsets))
        return answers.pop(0)

    monkeypatch.setattr(AIOKafkaConsumer, "_commit", commit)
    consumer = Committing(job, feed)
    job.owed[TP] = 5
    for owed in ({TP: 5}, {}):
        assert await consumer._commit(consumer._filter_committable_offsets(())) is not bool(owed)
        assert job.owed == owed
    assert asked == [{TP: 5}, {TP: 5}]
    assert job.positions == {TP: 5}
    assert counted == ["commit_failures", "commits"]


async def test_what_is_settled_while_faust_commits_is_committed_before_the_worker_goes(feed: BatchFeed) -> None:
    """Faust's own commit is under way when the worker asks for its last one: Faust then only waits for that."""
    job, committed, answer = feed._job, list[dict[Any, int]](), asyncio.Event()

    class Slow(Committing):
        _commit_fut = None
        app = SimpleNamespace(client_only=False)
        loop = asyncio.get_running_loop()

        async def force_commit(self, topics: Any = None, start_new_transaction: bool = True) -> bool:
            offsets = self._filter_committable_offsets(())
            await answer.wait()
            committed.append(offsets)
            return True

    consumer = Slow(job, feed)
    job.owed[TP] = 5
    tick = asyncio.create_task(consumer.commit())
    await asyncio.sleep(0)
    job.owed[TP] = 9
    last = asyncio.create_task(faust_agents._commit(consumer, job))
    await asyncio.sleep(0)
    answer.set()
    await asyncio.gather(tick, last)
    assert committed == [{TP: 5}, {TP: 9}]


async def test_a_commit_that_a_rebalance_overtakes_is_not_noted(monkeypatch: pytest.MonkeyPatch, feed: BatchFeed) -> None:
    job = feed._job

    async def commit(_self: Any, offsets: Mapping[Any, int]) -> bool:
        feed.forget()
        job.on_revoked()
        return True

    monkeypatch.setattr(AIOKafkaConsumer, "_commit", commit)
    job.owed[TP] = 5
    consumer = Committing(job, feed)
    await consumer._commit(consumer._filter_committable_offsets(()))
    assert job.positions == {}


# -- Faust's private names


async def test_a_commit_that_faust_begins_when_it_is_cancelled_does_not_hold_the_end_up() -> None:
    """Faust, cancelled while it waits for a commit under way, begins one: a worker that was stopped amid an outage waited for that without end."""

    class Busy:  # what Faust's `commit` asks of a consumer, while the coordinator answers nobody
        commit = FaustConsumer.commit
        maybe_wait_for_commit_to_finish = FaustConsumer.maybe_wait_for_commit_to_finish

        def __init__(self) -> None:
            self.app = SimpleNamespace(client_only=False)
            self.loop = asyncio.get_running_loop()
            self._commit_fut = self.loop.create_future()
            self.begun = 0

        async def force_commit(self, *_: Any, **__: Any) -> bool:
            self.begun += 1
            await asyncio.Future()
            return True

    app: Any = Busy()
    ending = asyncio.create_task(faust_agents._commit(app, make_job(commit_timeout_s=0.05)))
    done, _ = await asyncio.wait({ending}, timeout=10)
    assert done
    await asyncio.sleep(0)
    assert app.begun == 1, "Faust ends with its cancellation now: a wait_for would do"


@pytest.mark.parametrize("name", BATCHES_NEED, ids=lambda name: name.label)
def test_this_faust_has_what_our_fetcher_needs(name: Name) -> None:
    assert name.holds(), f"Faust has changed {name.label}: read its new form, correct runners/faust_private.py and BATCHES_NEED, run every chaos scenario"


def test_a_name_that_is_gone_or_of_another_shape_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert changed() == []
    monkeypatch.delattr(FaustConsumer, "flow_active")
    monkeypatch.setattr(AIOKafkaConsumer, "_commit", lambda self, offsets, metadata: None)
    monkeypatch.setattr(faust.App, "rebalancing", lambda self: False)
    assert changed() == ["Consumer.flow_active", "Consumer._commit", "App.rebalancing"]


async def test_where_faust_has_changed_its_own_fetcher_serves_and_the_log_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(AIOKafkaConsumer, "_commit", lambda self, offsets, metadata: None)
    with capture_logs() as lines:
        app = faust_agents.make_app(make_job(), str(tmp_path))
    assert (type(app.transport), app.transport.Fetcher) == (EventTransport, AIOKafkaTransport.Fetcher)
    (line,) = lines
    assert (line["event"], line["log_level"]) == ("faust_fetcher_stock", "warning")
    assert "Consumer._commit" in line["message"]


@pytest.mark.parametrize(("setting", "transport"), [("batched", BatchTransport), ("stock", EventTransport)])
async def test_the_setting_chooses_the_fetcher(setting: str, transport: type, tmp_path: Path) -> None:
    with capture_logs() as lines:
        app = faust_agents.make_app(make_job(faust_fetcher=setting), str(tmp_path))
    assert (type(app.transport), lines) == (transport, [])


def test_only_one_module_names_what_faust_does_not_promise() -> None:
    """The others of the runner reach into nothing of Faust's."""
    folder = Path(faust_private.__file__).parent
    names = {name.name for name in BATCHES_NEED if name.name.startswith("_")} | {"_acked", "_gap", "_committed_offset", "_coordinator", "_thread"}
    for module in ("faust_agents.py", "faust_feeds.py"):
        text = (folder / module).read_text(encoding="utf-8")
        assert [name for name in names if f".{name}" in text] == [], module
