from pathlib import Path

import pytest
import sqlalchemy
from sqlalchemy import text

from tests.streams.results_topic import TOPIC, projection, result
from touchstone.ops.store.engine import BUSY_TIMEOUT_S, open_engine, prepare, reading, shown, writing
from touchstone.ops.store.results import ResultStore
from touchstone.ops.store.schema import SCHEMA_VERSION, schema_version
from touchstone.schemas.result import Finding
from touchstone.scorers.base import ConfigError
from touchstone.streams.account.store_port import StoreAway, StoreRefused, StoreUnavailable, check_positions


def test_a_newer_schema_is_refused(store: ResultStore, store_url: str) -> None:
    with writing(store.engine) as connection:
        connection.execute(schema_version.update().values(version=SCHEMA_VERSION + 1))
    with pytest.raises(StoreRefused, match="newer than"):
        ResultStore.open(store_url, create=True)


def test_opening_again_keeps_what_is_there(store: ResultStore, store_url: str) -> None:
    store.apply(projection(result()), 1.0)
    again = ResultStore.open(store_url, create=True)
    assert again.positions(TOPIC) == {0: 1}
    again.close()


def test_a_store_without_tables_is_not_made_by_a_reader(store_url: str) -> None:
    with pytest.raises(StoreRefused, match="touchstone projector"):
        ResultStore.open(store_url)


