"""One source → its records, each with its place: case JSON in every shape that producers write, or a document that the suite reads.

Case JSON is one object, an array, JSON lines, or `{"batch_id": …, "concern_id": …, "cases": […]}`; the content decides which.
JSON lines are never held as a whole. A problem never ends the reading of other records.
"""

import io
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Final, cast

import orjson

from touchstone.ops.batch.sources import Source, UnreadableError, opened
from touchstone.schemas.result import FileRef, Problem
from touchstone.schemas.settings.house import FilesSettings
from touchstone.scorers.base import Document, Found
from touchstone.scorers.defects import defect_in
from touchstone.scorers.json_keys import has_key_twice
from touchstone.scorers.suite import Suite

#: Bytes of one line, of one JSON document, and of one document of another format, all of them unpacked.
LINE_BYTES_MAX: Final = 67_108_864
JSON_BYTES_MAX: Final = 536_870_912
DOCUMENT_BYTES_MAX: Final = 100 * 1024 * 1024
BOUNDS: Final = FilesSettings()
#: A document with more objects and arrays than so many for each record that a file may have is not parsed: each costs memory.
_OBJECTS_PER_RECORD: Final = 16
#: So many are parsed whatever the bound on records is: a single case may have many.
_OBJECTS_FREE: Final = 1_000_000
_HEAD_BYTES: Final = 65_536
_PIECE_BYTES: Final = 1_048_576
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
#: Byte order marks of UTF-16; those of UTF-32 begin in the same way, or with a zero byte.
_MARKS_OF_OTHERS: Final = (b"\xff\xfe", b"\xfe\xff")
_LINE_SUFFIXES: Final = (".jsonl", ".ndjson")
_TWICE: Final = "has an object with a key twice; keep one"
#: An empty list is as much of a problem as an empty file: the program that wrote it may have failed, and a gate would pass without its cases.
_NO_CASE: Final = "holds no case, only an empty list; write its cases, or leave it out"
_NOT_UTF8: Final = "is not UTF-8; save it as UTF-8"
_TOO_LARGE: Final = f"larger than {DOCUMENT_BYTES_MAX // 1024**2} MiB: not read"

Record = tuple[FileRef, Any]


def read_source(source: Source, suite: Suite, settings: Any, bounds: FilesSettings = BOUNDS) -> Iterator[Record | Problem]:
    """Every record of a source with its place, and in its place every problem. Never raises for what the source holds."""
    if (refused := source.refused()) is not None:
        yield refused
        return
    try:
        with opened(source) as stream:
            if suite.read is None:
                yield from read_values(stream, source, bounds)
            else:
                yield from _read_document(stream, source, suite, settings, bounds)
    except UnreadableError as error:
        yield Problem(source=FileRef(file=source.file), what=str(error), kind="unreadable")


def _read_document(stream: BinaryIO, source: Source, suite: Suite, settings: Any, bounds: FilesSettings) -> Iterator[Record | Problem]:
    """A whole document for the suite to read; case JSON if it does not know it. An exception of its reader affects this document only."""
    assert suite.read is not None
    # Of a file that is known to be too large only the beginning is read, to detect its format.
    size, file = source.size(), source.file
    is_cut = size > DOCUMENT_BYTES_MAX
    data = stream.read(_HEAD_BYTES) if is_cut else _whole_document(stream, size)
    is_cut = is_cut or len(data) > DOCUMENT_BYTES_MAX
    try:
        found = suite.read(Document(file, data[:_HEAD_BYTES] if is_cut else data, source.named, is_cut), settings)
        if is_cut and found is not None:
            yield _too_large(FileRef(file=file), next(iter(found), None))
        elif found is not None:
            del data
            for number, one in enumerate(found, 1):
                if number > bounds.records_max:
                    yield Problem(source=FileRef(file=file), what=_too_many(bounds))
                    return
                yield one if isinstance(one, Problem) else (FileRef(file=file, place=one.place), dict(one.record))
    except Exception as error:  # noqa: BLE001  # a defect of the reader, whose message may quote the document
        yield Problem(source=FileRef(file=file), what=f"the reader of {suite.name} failed ({defect_in(suite.read, error)})", kind="unreadable")
        return
    if found is not None:
        return
    if not is_cut:
        yield from read_values(io.BytesIO(data), source, bounds)
    elif data[:_HEAD_BYTES].removeprefix(_BYTE_ORDER_MARK).lstrip()[:1] in (b"{", b"["):
        yield from read_values(cast("BinaryIO", io.BufferedReader(_Begun(data, stream), _PIECE_BYTES)), source, bounds)
    else:
        yield _too_large(FileRef(file=file), None)


