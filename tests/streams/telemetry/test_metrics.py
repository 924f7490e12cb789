import re
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from touchstone.schemas.prevalence import JudgeStatus
from touchstone.scorers.base import Reading
from touchstone.scorers.histogram import Histogram
from touchstone.streams.telemetry import metric_list
from touchstone.streams.telemetry.metric_list import BY_NAME, DEAD_REASONS, FORMATS, LATENCY_BUCKETS_S, METRICS, SCORE_BUCKETS, Happening, State
from touchstone.streams.telemetry.metrics import WorkerMetrics
from touchstone.streams.telemetry.replay_counts import ReplayCounts
from touchstone.streams.telemetry.serve_counts import ServeCounts
from touchstone.streams.telemetry.service_counts import ArchiverCounts, ProjectorCounts

ROOT = Path(__file__).parents[3]


def samples(registry: CollectorRegistry) -> list[Sample]:
    return [sample for family in text_string_to_metric_families(generate_latest(registry).decode()) for sample in family.samples]


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    """One number of a scrape; None where it is not there."""
    return next((sample.value for sample in samples(registry) if sample.name == name and labels.items() <= sample.labels.items()), None)


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def worker(registry: CollectorRegistry) -> WorkerMetrics:
    return WorkerMetrics("safe_v0", "1", "direct", registry, topics=("generations",), components=("CR",))


@pytest.fixture
def projector(registry: CollectorRegistry) -> ProjectorCounts:
    return ProjectorCounts(registry)


def exposed(registry: CollectorRegistry) -> Iterator[tuple[str, frozenset[str]]]:
    """Name on the list and label names of every sample of ours."""
    for sample in samples(registry):
        if sample.name.startswith("touchstone_"):
            yield re.sub(r"_(bucket|sum|count)$", "", sample.name), frozenset(sample.labels) - {"le"}


@pytest.fixture
def archiver(registry: CollectorRegistry) -> ArchiverCounts:
    return ArchiverCounts(registry)


@pytest.fixture
def serve(registry: CollectorRegistry) -> ServeCounts:
    return ServeCounts(registry)


@pytest.fixture
def replay(registry: CollectorRegistry) -> ReplayCounts:
    return ReplayCounts("safe_v0", "1", registry)


@pytest.mark.parametrize("process", get_args(metric_list.Process))
def test_a_scrape_holds_every_metric_of_the_list_with_its_labels_and_no_other(
    process: metric_list.Process, request: pytest.FixtureRequest, registry: CollectorRegistry
) -> None:
    counts = request.getfixturevalue(process)

    def worker_knows() -> None:
        counts.lag({("generations", 0): (1, 2.0, 1.0)})
        counts.config_digest = "0" * 16

    def projector_knows() -> None:
        counts.lag({0: 1})
        counts.judges([judged()])

    known = {"worker": worker_knows, "projector": projector_knows, "archiver": lambda: counts.lag({0: 1}), "serve": lambda: counts.broker(up=True)}
    known.get(process, lambda: None)()
    listed = {(metric.name, frozenset(metric.labels)) for metric in METRICS if process in metric.processes}
    assert set(exposed(registry)) == listed


def judged(**told: Any) -> JudgeStatus:
    calibration = {
        "subject": "safe_v0",
        "at": "2026-01-01T00:00:00Z",
        "basis": {"judge": "d", "labels": "l"},
        "seed": 1,
        "train": 0,
        "dev": NO_COUNTS,
        "test": None,
        "test_reads": 0,
        "floor": 0.8,
        "least": 30,
    }
    window = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"}
    rate = {"subject": "safe_v0", "window": window, "seen": {"count": 3, "total": 12}, "calibration_at": "2026-01-01T00:00:00Z"}
    corrected = {"corrected": 0.2, "low": 0.1, "high": 0.3}
    plain = {"subject": "safe_v0", "state": "stale", "decides": False, "stale": ["its prompt"], "outdated": True, "below_floor": ["fail_recall is low"]}
    return JudgeStatus.model_validate({**plain, "calibration": calibration, "prevalence": rate | corrected, **told})


