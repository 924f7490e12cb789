"""The projector while its store is away, full or silent: readiness says so without a break, and nothing is lost or half written."""

import asyncio
import contextlib
import shutil
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy import text
from structlog.testing import capture_logs

from tests.integration.brokers import Broker, Namespace
from tests.integration.test_projector import ACCOUNT, produce, projecting, settings_on, until
from tests.integration.workers import Worker
from tests.streams.results_topic import result
from touchstone.ops.store import results as store_results
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.settings.house import Settings
from touchstone.streams.account import projector, service
from touchstone.streams.account.projector import Projector
from touchstone.streams.account.store_port import StoreUnavailable


@pytest.fixture
def settings(shared_embedded: Broker, namespace: Namespace, tmp_path: Path) -> Settings:
    return settings_on(shared_embedded, namespace, tmp_path)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ResultStore]:
    opened = ResultStore.open(f"sqlite:///{tmp_path / 'store.db'}", create=True)
    yield opened
    opened.close()


@contextlib.contextmanager
def tmpfs(folder: Path, size: str, owner_of: Path | None = None) -> Iterator[Path]:
    """A file system that is small enough to be filled, with the owner of another folder; skips where it cannot be mounted."""
    folder.mkdir(exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip("a file system can be mounted by root only")
    try:
        if owner_of is not None:
            shutil.chown(folder, owner_of.owner(), owner_of.group())
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Take all the space that is left there; deleting the file gives it back."""
    filler = folder / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(b"\0" * 4096):
            pass
    return filler


async def never_ready(running: Projector, seconds: float) -> set[str]:
    """Ask for readiness as often as possible; returns what it said, without the numbers."""
    said, loop = set(), asyncio.get_running_loop()
    until_ = loop.time() + seconds
    while loop.time() < until_:
        ready, why = running.readiness()
        assert not ready
        said.add("".join(letter for letter in why if not letter.isdigit()))
        await asyncio.sleep(0.005)
    return said


async def test_a_store_that_can_be_read_but_not_written_is_never_ready(settings: Settings, store: ResultStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise StoreUnavailable("SQLITE_FULL")

    with capture_logs() as lines:
        async with projecting(settings, store) as running:
            await until(lambda: running.readiness()[0])
            with monkeypatch.context() as patch:
                patch.setattr(store, "apply", full)
                await produce(settings, [result(event="a", size=2)])
                await until(lambda: not running.readiness()[0])
                assert await never_ready(running, 2.0) == {"the disk of the store has been full for  s (SQLITE_FULL)"}
            await until(lambda: running.readiness()[0])
    assert store.account(ACCOUNT).rows == ((0, 0),)
    assert [line["event"] for line in lines if line["event"].startswith("dependency_")] == ["dependency_down", "dependency_up"]


async def test_a_small_write_that_succeeds_does_not_make_it_ready_while_what_was_refused_is_not_written(
    settings: Settings, store: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply, poll, refused, has_space = store.apply, projector._poll, asyncio.Event(), threading.Event()

    def apply_up_to_five(projection: Any, now: float) -> Any:
        if projection.reached[0] > 5 and not has_space.is_set():
            refused.set()
            raise StoreUnavailable("SQLITE_FULL")
        return apply(projection, now)

    async def poll_one(consumer: Any, most: int) -> Any:
        return await poll(consumer, 1 if refused.is_set() else most)

    async with projecting(settings, store) as running:
        await until(lambda: running.readiness()[0])
        monkeypatch.setattr(store, "apply", apply_up_to_five)
        monkeypatch.setattr(projector, "_poll", poll_one)
        await produce(settings, [result(event=f"e{number}", offset=number, size=10) for number in range(10)])
        await refused.wait()
        await until(lambda: not running.readiness()[0])
        await never_ready(running, 1.5)
        await until(lambda: store.positions(settings.topics.results) == {0: 5})
        has_space.set()
        await until(lambda: running.readiness()[0])
        await until(lambda: store.positions(settings.topics.results) == {0: 10})


async def test_a_store_without_news_is_back_once_a_write_has_succeeded(settings: Settings, store: ResultStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> None:
        raise StoreUnavailable("SQLITE_IOERR")

    async with projecting(settings, store) as running:
        await until(lambda: running.readiness()[0])
        with monkeypatch.context() as patch:
            patch.setattr(store, "check_writable", away)
            patch.setattr(store, "due", away)
            await until(lambda: not running.readiness()[0])
            patch.undo()
            patch.setattr(store, "check_writable", away)
            await never_ready(running, 1.0)
        await until(lambda: running.readiness()[0])


async def test_a_store_that_says_nothing_is_not_ready_and_holds_up_no_stop(settings: Settings, store: ResultStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "PATIENCE_S", 0.2)
    goes_on, apply = threading.Event(), store.apply

    def hang(*arguments: Any) -> Any:
        goes_on.wait(60)
        return apply(*arguments)

    monkeypatch.setattr(store, "apply", hang)
    async with projecting(settings, store) as running:
        await until(lambda: running.readiness()[0])
        await produce(settings, [result(event="a", size=2)])
        await until(lambda: running.readiness()[1].startswith("the store has not answered for "))
        goes_on.set()
        await until(lambda: running.readiness()[0])
    assert store.account(ACCOUNT).rows == ((0, 0),)


async def full_disk(settings: Settings, store: ResultStore, folder: Path) -> None:
    """Fill the disk under the store, let results come, and give the space back."""
    many = [result(event=f"e{number}", offset=number, size=400, details={"why": "c" * 500}) for number in range(400)]
    async with projecting(settings, store) as running:
        await until(lambda: running.readiness()[0])
        filler = fill(folder)
        await produce(settings, many)
        await until(lambda: not running.readiness()[0])
        said = await never_ready(running, 2.0)
        assert any("has been full" in why for why in said), said
        filler.unlink()
        await until(lambda: running.readiness()[0], 60)
        await until(lambda: store.positions(settings.topics.results) == {0: 400}, 60)
    assert store.account(ACCOUNT).rows == ((0, 399),)


async def test_a_full_disk_under_sqlite_is_never_ready_and_loses_nothing(settings: Settings, tmp_path: Path) -> None:
    with tmpfs(tmp_path / "small", "2m") as folder:
        store = ResultStore.open(f"sqlite:///{folder / 'store.db'}", create=True)
        try:
            await full_disk(settings, store, folder)
        finally:
            store.close()


@pytest.fixture
def admin(postgres_url: str) -> Iterator[Callable[[str], None]]:
    """Runs statements outside the test's own database."""
    url = sqlalchemy.make_url(postgres_url).set(database="postgres")
    engine = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sqlalchemy.NullPool)

    def run(statement: str) -> None:
        with engine.connect() as connection:
            connection.execute(text(statement))

    yield run
    engine.dispose()