class _Begun(io.RawIOBase):
    """A stream whose beginning was read already, from its beginning."""

    def __init__(self, begun: bytes, rest: BinaryIO) -> None:
        super().__init__()
        self._begun = memoryview(begun)
        self._rest = rest

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Fill the buffer, first from what was read."""
        piece = self._begun[: len(buffer)] if self._begun else self._rest.read(len(buffer))
        self._begun = self._begun[len(piece) :]
        buffer[: len(piece)] = piece
        return len(piece)


def _whole_document(stream: BinaryIO, size: int) -> bytes:
    """A document, as far as its bound and a byte beyond. `size`: its bytes on disk; 0 if they are not known."""
    if not 0 < size < _PIECE_BYTES:
        return stream.read(DOCUMENT_BYTES_MAX + 1)
    # Memory is set aside for all that is asked for, which for many small files would cost more than reading them.
    data = stream.read(size + 1)
    return data if len(data) <= size else data + stream.read(DOCUMENT_BYTES_MAX + 1 - len(data))


def _too_large(place: FileRef, first: Found | Problem | None) -> Problem:
    """The problem that a file beyond the bounds is. It counts, wherever it was found, unless the suite passes over its format."""
    if isinstance(first, Problem):
        return first.model_copy(update={"what": _TOO_LARGE})
    return Problem(source=place, what=_TOO_LARGE, kind="unknown")


def read_values(stream: BinaryIO, source: Source, bounds: FilesSettings = BOUNDS) -> Iterator[Record | Problem]:
    """Each JSON value of a stream with its place, within the bounds."""
    name, watch = source.file, _Watch(bounds)
    number, line = 1, stream.readline(LINE_BYTES_MAX).removeprefix(_BYTE_ORDER_MARK)
    while line and not line.strip() and not watch.says_stop(number):
        number, line = number + 1, stream.readline(LINE_BYTES_MAX)
    head = line.strip()
    if (stop := watch.says_stop(number)) is not None:
        yield Problem(source=FileRef(file=name), what=stop)
    elif not head:
        yield Problem(source=FileRef(file=name), what="is empty")
    elif head.startswith(_MARKS_OF_OTHERS) or head[:2].count(0) == 1:
        # JSON begins with ASCII, so a zero byte there means two or four bytes a character. Read as lines, it would be a problem in every line.
        yield Problem(source=FileRef(file=name), what=_NOT_UTF8)
    elif _says_lines(source) or (head.startswith(b"{") and head.endswith(b"}")):
        yield from _lines(stream, name, number, line, watch)
    else:
        # The lines before count in the positions that the parser reports.
        yield from _document(_whole(stream, b"\n" * (number - 1) + line), name, bounds)


def _whole(stream: BinaryIO, begun: bytes) -> bytearray:
    """The rest of a document that may be one, piece by piece: it is held once, and anything but an object or array is not held at all."""
    data = bytearray(begun)
    if begun.lstrip()[:1] in (b"{", b"["):
        while len(data) <= JSON_BYTES_MAX and (piece := stream.read(_PIECE_BYTES)):
            data += piece
    return data


def _says_lines(source: Source) -> bool:
    """Whether the file's name is that of JSON lines, compressed or not."""
    return not source.is_standard_input and any(suffix.lower() in _LINE_SUFFIXES for suffix in source.path.suffixes[-2:])


def _lines(stream: BinaryIO, name: str, number: int, line: bytes, watch: "_Watch") -> Iterator[Record | Problem]:
    """Values of JSON lines, from a first line that was read already. Blank lines are passed over."""
    records = 0
    while line:
        where = f"line {number}"
        if (stop := watch.says_stop(max(number, records))) is not None:
            yield Problem(source=FileRef(file=name, place=where), what=stop)
            return
        if len(line) >= LINE_BYTES_MAX and not line.endswith(b"\n"):
            yield Problem(source=FileRef(file=name, place=where), what=f"is longer than {LINE_BYTES_MAX} bytes; the rest of the file is not read")
            return
        if line.strip():
            try:
                # Without the line's end, a value that is cut off is reported at its last column, not at column 1 of the next line.
                value = orjson.loads(line.rstrip(b"\r\n"))
            except orjson.JSONDecodeError as error:
                yield Problem(source=FileRef(file=name, place=where), what=_not_json(error))
            else:
                if has_key_twice(line, value):
                    yield Problem(source=FileRef(file=name, place=where), what=_TWICE)
                else:
                    for one in _expanded(value, name, where, watch.bounds):
                        records += 1
                        with watch.paused():
                            yield one
        number, line = number + 1, stream.readline(LINE_BYTES_MAX)


