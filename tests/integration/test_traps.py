"""The traps of the streaming libraries that our use could meet, and the naive form beside ours where it can be shown.

docs/traps.md lists them all, and those that we cannot meet.
"""

import asyncio
import gc
import json
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from faust.transport.drivers.aiokafka import Consumer as FaustConsumer
from faust.types import tuples

from tests.integration.brokers import Broker
from tests.streams.fakes import GatedPublisher, StepScorer, make_intake, safe_record
from touchstone.ops.lab.chaos.checks import check_commits, check_topics
from touchstone.ops.lab.chaos.evidence import Evidence, Letter, Position, SentResult, gather
from touchstone.ops.lab.chaos.grounds import Field, Grounds
from touchstone.ops.lab.chaos.observer import Observer, Sample
from touchstone.ops.lab.chaos.plan import Plan, Poison, make_plan
from touchstone.ops.lab.chaos.processes import Child, Fleet
from touchstone.ops.lab.chaos.topiclog import Feeder, Offsets, read_all
from touchstone.schemas.case import SafeCase
from touchstone.schemas.result import Scorecard
from touchstone.schemas.settings.house import TOPIC_ROLES, KafkaSettings, Settings, WorkerSettings
from touchstone.streams.intake.outbox import Outbox
from touchstone.streams.process.watchdog import Watchdog
from touchstone.streams.runners import faust_agents, faust_private
from touchstone.streams.runners.base import Clock, Job, Stalled
from touchstone.streams.runners.direct import make_consumer
from touchstone.streams.runners.faust_agents import make_app
from touchstone.streams.telemetry.metrics import WorkerMetrics
from touchstone.streams.wire.codec import LEDGER_TYPE, RESULT_TYPE
from touchstone.streams.wire.message import Message

GENERATIONS = "generations"
TP = (GENERATIONS, 0)
EVENTS = 24
#: A busy machine takes long; what hangs hangs for good.
PATIENCE_S = 240.0


@pytest.fixture(autouse=True)
def _finalized() -> Iterator[None]:
    """Apps that never run are finalized here, with their test, and not amid whatever the session does last."""
    yield
    gc.collect()


def is_ledger(messages: Sequence[Message]) -> bool:
    return dict(messages[0].headers).get("ce_type") == LEDGER_TYPE.encode()


def make_job(publisher: GatedPublisher | None = None, **worker: Any) -> Job:
    settings = Settings(worker=WorkerSettings(**worker))
    intake, metrics = make_intake(publisher or GatedPublisher(), **worker)
    return Job(settings, intake, metrics, (GENERATIONS,), "traps.step", asyncio.Event())


def faust_app(job: Job, folder: Path) -> Any:
    return make_app(job, str(folder))


async def until(condition: Any, seconds: float = PATIENCE_S) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 -- what is waited for is no event of ours
            await asyncio.sleep(0.05)


# -- what Faust does by itself (traps 1, 2, 3, 4), on a real broker


@pytest.mark.slow
@pytest.mark.parametrize("form", ["concurrent", "exception", "sink", "decode"])
def test_naive_faust_commits_what_it_has_lost(form: str, embedded: Broker, tmp_path: Path) -> None:
    """Out-of-order acknowledgement, an exception, results through a sink while two produces fail, and a decode error."""
    assert embedded.embedded is not None
    embedded.create_topics({"in": 1, "out": 1})
    producer = Producer({"bootstrap.servers": embedded.bootstrap_servers})
    for number in range(EVENTS):
        producer.produce("in", b"\xff" if form == "decode" and number == 3 else json.dumps(str(number)).encode(), partition=0)
    producer.flush(10)
    if form == "sink":
        embedded.embedded.inject_errors("Produce", [87, 87])
    naive = subprocess.Popen([sys.executable, "-m", "tests.integration.naive_faust", form, embedded.bootstrap_servers, "in", "out", "naive", str(tmp_path)])
    offsets = Offsets(embedded.bootstrap_servers, "naive")
    deadline = time.monotonic() + 60
    while offsets.committed("in", 1) != (EVENTS,):
        assert naive.poll() is None, "the naive form ended by itself"
        assert time.monotonic() < deadline, "the naive form commits nothing"
        time.sleep(0.1)
    if form == "sink":
        time.sleep(1)  # results may still come after the commit: time for them, so that only what is lost is missing
    committed = offsets.committed("in", 1)
    offsets.close()
    naive.kill()  # in the midst of work: whatever is committed by now is what a restart would go by
    naive.wait(10)
    assert committed == (EVENTS,)
    assert len(list(read_all(embedded.bootstrap_servers, "out", 1))) < EVENTS


