"""Rebuilds the index from the objects: rows of kept cases, and the results that the store has lost.

Objects are listed and written page by page, results first; what a page of cases needs to know of its results it asks the store. Memory does not grow with the
archive, and a run after one that was stopped passes over what is there already.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

from sqlalchemy import ColumnElement, select

from touchstone.ops.store.accounts import add_outcomes
from touchstone.ops.store.archive.documents import TRACE, About, NotKept, about
from touchstone.ops.store.archive.encryption import Undecipherable
from touchstone.ops.store.archive.keeping import NOWHERE, Keeping
from touchstone.ops.store.archive.names import SEPARATOR, decoded, digest, trace_path
from touchstone.ops.store.archive.objects import Entry, Missing
from touchstone.ops.store.case_rows import CaseRow
from touchstone.ops.store.engine import reading, writing
from touchstone.ops.store.rows import from_micros, source_of
from touchstone.ops.store.schema import cases, results
from touchstone.ops.store.writes import touch_batches, write_results
from touchstone.scorers.registry import usable_suites
from touchstone.scorers.suite import Suite
from touchstone.streams.account.intervals import Interval, runs
from touchstone.streams.account.projection import AccountKey, ResultRow, Unreadable, read_result

#: Objects of a page.
_AT_A_TIME: Final = 500
_SCORED: Final = ("event_id", "kind", "case_id", "scored_at", "source_topic", "source_topic_id", "source_partition", "source_offset")
#: Told how many objects have been looked at so far.
Told = Callable[[int], object]


def reindex(archive: Keeping, told: Told = lambda _: None) -> dict[str, int]:
    """Look at every object once. Rows that are there stay as they are, and forgotten cases stay forgotten.

    Returns counts: `cases` in the index, `results` that the store had lost, `unreadable` objects.
    """
    archive.objects.sweep()
    counts = {"cases": 0, "results": 0, "unreadable": 0}
    suites, looked_at = usable_suites(), 0
    steps = {"results": partial(_restore, suites=suites), "traces": partial(_index, prefix="traces"), "cases": partial(_index, prefix="cases")}
    with ThreadPoolExecutor(archive.settings.writers) as pool:
        for prefix, step in steps.items():
            for page in _pages(archive, prefix):
                step(archive, pool, page, counts=counts)
                looked_at += len(page)
                told(looked_at)
    return counts


def _pages(archive: Keeping, prefix: str) -> Iterator[list[Entry]]:
    """The objects below a folder: some hundreds at a time, and fewer of large ones."""
    page: list[Entry] = []
    left = archive.settings.in_flight_bytes
    for entry in archive.objects.list(prefix):
        page.append(entry)
        left -= entry.size
        if len(page) >= _AT_A_TIME or left <= 0:
            yield page
            page, left = [], archive.settings.in_flight_bytes
    if page:
        yield page


def _name(entry: Entry) -> str:
    return entry.path.rpartition("/")[2].removesuffix(".json")


def _restore(archive: Keeping, pool: ThreadPoolExecutor, page: Sequence[Entry], *, suites: Mapping[str, Suite], counts: dict[str, int]) -> None:
    """Write the results that the store does not have, with their outcomes, as the projector would."""
    there = _known(archive, [decoded(_name(entry)) for entry in page])
    read = list(pool.map(partial(_read_result, archive, suites), [entry for entry in page if decoded(_name(entry)) not in there]))
    counts["unreadable"] += read.count(None)
    rows = [row for row in read if row is not None]
    there = _known(archive, [row.result_id for row in rows])
    missing = [row for row in rows if row.result_id not in there]
    if not missing:
        return
    scored: dict[AccountKey, list[int]] = {}
    for row in missing:
        scored.setdefault(row.account, []).append(row.source.offset)
    with writing(archive.index.engine) as connection:
        _, changed = write_results(connection, missing)
        for account, offsets in scored.items():
            add_outcomes(connection, account, [Interval(first, last, "scored") for first, last in runs(sorted(offsets))])
        touch_batches(connection, changed, max(row.scored_at for row in missing).timestamp())
    counts["results"] += len(missing)


def _known(archive: Keeping, ids: Iterable[str | None]) -> set[str]:
    """Those of the ids whose results the store has."""
    with reading(archive.index.engine) as connection:
        return set(connection.execute(select(results.c.result_id).where(results.c.result_id.in_([one for one in ids if one]))).scalars())


def _read_result(archive: Keeping, suites: Mapping[str, Suite], entry: Entry) -> ResultRow | None:
    try:
        return read_result(archive.objects.get(entry.path), suites)
    except (Unreadable, Undecipherable, Missing, UnicodeDecodeError):
        return None


def _index(archive: Keeping, pool: ThreadPoolExecutor, page: Sequence[Entry], *, prefix: str, counts: dict[str, int]) -> None:
    """Write the rows of the cases that the index does not have."""
    names = {entry.path: _name(entry) for entry in page}
    ids = {path: decoded(name.removeprefix("trace-") if prefix == "traces" else name) for path, name in names.items()}
    by = (cases.c.trace_id, results.c.case_id) if prefix == "traces" else (cases.c.event_id, results.c.event_id)
    there: dict[str, set[str]] = {}
    with reading(archive.index.engine) as connection:
        kept = select(cases.c.event_id, cases.c.path).where(cases.c.state == "kept", by[0].in_([one for one in ids.values() if one]))
        for row in connection.execute(kept):
            there.setdefault(row.path, set()).add(row.event_id)
    scored = _scored(archive, by[1], ids.values())
    known = [path for path, rows in there.items() if path in names and rows >= {row.event_id for row in scored.get(ids[path] or "", ())}]
    counts["cases"] += sum(len(there[path]) for path in known)
    unread = [entry for entry in page if entry.path not in set(known)]
    rows: list[CaseRow] = []
    for entry, read in zip(unread, pool.map(partial(_read_case, archive), unread), strict=True):
        if read is None:
            counts["unreadable"] += 1
            continue
        found, size = read
        own = found.trace_id if prefix == "traces" else ids[entry.path] or found.event_id
        if own != ids[entry.path]:  # its name was cut off
            scored |= _scored(archive, by[1], [own])
        events = [one for one in (_of_trace(archive, names[entry.path], found, scored) if prefix == "traces" else [own]) if one]
        counts["unreadable"] += not events  # its name was cut off, and the document has no id that could stand for it
        rows += [_row(archive, prefix, entry, found, size, event_id, scored.get(own, ())) for event_id in events]
    counts["cases"] += archive.index.keep(rows)


def _read_case(archive: Keeping, entry: Entry) -> tuple[About, int] | None:
    """What an object says of itself, and its bytes; its text is not kept."""
    bytes_max = archive.settings.case_bytes_max
    try:
        data = archive.objects.get(entry.path, bytes_max)
        return about(data, bytes_max=bytes_max, depth_max=archive.settings.depth_max), len(data)
    except (NotKept, Undecipherable, Missing):
        return None


def _scored(archive: Keeping, by: ColumnElement[str], ids: Iterable[str | None]) -> dict[str, list[Any]]:
    """Event id or trace id → what the store's results say of the event; of a trace itself before what was made of it."""
    columns = [results.c[name] for name in _SCORED]
    found: dict[str, list[Any]] = {}
    with reading(archive.index.engine) as connection:
        query = select(by.label("its"), *columns).where(by.in_([one for one in ids if one]))
        for row in connection.execute(query if by is results.c.event_id else query.where(results.c.kind == TRACE)):
            found.setdefault(row.its, []).append(row)
    for rows in found.values():
        rows.sort(key=lambda row: (row.kind != TRACE, source_of(row), row.scored_at))
    return found


def _row(archive: Keeping, prefix: str, entry: Entry, found: About, size: int, event_id: str, scored: Sequence[Any]) -> CaseRow:
    kind = TRACE if prefix == "traces" else entry.path.split("/")[1]
    about_it = About(decoded(kind) or kind, event_id, found.trace_id, found.source, found.at)
    one = next((row for row in scored if row.event_id == event_id), None)
    case_id, at, place = (one.case_id, from_micros(one.scored_at), source_of(one)) if one is not None else ("", entry.at, NOWHERE)
    return archive.row_of(event_id, about_it, case_id, entry.path, size, at, place)


def _of_trace(archive: Keeping, name: str, found: About, scored: Mapping[str, Sequence[Any]]) -> list[str]:
    """The events whose object a trace's is: those with results, else the document's own id, else the trace's."""
    own = found.event_id or found.trace_id
    known = list(dict.fromkeys(row.event_id for row in scored.get(found.trace_id, ()))) or [own]
    _, mark, of_event = name.rpartition(SEPARATOR * 2)
    if mark:
        return [one for one in known if digest(one) == of_event] or [own]
    return [one for one in known if len(known) == 1 or not archive.objects.exists(trace_path(found.trace_id, another=one))] or [own]
