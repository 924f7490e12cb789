"""Batches on disk: found by concern and pattern, read case by case, each case with its place and its event id.

A batch file is a JSON array of cases, JSON lines, or `{batch_id, concern_id, cases: […]}`; which of them is seen from the
content, not the name. A data directory holds `<concern_id>/<batch_id>.json|jsonl`. JSON lines are never held as a whole.
"""

import hashlib
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from touchstone.scorers.base import ConfigError
from touchstone.streams.wire.codec import NAMESPACE

SUFFIXES = (".json", ".jsonl", ".ndjson")
LINE_SUFFIXES = (".jsonl", ".ndjson")
LINE_BYTES_MAX = 67_108_864
DOCUMENT_BYTES_MAX = 536_870_912
STANDARD_INPUT = Path("-")
_NAMES_SHOWN_MAX = 8
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class BatchFile:
    """A file to read (`-`: standard input), and what its place says of the cases that do not say it themselves.

    `concern_fixed`: the file lies under its concern in a data directory, so a case of another concern is an error.
    """

    path: Path
    concern_id: str | None = None
    batch_id: str | None = None
    concern_fixed: bool = False


@dataclass(frozen=True, slots=True)
class BatchEntry:
    """One case as it was written, completed with `concern_id`, `batch_id` and `id`; not validated yet."""

    where: str
    record: dict[str, Any]


@dataclass(frozen=True, slots=True)
class BatchProblem:
    """What could not be read, where it lies and how to mend it. Never quotes the text."""

    where: str
    what: str


def event_id_for(record: Mapping[str, Any]) -> str:
    """The event id of a case: its own `id`, else UUIDv5 of concern, batch, test and content.

    Content is archetype, expectations and output as written; timestamps and correlation do not count. So the same case
    has the same id in a file and on a topic, and a changed output is a new event.
    """
    if record.get("id") is not None:
        return str(record["id"])
    content = [record.get(part) for part in ("archetype", "expectations", "output")]
    digest = hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()
    identity = [record.get(part) for part in ("concern_id", "batch_id", "test_id")]
    return str(uuid.uuid5(NAMESPACE, orjson.dumps(["case", *identity, digest], option=orjson.OPT_SORT_KEYS).decode()))


def find_batches(data_dir: Path, concern: str | None, pattern: str) -> list[BatchFile]:
    """Files of a data directory whose name matches the pattern, in name order.

    Without a concern there must be only one. Raises `ConfigError` where the directory, the concern or a match is missing.
    """
    concerns = {path.name: path for path in _listed(data_dir) if path.is_dir()}
    if concern is None:
        if len(concerns) != 1:
            raise ConfigError(f"{data_dir}: holds {_names(concerns) or 'no concern directory'}; choose one with --concern")
        concern = next(iter(concerns))
    # The name is looked up in the listing, never joined to a path, so that `../x` finds nothing.
    if concern not in concerns:
        raise ConfigError(f"unknown concern {concern!r}: {data_dir} holds {_names(concerns) or 'no concern directory'}; check --concern and --data")
    files = [path for path in _listed(concerns[concern]) if path.suffix in SUFFIXES and path.is_file()]
    matching = [path for path in files if fnmatchcase(path.stem, pattern)]
    if not matching:
        known = _names([path.stem for path in files]) or "no batch file"
        raise ConfigError(f"no batch of {concern} matches {pattern!r}: {concerns[concern]} holds {known}; check --batch")
    return [BatchFile(path, concern, path.stem, concern_fixed=True) for path in matching]


def given_files(paths: Sequence[Path], concern: str | None = None, *, hint: str = "for <concern>/<batch>.json use --data") -> list[BatchFile]:
    """Files named on the command line; a directory stands for the batch files in it. Raises `ConfigError` for a missing one.

    `hint`: what to do about a directory that holds none.
    """
    files: list[BatchFile] = []
    for path in paths:
        if path == STANDARD_INPUT:
            files.append(BatchFile(path, concern))
        elif path.is_dir():
            inside = [inner for inner in _listed(path) if inner.suffix in SUFFIXES and inner.is_file()]
            if not inside:
                raise ConfigError(f"{path}: holds no batch file ({', '.join(SUFFIXES)}); {hint}")
            files += [BatchFile(inner, concern, inner.stem) for inner in inside]
        elif path.exists():
            files.append(BatchFile(path, concern, path.stem))
        else:
            raise ConfigError(f"{path}: no such file; check the path (patterns are for --batch)")
    if sum(file.path == STANDARD_INPUT for file in files) > 1:
        raise ConfigError("standard input (-) is named twice; name it once")
    return files


def read_values(files: Sequence[BatchFile]) -> Iterator[tuple[BatchFile, str, Any]]:
    """Every case of the files in order, as (file, place, JSON value), whatever its kind; a `BatchProblem` in the value's stead where there is one.

    A problem never ends the reading of other cases.
    """
    for file in files:
        try:
            with nullcontext(sys.stdin.buffer) if file.path == STANDARD_INPUT else file.path.open("rb") as stream:
                for where, value in _values(stream, file.path):
                    yield file, where, value
        except OSError as error:
            where = str(file.path)
            yield file, where, BatchProblem(where, f"cannot be read ({error.strerror}); check its permissions")