def _document(data: bytearray, name: str, bounds: FilesSettings) -> Iterator[Record | Problem]:
    if len(data) > JSON_BYTES_MAX:
        yield Problem(source=FileRef(file=name), what=f"is larger than {JSON_BYTES_MAX} bytes; write it as JSON lines")
        return
    if data.count(b"{") + data.count(b"[") > max(_OBJECTS_FREE, _OBJECTS_PER_RECORD * bounds.records_max):
        yield Problem(source=FileRef(file=name), what=_too_many(bounds))
        return
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        place = FileRef(file=name, place=f"line {error.lineno}")
        yield Problem(source=place, what=_not_json(error))
        return
    if has_key_twice(data, document):
        yield Problem(source=FileRef(file=name), what=_TWICE)
    elif document == []:
        yield Problem(source=FileRef(file=name), what=_NO_CASE)
    elif isinstance(document, list) and len(document) > bounds.records_max:
        yield Problem(source=FileRef(file=name), what=_too_many(bounds))
    elif isinstance(document, list):
        yield from ((FileRef(file=name, place=f"case {number}"), case) for number, case in enumerate(document, 1))
    else:
        yield from _expanded(document, name, "", bounds)


def _expanded(value: Any, name: str, where: str, bounds: FilesSettings) -> Iterator[Record | Problem]:
    """A value as its cases: `{batch_id, concern_id, cases}` hands its ids down, anything else is a case itself."""
    if not isinstance(value, dict) or "cases" not in value:
        yield FileRef(file=name, place=where), value
        return
    cases = value["cases"]
    if not isinstance(cases, list):
        yield Problem(source=FileRef(file=name, place=where), what="has a field `cases` that is not a list; write [ … ]")
        return
    if not cases:
        yield Problem(source=FileRef(file=name, place=where), what=_NO_CASE)
        return
    if len(cases) > bounds.records_max:
        yield Problem(source=FileRef(file=name, place=where), what=_too_many(bounds))
        return
    handed_down = {key: value[key] for key in ("concern_id", "batch_id") if value.get(key) is not None}
    for number, case in enumerate(cases, 1):
        place = FileRef(file=name, place=f"{where}, case {number}" if where else f"case {number}")
        yield place, case | {key: text for key, text in handed_down.items() if case.get(key) is None} if isinstance(case, dict) else case


class _Watch:
    """Lines and seconds of the file that is being read."""

    def __init__(self, bounds: FilesSettings) -> None:
        self.bounds = bounds
        self._ends_at = time.perf_counter() + bounds.read_timeout_s

    def says_stop(self, records: int) -> str | None:
        """Why no more is read; None as long as it is."""
        if records > self.bounds.records_max:
            return _too_many(self.bounds)
        if time.perf_counter() > self._ends_at:
            limit = f"{self.bounds.read_timeout_s:g} s"
            return f"takes longer than {limit} to read; the rest is not read (raise files.read_timeout_s, TOUCHSTONE_FILES_READ_TIMEOUT_S)"
        return None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The time in which a record is scored does not count."""
        begun = time.perf_counter()
        yield
        self._ends_at += time.perf_counter() - begun


def _too_many(bounds: FilesSettings) -> str:
    """What is said of a file with more records than one may have."""
    return f"holds more than {bounds.records_max:,} records; the rest is not read (split it, or raise files.records_max, TOUCHSTONE_FILES_RECORDS_MAX)"


def _not_json(error: orjson.JSONDecodeError) -> str:
    """Why bytes are not JSON; nothing of them is quoted."""
    if "UTF-8" in error.msg:
        return _NOT_UTF8
    return f"is not valid JSON ({error.msg}, column {error.colno})"


def records_of(suite: Suite, source: Source, settings: Any, bounds: FilesSettings = BOUNDS) -> Iterator[tuple[FileRef, dict[str, Any]] | Problem]:
    """The records of a source that are objects; anything else is a problem."""
    for one in read_source(source, suite, settings, bounds):
        if isinstance(one, Problem):
            yield one
        elif isinstance(one[1], dict):
            yield one[0], one[1]
        else:
            yield Problem(source=one[0], what="is not a case object; write {…}")


__all__ = ["DOCUMENT_BYTES_MAX", "Found", "Record", "read_source", "read_values", "records_of"]
