"""Overview: health and quality on one screen."""

from touchstone.ops.monitoring.dashboards.parts import Page, Row, lines, number, states
from touchstone.ops.monitoring.dashboards.queries import PROCESS, of, per_s, recorded, total

PASSED, JUDGED = recorded("job_suite:touchstone_results_passed:rate1h"), recorded("job_suite:touchstone_results_judged:rate1h")

NOW = Row(
    "Now",
    [
        number("Results", "Results a second, of all suites that are chosen.", "cps", per_s("touchstone_results_total")),
        number("Passed", "Share of the judged results of the last hour that passed. Results without a score do not count.", "percentunit",
               f"sum({PASSED}) / sum({JUDGED})"),
        number("Waiting", "Records on the input topics that have no outcome yet.", "short", f'sum({recorded("job_suite:touchstone_consumer_lag_records:sum")})',
               warn=10_000, bad=100_000),
        number("99th percentile of latency", "From a record's timestamp to its acknowledged result, in the slowest suite, over 5 minutes.", "s",
               f'max({recorded("job_suite:touchstone_event_latency_seconds:p99_rate5m")})', warn=30, bad=60),
        number("Dead letters", "Share of the records of the last 5 minutes that could not be read.", "percentunit",
               f'max({recorded("job_suite:touchstone_events_dead_per_outcome:ratio_rate5m")})', warn=0.001, bad=0.01),
        number("Since the newest result", "Time since any suite's last result was acknowledged.", "s",
               f'time() - max({of("touchstone_last_result_timestamp_seconds")} > 0)', warn=300, bad=900),
        number("Processes", "Processes of Touchstone that answer a scrape.", "short",
               f'sum({of("up", own=PROCESS)} and on (job, instance) {of("touchstone_build_info", own=PROCESS)})'),
        number("Alerts", "Alerts of Touchstone's rules that fire now.", "short",
               'count(ALERTS{job=~"$job", alertstate="firing", alertname=~"Touchstone.+"}) or vector(0)', warn=1, bad=2),
    ],
    width=3,
    height=4,
)  # fmt: skip
FLOW = Row(
    "Flow",
    [
        lines("Results by label", "What the suites say, added up.", "cps", (per_s("touchstone_results_total", by="label"), "{{label}}"), stacked=True),
        lines("Records by outcome", "Every record ends as scored, skipped, shed or dead.", "cps",
              (per_s("touchstone_events_outcomes_total", by="outcome"), "{{outcome}}"), stacked=True),
        lines("Latency", "Median and 99th percentile from a record's timestamp to its acknowledged result.", "s",
              (recorded("job_suite:touchstone_event_latency_seconds:p50_rate5m"), "{{suite}} p50"),
              (recorded("job_suite:touchstone_event_latency_seconds:p99_rate5m"), "{{suite}} p99")),
        lines("Backlog", "How long the records that wait take at today's pace.", "s",
              (recorded("job_suite:touchstone_backlog_seconds:ratio_rate5m"), "{{suite}}")),
    ],
)  # fmt: skip
OBJECTIVES = Row(
    "Objectives: 99 % over 30 days",
    [
        lines("Without a score", "Dead letters and unscored results, of all that was given. The objective allows 1 %.", "percentunit",
              (recorded("job_suite:touchstone_scoring_failures_per_attempt:ratio_rate1h"), "{{suite}} 1h"),
              (recorded("job_suite:touchstone_scoring_failures_per_attempt:ratio_rate3d"), "{{suite}} 3d")),
        lines("Later than 60 seconds", "Results that came more than 60 seconds after their record. The objective allows 1 %.", "percentunit",
              (recorded("job_suite:touchstone_results_late_per_result:ratio_rate1h"), "{{suite}} 1h"),
              (recorded("job_suite:touchstone_results_late_per_result:ratio_rate3d"), "{{suite}} 3d")),
    ],
)  # fmt: skip
HEALTH = Row(
    "Health",
    [
        states("Suites", "Green once a suite is built, while none of its stages is unavailable.", (of("touchstone_suite_up"), "{{suite}} {{instance}}")),
        states("Brokers", "Green while the cluster answers a worker, and while it accepts its results.", (of("touchstone_broker_up"), "{{suite}} answers"),
               (of("touchstone_outbox_up"), "{{suite}} accepts")),
        lines("In flight", "Records consumed whose outcome is not acknowledged yet.", "short", (total("touchstone_events_in_flight", by="suite"), "{{suite}}")),
        states("Store, archive and live service", "Green while projector and archiver reach what they need, and while the live service has events to send.",
               (of("touchstone_projector_dependency_up", own=PROCESS), "{{dependency}} {{instance}}"),
               (of("touchstone_archiver_dependency_up", own=PROCESS), "archive: {{dependency}} {{instance}}"),
               (of("touchstone_serve_broker_up", own=PROCESS), "live {{instance}}")),
    ],
)  # fmt: skip
PAGE = Page(
    "touchstone-overview", "Touchstone / Overview", "Whether all is well: flow, quality, objectives and health of every suite.", [NOW, FLOW, OBJECTIVES, HEALTH]
)
