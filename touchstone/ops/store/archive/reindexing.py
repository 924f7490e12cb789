"""Rebuilds the index from the objects: rows of kept cases, and the results that the store has lost."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import select

from touchstone.ops.store.accounts import add_outcomes
from touchstone.ops.store.archive.documents import TRACE, About, NotKept, about
from touchstone.ops.store.archive.encryption import Undecipherable
from touchstone.ops.store.archive.keeping import NOWHERE, Keeping
from touchstone.ops.store.archive.names import SEPARATOR, decoded, digest, trace_path
from touchstone.ops.store.archive.objects import Missing
from touchstone.ops.store.case_rows import CaseRow
from touchstone.ops.store.engine import reading, writing
from touchstone.ops.store.schema import results
from touchstone.ops.store.writes import touch_batches, write_results
from touchstone.streams.account.intervals import Interval, runs
from touchstone.streams.account.projection import AccountKey, Position, ResultRow, Unreadable, read_result

_AT_A_TIME: Final = 500


class _Scored(NamedTuple):
    """What a result says of its event."""

    event_id: str
    kind: str
    case_id: str
    place: Position
    scored_at: datetime


def reindex(archive: Keeping) -> dict[str, int]:
    """Read every object once. Rows that are right stay as they are, and forgotten cases stay forgotten. Returns counts: cases, results, unreadable."""
    archive.objects.sweep()
    counts = {"cases": 0, "results": 0, "unreadable": 0}
    events: dict[str, _Scored] = {}
    traces: dict[str, list[str]] = {}
    batch: list[ResultRow] = []
    for row in _results(archive, counts):
        one = _Scored(row.event_id, row.listed.kind, row.listed.case_id, row.source, row.scored_at)
        if one.event_id not in events or one.kind == TRACE:
            events[one.event_id] = one
        if one.kind == TRACE and one.event_id not in traces.setdefault(one.case_id, []):
            traces[one.case_id].append(one.event_id)
        batch.append(row)
        if len(batch) >= _AT_A_TIME:
            counts["results"] += _restore(archive, batch)
            batch = []
    counts["results"] += _restore(archive, batch)
    rows: list[CaseRow] = []
    for kept in _cases(archive, events, traces, counts):
        rows.append(kept)
        if len(rows) >= _AT_A_TIME:
            counts["cases"] += archive.index.keep(rows)
            rows = []
    counts["cases"] += archive.index.keep(rows)
    return counts


def _results(archive: Keeping, counts: dict[str, int]) -> Iterator[ResultRow]:
    for entry in archive.objects.list("results"):
        try:
            yield read_result(archive.objects.get(entry.path))
        except (Unreadable, Undecipherable, Missing, UnicodeDecodeError):
            counts["unreadable"] += 1


def _restore(archive: Keeping, rows: list[ResultRow]) -> int:
    """Write the results that the store does not have, with their outcomes, as the projector would. Returns how many."""
    if not rows:
        return 0
    with reading(archive.index.engine) as connection:
        there = set(connection.execute(select(results.c.result_id).where(results.c.result_id.in_([row.result_id for row in rows]))).scalars())
    missing = [row for row in rows if row.result_id not in there]
    if not missing:
        return 0
    scored: dict[AccountKey, list[int]] = {}
    for row in missing:
        scored.setdefault(row.account, []).append(row.source.offset)
    with writing(archive.index.engine) as connection:
        _, changed = write_results(connection, missing)
        for account, offsets in scored.items():
            add_outcomes(connection, account, [Interval(first, last, "scored") for first, last in runs(sorted(offsets))])
        touch_batches(connection, changed, max(row.scored_at for row in missing).timestamp())
    return len(missing)


def _cases(archive: Keeping, events: dict[str, _Scored], traces: dict[str, list[str]], counts: dict[str, int]) -> Iterator[CaseRow]:
    for prefix in ("traces", "cases"):
        for entry in archive.objects.list(prefix):
            try:
                data = archive.objects.get(entry.path, archive.settings.case_bytes_max)
                found = about(data, bytes_max=archive.settings.case_bytes_max, depth_max=archive.settings.depth_max)
            except (NotKept, Undecipherable, Missing):
                counts["unreadable"] += 1
                continue
            name = entry.path.rpartition("/")[2].removesuffix(".json")
            ids = _of_trace(archive, name, found, traces) if prefix == "traces" else [decoded(name) or found.event_id]
            for event_id in filter(None, ids):
                scored = events.get(event_id)
                kind = TRACE if prefix == "traces" else entry.path.split("/")[1]
                about_it = About(decoded(kind) or kind, event_id, found.trace_id, found.source, found.at)
                case_id, at, place = (scored.case_id, scored.scored_at, scored.place) if scored else ("", entry.at, NOWHERE)
                yield archive.row_of(event_id, about_it, case_id, entry.path, len(data), at, place)


def _of_trace(archive: Keeping, name: str, found: About, traces: dict[str, list[str]]) -> list[str]:
    """The events whose object a trace's is: those with results, else the document's own id, else the trace's."""
    own = found.event_id or found.trace_id
    known = traces.get(found.trace_id) or [own]
    _, mark, of_event = name.rpartition(SEPARATOR * 2)
    if mark:
        return [one for one in known if digest(one) == of_event] or [own]
    return [one for one in known if len(known) == 1 or not archive.objects.exists(trace_path(found.trace_id, another=one))] or [own]
