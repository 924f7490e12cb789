"""Runs in the history, and two of them side by side: which labels changed, how far the values moved.

A run is what one version and configuration of a suite scored: of one batch, or of all of them. Its name in an address is made of exactly these, so it can be
read and needs no table: `SUITE:VERSION:DIGEST` or `SUITE:VERSION:DIGEST:CONCERN:BATCH`, each percent-encoded.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, unquote

import orjson
from sqlalchemy import ColumnElement, Connection, Engine, FromClause, Select, func, select

from touchstone.ops.store.case_filter import CaseFilter, FilterError
from touchstone.ops.store.case_query import HAS_CODES, Scanned, read_key, where, written_key
from touchstone.ops.store.case_rows import ChangedCase, CodeShift, Run, RunComparison, ValueShift
from touchstone.ops.store.engine import reading
from touchstone.ops.store.rows import from_micros
from touchstone.ops.store.schema import codes, results
from touchstone.scorers.reporting.intervals import mean_interval

RUNS_MAX: Final = 500
CHANGED_MAX: Final = 200
CODES_MAX: Final = 50
_WHOLE, _BATCH = 3, 5
_NAMES: Final = ("suite", "suite_version", "config_digest", "concern_id", "batch_id")
_CURSOR: Final = "changed"
#: Name → its numbers before and now, pair by pair: 16 bytes a pair.
_Values = dict[str, tuple["array[float]", "array[float]"]]


def run_name(*parts: str) -> str:
    """The name of a run: suite, version and digest, and for a batch its concern and name."""
    return ":".join(quote(part, safe="") for part in parts)


def parse_run(name: str) -> tuple[str, ...]:
    """The parts of a run's name. Raises `FilterError`."""
    parts = tuple(unquote(part) for part in name.split(":"))
    if len(parts) not in {_WHOLE, _BATCH} or "\0" in "".join(parts):
        raise FilterError("run: write SUITE:VERSION:DIGEST, or SUITE:VERSION:DIGEST:CONCERN:BATCH for a batch")
    return parts


@dataclass(slots=True)
class _Counted:
    """The results of a run so far."""

    labels: Counter[str] = field(default_factory=Counter)
    first: int = 2**62
    last: int = -(2**62)
    groups: int = 0

    def add(self, row: Any) -> None:
        self.labels[row.label] += row.cases
        self.first, self.last = min(self.first, row.first), max(self.last, row.last)


def list_runs(engine: Engine, wanted: CaseFilter, limit: int = RUNS_MAX) -> list[Run]:
    """The runs with a result that fits, latest first. Where a suite was run in batches, all of a way's batches together are a run, too."""
    columns = [Scanned(results.c.suite).label("suite"), *(results.c[name] for name in _NAMES[1:])]
    query = select(
        *columns, results.c.label, func.count().label("cases"), func.min(results.c.scored_at).label("first"), func.max(results.c.scored_at).label("last")
    )
    found: dict[tuple[str, ...], _Counted] = {}
    with reading(engine) as connection:
        for row in connection.execute(query.where(*where(wanted)).group_by(*columns, results.c.label).execution_options(yield_per=5_000)):
            way = (row.suite, row.suite_version, row.config_digest)
            found.setdefault(way, _Counted()).add(row)
            if row.batch_id is not None:
                found.setdefault((*way, row.concern_id, row.batch_id), _Counted()).add(row)
    for key in found:
        found[key[:_WHOLE]].groups += len(key) == _BATCH
    shown = [(key, run) for key, run in found.items() if not (len(key) == _WHOLE and run.groups == 1 and _is_one_batch(key, run, found))]
    shown.sort(key=lambda pair: (-pair[1].last, pair[0]))
    return [_run(key, run) for key, run in shown[:limit]]


def _is_one_batch(way: tuple[str, ...], run: _Counted, found: dict[tuple[str, ...], _Counted]) -> bool:
    """True if the way's only batch holds all of its results."""
    return any(len(key) == _BATCH and key[:_WHOLE] == way and other.labels == run.labels for key, other in found.items())


def _run(key: Sequence[str], run: _Counted) -> Run:
    suite, version, digest, concern, batch = (*key, "", "")[:_BATCH]
    moments = from_micros(run.first), from_micros(run.last)
    return Run(run_name(*key), suite, version, digest, concern, batch, run.labels.total(), dict(run.labels), *moments)


