"""Annotations between files and the store, in both shapes of the specification: `annotations.json`, and annotations inside trace files."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson
from pydantic import ValidationError

from touchstone.ops.batch.sources import Source, UnreadableError, find_sources, opened
from touchstone.ops.reports.files import check_directory, write_whole
from touchstone.ops.reviews.annotations import ANNOTATIONS_MAX, FILE_BYTES_MAX, StoreAnnotations
from touchstone.ops.store.annotation_log import is_there, record_of
from touchstone.ops.store.archive.archive import Archive
from touchstone.ops.store.archive.documents import TRACE
from touchstone.ops.store.results import ResultStore
from touchstone.ops.store.trace_comments import production_form, said_in, with_comments
from touchstone.schemas.annotation import AnnotationRecord
from touchstone.schemas.counting import newest
from touchstone.schemas.faults import explain
from touchstone.scorers.base import ConfigError

#: Keys that only a trace has.
_OF_A_TRACE: Final = frozenset({"outputs", "persona", "annotations"})
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class Read(NamedTuple):
    """What files hold: annotations, in their order, and a line for each part that cannot be read. `files`: how many there are."""

    records: list[AnnotationRecord]
    problems: list[str]
    files: int


def read_annotations(path: Path) -> Read:
    """The annotations of a file or of a folder's files, in either shape. A part that cannot be read is a line and costs no other. Raises `ConfigError`."""
    records: list[AnnotationRecord] = []
    problems: list[str] = []
    files = 0
    for source in find_sources([path], any_file=False, hint="name a file of annotations, or a folder of traces"):
        files += 1
        try:
            for place, document, _ in documents_of(source):
                _take(document, f"{source.file}{place}", records, problems)
        except UnreadableError as error:
            problems.append(f"{source.file}: {error}")
    return Read(records, problems, files)


def _take(document: Any, place: str, records: list[AnnotationRecord], problems: list[str]) -> None:
    if not isinstance(document, Mapping):
        problems.append(f"{place}: is neither an annotation nor a trace")
    elif document.keys() & _OF_A_TRACE:
        said, faults = said_in(document)
        records += said
        problems += (f"{place}: {fault}" for fault in faults)
    else:
        read_record(document, place, records, problems)


def read_record(document: Mapping[str, Any], place: str, records: list[AnnotationRecord], problems: list[str]) -> None:
    """Read one record of `annotations.json`; of one that is none, a line."""
    try:
        records.append(AnnotationRecord.model_validate(document))
    except ValidationError as error:
        problems.append(f"{place}: {explain(error, AnnotationRecord)}")


def documents_of(source: Source) -> Iterator[tuple[str, Any, bytes]]:
    """The values of a file, each with its place in it and as it is written: those of an array, of JSON lines, or the one that the file is.

    Raises `UnreadableError`.
    """
    if (refused := source.refused()) is not None:
        raise UnreadableError(refused.what)
    with opened(source) as stream:
        data = stream.read(FILE_BYTES_MAX + 1).removeprefix(_BYTE_ORDER_MARK)
    if len(data) > FILE_BYTES_MAX:
        raise UnreadableError(f"has more than {FILE_BYTES_MAX:,} bytes; split it")
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        yield from _lines(data, error)
        return
    if isinstance(document, list):
        yield from ((f", {number}", one, orjson.dumps(one)) for number, one in enumerate(document))
    else:
        yield "", document, data


def _lines(data: bytes, fault: orjson.JSONDecodeError) -> Iterator[tuple[str, Any, bytes]]:
    """The values of JSON lines."""
    lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    try:
        values = [(f", line {number}", orjson.loads(line), line) for number, line in lines] if len(lines) > 1 else []
    except orjson.JSONDecodeError:
        values = []
    if not values:
        raise UnreadableError(f"is not JSON (line {fault.lineno})" if data.strip() else "is empty")
    yield from values


def export_array(store: ResultStore, output: Path | None, *, history: bool) -> tuple[bytes, int]:
    """The store's annotations as the specification's array, written to a file if one is named; returns its bytes and how many there are.

    `history`: everything that was ever written, not only what each reviewer says now. Raises `ConfigError`, also where the file has annotations that
    the store lacks: they would be lost.
    """
    log = StoreAnnotations(store).read()
    chosen = log if history else newest(log)
    data = orjson.dumps([one.record() for one in chosen], option=orjson.OPT_INDENT_2) + b"\n"
    if output is not None:
        _check_nothing_is_lost(output, log)
        check_directory(output.parent, "--output")
        write_whole(output, io.BytesIO(data))
    return data, len(chosen)


def _check_nothing_is_lost(output: Path, log: Sequence[AnnotationRecord]) -> None:
    if not output.is_file() or not output.stat().st_size:
        return
    there = read_annotations(output)
    by_trace = _by_trace(log)
    missing = sum(not is_there(one, by_trace.get(one.trace_id, ())) for one in there.records) + len(there.problems)
    if missing:
        what = "an entry" if missing == 1 else f"{missing:,} entries"
        raise ConfigError(f"{output} has {what} that the store does not have; import it first (touchstone annotations import), or name another file")


def export_into_traces(archive: Archive, folder: Path) -> tuple[int, list[str]]:
    """Write copies of the annotated traces with their annotations, in the production form; returns how many, and the ids of those that are not kept.

    Raises `ConfigError`, also where a copy would take the place of another file: no trace is changed.
    """
    logs: dict[str, list[AnnotationRecord]] = {}
    for row in archive.index.all_annotations(ANNOTATIONS_MAX):
        logs.setdefault(row.event_id, []).append(record_of(row))
    kept = archive.index.rows(logs)
    check_directory(folder, "--into-traces")
    copies: list[tuple[Path, str]] = []
    absent = []
    for event_id, log in logs.items():
        case = kept.get(event_id)
        if case is None or case.state != "kept" or case.kind != TRACE:
            absent.append(log[0].trace_id)
            continue
        copies.append((folder / Path(case.path).name, event_id))
    for is_rehearsal in (True, False):
        for path, event_id in copies:
            said = [production_form(one) for one in newest(logs[event_id])]
            copy = with_comments(archive.document(event_id), said, logs[event_id], None) + b"\n"
            if not is_rehearsal:
                write_whole(path, io.BytesIO(copy))
            elif path.exists() and path.read_bytes() != copy:
                raise ConfigError(f"{path}: there is another file of this name, and traces are never changed; name an empty folder")
    return len(copies), absent


def _by_trace(records: Sequence[AnnotationRecord]) -> dict[str, list[AnnotationRecord]]:
    found: dict[str, list[AnnotationRecord]] = {}
    for one in records:
        found.setdefault(one.trace_id, []).append(one)
    return found
