"""The saving and the cost of the prefilter: the same events with every window asked, and with the nearest ones only."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from touchstone.ops.lab.bench.nli.models import counts, difference
from touchstone.ops.lab.bench.nli.suite import LiveSuite
from touchstone.ops.lab.bench.nli.workload import summary_events, values_of

if TYPE_CHECKING:
    from touchstone.scorers.engines.open_engines import OpenEngines
    from touchstone.scorers.summary.settings import SummarySettings

COMPARED = ("recall", "precision", "coverage", "loss")


@dataclass(frozen=True, slots=True)
class Shift:
    """How a value moved, filtered less unfiltered."""

    mean: float
    worst: float


@dataclass(frozen=True, slots=True)
class Prefilter:
    """`speedup`: unfiltered over filtered seconds; `pairs_share`: of the pairs that are still asked."""

    top_k: int
    events: int
    speedup: float
    pairs_share: float
    shifts: dict[str, Shift]


async def prefilter(engines: OpenEngines, settings: SummarySettings, top_k: int, count: int, seed: str = "filter") -> Prefilter:
    """Run both ways over two lots of events, the other way first in the second, so that caches help both alike."""
    ways = {
        0: LiveSuite(engines, settings.model_copy(update={"prefilter_top_k": 0})),
        top_k: LiveSuite(engines, settings.model_copy(update={"prefilter_top_k": top_k})),
    }
    seconds, pairs = dict.fromkeys(ways, 0.0), dict.fromkeys(ways, 0.0)
    values: dict[int, dict[str, dict[str, float]]] = {way: {} for way in ways}
    for lot, order in enumerate(((0, top_k), (top_k, 0))):
        events = values_of(summary_events(count, f"{seed}-{lot}"))
        for way in order:
            before = counts(engines.readings())
            took, scored = await ways[way].run(events)
            counted = difference(counts(engines.readings()), before)
            seconds[way] += took
            pairs[way] += counted["batch_size_items"] + counted["collapsed_items"]
            values[way] |= scored
    return Prefilter(
        top_k, 2 * count, seconds[0] / seconds[top_k], pairs[top_k] / pairs[0], {name: _shift(values[0], values[top_k], name) for name in COMPARED}
    )


def _shift(plain: dict[str, dict[str, float]], narrow: dict[str, dict[str, float]], name: str) -> Shift:
    moved = [narrow[event][name] - plain[event][name] for event in plain]
    return Shift(statistics.mean(moved), max(moved, key=abs))