def compare_runs(
    engine: Engine,
    before: str,
    now: str,
    *,
    changed: tuple[str, str] | None = None,
    scope: frozenset[str] | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> RunComparison | None:
    """Two runs, by the events that both have scored, or where they have none in common by case ids that are unique in both.

    `changed`: list only the cases whose label changed so. None if one of the runs has no result that the reader may see. Raises `FilterError`.
    """
    sides = (parse_run(before), parse_run(now))
    if scope is not None and not {side[0] for side in sides} <= scope:
        return None
    with reading(engine) as connection:
        runs = [_run_of(connection, side) for side in sides]
        if runs[0] is None or runs[1] is None:
            return None
        page = _ChangedPage(changed, limit, cursor)
        pairing = _pairing(connection, sides)
        labels, values = pairing.read(connection, page)
        cases, following = page.taken()
        return RunComparison(
            before=runs[0],
            now=runs[1],
            by=pairing.by,
            pairs=sum(labels.values()),
            labels=labels,
            values=tuple(_shifts(values)),
            codes=_codes(connection, sides),
            cases=cases,
            next=following,
        )


def _of(table: Any, side: Sequence[str]) -> list[ColumnElement[bool]]:
    """The conditions for the results of a run."""
    return [Scanned(table.c[name]) == part for name, part in zip(_NAMES, side, strict=False)]


def _run_of(connection: Connection, side: Sequence[str]) -> Run | None:
    query = select(results.c.label, func.count().label("cases"), func.min(results.c.scored_at).label("first"), func.max(results.c.scored_at).label("last"))
    counted = _Counted()
    for row in connection.execute(query.where(*_of(results, side)).group_by(results.c.label)):
        counted.add(row)
    return _run(side, counted) if counted.labels else None


@dataclass(frozen=True, slots=True)
class _Pairing:
    """The cases that both runs have. `by`: the column that joins them."""

    sides: tuple[Sequence[str], ...]
    by: str

    def select(self) -> tuple[Select[Any], FromClause, FromClause]:
        """A query over the pairs, and the results of both runs as tables. SQLite scans one run, and looks up the other's results by their ids."""
        old, new = results.alias("old"), results.alias("new")
        conditions = [*_of(old, self.sides[0]), *_of(new, self.sides[1])]
        named = [old.c.case_id != ""] if self.by == "case_id" else []
        return select().select_from(old.join(new, old.c[self.by] == new.c[self.by])).where(*conditions, *named), old, new

    def exists(self, connection: Connection) -> bool:
        """True if there is a pair."""
        query, old, _ = self.select()
        return connection.execute(query.add_columns(old.c[self.by]).limit(1)).first() is not None

    def read(self, connection: Connection, page: _ChangedPage) -> tuple[Counter[tuple[str, str]], _Values]:
        """Every pair once: (label before, label now) → cases, and the values. `page` takes the changed ones."""
        query, old, new = self.select()
        ids = (new.c.case_id, new.c.result_id, new.c.event_id, old.c.event_id, old.c.result_id)
        rows = connection.execute(query.add_columns(old.c.label, new.c.label, old.c.scores, new.c.scores, *ids).execution_options(yield_per=5_000))
        labels: Counter[tuple[str, str]] = Counter()
        values: _Values = {}
        for before, now, old_scores, new_scores, *named in rows.tuples():
            labels[before, now] += 1
            if before != now:
                page.add(before, now, named)
            old_values, new_values = orjson.loads(old_scores), orjson.loads(new_scores)
            for name, value in old_values.items():
                if name in new_values:
                    columns = values.get(name) or values.setdefault(name, (array("d"), array("d")))
                    columns[0].append(value)
                    columns[1].append(new_values[name])
        return labels, values


class _ChangedPage:
    """A page of the cases whose label changed, in the order of their case ids, from all of them in any order: no more than some pages are kept."""

    def __init__(self, only: tuple[str, str] | None, limit: int, cursor: str | None) -> None:
        self._only = only
        self._limit = max(1, min(limit, CHANGED_MAX))
        self._after = tuple(read_key(cursor, _CURSOR, (str, str))) if cursor else None
        self._found: list[tuple[tuple[str, str], ChangedCase]] = []

    def add(self, before: str, now: str, named: Sequence[str]) -> None:
        """A case whose label changed. `named`: case id, result id and event id now, event id and result id before."""
        case_id, result_id, event_id, event_before, result_before = named
        key = (case_id, result_id)
        if (self._only is not None and (before, now) != self._only) or (self._after is not None and key <= self._after):
            return
        self._found.append((key, ChangedCase(event_id, case_id, result_id, event_before, result_before, before, now)))
        if len(self._found) >= 8 * (self._limit + 1):
            self._shorten()

    def _shorten(self) -> None:
        self._found.sort(key=lambda one: one[0])
        del self._found[self._limit + 1 :]

    def taken(self) -> tuple[tuple[ChangedCase, ...], str | None]:
        """The page, and the cursor of the next one."""
        self._shorten()
        shown = self._found[: self._limit]
        return tuple(case for _, case in shown), written_key(_CURSOR, shown[-1][0]) if len(self._found) > self._limit else None


def _pairing(connection: Connection, sides: tuple[Sequence[str], ...]) -> _Pairing:
    """How the cases of two runs are paired."""
    by_event = _Pairing(sides, "event_id")
    if by_event.exists(connection):
        return by_event
    repeated = select(func.count(), func.count(func.distinct(results.c.case_id))).where(results.c.case_id != "")
    are_unique = all(count == distinct for side in sides for count, distinct in connection.execute(repeated.where(*_of(results, side))))
    return _Pairing(sides, "case_id") if are_unique else by_event


def _shifts(found: _Values) -> Iterator[ValueShift]:
    """The values that pairs have on both sides, with the interval of the mean of their differences."""
    for name, (old_values, new_values) in sorted(found.items()):
        count = len(old_values)
        differences = array("d", (new - old for old, new in zip(old_values, new_values, strict=True)))
        interval = mean_interval(differences)
        means = [sum(values) / count for values in (old_values, new_values, differences)]
        changed = sum(abs(difference) > 1e-12 for difference in differences)
        low, high = (interval.low, interval.high) if interval else (None, None)
        yield ValueShift(name, means[0], means[1], means[2], low, high, count, changed)


def _codes(connection: Connection, sides: Sequence[Sequence[str]]) -> tuple[CodeShift, ...]:
    """Results with each code in both runs, the largest changes first."""
    counted = (
        select(codes.c.code, func.count()).join_from(results, codes, codes.c.result_id == Scanned(results.c.result_id)).where(HAS_CODES).group_by(codes.c.code)
    )
    before, now = (Counter(dict(connection.execute(counted.where(*_of(results, side))).tuples().all())) for side in sides)
    names = sorted(before.keys() | now.keys(), key=lambda code: (-abs(now[code] - before[code]), code))
    return tuple(CodeShift(code, before[code], now[code]) for code in names[:CODES_MAX])
