"""Judges and cost: answers of judges and other services, and a result's cost in money, time, processor and memory."""

from touchstone.ops.monitoring.dashboards.parts import Page, Row, heat, lines, number, states
from touchstone.ops.monitoring.dashboards.queries import PROCESS, buckets, of, per_s, quantile, total

WORKERS = of("touchstone_build_info", 'process="worker"')
BY_SUITE = f"on (job, instance) group_left (suite) {WORKERS}"
RESULTS = per_s("touchstone_results_total", by="suite")
CPU = f"sum by (suite) (rate({of('process_cpu_seconds_total', own=PROCESS)}[$__rate_interval]) * {BY_SUITE})"
MEMORY = f"sum by (suite) ({of('process_resident_memory_bytes', own=PROCESS)} * {BY_SUITE})"
SCORE = 'stage="score"'
STAGE_TIME = per_s("touchstone_stage_duration_seconds_sum", by="suite, stage")
ALL_TIME = per_s("touchstone_stage_duration_seconds_sum", by="suite")

JUDGE = "suite, model"
QUESTIONS, ANSWERED = "touchstone_judge_questions_total", 'outcome=~"answered|cached|shared"'
COST_PER_S = per_s("touchstone_judge_cost_usd_total", by="suite")
LEFT, BUDGET = of("touchstone_judge_budget_left_usd"), of("touchstone_judge_budget_usd")

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
JUDGES = Row(
    "Judges",
    [
        lines("Questions", "What became of questions: answered, asked before (cached, shared), without a usable verdict, without budget, or the server did not "
              "answer.", "cps",
              (per_s(QUESTIONS, by="suite, outcome"), "{{suite}} {{outcome}}"), stacked=True),
        lines("Requests", "Requests to the judge's server. All but the answered ones are wasted: another form, a fault, or nobody waited any more.", "cps",
              (per_s("touchstone_judge_calls_total", by="suite, outcome"), "{{suite}} {{outcome}}"), stacked=True),
        lines("Why requests brought nothing", "Faults of the server and the way to it, by code, and requests that were made once more for the form.", "cps",
              (per_s("touchstone_judge_faults_total", by="suite, code"), "{{suite}} {{code}}"),
              (per_s("touchstone_judge_repairs_total", by="suite"), "{{suite}} form")),
        lines("Why questions had no verdict", "Questions that the judge answered without a usable verdict, by code.", "cps",
              (per_s("touchstone_judge_unanswered_total", by="suite, code"), "{{suite}} {{code}}")),
        lines("Time of a request", "From the start of a request to the end of its answer: median and 99th percentile.", "s",
              (quantile(0.5, "touchstone_gen_ai_client_operation_duration_seconds", by=JUDGE), "{{suite}} {{model}} p50"),
              (quantile(0.99, "touchstone_gen_ai_client_operation_duration_seconds", by=JUDGE), "{{suite}} {{model}} p99")),
        lines("Tokens", "Tokens of requests and answers, as the server counts them.", "cps",
              (per_s("touchstone_gen_ai_client_token_usage_sum", by="suite, token_type"), "{{suite}} {{token_type}}"), stacked=True),
        states("Judges", "Green while the server answers. While it is red, cases ask it one after the other.",
               (of("touchstone_judge_up"), "{{suite}} {{model}} {{instance}}")),
        lines("In flight", "Requests in flight, and how many may be: a server that refuses for its rate lowers that for a while.", "short",
              (total("touchstone_judge_in_flight_calls", by=JUDGE), "{{suite}} {{model}}"),
              (total("touchstone_judge_in_flight_limit_calls", by=JUDGE), "{{suite}} {{model}} may be")),
        lines("Pauses", "How long nothing is sent yet, because the server asked for it.", "s",
              (f"max by (suite, model) ({of('touchstone_judge_pause_left_seconds')})", "{{suite}} {{model}}")),
    ],
    width=8,
)  # fmt: skip
MONEY = Row(
    "What judges cost",
    [
        lines("Cost", "Dollars an hour at today's pace, by the price of the settings. Without a price it is 0.", "currencyUSD",
              (f"3600 * {COST_PER_S}", "{{suite}}"), stacked=True),
        lines("Cost of 1,000 verdicts", "What a thousand verdicts cost, those that were asked before included; with what was wasted.", "currencyUSD",
              (f"1000 * {COST_PER_S} / {per_s(QUESTIONS, ANSWERED, by='suite')}", "{{suite}}")),
        number("Budget left", "Of the budget of this period, in the suite that has least of it left.", "percentunit",
               f"min({LEFT} / {BUDGET})", warn=0.2, bad=0.05),
        lines("Budget", "Dollars that are left in this period, what requests in flight may cost taken off. Processes with one file say the same.",
              "currencyUSD",
              (LEFT, "{{suite}} {{instance}}")),
        lines("Spent, reserved, uncertain", "Of the budget of this period: cost of answers, most of what is in flight, and most of what had no answer.",
              "currencyUSD",
              *((f"max by (suite) ({of(f'touchstone_judge_budget_{part}_usd')})", f"{{{{suite}}}} {part}") for part in ("spent", "reserved", "uncertain"))),
        lines("Requests of unknown cost", "Requests after which the server did not say what they cost: they count with the most that it may be.", "cps",
              (per_s("touchstone_judge_unmetered_calls_total", by="suite"), "{{suite}}")),
        lines("Without budget", "Questions that were not asked because the budget of the period is spent.", "cps",
              (per_s(QUESTIONS, 'outcome="over_budget"', by="suite"), "{{suite}}")),
    ],
    width=8,
)  # fmt: skip
PEOPLE = Row(
    "Judges held against people",
    [
        lines("Corrected failure rate", "Live failure rate of a suite or of one of its modes, corrected for its judge's errors, with the ends of its 95 % "
              "interval. A line that ends cannot be corrected now.", "percentunit",
              (of("touchstone_corrected_failure_ratio", own=PROCESS), "{{subject}} {{bound}}")),
        lines("Failure rate seen", "The same rate as the judge reports it, its errors left in.", "percentunit",
              (of("touchstone_seen_failure_ratio", own=PROCESS), "{{subject}}")),
        states("Calibrations", "Red while judge, prompt, model or guideline are others than those that were measured.",
               (f'1 - {of("touchstone_calibration_stale", own=PROCESS)}', "{{subject}}"), bad="stale", good="holds"),
        states("Decides", "Green while a judge's answers may decide labels; in the shadow they are counted only.",
               (f'1 - {of("touchstone_judge_shadow", own=PROCESS)}', "{{subject}}"), bad="shadow", good="decides"),
        states("Floor", "Red where a recall is below the floor, or was measured on too few cases.",
               (f'1 - {of("touchstone_judge_below_floor", own=PROCESS)}', "{{subject}}"), bad="below", good="reached"),
        lines("Not looked at", "What the projector could not read or send when it looked at the judges.", "cps",
              (per_s("touchstone_judges_failures_total", by="reason", own=PROCESS), "{{reason}}")),
    ],
    width=8,
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
PAGE = Page("touchstone-judges", "Touchstone / Judges and cost", "What suites ask of others, and what a result costs.", [STAGES, JUDGES, PEOPLE, MONEY, COST])
