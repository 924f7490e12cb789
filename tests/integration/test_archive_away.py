"""`touchstone archive` while what it needs is away, at its start and in the middle: it says what is missing, commits nothing, and goes on by itself."""

import asyncio
import contextlib
import json
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import boto3
import httpx
import pytest
import sqlalchemy
from sqlalchemy import text

from tests.integration.brokers import Broker, Namespace
from tests.integration.test_archive_s3 import Forgetful, answering
from tests.integration.test_store_away import fill, tmpfs
from tests.integration.workers import Worker, committed, produce
from tests.s3_servers import lead_to
from touchstone.ops.lab.chaos.object_stores import Folder, S3Server
from touchstone.ops.local.kafka.processes import free_ports
from touchstone.ops.store.archive.objects import Objects
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.result import ScoreResult, SourceRef
from touchstone.streams.embedded.broker import EmbeddedBroker
from touchstone.streams.wire.codec import encode_result

pytestmark = pytest.mark.timeout(600)
PARTITIONS = 2
WAIT_S = 120
#: Events of one phase; more than the archiver takes at a time.
MANY = 25
#: Quicker than by default, for the tests' sake.
KNOBS = {
    "TOUCHSTONE_ARCHIVE_POLICY": "all",
    "TOUCHSTONE_ARCHIVE_BATCH_RECORDS_MAX": "20",
    "TOUCHSTONE_WORKER_RETRY_BACKOFF_MAX_S": "0.5",
    "TOUCHSTONE_KAFKA_PROBE_INTERVAL_S": "0.3",
    "TOUCHSTONE_KAFKA_PROBE_TIMEOUT_S": "2",
}


def event(number: int, size: int) -> bytes:
    return json.dumps({"kind": "safe", "id": f"e-{number}", "output": "x" * size}).encode()


class Scene:
    """An archiver as a process, the topics that it reads, and what it has kept. `objects`: opened when they are there."""

    def __init__(self, broker: Broker, namespace: Namespace, store_url: str, archive_url: str, size: int = 10) -> None:
        self._broker = broker
        self._namespace = namespace
        settings = {"TOUCHSTONE_STORE_URL": store_url, "TOUCHSTONE_ARCHIVE_URL": archive_url}
        (port,) = free_ports("127.0.0.1", 1)
        self._environment = namespace.environment(broker) | KNOBS | settings | {"TOUCHSTONE_HTTP_PORT": str(port)}
        self._ready_page = f"http://127.0.0.1:{port}/readyz"
        self._store_url = store_url
        self._archive_url = archive_url
        self._size = size
        self._sent: list[bytes] = []
        self.process = self._start()

    def _start(self) -> Worker:
        return Worker("", self._environment, command=[sys.executable, "-m", "touchstone.ops.cli", "archive"])

    async def send(self, count: int = MANY) -> None:
        """Events with their results, as a worker leaves them."""
        numbers = range(len(self._sent), len(self._sent) + count)
        events = [event(number, self._size) for number in numbers]
        await produce(self._broker, self._namespace.topic("generations"), [(0, one, ()) for one in events])
        results = [encode_result(self._result(number)) for number in numbers]
        await produce(self._broker, self._namespace.topic("results"), [(0, value, headers) for _, value, headers in results])
        self._sent += events

    def _result(self, number: int) -> ScoreResult:
        fields = {"result_id": str(uuid.uuid5(uuid.NAMESPACE_OID, f"e-{number}")), "event_id": f"e-{number}", "case_id": f"t-{number}", "kind": "safe"}
        source = SourceRef(topic=self._namespace.topic("generations"), partition=0, offset=number)
        return ScoreResult.model_validate(
            fields
            | {"suite": "x", "suite_version": "1", "config_digest": "d", "label": "Pass", "values": {}, "source": source, "scored_at": "2026-02-04T12:00:00Z"}
        )

    async def until_said(self, status: int, why: str = "") -> None:
        """Wait until `/readyz` answers so."""

        def holds() -> bool:
            with contextlib.suppress(httpx.TransportError):
                answer = httpx.get(self._ready_page, timeout=5, trust_env=False)
                return answer.status_code == status and why in answer.text
            return False

        await asyncio.to_thread(self.process.until, holds, WAIT_S)

    async def committed(self) -> int:
        return sum(await committed(self._broker, self._namespace.group("archive"), self._namespace.topic("results"), PARTITIONS))

    async def without(self, why: str, leave: Callable[[], object], come_back: Callable[[], object]) -> None:
        """Take something away, send events, see that it is said and that nothing is committed, and bring it back: then everything is kept."""
        await self.until_said(200)
        before = await self.committed()
        await asyncio.to_thread(leave)
        try:
            await self.send()
            await self.until_said(503, why)
            await asyncio.sleep(1)  # time to commit what must not be
            assert await self.committed() == before
        finally:
            await asyncio.to_thread(come_back)
        await self.until_kept()
        await self.until_said(200)

    async def without_the_broker(self, embedded: EmbeddedBroker) -> None:
        """The same for the broker, which cannot be sent anything meanwhile."""
        await self.until_said(200)
        embedded.set_down()
        await self.until_said(503, "the broker has not answered")
        embedded.set_up()
        await self.send()
        await self.until_kept()

    async def until_kept(self) -> None:
        """Wait until all is committed; then every event has its row and its object, byte for byte."""
        async with asyncio.timeout(WAIT_S):
            while await self.committed() < len(self._sent):  # noqa: ASYNC110 -- another process commits
                await asyncio.sleep(0.1)
        await asyncio.to_thread(self._check)

    def _check(self) -> None:
        store = ResultStore.open(self._store_url)
        try:
            rows = CaseIndex(store.engine).rows([f"e-{number}" for number in range(len(self._sent))])
        finally:
            store.close()
        assert {row.state for row in rows.values()} <= {"kept"}
        assert len(rows) == len(self._sent)
        objects = Objects.open(self._archive_url)
        there = {entry.path: entry.size for entry in objects.list("cases")}
        assert there == {rows[f"e-{number}"].path: len(sent) for number, sent in enumerate(self._sent)}
        assert objects.get(rows["e-0"].path) == self._sent[0]

    async def stop_in_the_middle(self) -> None:
        """SIGTERM while it writes ends it with 0, and its successor keeps the rest."""
        await self.send(20 * MANY)
        before = await self.committed()
        async with asyncio.timeout(WAIT_S):
            while await self.committed() == before:  # noqa: ASYNC110 -- another process commits
                await asyncio.sleep(0.01)
        assert await asyncio.to_thread(self.process.end) == 0, self.process.log
        assert await self.committed() < len(self._sent)
        self.process.close()
        self.process = self._start()
        await self.until_kept()


