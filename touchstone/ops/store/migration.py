"""Turns a result store of an older version into one of this version, in the transaction of the caller: all of it or nothing."""

import json
from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection, MetaData, Table, literal, select, text, update

from touchstone.ops.store.queue_tables import guidelines, queue_cases, queue_places, queues
from touchstone.ops.store.rows import from_micros
from touchstone.ops.store.schema import (
    SCHEMA_VERSION,
    annotations,
    cases,
    categories,
    codes,
    contradictions,
    feedback,
    history_indexes,
    judges,
    pages,
    positions,
    repeats,
    results,
    schema_version,
    views,
)
from touchstone.ops.store.writes import insert_codes, insert_results, update_results
from touchstone.schemas.result import ScoreResult, SourceRef
from touchstone.scorers.registry import usable_suites
from touchstone.scorers.suite import Suite
from touchstone.streams.account.listed import NOT_LISTED, Listed, listed_of, overall_of
from touchstone.streams.account.projection import Unreadable, content_of
from touchstone.streams.wire.codec import encode_result

_OLD: Final = "touchstone_results_1"
_ROWS_AT_A_TIME: Final = 500
_OVERALL: Final = "overall DOUBLE PRECISION"


def migrate(connection: Connection, version: int) -> None:
    """Bring the tables from `version` to `SCHEMA_VERSION`. What only a suite can say of its results is left open if the suite is not installed here."""
    if version == 1:
        _keep_whole_documents(connection)
    if version < 3:
        _know_topics(connection, version)
    if version < 4:
        _list_cases(connection, version)
    elif version == 4:
        _know_overall(connection)
    _know_queues_and_judges(connection, version)
    connection.execute(update(schema_version).values(version=SCHEMA_VERSION))


def _know_topics(connection: Connection, version: int) -> None:
    """Before version 3, no row named the id of its topic, nor the checksum of its event."""
    if version == 2:
        _add(connection, results, "source_topic_id VARCHAR(512) NOT NULL DEFAULT ''", "checksum BIGINT NOT NULL DEFAULT 0")
    _add(connection, positions, "topic_id VARCHAR(512) NOT NULL DEFAULT ''")
    contradictions.create(connection, checkfirst=True)
    # The id is part of these tables' keys, which SQLite cannot change.
    _made_anew(connection, repeats, {"source_topic_id": "", "checksum": 0})
    _made_anew(connection, pages, {"topic_id": ""})


def _list_cases(connection: Connection, version: int) -> None:
    """Before version 4, nothing but the document told what lists of cases show. A row whose document is damaged stays unlisted."""
    if version > 1:  # of a store of version 1, the table was just made anew
        texts = [f"{name} VARCHAR(512) NOT NULL DEFAULT ''" for name in ("kind", "case_id", "model")]
        numbers = [f"{name} INTEGER NOT NULL DEFAULT 0" for name in ("findings_total", "failures_total")]
        _add(connection, results, *texts, "severity VARCHAR(16) NOT NULL DEFAULT ''", *numbers, _OVERALL)
    for table in (codes, cases, annotations, feedback, views):
        table.create(connection, checkfirst=True)
    names = [name for name in Listed._fields if name != "codes"]
    suites = usable_suites()
    next_rows = select(results.c.result_id, results.c.suite, results.c.document).order_by(results.c.result_id).limit(_ROWS_AT_A_TIME)
    page = next_rows
    while rows := connection.execute(page).all():
        listed = [(row.result_id, found) for row in rows if (found := _listed(row.document, suites.get(row.suite)))]
        if listed:
            update_results(connection, names, [{"result_id": result_id, **found._asdict()} for result_id, found in listed])
            insert_codes(connection, [(result_id, code) for result_id, found in listed for code in found.codes])
        page = next_rows.where(results.c.result_id > rows[-1].result_id)
    if version > 1:
        for index in history_indexes:
            index.create(connection, checkfirst=True)


