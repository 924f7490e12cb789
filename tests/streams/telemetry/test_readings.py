import re
from collections.abc import Iterable

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from touchstone.scorers.base import Reading
from touchstone.scorers.engines.batcher_metrics import Counts
from touchstone.streams.telemetry.metrics import WorkerMetrics

READINGS = (
    Reading("nli_pairs", "counter", "Pairs asked.", 7, (("source", "asked"),)),
    Reading("nli_pairs", "counter", "Pairs asked.", 5, (("source", "computed"),)),
    Reading("nli_queue_items", "gauge", "Items that wait.", 3),
    Reading("nli_wait_seconds", "histogram", "Time in the queue.", 0.75, (), ((0.1, 1), (1.0, 3), (float("inf"), 4))),
)


def scraped(readings: Iterable[Reading]) -> str:
    registry = CollectorRegistry()
    WorkerMetrics("summary_loss", "3.0", "direct", registry, lambda: readings)
    return generate_latest(registry).decode()


def test_readings_become_families_of_their_kind_with_the_suite_as_a_label() -> None:
    families = {family.name: family for family in text_string_to_metric_families(scraped(READINGS))}
    pairs = families["touchstone_nli_pairs"]
    assert pairs.type == "counter"
    assert {sample.labels["source"]: sample.value for sample in pairs.samples} == {"asked": 7, "computed": 5}
    assert {(sample.name, sample.labels["suite"]) for sample in pairs.samples} == {("touchstone_nli_pairs_total", "summary_loss")}
    assert (families["touchstone_nli_queue_items"].type, families["touchstone_nli_queue_items"].samples[0].value) == ("gauge", 3)


def test_a_histogram_keeps_its_buckets_sum_and_count() -> None:
    (family,) = [family for family in text_string_to_metric_families(scraped(READINGS)) if family.name == "touchstone_nli_wait_seconds"]
    values = {(sample.name.removeprefix("touchstone_nli_wait_seconds"), sample.labels.get("le")): sample.value for sample in family.samples}
    assert values == {("_bucket", "0.1"): 1, ("_bucket", "1.0"): 3, ("_bucket", "+Inf"): 4, ("_count", None): 4, ("_sum", None): 0.75}


def test_a_label_that_only_some_readings_have_is_empty_on_the_others() -> None:
    text = scraped([Reading("flushes", "counter", "Flushes.", 1, (("why", "idle"),)), Reading("flushes", "counter", "Flushes.", 2)])
    assert 'touchstone_flushes_total{suite="summary_loss",why=""} 2.0' in text


def test_a_defect_in_the_readings_costs_no_other_metric() -> None:
    def broken() -> Iterable[Reading]:
        yield READINGS[0]
        raise RuntimeError("CANARY")

    registry = CollectorRegistry()
    WorkerMetrics("summary_loss", "3.0", "direct", registry, broken)
    text = generate_latest(registry).decode()
    assert "touchstone_events_in_flight" in text
    assert "touchstone_readings_failures_total" in text
    assert "CANARY" not in text


def test_every_family_name_is_one_that_prometheus_takes() -> None:
    for family in text_string_to_metric_families(scraped(READINGS)):
        assert re.fullmatch(r"(touchstone|process|python)_[a-z][a-z0-9_]*", family.name)


def test_everything_that_an_engine_counts_is_read_back_by_prometheus() -> None:
    counts = Counts("nli")
    counts.forward_s.observe(0.3)
    counts.flushes["idle"] += 2
    readings = list(counts.readings(depth=3, limit=64, budget=8_192, up=True))
    families = {family.name: family for family in text_string_to_metric_families(scraped(readings))}
    for reading in readings:
        family = families[f"touchstone_{reading.name}"]
        assert family.type == reading.kind
        assert all({"suite", "engine"} <= sample.labels.keys() for sample in family.samples)
    flushes = families["touchstone_engine_flushes"].samples
    assert {sample.labels["reason"]: sample.value for sample in flushes}["idle"] == 2
