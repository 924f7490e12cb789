"""Charts as inline SVG: a bar of labels and histograms, with their numbers as text for screen readers."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from touchstone.ops.reports.html_words import plural, shown
from touchstone.scorers.reporting.view import Distribution

_TONES: Final = {"Pass": "pass", "Review": "review", "Warn": "review", "Fail": "fail", "unscored": "unscored"}
#: Size of a histogram, in its own units: the page scales it.
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 320, 150, 34, 8, 10, 32
_BAR_GAP: Final = 1.0
#: Least height of a bin with a case, so that it can be seen.
_BAR_HEIGHT_MIN: Final = 1.5
_TICKS_MAX: Final = 4


def tone_of(label: str) -> str:
    """The colour of a label, by name."""
    return _TONES.get(label, "other")


def label_bar(labels: Mapping[str, int]) -> str:
    """One bar, stacked."""
    total = sum(labels.values())
    words = shown(", ".join(f"{label} {count}" for label, count in labels.items()))
    parts, begun = [], 0
    for label, count in labels.items():
        if count:
            place, share = 100 * begun / total, 100 * count / total
            title = f"<title>{shown(label)}: {count:,}</title>"
            parts.append(f'<g class="tone-{tone_of(label)}"><rect x="{place:.3f}%" width="{share:.3f}%" height="100%">{title}</rect></g>')
            begun += count
    return f'<svg class="stack" role="img" aria-label="{words}">{"".join(parts)}</svg>'


def histogram(distribution: Distribution, noun: str) -> str:
    """One value over the cases; empty if no case has it."""
    counts, total = distribution.counts, sum(distribution.counts)
    if not total:
        return ""
    edges = [distribution.low + (distribution.high - distribution.low) * place / len(counts) for place in range(len(counts) + 1)]
    spans = [f"{edges[place]:.4g} to {edges[place + 1]:.4g}" for place in range(len(counts))]
    words = f"{distribution.name} of {total:,} {plural(noun)}: " + "; ".join(f"{span}: {count:,}" for span, count in zip(spans, counts, strict=True) if count)
    step, high = _ticks(max(counts))
    floor, width = _HEIGHT - _BOTTOM, _WIDTH - _LEFT - _RIGHT
    scale = (floor - _TOP) / high
    drawn = []
    for tick in range(0, high + 1, step):
        y = floor - tick * scale
        drawn.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        drawn.append(f'<text x="{_LEFT - 5}" y="{y + 3.5:.1f}" text-anchor="end">{_short(tick)}</text>')
    for place, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        value = distribution.low + (distribution.high - distribution.low) * place
        drawn.append(f'<text x="{_LEFT + width * place:.1f}" y="{floor + 13}" text-anchor="{anchor}">{value:.4g}</text>')
    drawn.append(f'<text x="{_LEFT + width / 2:.1f}" y="{_HEIGHT - 4}" text-anchor="middle">{shown(distribution.name)}</text>')
    drawn.append(f'<text transform="translate(8 {(_TOP + floor) / 2:.1f}) rotate(-90)" text-anchor="middle">{shown(plural(noun))}</text>')
    bars = _bars(counts, spans, width / len(counts), scale, floor)
    caption = f"{shown(distribution.name)}<small>{total:,} {shown(noun if total == 1 else plural(noun))}, {_median(distribution, spans)}</small>"
    svg = f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{shown(words)}">{"".join(drawn)}<g class="bars">{bars}</g></svg>'
    return f"<figure><figcaption>{caption}</figcaption>{svg}</figure>\n"


def _bars(counts: Sequence[int], spans: Sequence[str], width: float, scale: float, floor: int) -> str:
    """A bar for every bin that has a case."""
    drawn = []
    for place, (count, span) in enumerate(zip(counts, spans, strict=True)):
        if count:
            height = max(count * scale, _BAR_HEIGHT_MIN)
            x = _LEFT + place * width + _BAR_GAP / 2
            size = f'width="{width - _BAR_GAP:.2f}" height="{height:.2f}"'
            drawn.append(f'<rect x="{x:.2f}" y="{floor - height:.2f}" {size} rx="1"><title>{span}: {count:,}</title></rect>')
    return "".join(drawn)


def _ticks(most: int) -> tuple[int, int]:
    """Step and end of an axis of counts: a few steps of 1, 2 or 5 times a power of ten."""
    power = 10 ** max(0, math.floor(math.log10(most / _TICKS_MAX)))
    step = next(times * power for times in (1, 2, 5, 10) if most <= times * power * _TICKS_MAX)
    return step, math.ceil(most / step) * step


def _short(count: int) -> str:
    """A count for an axis: `20k`."""
    return f"{count / 1000:g}k" if count >= 1000 else str(count)


def _median(distribution: Distribution, spans: Sequence[str]) -> str:
    """The median, else the bin in which it lies."""
    if distribution.median is not None:
        return f"median {distribution.median:.3g}"
    half, seen = sum(distribution.counts) / 2, 0
    for count, span in zip(distribution.counts, spans, strict=True):
        seen += count
        if seen >= half:
            return f"median between {span.replace(' to ', ' and ')}"
    return ""
