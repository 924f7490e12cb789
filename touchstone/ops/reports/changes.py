"""A comparison and a trend in words and tables, as every format shows them."""

from collections.abc import Iterator
from typing import Final

from touchstone.schemas.reports.changes import CaseChange, Comparison, Difference, Trend, TrendPoint, ValueDifference
from touchstone.schemas.reports.intervals import Interval
from touchstone.scorers.reporting.view import Table
from touchstone.scorers.reporting.words import counted, number, number_span, percent, percent_span

_WORDS: Final = {"better": "better", "worse": "worse", "changed": "changed", "unclear": "no clear change"}
_ROUNDING: Final = 1e-12
_BARS: Final = "▁▂▃▄▅▆▇█"


def headline(comparison: Comparison) -> str:
    """The pass rates and their difference, in one line."""
    rate = comparison.pass_rate
    if rate.difference is None:
        return f"no pass rate to compare with {comparison.before.name}: a side has no scored case"
    return f"against {comparison.before.name}: pass rate {_rate(rate.before)} → {_rate(rate.now)}, {_points(rate)}: {word(rate)}"


def remarks(comparison: Comparison) -> Iterator[str]:
    """Notes to read before the figures, a sentence each."""
    before, now = comparison.before, comparison.now
    if comparison.alike is False:
        ways = [f"version {side.suite_version or 'unknown'}, configuration {side.config_digest or 'unknown'}" for side in (before, now)]
        yield f"Not scored alike, so the scores may not be comparable. Before: {ways[0]}; now: {ways[1]}."
    elif comparison.alike is None:
        yield "The earlier report does not say which version and configuration scored it: make sure that the scores are comparable."
    sizes = f"{before.cases} before, {now.cases} now"
    if not comparison.pairs:
        yield f"No case is in both ({sizes}): the intervals take the two for independent samples."
        return
    share = "Every case is in both" if comparison.pairs == before.cases == now.cases else f"{counted(comparison.pairs, 'case')} in both ({sizes})"
    lost = f", {comparison.no_longer_scored} no longer scored" if comparison.no_longer_scored else ""
    yield f"{share}: of these, {comparison.improved} got a better label, {comparison.worsened} a worse one{lost}."


def word(difference: Difference) -> str:
    """The direction of a change in words: `better`, `no clear change`, …"""
    if difference.difference is None:
        return "not on both sides"
    if difference.interval is not None and max(abs(difference.interval.low), abs(difference.interval.high)) < _ROUNDING:
        return "the same"
    return _WORDS[difference.direction]


def comparison_tables(comparison: Comparison) -> tuple[Table, ...]:
    """The figures, the codes and the cases that became worse."""
    rate = comparison.pass_rate
    rows: list[tuple[str, ...]] = [("Pass rate", _rate(rate.before), _rate(rate.now), _signed_points(rate.difference), _span_points(rate.interval), word(rate))]
    rows += [_value(one) for one in comparison.values if one.before is not None or one.now is not None]
    codes = [(one.code, _of(one.before, comparison.before.cases), _of(one.now, comparison.now.cases)) for one in comparison.codes]
    tables = (
        Table("Before and now", ("Figure", "Before", "Now", "Difference", "95% interval", "Change"), rows, frozenset({1, 2, 3, 4})),
        Table("Findings that changed most, in cases", ("Code", "Before", "Now"), codes, frozenset({1, 2})),
        Table(worse_title(comparison), ("Case", "Before", "Now"), [_change(one) for one in comparison.worse]),
    )
    return tuple(table for table in tables if table.rows)


def worse_title(comparison: Comparison) -> str:
    """The title of the list of cases that became worse, with how many there are."""
    total, listed = comparison.worsened + comparison.no_longer_scored, len(comparison.worse)
    return f"Cases with a worse label ({total if total == listed else f'the first {listed} of {total}'})"


def trend_title(trend: Trend) -> str:
    """The title of the trend: what its points are."""
    older = f", {trend.left_out} older left out" if trend.left_out else ""
    return f"Trend over {counted(len(trend.points), 'batch').replace('batchs', 'batches')}{older}" if trend.by == "batch" else f"Trend, every {trend.by}"


def trend_table(trend: Trend, *, spans: bool = True) -> Table:
    """A row for each point. `spans`: show the intervals of the means."""
    has_changes = any(point.changed for point in trend.points)
    header = ["Batch" if trend.by == "batch" else "From", *(["Begun"] if trend.by == "batch" else []), "Cases", "Pass rate", "95% interval"]
    first = len(header) - 3
    header += [value.heading for value in trend.values] + (["Scored by"] if has_changes else [])
    rows = [_point(trend, point, has_changes=has_changes, spans=spans) for point in trend.points]
    return Table(trend_title(trend), header, rows, frozenset(range(first, first + 3 + len(trend.values))))


def sparkline(trend: Trend) -> str:
    """The pass rates as a line of bars; a gap where a point has none."""
    return "".join(" " if point.pass_rate is None else _BARS[min(len(_BARS) - 1, int(point.pass_rate * len(_BARS)))] for point in trend.points)


def moment(point: TrendPoint) -> str:
    """When a point begins, to the minute, in UTC."""
    return point.begun.strftime("%Y-%m-%d %H:%M")


def scored_by(point: TrendPoint) -> str:
    """The version and configuration of a point."""
    return f"{point.suite_version} {point.config_digest[:8]}"


def _point(trend: Trend, point: TrendPoint, *, has_changes: bool, spans: bool) -> tuple[str, ...]:
    names = (point.name, moment(point)) if trend.by == "batch" else (point.name,)
    rate = "–" if point.pass_rate is None else percent(point.pass_rate)
    around = "" if point.pass_rate_interval is None else percent_span(point.pass_rate_interval)
    means = []
    for value in trend.values:
        interval = point.intervals.get(value.name) if spans else None
        means.append(number(point.means.get(value.name), value.places) + (f" ({number_span(interval, value.places)})" if interval is not None else ""))
    by = (scored_by(point) + (" (changed)" if point.changed else ""),) if has_changes else ()
    return (*names, str(point.cases), rate, around, *means, *by)


def _value(one: ValueDifference) -> tuple[str, ...]:
    heading = f"{one.heading}{f' ({one.better} is better)' if one.better == 'lower' else ''}"
    difference = "–" if one.difference is None else signed(one.difference, one.places)
    span = "" if one.interval is None else f"{signed(one.interval.low, one.places)} to {signed(one.interval.high, one.places)}"
    return (heading, number(one.before, one.places), number(one.now, one.places), difference, span, word(one))


def _change(one: CaseChange) -> tuple[str, ...]:
    return (one.case, one.before, one.now)


def _of(count: int, cases: int) -> str:
    return f"{count} of {cases}"


def _rate(rate: float | None) -> str:
    return "–" if rate is None else percent(rate)


def _points(rate: Difference) -> str:
    span = f" (95% interval {_span_points(rate.interval)})" if rate.interval is not None else ""
    return f"{_signed_points(rate.difference)} points{span}"


def _signed_points(difference: float | None) -> str:
    return "–" if difference is None else signed(100 * difference, 1)


def _span_points(interval: Interval | None) -> str:
    return "" if interval is None else f"{signed(100 * interval.low, 1)} to {signed(100 * interval.high, 1)}"


def signed(value: float, places: int) -> str:
    """A number with its sign; 0 has none."""
    text = f"{value:+.{places}f}"
    return (text[1:] if float(text) == 0 else text).replace("-", "−")
