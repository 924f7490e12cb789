"""Entries as bytes and back: how a run keeps them, and how they travel between processes.

What is packed here was validated when it was made, and it never leaves this run. So it is not validated again when it is read.
"""

import pickle
from base64 import b64decode, b64encode
from datetime import datetime
from typing import Any, Final, NamedTuple

import orjson

from touchstone.schemas.result import Failure, FileRef, Finding, NotChecked, Problem, ScoreResult, SourceRef
from touchstone.scorers.reporting.report import Entry

_RESULT, _PROBLEM = b"R", b"P"
#: How the same begin that JSON cannot carry as they are.
_PICKLED_RESULT, _PICKLED_PROBLEM = b"r", b"p"
_PARTS: Final = frozenset({Failure, FileRef, Finding, NotChecked, SourceRef})


class Packed(NamedTuple):
    """An entry as one line of bytes, without its end. `event_id`: of its case; None for a problem."""

    event_id: str | None
    line: bytes


def packed(entry: Entry) -> Packed:
    """An entry as bytes."""
    is_result = isinstance(entry, ScoreResult)
    try:
        line = (_RESULT if is_result else _PROBLEM) + orjson.dumps(entry.__dict__, default=_fields)
    except TypeError:
        # Details that orjson does not write: an integer past 64 bits, keys that are not text, half a surrogate pair.
        line = (_PICKLED_RESULT if is_result else _PICKLED_PROBLEM) + b64encode(pickle.dumps(entry))
    return Packed(entry.event_id if isinstance(entry, ScoreResult) else None, line)


def unpacked(line: bytes) -> Entry:
    """The entry that was packed."""
    mark, text = line[:1], line[1:]
    if mark == _RESULT:
        return _result(orjson.loads(text))
    if mark == _PROBLEM:
        return _problem(orjson.loads(text))
    entry: Entry = pickle.loads(b64decode(text))  # noqa: S301  # packed above, in this process or in one of its own
    return entry


def is_problem(line: bytes) -> bool:
    """Whether a packed entry is a problem."""
    return line[:1] in {_PROBLEM, _PICKLED_PROBLEM}


def _fields(part: Any) -> dict[str, Any]:
    """The fields of a part of an entry. Raises `TypeError` for anything else."""
    if type(part) in _PARTS:
        fields: dict[str, Any] = part.__dict__
        return fields
    raise TypeError


def _result(fields: dict[str, Any]) -> ScoreResult:
    fields["findings"] = tuple([Finding.of_valid(one) for one in fields["findings"]])
    fields["failures"] = tuple([Failure.of_valid(one) for one in fields["failures"]])
    fields["components_missing"] = tuple(fields["components_missing"])
    fields["not_checked"] = tuple([NotChecked.of_valid(one) for one in fields["not_checked"]])
    fields["source"] = _source(fields["source"])
    fields["scored_at"] = datetime.fromisoformat(fields["scored_at"])
    return ScoreResult.of_valid(fields)


def _problem(fields: dict[str, Any]) -> Problem:
    fields["findings"] = tuple([Finding.of_valid(one) for one in fields["findings"]])
    fields["source"] = _source(fields["source"])
    return Problem.of_valid(fields)


def _source(fields: dict[str, Any]) -> FileRef | SourceRef:
    return FileRef.of_valid(fields) if "file" in fields else SourceRef.of_valid(fields)
