"""The store's annotations as records, and records that are added to it, each once however often it is given."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

import orjson
from sqlalchemy import Engine

from touchstone.ops.store.case_rows import Annotation
from touchstone.ops.store.cases import CaseIndex, Conflict
from touchstone.ops.store.history import History
from touchstone.schemas.annotation import AnnotationRecord
from touchstone.scorers.base import ConfigError

#: How often records are looked for and written where others write the same cases.
ATTEMPTS: Final = 10
#: A second record that was written at the same time follows the first, so that they are read in the order of their file.
_STEP: Final = timedelta(microseconds=1)
#: What two records of one case have in common if they are the same: reviewer, pass, time, and all that is said.
_Key = tuple[str, int, datetime, bytes]


class Added(NamedTuple):
    """What became of records. `older`: than what their reviewer says in the store, which counts. `unknown`: ids of traces that the store does not have."""

    added: int
    known: int
    older: int
    unknown: tuple[str, ...]


def record_of(row: Annotation) -> AnnotationRecord:
    """A row of the store as a record. Its case is named by its trace, or by its event if it is of none. Raises `ValidationError`."""
    said = {name: value for name, value in row.body.items() if value is not None}
    # The page and the API store the time that the reviewer gave; a record takes one name for it.
    at = said.pop("annotatedAt", row.at.isoformat())
    return AnnotationRecord.model_validate(
        {"traceId": row.trace_id or row.event_id, "reviewer": row.reviewer, "timestamp": at, "reviewPass": row.review_pass, **said}
    )


def add_records(engine: Engine, records: Sequence[AnnotationRecord], now: datetime) -> Added:
    """Add those that the store does not have, all in one transaction. A record of an earlier time than its reviewer's newest one in the store is left out.

    Raises `ConfigError` where others write the same cases all the time.
    """
    for _ in range(ATTEMPTS):
        # Another import may have added the same records since they were looked for.
        with suppress(Conflict):
            return _added(engine, records, now)
    raise ConfigError("others write annotations of the same cases all the time; nothing was added: try again")


def _added(engine: Engine, records: Sequence[AnnotationRecord], now: datetime) -> Added:
    """Look, and write for what was seen. Raises `Conflict` if it is another by then."""
    history, index = History(engine), CaseIndex(engine)
    events = history.events_of({one.trace_id for one in records})
    given: dict[str, list[AnnotationRecord]] = {}
    for one in records:
        given.setdefault(one.trace_id, []).append(one)
    entries: list[tuple[AnnotationRecord, str]] = []
    seen: dict[str, int] = {}
    known = older = 0
    for trace_id, own in given.items():
        if not events[trace_id]:
            continue
        # A trace may have several events. What is said of it is written at the newest, and may stand at an older one already.
        rows = {event_id: index.annotations(event_id) for event_id in events[trace_id]}
        seen |= {event_id: said[-1].revision if said else 0 for event_id, said in rows.items()}
        there = [record_of(row) for said in rows.values() for row in said]
        keys, newest = {_key(one) for one in there}, _newest(there)
        for one in own:
            if _key(one) in keys:
                known += 1
            elif one.at < newest.get((one.reviewer, one.suite, one.review_pass), one.at):
                older += 1
            else:
                keys.add(_key(one))
                entries.append((one, events[trace_id][0]))
    order = {id(one): place for place, one in enumerate(records)}
    entries.sort(key=lambda entry: order[id(entry[0])])
    index.annotate_many(
        (
            (event_id, "" if one.trace_id == event_id else one.trace_id, one.reviewer, one.review_pass, now + place * _STEP, _body(one))
            for place, (one, event_id) in enumerate(entries)
        ),
        seen=seen,
    )
    return Added(len(entries), known, older, tuple(trace_id for trace_id in given if not events[trace_id]))


def is_there(one: AnnotationRecord, records: Iterable[AnnotationRecord]) -> bool:
    """True if the same was said among these records of the same case."""
    return _key(one) in {_key(other) for other in records}


def _newest(records: Iterable[AnnotationRecord]) -> dict[tuple[str, str | None, int], datetime]:
    found: dict[tuple[str, str | None, int], datetime] = {}
    for one in records:
        key = (one.reviewer, one.suite, one.review_pass)
        found[key] = max(one.at, found.get(key, one.at))
    return found


def _key(one: AnnotationRecord) -> _Key:
    return one.reviewer, one.review_pass, one.at, orjson.dumps(one.content(), option=orjson.OPT_SORT_KEYS)


def _body(one: AnnotationRecord) -> dict[str, object]:
    return one.content() | {"annotatedAt": one.at.astimezone(UTC).isoformat().replace("+00:00", "Z")}
