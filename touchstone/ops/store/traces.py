"""Lists the traces that the archive holds, those without a result among them."""

import base64
import binascii
from typing import Any, Final

import orjson
from sqlalchemy import Engine, exists, literal, select, tuple_

from touchstone.ops.store.case_filter import FilterError
from touchstone.ops.store.case_rows import CaseRow, case_of
from touchstone.ops.store.engine import reading
from touchstone.ops.store.schema import cases, results

_CURSOR_CHARS_MAX: Final = 2_048
_MICROS_MAX: Final = 2**62


def list_traces(engine: Engine, limit: int, cursor: str | None, scope: frozenset[str] | None) -> tuple[list[CaseRow], str | None]:
    """A page of kept traces, newest first, and the cursor of the next one. `scope`: only those that one of these suites has scored. Raises `FilterError`."""
    query = select(cases).where(cases.c.state == "kept", cases.c.kind == "trace")
    if scope is not None:
        query = query.where(exists().where(results.c.event_id == cases.c.event_id, results.c.suite.in_(sorted(scope))))
    if cursor:
        query = query.where(tuple_(cases.c.at, cases.c.event_id) < tuple_(*(literal(part) for part in _place(cursor))))
    with reading(engine) as connection:
        rows: list[Any] = list(connection.execute(query.order_by(cases.c.at.desc(), cases.c.event_id.desc()).limit(limit + 1)))
    last = rows[limit - 1] if len(rows) > limit else None
    return [case_of(row) for row in rows[:limit]], None if last is None else _cursor(last.at, last.event_id)


def _cursor(at: int, event_id: str) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([at, event_id])).rstrip(b"=").decode()


def _place(cursor: str) -> tuple[int, str]:
    try:
        if len(cursor) > _CURSOR_CHARS_MAX:
            raise ValueError
        at, event_id = orjson.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
        if type(at) is not int or abs(at) > _MICROS_MAX or not isinstance(event_id, str) or "\0" in event_id:
            raise ValueError
    except (binascii.Error, ValueError, TypeError, UnicodeError):
        raise FilterError("cursor: no list of traces gave it; begin without one") from None
    return at, event_id
