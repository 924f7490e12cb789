"""Reads the traces of a place into a store and an archive: keeps each, scores what is not scored yet, and takes over what people said of it.

Some traces at a time, each step whole: a run that is killed is continued by the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import ValidationError

from touchstone.ops.batch.cases import BatchCase, completed, model_of
from touchstone.ops.batch.executor import scored
from touchstone.ops.batch.sources import Source
from touchstone.ops.reviews.exchange import Read, read_annotations, read_record
from touchstone.ops.store.annotation_log import add_records
from touchstone.ops.store.archive.archive import Archive
from touchstone.ops.store.archive.documents import TRACE, NotKept
from touchstone.ops.store.case_rows import CaseRow
from touchstone.ops.store.file_results import known_results, write_file_results
from touchstone.ops.store.trace_comments import keep_comments
from touchstone.ops.viewer.places import Found, TracePlace
from touchstone.schemas.annotation import AnnotationRecord
from touchstone.schemas.case import validate_case
from touchstone.schemas.faults import explain
from touchstone.schemas.result import FileRef, ScoreResult
from touchstone.scorers.identity import ResultIds
from touchstone.scorers.scoring import Scoring
from touchstone.streams.account.projection import Unreadable

#: Files that are read, scored and written together.
AT_A_TIME: Final = 10
#: Keys of the records of `annotations.json`, which may lie among traces.
_OF_A_RECORD: Final = frozenset({"reviewer", "verdict"})
#: What people say of a trace is no part of it: a copy with other comments is the same trace.
_COMMENTS: Final = {"annotations": None, "feedback": None}


@dataclass(slots=True)
class Loaded:
    """What a run has done so far. `problems`: a line for each thing that somebody should know; none of them ends the run."""

    traces: int = 0
    scored: int = 0
    annotations: int = 0
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Trace:
    """A trace of a place, valid for at least one suite. `cases`: suite → its case."""

    name: str
    document: Mapping[str, Any]
    data: bytes
    event_id: str
    trace_id: str
    cases: Mapping[str, BatchCase]


class Loader:
    """Reads a place. `suites`: those that score its traces."""

    def __init__(self, place: TracePlace, archive: Archive, suites: Sequence[Scoring]) -> None:
        self._place = place
        self._archive = archive
        self._suites = suites
        self._said: list[AnnotationRecord] = []
        self._ids = {one.suite.name: ResultIds(one.suite.name, one.suite.version, one.digest) for one in suites}
        self.loaded = Loaded()

    async def step(self, names: Iterable[str]) -> None:
        """Read, keep and score some of the place's names."""
        traces = await asyncio.to_thread(self._kept, list(names))
        results = [result for scoring in self._suites for result in await self._scored(scoring, traces)]
        await asyncio.to_thread(self._write, results, traces)

    def _kept(self, names: Sequence[str]) -> list[_Trace]:
        """The valid traces behind the names, kept in the archive."""
        found = [one for name in names for one in self._place.read(name)]
        traces = {one.event_id: one for one in filter(None, map(self._trace, found))}
        there = self._archive.index.rows(traces)
        rows = []
        taken = []
        for trace in traces.values():
            kept = self._content(there.get(trace.event_id))
            if kept is None:
                try:
                    rows.append(self._archive.put(trace.event_id, TRACE, trace.trace_id, trace.data).row)
                except NotKept as error:
                    self._tell(trace.name, f"was not read ({error.code})")
                    continue
            elif not _is_same(kept, trace.document):
                self._tell(trace.name, "has changed since it was first read, and a trace never changes: the earlier one is shown; give the new one a traceId")
            taken.append(trace)
        self._archive.index.keep(rows)
        return taken

    def _content(self, row: CaseRow | None) -> bytes | None:
        """What is kept of a trace; None if it is not."""
        if row is None or row.state != "kept" or not self._archive.objects.is_there():
            return None
        return self._archive.content(row)

    def _trace(self, found: Found) -> _Trace | None:
        """The trace of a document, with its case for each suite; None, and a line that says why, if it is none."""
        document = found.document
        if not found.fault and isinstance(document, dict) and "traceId" in document and "outputs" in document:
            cases, fault = self._cases(found.name, document)
            if cases:
                first = next(iter(cases.values()))
                return _Trace(found.name, document, found.data, first.event_id, str(document["traceId"]), cases)
            self._tell(found.name, fault)
        elif not found.fault and isinstance(document, dict) and document.keys() & _OF_A_RECORD:
            read_record(document, found.name, self._said, self.loaded.problems)
        else:
            self._tell(found.name, found.fault or "is no trace: it has no traceId, or no outputs")
        return None

    def _cases(self, name: str, document: Mapping[str, Any]) -> tuple[dict[str, BatchCase], str]:
        """Suite → the trace as its case, the same as in `touchstone score`; and why there is none for a suite."""
        source, fault = Source(Path(name)), "no suite here scores it"
        cases: dict[str, BatchCase] = {}
        for scoring in self._suites:
            record = {"kind": TRACE, **document}
            model = model_of(record, scoring.suite)
            if model is None:
                continue
            try:
                whole = completed(record, model, source, scoring.suite)
                case = validate_case(model, whole)
            except ValidationError as error:
                fault = explain(error, model, model.words)
            except ValueError as error:
                fault = str(error)
            else:
                cases[scoring.suite.name] = BatchCase(case, case.id or str(whole["id"]), FileRef(file=name))
        return cases, fault

    async def _scored(self, scoring: Scoring, traces: Sequence[_Trace]) -> list[ScoreResult]:
        """The results of one suite that the store does not have."""
        name, ids = scoring.suite.name, self._ids[scoring.suite.name]
        cases = {ids.of(one.cases[name].event_id): one.cases[name] for one in traces if name in one.cases}
        known = await asyncio.to_thread(known_results, self._archive.index.engine, cases)
        new = [case for result_id, case in cases.items() if result_id not in known]
        return [result async for result in scored(new, scoring) if isinstance(result, ScoreResult)]

    def _write(self, results: Sequence[ScoreResult], traces: Sequence[_Trace]) -> None:
        engine, now = self._archive.index.engine, datetime.now(UTC)
        suites = {one.suite.name: one.suite for one in self._suites}
        try:
            write_file_results(engine, results, suites)
        except (Unreadable, TypeError):
            for one in results:  # one by one: a result that no column can hold costs no other
                try:
                    write_file_results(engine, [one], suites)
                except (Unreadable, TypeError) as error:
                    self._tell(one.event_id, f"its result of {one.suite} cannot be stored ({error})")
        for trace in traces:
            added, faults = keep_comments(self._archive.index, trace.document, now)
            self.loaded.annotations += added.added
            for fault in faults:
                self._tell(trace.name, fault)
        self.loaded.traces += len(traces)
        self.loaded.scored += len(results)

    def take_annotations(self, file: Path | None) -> None:
        """Take over the records of annotations that lie among the traces, and those of a file beside them."""
        read = read_annotations(file) if file is not None else Read([], [], 0)
        found = add_records(self._archive.index.engine, [*self._said, *read.records], datetime.now(UTC))
        self.loaded.annotations += found.added
        self.loaded.problems += read.problems
        if found.unknown:
            self._tell(str(file or self._place.shown), f"what is said of {len(found.unknown):,} traces that are not here is left there")

    def _tell(self, name: str, what: str) -> None:
        self.loaded.problems.append(f"{name}: {what}")


def steps(names: Sequence[str]) -> Iterator[Sequence[str]]:
    """The names, as many at a time as are read together."""
    for first in range(0, len(names), AT_A_TIME):
        yield names[first : first + AT_A_TIME]


def _is_same(kept: bytes, document: Mapping[str, Any]) -> bool:
    return bool({**orjson.loads(kept), **_COMMENTS} == {**document, **_COMMENTS})