@pytest.mark.slow
@pytest.mark.parametrize("runner", ["faust", "direct"])
def test_ours_accounts_for_every_event_of_the_same_kinds(runner: str, embedded: Broker, tmp_path: Path) -> None:
    """The same trouble: poison, two failing produces, slices that overtake one another; and no topic and no port that nobody asked for."""
    assert embedded.embedded is not None
    field, plan = a_field(embedded, tmp_path, slice_records="1"), make_plan(7, EVENTS * 4, partitions=4, poison=Poison(0.05, ("not_utf8", "wrong_schema")))
    feed(plan, field)
    # Codes that no client retries by itself, so that they reach whoever sent.
    embedded.embedded.inject_errors("Produce", [87, 87])
    fleet = Fleet(runner, "safe_v0", field.environment, tmp_path, 2)
    try:
        fleet.start(0, 1)
        drain(field)
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", 6066)) != 0, "Faust's own web server listens"
        fleet.ask_to_leave(0)
        fleet.ask_to_leave(1)
        assert fleet.troubles == []
    finally:
        fleet.kill_all()
    counts = check_topics(plan, gather(field, plan))
    assert (counts.violations, counts.lost, counts.doubled, counts.dead) == ([], 0, 0, counts.dead_expected)
    topics = AdminClient({"bootstrap.servers": embedded.bootstrap_servers}).list_topics(timeout=10).topics
    assert sorted(topics) == sorted(field.topic(role) for role in TOPIC_ROLES)


def a_field(broker: Broker, folder: Path, **worker: str) -> Field:
    knobs = {f"TOUCHSTONE_WORKER_{name.upper()}": value for name, value in worker.items()}
    short = {"TOUCHSTONE_WORKER_SESSION_TIMEOUT_S": "3", "TOUCHSTONE_WORKER_HEARTBEAT_INTERVAL_S": "0.5", "TOUCHSTONE_WORKER_COMMIT_INTERVAL_S": "0.2"}
    field = Field(Grounds("embedded", embedded=broker.embedded), folder, "traps", short | knobs)
    field.make_topics()
    return field


def feed(plan: Plan, field: Field) -> None:
    feeder = Feeder(plan, field.grounds.bootstrap_servers, field.topic("generations"), 0)
    feeder.start()
    feeder.join(timeout=PATIENCE_S)
    assert not feeder.refused


def drain(field: Field, seconds: float = PATIENCE_S) -> None:
    offsets = Offsets(field.grounds.bootstrap_servers, field.group)
    deadline = time.monotonic() + seconds
    while offsets.committed(field.topic("generations"), 4) != offsets.ends(field.topic("generations"), 4):
        assert time.monotonic() < deadline, "events are never committed"
        time.sleep(0.05)
    offsets.close()


# -- the intake: order, failure, and settlements that meet (traps 1, 2, 3)


async def test_naive_bookkeeping_commits_past_an_event_in_flight_and_ours_waits(tmp_path: Path) -> None:
    """Faust with nothing committed yet takes the first acknowledgement, whichever it is, for the prefix."""
    job = make_job()
    naive = faust_app(job, tmp_path).consumer
    partition = tuples.TP(*TP)
    naive._acked[partition] = [5]
    assert naive._new_offset(partition) == 6  # offsets 0 to 4 are in flight

    first = asyncio.Event()

    async def hold_first(topic: str, messages: Sequence[Message]) -> None:
        if b'"e0"' in (messages[0].value or b""):
            await first.wait()

    publisher = GatedPublisher(hold_first)
    intake, _ = make_intake(publisher)
    for offset in range(6):
        intake.start(TP, [safe_record(offset)])
    await until(lambda: len(publisher.acknowledged) == 5)
    assert await intake.settle() == {}
    first.set()
    await intake.drain(1)
    assert await intake.settle() == {TP: 6}


