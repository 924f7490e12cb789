"""Generated summaries in files: read, validated, each event once. What `touchstone loss score` reads, and what `produce` sends."""

import hashlib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from pydantic import ValidationError

from touchstone.ops.batch.batches import STANDARD_INPUT, BatchFile, BatchProblem, read_values
from touchstone.schemas.case import validate_case
from touchstone.schemas.reports.summary import LossError
from touchstone.schemas.summary import SummaryCase
from touchstone.streams.wire.codec import NAMESPACE, field_names, safe_path

KIND = "summary"
PROBLEMS_TOLD_MAX = 3
_FIELDS = frozenset(field_names(SummaryCase))
_EXPLAINED = {
    "missing": "is missing; add it",
    "string_type": "is no string",
    "string_too_short": "is empty; remove it or write what belongs there",
    "string_pattern_mismatch": "is blank or holds control characters; mend it",
    "string_too_long": "is too long",
    "too_short": "holds too few items; a gold has 10 to 20 key facts",
    "too_long": "holds too many items",
}


@dataclass(frozen=True, slots=True)
class SummaryEntry:
    """One valid case, with its place and its event id."""

    where: str
    event_id: str
    case: SummaryCase


def is_summary(record: Mapping[str, Any]) -> bool:
    """Whether a record is a summary: it says so, or says nothing and has the key that only summaries have."""
    kind = record.get("kind")
    return kind == KIND or (kind is None and record.keys() >= SummaryCase.signature)


def event_id_for(record: Mapping[str, Any]) -> str:
    """The event id of a summary: its own `id`, else UUIDv5 of its source, its model and its content.

    Timestamps and correlation do not count. So the same summary has the same id in a file and on a topic.
    """
    if record.get("id") is not None:
        return str(record["id"])
    content = [record.get(part) for part in ("datum", "gold_ref", "generated", "structured_output_requested")]
    digest = hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return str(uuid.uuid5(NAMESPACE, orjson.dumps([KIND, record.get("model"), digest]).decode()))


def completed(record: Mapping[str, Any]) -> dict[str, Any]:
    """A summary with its kind and its id."""
    return {**record, "kind": KIND, "id": event_id_for(record)}


@dataclass(slots=True)
class SummarySelection:
    """The summaries of some files: which ids were seen, what went wrong. `on_case`: called with the number of cases so far."""

    errors: list[LossError] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    on_case: Callable[[int], None] = lambda _: None
    _seen: set[str] = field(default_factory=set)

    def entries(self, files: Sequence[BatchFile]) -> Iterator[SummaryEntry]:
        """Valid cases in the order of the files, each event id once; every problem is noted in its place."""
        for _, where, value in read_values(files):
            if isinstance(value, BatchProblem):
                self.errors.append(LossError(where=where, what=value.what))
            elif not isinstance(value, dict):
                self.errors.append(LossError(where=where, what="is no case object; write {…}"))
            elif not is_summary(value):
                what = "is no summary; leave it out, or write kind `summary` and `generated`"
                self.errors.append(LossError(where=where, what=what))
            else:
                entry = self._entry(where, value)
                if entry is not None:
                    yield entry

    def _entry(self, where: str, record: dict[str, Any]) -> SummaryEntry | None:
        """One case; None where it is at fault or was seen before."""
        try:
            case = validate_case(SummaryCase, completed(record))
        except ValidationError as error:
            self.errors.append(LossError(where=where, what=explain(error)))
            return None
        except (TypeError, ValueError):  # orjson: an integer past 64 bits, text with half a surrogate pair
            self.errors.append(LossError(where=where, what="holds a number or text that JSON cannot carry; mend it"))
            return None
        event_id = case.id or ""
        if event_id in self._seen:
            self.repeated.append(where)
            return None
        self._seen.add(event_id)
        self.on_case(len(self._seen))
        return SummaryEntry(where, event_id, case)


def count_cases(files: Sequence[BatchFile]) -> int | None:
    """How many cases the files hold, for a bar; None where they can be read only once."""
    if any(file.path == STANDARD_INPUT or not file.path.is_file() for file in files):
        return None
    return sum(1 for _ in read_values(files))


def explain(error: ValidationError) -> str:
    """What is wrong with a case, as field paths and fixed texts; nothing of the case is quoted."""
    parts = []
    for item in error.errors(include_input=False, include_url=False, include_context=False)[:PROBLEMS_TOLD_MAX]:
        message = item["msg"]
        what = _EXPLAINED.get(item["type"]) or message[:1].lower() + message[1:]
        parts.append(f"{safe_path(item['loc'], _FIELDS)} {what}")
    rest = error.error_count() - len(parts)
    return "; ".join(parts) + (f"; and {rest} more" if rest > 0 else "")
