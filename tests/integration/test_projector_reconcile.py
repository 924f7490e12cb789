import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from tests.integration.brokers import Broker, Namespace
from tests.streams.results_topic import ledger, records, result
from touchstone.ops.store.engine import writing
from touchstone.ops.store.results import ResultStore
from touchstone.ops.store.schema import positions
from touchstone.schemas.ledger import LedgerRecord
from touchstone.schemas.result import ScoreResult
from touchstone.schemas.settings.house import KafkaSettings, Settings, WorkerSettings
from touchstone.scorers.base import ConfigError
from touchstone.streams.account import reconcile_topics
from touchstone.streams.account.projection import project
from touchstone.streams.account.reconcile import Reconciliation
from touchstone.streams.account.reconcile_topics import Question, reconcile
from touchstone.streams.account.store_port import StoreRefused
from touchstone.streams.wire.dead_letter import OFFSET, PARTITION, SUITE, TOPIC

Event = ScoreResult | LedgerRecord


class Scene:
    def __init__(self, broker: Broker, namespace: Namespace, store: ResultStore, url: str) -> None:
        self.broker, self.namespace, self.store = broker, namespace, store
        broker.create_topics(namespace.topics(partitions=1))
        self.settings = Settings.model_validate(
            {
                "kafka": KafkaSettings(bootstrap_servers=broker.bootstrap_servers),
                "topics": namespace.topic_settings(),
                "worker": WorkerSettings(group_prefix=namespace.prefix),
                "store": {"url": url},
            }
        )
        self.topic = self.settings.topics.generations

    async def events(self, count: int) -> None:
        async with AIOKafkaProducer(bootstrap_servers=self.broker.bootstrap_servers) as producer:
            for number in range(count):
                await producer.send(self.topic, f"e{number}".encode())

    async def transaction(self, count: int) -> None:
        """Events and the marker behind them, which takes an offset but is no record."""
        async with (
            AIOKafkaProducer(bootstrap_servers=self.broker.bootstrap_servers, transactional_id=self.namespace.prefix) as producer,
            producer.transaction(),
        ):
            for number in range(count):
                await producer.send_and_wait(self.topic, f"t{number}".encode())

    async def commit(self, offset: int) -> None:
        consumer = AIOKafkaConsumer(bootstrap_servers=self.broker.bootstrap_servers, group_id=self.namespace.group("safe_v0"), enable_auto_commit=False)
        await consumer.start()
        part = TopicPartition(self.topic, 0)
        consumer.assign([part])
        await consumer.commit({part: OffsetAndMetadata(offset, "")})
        await consumer.stop()

    async def dead_letter(self, offset: int, suite: str = "safe_v0") -> None:
        headers = [(SUITE, suite.encode()), (TOPIC, self.topic.encode()), (PARTITION, b"0"), (OFFSET, str(offset).encode())]
        async with AIOKafkaProducer(bootstrap_servers=self.broker.bootstrap_servers) as producer:
            await producer.send_and_wait(self.settings.topics.dead, b"x", headers=headers)

    def outcomes(self, *events: Event) -> None:
        own = [self._moved(event) for event in events]
        first = self.store.positions("by hand").get(0)
        self.store.apply(project("by hand", {0: first}, {0: records(*own, first=first or 0)}), 1.0)

    def caught_up(self) -> None:
        with writing(self.store.engine) as connection:
            connection.execute(positions.insert().values(topic=self.settings.topics.results, partition=0, topic_id="", next_offset=1))

    def _moved(self, event: Event) -> Event:
        if isinstance(event, ScoreResult):
            return event.model_copy(update={"source": event.source.model_copy(update={"topic": self.topic})})
        return event.model_copy(update={"topic": self.topic})

    async def judge(self, **options: Any) -> Reconciliation:
        return await reconcile(self.settings, self.store, Question("safe_v0", (self.topic,), **options))


@pytest.fixture
def scene(broker: Broker, namespace: Namespace, tmp_path: Path) -> Iterator[Scene]:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = ResultStore.open(url, create=True)
    yield Scene(broker, namespace, store, url)
    store.close()


@pytest.fixture
def apache_scene(shared_apache: Broker, namespace: Namespace, tmp_path: Path) -> Iterator[Scene]:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = ResultStore.open(url, create=True)
    yield Scene(shared_apache, namespace, store, url)
    store.close()


async def test_an_account_with_every_kind_of_outcome_closes(scene: Scene) -> None:
    await scene.events(6)
    await scene.dead_letter(2)
    await scene.dead_letter(2)
    await scene.dead_letter(9, suite="another")
    scene.outcomes(result(event="a", offset=0), result(event="b", offset=1), ledger(("dead", "not_json", ((2, 2),)), ("skipped", "other_kind", ((3, 4),))))
    await scene.commit(5)
    verdict = await scene.judge()
    (account,) = verdict.partitions
    assert verdict.closes, verdict.as_json()
    assert (account.consumed, account.scored, account.dead, account.skipped, account.in_flight) == (6, 2, {"not_json": 1}, {"other_kind": 2}, 1)
    assert not (await scene.judge(drained=True)).closes


async def test_an_event_without_an_outcome_is_named(scene: Scene) -> None:
    await scene.events(5)
    scene.outcomes(result(event="a", offset=0), result(event="b", offset=3), result(event="c", offset=4))
    await scene.commit(5)
    verdict = await scene.judge()
    assert verdict.partitions[0].holes == [(1, 2)]
    assert not verdict.closes


