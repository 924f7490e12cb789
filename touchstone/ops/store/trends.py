"""A suite's stored results over time: its last batches, or spans of time, one point each.

Results are read one at a time. Memory: eight bytes for each listed value of one batch, or of all spans, as for the report itself.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from sqlalchemy import Connection, Select, func, select

from touchstone.ops.store.engine import reading, translated
from touchstone.ops.store.reports import Chosen, conditions
from touchstone.ops.store.results import ResultStore
from touchstone.ops.store.rows import from_micros
from touchstone.ops.store.schema import results
from touchstone.schemas.reports.changes import Trend, TrendPoint, TrendValue
from touchstone.scorers.reporting.intervals import Rate, mean_intervals
from touchstone.scorers.reporting.view import Column
from touchstone.scorers.suite import Suite
from touchstone.streams.account.projection import BatchKey

#: Most batches of a trend, and most cases of all of them together; with larger batches it shows fewer.
BATCHES_MAX: Final = 20
CASES_MAX: Final = 1_000_000
#: Spans of a trend: at most so many, and no trend of fewer than the least.
SPANS_MAX, SPANS_MIN = 40, 5
_MINUTE: Final = 60_000_000
_DAY: Final = 24 * 60 * _MINUTE
_UNITS: Final = (("minute", _MINUTE), ("hour", 60 * _MINUTE), ("day", _DAY), ("week", 7 * _DAY))
#: Lengths of a span, of a unit each. Beyond a week: powers of two of it.
_STEPS: Final = {"minute": (1, 2, 5, 10, 15, 30), "hour": (1, 2, 3, 6, 12), "day": (1, 2), "week": tuple(2**power for power in range(16))}
_ROWS_PER_FETCH: Final = 5_000


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch, when its first case was scored (microseconds since the epoch), and how many cases it has."""

    key: BatchKey
    begun: int
    cases: int


@dataclass(slots=True)
class _Tally:
    """The cases of one point."""

    cases: int = 0
    scored: int = 0
    passed: int = 0
    values: dict[str, array[float]] = field(default_factory=dict)

    def add(self, label: str, scores: str) -> None:
        """Count one case. `scores`: its values as JSON."""
        self.cases += 1
        self.scored += label != "unscored"
        self.passed += label == "Pass"
        for name, value in orjson.loads(scores).items():
            self.values.setdefault(name, array("d")).append(value)


def trend_of(store: ResultStore, suite: Suite, chosen: Chosen) -> Trend | None:
    """The suite's results over time: the last batches of the concern, if there are several; else the chosen results in spans of time.

    None if there are too few points. Batches of other versions and configurations are points too, and say so.
    """
    with reading(store.engine) as connection, translated():
        batches = _batches(connection, chosen.suite, concern) if (concern := _concern(connection, chosen)) is not None else []
        if len(batches) > 1:
            return _by_batch(connection, suite, batches)
        return _by_time(connection, suite, chosen)


def _concern(connection: Connection, chosen: Chosen) -> str | None:
    """The one concern of the report; None if it has several, or none."""
    if chosen.keys is not None:
        return chosen.concern_id
    query = select(results.c.concern_id).where(results.c.suite == chosen.suite).distinct().limit(2)
    found = [row.concern_id for row in connection.execute(query)]
    return found[0] if len(found) == 1 else None


def _batches(connection: Connection, suite: str, concern: str) -> list[_Batch]:
    """Every stored batch of the concern, in the order in which they begin."""
    columns = [results.c[name] for name in BatchKey._fields]
    query = select(*columns, func.min(results.c.scored_at), func.count()).group_by(*columns)
    query = query.where(results.c.suite == suite, results.c.concern_id == concern, results.c.report_id.is_not(None))
    found = [_Batch(BatchKey(*row[:-2]), row[-2], row[-1]) for row in connection.execute(query)]
    return sorted(found, key=lambda batch: (batch.begun, batch.key))


