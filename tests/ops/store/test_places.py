"""Positions in the store: a topic made anew, and another event at the position of an earlier one."""

import pytest
from sqlalchemy import text

from tests.ops.store.histories import as_version_3
from tests.streams.results_topic import SOURCE, TOPIC, ledger, records, result
from touchstone.ops.store.results import ResultStore
from touchstone.ops.store.schema import metadata
from touchstone.schemas.ledger import LedgerRecord
from touchstone.schemas.result import ScoreResult
from touchstone.scorers.identity import deterministic_id
from touchstone.scorers.scoring import ResultMaker
from touchstone.streams.account.intervals import Interval
from touchstone.streams.account.projection import AccountKey, project
from touchstone.streams.account.store_port import Applied
from touchstone.streams.wire.codec import position_id

OLD, NEW = "mgpdI_45THaAR-YN238gDQ", "dDYSf4sNRkatUCEKEB0QMA"


def write(store: ResultStore, *events: ScoreResult | LedgerRecord) -> Applied:
    first = store.positions(TOPIC).get(0)
    return store.apply(project(TOPIC, {0: first}, {0: records(*events, first=first or 0)}), 1000.0)


def at(event: ScoreResult, **place: object) -> ScoreResult:
    return event.model_copy(update={"source": event.source.model_copy(update=place)})


def nameless(offset: int = 0, label: str = "Pass", *, by_name: bool = False, **place: object) -> ScoreResult:
    """The result of an event without an id. `by_name`: as stores have it that know no ids of topics."""
    event = at(result(offset=offset, label=label), **place)
    event_id = deterministic_id(f"{SOURCE}/0/{offset}") if by_name else position_id(event.source)
    return event.model_copy(update={"event_id": event_id, "result_id": ResultMaker("safe_v0", "0.1", "d1").id_of(event_id)})


def account(topic_id: str = "") -> AccountKey:
    return AccountKey("safe_v0", "0.1", SOURCE, topic_id, 0)


def rows(store: ResultStore) -> list[tuple[str, str]]:
    with store.engine.connect() as connection:
        return sorted((row.source_topic_id, row.label) for row in connection.execute(text("SELECT source_topic_id, label FROM touchstone_results")))


def test_each_topic_of_a_name_has_its_own_results_and_account(store: ResultStore) -> None:
    both = nameless(topic_id=OLD, checksum=1), nameless(label="Fail", topic_id=NEW, checksum=2)
    assert write(store, *both, nameless(offset=7, topic_id=OLD, checksum=3)) == Applied(new=3)
    assert rows(store) == sorted([(OLD, "Pass"), (OLD, "Pass"), (NEW, "Fail")])
    write(store, ledger(("skipped", "other_kind", ((1, 4),))).model_copy(update={"topic_id": NEW}))
    assert store.accounts("safe_v0", SOURCE) == sorted([account(OLD), account(NEW)])
    assert store.account(account(OLD)).intervals == (Interval(0, 0, "scored"), Interval(7, 7, "scored"))
    assert store.account(account(NEW)).intervals == (Interval(0, 0, "scored"), Interval(1, 4, "skipped", "other_kind"))
    assert store.account(account(NEW)).rows == ((0, 0),)
    assert store.contradictions("safe_v0", SOURCE) == []


@pytest.mark.parametrize("at_once", [True, False])
def test_another_event_at_a_position_is_counted_and_kept_beside_the_first(store: ResultStore, at_once: bool) -> None:
    first, second = nameless(checksum=1), nameless(label="Fail", checksum=2)  # of a broker without ids of topics
    applied = [write(store, first, second)] if at_once else [write(store, first), write(store, second)]
    assert applied[-1].contradicted == 1
    assert sum(one.replays for one in applied) == 0
    assert rows(store) == [("", "Fail"), ("", "Pass")]
    assert store.contradictions("safe_v0", SOURCE) == [("", 0, 0)]
    assert write(store, first, second) == Applied(replays=2)


def test_another_event_with_an_equal_id_at_an_equal_position_is_counted(store: ResultStore) -> None:
    assert write(store, at(result(), checksum=1), at(result(label="Fail"), checksum=2)) == Applied(new=1, contradicted=1)
    assert store.contradictions("safe_v0", SOURCE) == [("", 0, 0)]