@contextmanager
def on_scene(broker: Broker, namespace: Namespace, store_url: str, archive_url: str, size: int = 10) -> Iterator[Scene]:
    scene = Scene(broker, namespace, store_url, archive_url, size)
    try:
        yield scene
    finally:
        scene.process.close()


@pytest.mark.slow(60)
@pytest.mark.postgres
async def test_an_archiver_waits_for_what_is_away_says_so_and_keeps_everything_then(
    embedded: Broker, namespace: Namespace, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert embedded.embedded is not None
    embedded.create_topics(namespace.topics(PARTITIONS))
    url = sqlalchemy.make_url(postgres_url)
    admin = sqlalchemy.create_engine(url.set(database="postgres"), isolation_level="AUTOCOMMIT", poolclass=sqlalchemy.NullPool)

    def let_in(*, whom: bool) -> None:
        with admin.connect() as connection:
            connection.execute(text(f"ALTER DATABASE {url.database} WITH ALLOW_CONNECTIONS {whom}"))
            if not whom:
                connection.execute(text(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{url.database}'"))

    server = S3Server.moto(tmp_path / "s3")
    lead_to(server, monkeypatch)

    def serve() -> None:
        """moto forgets everything with its process, so the bucket is made anew; what was in it is not asked for again."""
        server.come_back()
        boto3.client("s3", endpoint_url=server.url).create_bucket(Bucket="cases")

    let_in(whom=False)
    embedded.embedded.set_down()
    with on_scene(embedded, namespace, postgres_url, "s3://cases/kept") as scene:
        try:
            await scene.until_said(503, "store does not answer")
            let_in(whom=True)
            await scene.until_said(503, "the broker has not answered")
            embedded.embedded.set_up()
            await scene.until_said(503, "the store of objects has")
            await scene.send()
            assert await scene.committed() == 0
            serve()
            await scene.until_kept()
            await scene.without("the result store has", lambda: let_in(whom=False), lambda: let_in(whom=True))
            await scene.without_the_broker(embedded.embedded)
            await scene.stop_in_the_middle()
        finally:
            server.close()
            admin.dispose()


@pytest.mark.slow(20)
async def test_a_full_disk_and_a_folder_that_is_away_lose_nothing_and_leave_no_half_written_case(
    embedded: Broker, namespace: Namespace, tmp_path: Path
) -> None:
    embedded.create_topics(namespace.topics(PARTITIONS))
    with tmpfs(tmp_path / "small", "32m") as disk:
        folder = Folder(disk / "archive")
        folder.leave()
        with on_scene(embedded, namespace, f"sqlite:///{tmp_path / 'store.db'}", folder.environment["TOUCHSTONE_ARCHIVE_URL"], size=60_000) as scene:
            await scene.send()
            await scene.until_said(503, "the store of objects has")
            folder.come_back()
            await scene.until_kept()
            await scene.without("the store of objects has", lambda: fill(disk), (disk / "filler").unlink)
            await scene.without("the store of objects has", folder.leave, folder.come_back)
        assert [one.name for one in disk.rglob("*#*")] == []


async def test_an_archiver_with_nothing_to_write_notices_that_the_folder_is_away(embedded: Broker, namespace: Namespace, tmp_path: Path) -> None:
    embedded.create_topics(namespace.topics(PARTITIONS))
    folder = Folder(tmp_path / "archive")
    with on_scene(embedded, namespace, f"sqlite:///{tmp_path / 'store.db'}", folder.environment["TOUCHSTONE_ARCHIVE_URL"]) as scene:
        await scene.until_said(200)
        folder.leave()
        await scene.until_said(503, "the store of objects has")
        assert await scene.committed() == 0
        folder.come_back()
        await scene.until_said(200)
        await scene.send()
        await scene.until_kept()


def test_an_archiver_ends_at_once_where_objects_would_be_replaced(
    embedded: Broker, namespace: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded.create_topics(namespace.topics(PARTITIONS))
    lead_to(S3Server.moto(tmp_path), monkeypatch)
    with answering(Forgetful) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        with on_scene(embedded, namespace, f"sqlite:///{tmp_path / 'store.db'}", "s3://b/kept") as scene:
            assert scene.process.process.wait(WAIT_S) == 3
            assert "archive.url: this store of objects replaces an object that is there already" in scene.process.log
            assert "Traceback" not in scene.process.log
