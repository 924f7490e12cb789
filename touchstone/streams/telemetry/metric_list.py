"""Every metric of Touchstone's processes: name, kind, unit, labels, and the label values that are exposed at zero from the start.

What counts asks this list for its families, so a name that is not here cannot be exposed. The table in docs/metrics.md is
made of it: `python -m touchstone.streams.telemetry.metric_list docs/metrics.md`.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import Literal, get_args

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily
from prometheus_client.core import Metric as Family

from touchstone.schemas.result import Label
from touchstone.scorers.histogram import Histogram

Kind = Literal["counter", "gauge", "histogram", "info"]
Process = Literal["worker", "projector", "serve", "replay", "archiver"]
#: Rare events of a worker: each is `touchstone_<name>_total`.
Happening = Literal["rebalances", "commits", "commit_failures", "outbox_retries", "unavailable", "readings_failures", "follow_ups"]
#: States of a worker: each is `touchstone_<name>`.
State = Literal["assigned_partitions", "broker_up", "dead_limit_reached", "outbox_up", "suite_up", "window_records"]
#: How a watcher that came back was continued: from the window in memory, from Kafka, or not at all.
Way = Literal["memory", "kafka", "reset"]
#: What carries a stream, and why a client was refused one.
Carrier = Literal["sse", "websocket"]
Refusal = Literal["full", "token", "host", "origin", "request"]

#: Scores: every threshold a specification names must be an exact boundary, or `le` queries return nothing.
SCORE_BUCKETS = (0.0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 1.0)
STAGE_BUCKETS_S = (0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
LATENCY_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)

#: How a record can be read; "none" is an empty record, "unread" one that was refused before it was parsed.
FORMATS = ("json", "cloudevents_binary", "cloudevents_structured", "cloudevents_batch", "none", "unread")
STAGES = ("decode", "score", "encode", "produce")
#: Why a record is dead. A record that fails its schema adds `schema_<kind of error>` to these when it is met.
DEAD_REASONS = (
    *("empty", "too_large", "not_utf8", "byte_order_mark", "too_deep", "not_json", "duplicate_key", "not_an_object"),
    *("record_damaged", "batch_too_large", "header_name_not_utf8", "cloudevents_batch", "cloudevents_data_missing", "specversion_unknown"),
    *("kind_missing", "kind_unknown", "codec_failed", "result_too_large"),
)
#: (outcome, reason)
OUTCOMES = (("scored", ""), ("skipped", "other_kind"), ("shed", "too_old"), ("shed", "budget"), *(("dead", reason) for reason in DEAD_REASONS))
UNREADABLE_RESULTS = ("empty", "unknown_type", "no_type", "invalid_result", "invalid_ledger", "not_finite", "out_of_bounds")
#: What became of a case that the archive's policy names.
ARCHIVED = ("kept", "known", "source_expired", "made_anew", "too_large", "unreadable")
#: Why a look at the judges failed: their folder, the annotations or the store could not be read, an event could not be sent, there are too many.
LOOK_FAILURES = ("folder", "annotations", "store", "kafka", "too_many", "defect")
RECORD_KINDS = ("new", "replaced", "repeat", "replay", "contradicted", "ledger", *(f"rejected:{code}" for code in UNREADABLE_RESULTS))

Values = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric as it is scraped. `start`: values of the last labels that are exposed at zero from the start."""

    name: str
    kind: Kind
    unit: str
    help: str
    labels: Values
    processes: tuple[Process, ...] = ("worker",)
    start: tuple[Values, ...] = ()
    buckets: tuple[float, ...] = ()


def _each(*values: str) -> tuple[Values, ...]:
    return tuple((value,) for value in values)