async def test_a_scorer_that_raises_leaves_a_result_that_says_so() -> None:
    async def score(case: SafeCase) -> Scorecard:
        raise ZeroDivisionError

    publisher = GatedPublisher()
    intake, _ = make_intake(publisher, StepScorer(score))
    intake.start(TP, [safe_record(0)])
    await intake.drain(1)
    assert await intake.settle() == {TP: 1}
    (result,) = publisher.values("results", RESULT_TYPE)
    assert (result["label"], result["failures"][0]["code"]) == ("unscored", "ZeroDivisionError")


async def test_offsets_without_a_record_hold_no_commit_back() -> None:
    """Transaction markers and compaction leave gaps (trap 8)."""
    intake, _ = make_intake(GatedPublisher())
    intake.start(TP, [safe_record(3), safe_record(7)])
    intake.start(TP, [safe_record(12)])
    await intake.drain(1)
    assert await intake.settle() == {TP: 13}


# -- the producer (traps 3, 14)


@pytest.mark.parametrize("code", [7, 29, 45, 87])
async def test_a_publish_ends_only_when_the_broker_has_the_record(code: int, embedded: Broker) -> None:
    """Retriable, unauthorised, out of sequence, invalid: the naive form waits for the buffer alone, and never hears of it."""
    assert embedded.embedded is not None
    embedded.create_topics({"naive": 1, "ours": 1})
    naive = AIOKafkaProducer(bootstrap_servers=embedded.bootstrap_servers, acks="all", request_timeout_ms=500, retry_backoff_ms=50)
    await naive.start()
    embedded.embedded.inject_errors("Produce", [code] * 30)
    future = await naive.send("naive", b"x", partition=0)  # here a sink would be content
    await naive.flush()
    naive_has = await asyncio.to_thread(lambda: len(list(read_all(embedded.bootstrap_servers, "naive", 1))))
    assert naive_has == 0
    assert future.exception() is not None
    embedded.embedded.clear_errors("Produce")
    await naive.stop()

    worker = WorkerSettings(retry_backoff_min_s=0.05, retry_backoff_max_s=0.1)
    outbox = Outbox(KafkaSettings(bootstrap_servers=embedded.bootstrap_servers), worker, WorkerMetrics("step", "1", "test"))
    await outbox.start()
    assert outbox._producer is not None
    assert outbox._producer._txn_manager is not None, "not idempotent"
    embedded.embedded.inject_errors("Produce", [code] * 3)
    await asyncio.wait_for(outbox.publish("ours", 0, [Message(b"k", b"x", [])]), 20)
    assert await asyncio.to_thread(lambda: len(list(read_all(embedded.bootstrap_servers, "ours", 1)))) == 1
    await outbox.stop()


# -- rebalances (traps 6, 7, 8, 9 and what chaos found)


