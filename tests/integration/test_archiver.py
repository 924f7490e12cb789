"""An archiver in this process: where it reads on, what it does about a call that hangs, and what it holds in memory."""

import asyncio
import contextlib
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.structs import OffsetAndMetadata
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from tests.integration.brokers import Broker, Namespace
from tests.integration.test_projector import produce, settings_on, until
from tests.streams.results_topic import result
from touchstone.ops.store.archive import objects
from touchstone.ops.store.archive.archive import Archive, open_archive
from touchstone.ops.store.archive.objects import ArchiveAway, Objects
from touchstone.ops.store.archive.policy import Policy
from touchstone.ops.store.archive.writer import ArchiveWriter
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.settings.house import Settings
from touchstone.streams.account import service
from touchstone.streams.account.archiver import Archiver
from touchstone.streams.account.committed import Committed, Places
from touchstone.streams.account.service import Stuck
from touchstone.streams.telemetry.service_counts import ArchiverCounts
from touchstone.streams.topics.identity import ids_of

MEGABYTE = 1_000_000


@pytest.fixture
def settings(shared_embedded: Broker, namespace: Namespace, tmp_path: Path) -> Settings:
    plain = settings_on(shared_embedded, namespace, tmp_path)
    worker = plain.worker.model_copy(update={"session_timeout_s": 4, "heartbeat_interval_s": 1})
    return plain.model_copy(update={"worker": worker, "archive": plain.archive.model_copy(update={"url": f"file://{tmp_path / 'archive'}"})})


@pytest.fixture
def archive(settings: Settings) -> Iterator[Archive]:
    store = ResultStore.open(settings.store.url.get_secret_value(), create=True)
    yield open_archive(settings.archive, CaseIndex(store.engine))
    store.close()


class Running:
    """An archiver and what it counts."""

    def __init__(self, settings: Settings, archive: Archive, policy: str) -> None:
        self.registry = CollectorRegistry()
        self._writer = ArchiveWriter(archive, Policy.of([policy]))
        self.archiver = Archiver(settings, self._writer, ArchiverCounts(self.registry))
        self.stop = asyncio.Event()

    def counted(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"touchstone_archiver_{name}", labels)

    async def run(self) -> None:
        try:
            await self.archiver.run(self.stop)
        finally:
            self._writer.close()


@contextlib.asynccontextmanager
async def archiving(settings: Settings, archive: Archive, policy: str = "failed") -> AsyncIterator[Running]:
    running = Running(settings, archive, policy)
    task = asyncio.create_task(running.run())
    try:
        yield running
    finally:
        running.stop.set()
        await task


def failed(numbers: range) -> list[Any]:
    return [result(event=f"e{number}", offset=number, label="Fail") for number in numbers]


def known(archive: Archive, numbers: range) -> bool:
    return len(archive.index.rows([f"e{number}" for number in numbers])) == len(numbers)


async def commit(settings: Settings, offset: int, topic_id: str) -> None:
    """What an earlier archiver has committed, before any other joins."""
    part = TopicPartition(settings.topics.results, 0)
    group = f"{settings.worker.group_prefix}.archive"
    # Committing by itself at its end, it would overwrite this with its position, and without an id, where it has one by then.
    async with AIOKafkaConsumer(bootstrap_servers=settings.kafka.bootstrap_servers, group_id=group, enable_auto_commit=False) as consumer:
        consumer.assign([part])
        await consumer.commit({part: OffsetAndMetadata(offset, topic_id)})


# -- where it reads on


async def test_a_results_topic_made_anew_is_read_from_its_beginning_and_told_once(settings: Settings, archive: Archive) -> None:
    await produce(settings, failed(range(6)))
    await commit(settings, 3, "the id of the topic before")
    with capture_logs() as lines:
        async with archiving(settings, archive) as running:
            await until(lambda: known(archive, range(6)))
            await until(lambda: running.counted("commits_total"))
        async with archiving(settings, archive) as again:
            await until(lambda: again.archiver.readiness()[0])
    assert running.counted("topics_made_anew_total") == 1
    assert again.counted("topics_made_anew_total") == 0
    assert [line["event"] for line in lines].count("topic_made_anew") == 1


