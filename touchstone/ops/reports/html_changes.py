"""A comparison and a trend as sections of the HTML page: intervals around 0, line charts with bands, and the same as tables."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from touchstone.ops.reports.changes import comparison_tables, headline, moment, remarks, scored_by, trend_table, trend_title
from touchstone.ops.reports.html_words import shown
from touchstone.schemas.reports.changes import Comparison, Difference, Trend, TrendPoint, TrendValue
from touchstone.schemas.reports.intervals import Interval
from touchstone.scorers.reporting.view import Table
from touchstone.scorers.reporting.words import number, number_span, percent, percent_span

_TONES: Final = {"better": "pass", "worse": "fail", "changed": "review", "unclear": "other"}
#: Size of a line chart, in its own units: the page scales it.
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 320, 150, 38, 12, 10, 22
#: Size of the plot of one difference.
_PLOT_WIDTH, _PLOT_HEIGHT = 120, 16
_TICKS_MAX: Final = 4
_DAY_S: Final = 86_400


@dataclass(frozen=True, slots=True)
class _Line:
    """One figure over the points. `text`: how a number of it is written, and `span` both ends of its interval."""

    heading: str
    note: str
    values: Sequence[float | None]
    intervals: Sequence[Interval | None]
    low: float
    high: float
    step: float
    text: Callable[[float], str]
    span: Callable[[Interval], str]


def comparison_section(comparison: Comparison) -> Iterator[str]:
    """The figures before and now with a plot of each difference, then the codes and the cases that became worse."""
    line = headline(comparison)
    yield '<section aria-labelledby="against"><h2 id="against">Before and now</h2>\n'
    yield f'<p class="said">{shown(line[:1].upper() + line[1:])}</p>\n'
    yield from (f'<p class="rest">{shown(remark)}</p>\n' for remark in remarks(comparison))
    figures, *others = comparison_tables(comparison)
    rows = [comparison.pass_rate, *(one for one in comparison.values if one.before is not None or one.now is not None)]
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{shown(figures.title)}"><table class="differences">\n'
    name, *numbers, change = figures.header
    # The change beside the name: on a phone the rest is out of sight.
    yield f"<thead><tr>{_headings((name, change, *numbers), frozenset(range(2, 2 + len(numbers))))}<td></td></tr></thead><tbody>\n"
    for difference, (name, *cells, word) in zip(rows, figures.rows, strict=True):
        tone = f"tone-{_TONES[difference.direction]}"
        texts = "".join(f'<td class="num">{shown(cell)}</td>' for cell in cells)
        chip = f'<td><span class="chip">{shown(word)}</span></td>'
        yield f'<tr class="{tone}"><th scope="row">{shown(name)}</th>{chip}{texts}<td>{_plot(difference)}</td></tr>\n'
    yield '</tbody></table></div>\n<p class="rest">Bars: the 95% interval of each difference around 0, each on its own scale.</p>\n'
    if others:
        yield '<div class="small after">\n'
        for place, table in enumerate(others):
            yield from _table(table, f"against-{place}")
        yield "</div>\n"
    yield "</section>\n"


def _plot(difference: Difference) -> str:
    """The interval of a difference as a bar around 0. The cells beside it have the same in words."""
    interval = difference.interval
    if difference.difference is None or interval is None:
        return ""
    reach = max(abs(interval.low), abs(interval.high), abs(difference.difference)) or 1.0
    low, at, high = ((1 + value / reach * 0.94) * _PLOT_WIDTH / 2 for value in (interval.low, difference.difference, interval.high))
    middle = _PLOT_HEIGHT / 2
    zero = f'<line x1="{_PLOT_WIDTH / 2}" x2="{_PLOT_WIDTH / 2}" y1="0" y2="{_PLOT_HEIGHT}"/>'
    bar = f'<rect x="{low:.1f}" width="{max(2.0, high - low):.1f}" y="{middle - 3}" height="6" rx="3"/>'
    return f'<svg class="plot" viewBox="0 0 {_PLOT_WIDTH} {_PLOT_HEIGHT}" aria-hidden="true">{zero}{bar}<circle cx="{at:.1f}" cy="{middle}" r="4"/></svg>'


def trend_section(trend: Trend) -> Iterator[str]:
    """A line chart of the pass rate and of each listed value, and the points as a table."""
    changes = "; dashed: another version or configuration" if any(point.changed for point in trend.points) else ""
    yield f'<section aria-labelledby="trend"><h2 id="trend">{shown(trend_title(trend))}<small>with 95% intervals{changes}</small></h2>\n<div class="charts">\n'
    yield from (_chart(trend, line) for line in _lines(trend))
    yield '</div>\n<details class="numbers"><summary>The same as a table</summary>\n'
    table = trend_table(trend)
    yield from _scrolled(table, "trend")
    yield "</details></section>\n"


def _lines(trend: Trend) -> Iterator[_Line]:
    """The pass rate, and each value that at least two points have."""
    points = trend.points
    rates = [point.pass_rate for point in points]
    yield _Line("Pass rate", "", rates, [point.pass_rate_interval for point in points], 0.0, 1.0, 0.25, percent, percent_span)
    for value in trend.values:
        values = [point.means.get(value.name) for point in points]
        if sum(one is not None for one in values) > 1:
            yield _line(value, values, [point.intervals.get(value.name) for point in points])


def _line(value: TrendValue, values: Sequence[float | None], intervals: Sequence[Interval | None]) -> _Line:
    """The means of one value, on an axis that fits all their intervals."""
    ends = [one for one in values if one is not None] + [end for interval in intervals if interval is not None for end in (interval.low, interval.high)]
    low, high, step = _axis(min(ends), max(ends))
    note = f"{value.better} is better" if value.better else ""
    return _Line(value.heading, note, values, intervals, low, high, step, lambda one: number(one, value.places), lambda one: number_span(one, value.places))


def _axis(least: float, most: float) -> tuple[float, float, float]:
    """Ends and step of an axis: a few steps of 1, 2, 2.5 or 5 times a power of ten."""
    # Divided before they are subtracted: the range of two finite values may be infinite.
    rough = most / _TICKS_MAX - least / _TICKS_MAX
    if not rough > abs(most) * 1e-9:
        rough = abs(most) / _TICKS_MAX or 0.25
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(times * power for times in (1, 2, 2.5, 5, 10) if rough <= times * power * (1 + 1e-9))
    return math.floor(least / step + 1e-9) * step, math.ceil(most / step - 1e-9) * step, step


def _chart(trend: Trend, line: _Line) -> str:
    """One figure as a line within the band of its intervals."""
    floor, width = _HEIGHT - _BOTTOM, _WIDTH - _LEFT - _RIGHT
    high = line.high if line.high > line.low else line.low + line.step

    def y_of(value: float) -> float:
        return floor - (value / 2 - line.low / 2) / (high / 2 - line.low / 2) * (floor - _TOP)

    drawn = []
    for place in range(round((high - line.low) / line.step) + 1):
        tick = line.low + place * line.step
        drawn.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y_of(tick):.1f}" y2="{y_of(tick):.1f}"/>')
        drawn.append(f'<text x="{_LEFT - 5}" y="{y_of(tick) + 3.5:.1f}" text-anchor="end">{_tick(tick, line)}</text>')
    xs = [_LEFT + share * width for share in _shares(trend)]
    first, last = _ends(trend)
    drawn.append(
        f'<text x="{_LEFT}" y="{floor + 15}" text-anchor="start">{first}</text><text x="{_WIDTH - _RIGHT}" y="{floor + 15}" text-anchor="end">{last}</text>'
    )
    for x, point in zip(xs, trend.points, strict=True):
        if point.changed:
            drawn.append(f'<line class="changed" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{floor}"><title>{shown(scored_by(point))}</title></line>')
    for part in _unbroken(line.values):
        drawn.append(_band([(xs[at], line.intervals[at]) for at in part], y_of))
        ends = " ".join(f"{xs[at]:.1f},{y_of(value):.1f}" for at in part if (value := line.values[at]) is not None)
        drawn.append(f'<polyline class="line" points="{ends}"/>')
    half = width / max(1, len(xs) - 1) / 2
    for at, (x, point) in enumerate(zip(xs, trend.points, strict=True)):
        if (value := line.values[at]) is not None:
            label = shown(_point_words(trend, point, line, at))
            touch = f'<rect class="touch" x="{x - half:.1f}" width="{2 * half:.1f}" y="{_TOP}" height="{floor - _TOP}"/>'
            drawn.append(f'<g class="dot"><title>{label}</title>{touch}<circle cx="{x:.1f}" cy="{y_of(value):.1f}" r="2.6"/></g>')
    caption = f"{shown(line.heading)}<small>{shown(_last(line))}</small>"
    svg = f'<svg class="trend" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{shown(_words(line))}">{"".join(drawn)}</svg>'
    return f"<figure><figcaption>{caption}</figcaption>{svg}</figure>\n"


def _shares(trend: Trend) -> list[float]:
    """The position of each point from 0 to 1: batches are spaced evenly, time spans by their time."""
    points = trend.points
    if trend.by == "batch":
        return [place / max(1, len(points) - 1) for place in range(len(points))]
    begun, whole = points[0].begun, (points[-1].begun - points[0].begun).total_seconds() or 1.0
    return [(point.begun - begun).total_seconds() / whole for point in points]


def _unbroken(values: Sequence[float | None]) -> Iterator[list[int]]:
    """Runs of consecutive values: the positions between two gaps."""
    part: list[int] = []
    for place, value in enumerate(values):
        if value is not None:
            part.append(place)
        elif part:
            yield part
            part = []
    if part:
        yield part


def _band(ends: Sequence[tuple[float, Interval | None]], y_of: Callable[[float], float]) -> str:
    """The band between both ends of the intervals."""
    present = [(x, interval) for x, interval in ends if interval is not None]
    if len(present) == 1:
        ((x, interval),) = present
        return f'<line class="whisker" x1="{x:.1f}" x2="{x:.1f}" y1="{y_of(interval.high):.1f}" y2="{y_of(interval.low):.1f}"/>'
    corners = [(x, interval.high) for x, interval in present] + [(x, interval.low) for x, interval in reversed(present)]
    return f'<polygon class="band" points="{" ".join(f"{x:.1f},{y_of(value):.1f}" for x, value in corners)}"/>' if corners else ""


def _tick(value: float, line: _Line) -> str:
    return f"{100 * value:.0f}%" if line.text is percent else f"{0.0 if abs(value) < line.step / 2 else value:.4g}"


def _ends(trend: Trend) -> tuple[str, str]:
    """The moments of the first and the last point, as short as they can be."""
    first, last = trend.points[0].begun, trend.points[-1].begun
    form = "%Y-%m-%d" if (last - first).total_seconds() >= 2 * _DAY_S else "%m-%d %H:%M"
    return first.strftime(form), last.strftime(form)


def _point_words(trend: Trend, point: TrendPoint, line: _Line, at: int) -> str:
    value, interval = line.values[at], line.intervals[at]
    span = f" ({line.span(interval)})" if interval is not None else ""
    named = f"{point.name}, {moment(point)}" if trend.by == "batch" else point.name
    return f"{named}: {'–' if value is None else line.text(value)}{span}, {point.cases:,} cases"


def _last(line: _Line) -> str:
    """The last value, its interval, and which way is good."""
    present = [(value, interval) for value, interval in zip(line.values, line.intervals, strict=True) if value is not None]
    if not present:
        return "no case was scored"
    value, interval = present[-1]
    span = f" ({line.span(interval)})" if interval is not None else ""
    return "; ".join(filter(None, (f"last {line.text(value)}{span}", line.note)))


def _words(line: _Line) -> str:
    """The chart in words, for screen readers."""
    present = [value for value in line.values if value is not None]
    if not present:
        return f"{line.heading}: no point has it"
    extent = f"from {line.text(present[0])} to {line.text(present[-1])}, least {line.text(min(present))}, greatest {line.text(max(present))}"
    return f"{line.heading} over {len(present)} points, {extent}; the table below has every one"


def _table(table: Table, anchor: str) -> Iterator[str]:
    yield f'<section aria-labelledby="{anchor}"><h2 id="{anchor}">{shown(table.title)}</h2>\n'
    yield from _scrolled(table, anchor)
    yield "</section>\n"


def _scrolled(table: Table, anchor: str) -> Iterator[str]:
    """A table that scrolls on its own if it is too wide."""
    yield f'<div class="scroll" tabindex="0" role="region" aria-labelledby="{anchor}"><table>\n'
    yield f"<thead><tr>{_headings(table.header, table.numeric)}</tr></thead><tbody>\n"
    for row in table.rows:
        cells = (f"<td{' class=num' if place in table.numeric else ''}>{shown(cell)}</td>" for place, cell in enumerate(row))
        yield f"<tr>{''.join(cells)}</tr>\n"
    yield "</tbody></table></div>\n"


def _headings(header: Sequence[str], numeric: frozenset[int]) -> str:
    return "".join(f'<th scope="col"{" class=num" if place in numeric else ""}>{shown(heading)}</th>' for place, heading in enumerate(header))
