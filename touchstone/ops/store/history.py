"""Reads the history of results: lists of cases by filter and page, counts by value, and everything about one event."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

import orjson
from sqlalchemy import ColumnElement, Connection, Engine, Select, func, literal, or_, select

from touchstone.ops.store.case_filter import CaseFilter, FilterError
from touchstone.ops.store.case_query import HAS_CODES, Order, Scanned, matched, where
from touchstone.ops.store.case_rows import CaseHistory, CaseRow, FacetValue, Feedback, ListedCase, Page, Rating, Run, RunComparison, case_of
from touchstone.ops.store.cases import annotations_of, feedback_row
from touchstone.ops.store.engine import reading
from touchstone.ops.store.rows import from_micros, row_of, source_of
from touchstone.ops.store.runs import RUNS_MAX, compare_runs, list_runs
from touchstone.ops.store.schema import annotations, cases, codes, feedback, results

PAGE_MAX: Final = 200
#: Results that are counted exactly; of more, a list says "at least".
COUNTED_MAX: Final = 200_000
RESULTS_OF_CASE_MAX: Final = 200
FACET_VALUES_MAX: Final = 200
_DAY: Final = 86_400_000_000
_EVERYTHING: Final = CaseFilter()
_SHOWN: Final = (
    *("result_id", "event_id", "case_id", "kind", "suite", "suite_version", "config_digest", "label", "scores", "severity", "findings_total"),
    *("failures_total", "overall", "concern_id", "batch_id", "model", "scored_at", "source_topic", "source_topic_id", "source_partition", "source_offset"),
)
#: What results can be counted by. Codes and sources are in tables of their own.
FACETS: Final = ("code", "label", "suite", "model", "concern", "batch", "source", "day", "kind", "severity", "version")
_COLUMNS: Final[dict[str, ColumnElement[Any]]] = {
    "label": results.c.label,
    "suite": Scanned(results.c.suite),
    "model": results.c.model,
    "concern": results.c.concern_id,
    "batch": results.c.batch_id,
    "kind": results.c.kind,
    "severity": results.c.severity,
    "version": Scanned(results.c.suite_version),
    "day": results.c.scored_at // _DAY,
    "code": codes.c.code,
    "source": cases.c.source,
}


class History:
    """The history of results. Every method is one read transaction and blocks: an event loop calls it in a thread. Raises `StoreUnavailable`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def cases(self, wanted: CaseFilter = _EVERYTHING, limit: int = 50, cursor: str | None = None, *, count: bool = True) -> Page:
        """A page of the results that fit, in the filter's order. `count`: also count them all. Raises `FilterError` for a foreign cursor."""
        conditions = where(wanted)
        size = max(1, min(limit, PAGE_MAX))
        order = Order.of(wanted.sort)
        query = select(*(results.c[name] for name in _SHOWN), *order.shown).where(*conditions, *order.after(cursor)).order_by(*order.columns)
        with reading(self.engine) as connection:
            rows = connection.execute(query.limit(size + 1)).all()
            total = connection.execute(_counted(conditions)).scalar_one() if count else 0
            shown = _listed(connection, rows[:size], wanted.q)
        following = order.cursor(rows[size - 1]) if len(rows) > size else None
        return Page(shown, following, total if count and total <= COUNTED_MAX else None, min(total, COUNTED_MAX))

    def facets(self, wanted: CaseFilter = _EVERYTHING, by: str = "label", limit: int = FACET_VALUES_MAX) -> list[FacetValue]:
        """How many results have each value of a field, most frequent first; days in order. Of those that fit `wanted.beside(by)`, so that one can choose anew.

        Raises `FilterError` for another field.
        """
        if by not in FACETS:
            raise FilterError(f"by: must be one of {', '.join(FACETS)}")
        value = _COLUMNS[by]
        query = select(value.label("value"), results.c.label, func.count().label("cases"))
        if by == "code":
            query = query.join_from(results, codes, codes.c.result_id == Scanned(results.c.result_id)).where(HAS_CODES)
        elif by == "source":
            query = query.join_from(results, cases, cases.c.event_id == results.c.event_id, isouter=True)
        with reading(self.engine) as connection:
            found: dict[str, Counter[str]] = {}
            for row in connection.execute(query.where(*where(wanted.beside(by))).group_by(value, results.c.label).execution_options(yield_per=5_000)):
                found.setdefault(_shown(by, row.value), Counter())[row.label] += row.cases
        facets = [FacetValue(key, labels.total(), dict(labels)) for key, labels in found.items()]
        if by == "day":
            return sorted(facets, key=lambda facet: facet.value)[-limit:]
        return sorted(facets, key=lambda facet: (-facet.count, facet.value))[:limit]

    def count(self, wanted: CaseFilter = _EVERYTHING) -> int | None:
        """How many results fit; None above `COUNTED_MAX`."""
        with reading(self.engine) as connection:
            total: int = connection.execute(_counted(where(wanted))).scalar_one()
        return total if total <= COUNTED_MAX else None

    def case(self, identifier: str, scope: frozenset[str] | None = None) -> CaseHistory | None:
        """Everything about an event, by its id, its trace id or the id of one of its results. None if the reader may see nothing of it."""
        with reading(self.engine) as connection:
            events = _events_of(connection, identifier)
            for event_id in events[:1]:
                return _history(connection, event_id, tuple(events[1:]), scope)
        return None

    def events_of(self, identifiers: Iterable[str]) -> dict[str, list[str]]:
        """Ids → the events that each names, as `case` finds them, the newest first; none of an id that the store does not know."""
        with reading(self.engine) as connection:
            return {one: _events_of(connection, one) for one in sorted(set(identifiers))}

    def runs(self, wanted: CaseFilter = _EVERYTHING, limit: int = RUNS_MAX) -> list[Run]:
        """The runs with a result that fits, latest first: see `touchstone.ops.store.runs`."""
        return list_runs(self.engine, wanted, limit)

    def compare(
        self,
        before: str,
        now: str,
        *,
        changed: tuple[str, str] | None = None,
        scope: frozenset[str] | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> RunComparison | None:
        """Two runs side by side; `changed`: list only cases whose label changed so. None if one has no result that the reader may see."""
        return compare_runs(self.engine, before, now, changed=changed, scope=scope, limit=limit, cursor=cursor)


def _counted(conditions: Sequence[ColumnElement[bool]]) -> Select[Any]:
    """Counts the results that fit, up to one more than is counted exactly."""
    return select(func.count()).select_from(select(literal(1)).select_from(results).where(*conditions).limit(COUNTED_MAX + 1).subquery())


def _shown(by: str, value: Any) -> str:
    """A value as filters name it."""
    if value is None:
        return ""
    return from_micros(value * _DAY).date().isoformat() if by == "day" else str(value)


def _listed(connection: Connection, rows: Sequence[Any], text: str) -> tuple[ListedCase, ...]:
    """The rows of a page, with what other tables say of them."""
    event_ids = sorted({row.event_id for row in rows})
    ids = sorted({*event_ids, *(row.case_id for row in rows if row.kind == "trace")})
    kept: dict[str, CaseRow] = {row.event_id: case_of(row) for row in connection.execute(select(cases).where(cases.c.event_id.in_(event_ids)))}
    rated: dict[str, Rating] = {row.id: row.rating for row in connection.execute(select(feedback).where(feedback.c.id.in_(ids)))}
    by_event = select(annotations.c.event_id, func.count()).where(annotations.c.event_id.in_(event_ids)).group_by(annotations.c.event_id)
    annotated = dict(connection.execute(by_event).tuples().all())
    found: dict[str, list[str]] = {}
    of_results = select(codes).where(codes.c.result_id.in_([row.result_id for row in rows])).order_by(codes.c.code)
    for row in connection.execute(of_results):
        found.setdefault(row.result_id, []).append(row.code)
    return tuple(_case(row, found.get(row.result_id, ()), kept.get(row.event_id), rated, annotated, text) for row in rows)


def _case(row: Any, found: Sequence[str], kept: CaseRow | None, rated: dict[str, Rating], annotated: dict[str, int], text: str) -> ListedCase:
    plain = {name: getattr(row, name) for name in _SHOWN[:8] + _SHOWN[9:13] + ("model",)}
    return ListedCase(
        **plain,
        values=orjson.loads(row.scores),
        codes=tuple(found),
        concern_id=row.concern_id or "",
        batch_id=row.batch_id or "",
        at=from_micros(row.scored_at),
        place=source_of(row),
        kept=kept,
        feedback=rated.get(row.event_id) or (rated.get(row.case_id) if row.kind == "trace" else None),
        annotations_total=annotated.get(row.event_id, 0),
        matched=matched(text, row.event_id, row.case_id, found),
    )


def _events_of(connection: Connection, identifier: str) -> list[str]:
    """Ids of the events that an id names: an event; else the events of a trace, newest first; else the event of a result."""
    by_event = select(results.c.event_id).where(results.c.event_id == identifier).union(select(cases.c.event_id).where(cases.c.event_id == identifier))
    if connection.execute(by_event.limit(1)).first():
        return [identifier]
    of_trace = (results.c.kind == "trace", results.c.case_id == identifier)
    newest = func.max(results.c.scored_at)
    scored = select(results.c.event_id).where(*of_trace).group_by(results.c.event_id).order_by(newest.desc(), results.c.event_id).limit(RESULTS_OF_CASE_MAX)
    kept = select(cases.c.event_id).where(cases.c.trace_id == identifier).order_by(cases.c.at.desc(), cases.c.event_id).limit(RESULTS_OF_CASE_MAX)
    by_result = select(results.c.event_id).where(results.c.result_id == identifier)
    for queries in ((kept, scored), (by_result,)):
        if found := list(dict.fromkeys(name for query in queries for name in connection.execute(query).scalars())):
            return found
    return []


def _history(connection: Connection, event_id: str, others: tuple[str, ...], scope: frozenset[str] | None) -> CaseHistory | None:
    """What the store has of an event. None if the reader may see no suite of it, and no event without results either."""
    visible: Iterable[ColumnElement[bool]] = () if scope is None else (results.c.suite.in_(sorted(scope)),)
    of_event = (results.c.event_id == event_id, *visible)
    newest_first = (results.c.scored_at.desc(), results.c.result_id.desc())
    rows = connection.execute(select(results).where(*of_event).order_by(*newest_first).limit(RESULTS_OF_CASE_MAX)).all()
    if scope is not None and not rows:
        return None
    total = connection.execute(select(func.count()).select_from(results).where(*of_event)).scalar_one()
    archived = connection.execute(select(cases).where(cases.c.event_id == event_id)).one_or_none()
    traces = {row.case_id for row in rows if row.kind == "trace"} | ({archived.trace_id} if archived is not None else set())
    ids = [event_id, *sorted(traces - {"", event_id})]
    thumbs: list[Feedback] = [feedback_row(row) for row in connection.execute(select(feedback).where(or_(*(feedback.c.id == one for one in ids))))]
    newest = max(thumbs, key=lambda thumb: thumb.at, default=None)
    kept = case_of(archived) if archived is not None else None
    return CaseHistory(event_id, tuple(map(row_of, rows)), total, kept, annotations_of(connection, event_id), newest, others)