async def test_a_topic_that_is_another_one_while_it_is_read_is_begun_again(settings: Settings, archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    async with archiving(settings, archive) as running:
        await produce(settings, failed(range(3)))
        await until(lambda: known(archive, range(3)))
        await until(lambda: running.counted("commits_total"))
        monkeypatch.setattr(Committed, "topic_id", other_id)  # the embedded broker cannot delete topics
        await produce(settings, failed(range(3, 4)))
        await until(lambda: known(archive, range(4)))
        await until(lambda: running.archiver.readiness()[0])
    assert running.counted("topics_made_anew_total") == 1
    assert running.counted("results_total", wanted="yes") == 3 + 4


async def other_id(_: Committed) -> str:
    return "another"


async def test_what_is_committed_under_the_topics_own_id_is_read_on_from(settings: Settings, archive: Archive) -> None:
    await produce(settings, failed(range(6)))
    topic = settings.topics.results
    await commit(settings, 3, (await ids_of(settings.kafka, [topic]))[topic])
    async with archiving(settings, archive) as running:
        await until(lambda: known(archive, range(3, 6)))
    assert not archive.index.rows(["e0", "e1", "e2"])
    assert running.counted("topics_made_anew_total") == running.counted("results_expired_total") == 0


@pytest.mark.parametrize(
    ("offset", "of_id", "start", "end", "at", "expired", "is_anew"),
    [
        (5, "now", 0, 9, 5, 0, False),
        (5, "", 0, 9, 5, 0, False),
        (5, "now", 8, 9, 8, 3, False),
        (5, "old", 0, 9, 0, 0, True),
        (5, "old", 2, 9, 2, 2, True),
        (50, "", 0, 9, 0, 0, True),
        (-1, "", 4, 9, 4, 0, False),
    ],
    ids=["reads on", "an id that is not known", "cut off behind it", "another topic", "another topic, cut off", "past its end", "never read"],
)
def test_a_place_follows_from_what_is_committed_and_what_the_log_has(
    offset: int, of_id: str, start: int, end: int, at: int, expired: int, *, is_anew: bool
) -> None:
    part, places = TopicPartition("results", 0), Places("now")
    places.add(part, OffsetAndMetadata(offset, of_id), "", start, end)
    assert (places.offsets[part], places.expired, places.is_anew, part in places.moved) == (at, expired, is_anew, at != offset)


def test_a_commit_that_was_deleted_with_its_topic_is_of_the_topic_that_was_read() -> None:
    places = Places("now")
    places.add(TopicPartition("results", 0), OffsetAndMetadata(-1, ""), "old", 0, 9)
    assert places.is_anew


# -- a call that hangs


async def test_a_disk_that_blocks_is_said_commits_nothing_and_work_goes_on(settings: Settings, archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "PATIENCE_S", 0.3)
    monkeypatch.setattr(service, "LOOK_S", 0.05)
    goes_on, put = threading.Event(), objects.obstore.put

    def hang(*arguments: Any, **named: Any) -> Any:
        goes_on.wait(60)
        return put(*arguments, **named)

    async with archiving(settings, archive) as running:
        await until(lambda: running.archiver.readiness()[0])
        monkeypatch.setattr(objects.obstore, "put", hang)
        await produce(settings, failed(range(1)))
        await until(lambda: running.counted("dependency_up", dependency="objects") == 0)
        ready, why = running.archiver.readiness()
        assert not ready
        assert why.startswith("the store of objects has not answered for ")
        assert running.counted("commits_total") == 0
        goes_on.set()
        await until(lambda: running.archiver.readiness()[0])
        await until(lambda: running.counted("dependency_up", dependency="objects") == running.counted("commits_total") == 1)
    assert known(archive, range(1))


async def test_a_call_that_hangs_for_good_ends_the_archiver(settings: Settings, archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "PATIENCE_S", 0.1)
    monkeypatch.setattr(service, "LOOK_S", 0.05)
    goes_on = threading.Event()
    monkeypatch.setattr(archive.index, "rows", lambda _: goes_on.wait(60))
    running = Running(settings.model_copy(update={"worker": settings.worker.model_copy(update={"stall_timeout_s": 1})}), archive, "failed")
    task = asyncio.create_task(running.run())
    try:
        await produce(settings, failed(range(1)))
        with pytest.raises(Stuck):
            await asyncio.wait_for(task, 30)
    finally:
        goes_on.set()


PATIENT = "from touchstone.streams.account import service; service.PATIENCE_S = 0.5; from touchstone.ops.cli import main; main()"


@pytest.mark.postgres
def test_a_process_whose_database_hangs_ends_with_the_code_that_asks_for_a_restart(
    shared_embedded: Broker, namespace: Namespace, postgres_url: str, tmp_path: Path
) -> None:
    import os

    import sqlalchemy

    shared_embedded.create_topics(namespace.topics(partitions=1))
    store = ResultStore.open(postgres_url, create=True)
    own = {"TOUCHSTONE_WORKER_STALL_TIMEOUT_S": "1", "TOUCHSTONE_WORKER_DRAIN_TIMEOUT_S": "1"}
    command = [sys.executable, "-c", PATIENT, "archive", "--store", postgres_url, "--archive", f"file://{tmp_path / 'archive'}"]
    try:
        with store.engine.connect() as connection:
            connection.execute(sqlalchemy.text("LOCK TABLE touchstone_cases IN ACCESS EXCLUSIVE MODE"))
            ended = subprocess.run(
                command, env=os.environ | namespace.environment(shared_embedded) | own, capture_output=True, text=True, timeout=120, check=False
            )
    finally:
        store.close()
    assert ended.returncode == 75, ended.stdout + ended.stderr
    assert "] stalled " in ended.stdout + ended.stderr


def test_a_server_that_accepts_and_says_nothing_counts_as_away(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        for name, value in {"ACCESS_KEY_ID": "x", "SECRET_ACCESS_KEY": "x", "ALLOW_HTTP": "true", "TIMEOUT": "300ms"}.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        stored = Objects.open("s3://bucket")
        began = time.monotonic()
        with pytest.raises(ArchiveAway):
            stored.put("cases/a.json", b"{}")
        with pytest.raises(ArchiveAway):
            stored.get("cases/a.json")
        assert time.monotonic() - began < 15
        assert stored.asked_at() is None


# -- memory


async def test_large_cases_are_held_a_few_at_a_time(settings: Settings, archive: Archive) -> None:
    settings = settings.model_copy(update={"archive": settings.archive.model_copy(update={"in_flight_bytes": 2 * MEGABYTE})})
    source, count = settings.topics.generations, 24
    data = b'{"kind": "safe", "text": "%s"}' % (b"x" * 5 * MEGABYTE)
    async with AIOKafkaProducer(bootstrap_servers=settings.kafka.bootstrap_servers, max_request_size=6 * MEGABYTE) as producer:
        sent = [await producer.send_and_wait(source, data, partition=number % 2) for number in range(count)]
    scored = []
    for number, record in enumerate(sent):
        one = result(event=f"e{number}", offset=record.offset, partition=number % 2, label="Fail")
        scored.append(one.model_copy(update={"source": one.source.model_copy(update={"topic": source})}))
    await produce(settings, scored)
    tracemalloc.start()
    try:
        async with archiving(settings, archive):
            await until(lambda: known(archive, range(count)), 60)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert {row.state for row in archive.index.rows([f"e{number}" for number in range(count)]).values()} == {"kept"}
    assert peak < count * 5 * MEGABYTE, f"{peak / MEGABYTE:.0f} MB"  # without a bound, it would be nearly twice as much