async def test_a_dead_outcome_without_its_letter_is_named(scene: Scene) -> None:
    await scene.events(2)
    scene.outcomes(ledger(("dead", "not_json", ((0, 1),))))
    await scene.dead_letter(1)
    await scene.commit(2)
    (difference,) = (await scene.judge()).partitions[0].differences
    assert (difference.code, difference.offsets) == ("dead_letter_missing", ((0, 0),))
    assert (await scene.judge(dead_letters=False)).closes


async def test_the_marker_of_a_transaction_is_no_hole(apache_scene: Scene) -> None:
    await apache_scene.transaction(2)
    await apache_scene.transaction(1)
    apache_scene.outcomes(result(event="a", offset=0), result(event="b", offset=1), result(event="c", offset=3))
    await apache_scene.commit(5)
    verdict = await apache_scene.judge(drained=True)
    assert verdict.closes, verdict.as_json()
    assert verdict.partitions[0].empty == 2


async def test_records_that_retention_deleted_are_no_holes(apache_scene: Scene) -> None:
    from aiokafka.admin import AIOKafkaAdminClient
    from aiokafka.admin.records_to_delete import RecordsToDelete

    await apache_scene.events(6)
    apache_scene.outcomes(result(event="a", offset=0), result(event="b", offset=4), result(event="c", offset=5))
    await apache_scene.commit(6)
    assert (await apache_scene.judge()).partitions[0].holes == [(1, 3)]
    admin = AIOKafkaAdminClient(bootstrap_servers=apache_scene.broker.bootstrap_servers)
    await admin.start()
    await admin.delete_records({TopicPartition(apache_scene.topic, 0): RecordsToDelete(before_offset=3)})
    await admin.close()
    assert (await apache_scene.judge()).partitions[0].holes == [(3, 3)]


async def test_a_store_that_is_behind_says_so_and_is_waited_for(scene: Scene) -> None:
    await scene.events(1)
    await scene.commit(1)
    async with AIOKafkaProducer(bootstrap_servers=scene.broker.bootstrap_servers) as producer:
        await producer.send_and_wait(scene.settings.topics.results, b"x")
    verdict = await scene.judge(wait_s=0.3)
    assert (verdict.behind, verdict.closes, verdict.undecided) == (1, False, True)

    async def catch_up() -> None:
        await asyncio.sleep(0.5)
        scene.outcomes(result(offset=0))
        scene.caught_up()

    verdict, _ = await asyncio.gather(scene.judge(wait_s=20), catch_up())
    assert (verdict.behind, verdict.closes) == (0, True)


async def test_events_that_come_while_it_reads_do_not_lie_past_the_end(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = reconcile_topics._read_dead_letters

    async def slow(*asked: Any) -> Any:
        await scene.events(2)
        scene.outcomes(result(event="a", offset=0), result(event="b", offset=1))
        return await quick(*asked)

    monkeypatch.setattr(reconcile_topics, "_read_dead_letters", slow)
    verdict = await scene.judge()
    assert verdict.closes, verdict.as_json()


async def test_a_results_topic_made_anew_is_an_error(scene: Scene) -> None:
    from touchstone.ops.store.engine import writing
    from touchstone.ops.store.schema import positions

    with writing(scene.store.engine) as connection:
        connection.execute(positions.insert().values(topic=scene.settings.topics.results, partition=0, topic_id="", next_offset=7))
    with pytest.raises(StoreRefused, match="recreated"):
        await scene.judge()


async def test_a_missing_topic_is_one_line(scene: Scene) -> None:
    if scene.broker.kind == "embedded":
        pytest.skip("the embedded broker makes topics on sight")
    with pytest.raises(ConfigError, match="missing topic"):
        await reconcile(scene.settings, scene.store, Question("safe_v0", (scene.namespace.topic("absent"),)))


async def test_the_command_prints_the_account_and_exits_by_it(scene: Scene) -> None:
    def command(*options: str) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, **scene.namespace.environment(scene.broker), "TOUCHSTONE_STORE_URL": scene.settings.store.url.get_secret_value()}
        return subprocess.run(
            [sys.executable, "-m", "touchstone.ops.cli", "reconcile", "--suite", "safe_v0", *options],
            env=environment,
            check=False,
            capture_output=True,
            text=True,
        )

    await scene.events(3)
    scene.outcomes(result(event="a", offset=0), result(event="c", offset=2))
    await scene.commit(3)
    async with AIOKafkaProducer(bootstrap_servers=scene.broker.bootstrap_servers) as producer:
        await producer.send_and_wait(scene.settings.topics.results, b"x")
    behind = await asyncio.to_thread(command, "--wait", "0")
    assert behind.returncode == 2
    assert behind.stdout.endswith("safe_v0: undecided: the projector is 1 record behind; try --wait\n")
    scene.caught_up()
    told = await asyncio.to_thread(command)
    assert told.returncode == 1
    assert "HOLE: 1 event without an outcome below the committed offset 3: offsets 1" in told.stdout
    assert told.stderr == ""
    scene.outcomes(result(event="b", offset=1))
    closed = await asyncio.to_thread(command, "--json", "--drained")
    assert closed.returncode == 0
    assert json.loads(closed.stdout)["partitions"][0]["scored"] == 3
    wrong = await asyncio.to_thread(command, "--topic", "elsewhere")
    assert wrong.returncode == 3
    assert len(wrong.stderr.splitlines()) == 1


@pytest.mark.apache
async def test_a_marker_behind_the_last_event_is_empty_and_not_in_flight(apache_scene: Scene) -> None:
    scene = apache_scene
    await scene.transaction(2)
    scene.outcomes(result(event="a", offset=0), result(event="b", offset=1))
    await scene.commit(2)
    verdict = await scene.judge(drained=True)
    (account,) = verdict.partitions
    assert (account.consumed, account.scored, account.empty, account.in_flight) == (3, 2, 1, 0)
    assert verdict.closes
