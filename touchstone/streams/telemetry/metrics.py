"""What a worker counts; `touchstone.streams.telemetry.metric_list` has the names.

Counting happens for every event on one thread, so the counts are plain numbers behind a custom collector: a tenth of the
price of a labelled child, and the accounting families are read under one lock, so that
`consumed = scored + skipped + shed + dead + released + in flight` holds in every scrape.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import get_args

import structlog
from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from touchstone.scorers.base import Reading
from touchstone.scorers.histogram import Histogram
from touchstone.streams.telemetry.metric_list import LATENCY_BUCKETS_S, SCORE_BUCKETS, STAGE_BUCKETS_S, STAGES, Happening, Process, State, family, zeros
from touchstone.streams.telemetry.readings import families

__all__ = ["CollectorRegistry", "WorkerMetrics"]

log = structlog.get_logger(__name__)

DISTRIBUTION = "touchstone-stream"
#: A mean of shares may come out a little above 1; that is arithmetic, and no value out of range.
ROUNDING = 1e-9


def register(registry: CollectorRegistry | None, collector: Collector) -> None:
    """Expose a process's counts, and the library's own: `process_*` and `python_gc_*`."""
    if registry is not None:
        registry.register(collector)
        ProcessCollector(registry=registry)
        GCCollector(registry=registry)


def build_info(process: Process, suite: str = "", suite_version: str = "", runner: str = "") -> Family:
    """What runs in this process."""
    try:
        own = version(DISTRIBUTION)
    except PackageNotFoundError:  # run from a tree that was never installed
        own = ""
    return family("touchstone_build_info", {(process, own, suite, suite_version, runner): 1})


class WorkerMetrics(Collector):
    """What a worker counts. All methods are called from its event loop; a scrape may come from any thread.

    `readings`: what the suite's scorer counts itself, asked for at every scrape. `topics`, `components`: what the suite
    reads and the names of its values, so that their metrics are zero from the start.
    """

    def __init__(
        self,
        suite: str,
        suite_version: str,
        runner: str,
        registry: CollectorRegistry | None = None,
        readings: Callable[[], Iterable[Reading]] | None = None,
        *,
        topics: Iterable[str] = (),
        components: Iterable[str] = (),
    ) -> None:
        self._suite = suite
        self._suite_version = suite_version
        #: Of the suite's configuration; empty until it is built.
        self.config_digest = ""
        self.readings = readings
        self._info = build_info("worker", suite, suite_version, runner)
        self._lock = threading.Lock()
        self._consumed: defaultdict[tuple[str, ...], int] = defaultdict(int)
        topics = tuple(topics)
        for topic in topics:
            self._consumed.update(zeros("touchstone_events_consumed_total", topic))
        self._outcomes: defaultdict[tuple[str, ...], int] = defaultdict(int, zeros("touchstone_events_outcomes_total"))
        self._expired: defaultdict[tuple[str, ...], int] = defaultdict(int, {(topic,): 0 for topic in topics})
        self._released = 0
        self._in_flight = 0
        self._results: defaultdict[str, int] = defaultdict(int, {label: 0 for (label,) in zeros("touchstone_results_total")})
        self._scores = {name: Histogram(SCORE_BUCKETS) for name in components}
        self._out_of_range: defaultdict[str, int] = defaultdict(int, dict.fromkeys(self._scores, 0))
        self._stages = {name: Histogram(STAGE_BUCKETS_S) for name in STAGES}
        self._latency = Histogram(LATENCY_BUCKETS_S)
        self._last_result_s = 0.0
        self._happenings: dict[Happening, int] = dict.fromkeys(get_args(Happening), 0)
        self._states: dict[State, float] = dict.fromkeys(get_args(State), 0.0)
        self._lag: dict[tuple[str, int], tuple[int, float, float]] = {}
        register(registry, self)

    def consumed(self, topic: str, formats: Mapping[str, int]) -> None:
        """Records were read and are now in flight. `formats`: how each was read → how many."""
        with self._lock:
            for form, count in formats.items():
                self._consumed[topic, form] += count
                self._in_flight += count

    def finished(self, outcomes: Mapping[tuple[str, str], int]) -> None:
        """Outcomes were acknowledged by the broker. `outcomes`: (outcome, reason) → how many."""
        with self._lock:
            for key, count in outcomes.items():
                self._outcomes[key] += count
                self._in_flight -= count

    def expired(self, topic: str, count: int) -> None:
        """The ledger has offsets that Kafka deleted before a worker had read them; none of them was ever in flight."""
        with self._lock:
            self._expired[topic,] += count

    def released(self, count: int) -> None:
        """Records in flight were given back by a rebalance; the partition's new owner consumes them again."""
        with self._lock:
            self._released += count
            self._in_flight -= count

    def results(self, counts: Mapping[tuple[str, tuple[tuple[str, float], ...]], int], value_max: float = 1.0) -> None:
        """Labels and component values of a slice's results. `counts`: (label, ((component, value), …)) → how many; `value_max`: the value that counts as 1."""
        seen: dict[tuple[str, float], int] = {}
        for (label, values), times in counts.items():
            self._results[label] += times
            for one in values:  # the same few values come again and again
                seen[one] = seen.get(one, 0) + times
        for (name, value), times in seen.items():
            share = value / value_max
            if not -ROUNDING <= share <= 1 + ROUNDING:
                self._out_of_range[name] += times
                continue
            histogram = self._scores.get(name)
            if histogram is None:
                histogram = self._scores[name] = Histogram(SCORE_BUCKETS)
            histogram.observe(min(max(share, 0.0), 1.0), times)

    def stage(self, name: str, seconds: float, times: int = 1) -> None:
        """Time one stage took; for a slice, the mean of its records, `times` over."""
        histogram = self._stages.get(name)
        if histogram is None:
            histogram = self._stages[name] = Histogram(STAGE_BUCKETS_S)
        histogram.observe(seconds, times)

    def latency(self, stamps_ms: Iterable[int], now_s: float) -> None:
        """Results acknowledged at `now_s`, for records with these timestamps in milliseconds.

        -1 is Kafka's "no timestamp" and has no age. What a producer dated into the future is new: one such record would
        otherwise turn the sum of all ages around.
        """
        stamps = [stamp / 1000 for stamp in sorted(stamps_ms) if stamp >= 0]
        if stamps and stamps[-1] > now_s:
            stamps = [min(stamp, now_s) for stamp in stamps]
        self._latency.observe_ages(stamps, now_s)
        self._last_result_s = now_s

    def count(self, name: Happening, amount: int = 1) -> None:
        """Count a rare event."""
        self._happenings[name] += amount

    def gauge(self, name: State, value: float) -> None:
        """Set a state."""
        self._states[name] = value

    def lag(self, lags: Mapping[tuple[str, int], tuple[int, float, float]]) -> None:
        """Replace the lag of the assigned partitions: (topic, partition) → (records, age of the oldest, time without progress); times in seconds."""
        self._lag = dict(lags)

    def totals(self) -> dict[str, int]:
        """The accounting identity's terms, read at one moment."""
        with self._lock:
            by_outcome: defaultdict[str, int] = defaultdict(int)
            for (outcome, _), count in self._outcomes.items():
                by_outcome[outcome] += count
            return {
                "consumed": sum(self._consumed.values()),
                **{name: by_outcome[name] for name in ("scored", "skipped", "shed", "dead")},
                "released": self._released,
                "in_flight": self._in_flight,
            }

    def collect(self) -> Iterator[Family]:
        """All families, for one scrape."""
        yield self._info
        yield from self._collect_accounting()
        yield from self._collect_scoring()
        yield from self._collect_readings()
        yield from self._collect_states()

    def _collect_accounting(self) -> Iterator[Family]:
        with self._lock:
            consumed, outcomes, released, in_flight = dict(self._consumed), dict(self._outcomes), self._released, self._in_flight
        suite = self._suite
        yield family("touchstone_events_consumed_total", {(suite, *key): count for key, count in consumed.items()})
        yield family("touchstone_events_outcomes_total", {(suite, *key): count for key, count in outcomes.items()})
        yield family("touchstone_events_rejected_total", {(suite, reason): count for (outcome, reason), count in outcomes.items() if outcome == "dead"})
        yield family("touchstone_events_released_total", {(suite,): released})
        yield family("touchstone_events_expired_total", {(suite, *key): count for key, count in list(self._expired.items())})
        yield family("touchstone_events_in_flight", {(suite,): in_flight})

    def _collect_scoring(self) -> Iterator[Family]:
        suite = self._suite
        results = list(self._results.items())
        yield family("touchstone_results_total", {(suite, label): count for label, count in results})
        if scored_with := self.config_digest:
            own: dict[tuple[str, ...], int] = {(suite, self._suite_version, scored_with, label): count for label, count in results}
            yield family("touchstone_results_by_configuration_total", own)
        yield family("touchstone_score_ratio", {(suite, name): seen for name, seen in list(self._scores.items())})
        yield family("touchstone_values_out_of_range_total", {(suite, name): count for name, count in list(self._out_of_range.items())})
        yield family("touchstone_stage_duration_seconds", {(suite, name): seen for name, seen in list(self._stages.items())})
        yield family("touchstone_event_latency_seconds", {(suite,): self._latency})
        yield family("touchstone_last_result_timestamp_seconds", {(suite,): self._last_result_s})

    def _collect_readings(self) -> Iterator[Family]:
        if self.readings is None:
            return
        try:
            yield from list(families(self._suite, self.readings()))
        except Exception as error:  # noqa: BLE001 -- a scorer's defect must not cost the worker its other metrics
            self.count("readings_failures")
            log.warning("readings_failed", code=type(error).__name__)

    def _collect_states(self) -> Iterator[Family]:
        suite = self._suite
        for happening, count in self._happenings.items():
            yield family(f"touchstone_{happening}_total", {(suite,): count})
        for state, value in self._states.items():
            yield family(f"touchstone_{state}", {(suite,): value})
        lag = {(suite, topic, str(partition)): found for (topic, partition), found in self._lag.items()}
        for place, unit in enumerate(("lag_records", "lag_seconds", "standstill_seconds")):
            yield family(f"touchstone_consumer_{unit}", {key: found[place] for key, found in lag.items()})
