"""Suites: scores, their course, and cases without one."""

from touchstone.ops.monitoring.dashboards.parts import Page, Row, heat, lines
from touchstone.ops.monitoring.dashboards.queries import mean, of, per_s, quantile, recorded

METRIC = 'metric=~"$metric"'
UNSCORED = per_s("touchstone_results_total", 'label="unscored"', by="suite")
WORKERS = of("touchstone_build_info", 'process="worker"')
PASSED = recorded("job_suite:touchstone_results_passed_per_judged:ratio_rate1h")

VERDICTS = Row(
    "Verdicts",
    [
        lines("Results by suite and label", "How many results of each label a second.", "cps",
              (per_s("touchstone_results_total", by="suite, label"), "{{suite}} {{label}}"), stacked=True),
        lines("Pass rate, and a week ago", "Share of the judged results of an hour that passed, now and in the same hour a week ago.", "percentunit",
              (PASSED, "{{suite}}"), (f"{PASSED} offset 1w", "{{suite}} a week ago"), top=1),
        lines("Without a score", "Results labelled unscored, of all results: something that the score needs was missing or failed.", "percentunit",
              (f"{UNSCORED} / {per_s('touchstone_results_total', by='suite')}", "{{suite}}"), top=1),
        lines("Latency", "99th percentile from a record's timestamp to its acknowledged result.", "s",
              (quantile(0.99, "touchstone_event_latency_seconds", by="suite"), "{{suite}}")),
    ],
)  # fmt: skip
SCORES = Row(
    "Scores",
    [
        lines("Means", "Mean of each component, as a share of its scale.", "percentunit",
              (mean("touchstone_score_ratio", METRIC, by="suite, metric"), "{{suite}} {{metric}}"), top=1),
        lines("The lowest tenth", "A tenth of the values is at or below this line: it falls before a mean does.", "percentunit",
              (quantile(0.1, "touchstone_score_ratio", METRIC, by="suite, metric"), "{{suite}} {{metric}}"), top=1),
        heat("Distribution", "Where the values of the chosen suites and components lie: choose one component to read it.", "percentunit",
             per_s("touchstone_score_ratio_bucket", METRIC, by="le")),
        lines("Out of range", "Values outside 0 to 1, which the distributions leave out. Any is a mistake of a suite.", "cps",
              (per_s("touchstone_values_out_of_range_total", by="suite, component"), "{{suite}} {{component}}")),
    ],
)  # fmt: skip
WORK = Row(
    "Work",
    [
        lines("Time of the stages", "99th percentile of decode, score, encode and produce.", "s",
              (quantile(0.99, "touchstone_stage_duration_seconds", by="suite, stage"), "{{suite}} {{stage}}")),
        lines("Dead letters by reason", "Records that could not be read, by code.", "cps",
              (per_s("touchstone_events_rejected_total", by="suite, reason"), "{{suite}} {{reason}}"), stacked=True),
        lines("Skipped and shed", "Records of another suite's kind, and those that were too old when they came.", "cps",
              (per_s("touchstone_events_outcomes_total", 'outcome=~"skipped|shed"', by="suite, outcome, reason"), "{{suite}} {{outcome}} {{reason}}")),
        lines("Versions", "Workers by the version of their suite. Two lines of a suite are a roll-out.", "short",
              (f"count by (suite, suite_version) ({WORKERS})", "{{suite}} {{suite_version}}")),
    ],
)  # fmt: skip
PAGE = Page(
    "touchstone-suites",
    "Touchstone / Suites",
    "What the suites say: verdicts, distributions of the components, and what got no score.",
    [VERDICTS, SCORES, WORK],
    others=[("metric", "Component", 'label_values(touchstone_score_ratio_count{job=~"$job", suite=~"$suite"}, metric)')],
)