PROJECTOR: tuple[Process, ...] = ("projector",)
SERVE: tuple[Process, ...] = ("serve",)
REPLAY: tuple[Process, ...] = ("replay",)
ARCHIVER: tuple[Process, ...] = ("archiver",)
METRICS: tuple[Metric, ...] = (
    Metric("touchstone_events_consumed_total", "counter", "records", "Records read.", ("suite", "topic", "format"), start=_each(*FORMATS)),
    Metric("touchstone_events_outcomes_total", "counter", "records", "Acknowledged outcomes of records.", ("suite", "outcome", "reason"), start=OUTCOMES),
    Metric("touchstone_events_rejected_total", "counter", "records", "Records that became dead letters.", ("suite", "reason"), start=_each(*DEAD_REASONS)),
    Metric("touchstone_events_expired_total", "counter", "offsets", "Offsets that Kafka deleted before a worker had read them.", ("suite", "topic")),
    Metric("touchstone_events_released_total", "counter", "records", "Records given back by a rebalance before their outcome.", ("suite",)),
    Metric("touchstone_events_in_flight", "gauge", "records", "Records consumed whose outcome is not acknowledged yet.", ("suite",)),
    Metric("touchstone_results_total", "counter", "results", "Results by label.", ("suite", "label"), start=_each(*get_args(Label))),
    Metric(
        "touchstone_results_by_configuration_total",
        "counter",
        "results",
        "Results by label, with the version and the configuration (settings, models, prompts) that they were scored with. A process has one configuration.",
        ("suite", "suite_version", "config_digest", "label"),
    ),
    Metric(
        "touchstone_score_ratio",
        "histogram",
        "share of 1",
        "Component values of results. A suite's own scale is divided by its maximum (100 for scores of 0 to 100). 0.5, 0.6, 0.8 and 1.0 are exact boundaries.",
        ("suite", "metric"),
        buckets=SCORE_BUCKETS,
    ),
    Metric(
        "touchstone_values_out_of_range_total",
        "counter",
        "values",
        "Component values outside 0 to 1, which `touchstone_score_ratio` leaves out.",
        ("suite", "component"),
    ),
    Metric(
        "touchstone_stage_duration_seconds",
        "histogram",
        "seconds",
        "Time of one stage: for each event the mean of its slice, `produce` once for a slice.",
        ("suite", "stage"),
        start=_each(*STAGES),
        buckets=STAGE_BUCKETS_S,
    ),
    Metric(
        "touchstone_event_latency_seconds",
        "histogram",
        "seconds",
        "Record timestamp to acknowledged result.",
        ("suite",),
        buckets=LATENCY_BUCKETS_S,
    ),
    Metric("touchstone_last_result_timestamp_seconds", "gauge", "Unix time", "When the last result was acknowledged; 0 before the first.", ("suite",)),
    Metric("touchstone_consumer_lag_records", "gauge", "records", "End offset minus settled offset.", ("suite", "topic", "partition")),
    Metric("touchstone_consumer_lag_seconds", "gauge", "seconds", "Age of the oldest record that waits.", ("suite", "topic", "partition")),
    Metric(
        "touchstone_consumer_standstill_seconds",
        "gauge",
        "seconds",
        "Time since anything was settled on the partition, or since its work began, while records wait there.",
        ("suite", "topic", "partition"),
    ),
    Metric("touchstone_assigned_partitions", "gauge", "partitions", "Partitions assigned to this worker.", ("suite",)),
    Metric("touchstone_window_records", "gauge", "records", "Records that the worker holds, including those that wait to be read.", ("suite",)),
    Metric("touchstone_outbox_up", "gauge", "0 or 1", "1 while the broker accepts results.", ("suite",)),
    Metric("touchstone_broker_up", "gauge", "0 or 1", "1 while the cluster answers when it is asked.", ("suite",)),
    Metric("touchstone_dead_limit_reached", "gauge", "0 or 1", "1 once too many records were dead and the worker stopped reading.", ("suite",)),
    Metric("touchstone_suite_up", "gauge", "0 or 1", "1 once the suite is built, while none of its stages is unavailable.", ("suite",)),
    Metric("touchstone_rebalances_total", "counter", "times", "Partition assignments by the group.", ("suite",)),
    Metric("touchstone_commits_total", "counter", "times", "Successful commits of offsets.", ("suite",)),
    Metric("touchstone_commit_failures_total", "counter", "times", "Failed commits of offsets.", ("suite",)),
    Metric("touchstone_outbox_retries_total", "counter", "attempts", "Attempts to send results that failed and were repeated.", ("suite",)),
    Metric("touchstone_unavailable_total", "counter", "attempts", "Attempts to score that met an unavailable stage.", ("suite",)),
    Metric("touchstone_follow_ups_total", "counter", "events", "Events handed on to a slower stage.", ("suite",)),
    Metric("touchstone_readings_failures_total", "counter", "scrapes", "Scrapes without the readings of the suite's scorer.", ("suite",)),
    Metric("touchstone_projector_records_total", "counter", "records", "Records of the results topic.", ("kind",), PROJECTOR, _each(*RECORD_KINDS)),
    Metric("touchstone_projector_lag_records", "gauge", "records", "Records of the results topic that are not in the store yet.", ("partition",), PROJECTOR),
    Metric("touchstone_projector_transaction_seconds", "histogram", "seconds", "Time of one store transaction.", (), PROJECTOR, buckets=STAGE_BUCKETS_S),
    Metric("touchstone_reports_total", "counter", "reports", "Batch reports acknowledged by the broker.", ("final",), PROJECTOR, _each("true", "false")),
    Metric("touchstone_report_duration_seconds", "histogram", "seconds", "Time to compute one batch report.", (), PROJECTOR, buckets=STAGE_BUCKETS_S),
    Metric(
        "touchstone_projector_dependency_up",
        "gauge",
        "0 or 1",
        "1 while the dependency answers.",
        ("dependency",),
        PROJECTOR,
        _each("kafka", "store"),
    ),
    Metric(
        "touchstone_corrected_failure_ratio",
        "gauge",
        "share of 1",
        "Live failure rate of a subject (a suite, or a mode of one), corrected for its judge's errors: `estimate`, and the ends of its 95 % interval. "
        "Absent where it cannot be corrected.",
        ("subject", "bound"),
        PROJECTOR,
    ),
    Metric("touchstone_seen_failure_ratio", "gauge", "share of 1", "The same rate as the judge reports it.", ("subject",), PROJECTOR),
    Metric(
        "touchstone_calibration_stale",
        "gauge",
        "0 or 1",
        "1 where judge, prompt, model or guideline are others than those that were measured.",
        ("subject",),
        PROJECTOR,
    ),
    Metric("touchstone_judge_shadow", "gauge", "0 or 1", "1 while the subject's judge may decide no label.", ("subject",), PROJECTOR),
    Metric(
        "touchstone_judge_below_floor",
        "gauge",
        "0 or 1",
        "1 where a recall of the subject's judge is below the floor that it was measured for, or was measured on too few cases.",
        ("subject",),
        PROJECTOR,
    ),
    Metric(
        "touchstone_judges_failures_total",
        "counter",
        "times",
        "What could not be read or sent when the projector looked at the judges.",
        ("reason",),
        PROJECTOR,
        _each(*LOOK_FAILURES),
    ),
    Metric("touchstone_serve_records_total", "counter", "records", "Records read.", ("kind",), SERVE, _each("result", "report", "ledger", "unreadable")),
    Metric("touchstone_serve_lag_records", "gauge", "records", "Records of the results and reports topics that have not been read yet.", (), SERVE),
    Metric("touchstone_serve_broker_up", "gauge", "0 or 1", "1 while events can come.", (), SERVE),
    Metric("touchstone_serve_clients", "gauge", "clients", "Open streams.", ("carrier",), SERVE, _each(*get_args(Carrier))),
    Metric("touchstone_serve_clients_limit", "gauge", "clients", "Streams that may be open; one more is refused.", (), SERVE),
    Metric("touchstone_serve_clients_refused_total", "counter", "requests", "Requests that were refused.", ("reason",), SERVE, _each(*get_args(Refusal))),
    Metric("touchstone_serve_clients_stalled_total", "counter", "clients", "Clients that took nothing for too long and were disconnected.", (), SERVE),
    Metric("touchstone_serve_resumes_total", "counter", "streams", "Streams that continued from a position.", ("way",), SERVE, _each(*get_args(Way))),
    Metric("touchstone_serve_events_sent_total", "counter", "events", "Events handed to clients.", ("carrier",), SERVE, _each(*get_args(Carrier))),
    Metric("touchstone_serve_events_queued", "gauge", "events", "Events that wait for clients.", (), SERVE),
    Metric(
        "touchstone_serve_events_dropped_total", "counter", "events", "Events that a client's full queue did not take; its stream names the gap.", (), SERVE
    ),
    Metric("touchstone_serve_window_events", "gauge", "events", "Latest events in memory.", (), SERVE),
    Metric("touchstone_serve_window_bytes", "gauge", "bytes", "What they take, roughly.", (), SERVE),
    Metric(
        "touchstone_replay_events_total",
        "counter",
        "events",
        "Events that had been put aside, by what became of them now.",
        ("suite", "outcome"),
        REPLAY,
        _each("scored", "shed", "dead", "skipped"),
    ),
    Metric("touchstone_replay_waiting_events", "gauge", "events", "Events that are still put aside, as of the last look.", ("suite",), REPLAY),
    Metric("touchstone_replay_broker_up", "gauge", "0 or 1", "1 while the broker answers.", ("suite",), REPLAY),
    Metric("touchstone_archiver_results_total", "counter", "results", "Results read.", ("wanted",), ARCHIVER, _each("yes", "no")),
    Metric(
        "touchstone_archiver_cases_total",
        "counter",
        "cases",
        "Cases that the policy names, by what became of them: `kept` and `known` are in the archive; the others could not be kept.",
        ("outcome",),
        ARCHIVER,
        _each(*ARCHIVED),
    ),
    Metric("touchstone_archiver_write_seconds", "histogram", "seconds", "Time to write some cases: objects and rows.", (), ARCHIVER, buckets=STAGE_BUCKETS_S),
    Metric("touchstone_archiver_lag_records", "gauge", "records", "Records of this archiver's partitions that it has not read.", ("partition",), ARCHIVER),
    Metric("touchstone_archiver_commits_total", "counter", "times", "Successful commits of offsets.", (), ARCHIVER),
    Metric(
        "touchstone_archiver_results_expired_total",
        "counter",
        "offsets",
        "Offsets of the results topic that Kafka deleted before an archiver had read them: whether their cases were to be kept is not known.",
        (),
        ARCHIVER,
    ),
    Metric(
        "touchstone_archiver_topics_made_anew_total",
        "counter",
        "times",
        "The results topic was another one under the same name; it is read from its beginning.",
        (),
        ARCHIVER,
    ),
    Metric(
        "touchstone_archiver_dependency_up",
        "gauge",
        "0 or 1",
        "1 while the dependency answers.",
        ("dependency",),
        ARCHIVER,
        _each("kafka", "objects", "store"),
    ),
    Metric("touchstone_build_info", "info", "always 1", "What runs.", ("process", "version", "suite", "suite_version", "runner"), get_args(Process)),
)
BY_NAME: Mapping[str, Metric] = {metric.name: metric for metric in METRICS}
assert len(BY_NAME) == len(METRICS)


