"""A store that an earlier version of Touchstone wrote opens, becomes one of this version, and holds the same results.

`stores/version_1.sql` is such a store; `stores/version_1.results.jsonl` are the results that its own version read from it.
"""

import sqlite3
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, select, text

from tests.ops.store.histories import AT, add, as_version_3, as_version_4, as_version_5, scored
from tests.streams.fakes import FakeRecord
from touchstone.ops.store import migration
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.engine import open_engine
from touchstone.ops.store.history import History
from touchstone.ops.store.queue_rows import Definition
from touchstone.ops.store.queues import Queues
from touchstone.ops.store.reports import Chosen, StoredEntries
from touchstone.ops.store.results import ResultStore
from touchstone.ops.store.schema import SCHEMA_VERSION, results
from touchstone.schemas.result import ScoreResult
from touchstone.scorers.base import ConfigError
from touchstone.streams.account.projection import project
from touchstone.streams.account.store_port import Applied
from touchstone.streams.wire.codec import encode_result

STORES = Path(__file__).parent / "stores"
RESULTS = [ScoreResult.model_validate_json(line) for line in (STORES / "version_1.results.jsonl").read_text().splitlines()]
CRASH = """
import os, sys
from touchstone.ops.store import migration
from touchstone.ops.store.results import ResultStore
migration._ROWS_AT_A_TIME = 2
original, calls = migration.insert_results, []
def dying(connection, rows):
    original(connection, rows)
    calls.append(rows)
    if len(calls) == 2:
        os._exit(9)
migration.insert_results = dying
ResultStore.open(sys.argv[1])
"""


@pytest.fixture
def old_url(store_url: str) -> str:
    script = (STORES / "version_1.sql").read_text()
    if store_url.startswith("sqlite"):
        with sqlite3.connect(store_url.removeprefix("sqlite:///")) as connection:
            connection.executescript(script)
    else:
        engine = open_engine(store_url)
        with engine.begin() as connection_:
            connection_.exec_driver_sql(script)
        engine.dispose()
    return store_url


def entries(store: ResultStore) -> list[ScoreResult]:
    ways = dict.fromkeys((result.suite, result.suite_version, result.config_digest) for result in RESULTS)
    return [result for way in ways for result in StoredEntries(store, Chosen(*way, None))]


def indexes_of(store: ResultStore) -> set[str]:
    """Names of the indexes on results that a new store has."""
    only_postgresql = {"touchstone_results_label"} if store.engine.dialect.name == "sqlite" else set()
    return {str(index.name) for index in results.indexes} - only_postgresql


def version_of(url: str) -> int:
    engine = create_engine(open_engine(url).url)
    try:
        with engine.connect() as connection:
            return int(connection.execute(text("SELECT max(version) FROM touchstone_schema")).scalar_one())
    finally:
        engine.dispose()


@pytest.mark.parametrize("create", [False, True])
def test_a_store_of_version_1_holds_the_same_results_afterwards(old_url: str, create: bool) -> None:
    store = ResultStore.open(old_url, create=create)
    try:
        assert [result.model_dump_json() for result in entries(store)] == [result.model_dump_json() for result in RESULTS]
        assert store.positions("touchstone.results") == {0: 8}
        summary = store.summary("1372cb38-1f49-52f3-a57b-40c4a8600540")
        assert (summary.total, summary.labels) == (3, {"Pass": 1, "Review": 1, "Fail": 1})
        (account,) = store.accounts("safe_v0", "touchstone.generations")
        assert store.account(account).rows == ((0, 3), (5, 5))
        tables = inspect(store.engine)
        assert "touchstone_results_1" not in tables.get_table_names()
        assert {index["name"] for index in tables.get_indexes("touchstone_results")} == indexes_of(store)
    finally:
        store.close()
    assert version_of(old_url) == SCHEMA_VERSION


def test_what_was_stored_before_is_recognised_when_it_comes_again(old_url: str) -> None:
    store = ResultStore.open(old_url, create=True)
    try:
        at_a_lower_offset = RESULTS[-1].source.model_copy(update={"offset": 0})
        earlier = RESULTS[-1].model_copy(update={"source": at_a_lower_offset, "scored_at": RESULTS[0].scored_at})
        records = [FakeRecord(8 + n, encode_result(result)[1], headers=encode_result(result)[2]) for n, result in enumerate([*RESULTS, earlier])]
        applied = store.apply(project("touchstone.results", {0: 8}, {0: records}), 0.0)
        assert applied == Applied(repeats=1, replays=len(RESULTS))
        assert all(batch.revision == 1 for batch in store.due(float("inf"), 10))
    finally:
        store.close()


