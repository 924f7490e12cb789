"""A filter as SQL, and cursors: places in a list that stay valid while rows are added."""

import base64
import binascii
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from sqlalchemy import ColumnElement, Float, String, and_, case, exists, false, func, literal, or_, select, tuple_
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from touchstone.ops.store.case_filter import CaseFilter, FilterError, Sort, read_bound
from touchstone.ops.store.rows import to_micros
from touchstone.ops.store.schema import cases, codes, feedback, results

_CURSOR_CHARS_MAX: Final = 2_048


class Scanned(FunctionElement[str]):
    """A column that SQLite does not use an index for.

    It knows nothing of the data. For one suite of two it would look up half of the table row by row, and sort it, where a scan in order ends with the page.
    """

    type = String()
    name = "scanned"
    inherit_cache = True


@compiles(Scanned, "sqlite")
def _scanned_in_sqlite(element: Scanned, compiler: Any, **told: Any) -> str:
    return f"+{compiler.process(next(iter(element.clauses)), **told)}"


@compiles(Scanned)
def _scanned(element: Scanned, compiler: Any, **told: Any) -> str:
    return str(compiler.process(next(iter(element.clauses)), **told))


#: The column of a row that holds its place in an order.
_KEY: Final = "order_key"
_FIELDS: Final = {
    "suite": Scanned(results.c.suite),
    "label": results.c.label,
    "concern": results.c.concern_id,
    "batch": results.c.batch_id,
    "model": results.c.model,
    "kind": results.c.kind,
    "severity": results.c.severity,
}
_SIGNS: Final = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
#: Names of their own, because a query may count by a column of the same table.
_of, _its = codes.alias("of_result"), cases.alias("of_event")
#: A result without findings and failures has no codes: most need not be looked up.
HAS_CODES: Final = results.c.findings_total + results.c.failures_total > 0
#: The worst label is the least.
LABEL_RANKS: Final = {"Fail": 0, "unscored": 1, "Review": 2, "Warn": 3, "Pass": 4}
_PLACE: Final = (results.c.scored_at, results.c.result_id)


def where(wanted: CaseFilter) -> list[ColumnElement[bool]]:
    """The conditions of a filter on the table of results."""
    found: list[ColumnElement[bool]] = []
    if wanted.scope is not None:
        found.append(Scanned(results.c.suite).in_(sorted(wanted.scope)) if wanted.scope else false())
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
    found += [exists().where(_of.c.result_id == results.c.result_id, _of.c.code == code) for code in wanted.code]
    found += [_bound(*read_bound(one)) for one in wanted.value]
    found += _of_archive(wanted)
    if wanted.q:
        found.append(_holds(wanted.q))
    return found


def _any_of(column: ColumnElement[Any], values: Sequence[str]) -> ColumnElement[bool]:
    return column == values[0] if len(values) == 1 else column.in_(values)


class _Lowered(FunctionElement[str]):
    """A text with the letters of ASCII in lower case, for `LIKE`; a database's own rules for all other letters cost several times as much."""

    type = String()
    name = "lowered"
    inherit_cache = True


@compiles(_Lowered, "sqlite")
def _lowered_in_sqlite(element: _Lowered, compiler: Any, **told: Any) -> str:
    return str(compiler.process(next(iter(element.clauses)), **told))  # its LIKE takes these letters for equal


@compiles(_Lowered, "postgresql")
def _lowered_in_postgresql(element: _Lowered, compiler: Any, **told: Any) -> str:
    return f'lower({compiler.process(next(iter(element.clauses)), **told)} COLLATE "C")'


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
    of_event = exists().where(_its.c.event_id == results.c.event_id)
    found: list[ColumnElement[bool]] = []
    if wanted.source:
        found.append(of_event.where(_any_of(_its.c.source, wanted.source)))
    if wanted.kept:
        is_kept = of_event.where(_its.c.state == "kept")
        found.append(is_kept if wanted.kept == "yes" else ~is_kept)
    if wanted.feedback:
        rated = select(feedback.c.id) if wanted.feedback == "none" else select(feedback.c.id).where(feedback.c.rating == wanted.feedback)
        is_rated = or_(results.c.event_id.in_(rated), and_(results.c.kind == "trace", results.c.case_id.in_(rated)))
        found.append(~is_rated if wanted.feedback == "none" else is_rated)
    return found


def _holds(text: str) -> ColumnElement[bool]:
    """True if an id or a code holds the text."""
    part = "".join(char.lower() if char.isascii() else char for char in text)
    event, case_, code = (_Lowered(column).contains(part, autoescape=True) for column in (results.c.event_id, results.c.case_id, codes.c.code))
    of_code = and_(HAS_CODES, results.c.result_id.in_(select(codes.c.result_id).where(code)))
    return or_(event, case_, Scanned(results.c.result_id) == text, of_code)


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


@dataclass(frozen=True, slots=True)
class Order:
    """The order of a list: by one expression (None: by time alone), then newest first, then by result id, which makes it complete.

    The expression is never NULL, which has no place in a comparison. `type`: of its values.
    """

    name: str
    key: ColumnElement[Any] | None = None
    type: type = int

    @classmethod
    def of(cls, sort: Sort) -> "Order":
        """The order of a filter."""
        by, is_descending = sort.removeprefix("-"), sort.startswith("-")
        if by == "overall":  # what nobody has valued is last, whichever way
            return cls(sort, func.coalesce(results.c.overall, -1.0 if is_descending else 2.0), float)
        if by == "label":
            return cls(sort, case(LABEL_RANKS, value=results.c.label, else_=LABEL_RANKS["Review"]))
        return cls(sort, results.c.findings_total if by == "findings" else None)

    @property
    def columns(self) -> list[ColumnElement[Any]]:
        """What to order by."""
        if self.key is None:
            return [column.asc() if self.name == "time" else column.desc() for column in _PLACE]
        return [self.key.desc() if self.name.startswith("-") else self.key.asc(), *(column.desc() for column in _PLACE)]

    @property
    def shown(self) -> list[ColumnElement[Any]]:
        """What a query selects, so that its rows have a cursor."""
        return [] if self.key is None else [self.key.label(_KEY)]

    def after(self, cursor: str | None) -> list[ColumnElement[bool]]:
        """The condition of a further page. Raises `FilterError` for a cursor that no list of this order gave."""
        if not cursor:
            return []
        *own, at, result_id = read_key(cursor, self.name, (*([] if self.key is None else [self.type]), int, str))
        place, mark = tuple_(*_PLACE), tuple_(literal(at), literal(result_id))
        if self.key is None:
            return [place > mark if self.name == "time" else place < mark]
        is_further = self.key < own[0] if self.name.startswith("-") else self.key > own[0]
        return [or_(is_further, and_(self.key == own[0], place < mark))]

    def cursor(self, row: Any) -> str:
        """The cursor after a row."""
        return written_key(self.name, [*([] if self.key is None else [getattr(row, _KEY)]), row.scored_at, row.result_id])


def written_key(made_for: str, key: Sequence[float | str]) -> str:
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


def _fits(part: float | str) -> bool:
    """True if a column can be compared with it."""
    return "\0" not in part if isinstance(part, str) else abs(part) < 2**63