NO_COUNTS = {"failed": 0, "failed_found": 0, "passed": 0, "passed_found": 0}


def test_a_projector_tells_of_each_judge_its_rate_and_what_is_wrong_with_it(projector: ProjectorCounts, registry: CollectorRegistry) -> None:
    projector.judges([judged()])
    bounds = {bound: value(registry, "touchstone_corrected_failure_ratio", subject="safe_v0", bound=bound) for bound in ("low", "estimate", "high")}
    assert bounds == {"low": 0.1, "estimate": 0.2, "high": 0.3}
    assert value(registry, "touchstone_seen_failure_ratio", subject="safe_v0") == 0.25
    assert [value(registry, f"touchstone_{name}", subject="safe_v0") for name in ("calibration_stale", "judge_shadow", "judge_below_floor")] == [1, 1, 1]
    projector.judges([judged(state="promoted", decides=True, outdated=False, below_floor=[])])
    assert [value(registry, f"touchstone_{name}", subject="safe_v0") for name in ("calibration_stale", "judge_shadow", "judge_below_floor")] == [0, 0, 0]


def test_a_rate_that_cannot_be_corrected_is_absent_and_not_zero(projector: ProjectorCounts, registry: CollectorRegistry) -> None:
    rate = judged().prevalence
    assert rate is not None
    projector.judges([judged(prevalence=rate.model_copy(update={"corrected": None, "low": None, "high": None, "refused": "chance"}).model_dump(by_alias=True))])
    assert value(registry, "touchstone_corrected_failure_ratio", subject="safe_v0", bound="estimate") is None
    projector.judges([judged(calibration=None, prevalence=None, state="uncalibrated")])
    assert value(registry, "touchstone_calibration_stale", subject="safe_v0") is None


def test_every_happening_and_every_state_of_a_worker_is_on_the_list() -> None:
    assert {f"touchstone_{name}_total" for name in get_args(Happening)} | {f"touchstone_{name}" for name in get_args(State)} <= BY_NAME.keys()


def test_units_are_in_the_names_that_have_one() -> None:
    for metric in METRICS:
        assert metric.name.endswith("_total") == (metric.kind == "counter"), metric.name
        assert (metric.unit == "seconds") == (metric.name.endswith("_seconds") and "timestamp" not in metric.name), metric.name


@pytest.mark.usefixtures("worker")
def test_the_counters_of_a_worker_stand_at_zero_before_the_first_event(registry: CollectorRegistry) -> None:
    assert value(registry, "touchstone_events_consumed_total", topic="generations", format="cloudevents_binary") == 0
    assert value(registry, "touchstone_events_outcomes_total", outcome="shed", reason="too_old") == 0
    assert value(registry, "touchstone_events_rejected_total", reason="not_json") == 0
    assert value(registry, "touchstone_results_total", label="unscored") == 0
    assert value(registry, "touchstone_commit_failures_total") == 0
    assert value(registry, "touchstone_values_out_of_range_total", component="CR") == 0
    assert value(registry, "touchstone_score_ratio_count", metric="CR") == 0
    assert value(registry, "touchstone_suite_up") == 0


@pytest.mark.usefixtures("projector")
def test_the_counters_of_a_projector_stand_at_zero_before_the_first_record(registry: CollectorRegistry) -> None:
    assert value(registry, "touchstone_projector_records_total", kind="rejected:not_finite") == 0
    assert value(registry, "touchstone_reports_total", final="true") == 0
    assert value(registry, "touchstone_projector_dependency_up", dependency="store") == 0


def test_every_code_and_format_of_the_intake_is_known_beforehand() -> None:
    source = "".join(
        (ROOT / "touchstone" / "streams" / name).read_text() for name in ("wire/codec.py", "wire/headers.py", "intake/scoring.py", "intake/intake.py")
    )
    codes = set(re.findall(r'(?:Reject\(|return \()"([a-z_0-9]+)"', source))
    assert len(codes) > 10
    assert codes <= set(DEAD_REASONS)
    assert set(re.findall(r'form = "([a-z_]+)"', source)) <= set(FORMATS)