async def test_where_nothing_was_committed_faust_is_made_to_seek(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """aiokafka seeks to a commit only: what Faust dropped when a rebalance began would never come again."""
    partition = tuples.TP(*TP)

    async def nothing_committed(_: Any) -> dict[Any, None]:
        return {partition: None}

    monkeypatch.setattr(FaustConsumer, "seek_to_committed", nothing_committed)
    job = make_job()
    job.begins = {TP: 11}
    consumer = faust_app(job, tmp_path).consumer
    assert isinstance(consumer, faust_private.EventConsumer)
    sought: list[Any] = []

    async def seek_wait(partitions: Any) -> None:
        sought.append(dict(partitions))

    consumer.seek_wait = seek_wait
    consumer._committed_offset[partition] = 40  # a commit that failed, which Faust believes in
    await FaustConsumer.seek_to_committed(consumer)
    assert sought == []
    await consumer.seek_to_committed()
    assert sought == [{partition: 11}]
    assert consumer._committed_offset[partition] is None


async def test_after_offsets_that_were_deleted_faust_commits_what_comes_next(tmp_path: Path) -> None:
    """It waits for every offset in between, and a gap of deleted ones is never closed."""
    partition = tuples.TP(*TP)
    consumer = faust_app(make_job(), tmp_path).consumer
    assert isinstance(consumer, faust_private.EventConsumer)

    def acked(*offsets: int) -> None:
        consumer._acked[partition].extend(offsets)
        consumer._acked_index[partition].update(offsets)

    consumer._committed_offset[partition] = 5
    acked(20, 21, 23)
    assert consumer._new_offset(partition) is None
    consumer.jump(TP, 22)
    acked(22)
    assert consumer._new_offset(partition) == 24


@pytest.mark.parametrize("runner", ["faust", "direct"])
@pytest.mark.slow
def test_an_answer_that_aiokafka_does_not_know_ends_no_membership(runner: str, embedded: Broker, tmp_path: Path) -> None:
    """It holds the error for its own getmany and joins no more until then; the naive worker sits outside its group, silent."""
    assert embedded.embedded is not None
    field, plan = a_field(embedded, tmp_path), make_plan(3, 40, partitions=4)
    feed(plan, field)
    embedded.embedded.inject_errors("SyncGroup", [42])
    worker = Child("worker", ["worker", "--suite", "safe_v0", "--runner", runner], field.environment, tmp_path)
    try:
        worker.start()
        drain(field)
        assert worker.has_logged("consumer_failed")
        assert worker.leave() == 0
    finally:
        worker.kill()


@pytest.mark.parametrize("runner", ["faust", "direct"])
@pytest.mark.slow
def test_sigterm_is_heard_while_no_assignment_comes(runner: str, embedded: Broker, tmp_path: Path) -> None:
    assert embedded.embedded is not None
    field = a_field(embedded, tmp_path)
    embedded.embedded.inject_errors("JoinGroup", [14] * 10_000)
    worker = Child("worker", ["worker", "--suite", "safe_v0", "--runner", runner], field.environment, tmp_path)
    try:
        worker.start()
        assert worker.wait_for("worker_started")
        began = time.monotonic()
        assert worker.leave(30) == 0
        assert time.monotonic() - began < 15
    finally:
        worker.kill()


class FakeGroup:
    """A consumer that is asked for a log's bounds, and what the group has committed."""

    def __init__(self, end: int, committed: int | None) -> None:
        self._end, self._committed = end, committed
        self.asked: list[int] = []

    async def look(self, watchdog: Watchdog) -> None:
        watchdog._ownership.committed = self.committed  # type: ignore[method-assign]
        await watchdog._look(self)

    async def end_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, self._end)

    async def beginning_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 0)

    async def committed(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int | None]:
        self.asked.append(len(partitions))
        return dict.fromkeys(partitions, self._committed)


async def test_a_worker_outside_its_group_ends_loudly() -> None:
    job = make_job()
    watchdog = Watchdog(job)
    await FakeGroup(5, None).look(watchdog)  # joining takes a while
    job.unassigned_since = job.joining_since = time.monotonic() - 10_000
    with pytest.raises(Stalled):
        await FakeGroup(5, None).look(watchdog)


async def test_a_worker_that_is_refused_again_and_again_joins_anew_and_is_not_ended() -> None:
    """A new process could do no more than a new consumer does; the readiness page says that it has no part of the topic."""
    job = make_job()
    job.unassigned_since = time.monotonic() - 10_000
    job.on_joining()
    await FakeGroup(5, None).look(Watchdog(job))
    assert job.unassigned_s > job.settings.worker.rebalance_max_s


async def test_a_settled_offset_that_the_broker_lost_is_owed_again() -> None:
    """A commit that failed in silence, or a late one of an older assignment, on a partition that has gone quiet."""
    job = make_job()
    job.on_assigned({TP})
    job.on_committed({TP: 9})
    watchdog = Watchdog(job)
    await FakeGroup(9, 4).look(watchdog)
    await FakeGroup(9, 4).look(watchdog)
    assert job.owed == {TP: 9}
    job.on_committed({TP: 9})
    assert job.owed == {}
    await FakeGroup(9, 9).look(watchdog)
    assert job.owed == {}