@pytest.mark.parametrize("create", [False, True])
def test_a_store_of_version_3_lists_its_cases_afterwards(store_url: str, create: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ResultStore.open(store_url, create=True)
    add(store, *(scored(f"e{n}", n, codes=("c", f"code-{n}"), model="writer", kind="trace") for n in range(7)))
    before = History(store.engine).cases()
    as_version_3(store)
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE touchstone_results SET document = '{' WHERE event_id = 'e3'"))
    store.close()

    monkeypatch.setattr(migration, "_ROWS_AT_A_TIME", 2)
    store = ResultStore.open(store_url, create=create)
    try:
        after = History(store.engine).cases()
        assert [row for row in after.rows if row.event_id != "e3"] == [row for row in before.rows if row.event_id != "e3"]
        assert [(row.kind, row.codes) for row in after.rows if row.event_id == "e3"] == [("", ())]
        assert {str(index["name"]) for index in inspect(store.engine).get_indexes("touchstone_results")} == indexes_of(store)
    finally:
        store.close()


def test_a_store_of_version_4_says_how_good_its_results_are_afterwards(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ResultStore.open(store_url, create=True)
    add(store, *(scored(f"e{n}", n, score=n / 10, codes=("a", "b")[: n % 3]) for n in range(5)), scored("x", 9, suite="not_installed"))
    drawn, listed = _drawn(store), History(store.engine).facets(by="code")
    as_version_4(store)
    assert _drawn(store) != drawn
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE touchstone_results SET scores = '{' WHERE event_id = 'e3'"))
    store.close()
    monkeypatch.setattr(migration, "_ROWS_AT_A_TIME", 2)
    store = ResultStore.open(store_url)
    try:
        with store.engine.connect() as connection:
            found = dict(connection.execute(select(results.c.event_id, results.c.overall)).tuples().all())
        assert found == {"e0": 0.0, "e1": 0.1, "e2": 0.2, "e3": None, "e4": 0.4, "x": None}
        assert History(store.engine).facets(by="code") == listed
        assert _drawn(store) == drawn
    finally:
        store.close()
    assert version_of(store_url) == SCHEMA_VERSION


def test_a_store_of_version_5_has_queues_afterwards_and_all_its_annotations(store_url: str) -> None:
    store = ResultStore.open(store_url, create=True)
    add(store, *(scored(f"e{n}", n) for n in range(3)))
    CaseIndex(store.engine).annotate("e0", "ann", {"verdict": "fail"}, AT, expected=0)
    as_version_5(store)
    store.close()
    store = ResultStore.open(store_url)
    try:
        Queues(store.engine).create("q", Definition(), AT + timedelta(days=1))
        CaseIndex(store.engine).annotate("e0", "ann", {"verdict": "pass", "queue": "q"}, AT, expected=1)
        assert [one.body["verdict"] for one in CaseIndex(store.engine).annotations("e0")] == ["fail", "pass"]
        assert Queues(store.engine).counts(["q"])["q"].states["settled"] == 1
        with store.engine.connect() as connection:
            assert "touchstone_annotations_queue" in {index["name"] for index in inspect(connection).get_indexes("touchstone_annotations")}
    finally:
        store.close()
    assert version_of(store_url) == SCHEMA_VERSION


def _drawn(store: ResultStore) -> dict[str, list[str]]:
    """Name → columns of each index on results and codes, and what SQLite says of the codes' table."""
    with store.engine.connect() as connection:
        found = {
            str(index["name"]): list(index["column_names"]) for name in ("results", "codes") for index in inspect(connection).get_indexes(f"touchstone_{name}")
        }
        if store.engine.dialect.name == "sqlite":
            found["rowid"] = [str("WITHOUT ROWID" in connection.execute(text("SELECT sql FROM sqlite_master WHERE name = 'touchstone_codes'")).scalar_one())]
    return found  # type: ignore[return-value]


def test_a_crash_in_the_middle_leaves_the_old_store_whole(old_url: str) -> None:
    crashed = subprocess.run([sys.executable, "-c", CRASH, old_url], check=False)
    assert crashed.returncode == 9
    assert version_of(old_url) == 1
    store = ResultStore.open(old_url)
    try:
        assert entries(store) == RESULTS
    finally:
        store.close()


@pytest.mark.parametrize("change", ["result_id = ''", "scored_at = 9223372036854775807"], ids=["an empty id", "a time that no calendar has"])
def test_a_strange_row_is_kept_and_holds_up_no_other(old_url: str, change: str) -> None:
    engine = create_engine(open_engine(old_url).url)
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE touchstone_results SET {change} WHERE event_id = 'o-7'"))
    engine.dispose()
    store = ResultStore.open(old_url)
    try:
        with store.engine.connect() as connection:
            assert connection.execute(text("SELECT count(*) FROM touchstone_results")).scalar() == len(RESULTS)
    finally:
        store.close()


def test_a_damaged_result_is_named_by_reports_and_holds_up_no_other(old_url: str) -> None:
    engine = create_engine(open_engine(old_url).url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE touchstone_results SET document = '{' WHERE event_id = 'o-7'"))
    engine.dispose()
    store = ResultStore.open(old_url)
    try:
        with pytest.raises(ConfigError, match=r"stored result .* cannot be read: it is damaged"):
            entries(store)
        assert len(list(StoredEntries(store, Chosen(RESULTS[0].suite, RESULTS[0].suite_version, RESULTS[0].config_digest, None)))) > 0
    finally:
        store.close()
