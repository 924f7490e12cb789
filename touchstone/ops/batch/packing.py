"""Entries as bytes and back: how a run keeps them, and how they travel between processes.

What is packed here was validated when it was made, and it never leaves this run. So it is not validated again when it is read.
"""

import pickle
from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, cast, get_args, get_origin

import orjson

from touchstone.schemas.base import Outbound
from touchstone.schemas.case import Case
from touchstone.schemas.result import Problem, ScoreResult
from touchstone.scorers.reporting.report import Entry

_RESULT, _PROBLEM = b"R", b"P"
#: How the same begin that JSON cannot carry as they are.
_PICKLED_RESULT, _PICKLED_PROBLEM = b"r", b"p"


#: Sorts the worst case first.
Badness = tuple[int, ...]


class Kept(NamedTuple):
    """A case and its result as bytes: what they take is known, and they travel between processes."""

    badness: Badness
    name: str
    data: bytes

    @classmethod
    def of(cls, badness: Badness, name: str, case: Case, result: ScoreResult) -> "Kept":
        """Pack a case and its result."""
        return cls(badness, name, pickle.dumps((case, result)))

    def read(self) -> tuple[Case, ScoreResult]:
        """The case and its result."""
        pair: tuple[Case, ScoreResult] = pickle.loads(self.data)  # noqa: S301  # packed above, in this process or in one of its own
        return pair


class Packed(NamedTuple):
    """An entry as one line of bytes, without its end. `event_id`: of its case; None for a problem. `kept`: the case too, if it is among the worst so far."""

    event_id: str | None
    line: bytes
    kept: Kept | None = None


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
        return cast("ScoreResult", _maker(ScoreResult)(orjson.loads(text)))
    if mark == _PROBLEM:
        return cast("Problem", _maker(Problem)(orjson.loads(text)))
    entry: Entry = pickle.loads(b64decode(text))  # noqa: S301  # packed above, in this process or in one of its own
    return entry


def is_problem(line: bytes) -> bool:
    """True if a packed entry is a problem."""
    return line[:1] in {_PROBLEM, _PICKLED_PROBLEM}


def _fields(part: Any) -> dict[str, Any]:
    """The fields of a part of an entry. Raises `TypeError` for anything else."""
    if Outbound in type(part).__mro__:  # pydantic's `isinstance` costs ten times as much
        fields: dict[str, Any] = part.__dict__
        return fields
    raise TypeError


@cache
def _maker(model: type[Outbound]) -> Callable[[dict[str, Any]], Any]:
    """The function that makes an instance of a model from the JSON of one, without validating it."""
    restorers = [(name, restore) for name, field in model.model_fields.items() if (restore := _restorer(field.annotation)) is not None]

    def make(fields: dict[str, Any]) -> Any:
        for name, restore in restorers:
            fields[name] = restore(fields[name])
        return model.of_valid(fields)

    return make if restorers else model.of_valid


def _restorer(kind: Any) -> Callable[[Any], Any] | None:
    """The function that turns the JSON of a type into an instance of it; None if JSON has that type itself."""
    if kind is datetime:
        return datetime.fromisoformat
    if isinstance(kind, type) and issubclass(kind, Outbound):
        return _maker(kind)
    if get_origin(kind) is tuple:
        restore = _restorer(get_args(kind)[0])
        return tuple if restore is None else lambda parts: tuple([restore(part) for part in parts])
    models = [one for one in get_args(kind) if isinstance(one, type) and issubclass(one, Outbound)]
    if not models:
        return None
    makers = {next(iter(one.model_fields)): _maker(one) for one in models}  # the models of a union differ in their first field
    return lambda fields: makers[next(iter(fields))](fields)