def zeros(name: str, *given: str) -> dict[Values, int]:
    """Label values → 0, for each that a counter has from the start. `given`: values of the labels before those."""
    return {(*given, *values): 0 for values in BY_NAME[name].start}


def family(metric: str | Metric, samples: Mapping[Values, float | Histogram]) -> Family:
    """One family of a scrape. `samples`: label values in the order of the list → number, or histogram."""
    of = BY_NAME[metric] if isinstance(metric, str) else metric
    if of.kind == "histogram":
        histogram = HistogramMetricFamily(of.name, of.help, labels=of.labels)
        for values, seen in samples.items():
            assert isinstance(seen, Histogram)
            histogram.add_metric(values, [(bound_text(bound), float(count)) for bound, count in seen.buckets()], seen.sum)
        return histogram
    if of.kind == "info":
        info = InfoMetricFamily(of.name.removesuffix("_info"), of.help, labels=of.labels)
        for values in samples:
            info.add_metric(values, {})
        return info
    plain = (CounterMetricFamily if of.kind == "counter" else GaugeMetricFamily)(of.name, of.help, labels=of.labels)
    for values, number in samples.items():
        assert not isinstance(number, Histogram)
        plain.add_metric(values, number)
    return plain


def bound_text(upper: float) -> str:
    """A bucket's bound as Prometheus writes it."""
    return "+Inf" if upper == float("inf") else repr(float(upper))


