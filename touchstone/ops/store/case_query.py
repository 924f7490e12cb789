"""A filter as SQL, and cursors: places in a list that stay valid while rows are added."""

import base64
import binascii
import operator
from collections.abc import Sequence
from typing import Any, Final

import orjson
from sqlalchemy import ColumnElement, Float, and_, exists, false, func, literal, or_, select, tuple_
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from touchstone.ops.store.case_filter import CaseFilter, FilterError, read_bound
from touchstone.ops.store.rows import to_micros
from touchstone.ops.store.schema import cases, codes, feedback, results

_CURSOR_CHARS_MAX: Final = 2_048
_FIELDS: Final = {
    "suite": results.c.suite,
    "label": results.c.label,
    "concern": results.c.concern_id,
    "batch": results.c.batch_id,
    "model": results.c.model,
    "kind": results.c.kind,
    "severity": results.c.severity,
}
_SIGNS: Final = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
#: Sort → its columns. The result id makes the order complete.
ORDERS: Final[dict[str, tuple[ColumnElement[Any], ...]]] = {
    "newest": (results.c.scored_at, results.c.result_id),
    "oldest": (results.c.scored_at, results.c.result_id),
    "findings": (results.c.findings_total, results.c.scored_at, results.c.result_id),
}


def where(wanted: CaseFilter) -> list[ColumnElement[bool]]:
    """The conditions of a filter on the table of results."""
    found: list[ColumnElement[bool]] = []
    if wanted.scope is not None:
        found.append(results.c.suite.in_(sorted(wanted.scope)) if wanted.scope else false())
    for name, column in _FIELDS.items():
        if values := getattr(wanted, name):
            found.append(_any_of(column, values))
    if wanted.version:
        found.append(results.c.suite_version == wanted.version)
    if wanted.digest:
        found.append(results.c.config_digest == wanted.digest)
    if wanted.since:
        found.append(results.c.scored_at >= to_micros(wanted.since))
    if wanted.until:
        found.append(results.c.scored_at < to_micros(wanted.until))
    # A code by code, because a result has all of them: both must be there.
    found += [exists().where(codes.c.result_id == results.c.result_id, codes.c.code == code) for code in wanted.code]
    found += [_bound(*read_bound(one)) for one in wanted.value]
    found += _of_archive(wanted)
    if wanted.q:
        found.append(_holds(wanted.q))
    return found


def _any_of(column: ColumnElement[Any], values: Sequence[str]) -> ColumnElement[bool]:
    return column == values[0] if len(values) == 1 else column.in_(values)


class _Value(FunctionElement[float]):
    """A number of a JSON object in a text column; null if it has none of this name."""

    type = Float()
    name = "value_of"
    inherit_cache = True


@compiles(_Value, "sqlite")
def _value_in_sqlite(element: _Value, compiler: Any, **told: Any) -> str:
    column, name = element.clauses
    return str(compiler.process(func.json_extract(column, literal('$."').concat(name).concat('"')), **told))


@compiles(_Value, "postgresql")
def _value_in_postgresql(element: _Value, compiler: Any, **told: Any) -> str:
    column, name = element.clauses
    return f"CAST(CAST({compiler.process(column, **told)} AS jsonb) ->> {compiler.process(name, **told)} AS double precision)"


def _bound(name: str, sign: str, number: float) -> ColumnElement[bool]:
    """The condition that a result has a value, within a bound if there is a sign."""
    value = _Value(results.c.scores, literal(name))
    return value.is_not(None) if not sign else _SIGNS[sign](value, number)


def _of_archive(wanted: CaseFilter) -> list[ColumnElement[bool]]:
    """Conditions on what the archive and the applications say of an event."""
    of_event = exists().where(cases.c.event_id == results.c.event_id)
    found: list[ColumnElement[bool]] = []
    if wanted.source:
        found.append(of_event.where(_any_of(cases.c.source, wanted.source)))
    if wanted.kept:
        is_kept = of_event.where(cases.c.state == "kept")
        found.append(is_kept if wanted.kept == "yes" else ~is_kept)
    if wanted.feedback:
        rated = select(feedback.c.id) if wanted.feedback == "none" else select(feedback.c.id).where(feedback.c.rating == wanted.feedback)
        is_rated = or_(results.c.event_id.in_(rated), and_(results.c.kind == "trace", results.c.case_id.in_(rated)))
        found.append(~is_rated if wanted.feedback == "none" else is_rated)
    return found


def _holds(text: str) -> ColumnElement[bool]:
    """True if an id or a code holds the text."""
    of_code = select(codes.c.result_id).where(codes.c.code.icontains(text, autoescape=True))
    return or_(
        results.c.event_id.icontains(text, autoescape=True),
        results.c.case_id.icontains(text, autoescape=True),
        results.c.result_id == text,
        results.c.result_id.in_(of_code),
    )


def matched(text: str, event_id: str, case_id: str, found: Sequence[str]) -> str:
    """Which of a result's ids and codes holds the text: `event_id`, `case_id`, `code` or `result_id`."""
    wanted = text.lower()
    if not wanted:
        return ""
    if wanted in event_id.lower():
        return "event_id"
    if wanted in case_id.lower():
        return "case_id"
    return "code" if any(wanted in code.lower() for code in found) else "result_id"


def ordered(sort: str) -> list[ColumnElement[Any]]:
    """The order of a list."""
    return [column.asc() if sort == "oldest" else column.desc() for column in ORDERS[sort]]


def after(sort: str, cursor: str | None) -> list[ColumnElement[bool]]:
    """The condition of a further page. Raises `FilterError` for a cursor that no list of this order gave."""
    if not cursor:
        return []
    key = read_key(cursor, sort, (*(int for _ in ORDERS[sort][1:]), str))
    place, marks = tuple_(*ORDERS[sort]), tuple_(*(literal(part) for part in key))
    return [place > marks if sort == "oldest" else place < marks]


def cursor_of(sort: str, row: Any) -> str:
    """The cursor after a row."""
    return written_key(sort, [getattr(row, column.key or "") for column in ORDERS[sort]])


def written_key(made_for: str, key: Sequence[int | str]) -> str:
    """A cursor for a list in one order."""
    return base64.urlsafe_b64encode(orjson.dumps([made_for, *key])).rstrip(b"=").decode()


def read_key(cursor: str, made_for: str, types: Sequence[type]) -> list[Any]:
    """The columns that a cursor holds. Raises `FilterError` if it was made for another list."""
    key: list[Any]
    try:
        if len(cursor) > _CURSOR_CHARS_MAX:
            raise ValueError
        order, *key = orjson.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
        if order != made_for or [type(part) for part in key] != list(types) or not all(map(_fits, key)):
            raise ValueError
    except (binascii.Error, ValueError, TypeError, UnicodeError):
        raise FilterError("cursor: no list in this order gave it; begin without one") from None
    return key


def _fits(part: int | str) -> bool:
    """True if a column can be compared with it."""
    return "\0" not in part if isinstance(part, str) else abs(part) < 2**63
