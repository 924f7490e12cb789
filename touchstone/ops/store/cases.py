"""Writes what people and the archive say about events: what is kept, annotations, feedback, saved filters."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import orjson
from sqlalchemy import Connection, Engine, Select, Table, bindparam, func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from touchstone.ops.store.case_rows import Annotation, CaseRow, CaseState, Feedback, Rating, case_of, columns_of_case
from touchstone.ops.store.engine import reading, writing
from touchstone.ops.store.queue_states import follow
from touchstone.ops.store.queue_tables import queue_cases, queue_places
from touchstone.ops.store.rows import from_micros, to_micros
from touchstone.ops.store.schema import annotations, cases, feedback, results, views
from touchstone.scorers.base import ConfigError

_IDS_AT_A_TIME: Final = 500
VIEWS_MAX: Final = 500


class Conflict(Exception):
    """Somebody else has annotated the case meanwhile. `revision`: the one that it has now."""

    def __init__(self, revision: int) -> None:
        super().__init__(f"the annotations have revision {revision} now; read them again")
        self.revision = revision


class TooManyAnnotations(ConfigError):
    """The store has more annotations than can be read at once."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What the store held of an event: its row of the archive, and how many results, annotations and thumbs."""

    case: CaseRow | None
    results: int
    annotations: int
    feedback: int