def test_every_code_of_an_unreadable_result_is_known_beforehand() -> None:
    source = (ROOT / "touchstone" / "streams" / "account" / "projection.py").read_text()
    codes = set(re.findall(r'Unreadable\("([a-z_]+)"', source))
    assert codes
    assert codes <= set(metric_list.UNREADABLE_RESULTS)


@pytest.mark.parametrize("process", get_args(metric_list.Process))
def test_each_process_tells_what_runs_and_what_it_costs(process: str, request: pytest.FixtureRequest, registry: CollectorRegistry) -> None:
    request.getfixturevalue(process)
    assert value(registry, "touchstone_build_info", process=process) == 1
    assert (value(registry, "process_resident_memory_bytes") or 0) > 0
    assert value(registry, "python_gc_collections_total", generation="0") is not None


@pytest.mark.parametrize(("told", "value_max"), [(1.2, 1.0), (-0.1, 1.0), (100.5, 100.0)])
def test_a_value_that_is_no_share_is_counted_apart_and_stays_out_of_the_ratio(
    worker: WorkerMetrics, registry: CollectorRegistry, told: float, value_max: float
) -> None:
    worker.results({("Pass", (("CR", told),)): 3}, value_max)
    assert value(registry, "touchstone_values_out_of_range_total", component="CR") == 3
    assert value(registry, "touchstone_score_ratio_count", metric="CR") == 0
    assert value(registry, "touchstone_results_total", label="Pass") == 3


def test_a_mean_that_rounding_lifts_above_one_is_one(worker: WorkerMetrics, registry: CollectorRegistry) -> None:
    worker.results({("Pass", (("CR", 1.0000000000000002),)): 1})
    assert value(registry, "touchstone_score_ratio_bucket", metric="CR", le="1.0") == 1
    assert value(registry, "touchstone_values_out_of_range_total", component="CR") == 0


def test_a_reading_cannot_take_a_name_of_the_list(worker: WorkerMetrics, registry: CollectorRegistry) -> None:
    worker.readings = lambda: [Reading("commits", "counter", "Mine.", 7.0)]
    assert [sample.value for sample in samples(registry) if sample.name == "touchstone_commits_total"] == [0]
    assert value(registry, "touchstone_readings_failures_total") == 2  # one for each scrape


def test_the_page_on_metrics_shows_the_list_of_today() -> None:
    text = (ROOT / "docs" / "metrics.md").read_text()
    assert metric_list.page(text) == text, "run: python -m touchstone.streams.telemetry.metric_list docs/metrics.md"


@pytest.mark.parametrize("threshold", [0.5, 0.6, 0.8, 1.0])
def test_every_threshold_of_the_specifications_is_a_boundary(threshold: float) -> None:
    assert threshold in SCORE_BUCKETS


@given(st.lists(st.floats(0, 4000, allow_nan=False), max_size=40), st.floats(4000, 5000))
def test_ages_counted_together_fall_where_they_would_one_by_one(ages: list[float], now: float) -> None:
    together = Histogram(LATENCY_BUCKETS_S)
    stamps = sorted(now - age for age in ages)
    together.observe_ages(stamps, now)
    counts = [0] * (len(LATENCY_BUCKETS_S) + 1)
    for stamp in stamps:
        # the comparison that the joint count makes: stamp >= now - bound
        counts[next((n for n, bound in enumerate(LATENCY_BUCKETS_S) if stamp >= now - bound), len(LATENCY_BUCKETS_S))] += 1
    running = 0
    for (_, seen), count in zip(together.buckets(), counts, strict=True):
        running += count
        assert seen == running
    assert together.count == len(ages)
    assert together.sum == pytest.approx(sum(now - stamp for stamp in stamps), abs=1e-6)


def test_a_value_on_a_bound_counts_as_at_most_that_bound() -> None:
    histogram = Histogram((0.5, 1.0))
    histogram.observe(0.5)
    assert histogram.buckets()[0] == (0.5, 1)
    assert bisect_left((0.5, 1.0), 0.5) == 0