def read_batches(files: Sequence[BatchFile]) -> Iterator[BatchEntry | BatchProblem]:
    """Every SAFE case of the files, completed by its place, and in its place every problem."""
    for file, where, value in read_values(files):
        yield value if isinstance(value, BatchProblem) else _entry(file, where, value)


def _entry(file: BatchFile, where: str, value: Any) -> BatchEntry | BatchProblem:
    """Complete one case from its place."""
    if not isinstance(value, dict):
        return BatchProblem(where, "is no case object; write {…}")
    record = dict(value)
    for key, default in (("concern_id", file.concern_id), ("batch_id", file.batch_id)):
        if record.get(key) is None and default is not None:
            record[key] = default
    if file.concern_fixed and record["concern_id"] != file.concern_id:
        return BatchProblem(where, "names another concern than the directory it lies in; move it or mend concern_id")
    record["id"] = record.get("id")
    if record["id"] is None:
        record["id"] = event_id_for(record)
    return BatchEntry(where, record)


def _values(stream: BinaryIO, path: Path) -> Iterator[tuple[str, Any]]:
    """Each case of a stream with its place; a `BatchProblem` where there is one."""
    name = "standard input" if path == STANDARD_INPUT else str(path)
    number, line = 1, stream.readline(LINE_BYTES_MAX).removeprefix(_BYTE_ORDER_MARK)
    while line and not line.strip():
        number, line = number + 1, stream.readline(LINE_BYTES_MAX)
    head = line.strip()
    if not head:
        yield name, BatchProblem(name, "is empty")
    elif path.suffix in LINE_SUFFIXES or (head.startswith(b"{") and head.endswith(b"}")):
        yield from _lines(stream, name, number, line)
    else:
        # The lines before count in the positions that the parser reports.
        yield from _document(b"\n" * (number - 1) + line + stream.read(DOCUMENT_BYTES_MAX + 1), name)


def _lines(stream: BinaryIO, name: str, number: int, line: bytes) -> Iterator[tuple[str, Any]]:
    """Cases of JSON lines, from a first line that was read already. Blank lines are passed over."""
    while line:
        where = f"{name}, line {number}"
        if len(line) >= LINE_BYTES_MAX and not line.endswith(b"\n"):
            yield where, BatchProblem(where, f"is longer than {LINE_BYTES_MAX} bytes; the rest of the file is not read")
            return
        if line.strip():
            try:
                yield from _expanded(orjson.loads(line), where)
            except orjson.JSONDecodeError as error:
                yield where, BatchProblem(where, f"is not valid JSON ({error.msg}, column {error.colno})")
        number, line = number + 1, stream.readline(LINE_BYTES_MAX)


def _document(data: bytes, name: str) -> Iterator[tuple[str, Any]]:
    """Cases of one JSON document."""
    if len(data) > DOCUMENT_BYTES_MAX:
        yield name, BatchProblem(name, f"is larger than {DOCUMENT_BYTES_MAX} bytes; write it as JSON lines")
        return
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        where = f"{name}, line {error.lineno}"
        yield where, BatchProblem(where, f"is not valid JSON ({error.msg}, column {error.colno})")
        return
    if isinstance(document, list):
        yield from ((f"{name}, case {place}", case) for place, case in enumerate(document, 1))
    else:
        yield from _expanded(document, name)


def _expanded(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    """A value as its cases: `{batch_id, concern_id, cases}` hands its ids down, anything else is a case itself."""
    if not isinstance(value, dict) or "cases" not in value:
        yield where, value
        return
    cases = value["cases"]
    if not isinstance(cases, list):
        yield where, BatchProblem(where, "has a field `cases` that is no list; write [ … ]")
        return
    handed_down = {key: value[key] for key in ("concern_id", "batch_id") if value.get(key) is not None}
    for place, case in enumerate(cases, 1):
        if isinstance(case, dict):
            yield f"{where}, case {place}", case | {key: text for key, text in handed_down.items() if case.get(key) is None}
        else:
            yield f"{where}, case {place}", case


def _listed(directory: Path) -> list[Path]:
    """What lies in a directory, in name order, hidden files left out. Raises `ConfigError` where it cannot be read."""
    try:
        return sorted(path for path in directory.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise ConfigError(f"{directory}: cannot be read ({error.strerror}); check --data") from None


def _names(names: Sequence[str] | Mapping[str, Any]) -> str:
    """A few names, for a message."""
    listed = sorted(names)
    rest = len(listed) - _NAMES_SHOWN_MAX
    return ", ".join(listed[:_NAMES_SHOWN_MAX]) + (f" and {rest} more" if rest > 0 else "")