def test_another_event_at_the_position_of_a_repeat_is_counted(store: ResultStore) -> None:
    write(store, at(result(event="a"), checksum=1), at(result(event="a", offset=5), checksum=5))
    assert write(store, at(result(event="b", offset=5), checksum=6)).contradicted == 1


def test_the_same_event_scored_in_another_way_is_no_contradiction(store: ResultStore) -> None:
    assert write(store, at(result(), checksum=1), at(result(digest="d2"), checksum=1), at(result(version="0.2"), checksum=1)) == Applied(new=3)


@pytest.mark.parametrize("event", [nameless(topic_id=NEW, checksum=7), at(result(), topic_id=NEW, checksum=7)], ids=["without an id", "with an id"])
def test_what_a_store_without_ids_of_topics_has_is_recognised_when_it_comes_again(store: ResultStore, event: ScoreResult) -> None:
    known = nameless(by_name=True) if event.event_id != "e1" else result()
    write(store, known)
    assert write(store, event) == Applied(replays=1)
    assert rows(store) == [("", "Pass")]
    assert store.contradictions("safe_v0", SOURCE) == []


def test_what_contradicts_a_store_without_ids_of_topics_is_of_another_topic(store: ResultStore) -> None:
    write(store, nameless(by_name=True))
    assert write(store, nameless(label="Fail", topic_id=NEW, checksum=7)) == Applied(new=1, contradicted=1)
    assert rows(store) == [("", "Pass"), (NEW, "Fail")]
    assert store.contradictions("safe_v0", SOURCE) == [("", 0, 0)]


def test_the_id_of_the_results_topic_is_kept_with_its_positions(store: ResultStore) -> None:
    first = project(TOPIC, {0: None}, {0: records(result())})
    first.topic_id = OLD
    store.apply(first, 1.0)
    unknown = project(TOPIC, {0: 1}, {0: records(result(event="b", offset=1), first=1)})
    store.apply(unknown, 1.0)
    assert (store.topic_id(TOPIC), store.topic_id("another")) == (OLD, "")


def test_a_store_of_version_2_is_brought_up_to_date_whole(store_url: str) -> None:
    store = ResultStore.open(store_url, create=True)
    try:
        write(store, nameless(by_name=True), result(event="a", offset=1), result(event="a", offset=2), ledger(("dead", "not_json", ((3, 3),))))
        _as_version_2(store)
    finally:
        store.close()
    store = ResultStore.open(store_url)
    try:
        assert store.account(account()).intervals == (Interval(0, 2, "scored"), Interval(3, 3, "dead", "not_json"))
        assert store.account(account()).rows == ((0, 2),)
        assert store.positions(TOPIC) == {0: 4}
        assert write(store, nameless(topic_id=NEW, checksum=7)) == Applied(replays=1)
        assert write(store, at(result(event="z", offset=2), topic_id=NEW, checksum=7)).contradicted == 1
    finally:
        store.close()


def _as_version_2(store: ResultStore) -> None:
    """Take out what versions 3 and 4 have added."""
    as_version_3(store)
    with store.engine.begin() as connection:
        for table, columns, key in (
            ("touchstone_repeats", "result_id, source_topic, source_partition, source_offset, suite, suite_version", "result_id, source_topic, source_offset"),
            ("touchstone_intervals", "suite, suite_version, topic, partition, first, last, intervals", "suite, topic, partition, first"),
        ):
            for index in metadata.tables[table].indexes:
                index.drop(connection)
            connection.execute(text(f"CREATE TABLE other AS SELECT {columns} FROM {table}"))
            connection.execute(text(f"DROP TABLE {table}"))
            connection.execute(text(f"ALTER TABLE other RENAME TO {table}"))
            if store.engine.dialect.name == "postgresql":
                connection.execute(text(f"ALTER TABLE {table} ADD PRIMARY KEY ({key})"))
            for index in metadata.tables[table].indexes:
                index.create(connection)
        connection.execute(text("DROP TABLE touchstone_contradictions"))
        connection.execute(text("ALTER TABLE touchstone_positions DROP COLUMN topic_id"))
        for column in ("source_topic_id", "checksum"):
            connection.execute(text(f"ALTER TABLE touchstone_results DROP COLUMN {column}"))
        connection.execute(text("UPDATE touchstone_schema SET version = 2"))
