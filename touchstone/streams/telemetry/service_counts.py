"""What the projector and the archiver count, batch by batch of records; `touchstone.streams.telemetry.metric_list` has the names."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from touchstone.schemas.prevalence import JudgeStatus
from touchstone.scorers.histogram import Histogram
from touchstone.streams.telemetry.metric_list import STAGE_BUCKETS_S, family, zeros
from touchstone.streams.telemetry.metrics import build_info, register


class ServiceCounts(Collector):
    """Lag, and which dependencies answer."""

    def __init__(self, process: Literal["projector", "archiver"], registry: CollectorRegistry | None) -> None:
        self._info = build_info(process)
        self._names = (f"touchstone_{process}_lag_records", f"touchstone_{process}_dependency_up")
        self._lag: dict[tuple[str, ...], int] = {}
        self._up: dict[tuple[str, ...], int] = zeros(self._names[1])
        register(registry, self)

    def lag(self, records: Mapping[int, int]) -> None:
        """Set, for every results partition that this process reads, how many records are still to be done."""
        self._lag = {(str(partition),): count for partition, count in records.items()}

    def dependency(self, name: str, up: bool) -> None:
        """Set whether a dependency answers."""
        self._up[name,] = int(up)
        if name == "kafka" and not up:
            self._lag = {}  # the lag is unknown now, and an old number would look healthy

    def collect(self) -> Iterator[Family]:
        """All families, for one scrape."""
        yield self._info
        yield from (family(name, dict(samples)) for name, samples in zip(self._names, (self._lag, self._up), strict=True))


class ProjectorCounts(ServiceCounts):
    """What the projector counts."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self._records: defaultdict[tuple[str, ...], int] = defaultdict(int, zeros("touchstone_projector_records_total"))
        self._reports: defaultdict[tuple[str, ...], int] = defaultdict(int, zeros("touchstone_reports_total"))
        self._transactions = Histogram(STAGE_BUCKETS_S)
        self._report_s = Histogram(STAGE_BUCKETS_S)
        self._judges: Sequence[JudgeStatus] = ()
        self._looks_failed: defaultdict[tuple[str, ...], int] = defaultdict(int, zeros("touchstone_judges_failures_total"))
        super().__init__("projector", registry)

    def records(self, kind: str, count: int) -> None:
        """`count` more records of a kind: new, replaced, repeat, replay, ledger, or rejected:CODE."""
        self._records[kind,] += count

    def transaction(self, seconds: float) -> None:
        """Count one store transaction and its duration."""
        self._transactions.observe(seconds)

    def report(self, final: bool, seconds: float) -> None:
        """Count one acknowledged report and the time to compute it."""
        self._reports[str(final).lower(),] += 1
        self._report_s.observe(seconds)

    def judges(self, judges: Sequence[JudgeStatus]) -> None:
        """Set what is known of every judge."""
        self._judges = judges

    def look_failed(self, reason: str, count: int = 1) -> None:
        """Count what a look at the judges could not read or send."""
        self._looks_failed[reason,] += count

    def collect(self) -> Iterator[Family]:
        """All families, for one scrape."""
        yield from super().collect()
        yield family("touchstone_projector_records_total", dict(self._records))
        yield family("touchstone_projector_transaction_seconds", {(): self._transactions})
        yield family("touchstone_reports_total", dict(self._reports))
        yield family("touchstone_report_duration_seconds", {(): self._report_s})
        yield from _judge_families(self._judges)
        yield family("touchstone_judges_failures_total", dict(self._looks_failed))


def _judge_families(judges: Sequence[JudgeStatus]) -> Iterator[Family]:
    """What is known of each judge."""
    rates = {one.subject: one.prevalence for one in judges if one.prevalence is not None}
    bounds = {subject: {"estimate": rate.corrected, "low": rate.low, "high": rate.high} for subject, rate in rates.items()}
    yield family("touchstone_corrected_failure_ratio", {(name, bound): at for name, its in bounds.items() for bound, at in its.items() if at is not None})
    yield family("touchstone_seen_failure_ratio", {(name,): rate.seen.count / rate.seen.total for name, rate in rates.items() if rate.seen.total})
    yield family("touchstone_calibration_stale", {(one.subject,): int(one.outdated) for one in judges if one.calibration is not None})
    yield family("touchstone_judge_shadow", {(one.subject,): int(not one.decides) for one in judges})
    yield family("touchstone_judge_below_floor", {(one.subject,): int(bool(one.below_floor)) for one in judges if one.calibration is not None})


class ArchiverCounts(ServiceCounts):
    """What an archiver counts."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self._results: defaultdict[tuple[str, ...], int] = defaultdict(int, zeros("touchstone_archiver_results_total"))
        self._cases: defaultdict[tuple[str, ...], int] = defaultdict(int, zeros("touchstone_archiver_cases_total"))
        self._writes = Histogram(STAGE_BUCKETS_S)
        self._commits = 0
        self._anew = 0
        self._expired = 0
        super().__init__("archiver", registry)

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

    def skipped(self, *, made_anew: bool, expired: int) -> None:
        """The results topic was another one than before, or so many of its offsets were deleted unread."""
        self._anew += made_anew
        self._expired += expired

    def committed(self) -> None:
        """Count a commit."""
        self._commits += 1

    def collect(self) -> Iterator[Family]:
        """All families, for one scrape."""
        yield from super().collect()
        yield family("touchstone_archiver_results_total", dict(self._results))
        yield family("touchstone_archiver_cases_total", dict(self._cases))
        yield family("touchstone_archiver_write_seconds", {(): self._writes})
        yield family("touchstone_archiver_commits_total", {(): self._commits})
        yield family("touchstone_archiver_results_expired_total", {(): self._expired})
        yield family("touchstone_archiver_topics_made_anew_total", {(): self._anew})