async def test_what_is_committed_on_two_thousand_partitions_is_one_question() -> None:
    """One after the other they took longer than the cluster may take to answer, and the worker called a broker down that was there."""
    job, group = make_job(), FakeGroup(9, 4)
    places = {(TP[0], number) for number in range(2_000)}
    job.on_assigned(places)
    job.on_committed(dict.fromkeys(places, 9))
    watchdog = Watchdog(job)
    await group.look(watchdog)
    await group.look(watchdog)
    assert [number for number in group.asked if number] == [2_000, 2_000]  # where it begins; and, as nothing moves, whether the broker has it
    assert len(job.owed) == 2_000


async def test_the_end_of_a_topic_that_was_made_anew_is_no_loss_of_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends are asked for by name, so that the id which was asked for before them says nothing of the topic whose end it is."""
    job = make_job()
    job.on_assigned({TP})
    watchdog = Watchdog(job)
    await FakeGroup(7, 5).look(watchdog)
    assert watchdog.tails == {TP: (5, 7)}

    async def made_anew(_: object) -> set[str]:
        return set()

    monkeypatch.setattr(job.intake, "unchanged", made_anew)
    await FakeGroup(30, 5).look(watchdog)
    assert watchdog.tails == {TP: (5, 7)}


async def test_a_clock_ends_though_a_cancellation_is_swallowed() -> None:
    """Python 3.11's wait_for drops a cancellation that comes as its work is done; a loop that is only cancelled goes on."""
    acting, swallow = asyncio.Event(), True

    async def act() -> None:
        acting.set()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            if not swallow:
                raise

    async def naive_loop() -> None:
        while True:
            await asyncio.sleep(0.01)
            await act()

    naive = asyncio.create_task(naive_loop())
    await acting.wait()
    naive.cancel()
    assert not (await asyncio.wait({naive}, timeout=0.3))[0]
    acting.clear()
    clock = Clock(act, 0.01)
    await acting.wait()
    async with asyncio.timeout(1):
        await clock.end(0.1)
        await clock._task
        swallow = False
        naive.cancel()
        await asyncio.wait({naive})


async def test_a_worker_may_wait_for_a_day_without_leaving_its_group(tmp_path: Path) -> None:
    """Faust by itself leaves after 1,000 s of back-pressure, without a word."""
    import faust

    app = faust_app(make_job(), tmp_path)
    assert faust.App("naive").conf.broker_max_poll_interval == 1000
    assert app.conf.broker_max_poll_interval == 86_400
    consumer: AIOKafkaConsumer = make_consumer(make_job())
    assert consumer._max_poll_interval_ms == 86_400_000
    await consumer.stop()


# -- configuration (traps 5, 7, 10, 12, 13, 15, 16)


async def test_what_could_lose_leak_or_listen_is_off_in_faust(tmp_path: Path) -> None:
    conf = faust_app(make_job(), tmp_path).conf
    assert not conf.web_enabled
    assert conf.topic_disable_leader
    assert not conf.topic_allow_declare
    assert not conf.stream_wait_empty
    assert conf.processing_guarantee.value == "at_least_once"
    assert conf.producer_acks == -1


async def test_one_agent_takes_the_events_one_by_one_and_there_are_no_tables(tmp_path: Path) -> None:
    app = faust_app(make_job(), tmp_path)
    faust_agents.attach(app, make_job())
    (agent,) = app.agents.values()
    assert agent.concurrency == 1
    assert not app.tables.data


def test_durations_are_told_in_seconds() -> None:
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry()
    metrics = WorkerMetrics("step", "1", "test", registry)
    metrics.stage("decode", 0.25)
    exposition = generate_latest(registry).decode()
    (line,) = [line for line in exposition.splitlines() if "_seconds_sum" in line and 'stage="decode"' in line]
    assert float(line.rsplit(" ", 1)[1]) == pytest.approx(0.25)


def test_the_versions_are_those_that_the_traps_were_found_in() -> None:
    assert version("faust-streaming").startswith("0.15.")
    assert version("mode-streaming").startswith("0.7.")
    assert version("aiokafka").startswith("0.14.")


# -- the harness itself can fail


