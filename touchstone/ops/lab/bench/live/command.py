"""The live service with many clients, some of which read nothing, while results come at a steady rate.

Several rates, separated by commas, are measured one after the other, each first with a server that writes the same bytes and does nothing else.
The broker is Apache Kafka if Java and Maven are there, else the embedded one. Exits with 1 if a reading client of the service missed an event
or got one out of order.
"""

import os
from collections.abc import Sequence
from itertools import pairwise

from touchstone.ops.lab.bench.live.run import RAW, SERVICE, Run, measure_raw, measure_service
from touchstone.ops.lab.bench.output import table
from touchstone.ops.lab.command import Arguments
from touchstone.ops.local.kafka.artifacts import missing
from touchstone.scorers.engines.machine import machine


def columns(runs: list[Run]) -> list[str]:
    """The figures, a column for each run."""
    measured = [figures(run) for run in runs]
    head = ("", *(f"{run.name}, {run.rate:,}/s" for run in runs))
    return table(head, [(name, *(column[name] for column in measured)) for name in measured[0]])


def figures(run: Run) -> dict[str, str]:
    """Name → figure of a run."""
    lags = run.lags_ms()
    memory = run.memory
    each_kib = (memory["connected"] - memory["alone"]) * 1024 / run.clients
    last_s = max(0.0, run.through_s - (run.sent_at[-1] - run.sent_at[0]))
    is_service = run.name == SERVICE
    return {
        "results sent": f"{run.total:,} in {run.sent_at[-1] - run.sent_at[0]:.1f} s",
        "reading clients with every byte in order": f"{run.whole} of {len(run.tallies)}",
        "gaps of reading clients": f"{sum(tally.gaps for tally in run.tallies):,}" if is_service else "–",
        "events/s to them, together": f"{run.delivered / run.through_s:,.0f}",
        "lag p50, p99, longest": f"{lags[len(lags) // 2]:,.0f}, {lags[len(lags) * 99 // 100]:,.0f}, {lags[-1]:,.0f} ms",
        "all had everything after the last was sent": f"{last_s * 1000:,.0f} ms",
        "processor": f"{run.cores['server']:.2f} cores",
        "processor for one event to one client": f"{run.cpu_us:.2f} µs",
        "memory alone, all connected, most, at the end": ", ".join(f"{memory[at]:.0f}" for at in ("alone", "connected", "most", "end") if at in memory)
        + " MiB",
        "memory of one idle client": f"{each_kib:.0f} KiB",
        "the kernel's buffers of all connections, most": f"{memory['sockets']:.0f} MiB",
        "stalled clients that were cut off": f"{run.cut} of {run.stalled}" if is_service else "–",
        "events that stalled clients missed": f"{run.counters.get('events_dropped_total', 0):,.0f}" if is_service else "–",
        "other work on the machine": f"{run.cores['others']:.2f} cores",
    }


def main(arguments: Sequence[str]) -> int:
    """Start broker and service, and measure."""
    parser = Arguments("bench live", __doc__, epilog="example: python -m touchstone.ops.lab bench live --clients 500 --stalled 20 --rate 1000 --seconds 10")
    parser.add_argument("--clients", type=int, default=500, help="streams (default 500)")
    parser.add_argument("--stalled", type=int, default=20, help="those of them that read nothing (default 20)")
    parser.add_argument("--seconds", type=int, default=10, help="seconds of sending (default 10)")
    parser.add_argument("--rate", default="1000", help="results per second; several, separated by commas (default 1000)")
    parser.add_argument("--no-raw", action="store_true", help="leave the raw server out")
    parser.add_argument("--embedded", action="store_true", help="use the embedded broker even if Apache Kafka can run here")
    asked = parser.parse_args(arguments)
    is_apache = not asked.embedded and missing() is None
    runs = []
    for rate in map(int, asked.rate.split(",")):
        how = (asked.clients, asked.stalled, rate, asked.seconds)
        runs += [] if asked.no_raw else [measure_raw(*how)]
        runs.append(measure_service(*how, is_apache=is_apache))
    broker = "Apache Kafka, one node" if is_apache else "embedded"
    print(f"{machine()}; load {os.getloadavg()[0]:.1f}. Broker: {broker}. {asked.clients} clients, {asked.stalled} of them stalled.\n")
    print("\n".join(columns(runs)))
    for raw, service in pairwise(runs):
        if raw.name == RAW:
            print(f"{service.rate:,}/s: one event to one client takes {service.cpu_us / raw.cpu_us:.2f} times the raw server's processor time")
    return 0 if all(run.is_whole for run in runs if run.name == SERVICE) else 1
