"""Removes cases: one that somebody asks to forget, and those that retention names."""

from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import select

from touchstone.ops.store.archive.documents import TRACE
from touchstone.ops.store.archive.keeping import Keeping, Place
from touchstone.ops.store.archive.names import case_path, encoded, trace_path
from touchstone.ops.store.case_rows import CaseRow
from touchstone.ops.store.engine import reading
from touchstone.ops.store.schema import results

_AT_A_TIME: Final = 500


def forget(archive: Keeping, identifier: str, at: datetime, *, dry_run: bool) -> list[Place]:
    """Remove objects, then the store's part, then objects again, because an archiver may have been writing one meanwhile.

    What it puts later still, it takes back itself (`Keeping.take_back`), because the row says that the case is forgotten.

    A trace is forgotten with all events that carry its id, because they are of the same patient. What is on a topic is named, and not removed.
    """
    places = _remove_objects(archive, identifier, dry_run=dry_run)
    places += _remove_rows(archive, identifier, at, dry_run=dry_run)
    if not dry_run:
        known = {place.name for place in places}
        places += [place for place in _remove_objects(archive, identifier, dry_run=False) if place.name not in known]
    return places


class _Named(NamedTuple):
    """What an id names: events (None: without a row in the index), and the traces that they are of."""

    events: dict[str, CaseRow | None]
    traces: set[str]


def _named(archive: Keeping, identifier: str) -> _Named:
    """The events that an id of an event, a trace or a result names, itself included. The archive need not have kept them: results may quote them, too."""
    its_event = select(results.c.event_id).where(results.c.result_id == identifier)
    with reading(archive.index.engine) as connection:
        ids = {identifier, *connection.execute(its_event).scalars()}
        of_traces = select(results.c.case_id).where(results.c.kind == TRACE, results.c.event_id.in_(ids))
        traces = {identifier, *connection.execute(of_traces).scalars()} - {""}
        events = archive.index.rows(ids)
        traces |= {row.trace_id for row in events.values() if row.trace_id}
        ids |= set(connection.execute(select(results.c.event_id).where(results.c.kind == TRACE, results.c.case_id.in_(traces))).scalars())
    for trace_id in traces:
        ids |= {row.event_id for row in archive.index.of_trace(trace_id)}
    events = archive.index.rows(ids)
    return _Named({event_id: events.get(event_id) for event_id in sorted(ids)}, traces)


def _remove_objects(archive: Keeping, identifier: str, *, dry_run: bool) -> list[Place]:
    paths: dict[str, None] = {}
    events, traces = _named(archive, identifier)
    if not archive.objects.is_there() and not any(row is not None and row.state == "kept" for row in events.values()):
        return []  # nothing is kept anywhere. A row that says otherwise means that the archive is elsewhere: then NoArchive says so
    for event_id, row in events.items():
        paths |= dict.fromkeys([row.path] if row is not None and row.path else _without_row(archive, event_id, dry_run=dry_run))
        paths |= dict.fromkeys(entry.path for entry in archive.objects.list(f"results/{encoded(event_id)}"))
    for trace_id in sorted(traces):
        stem = trace_path(trace_id).removesuffix(".json")
        if archive.objects.exists(f"{stem}.json"):
            paths[f"{stem}.json"] = None
    removed = (path for path in paths if dry_run or archive.objects.delete(path))
    return [Place("object", path, not dry_run) for path in removed]


def _without_row(archive: Keeping, event_id: str, *, dry_run: bool) -> list[str]:
    """Objects of an event that an archiver wrote before it was killed: it writes the row after them."""
    query = select(results.c.kind, results.c.case_id).where(results.c.event_id == event_id).distinct()
    with reading(archive.index.engine) as connection:
        scored = connection.execute(query).tuples().all()
    paths = [case_path(kind, event_id) for kind, _ in scored if kind != TRACE]
    traces = [case_id for kind, case_id in scored if kind == TRACE and case_id]
    paths += [trace_path(trace_id, another=event_id) for trace_id in traces]
    # Where another event of the trace has a row, the object is that event's.
    paths += [trace_path(trace_id) for trace_id in traces if not archive.index.of_trace(trace_id)]
    return [path for path in paths if not dry_run or archive.objects.exists(path)]


def clear_forgotten(archive: Keeping, event_id: str) -> None:
    """Delete objects that are there although their event is forgotten, as far as its results tell where they are."""
    if archive.objects.is_there():
        for path in [*_without_row(archive, event_id, dry_run=False), *(entry.path for entry in archive.objects.list(f"results/{encoded(event_id)}"))]:
            archive.objects.delete(path)


def _remove_rows(archive: Keeping, identifier: str, at: datetime, *, dry_run: bool) -> list[Place]:
    places: list[Place] = []
    events = _named(archive, identifier).events
    for event_id, row in events.items():
        gone = archive.index.forget(event_id, at, dry_run=True)
        parts = {"results": gone.results, "annotations": gone.annotations, "feedback": gone.feedback}
        if row is None and not (gone.results or gone.annotations) and (len(events) > 1 or not gone.feedback):
            continue  # another name of the case: its row would be of an event that there never was, and hide the case
        if not dry_run:
            archive.index.forget(event_id, at)
        places.append(Place("row", event_id, not dry_run))
        places += [Place(kind, str(count), not dry_run) for kind, count in parts.items() if count]
        if row is not None and row.topic:
            places.append(Place("topic", f"{row.topic}[{row.partition}]@{row.offset}", False))
    return places


def retain(archive: Keeping, *, before: datetime | None, keep_newest: int | None, dry_run: bool) -> tuple[int, int]:
    """Remove the objects of cases that are too old, or too many; their rows say `removed`. Results, labels and annotations stay in the store."""
    if dry_run:
        return archive.index.expiring(before=before, keep_newest=keep_newest)
    count = size = 0
    while rows := archive.index.expired(before=before, keep_newest=keep_newest, limit=_AT_A_TIME):
        leaving = {row.event_id for row in rows}
        for row in rows:
            shared = row.trace_id and any(
                one.path == row.path and one.event_id not in leaving and one.state == "kept" for one in archive.index.of_trace(row.trace_id)
            )
            if not shared:
                archive.objects.delete(row.path)
            for entry in archive.objects.list(f"results/{encoded(row.event_id)}"):
                archive.objects.delete(entry.path)
        archive.index.drop(sorted(leaving))
        count, size = count + len(rows), size + sum(row.bytes for row in rows)
    return count, size
