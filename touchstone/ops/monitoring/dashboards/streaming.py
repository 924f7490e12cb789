"""Streaming: records, offsets, rebalances, the projector, the archiver, and those who watch live."""

from touchstone.ops.monitoring.dashboards.parts import Page, Row, lines, number, states
from touchstone.ops.monitoring.dashboards.queries import PROCESS, of, per_s, quantile, total

TERMS = " - ".join(f"sum by (suite) ({of(name)})" for name in ("touchstone_events_consumed_total", "touchstone_events_outcomes_total",
                                                                "touchstone_events_released_total", "touchstone_events_in_flight"))  # fmt: skip

ACCOUNT = Row(
    "Account",
    [
        lines("Consumed", "Records read, by topic and by how they could be read.", "cps",
              (per_s("touchstone_events_consumed_total", by="suite, topic, format"), "{{suite}} {{topic}} {{format}}")),
        lines("Outcomes", "Acknowledged outcomes.", "cps",
              (per_s("touchstone_events_outcomes_total", by="suite, outcome"), "{{suite}} {{outcome}}"), stacked=True),
        lines("In flight, and held", "Records without an outcome, and all that the workers hold, with those that wait to be read.", "short",
              (total("touchstone_events_in_flight", by="suite"), "{{suite}} in flight"), (total("touchstone_window_records", by="suite"), "{{suite}} held")),
        lines("Given back", "Records that a rebalance took away before their outcome; their new owner consumes them again.", "cps",
              (per_s("touchstone_events_released_total", by="suite"), "{{suite}}")),
        number("Difference", "Consumed less outcomes, released and in flight. It is 0 at every moment; anything else is a mistake of Touchstone.", "short",
               f"max(abs({TERMS}))", warn=1, bad=1),
        number("Stopped by dead letters", "Workers that stopped reading because too many records were dead.", "short",
               total("touchstone_dead_limit_reached"), warn=1, bad=1),
    ],
    width=8,
)  # fmt: skip
LAG = Row(
    "Lag",
    [
        lines("Records that wait", "End offset less settled offset, by partition.", "short",
              (f"max by (suite, topic, partition) ({of('touchstone_consumer_lag_records')})", "{{suite}} {{topic}} {{partition}}")),
        lines("Age of what waits", "Age of the oldest record that waits on a partition.", "s",
              (f"max by (suite, topic, partition) ({of('touchstone_consumer_lag_seconds')})", "{{suite}} {{topic}} {{partition}}")),
        lines("Time without progress", "Time since anything was settled on a partition, or since its work began, while records wait there.", "s",
              (f"max by (suite, topic, partition) ({of('touchstone_consumer_standstill_seconds')})", "{{suite}} {{topic}} {{partition}}")),
        lines("Partitions", "Partitions assigned to each worker.", "short", (of("touchstone_assigned_partitions"), "{{suite}} {{instance}}"), stacked=True),
        lines("Rebalances", "Assignments by the group. A few at a roll-out; a steady number is a group that cannot settle.", "cps",
              (per_s("touchstone_rebalances_total", by="suite"), "{{suite}}")),
    ],
)  # fmt: skip
BROKER = Row(
    "Broker",
    [
        states("Broker and outbox", "Green while the cluster answers a worker, and while it accepts its results.",
               (of("touchstone_broker_up"), "{{suite}} {{instance}} answers"), (of("touchstone_outbox_up"), "{{suite}} {{instance}} accepts")),
        lines("Commits", "Successful and failed commits of offsets.", "cps", (per_s("touchstone_commits_total", by="suite"), "{{suite}}"),
              (per_s("touchstone_commit_failures_total", by="suite"), "{{suite}} failed")),
        lines("Repeated sends", "Attempts to send results that failed and were repeated.", "cps",
              (per_s("touchstone_outbox_retries_total", by="suite"), "{{suite}}")),
        lines("Time to produce", "Median and 99th percentile of one acknowledged send of results.", "s",
              (quantile(0.5, "touchstone_stage_duration_seconds", 'stage="produce"', by="suite"), "{{suite}} p50"),
              (quantile(0.99, "touchstone_stage_duration_seconds", 'stage="produce"', by="suite"), "{{suite}} p99")),
    ],
)  # fmt: skip
PROJECTOR = Row(
    "Projector",
    [
        lines("Records that wait", "Records of the results topic that are not in the store yet.", "short",
              (f"max by (partition) ({of('touchstone_projector_lag_records', own=PROCESS)})", "{{partition}}"), stacked=True),
        lines("Records by kind", "New, replaced and repeated results, ledger records, and what could not be read.", "cps",
              (per_s("touchstone_projector_records_total", by="kind", own=PROCESS), "{{kind}}"), stacked=True),
        lines("Time of a transaction", "Median and 99th percentile of one store transaction.", "s",
              (quantile(0.5, "touchstone_projector_transaction_seconds", own=PROCESS), "p50"),
              (quantile(0.99, "touchstone_projector_transaction_seconds", own=PROCESS), "p99")),
        lines("Reports", "Batch reports acknowledged by the broker.", "cps", (per_s("touchstone_reports_total", by="final", own=PROCESS), "final: {{final}}")),
        lines("Time of a report", "99th percentile of the time to compute one batch report.", "s",
              (quantile(0.99, "touchstone_report_duration_seconds", own=PROCESS), "p99")),
        states("Broker and store", "Green while the projector reaches it.",
               (of("touchstone_projector_dependency_up", own=PROCESS), "{{dependency}} {{instance}}")),
    ],
    width=8,
)  # fmt: skip
ARCHIVER = Row(
    "Archiver",
    [
        lines("Results that wait", "Records of the results topic that the archiver has not read.", "short",
              (f"max by (partition) ({of('touchstone_archiver_lag_records', own=PROCESS)})", "{{partition}}"), stacked=True),
        lines("Cases", "Cases that the policy names. kept: new in the archive; known: there already, with a further result.", "cps",
              (per_s("touchstone_archiver_cases_total", 'outcome=~"kept|known"', by="outcome", own=PROCESS), "{{outcome}}"), stacked=True),
        lines("Not kept", "Cases that the policy names and the archive lacks, by why. Each further result of such a case counts again.", "cps",
              (per_s("touchstone_archiver_cases_total", 'outcome!~"kept|known"', by="outcome", own=PROCESS), "{{outcome}}"), stacked=True),
        lines("Results by policy", "Results read, and whether the policy keeps their case.", "cps",
              (per_s("touchstone_archiver_results_total", by="wanted", own=PROCESS), "kept: {{wanted}}"), stacked=True),
        lines("Time of a write", "Median and 99th percentile of writing some cases: objects and rows.", "s",
              (quantile(0.5, "touchstone_archiver_write_seconds", own=PROCESS), "p50"),
              (quantile(0.99, "touchstone_archiver_write_seconds", own=PROCESS), "p99")),
        states("Broker, objects and store", "Green while the archiver reaches it.",
               (of("touchstone_archiver_dependency_up", own=PROCESS), "{{dependency}} {{instance}}")),
    ],
    width=8,
)  # fmt: skip
CLIENTS, LIMIT = (total(f"touchstone_serve_{name}", by="job, instance", own=PROCESS) for name in ("clients", "clients_limit"))
WATCHERS = Row(
    "Live service",
    [
        lines("Open streams", "Clients that watch, by what carries their stream.", "short",
              (total("touchstone_serve_clients", by="carrier", own=PROCESS), "{{carrier}}")),
        number("Fullest instance", "Share of the streams that it may have open (serve.clients_max). When all are, one more client is refused.", "percentunit",
               f"max({CLIENTS} / {LIMIT})", warn=0.7, bad=0.9),
        states("Broker", "Green while events can come.", (of("touchstone_serve_broker_up", own=PROCESS), "{{instance}}")),
        lines("Events sent", "Events handed to clients.", "cps", (per_s("touchstone_serve_events_sent_total", by="carrier", own=PROCESS), "{{carrier}}")),
        lines("Events left out", "Events that a client's full queue did not take; in its stream there is a gap, which tells how many.", "cps",
              (per_s("touchstone_serve_events_dropped_total", by="instance", own=PROCESS), "{{instance}}")),
        lines("Disconnected clients", "Clients that took nothing for too long. They come back where they were, if they come back.", "cps",
              (per_s("touchstone_serve_clients_stalled_total", by="instance", own=PROCESS), "{{instance}}")),
        lines("Waiting", "Events that wait for clients, and records that the service has not read yet.", "short",
              (total("touchstone_serve_events_queued", own=PROCESS), "for clients"), (total("touchstone_serve_lag_records", own=PROCESS), "to be read")),
        lines("Records read", "Results, reports, ledger records and what could not be read.", "cps",
              (per_s("touchstone_serve_records_total", by="kind", own=PROCESS), "{{kind}}")),
        lines("Resumed streams", "Streams that continued from a position, by where it was found; reset: it could not be found.", "cps",
              (per_s("touchstone_serve_resumes_total", by="way", own=PROCESS), "{{way}}")),
        lines("Refused requests", "full: no more streams may be open; token: no token, or a wrong one; host, origin: a name that is not allowed.", "cps",
              (per_s("touchstone_serve_clients_refused_total", by="reason", own=PROCESS), "{{reason}}")),
        lines("Window", "Memory that the latest events take.", "bytes", (total("touchstone_serve_window_bytes", by="instance", own=PROCESS), "{{instance}}")),
        lines("Window, in events", "Latest events in memory, for summaries and for those who come back.", "short",
              (total("touchstone_serve_window_events", by="instance", own=PROCESS), "{{instance}}")),
    ],
    width=8,
)  # fmt: skip
PROCESSES = Row(
    "Processes",
    [
        lines("Processor", "Cores that each process uses.", "short", (per_s("process_cpu_seconds_total", by="job, instance", own=PROCESS), "{{instance}}")),
        lines("Memory", "Resident memory of each process.", "bytes", (of("process_resident_memory_bytes", own=PROCESS), "{{instance}}")),
        lines("Open files", "Share of the file descriptors that each process may have.", "percentunit",
              (f"{of('process_open_fds', own=PROCESS)} / {of('process_max_fds', own=PROCESS)}", "{{instance}}"), top=1),
    ],
    width=8,
)  # fmt: skip
PAGE = Page(
    "touchstone-streaming",
    "Touchstone / Streaming",
    "Records, offsets and rebalances; the projector and its store; the archiver; the live service.",
    [ACCOUNT, LAG, BROKER, PROJECTOR, ARCHIVER, WATCHERS, PROCESSES],
)
