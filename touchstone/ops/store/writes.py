"""Writes the results of a transaction: decides which row wins and which batches change. One writer, fenced by the caller."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, String, Table, any_, bindparam, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError

from touchstone.ops.store.places import Claim, Places, is_same_event
from touchstone.ops.store.rows import batch_of, columns_of, source_of
from touchstone.ops.store.schema import batches, codes, contradictions, repeats, results
from touchstone.streams.account.projection import BatchKey, Position, ResultRow
from touchstone.streams.account.store_port import Applied

_LOOKUP_IDS_MAX = 500
#: Columns of an event's place, and its checksum.
_PLACE = ("source_topic", "source_topic_id", "source_partition", "source_offset", "checksum")


@dataclass(slots=True)
class _Stored:
    """A result id as it is in the table, or will be after this transaction. `row`: the row to write as a whole."""

    source: Position
    checksum: int
    content: str
    batch: BatchKey | None
    row: ResultRow | None = None
    in_table: bool = True
    moved: bool = False


@dataclass(slots=True)
class _Writes:
    """The writes of one transaction."""

    known: dict[str, _Stored]
    places: Places
    #: A row whose id is repeated, the position that is not in its row of the table, and that event's checksum.
    repeats: set[tuple[ResultRow, Position, int]] = field(default_factory=set)
    contradictions: set[tuple[str, Position]] = field(default_factory=set)
    changed: set[BatchKey] = field(default_factory=set)
    new: int = 0
    replaced: int = 0
    repeated: int = 0
    replays: int = 0
    contradicted: int = 0


def write_results(connection: Connection, rows: Sequence[ResultRow]) -> tuple[Applied, set[BatchKey]]:
    """Write results in topic order. Returns the counts, and the batches whose content changed.

    The lowest source position of a result id has the row, in whatever order they arrive; the others are repeats. The same
    position again is a replay and changes nothing, not even the time of scoring; unless it is another event's, which is counted and kept as a
    contradiction.
    """
    writes = _Writes(_lookup(connection, {row.result_id for row in rows}), Places.of(connection, rows))
    for row in rows:
        _decide(row, writes)
    _flush(connection, writes)
    return Applied(writes.new, writes.replaced, writes.repeated, writes.replays, writes.contradicted), writes.changed


def _lookup(connection: Connection, ids: set[str]) -> dict[str, _Stored]:
    """The stored results among these ids."""
    known: dict[str, _Stored] = {}
    names = ("result_id", *_PLACE, "content")
    grouped = ("report_id", "suite", "suite_version", "config_digest", "concern_id", "batch_id")
    query = select(*(results.c[name] for name in (*names, *grouped)))
    if connection.dialect.name == "postgresql":
        # One array parameter: hundreds of single ones are planned badly and cost fifty times as much.
        query = query.where(results.c.result_id == any_(bindparam("ids", type_=postgresql.ARRAY(String))))
    else:
        query = query.where(results.c.result_id.in_(bindparam("ids", expanding=True)))
    ordered = sorted(ids)
    for index in range(0, len(ordered), _LOOKUP_IDS_MAX):
        for row in connection.execute(query, {"ids": ordered[index : index + _LOOKUP_IDS_MAX]}):
            known[row.result_id] = _Stored(source_of(row), row.checksum, row.content, batch_of(row))
    return known


def _decide(row: ResultRow, writes: _Writes) -> None:
    """Decide what to write for one result."""
    beside = writes.places.beside(row)
    is_replay, others = _compare(row, beside)
    known = writes.known.get(row.result_id)
    if is_replay:
        writes.replays += 1
        return
    if others:
        writes.contradicted += 1
        writes.contradictions |= {(row.suite, row.source._replace(topic_id=min(row.source.topic_id, other.topic_id))) for other in others}
    writes.places.add(row)
    if known is None:
        writes.known[row.result_id] = _Stored(row.source, row.checksum, row.content, row.batch, row, in_table=False)
        writes.new += 1
        _mark(writes, row.batch)
    elif row.source.may_be(known.source):
        pass  # an id of its producer's, for another event at the same place: the first one stays
    elif row.source > known.source:
        writes.repeats.add((row, row.source, row.checksum))
        writes.repeated += 1
    else:
        writes.repeats.add((row, known.source, known.checksum))
        if row.content == known.content:
            # Only the position moves: no report may change because of a repeated event.
            known.row = known.row and replace(known.row, source=row.source, checksum=row.checksum)
            known.moved = True
            writes.repeated += 1
        else:
            _mark(writes, known.batch)
            _mark(writes, row.batch)
            known.row, known.content, known.batch = row, row.content, row.batch
            writes.replaced += 1
        known.source, known.checksum = row.source, row.checksum


def _compare(row: ResultRow, beside: Sequence[Claim]) -> tuple[bool, list[Claim]]:
    """Whether the row's event has this result already, and the claims of other events on its place."""
    compared = [(claim, is_same_event(row, claim)) for claim in beside]
    if any(is_same and claim.config_digest == row.config_digest for claim, is_same in compared):
        return True, []
    return False, [claim for claim, is_same in compared if is_same is False]


def _mark(writes: _Writes, batch: BatchKey | None) -> None:
    if batch is not None:
        writes.changed.add(batch)