def evidence_of(plan: Plan, *, without: int | None = None) -> Evidence:
    """What a faultless worker leaves behind, but for the outcome at one place of the plan."""
    evidence = Evidence()
    offsets = [0] * 4
    for record in plan.records:
        at = Position(record.partition, offsets[record.partition])
        offsets[record.partition] += 1
        evidence.places[at] = record.place
        if record.place == without:
            continue
        if record.poison:
            evidence.letters[at].append(Letter(at, intact=True))
            evidence.ledger[at].append(at)
        else:
            event = plan.cases[record.case]["id"]
            evidence.results[at].append(SentResult(at, event, f"result of {event}"))
    return evidence


def sample(committed: int, ends: int, at_s: float = 0.0) -> Sample:
    return Sample(at_s, (committed,) * 4, (ends,) * 4, (ends,) * 4, (1000,) * 4)


def test_the_checks_pass_a_faultless_run_and_see_a_loss() -> None:
    plan = make_plan(1, 100, partitions=4, poison=Poison(0.05, ("empty",)))
    assert check_topics(plan, evidence_of(plan)).violations == []
    lost = check_topics(plan, evidence_of(plan, without=plan.records[10].place))
    assert lost.lost == 1
    assert lost.violations


def test_the_checks_see_a_second_result_id_and_a_changed_dead_letter() -> None:
    plan = make_plan(1, 100, partitions=4, poison=Poison(0.05, ("empty",)))
    evidence = evidence_of(plan)
    at, told = next(iter(evidence.results.items()))
    told.append(SentResult(at, told[0].event_id, "another"))
    letter = next(iter(evidence.letters))
    evidence.letters[letter] = [Letter(letter, intact=False)]
    counts = check_topics(plan, evidence)
    assert counts.doubled == 1
    assert len(counts.violations) == 2


def test_the_checks_see_a_commit_past_an_unacknowledged_event() -> None:
    plan = make_plan(1, 100, partitions=4)
    evidence = evidence_of(plan)
    assert list(check_commits(evidence, [sample(0, 0), sample(5, 5), sample(9, 40), sample(9, 40)])) == []
    # Outcomes lie at the same offsets as their events here: 7 was committed while the output ended at 5.
    assert list(check_commits(evidence, [sample(0, 0), sample(7, 5), sample(9, 40)]))
    # It does not matter that the outcome came in the end, nor that the commit went back meanwhile.
    assert list(check_commits(evidence, [sample(7, 5), sample(3, 40), sample(9, 40)]))


@pytest.mark.slow
async def test_a_naive_loop_that_commits_before_its_results_are_acknowledged_is_caught(embedded: Broker, tmp_path: Path) -> None:
    field, plan = a_field(embedded, tmp_path), make_plan(5, 200, partitions=4)
    await asyncio.to_thread(feed, plan, field)
    observer = Observer(field)
    observer.start()
    consumer = AIOKafkaConsumer(
        field.topic("generations"), bootstrap_servers=embedded.bootstrap_servers, group_id=field.group, enable_auto_commit=False, auto_offset_reset="earliest"
    )
    producer = AIOKafkaProducer(bootstrap_servers=embedded.bootstrap_servers)
    await consumer.start()
    await producer.start()
    taken: list[Any] = []
    while len(taken) < 200:
        for records in (await consumer.getmany(timeout_ms=200)).values():
            taken += records
        await consumer.commit()
    # The commit is there, the results are on their way: here a kill would lose them.
    await until(lambda: any(sum(sample.committed) == 200 for sample in observer.samples))
    for record in taken[:-1]:
        event = json.loads(record.value)["id"]
        document = {"source": {"partition": record.partition, "offset": record.offset}, "event_id": event, "result_id": event}
        await producer.send(field.topic("results"), json.dumps(document).encode(), partition=record.partition, headers=[("ce_type", RESULT_TYPE.encode())])
    await producer.stop()
    await consumer.stop()
    await asyncio.to_thread(observer.finish)
    evidence = await asyncio.to_thread(gather, field, plan)
    assert list(check_commits(evidence, observer.samples))
    assert check_topics(plan, evidence).lost == 1
