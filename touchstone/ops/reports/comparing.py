"""Compares a batch with an earlier one of the same suite, from the cases of both as their reports show them.

The cases are written to SQLite's own temporary file, which holds a few megabytes in memory for any number of cases. Each listed value costs eight bytes a
case.
"""

from __future__ import annotations

import math
import sqlite3
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Final

from touchstone.schemas.reports.changes import CaseChange, CodeDifference, Comparison, Difference, Direction, Side, ValueDifference
from touchstone.schemas.reports.intervals import Interval
from touchstone.scorers.reporting.intervals import Pairs, Rate, mean_difference, rate_difference
from touchstone.scorers.reporting.view import CaseView, Column
from touchstone.scorers.suite import Suite

#: How many worsened cases and how many codes a comparison lists.
WORSE_MAX: Final = 20
CODES_MAX: Final = 10
#: The better a label, the higher. An unscored case has none.
_RANKS: Final = {"Pass": 2, "Review": 1, "Warn": 1, "Fail": 0}
_BEFORE, _NOW = 0, 1
#: Kinds of ids that a case may have: a lasting one, and the id of its event.
_IDS: Final = 2
#: Smaller differences are rounding errors.
_NOTHING: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Reported:
    """One side: its name, the version and configuration that scored it (empty if unknown), and its cases, which are read once."""

    name: str
    cases: Iterable[CaseView]
    suite_version: str = ""
    config_digest: str = ""


@dataclass(slots=True)
class _Tally:
    """The counts of one side."""

    cases: int = 0
    scored: int = 0
    passed: int = 0
    codes: Counter[str] = field(default_factory=Counter)


def compare(suite: Suite, before: Reported, now: Reported) -> Comparison:
    """The comparison of two batches, with 95 % intervals; the same for every order of their cases. The cases of `now` may be read twice."""
    columns = suite.columns or _unnamed(suite, now)
    with closing(sqlite3.connect("")) as table:
        table.execute(f"CREATE TABLE cases (side, name, label, rank, {_several('id', _IDS)}, {_several('value', len(columns))})".replace(", )", ")"))
        tallies = [_write(table, side, reported.cases, columns) for side, reported in ((_BEFORE, before), (_NOW, now))]
        joined = _joined(table)
        improved, worsened, lost = table.execute(
            "SELECT SUM(now.rank > old.rank), SUM(now.rank < old.rank), SUM(old.rank IS NOT NULL AND now.rank IS NULL)" + joined
        ).fetchone()
        return Comparison(
            before=_side(before, tallies[_BEFORE]),
            now=_side(now, tallies[_NOW]),
            alike=_alike(before, now),
            pairs=table.execute("SELECT COUNT(*)" + joined).fetchone()[0],
            improved=improved or 0,
            worsened=worsened or 0,
            no_longer_scored=lost or 0,
            pass_rate=_of_rates(table, joined, tallies),
            values=tuple(_of_values(table, joined, place, column) for place, column in enumerate(columns)),
            codes=_codes(tallies),
            worse=_worse(table, joined),
        )


def _unnamed(suite: Suite, now: Reported) -> Sequence[Column]:
    """The columns of a suite that declares none, as its report lists them."""
    found = {name for case in now.cases for name in case.values}
    ordered = [name for name in suite.metrics if name in found] + sorted(found - set(suite.metrics))
    return suite.shown_columns(dict.fromkeys(ordered, 0.0))


def _several(name: str, count: int) -> str:
    """Columns of the table: `id0, id1`."""
    return ", ".join(f"{name}{place}" for place in range(count))


def _write(table: sqlite3.Connection, side: int, cases: Iterable[CaseView], columns: Sequence[Column]) -> _Tally:
    """Write one side's cases, and count them."""
    tally = _Tally()
    marks = ", ".join("?" * (4 + _IDS + len(columns)))
    table.executemany(f"INSERT INTO cases VALUES ({marks})", _rows(side, cases, columns, tally))  # noqa: S608  # question marks
    return tally


def _rows(side: int, cases: Iterable[CaseView], columns: Sequence[Column], tally: _Tally) -> Iterator[tuple[str | int | float | None, ...]]:
    """A row for every case that counts."""
    for case in cases:
        if case.status in {"passed_over", "error"}:
            continue
        rank = _RANKS.get(case.label)
        tally.cases += 1
        tally.scored += rank is not None
        tally.passed += case.label == "Pass"
        tally.codes.update(set(case.codes or (finding.code for finding in case.findings if finding.severity != "info")))
        ids = (*case.ids, *([None] * _IDS))[:_IDS]
        yield (side, _storable(case.name), case.label, rank, *map(_storable, ids), *(case.values.get(column.value) for column in columns))