class CaseIndex:
    """What the archive holds, and what people say about it. Safe to use from several threads and processes. Raises `StoreUnavailable`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def keep(self, rows: Iterable[CaseRow]) -> int:
        """Write what the archive holds of events; returns how many rows were written.

        The row of a kept case is replaced only by a kept one, so a late failure hides nothing; a forgotten case stays forgotten.
        """
        given = [columns_of_case(row) for row in {row.event_id: row for row in rows}.values()]
        if not given:
            return 0
        with writing(self.engine) as connection:
            known = {row.event_id: row.state for ids in _parts([row["event_id"] for row in given]) for row in connection.execute(_states(ids))}
            wanted = [row for row in given if _may_follow(row["state"], known.get(row["event_id"]))]
            if wanted:
                # On PostgreSQL, an event may have been forgotten since its state was read.
                connection.execute(_upsert(connection, cases, "event_id", unless=cases.c.state == "forgotten"), wanted)
            return len(wanted)

    def row(self, event_id: str) -> CaseRow | None:
        """What the archive holds of an event."""
        return self.rows([event_id]).get(event_id)

    def rows(self, event_ids: Iterable[str]) -> dict[str, CaseRow]:
        """Event id → what the archive holds of it; without the events that it does not know."""
        with reading(self.engine) as connection:
            parts = _parts(sorted(set(event_ids)))
            return {row.event_id: case_of(row) for ids in parts for row in connection.execute(select(cases).where(cases.c.event_id.in_(ids)))}

    def of_trace(self, trace_id: str) -> list[CaseRow]:
        """The events with a trace id, newest first."""
        with reading(self.engine) as connection:
            query = select(cases).where(cases.c.trace_id == trace_id).order_by(cases.c.at.desc(), cases.c.event_id)
            return [case_of(row) for row in connection.execute(query)]

    def counts(self) -> dict[CaseState, tuple[int, int]]:
        """State → how many events, and their bytes."""
        query = select(cases.c.state, func.count(), func.sum(cases.c.bytes)).group_by(cases.c.state)
        with reading(self.engine) as connection:
            return {state: (count, int(size)) for state, count, size in connection.execute(query).tuples()}

    def expired(self, *, before: datetime | None = None, keep_newest: int | None = None, limit: int = 500) -> list[CaseRow]:
        """Kept cases that retention removes, oldest first: those before a moment, and those beyond the newest ones."""
        oldest = (cases.c.at, cases.c.event_id)
        kept = select(cases).where(cases.c.state == "kept")
        found: dict[str, CaseRow] = {}
        with reading(self.engine) as connection:
            if before is not None:
                query = kept.where(cases.c.at < to_micros(before)).order_by(*oldest).limit(limit)
                found |= {row.event_id: case_of(row) for row in connection.execute(query)}
            if keep_newest is not None:
                total = connection.execute(select(func.count()).select_from(cases).where(cases.c.state == "kept")).scalar_one()
                query = kept.order_by(*oldest).limit(max(0, min(limit, total - keep_newest)))
                found |= {row.event_id: case_of(row) for row in connection.execute(query)}
        return sorted(found.values(), key=lambda row: (row.at, row.event_id))[:limit]

    def expiring(self, *, before: datetime | None = None, keep_newest: int | None = None) -> tuple[int, int]:
        """How many kept cases retention would remove, and their bytes."""
        kept = select(cases.c.at, cases.c.event_id, cases.c.bytes).where(cases.c.state == "kept")
        with reading(self.engine) as connection:
            # Both name the oldest ones, so that the cases of one are among those of the other.
            counts = []
            if before is not None:
                counts.append(connection.execute(_summed(kept.where(cases.c.at < to_micros(before)))).one())
            if keep_newest is not None:
                total = connection.execute(select(func.count()).select_from(cases).where(cases.c.state == "kept")).scalar_one()
                oldest = kept.order_by(cases.c.at, cases.c.event_id).limit(max(0, total - keep_newest))
                counts.append(connection.execute(_summed(oldest)).one())
        return max(((int(count), int(size)) for count, size in counts), default=(0, 0))

    def drop(self, event_ids: Sequence[str], state: CaseState = "removed") -> int:
        """Note that the archive no longer holds these events; returns how many it held."""
        statement = update(cases).where(cases.c.event_id == bindparam("of_event"), cases.c.state == "kept").values(state=state, path="", bytes=0)
        with writing(self.engine) as connection:
            return sum(connection.execute(statement, {"of_event": event_id}).rowcount for event_id in event_ids)

    def forget(self, event_id: str, at: datetime, *, dry_run: bool = False) -> Forgotten:
        """Remove what the store holds of an event beyond ids, labels, values and codes; returns what there was.

        Results stay, because accounts count them, but without details, messages and suggestions, which may quote the case. Annotations and feedback are
        deleted. The archive's row stays as `forgotten`, so that a replay does not bring the case back.
        """
        with reading(self.engine) if dry_run else writing(self.engine) as connection:
            return _forget(connection, event_id, at, dry_run=dry_run)

    def rate(self, identifier: str, rating: Rating, at: datetime) -> None:
        """Note a thumb by event id or trace id, whether or not the case is known yet. A later thumb replaces an earlier one."""
        with writing(self.engine) as connection:
            connection.execute(_upsert(connection, feedback, "id"), [{"id": identifier, "rating": rating, "at": to_micros(at)}])

    def feedback(self, identifiers: Iterable[str]) -> dict[str, Feedback]:
        """Event id or trace id → its thumb."""
        with reading(self.engine) as connection:
            parts = _parts(sorted(set(identifiers)))
            return {row.id: feedback_row(row) for ids in parts for row in connection.execute(select(feedback).where(feedback.c.id.in_(ids)))}

    def annotate(
        self, event_id: str, reviewer: str, body: Mapping[str, Any], at: datetime, *, expected: int | None, trace_id: str = "", review_pass: int = 1
    ) -> Annotation:
        """Add an annotation. `expected`: the revision that the reviewer has seen (0: none); None: whichever. Raises `Conflict`."""
        return self.annotate_all(event_id, [(reviewer, review_pass, body)], at, expected=expected, trace_id=trace_id)[0]

    def annotate_all(
        self, event_id: str, entries: Sequence[tuple[str, int, Mapping[str, Any]]], at: datetime, *, expected: int | None, trace_id: str = ""
    ) -> list[Annotation]:
        """Add several annotations, or none of them: (reviewer, review pass, body). Raises `Conflict`."""
        try:
            with writing(self.engine) as connection:
                revision: int = connection.execute(_newest_revision(event_id)).scalar_one()
                if expected is not None and expected != revision:
                    raise Conflict(revision)
                added = [
                    Annotation(event_id, revision + place, str(uuid.uuid4()), trace_id, reviewer, review_pass, at, dict(body))
                    for place, (reviewer, review_pass, body) in enumerate(entries, 1)
                ]
                _write(connection, added)
                return added
        except IntegrityError:  # on PostgreSQL, both read the same revision, and the other was first
            with reading(self.engine) as connection:
                raise Conflict(connection.execute(_newest_revision(event_id)).scalar_one()) from None

    def annotations(self, event_id: str) -> tuple[Annotation, ...]:
        """The annotations of an event, in the order in which they were written."""
        with reading(self.engine) as connection:
            return annotations_of(connection, event_id)

    def all_annotations(self, most: int) -> list[Annotation]:
        """The annotations of all events, in the order in which they were written. Raises `TooManyAnnotations` above `most`.

        A part of them would be wrong: what is left out may withdraw or settle what is there.
        """
        query = select(annotations).order_by(annotations.c.at, annotations.c.event_id, annotations.c.revision).limit(most + 1)
        with reading(self.engine) as connection:
            found = [_annotation(row) for row in connection.execute(query)]
        if len(found) > most:
            raise TooManyAnnotations(f"the store has more than {most:,} annotations, which is as many as can be read at once")
        return found

    def annotate_many(self, entries: Iterable[tuple[str, str, str, int, datetime, Mapping[str, Any]]], *, seen: Mapping[str, int] | None = None) -> None:
        """Add annotations of several events, or none of them: event, trace, reviewer, review pass, time, body. Raises `Conflict`.

        `seen`: the revisions that they were made for, by event; one that has another by now is a conflict.
        """
        by_event: dict[str, list[tuple[str, str, int, datetime, Mapping[str, Any]]]] = {}
        for event_id, *rest in entries:
            by_event.setdefault(event_id, []).append(tuple(rest))  # type: ignore[arg-type]
        try:
            with writing(self.engine) as connection:
                for event_id, several in by_event.items():
                    revision: int = connection.execute(_newest_revision(event_id)).scalar_one()
                    if seen is not None and seen.get(event_id, 0) != revision:
                        raise Conflict(revision)
                    made = [Annotation(event_id, revision + place, str(uuid.uuid4()), *one) for place, one in enumerate(several, 1)]
                    _write(connection, made)
        except IntegrityError:  # on PostgreSQL, as in `annotate_all`
            with reading(self.engine) as connection:
                raise Conflict(connection.execute(_newest_revision(next(iter(by_event)))).scalar_one()) from None

    def views(self) -> dict[str, str]:
        """The saved filters: name → query part of the address, in order of their names."""
        with reading(self.engine) as connection:
            return dict(connection.execute(select(views.c.name, views.c.query).order_by(views.c.name)).tuples().all())

    def save_view(self, name: str, query: str, at: datetime) -> bool:
        """Save a filter under a name, in place of an earlier one; False if there are too many already."""
        with writing(self.engine) as connection:
            names = set(connection.execute(select(views.c.name)).scalars())
            if name not in names and len(names) >= VIEWS_MAX:
                return False
            connection.execute(_upsert(connection, views, "name"), [{"name": name, "query": query, "at": to_micros(at)}])
            return True

    def delete_view(self, name: str) -> bool:
        """Delete a saved filter; False if there is none of this name."""
        with writing(self.engine) as connection:
            return bool(connection.execute(views.delete().where(views.c.name == name)).rowcount)


def annotations_of(connection: Connection, event_id: str) -> tuple[Annotation, ...]:
    """The annotations of an event, in order."""
    query = select(annotations).where(annotations.c.event_id == event_id).order_by(annotations.c.revision)
    return tuple(_annotation(row) for row in connection.execute(query))


def _annotation(row: Any) -> Annotation:
    names = ("event_id", "revision", "id", "trace_id", "reviewer", "review_pass")
    return Annotation(**{name: getattr(row, name) for name in names}, at=from_micros(row.at), body=orjson.loads(row.body))


def feedback_row(row: Any) -> Feedback:
    """A row of the table."""
    return Feedback(row.id, row.rating, from_micros(row.at))


def _newest_revision(event_id: str) -> Select[Any]:
    """The revision of an event's annotations; 0 without any."""
    return select(func.coalesce(func.max(annotations.c.revision), 0)).where(annotations.c.event_id == event_id)


