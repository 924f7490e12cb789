"""Measures the live service: many clients, some of which take nothing, while results come at a steady rate.

`python -m touchstone.ops.lab.bench.live --clients 500 --stalled 20 --rate 1000 --seconds 10`; several rates, separated by commas, are measured one after the
other. Each is measured first with a server that writes the same bytes and does nothing else. The broker is Apache Kafka where that is at hand (Java and
Maven), else the embedded one. Exits with 1 if a reading client of the service missed an event or its order.
"""

import argparse
import os
import sys

from touchstone.ops.lab.bench.live_run import RAW, SERVICE, Run, measure_raw, measure_service
from touchstone.ops.local.kafka.artifacts import missing
from touchstone.scorers.engines.machine import machine


def table(runs: list[Run]) -> str:
    """The figures, a column for each run."""
    columns = [figures(run) for run in runs]
    lines = ["| | " + " | ".join(f"{run.name}, {run.rate:,}/s" for run in runs) + " |", "|---|" + "---|" * len(runs)]
    lines += [f"| {name} | " + " | ".join(column[name] for column in columns) + " |" for name in columns[0]]
    return "\n".join(lines)


def figures(run: Run) -> dict[str, str]:
    """What is said of a run."""
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


def main() -> int:
    """Start broker and service, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default, told in (("clients", 500, "streams"), ("stalled", 20, "those of them that take nothing"), ("seconds", 10, "of sending")):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{told} (default {default})")
    parser.add_argument("--rate", default="1000", help="results per second; several, separated by commas (default 1000)")
    parser.add_argument("--no-raw", action="store_true", help="leave the raw server out")
    parser.add_argument("--embedded", action="store_true", help="on the embedded broker even where Apache Kafka is at hand")
    asked = parser.parse_args()
    is_apache = not asked.embedded and missing() is None
    runs = []
    for rate in (int(part) for part in asked.rate.split(",")):
        how = (asked.clients, asked.stalled, rate, asked.seconds)
        runs += [] if asked.no_raw else [measure_raw(*how)]
        runs.append(measure_service(*how, is_apache=is_apache))
    broker = "Apache Kafka, one node" if is_apache else "embedded"
    print(f"{machine()}; load {os.getloadavg()[0]:.1f}. Broker: {broker}. {asked.clients} clients, {asked.stalled} of them stalled.\n")
    print(table(runs))
    for raw, service in zip(runs[::2], runs[1::2], strict=False) if not asked.no_raw else ():
        assert raw.name == RAW
        print(f"\n{service.rate:,}/s: one event to one client takes {service.cpu_us / raw.cpu_us:.2f} times the raw server's processor time")
    return 0 if all(run.is_whole for run in runs if run.name == SERVICE) else 1


if __name__ == "__main__":
    sys.exit(main())
