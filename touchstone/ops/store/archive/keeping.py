"""Keeps an event's JSON and its results as objects, created once and never changed, and a row of the result store for each event.

Objects are written before rows, so a row that says `kept` has its object; an object without a row is found by `reindex`. All methods block.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from sqlalchemy import select

from touchstone.ops.store.archive.documents import TRACE, About, NotKept, about
from touchstone.ops.store.archive.encryption import Undecipherable
from touchstone.ops.store.archive.names import encoded, result_path, trace_path
from touchstone.ops.store.archive.objects import Missing, Objects, Put, TooLarge
from touchstone.ops.store.case_rows import CaseRow, CaseState, ListedCase
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.engine import reading
from touchstone.ops.store.schema import results
from touchstone.schemas.settings.house import ArchiveSettings
from touchstone.streams.account.projection import Position

NOWHERE = Position("", "", -1, -1)


class Place(NamedTuple):
    """Where something of a case is or was. `kind`: object, row, results, annotations, feedback, topic. `name`: a path, a number or a place; never text of it.

    `is_removed`: False in a dry run, and for what only its owner can remove: a topic, until its retention does.
    """

    kind: str
    name: str
    is_removed: bool


class Hits(NamedTuple):
    """One step of a text search. `next`: cursor of the next step; None when all is searched. `searched` of `total` (None: too many to count) results so far.

    `unread`: cases of this step whose text could not be read, so that nobody knows whether they have it: no key, or the object is gone.
    """

    rows: tuple[ListedCase, ...]
    next: str | None
    searched: int
    total: int | None
    unread: int


@dataclass(frozen=True, slots=True)
class Kept:
    """One document after `put`: what became of it, and its row, which is not in the index yet."""

    outcome: Put
    row: CaseRow


class Keeping:
    """What is kept: objects and index together. Safe to use from several threads. Raises `ArchiveAway` and `StoreUnavailable`."""

    def __init__(self, objects: Objects, index: CaseIndex, settings: ArchiveSettings, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.objects = objects
        self.index = index
        self.settings = settings
        self._clock = clock

    def keep(self, event_id: str, kind: str, case_id: str, data: bytes, *, at: datetime | None = None, place: Position = NOWHERE) -> Put:
        """Keep one event and note it in the index. Returns `other` if its place had other content, which stays. Raises `NotKept`."""
        self.check_not_forgotten([event_id])
        kept = self.put(event_id, kind, case_id, data, at=at, place=place)
        self.index.keep([kept.row])
        self.check_not_forgotten([event_id], [kept.row])
        return kept.outcome

    def put(self, event_id: str, kind: str, case_id: str, data: bytes, *, at: datetime | None = None, place: Position = NOWHERE) -> Kept:
        """Create the object of one event. The index does not change: `index.keep` writes many rows at once. Raises `NotKept`."""
        found = about(data, bytes_max=self.settings.case_bytes_max, depth_max=self.settings.depth_max)
        found = About(kind or found.kind, event_id, found.trace_id or (case_id if kind == TRACE else ""), found.source, found.at)
        if self._is_of_forgotten(found.trace_id):
            raise NotKept("forgotten", "forgotten")
        path = found.path(event_id)
        outcome = self.objects.put(path, data)
        if outcome == "other" and found.kind == TRACE and found.trace_id:
            path = trace_path(found.trace_id, another=event_id)
            # Read again after a crash, this event's own object is there and is the same.
            self.objects.put(path, data)
        return Kept(outcome, self.row_of(event_id, found, case_id, path, len(data), at, place))

    def row_of(self, event_id: str, found: About, case_id: str, path: str, size: int, at: datetime | None, place: Position) -> CaseRow:
        """The row of a kept document."""
        now = self._clock()
        where = {"topic": place.topic, "topic_id": place.topic_id, "partition": place.partition, "offset": place.offset}
        about_it = {"case_id": case_id or found.trace_id, "trace_id": found.trace_id, "source": found.source}
        return CaseRow(event_id, found.kind, at or found.at or now, now, path=path, bytes=size, **about_it, **where)  # type: ignore[arg-type]

    def not_kept(self, event_id: str, kind: str, case_id: str, state: CaseState, at: datetime, place: Position) -> CaseRow:
        """The row of an event that could not be kept."""
        trace_id = case_id if kind == TRACE else ""
        now = self._clock()
        return CaseRow(event_id, kind, at, now, case_id, trace_id, "", "", 0, state, place.topic, place.topic_id, place.partition, place.offset)

    def put_trace(self, document: bytes) -> tuple[Put, str]:
        """Keep a trace that an application sends; its event id is its `id`, else its trace id. The same JSON again is `same`, whatever its layout.

        Returns what became of it, and its event id. Raises `NotKept`, also for a document without a trace id.
        """
        found = about(document, bytes_max=self.settings.case_bytes_max, depth_max=self.settings.depth_max)
        if not found.trace_id:
            raise NotKept("unreadable", "no_trace_id")
        event_id = found.event_id or found.trace_id
        there = self.index.of_trace(found.trace_id)
        path = trace_path(found.trace_id)
        row = self.row_of(event_id, About(TRACE, event_id, found.trace_id, found.source, found.at), found.trace_id, path, len(document), None, NOWHERE)
        written = [row, *there]
        self.check_not_forgotten([one.event_id for one in written], written)
        self.objects.check_creates_once()
        outcome = self.objects.put(path, document)
        if outcome == "other":
            if _equal(self.objects.get(path), document):
                outcome = "same"
            return outcome, next((row.event_id for row in there if row.path == path), event_id)
        known = next((one.event_id for one in there if one.path == path and one.state == "kept"), None)
        if known is None:
            self.index.keep([row])
        self.check_not_forgotten([one.event_id for one in written], written)
        return outcome, known or event_id

    def check_not_forgotten(self, event_ids: Iterable[str], written: Iterable[CaseRow] = ()) -> None:
        """Refuse what somebody asked to forget, and take back what has been written of it. Raises `NotKept`."""
        if self.take_back(event_ids, written):
            raise NotKept("forgotten", "forgotten")

    def take_back(self, event_ids: Iterable[str], written: Iterable[CaseRow] = ()) -> frozenset[str]:
        """Delete what was written of events that somebody has asked to forget meanwhile; returns the forgotten ones.

        `forget` removes objects before and after it marks the event, and cannot see what a writer puts later. So each writer asks again when it has
        written. `written`: rows with the paths of the cases; copies of results are found by the event.
        """
        forgotten = frozenset(row.event_id for row in self.index.rows(event_ids).values() if row.state == "forgotten")
        if not forgotten or not self.objects.is_there():
            return forgotten
        for row in written:
            if row.event_id in forgotten and row.path and not self._is_shared(row):
                self.objects.delete(row.path)
        for event_id in forgotten:
            for entry in self.objects.list(f"results/{encoded(event_id)}"):
                self.objects.delete(entry.path)
        return forgotten

    def forget_late(self, written: Iterable[CaseRow]) -> None:
        """Forget events of traces that somebody has asked to forget while they were being written: their rows did not exist yet, and were not marked."""
        for row in written:
            if row.state == "kept" and self._is_of_forgotten(row.trace_id):
                self.index.forget(row.event_id, self._clock())

    def _is_of_forgotten(self, trace_id: str) -> bool:
        """True if another event of this trace was forgotten: all of them are of the same patient."""
        return bool(trace_id) and any(one.state == "forgotten" for one in self.index.of_trace(trace_id))

    def _is_shared(self, row: CaseRow) -> bool:
        """True if the object is another kept event's, too: one with the same trace id and content."""
        of_trace = self.index.of_trace(row.trace_id) if row.trace_id else []
        return any(one.path == row.path and one.state == "kept" and one.event_id != row.event_id for one in of_trace)

    def keep_result(self, event_id: str, result_id: str, data: bytes) -> Put:
        """Keep a result event. A later scoring of the same result (another time and duration) is `other`: the first one stays."""
        return self.objects.put(result_path(event_id, result_id), data)

    def keep_results_of(self, event_id: str) -> int:
        """Keep the results of an event that are in the store; returns how many are new in the archive."""
        with reading(self.index.engine) as connection:
            stored = connection.execute(select(results.c.result_id, results.c.document).where(results.c.event_id == event_id)).tuples().all()
        return sum(self.keep_result(event_id, result_id, document.encode()) == "created" for result_id, document in stored)

    def document(self, event_id: str) -> bytes:
        """An event's JSON as it was kept. Raises `Missing`, `NoArchive`, `TooLarge` and `Undecipherable`."""
        row = self.index.row(event_id)
        if row is None:
            self.objects.check_there()
        if row is None or row.state != "kept":
            raise Missing
        return self.objects.get(row.path, self.settings.case_bytes_max)

    def content(self, row: CaseRow) -> bytes | None:
        """The JSON of a row's event; None if its object is gone or cannot be read."""
        try:
            return self.objects.get(row.path, self.settings.case_bytes_max)
        except (Missing, TooLarge, Undecipherable):
            return None


def _equal(one: bytes, other: bytes) -> bool:
    """True if two documents are the same JSON. Numbers are compared exactly, and are never equal to `true` or `false`, as they are in Python."""
    return bool(_exact(one) == _exact(other))


def _exact(document: bytes) -> Any:
    return json.loads(document, parse_int=_number, parse_float=_number)


def _number(text: str) -> tuple[Decimal | str]:
    try:
        return (Decimal(text),)
    except InvalidOperation:  # an exponent beyond all bounds
        return (text,)
