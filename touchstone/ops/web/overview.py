"""The state of every suite over the last minutes, computed from the window in memory."""

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from touchstone.ops.web.suite_documents import components, suite_or_placeholder
from touchstone.ops.web.times import MINUTE_MS, utc
from touchstone.schemas.result import Label
from touchstone.scorers.reporting.report import BINS
from touchstone.scorers.suite import Suite
from touchstone.streams.subscription.events import Event, Outcomes

QUANTILES = {"p05": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}
CODES_SHOWN = 20
CHANGES_SHOWN = 20
#: Throughput is the mean over this time.
RATE_S = 60
_LABELS: tuple[str, ...] = get_args(Label)


@dataclass(slots=True)
class _Tally:
    """One suite's results."""

    labels: Counter[str] = field(default_factory=Counter)
    minutes: defaultdict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    values: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    codes: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    scored_with: defaultdict[int, dict[tuple[str, str], int]] = field(default_factory=lambda: defaultdict(dict))
    last_ms: int = 0
    recent: int = 0

    def add(self, event: Event, now_ms: int) -> None:
        """Count one result."""
        label = event.label or ""
        self.labels[label] += 1
        self.minutes[event.at_ms // MINUTE_MS][label] += 1
        for name, value in event.values.items():
            self.values[name].append(value)
        self.codes.update(event.codes)
        began = self.scored_with[event.at_ms // MINUTE_MS]
        began[event.scored_with] = min(event.at_ms, began.get(event.scored_with, event.at_ms))
        self.last_ms = max(self.last_ms, event.at_ms)
        self.recent += event.at_ms >= now_ms - RATE_S * 1000


def suite_summaries(
    events: Iterable[Event], outcomes: Iterable[Outcomes], suites: Mapping[str, Suite], *, now_ms: int, minutes: int, names: Iterable[str] = ()
) -> list[dict[str, Any]]:
    """One entry per suite that has results or outcomes, or is in `names`; by name. `events`: results, each once."""
    since_ms = now_ms - minutes * MINUTE_MS
    tallies: defaultdict[str, _Tally] = defaultdict(_Tally)
    for name in names:
        tallies[name] = _Tally()
    for event in events:
        if event.suite is not None:
            tallies[event.suite].add(event, now_ms)
    for one in outcomes:
        if one.at_ms >= since_ms:
            tallies[one.suite].outcomes.update(one.counts)
    return [_summary(suite_or_placeholder(suites, name), tallies[name], since_ms, now_ms) for name in sorted(tallies)]


def _summary(suite: Suite, tally: _Tally, since_ms: int, now_ms: int) -> dict[str, Any]:
    """One suite."""
    total = sum(tally.labels.values())
    scored = total - tally.labels["unscored"]
    seen = [label for label in _LABELS if tally.labels[label] or label in {"Pass", "Review", "Fail"}]
    without = [{"outcome": outcome, "reason": reason, "count": count} for (outcome, reason), count in sorted(tally.outcomes.items())]
    return {
        "suite": suite.name,
        "version": suite.version,
        "title": suite.title or suite.name,
        "total": total,
        "labels": {label: tally.labels[label] for label in seen},
        "pass_rate": tally.labels["Pass"] / scored if scored else None,
        "per_second": tally.recent / RATE_S,
        "last_result_at": utc(tally.last_ms) if tally.last_ms else None,
        "minutes": [
            {"at": utc(minute * MINUTE_MS), **{label: tally.minutes[minute][label] for label in seen}}
            for minute in range(since_ms // MINUTE_MS, now_ms // MINUTE_MS + 1)  # with the minute that the period begins in: counts add up to the labels
        ],
        "changes": _changes(tally),
        "values": [
            {**component, **_described(tally.values[component["name"]], suite.value_max)}
            for component in components(suite, tally.values)
            if tally.values.get(component["name"])
        ],
        "codes": [{"code": code, "count": count} for code, count in sorted(tally.codes.items(), key=lambda item: (-item[1], item[0]))[:CODES_SHOWN]],
        "without_result": without,
        "dead_letters": sum(entry["count"] for entry in without if entry["outcome"] == "dead"),
    }


def _changes(tally: _Tally) -> list[dict[str, Any]]:
    """Where results of another version or configuration began, oldest first: it differs from those of the minute with results before."""
    found: list[tuple[int, tuple[str, str]]] = []
    before: Iterable[tuple[str, str]] = ()
    for _, began in sorted(tally.scored_with.items()):
        now = sorted((at_ms, scored_with) for scored_with, at_ms in began.items())
        found += [one for one in (now if before else now[1:]) if one[1] not in before]
        before = began
    return [{"at": utc(at_ms), "suite_version": version, "config_digest": digest} for at_ms, (version, digest) in found[-CHANGES_SHOWN:]]


def _described(values: Sequence[float], value_max: float) -> dict[str, Any]:
    """One component's values."""
    ordered = sorted(values)
    low, high = min(0.0, ordered[0]), max(value_max, ordered[-1])
    # Counted between the edges that are told, as someone who asks for the cases of a bin does; rounded, because people read them.
    edges = [low, *(float(f"{low + (high / BINS - low / BINS) * place:.6g}") for place in range(1, BINS)), high]
    bins = [0] * BINS
    for value in ordered:
        bins[min(BINS, bisect_right(edges, value)) - 1] += 1
    return {
        "count": len(ordered),
        "mean": math.fsum(ordered) / len(ordered),
        "low": low,
        "high": high,
        "edges": edges,
        "bins": bins,
        "quantiles": {name: quantile(ordered, share) for name, share in QUANTILES.items()},
    }


def quantile(ordered: Sequence[float], share: float) -> float:
    """The quantile of ascending values, interpolated between its neighbours."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