def _write(connection: Connection, made: Sequence[Annotation]) -> None:
    """Add annotations of one event, and bring the queues up to date that they were written in."""
    if made:
        connection.execute(annotations.insert(), [_columns_of_annotation(one) for one in made])
    for queue, event_id in dict.fromkeys((one.queue, one.event_id) for one in made if one.queue):
        follow(connection, queue, event_id)


def _columns_of_annotation(one: Annotation) -> dict[str, Any]:
    names = ("event_id", "revision", "id", "trace_id", "reviewer", "review_pass")
    return {**{name: getattr(one, name) for name in names}, "at": to_micros(one.at), "queue": one.queue, "body": orjson.dumps(one.body).decode()}


def _summed(chosen: Select[Any]) -> Select[Any]:
    """How many cases are chosen, and their bytes."""
    rows = chosen.subquery()
    return select(func.count(), func.coalesce(func.sum(rows.c.bytes), 0)).select_from(rows)


def _states(event_ids: Sequence[str]) -> Any:
    return select(cases.c.event_id, cases.c.state).where(cases.c.event_id.in_(event_ids))


def _may_follow(state: str, known: str | None) -> bool:
    return known != "forgotten" and (state == "kept" or known not in {"kept", "removed"})


def _parts(ids: Sequence[str]) -> list[Sequence[str]]:
    return [ids[first : first + _IDS_AT_A_TIME] for first in range(0, len(ids), _IDS_AT_A_TIME)]


