"""What the archiver counts; `touchstone.streams.telemetry.metric_list` has the names."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from touchstone.scorers.histogram import Histogram
from touchstone.streams.telemetry.metric_list import STAGE_BUCKETS_S, family, zeros
from touchstone.streams.telemetry.metrics import build_info, register


class ArchiverCounts(Collector):
    """What an archiver counts, batch by batch of results."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self._info = build_info("archiver")
        self._results: defaultdict[tuple[str, ...], int] = defaultdict(int, zeros("touchstone_archiver_results_total"))
        self._cases: defaultdict[tuple[str, ...], int] = defaultdict(int, zeros("touchstone_archiver_cases_total"))
        self._up: dict[tuple[str, ...], int] = zeros("touchstone_archiver_dependency_up")
        self._writes = Histogram(STAGE_BUCKETS_S)
        self._lag: dict[tuple[str, ...], int] = {}
        self._commits = 0
        register(registry, self)

    def results(self, read: int, wanted: int) -> None:
        """Results were read, and so many of them belong to cases that are kept."""
        self._results["yes",] += wanted
        self._results["no",] += read - wanted

    def outcome(self, outcome: str, count: int) -> None:
        """What became of `count` cases."""
        self._cases[outcome,] += count

    def written(self, seconds: float) -> None:
        """Count one write of objects and rows, and its duration."""
        self._writes.observe(seconds)

    def committed(self) -> None:
        """Count a commit."""
        self._commits += 1

    def lag(self, records: Mapping[int, int]) -> None:
        """Set, for every partition of this archiver, how many records it has not read."""
        self._lag = {(str(partition),): count for partition, count in records.items()}

    def dependency(self, name: str, up: bool) -> None:
        """Set whether `kafka`, `objects` or `store` answers."""
        self._up[name,] = int(up)
        if name == "kafka" and not up:
            self._lag = {}  # the lag is unknown now, and an old number would look healthy

    def collect(self) -> Iterator[Family]:
        """All families, for one scrape."""
        yield self._info
        yield family("touchstone_archiver_results_total", dict(self._results))
        yield family("touchstone_archiver_cases_total", dict(self._cases))
        yield family("touchstone_archiver_write_seconds", {(): self._writes})
        yield family("touchstone_archiver_lag_records", dict(self._lag))
        yield family("touchstone_archiver_commits_total", {(): self._commits})
        yield family("touchstone_archiver_dependency_up", dict(self._up))
