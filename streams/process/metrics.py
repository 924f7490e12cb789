"""Every metric of Touchstone, once.

Counting happens for every event on one thread, so the hot families are plain numbers behind a custom collector:
a tenth of the price of a labelled child, and the accounting families are read under one lock, so that
`consumed = scored + skipped + shed + dead + released + in flight` holds in every scrape.
"""

import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client import Histogram as LibraryHistogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from touchstone.scorers.base import Reading
from touchstone.streams.account.projector import ProjectorMetrics
from touchstone.streams.process.readings import families

__all__ = ["CollectorRegistry", "Histogram", "ProjectorCounts", "WorkerMetrics"]

log = structlog.get_logger(__name__)

#: Scores: every threshold a specification names must be an exact boundary, or `le` queries return nothing.
SCORE_BUCKETS = (0.0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 1.0)
STAGE_BUCKETS_S = (0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
LATENCY_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)


class Histogram:
    """Counts in fixed buckets; `observe` costs a bisection and two additions."""

    __slots__ = ("_bounds", "_counts", "_sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float, times: int = 1) -> None:
        """Count a value; one equal to a bound falls into that bound's bucket (`le`)."""
        self._counts[bisect_left(self._bounds, value)] += times
        self._sum += value * times

    def observe_ages(self, stamps: list[float], now: float) -> None:
        """Count `now - stamp` for ascending stamps: one bisection per bucket instead of one per value."""
        upper = len(stamps)
        for index, bound in enumerate(self._bounds):
            lower = bisect_left(stamps, now - bound, 0, upper)
            self._counts[index] += upper - lower
            upper = lower
        self._counts[-1] += upper
        self._sum += now * len(stamps) - sum(stamps)

    def cumulative(self) -> tuple[list[tuple[str, float]], float]:
        """Buckets as Prometheus wants them, and the sum."""
        total = 0
        buckets: list[tuple[str, float]] = []
        for bound, count in zip((*self._bounds, float("inf")), self._counts, strict=True):
            total += count
            buckets.append(("+Inf" if bound == float("inf") else repr(float(bound)), float(total)))
        return buckets, self._sum


class WorkerMetrics(Collector):
    """What a worker counts. All methods are called from its event loop; a scrape may come from any thread.

    `readings`: what the suite's scorer counts itself, asked for at every scrape.
    """

    def __init__(
        self, suite: str, version: str, runner: str, registry: CollectorRegistry | None = None, readings: Callable[[], Iterable[Reading]] | None = None
    ) -> None:
        self._suite = suite
        self.readings = readings
        self._info = {"suite": suite, "suite_version": version, "runner": runner}
        self._lock = threading.Lock()
        self._consumed: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._outcomes: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._released = 0
        self._in_flight = 0
        self._results: defaultdict[str, int] = defaultdict(int)
        self._scores: dict[str, Histogram] = {}
        self._stages: dict[str, Histogram] = {}
        self._latency = Histogram(LATENCY_BUCKETS_S)
        self._last_result_s = 0.0
        self._events: defaultdict[str, int] = defaultdict(int)
        self._gauges: dict[str, float] = {}
        self._lag: dict[tuple[str, int], tuple[int, float]] = {}
        if registry is not None:
            registry.register(self)

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

    def released(self, count: int) -> None:
        """Records in flight were given back by a rebalance; whoever owns the partition consumes them again."""
        with self._lock:
            self._released += count
            self._in_flight -= count

    def results(self, counts: Mapping[tuple[str, tuple[tuple[str, float], ...]], int], value_max: float = 1.0) -> None:
        """Labels and component values of a slice's results. `counts`: (label, ((component, value), …)) → how many; `value_max`: what is told as 1."""
        for (label, values), times in counts.items():
            self._results[label] += times
            for name, value in values:
                histogram = self._scores.get(name)
                if histogram is None:
                    histogram = self._scores[name] = Histogram(SCORE_BUCKETS)
                histogram.observe(value / value_max, times)

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
        self._latency.observe_ages([min(stamp / 1000, now_s) for stamp in sorted(stamps_ms) if stamp >= 0], now_s)
        self._last_result_s = now_s

    def count(self, name: str, amount: int = 1) -> None:
        """Count a rare happening: `rebalances`, `commits`, `commit_failures`, `outbox_retries`, `unavailable`."""
        self._events[name] += amount

    def gauge(self, name: str, value: float) -> None:
        """Set a state: `assigned_partitions`, `outbox_up`, `suite_up`."""
        self._gauges[name] = value

    def lag(self, lags: Mapping[tuple[str, int], tuple[int, float]]) -> None:
        """Replace the lag of the assigned partitions: (topic, partition) → (records, seconds)."""
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

    def collect(self) -> Iterator[Metric]:
        """All families, for one scrape."""
        yield from self._collect_accounting()
        yield from self._collect_scoring()
        yield from self._collect_readings()
        yield from self._collect_states()

    def _collect_accounting(self) -> Iterator[Metric]:
        with self._lock:
            consumed, outcomes, released, in_flight = dict(self._consumed), dict(self._outcomes), self._released, self._in_flight
        suite = self._suite
        family = CounterMetricFamily("touchstone_events_consumed", "Records read from an input topic.", labels=["suite", "topic", "format"])
        for (topic, form), count in consumed.items():
            family.add_metric([suite, topic, form], count)
        yield family
        family = CounterMetricFamily("touchstone_events_outcomes", "Acknowledged outcomes of consumed records.", labels=["suite", "outcome", "reason"])
        rejected = CounterMetricFamily("touchstone_events_rejected", "Records sent to the dead-letter topic.", labels=["suite", "reason"])
        for (outcome, reason), count in outcomes.items():
            family.add_metric([suite, outcome, reason], count)
            if outcome == "dead":
                rejected.add_metric([suite, reason], count)
        yield family
        yield rejected
        family = CounterMetricFamily("touchstone_events_released", "Records given back by a rebalance before their outcome.", labels=["suite"])
        family.add_metric([suite], released)
        yield family
        gauge = GaugeMetricFamily("touchstone_events_in_flight", "Records consumed whose outcome is not acknowledged yet.", labels=["suite"])
        gauge.add_metric([suite], in_flight)
        yield gauge

    def _collect_scoring(self) -> Iterator[Metric]:
        suite = self._suite
        results = CounterMetricFamily("touchstone_results", "Results by label.", labels=["suite", "label"])
        for label, count in list(self._results.items()):
            results.add_metric([suite, label], count)
        yield results
        scores = HistogramMetricFamily("touchstone_score_ratio", "Component values of results, 0 to 1.", labels=["suite", "metric"])
        for name, histogram in list(self._scores.items()):
            scores.add_metric([suite, name], *histogram.cumulative())
        yield scores
        stages = HistogramMetricFamily("touchstone_stage_duration_seconds", "Time of one stage.", labels=["suite", "stage"])
        for name, histogram in list(self._stages.items()):
            stages.add_metric([suite, name], *histogram.cumulative())
        yield stages
        latency = HistogramMetricFamily("touchstone_event_latency_seconds", "Record timestamp to acknowledged result.", labels=["suite"])
        latency.add_metric([suite], *self._latency.cumulative())
        yield latency
        last = GaugeMetricFamily("touchstone_last_result_timestamp_seconds", "When the last result was acknowledged.", labels=["suite"])
        last.add_metric([suite], self._last_result_s)
        yield last

    def _collect_readings(self) -> Iterator[Metric]:
        if self.readings is None:
            return
        try:
            yield from list(families(self._suite, self.readings()))
        except Exception as error:  # noqa: BLE001 -- a scorer's defect must not cost the worker its other metrics
            self.count("readings_failures")
            log.warning("readings_failed", code=type(error).__name__)

    def _collect_states(self) -> Iterator[Metric]:
        suite = self._suite
        yield InfoMetricFamily("touchstone_build", "What runs.", value=self._info)
        for name, count in sorted(self._events.items()):
            family = CounterMetricFamily(f"touchstone_{name}", f"Number of {name.replace('_', ' ')}.", labels=["suite"])
            family.add_metric([suite], count)
            yield family
        for name, value in sorted(self._gauges.items()):
            gauge = GaugeMetricFamily(f"touchstone_{name}", f"State: {name.replace('_', ' ')}.", labels=["suite"])
            gauge.add_metric([suite], value)
            yield gauge
        records = GaugeMetricFamily("touchstone_consumer_lag_records", "End offset minus next offset to settle.", labels=["suite", "topic", "partition"])
        seconds = GaugeMetricFamily(
            "touchstone_consumer_lag_seconds", "Time since anything was settled, where records wait.", labels=["suite", "topic", "partition"]
        )
        for (topic, partition), (lag, age_s) in list(self._lag.items()):
            records.add_metric([suite, topic, str(partition)], lag)
            seconds.add_metric([suite, topic, str(partition)], age_s)
        yield records
        yield seconds


class ProjectorCounts(ProjectorMetrics):
    """What the projector counts; per batch of records, so the library's own metrics are cheap enough."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._records = Counter("touchstone_projector_records", "Records of the results topic, by what became of them.", ["kind"], registry=registry)
        self._transactions = LibraryHistogram(
            "touchstone_projector_transaction_seconds", "Time of one store transaction.", buckets=STAGE_BUCKETS_S, registry=registry
        )
        self._lag = Gauge("touchstone_projector_lag_records", "Records of the results topic that are not in the store yet.", ["partition"], registry=registry)
        self._reports = Counter("touchstone_reports", "Batch reports acknowledged by the broker.", ["final"], registry=registry)
        self._report_s = LibraryHistogram("touchstone_report_duration_seconds", "Time to compute one batch report.", buckets=STAGE_BUCKETS_S, registry=registry)
        self._up = Gauge("touchstone_projector_dependency_up", "Whether the broker and the store answer.", ["dependency"], registry=registry)
        self.down: set[str] = set()

    def records(self, kind: str, count: int) -> None:
        """Count records by what became of them."""
        self._records.labels(kind).inc(count)

    def transaction(self, seconds: float) -> None:
        """Time one transaction."""
        self._transactions.observe(seconds)

    def lag(self, partition: int, records: int) -> None:
        """Set the lag of one results partition."""
        self._lag.labels(str(partition)).set(records)

    def report(self, final: bool, seconds: float) -> None:
        """Count one acknowledged report."""
        self._reports.labels(str(final).lower()).inc()
        self._report_s.observe(seconds)

    def dependency(self, name: str, up: bool) -> None:
        """Note that the broker or the store came or went."""
        self._up.labels(name).set(1 if up else 0)
        (self.down.discard if up else self.down.add)(name)
