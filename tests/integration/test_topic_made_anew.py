"""A topic that is deleted and made anew under the same name."""

import asyncio
import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.integration.brokers import Broker, Namespace
from tests.integration.workers import Start, Worker, produce
from tests.streams.fakes import safe_event
from touchstone.schemas.settings.house import KafkaSettings
from touchstone.streams.process.ending import EXIT_STALLED
from touchstone.streams.topics import identity
from touchstone.streams.topics.identity import Topic, TopicMetadata

TOUCHSTONE = (sys.executable, "-m", "touchstone.ops.cli")
EXIT_ERROR = 3


def make_anew(broker: Broker, topic: str, partitions: int) -> None:
    """Delete a topic and create it again; the new one may have to wait until the old one is gone everywhere."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    admin.delete_topics([topic], operation_timeout=20)[topic].result(timeout=30)
    deadline = time.monotonic() + 60
    while True:
        try:
            admin.create_topics([NewTopic(topic, num_partitions=partitions, replication_factor=-1)], operation_timeout=20)[topic].result(timeout=30)
        except Exception:  # TOPIC_ALREADY_EXISTS while it is being deleted
            assert time.monotonic() < deadline
            time.sleep(0.1)
        else:
            return


async def test_the_metadata_give_each_topic_its_id_and_partitions(broker: Broker, namespace: Namespace) -> None:
    first, second = namespace.topic("generations"), namespace.topic("traces")
    broker.create_topics({first: 3, second: 1})
    metadata = TopicMetadata(KafkaSettings(bootstrap_servers=broker.bootstrap_servers))
    try:
        async with asyncio.timeout(60):
            # On a busy machine a broker tells of a topic some time after its controller has made it.
            while len(found := await metadata.read([first, second, namespace.topic("none")])) < 2:  # noqa: ASYNC110 -- the broker makes them
                await asyncio.sleep(0.1)
        assert {name: topic.partitions for name, topic in found.items()} == {first: 3, second: 1}
        assert len({topic.topic_id for topic in found.values() if len(topic.topic_id) == 22}) == 2
        await metadata.close()
        assert await metadata.read([first]) == {first: found[first]}
    finally:
        await metadata.close()


async def test_a_broker_without_topic_ids_gives_the_partitions(embedded: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    embedded.create_topics({"old": 2})
    monkeypatch.setattr(identity._ById, "_CLASSES", (type("Newer", (identity._Question,), {"API_VERSION": 99}),))
    metadata = TopicMetadata(KafkaSettings(bootstrap_servers=embedded.bootstrap_servers))
    try:
        assert await metadata.read(["old", "none"]) == {"old": Topic("", 2)}
    finally:
        await metadata.close()


@pytest.mark.apache
async def test_a_topic_made_anew_has_another_id(shared_apache: Broker, namespace: Namespace) -> None:
    topic = namespace.topic("generations")
    shared_apache.create_topics({topic: 2})
    metadata = TopicMetadata(KafkaSettings(bootstrap_servers=shared_apache.bootstrap_servers))
    try:
        before = (await metadata.read([topic]))[topic]
        make_anew(shared_apache, topic, 2)
        while not (found := await metadata.read([topic])):  # noqa: ASYNC110 -- the broker's metadata follow the controller's
            await asyncio.sleep(0.05)
        after = found[topic]
    finally:
        await metadata.close()
    assert before.topic_id != after.topic_id
    assert after.partitions == 2


LABELS = {"Pass": safe_event(), "Fail": safe_event(output={"signals": [], "summary": "Stable."})}


class Scene:
    """Worker, projector and store on topics of one partition."""

    def __init__(self, broker: Broker, namespace: Namespace, runner: str, start: Start, folder: Path) -> None:
        self.broker, self.topic, self._runner, self._start = broker, namespace.topic("generations"), runner, start
        self.store = folder / "store.db"
        self.env = namespace.environment(broker) | {"TOUCHSTONE_STORE_URL": f"sqlite:///{self.store}", "TOUCHSTONE_KAFKA_PROBE_INTERVAL_S": "1"}
        broker.create_topics(namespace.topics(partitions=1))
        self.projector = start("", self.env, command=[*TOUCHSTONE, "projector"])
        self.worker = self.begin()

    def begin(self) -> Worker:
        self.worker = self._start(self._runner, self.env)
        return self.worker

    async def produce(self, label: str, count: int) -> None:
        await produce(self.broker, self.topic, [(0, json.dumps(LABELS[label]).encode(), ())] * count)

    def until_stored(self, labels: dict[str, int], timeout_s: float = 90) -> None:
        """Wait for the results. A worker that ended because the topic was made anew is started again, as its supervisor would."""
        deadline = time.monotonic() + timeout_s
        while (found := self.stored()) != labels:
            assert time.monotonic() < deadline, f"{found}\n{self.worker.log}\n{self.projector.log}"
            if self.worker.process.poll() is not None:
                assert self.worker.process.returncode == EXIT_STALLED, self.worker.log
                assert "topic_made_anew" in self.worker.log
                self.begin()
            time.sleep(0.2)

    def stored(self) -> dict[str, int]:
        if not self.store.exists():
            return {}
        with contextlib.closing(sqlite3.connect(self.store)) as connection, contextlib.suppress(sqlite3.OperationalError):
            return dict(connection.execute("SELECT label, count(*) FROM touchstone_results GROUP BY label").fetchall())
        return {}

    def reconcile(self) -> tuple[int, Any]:
        ran = subprocess.run(
            [*TOUCHSTONE, "reconcile", "--suite", "safe_v0", "--drained", "--wait", "60", "--json"], env=os.environ | self.env, capture_output=True, check=False
        )
        assert ran.returncode < EXIT_ERROR, ran.stderr.decode()
        return ran.returncode, json.loads(ran.stdout)


@pytest.mark.apache
async def test_each_topic_of_a_name_has_its_own_results_and_account(
    shared_apache: Broker, namespace: Namespace, runner: str, start: Start, tmp_path: Path
) -> None:
    await _make_anew_twice(Scene(shared_apache, namespace, runner, start, tmp_path))


async def _make_anew_twice(scene: Scene) -> None:
    """Once while the worker is away, once while it runs. The events have no ids."""
    await scene.produce("Pass", 100)
    scene.until_stored({"Pass": 100})
    assert scene.worker.end(60) == 0
    make_anew(scene.broker, scene.topic, 1)
    await scene.produce("Fail", 120)
    scene.begin()
    scene.until_stored({"Pass": 100, "Fail": 120})
    code, account = scene.reconcile()
    assert code == 0, account
    old, new = account["partitions"]
    assert [(one["former"], one["consumed"], one["scored"], one["start"]) for one in (old, new)] == [(True, 100, 100, 0), (False, 120, 120, 0)]
    assert "made anew" in old["notes"][0]

    make_anew(scene.broker, scene.topic, 1)
    await scene.produce("Pass", 130)
    scene.until_stored({"Pass": 230, "Fail": 120})
    code, account = scene.reconcile()
    assert code == 0, account
    assert sorted((one["former"], one["scored"]) for one in account["partitions"]) == [(False, 130), (True, 100), (True, 120)]
    assert len({one["topic_id"] for one in account["partitions"]}) == 3