def _flush(connection: Connection, writes: _Writes) -> None:
    inserts = [known.row for known in writes.known.values() if known.row and not known.in_table]
    if inserts:
        insert_results(connection, [columns_of(row) for row in inserts])
    rewrites = [known.row for known in writes.known.values() if known.row and known.in_table]
    if rewrites:
        rewritten = [columns_of(row) for row in rewrites]
        names = [name for name in rewritten[0] if name != "result_id"]
        update_results(connection, names, rewritten)
        connection.execute(codes.delete().where(codes.c.result_id == bindparam("of_result")), [{"of_result": row.result_id} for row in rewrites])
    insert_codes(connection, [(row.result_id, code) for row in (*inserts, *rewrites) for code in row.listed.codes])
    names = [*_PLACE]
    moved = [
        {"result_id": result_id, **_place(known.source, known.checksum)}
        for result_id, known in writes.known.items()
        if known.moved and known.in_table and not known.row
    ]
    if moved:
        update_results(connection, names, moved)
    if writes.repeats:
        rows = [
            {
                "result_id": row.result_id,
                **_place(source, checksum),
                "suite": row.suite,
                "suite_version": row.suite_version,
            }
            for row, source, checksum in writes.repeats
        ]
        _insert_new(connection, repeats, rows)
    if writes.contradictions:
        _insert_new(connection, contradictions, [{"suite": suite, **position._asdict()} for suite, position in sorted(writes.contradictions)])


def _place(source: Position, checksum: int) -> dict[str, object]:
    return dict(zip(_PLACE, (*source, checksum), strict=True))


def _insert_new(connection: Connection, table: Table, rows: Sequence[dict[str, object]]) -> None:
    """Insert the rows whose keys are not in the table."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    connection.execute(dialect.insert(table).on_conflict_do_nothing(), rows)


def insert_results(connection: Connection, rows: Sequence[dict[str, object]]) -> None:
    """Insert new rows; on PostgreSQL by COPY in the same transaction, several times as fast as a statement for each row."""
    if connection.dialect.name != "postgresql":
        connection.execute(results.insert(), rows)
        return
    names = list(rows[0])
    _copy(connection, results, names, ([row[name] for name in names] for row in rows))


def insert_codes(connection: Connection, pairs: Sequence[tuple[str, str]]) -> None:
    """Insert (result id, code) pairs that are not in the table."""
    if not pairs:
        return
    if connection.dialect.name != "postgresql":
        # The driver's own executemany: these are most of a transaction's rows, and SQLAlchemy would make a dictionary of each.
        connection.exec_driver_sql(f"INSERT INTO {codes.name} (result_id, code) VALUES (?, ?)", list(pairs))  # noqa: S608  # our own words
        return
    _copy(connection, codes, ("result_id", "code"), pairs)


def _copy(connection: Connection, table: Table, names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Copy rows into a table of PostgreSQL. Raises `DBAPIError`, as any other statement does: SQLAlchemy does not see what the driver's own COPY raises."""
    statement = f"COPY {table.name} ({', '.join(names)}) FROM STDIN"
    driver: Any = connection.dialect.dbapi
    try:
        with connection.connection.cursor() as cursor, cursor.copy(statement) as copy:  # type: ignore[attr-defined]
            for row in rows:
                copy.write_row(row)
    except driver.Error as error:
        raise DBAPIError.instance(statement, None, error, driver.Error, hide_parameters=True, dialect=connection.dialect) from error


def update_results(connection: Connection, names: Sequence[str], rows: Sequence[dict[str, object]]) -> None:
    """Set columns of rows by result id."""
    statement = results.update().where(results.c.result_id == bindparam("of_result")).values({name: bindparam(f"to_{name}") for name in names})
    connection.execute(statement, [{"of_result": row["result_id"], **{f"to_{name}": row[name] for name in names}} for row in rows])


def touch_batches(connection: Connection, changed: set[BatchKey], now: float) -> None:
    """Raise the revision of changed batches and make them due: at once, or when the last report is old enough."""
    keys = {key.report_id: key for key in sorted(changed)}
    known = {}
    ordered = list(keys)
    for index in range(0, len(ordered), _LOOKUP_IDS_MAX):
        query = select(batches).where(batches.c.report_id.in_(ordered[index : index + _LOOKUP_IDS_MAX]))
        known.update({row.report_id: row for row in connection.execute(query)})
    fresh = [
        {
            "report_id": report_id,
            **key._asdict(),
            "revision": 1,
            "emitted_revision": 0,
            "emitted_final": False,
            "emitted_at": 0.0,
            "changed_at": now,
            "interval_s": 0.0,
            "due_at": now,
        }
        for report_id, key in keys.items()
        if report_id not in known
    ]
    if fresh:
        connection.execute(batches.insert(), fresh)
    touched = []
    for report_id, row in known.items():
        waiting = row.due_at is not None and row.revision > row.emitted_revision
        due_at = row.due_at if waiting else max(now, row.emitted_at + row.interval_s)
        touched.append({"of_report": report_id, "to_revision": row.revision + 1, "to_changed_at": now, "to_due_at": due_at})
    if touched:
        statement = (
            batches.update()
            .where(batches.c.report_id == bindparam("of_report"))
            .values(revision=bindparam("to_revision"), changed_at=bindparam("to_changed_at"), due_at=bindparam("to_due_at"))
        )
        connection.execute(statement, touched)