def test_a_missing_file_is_not_made_by_a_reader(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match="there is no store"):
        ResultStore.open(f"sqlite:///{tmp_path / 'absent.db'}")
    assert not (tmp_path / "absent.db").exists()


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("nonsense", "not a database URL"),
        ("mysql://u:hunter2@h/d", "mysql is not supported"),
        ("sqlite://", "in-memory"),
        ("sqlite:////no/such/folder/x.db", "is not a directory"),
        ("postgresql://u:hunter2@127.0.0.1:1/d?connect_timeout=2", "cannot be opened"),
        ("postgresql://u@127.0.0.1:1/d?password=hunter2&connect_timeout=2", "cannot be opened"),
        ("postgresql://u:hunter2@h:abc/db", "not a database URL"),
        ("postgresql://u:p@hunter2@h/db", "more than one @"),
        ("postgresql://u@127.0.0.1:1/d?connect_timeout=hunter2", "ProgrammingError"),
        ("postgresql://u@127.0.0.1:1/d?sslmode=hunter2", "cannot be opened"),
        ("sqlite:///x.db?timeout=hunter2", "options"),
        ("sqlite://u:hunter2@h/x.db", "three slashes"),
    ],
)
def test_a_store_that_cannot_be_opened_is_one_line_without_its_secrets(url: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        ResultStore.open(url, create=True)
    assert "\n" not in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary, " * 100)
    with pytest.raises(ConfigError, match="cannot be opened"):
        ResultStore.open(f"sqlite:///{path}", create=True)


def test_a_url_is_shown_without_password_and_query() -> None:
    assert shown("postgresql+psycopg://ann:hunter2@db/x?sslkey=k&password=p") == "postgresql+psycopg://ann:***@db/x"
    assert shown("what is this") == "(not a database URL)"
    assert shown("postgresql://u:p@hunter2@h/db") == shown("postgresql://u:hunter2@h:abc/db") == "(not a database URL)"


def test_sqlite_keeps_whole_transactions_without_waiting_for_readers(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'x.db'}")
    with reading(engine) as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA busy_timeout")).scalar() == BUSY_TIMEOUT_S * 1000
    engine.dispose()


def test_a_store_that_is_locked_while_it_is_opened_is_away_not_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchstone.ops.store.engine.BUSY_TIMEOUT_S", 0)
    url = f"sqlite:///{tmp_path / 'x.db'}"
    store = ResultStore.open(url, create=True)
    with writing(store.engine), pytest.raises(StoreAway, match="database is locked"):
        ResultStore.open(url, create=True)
    ResultStore.open(url, create=True).close()
    store.close()


def test_a_locked_store_is_unavailable_not_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchstone.ops.store.engine.BUSY_TIMEOUT_S", 0)
    url = f"sqlite:///{tmp_path / 'x.db'}"
    store = ResultStore.open(url, create=True)
    with writing(store.engine), pytest.raises(StoreUnavailable, match="SQLITE_BUSY"):
        store.apply(projection(result()), 1.0)
    assert store.apply(projection(result()), 1.0).new == 1
    store.close()


@pytest.mark.postgres
def test_a_database_that_went_away_is_unavailable_and_comes_back(postgres_url: str) -> None:
    store = ResultStore.open(postgres_url, create=True)
    with pytest.raises(StoreUnavailable), writing(store.engine) as connection:
        connection.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
    assert store.apply(projection(result()), 1.0).new == 1
    store.close()


def test_positions_that_the_topic_does_not_have_are_explained() -> None:
    check_positions(TOPIC, {0: 5}, {0: (5, 5), 1: (0, 9)})
    with pytest.raises(StoreRefused, match=r"up to offset 6, but it ends at 5.*--from-start"):
        check_positions(TOPIC, {0: 6}, {0: (0, 5)})
    with pytest.raises(StoreRefused, match=r"offsets 3 to 6 .* deleted by retention .*--from-start"):
        check_positions(TOPIC, {0: 3}, {0: (7, 9)})
    with pytest.raises(StoreRefused, match="partition 4"):
        check_positions(TOPIC, {4: 1}, {0: (0, 5)})


@pytest.mark.postgres
@pytest.mark.parametrize("table", ["touchstone_results", "touchstone_codes", "touchstone_repeats"])
@pytest.mark.parametrize(
    ("happens", "code"),
    [
        ("RAISE EXCEPTION 'full' USING ERRCODE = '53100'", "53100"),  # could not extend file: No space left on device
        ("RAISE EXCEPTION 'full' USING ERRCODE = '53200'", "53200"),  # out of memory
        ("RAISE EXCEPTION 'io' USING ERRCODE = '58030'", "58030"),  # I/O error
        ("PERFORM pg_terminate_backend(pg_backend_pid())", "57P01|OperationalError"),  # the server is stopped amid a statement
    ],
)
def test_a_server_that_fails_amid_any_write_is_unavailable_and_nothing_of_the_write_is_left(postgres_url: str, table: str, happens: str, code: str) -> None:
    store = ResultStore.open(postgres_url, create=True)
    first = projection(result(event="a", offset=0), first=0)
    store.apply(first, 1000.0)
    admin = sqlalchemy.create_engine(postgres_url, poolclass=sqlalchemy.NullPool)
    with admin.begin() as connection:
        connection.execute(text(f"CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {happens}; RETURN NEW; END $$"))
        connection.execute(text(f"CREATE TRIGGER fails BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION fails()"))
    found = Finding(code="a_code", severity="major", message="m", path="p")
    second = projection(result(event="b", offset=1).model_copy(update={"findings": (found,)}), result(event="a", offset=2), first=1)
    with pytest.raises(StoreUnavailable, match=code):
        store.apply(second, 1001.0)
    assert store.positions(TOPIC) == {0: 1}
    with admin.begin() as connection:
        connection.execute(text(f"DROP TRIGGER fails ON {table}"))
    store.apply(second, 1002.0)
    assert store.positions(TOPIC) == {0: 3}
    store.close()


@pytest.mark.parametrize(
    ("says", "passes"),
    [
        ("connection failed: FATAL:  could not write init file", True),  # PostgreSQL to who connects while its disk is full
        ('could not extend file "base/5/16389": No space left on device\nHINT:  Check free disk space.', True),
        ("connection failed: FATAL:  the database system is not yet accepting connections", True),
        ("connection failed: FATAL:  the database system is in recovery mode", True),
        ("connection failed: FATAL:  the database system is shutting down", True),
        ("connection failed: FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute", True),
        ("connection failed: server closed the connection unexpectedly\n\tThis probably means", True),
        ("failed to resolve host 'db': [Errno -3] Temporary failure in name resolution", True),
        ("failed to resolve host 'db': [Errno -2] Name or service not known", False),
        ('connection failed: FATAL:  password authentication failed for user "p"', False),
        ('connection failed: FATAL:  database "secret" does not exist', False),
    ],
)
def test_a_projector_waits_at_its_start_for_what_passes_and_ends_for_what_a_person_must_change(says: str, passes: bool) -> None:
    psycopg = pytest.importorskip("psycopg")

    def refuse() -> None:
        raise psycopg.OperationalError(says)

    with pytest.raises(ConfigError, match="cannot be opened") as refused:
        prepare(sqlalchemy.create_engine("postgresql+psycopg://p:secret@db/secret", creator=refuse), create=True)
    assert isinstance(refused.value, StoreAway) is passes
    assert "OperationalError" not in str(refused.value)


def test_a_full_disk_at_the_start_passes_on_sqlite_too(tmp_path: Path) -> None:
    (tmp_path / "x.db").touch()
    engine = open_engine(f"sqlite:///{tmp_path / 'x.db'}")
    # SQLite's own refusal: no page fits.
    sqlalchemy.event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA max_page_count=1"))
    with pytest.raises(StoreAway, match="database or disk is full"):
        prepare(engine, create=True)
    engine.dispose()
