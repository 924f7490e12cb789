"""What people say of a trace inside the trace itself, in both forms: read from it, and written into a copy of it.

The specification's viewer writes one object (`quality_rating`, `annotated_at`, no reviewer); production traces have an array (`reviewerId`, `qualityRating`).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from json import JSONDecoder
from typing import Any, Final

import orjson
from pydantic import ValidationError

from touchstone.ops.store.annotation_log import Added, add_records, is_there
from touchstone.ops.store.case_rows import Rating
from touchstone.ops.store.cases import CaseIndex
from touchstone.schemas.annotation import AnnotationRecord
from touchstone.schemas.faults import explain

#: Who has annotated a trace that does not say so: the specification's viewer has no names.
NOBODY: Final = "viewer"
#: What is before the name of an object's member, and between it and its value.
_NAME, _COLON = re.compile(r'[\s,]*"'), re.compile(r"\s*:\s*")


def said_in(trace: Mapping[str, Any]) -> tuple[list[AnnotationRecord], list[str]]:
    """The annotations of a trace, and a line for each that cannot be read. One without a word says nothing and is left out."""
    given = trace.get("annotations")
    records: list[AnnotationRecord] = []
    faults: list[str] = []
    for number, one in enumerate(given if isinstance(given, list) else [given] if given else []):
        read = _read(one, trace)
        if isinstance(read, str):
            faults.append(f"annotations[{number}]: {read}")
        elif any(value not in (None, []) for value in read.content().values()):
            records.append(read)
    return records, faults


def _read(one: Any, trace: Mapping[str, Any]) -> AnnotationRecord | str:
    """An annotation of a trace, or what is wrong with it."""
    if not isinstance(one, Mapping):
        return "is no object"
    named = {} if one.get("reviewerId") or one.get("reviewer") else {"reviewer": NOBODY}
    said = {name: value for name, value in one.items() if value is not None}
    try:
        return AnnotationRecord.model_validate({"traceId": trace.get("traceId"), **said, **named})
    except ValidationError as error:
        return explain(error, AnnotationRecord)


def thumb_in(trace: Mapping[str, Any]) -> tuple[Rating, datetime | None] | None:
    """The thumb that a trace came with, and its time; None if there is none that can be read."""
    given = trace.get("feedback")
    rating, at = (given.get("rating"), given.get("timestamp")) if isinstance(given, Mapping) else (given, None)
    return (rating, _moment(at)) if rating in {"up", "down"} else None


def keep_comments(
    index: CaseIndex, trace: Mapping[str, Any], now: datetime, may: Callable[[str], bool] = lambda _: True, *, trusts: bool = True
) -> tuple[Added, list[str]]:
    """Write what a trace came with into the store, where it is not there yet; and a line for each annotation that cannot be read.

    A later thumb in the store stays. `may`: under which reviewers' names may be written. `trusts`: also what is said of queues, and what settles a case.
    """
    said, faults = said_in(trace)
    set_by_queues = {} if trusts else {"queue": None, "arm": None, "settled": None}
    records = [one.model_copy(update=set_by_queues) for one in said if may(one.reviewer)]
    name, found = str(trace.get("traceId")), thumb_in(trace)
    if found is not None:
        rating, at = found
        known = index.feedback([name]).get(name)
        if known is None or (at is not None and known.at < at):
            index.rate(name, rating, at or now)
    return add_records(index.engine, records, now) if records else Added(0, 0, 0, ()), faults


def production_form(one: AnnotationRecord) -> dict[str, Any]:
    """A record as an entry of a production trace's `annotations`."""
    record = one.record()
    quality = {"qualityRating": record.pop("qualityRating", None), "commonIssues": record.pop("commonIssues", None)}
    at = record.pop("timestamp")
    return {"reviewerId": record.pop("reviewer"), **quality, "notes": record.pop("notes"), "annotatedAt": at} | {
        name: value for name, value in record.items() if name != "traceId" and value is not None
    }


def with_comments(document: bytes, said: Sequence[Mapping[str, Any]], log: Iterable[AnnotationRecord], feedback: Mapping[str, Any] | None) -> bytes:
    """A trace with what people say of it; everything else as it was written.

    `said`: entries to write. `log`: all that the store has of the case: an annotation that the trace came with is not repeated if it is among them.
    """
    whole: dict[str, Any] = dict(members(document.decode()))
    trace = orjson.loads(document)
    given, written = trace.get("annotations"), list(log)
    own = [one for one in (given if isinstance(given, list) else [given] if given else []) if not _is_in(one, trace, written)]
    whole["annotations"] = [*own, *said]
    if feedback is not None:
        whole["feedback"] = feedback
    return orjson.dumps(whole)


def _is_in(one: Any, trace: Mapping[str, Any], log: Iterable[AnnotationRecord]) -> bool:
    read = _read(one, trace)
    return not isinstance(read, str) and is_there(read, log)


def _moment(given: Any) -> datetime | None:
    try:
        read = datetime.fromisoformat(given)
        return read.astimezone(UTC) if read.tzinfo is not None else read.replace(tzinfo=UTC)
    except (ValueError, TypeError, OverflowError):
        return None


def members(text: str) -> Iterator[tuple[str, orjson.Fragment]]:
    """The members of a JSON object, their values as they are written: reading and writing would change large and precise numbers."""
    decoder = JSONDecoder(parse_int=str, parse_float=str)
    at = text.index("{") + 1
    while match := _NAME.match(text, at):
        name, at = decoder.raw_decode(text, match.end() - 1)
        start = _COLON.match(text, at).end()  # type: ignore[union-attr]  # the archive keeps only JSON
        _, at = decoder.raw_decode(text, start)
        yield name, orjson.Fragment(text[start:at])