# -- the page

BEGIN, END = "<!-- made by python -m touchstone.streams.telemetry.metric_list -->", "<!-- end of the list -->"


def table() -> str:
    """The list as Markdown, process by process."""
    return "\n".join(line for process in get_args(Process) for line in _section(process)).rstrip("\n")


def _section(process: Process) -> Iterator[str]:
    yield from (f"## {process.capitalize()}", "", "| metric | kind | unit | labels | what |", "|---|---|---|---|---|")
    own = [metric for metric in METRICS if process in metric.processes]
    for metric in own:
        yield f"| `{metric.name}` | {metric.kind} | {metric.unit} | {', '.join(metric.labels)} | {metric.help} |"
    yield from ("", "At zero from the start, with the values of the last labels that are known beforehand:", "")
    for metric in own:
        if metric.start:
            yield from wrap(f"- `{metric.name}`: {_values(metric)}", 120, subsequent_indent="  ", break_on_hyphens=False)
    yield ""


def _values(metric: Metric) -> str:
    """The values that a metric starts with; pairs by their first value."""
    if len(metric.start[0]) == 1:
        return ", ".join(f"`{value}`" for (value,) in metric.start)
    groups = ((first, [rest for _, rest in pairs]) for first, pairs in groupby(metric.start, key=lambda pair: pair[0]))
    return "; ".join(f"`{first}`" + (f" with {', '.join(f'`{one}`' for one in rest)}" if any(rest) else "") for first, rest in groups)


def page(text: str) -> str:
    """A page with the list of today between its marks. Raises `ValueError` if the marks are missing."""
    before, _, rest = text.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise ValueError(f"the page does not have the marks {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(page(Path(sys.argv[1]).read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(table())  # noqa: T201 -- its output
