"""Judges and cost: whether what suites ask of others answers, and what a result costs in time, processor and memory."""

from touchstone.ops.monitoring.dashboards.parts import Page, Row, heat, lines, states
from touchstone.ops.monitoring.dashboards.queries import PROCESS, buckets, of, per_s, total

WORKERS = of("touchstone_build_info", 'process="worker"')
BY_SUITE = f"on (job, instance) group_left (suite) {WORKERS}"
RESULTS = per_s("touchstone_results_total", by="suite")
CPU = f"sum by (suite) (rate({of('process_cpu_seconds_total', own=PROCESS)}[$__rate_interval]) * {BY_SUITE})"
MEMORY = f"sum by (suite) ({of('process_resident_memory_bytes', own=PROCESS)} * {BY_SUITE})"
SCORE = 'stage="score"'
STAGE_TIME = per_s("touchstone_stage_duration_seconds_sum", by="suite, stage")
ALL_TIME = per_s("touchstone_stage_duration_seconds_sum", by="suite")

STAGES = Row(
    "Stages",
    [
        lines("Refused attempts", "Attempts to score that met an unavailable stage. While its breaker is open, one case at a time tries it.", "cps",
              (per_s("touchstone_unavailable_total", by="suite"), "{{suite}}")),
        states("Available", "Green while every stage of a suite answers.",
               (of("touchstone_suite_up"), "{{suite}} {{instance}}"), bad="unavailable", good="available"),
        lines("Cases that wait", "Records without an outcome: they pile up while a stage is slow or away.", "short",
              (total("touchstone_events_in_flight", by="suite"), "{{suite}}")),
        lines("Without a score", "Results labelled unscored: a component failed, or what it needs was missing.", "cps",
              (per_s("touchstone_results_total", 'label="unscored"', by="suite"), "{{suite}}")),
        heat("Time to score", "Time of the stage score, of the chosen suites together. A judge that answers slowly is a second cloud above the first.", "s",
             buckets("touchstone_stage_duration_seconds", SCORE)),
        lines("Share of the stages", "How the time of an event divides into decode, score, encode and produce.", "percentunit",
              (f"{STAGE_TIME} / on (suite) group_left () {ALL_TIME}", "{{suite}} {{stage}}"), top=1),
    ],
)  # fmt: skip
COST = Row(
    "Cost",
    [
        lines("Scoring time of a result", "Seconds that the stage score takes for one result, on average.", "s",
              (f"{per_s('touchstone_stage_duration_seconds_sum', SCORE, by='suite')} / {per_s('touchstone_stage_duration_seconds_count', SCORE, by='suite')}",
               "{{suite}}")),
        lines("Processor time of a result", "Processor seconds of the suite's workers, over its results. Waiting for others costs none.", "s",
              (f"{CPU} / {RESULTS}", "{{suite}}")),
        lines("Cores", "Cores that the workers of a suite use.", "short", (CPU, "{{suite}}"), stacked=True),
        lines("Memory", "Resident memory of the workers of a suite.", "bytes", (MEMORY, "{{suite}}"), stacked=True),
    ],
)  # fmt: skip
PAGE = Page("touchstone-judges", "Touchstone / Judges and cost", "What suites ask of others, and what a result costs.", [STAGES, COST])