def _know_overall(connection: Connection) -> None:
    """Before version 5, no column said how good a result is as a whole, and other indexes found results and codes."""
    for name in {str(index.name) for index in history_indexes}:
        connection.execute(text(f"DROP INDEX IF EXISTS {name}"))
    _made_anew(connection, codes, {})
    _add(connection, results, _OVERALL)
    suites = usable_suites()
    next_rows = select(results.c.result_id, results.c.suite, results.c.scores).order_by(results.c.result_id).limit(_ROWS_AT_A_TIME)
    page = next_rows
    while rows := connection.execute(page).all():
        found = [(row.result_id, overall_of(_values(row.scores), suites.get(row.suite))) for row in rows]
        if known := [{"result_id": result_id, "overall": overall} for result_id, overall in found if overall is not None]:
            update_results(connection, ["overall"], known)
        page = next_rows.where(results.c.result_id > rows[-1].result_id)
    for index in history_indexes:
        index.create(connection, checkfirst=True)


def _know_queues_and_judges(connection: Connection, version: int) -> None:
    """Before version 6, there were no queues, judges and categories, and no column said which one an annotation was written in."""
    if version > 3:  # of an older store, the table was just made anew
        _add(connection, annotations, "queue VARCHAR(512) NOT NULL DEFAULT ''")
        for index in annotations.indexes:
            index.create(connection, checkfirst=True)
    for table in (queues, queue_cases, queue_places, guidelines, judges, categories):
        table.create(connection, checkfirst=True)


def _values(scores: str) -> dict[str, float]:
    """The values of a row; none of a damaged one."""
    try:
        return dict(json.loads(scores))
    except (ValueError, TypeError):
        return {}


def _listed(document: str, suite: Suite | None) -> Listed | None:
    try:
        return listed_of(ScoreResult.model_validate_json(document, extra="ignore"), suite)
    except (ValueError, TypeError, RecursionError):
        return None


def _add(connection: Connection, table: Table, *columns: str) -> None:
    for column in columns:
        connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {column}"))


def _made_anew(connection: Connection, table: Table, added: Mapping[str, str | int]) -> None:
    """Move a table's rows into one of today's form. `added`: further column → its value in every row."""
    for index in table.indexes:
        index.drop(connection)
    former = f"{table.name}_2"
    connection.execute(text(f"ALTER TABLE {table.name} RENAME TO {former}"))
    table.create(connection)
    old = Table(former, MetaData(), autoload_with=connection)
    names = [column.name for column in table.columns]
    connection.execute(table.insert().from_select(names, select(*(literal(added[name]) if name in added else old.c[name] for name in names))))
    old.drop(connection)


def _keep_whole_documents(connection: Connection) -> None:
    """Version 1 cut a result into columns, and kept in `document` only what no column held."""
    for index in results.indexes:
        index.drop(connection, checkfirst=True)
    connection.execute(text(f"ALTER TABLE {results.name} RENAME TO {_OLD}"))
    results.create(connection)
    old = Table(_OLD, MetaData(), autoload_with=connection)
    next_rows = select(old).order_by(old.c.result_id).limit(_ROWS_AT_A_TIME)
    page = next_rows
    while rows := connection.execute(page).mappings().all():
        insert_results(connection, [_migrated(dict(row)) for row in rows])
        page = next_rows.where(old.c.result_id > rows[-1]["result_id"])
    old.drop(connection)


def _migrated(row: dict[str, Any]) -> dict[str, Any]:
    """A row of version 1 as one of this version. A damaged row keeps its columns: reports name it, as before."""
    row |= {"source_topic_id": "", "checksum": 0}
    kept = {**NOT_LISTED._asdict(), **row, "case_id": row["case_id"] or ""}
    kept = {column.name: kept[column.name] for column in results.columns}
    try:
        result = _result_of(row)
        return {**kept, "document": encode_result(result)[1].decode(), "content": content_of(result)}
    except (ValueError, TypeError, OverflowError, RecursionError, Unreadable):
        return kept


def _result_of(row: dict[str, Any]) -> ScoreResult:
    """The result that a row of version 1 was made of. Raises `ValueError` or `TypeError` for a damaged one."""
    named = {name: row[name] for name in ("result_id", "event_id", "case_id", "kind", "suite", "suite_version", "config_digest", "label")}
    source = SourceRef(topic=row["source_topic"], partition=row["source_partition"], offset=row["source_offset"])
    timed = {"scored_at": from_micros(row["scored_at"]), "duration_ms": json.loads(row["duration_ms"])}
    return ScoreResult.model_validate({**named, "values": json.loads(row["scores"]), "source": source, **timed, **json.loads(row["document"])})