def _storable(text: str | None) -> str | None:
    """Text that SQLite accepts: a lone surrogate becomes an escape."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode()


def _joined(table: sqlite3.Connection) -> str:
    """The SQL that joins both sides: by the kind of id that is unique on each side; of two such kinds, by the one that finds more pairs."""
    best, most = "", 0
    for place in range(_IDS):
        joined = f" FROM cases AS old JOIN cases AS now ON old.id{place} = now.id{place} AND old.side = {_BEFORE} AND now.side = {_NOW}"
        table.execute(f"CREATE INDEX by_id{place} ON cases (id{place}, side)")
        if all(count == distinct for count, distinct in table.execute(f"SELECT COUNT(id{place}), COUNT(DISTINCT id{place}) FROM cases GROUP BY side")):  # noqa: S608
            found = table.execute("SELECT COUNT(*)" + joined).fetchone()[0]
            best, most = (joined, found) if found > most else (best, most)
    return best or f" FROM cases AS old JOIN cases AS now ON 0 = {_NOW}"


def _side(reported: Reported, tally: _Tally) -> Side:
    return Side(
        name=reported.name,
        suite_version=reported.suite_version,
        config_digest=reported.config_digest,
        cases=tally.cases,
        scored=tally.scored,
        passed=tally.passed,
    )


def _alike(before: Reported, now: Reported) -> bool | None:
    """True if the same version and configuration scored both; None if unknown."""
    pairs = [(one, other) for one, other in ((before.suite_version, now.suite_version), (before.config_digest, now.config_digest)) if one and other]
    if any(one != other for one, other in pairs):
        return False
    return True if len(pairs) == 2 else None


def _of_rates(table: sqlite3.Connection, joined: str, tallies: Sequence[_Tally]) -> Difference:
    """The pass rates of the scored cases."""
    before, now = (Rate(tally.passed, tally.scored) for tally in tallies)
    counts = table.execute(
        "SELECT SUM(old.rank = 2 AND now.rank = 2), SUM(old.rank = 2 AND now.rank < 2), SUM(old.rank < 2 AND now.rank = 2), SUM(old.rank < 2 AND now.rank < 2)"
        + joined
    ).fetchone()
    pairs = Pairs(*(count or 0 for count in counts))
    both = before.total > 0 and now.total > 0
    difference = now.share - before.share if both else None
    interval = rate_difference(before, now, pairs)
    return Difference(
        before=before.share if before.total else None,
        now=now.share if now.total else None,
        difference=difference,
        interval=interval,
        direction=_direction(difference, interval, "higher"),
        pairs=pairs.total,
    )


def _of_values(table: sqlite3.Connection, joined: str, place: int, column: Column) -> ValueDifference:
    """The means of one value over the cases that have it."""
    value = f"value{place}"
    before, now = (
        array("d", (one for (one,) in table.execute(f"SELECT {value} FROM cases WHERE side = ? AND {value} IS NOT NULL", (side,))))  # noqa: S608  # our own words
        for side in (_BEFORE, _NOW)
    )
    pairs = table.execute(f"SELECT old.{value}, now.{value}{joined} WHERE old.{value} IS NOT NULL AND now.{value} IS NOT NULL").fetchall()
    means = [math.fsum(values) / len(values) if values else None for values in (before, now)]
    difference = means[1] - means[0] if means[0] is not None and means[1] is not None else None
    interval = mean_difference(before, now, pairs)
    return ValueDifference(
        name=column.value,
        heading=column.heading,
        places=column.places,
        better=column.better,
        before=means[0],
        now=means[1],
        difference=difference,
        interval=interval,
        direction=_direction(difference, interval, column.better),
        pairs=len(pairs),
    )


def _direction(difference: float | None, interval: Interval | None, better: str | None) -> Direction:
    """The direction of a change; `unclear` if the interval contains 0."""
    if difference is None or interval is None or (interval.low <= _NOTHING and interval.high >= -_NOTHING):
        return "unclear"
    if better is None:
        return "changed"
    return "better" if (difference > 0) == (better == "higher") else "worse"


def _codes(tallies: Sequence[_Tally]) -> tuple[CodeDifference, ...]:
    """The codes that changed most, measured as shares of each side's cases, because the sides may differ in size."""
    before, now = tallies
    sizes = max(1, before.cases), max(1, now.cases)
    changes = {code: now.codes[code] / sizes[1] - before.codes[code] / sizes[0] for code in before.codes.keys() | now.codes.keys()}
    most_changed = sorted((code for code in changes if abs(changes[code]) > _NOTHING), key=lambda code: (-abs(changes[code]), code))[:CODES_MAX]
    return tuple(CodeDifference(code=code, before=before.codes[code], now=now.codes[code]) for code in most_changed)


def _worse(table: sqlite3.Connection, joined: str) -> tuple[CaseChange, ...]:
    """The cases that became worse, the largest falls first; then those that are no longer scored."""
    found = table.execute(
        "SELECT now.name, old.label, now.label" + joined + " WHERE old.rank > now.rank OR (old.rank IS NOT NULL AND now.rank IS NULL)"
        " ORDER BY now.rank IS NULL, now.rank - old.rank, now.name LIMIT ?",
        (WORSE_MAX,),
    )
    return tuple(CaseChange(case=name, before=before, now=now) for name, before, now in found)