@pytest.mark.postgres
async def test_a_full_disk_under_postgresql_is_never_ready_and_loses_nothing(
    settings: Settings, postgres_url: str, postgres_socket_dir: Path, admin: Callable[[str], None]
) -> None:
    name = f"full{uuid.uuid4().hex[:8]}"
    with tmpfs(postgres_socket_dir / name, "14m", owner_of=postgres_socket_dir) as folder:
        admin(f"CREATE TABLESPACE {name} LOCATION '{folder}'")
        admin(f"CREATE DATABASE {name} TABLESPACE {name} STRATEGY file_copy")
        store = ResultStore.open(sqlalchemy.make_url(postgres_url).set(database=name).render_as_string(), create=True)
        try:
            await full_disk(settings, store, folder)
        finally:
            store.close()
            admin(f"DROP DATABASE {name} WITH (FORCE)")
            admin(f"DROP TABLESPACE {name}")


@pytest.mark.postgres
async def test_postgresql_that_goes_away_in_mid_transaction_is_waited_for_and_loses_nothing(
    settings: Settings, postgres_url: str, admin: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, write = sqlalchemy.make_url(postgres_url).database, store_results.write_results
    cut = threading.Event()

    def write_and_be_cut(connection: Any, rows: Any) -> Any:
        written = write(connection, rows)
        if not cut.is_set():
            cut.set()
            admin(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false")
            admin(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        return written

    store = ResultStore.open(postgres_url, create=True)
    try:
        async with projecting(settings, store) as running:
            await until(lambda: running.readiness()[0])
            monkeypatch.setattr(store_results, "write_results", write_and_be_cut)
            await produce(settings, [result(event=f"e{number}", offset=number, size=50) for number in range(50)])
            await until(lambda: cut.is_set() and not running.readiness()[0])
            assert all(why.startswith("the store has not answered") for why in await never_ready(running, 2.0))
            admin(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS true")
            await until(lambda: running.readiness()[0])
            await until(lambda: store.positions(settings.topics.results) == {0: 50})
        assert store.account(ACCOUNT).rows == ((0, 49),)
    finally:
        store.close()


@pytest.mark.postgres
def test_a_projector_that_starts_while_its_store_is_away_waits_and_goes_on(
    shared_embedded: Broker, namespace: Namespace, postgres_url: str, admin: Callable[[str], None]
) -> None:
    shared_embedded.create_topics(namespace.topics(partitions=2))
    name = sqlalchemy.make_url(postgres_url).database
    admin(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false")
    projector = Worker("", namespace.environment(shared_embedded), command=[sys.executable, "-m", "touchstone.ops.cli", "projector", "--store", postgres_url])
    try:
        projector.until(lambda: projector.page("/readyz")[1].startswith("the store does not answer: waiting for postgresql"))
        assert projector.page("/healthz")[0] == 200
        admin(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS true")
        projector.until(lambda: projector.page("/readyz")[0] == 200)
        assert (projector.log.count('"event": "dependency_down"'), projector.log.count('"event": "dependency_up"')) == (1, 1)
        assert projector.end() == 0, projector.log
    finally:
        projector.close()