def _by_batch(connection: Connection, suite: Suite, batches: Sequence[_Batch]) -> Trend:
    """The last batches, a point each."""
    shown: list[_Batch] = []
    cases = 0
    for batch in reversed(batches[-BATCHES_MAX:]):
        cases += batch.cases
        if len(shown) > 1 and cases > CASES_MAX:
            break
        shown.insert(0, batch)
    listed: dict[str, Column] = {}
    points: list[TrendPoint] = []
    for batch in shown:
        tally = _Tally()
        for row in _rows(connection, select(results.c.label, results.c.scores).where(results.c.report_id == batch.key.report_id)):
            tally.add(row.label, row.scores)
        columns = _columns(suite, tally.values)
        listed |= {column.value: column for column in columns}
        way = batch.key.suite_version, batch.key.config_digest
        is_changed = bool(points) and (points[-1].suite_version, points[-1].config_digest) != way
        points.append(_point(batch.key.batch_id, batch.begun, tally, columns, way, changed=is_changed))
    return _trend("batch", listed.values(), points, len(batches) - len(shown))


def _by_time(connection: Connection, suite: Suite, chosen: Chosen) -> Trend | None:
    """The chosen results in spans of equal length; those without a result are no points."""
    first, last = connection.execute(select(func.min(results.c.scored_at), func.max(results.c.scored_at)).where(*conditions(chosen))).one()
    if first is None:
        return None
    by, step, offset = span_between(first, last)
    if (last - offset) // step - (first - offset) // step + 1 < SPANS_MIN:
        return None
    tallies: dict[int, _Tally] = {}
    for row in _rows(connection, select(results.c.label, results.c.scores, results.c.scored_at).where(*conditions(chosen))):
        tallies.setdefault((row.scored_at - offset) // step, _Tally()).add(row.label, row.scores)
    columns = _columns(suite, {name for tally in tallies.values() for name in tally.values})
    form = "%Y-%m-%d" if step >= _DAY else "%Y-%m-%d %H:%M"
    way = chosen.suite_version, chosen.config_digest
    begun = {place: place * step + offset for place in sorted(tallies)}
    points = [_point(from_micros(micros).strftime(form), micros, tallies[place], columns, way) for place, micros in begun.items()]
    return _trend(by, columns, points) if len(points) > 1 else None


def span_between(first: int, last: int) -> tuple[str, int, int]:
    """The shortest span of which no more than `SPANS_MAX` hold both moments: its name, its length, and where one begins (weeks on Mondays)."""
    for unit, micros in _UNITS:
        offset = 4 * _DAY if unit == "week" else 0
        for times in _STEPS[unit]:
            step = times * micros
            if (last - offset) // step - (first - offset) // step < SPANS_MAX:
                return (unit if times == 1 else f"{times} {unit}s"), step, offset
    raise AssertionError("the longest span is longer than the calendar")


def _rows(connection: Connection, query: Select[Any]) -> Iterable[Any]:
    """The rows, some thousand at a time."""
    return connection.execute(query.execution_options(yield_per=_ROWS_PER_FETCH))


def _columns(suite: Suite, names: Iterable[str]) -> Sequence[Column]:
    """The values that reports of the suite list."""
    found = set(names)
    ordered = [name for name in suite.metrics if name in found] + sorted(found - set(suite.metrics))
    return suite.shown_columns(dict.fromkeys(ordered, 0.0))


def _point(name: str, begun: int, tally: _Tally, columns: Sequence[Column], way: tuple[str, str], *, changed: bool = False) -> TrendPoint:
    rate = Rate(tally.passed, tally.scored)
    values = {column.value: tally.values[column.value] for column in columns if column.value in tally.values}
    return TrendPoint(
        name=name,
        begun=from_micros(begun),
        cases=tally.cases,
        scored=tally.scored,
        passed=tally.passed,
        pass_rate=rate.share if rate.total else None,
        pass_rate_interval=rate.interval,
        means={name: math.fsum(numbers) / len(numbers) for name, numbers in values.items()},
        intervals=mean_intervals(values),
        suite_version=way[0],
        config_digest=way[1],
        changed=changed,
    )


def _trend(by: str, columns: Iterable[Column], points: Sequence[TrendPoint], left_out: int = 0) -> Trend:
    """The trend, with the values that its points have."""
    held = {name for point in points for name in point.means}
    values = [TrendValue(name=one.value, heading=one.heading, places=one.places, better=one.better) for one in columns if one.value in held]
    return Trend(by=by, values=tuple(values), points=tuple(points), left_out=left_out)