def _upsert(connection: Connection, table: Table, key: str, unless: Any = None) -> Any:
    """Insert, or replace the row of the same key. `unless`: which rows are not replaced."""
    insert = postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)
    news = {name: insert.excluded[name] for name in table.columns.keys() if name != key}  # noqa: SIM118
    return insert.on_conflict_do_update(index_elements=[key], set_=news, where=None if unless is None else ~unless)


def _forget(connection: Connection, event_id: str, at: datetime, *, dry_run: bool) -> Forgotten:
    found = connection.execute(select(cases).where(cases.c.event_id == event_id)).one_or_none()
    stored = connection.execute(select(results.c.result_id, results.c.kind, results.c.case_id, results.c.document).where(results.c.event_id == event_id)).all()
    traces = {row.case_id for row in stored if row.kind == "trace"} | ({found.trace_id} if found is not None else set())
    ids = sorted({event_id, *traces} - {""})
    of_event, of_ids = annotations.c.event_id == event_id, feedback.c.id.in_(ids)
    counts = [connection.execute(select(func.count()).select_from(table).where(condition)).scalar_one() for table, condition in _about(of_event, of_ids)]
    forgotten = Forgotten(case_of(found) if found is not None else None, len(stored), *counts)
    if dry_run:
        return forgotten
    of_queues = ((queue_cases, queue_cases.c.event_id == event_id), (queue_places, queue_places.c.event_id == event_id))
    for table, condition in (*_about(of_event, of_ids), *of_queues):
        connection.execute(table.delete().where(condition))
    emptied = results.update().where(results.c.result_id == bindparam("of_result")).values(document=bindparam("to_document"))
    for row in stored:
        connection.execute(emptied, {"of_result": row.result_id, "to_document": without_quotes(row.document)})
    moment = to_micros(at)
    kind = found.kind if found is not None else next((row.kind for row in stored), "")
    # The id of its trace stays, so that the trace is known when it is sent again, under whatever id of an event.
    trace_id = next(iter(sorted(traces - {""})), "")
    left = CaseRow(event_id, kind, from_micros(found.at if found is not None else moment), at, trace_id=trace_id, state="forgotten")
    connection.execute(_upsert(connection, cases, "event_id"), [columns_of_case(left)])
    return forgotten


def _about(of_event: Any, of_ids: Any) -> tuple[tuple[Table, Any], ...]:
    return (annotations, of_event), (feedback, of_ids)


def without_quotes(document: str) -> str:
    """A result event without what may quote its case: details, messages, suggestions. A damaged one becomes empty."""
    try:
        result = orjson.loads(document)
        findings = [{**finding, "message": "", "suggestion": None} for finding in result.get("findings", ())]
        return orjson.dumps({**result, "details": {}, "findings": findings}).decode()
    except (ValueError, TypeError, AttributeError):
        return "{}"
