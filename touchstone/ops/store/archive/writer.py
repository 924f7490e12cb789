"""Writes what the archiver brings: cases and results as objects, several at a time, and then their rows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from sqlalchemy import select

from touchstone.ops.store.archive.documents import NotKept
from touchstone.ops.store.archive.keeping import Keeping
from touchstone.ops.store.archive.policy import Policy
from touchstone.ops.store.archive.removal import clear_forgotten
from touchstone.ops.store.case_rows import CaseRow, CaseState
from touchstone.ops.store.engine import reading
from touchstone.ops.store.schema import results
from touchstone.streams.account.archive_port import Outcome, Wanted
from touchstone.streams.account.projection import Position, ResultRow

#: States after which an event is not read again. One that could not be kept is tried again with its next result.
_SETTLED: Final = frozenset({"kept", "removed", "forgotten"})
_STATES: Final[Mapping[Outcome, CaseState]] = {
    "source_expired": "source_expired",
    "made_anew": "source_expired",
    "too_large": "too_large",
    "unreadable": "unreadable",
}


class ArchiveWriter:
    """The archive behind an archiver. `handed_on`: topics of events that one suite makes for another: the event itself is on another topic."""

    def __init__(self, archive: Keeping, policy: Policy, handed_on: frozenset[str] = frozenset()) -> None:
        self._archive = archive
        self._policy = policy
        self._handed_on = handed_on
        self._pool = ThreadPoolExecutor(archive.settings.writers, thread_name_prefix="archive")

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def sort(self, rows: Sequence[ResultRow]) -> tuple[list[ResultRow], list[Wanted]]:
        """Results of events that the archive has, and the events to keep. When one result of an event is wanted, all of them are.

        Of forgotten events, what a writer left that was killed before it looked whether they are is deleted here: its results come again.
        """
        by_event: dict[str, list[ResultRow]] = {}
        for row in rows:
            by_event.setdefault(row.event_id, []).append(row)
        there = self._archive.index.rows(by_event)
        known: list[ResultRow] = []
        wanted: list[Wanted] = []
        for event_id, own in by_event.items():
            kept = there.get(event_id)
            if kept is not None and kept.state == "forgotten":
                clear_forgotten(self._archive, event_id)
            if kept is not None and kept.state in _SETTLED and self._is_itself(kept, own):
                known += own if kept.state == "kept" else []
            elif kept is not None or any(self._policy.keeps(row.suite, row.label, event_id) for row in own):
                first = min(own, key=lambda row: (row.source.topic in self._handed_on, row.source.topic, row.source.partition, row.source.offset))
                wanted.append(Wanted(event_id, tuple(own), first.source, first.checksum))
        return known, [self._found(one) for one in wanted]

    def _is_itself(self, kept: CaseRow, own: Sequence[ResultRow]) -> bool:
        """False if only what one suite made for another was kept of the event, and now it can be had itself."""
        return kept.state == "forgotten" or kept.topic not in self._handed_on or all(row.source.topic in self._handed_on for row in own)

    def _found(self, one: Wanted) -> Wanted:
        """With the place of the event itself, which another result in the store names."""
        if one.place.topic not in self._handed_on:
            return one
        columns = (results.c.kind, results.c.source_topic, results.c.source_topic_id, results.c.source_partition, results.c.source_offset, results.c.checksum)
        query = select(*columns).where(results.c.event_id == one.event_id, results.c.source_topic.not_in(self._handed_on)).limit(1)
        with reading(self._archive.index.engine) as connection:
            found = connection.execute(query).one_or_none()
        if found is None:
            return one
        place = Position(found.source_topic, found.source_topic_id, found.source_partition, found.source_offset)
        return Wanted(one.event_id, one.results, place, found.checksum, kind=found.kind)

    def keep_results(self, rows: Iterable[ResultRow]) -> int:
        """Keep results of events that are kept already; returns how many are new."""
        put, given = self._archive.keep_result, list(rows)
        new = sum(outcome == "created" for outcome in self._pool.map(lambda row: put(row.event_id, row.result_id, row.document.encode()), given))
        self._archive.take_back({row.event_id for row in given})
        return new

    def keep_cases(self, cases: Sequence[Wanted]) -> Mapping[Outcome, int]:
        """Keep events with all their results, objects first, rows after them."""
        counts: Counter[Outcome] = Counter()
        rows: list[CaseRow] = []
        for outcome, row in self._pool.map(self._keep, cases):
            counts[outcome] += 1
            rows.append(row)
        self._archive.index.keep(rows)
        self._archive.forget_late(rows)
        self._archive.take_back([row.event_id for row in rows], [row for row in rows if row.path])
        return counts

    def _keep(self, one: Wanted) -> tuple[Outcome, CaseRow]:
        first = next((row for row in one.results if row.source == one.place), one.results[0])
        kind, case_id = one.kind or first.listed.kind, first.listed.case_id
        for row in one.results:
            self._archive.keep_result(row.event_id, row.result_id, row.document.encode())
        if one.gone is None:
            try:
                kept = self._archive.put(one.event_id, kind, case_id, one.data, at=first.scored_at, place=one.place)
            except NotKept as refused:
                if refused.state == "forgotten":  # settled, as an event that was kept before; its results are taken back with it
                    return "known", self._archive.not_kept(one.event_id, kind, case_id, "forgotten", first.scored_at, one.place)
                gone: Outcome = "too_large" if refused.state == "too_large" else "unreadable"
            else:
                self._archive.keep_results_of(one.event_id)
                return "kept", kept.row
        else:
            gone = one.gone
        return gone, self._archive.not_kept(one.event_id, kind, case_id, _STATES[gone], first.scored_at, one.place)

    def check_writable(self) -> None:
        """See whether objects can be created, once each, and read the index; writing a row is what every batch does."""
        self._archive.objects.check_writable()
        self._archive.index.row("probe")

    def check_readable(self) -> None:
        """See whether objects and index answer, while there is nothing to write."""
        self._archive.objects.check_readable()
        self._archive.index.row("probe")

    def waits(self) -> tuple[float | None, float]:
        """Since when the store of objects has been asked in vain, and when it answered last."""
        objects = self._archive.objects
        return objects.asked_at(), objects.answered_at
