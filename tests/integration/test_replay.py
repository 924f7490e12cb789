import asyncio
from typing import Any

from tests.integration.brokers import Broker, Namespace
from tests.integration.workers import produce, reading
from tests.streams.fakes import safe_record
from touchstone.schemas.case import SafeCase
from touchstone.schemas.result import Scorecard
from touchstone.schemas.settings.house import KafkaSettings, Settings
from touchstone.scorers.base import Shed
from touchstone.scorers.scoring import ResultMaker
from touchstone.streams.intake.intake import Destinations, Intake
from touchstone.streams.intake.outbox import Outbox
from touchstone.streams.intake.scoring import RunningSuite
from touchstone.streams.process.replay import Replayed, catch_up, replay
from touchstone.streams.telemetry.metrics import WorkerMetrics
from touchstone.streams.topics.log_reader import LogReader
from touchstone.streams.wire.codec import Codec

EVENTS = 30


class Purse:
    """Scores until its budget is spent, and every case whose id is in `always`."""

    name, version = "purse", "1"

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.period_s: float | None = None
        self.closed = False

    async def score(self, case: SafeCase) -> Scorecard:
        if not self.budget:
            raise Shed("budget", self.period_s)
        self.budget -= 1
        return Scorecard(label="Pass", values={"CR": 1.0})

    async def close(self) -> None:
        self.closed = True


def suite(budget: int) -> RunningSuite:
    return RunningSuite("purse", "1", "0" * 16, Purse(budget), Codec({"safe": SafeCase}), inline=True)


async def as_a_worker(broker: Broker, settings: Settings, budget: int) -> None:
    """Score the topic once as a worker does, with little budget."""
    running, topics = suite(budget), settings.topics
    metrics = WorkerMetrics("purse", "1", "test")
    outbox = await Outbox(settings.kafka, settings.worker, metrics).start()
    to = Destinations.of(topics, {topics.results: 4, topics.dead: 4})
    intake = Intake(running, outbox, to, settings.worker, metrics)
    records: dict[tuple[str, int], list[Any]] = {}
    async with LogReader(settings.kafka, [topics.generations]) as reader:
        async for record in reader.read("beginning"):
            records.setdefault((record.topic, record.partition), []).append(record)
    for place, own in records.items():
        intake.start(place, own)
    assert await intake.drain(30)
    await intake.settle()
    await outbox.stop()


def counted(done: Replayed) -> tuple[int, int, int, int]:
    return done.shed.total(), done.read, done.outcomes["scored"], done.left


async def test_what_was_shed_is_scored_later_and_nothing_twice(shared_embedded: Broker, namespace: Namespace) -> None:
    broker, topic = shared_embedded, namespace.topic("generations")
    broker.create_topics(namespace.topics())
    settings = Settings(kafka=KafkaSettings(bootstrap_servers=broker.bootstrap_servers), topics=namespace.topic_settings())
    await produce(broker, topic, [(number % 4, safe_record(number).value, ()) for number in range(EVENTS)])
    await as_a_worker(broker, settings, budget=12)

    assert counted(await replay(suite(99), (topic,), settings, dry=True)) == (EVENTS - 12, 0, 0, 0)
    assert counted(await replay(suite(99), (topic,), settings, reason="too_old")) == (0, 0, 0, 0)
    again = suite(5)
    assert counted(await replay(again, (topic,), settings)) == (EVENTS - 12, EVENTS - 12, 5, EVENTS - 17)
    assert again.scorer.closed
    assert counted(await replay(suite(99), (topic,), settings)) == (EVENTS - 17, EVENTS - 17, EVENTS - 17, 0)
    assert counted(await replay(suite(99), (topic,), settings)) == (0, 0, 0, 0)
    async with reading(broker, namespace) as until:
        outcomes = await until(lambda seen: len(seen.results) == EVENTS)
    assert {len(results) for results in outcomes.results.values()} == {1}
    ids = ResultMaker("purse", "1", "0" * 16)
    assert all(results[0]["result_id"] == ids.id_of(event) for event, results in outcomes.results.items())


async def test_what_was_shed_is_caught_up_by_itself_when_the_budget_returns(shared_embedded: Broker, namespace: Namespace) -> None:
    broker, topic = shared_embedded, namespace.topic("generations")
    broker.create_topics(namespace.topics())
    settings = Settings(kafka=KafkaSettings(bootstrap_servers=broker.bootstrap_servers), topics=namespace.topic_settings())
    await produce(broker, topic, [(number % 4, safe_record(number).value, ()) for number in range(EVENTS)])
    await as_a_worker(broker, settings, budget=12)
    following, stop = suite(5), asyncio.Event()
    purse = following.scorer
    assert isinstance(purse, Purse)
    purse.period_s = 0.5
    catching_up = asyncio.create_task(catch_up(following, (topic,), settings, stop, reason="budget", every_s=1))
    async with reading(broker, namespace) as until:
        await until(lambda seen: len(seen.results) == 12 + 5)
        purse.budget = 99  # the next period has begun
        outcomes = await until(lambda seen: len(seen.results) == EVENTS)
    stop.set()
    await catching_up
    assert purse.closed
    assert {len(results) for results in outcomes.results.values()} == {1}
    assert counted(await replay(suite(99), (topic,), settings)) == (0, 0, 0, 0)
