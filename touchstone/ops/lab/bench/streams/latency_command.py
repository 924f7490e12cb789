"""How long both runners take from an event's append until its result was read back, at steady loads, and in which stage the time goes."""

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from touchstone.ops.lab.bench.brokers import apache_kafka
from touchstone.ops.lab.bench.output import keep, now
from touchstone.ops.lab.bench.streams.command import LATENCY_S
from touchstone.ops.lab.bench.streams.commits import checked_out
from touchstone.ops.lab.bench.streams.contenders import Contender
from touchstone.ops.lab.bench.streams.latency import latency
from touchstone.ops.lab.bench.streams.workload import GENERATIONS, create_topics
from touchstone.ops.lab.command import Arguments
from touchstone.ops.lab.runners import RUNNERS
from touchstone.ops.local.kafka.artifacts import missing
from touchstone.scorers.base import ConfigError
from touchstone.scorers.engines.machine import machine

BROKER_WARM_S = 10.0


def main(arguments: Sequence[str]) -> None:
    """Measure, print, write."""
    parser = Arguments("bench latency", __doc__)
    parser.add_argument("--rate", type=float, nargs="+", default=[2_000.0], metavar="N", help="events a second (default 2,000)")
    parser.add_argument("--seconds", type=float, default=LATENCY_S, help=f"of each load (default {LATENCY_S:.0f})")
    parser.add_argument("--runner", choices=RUNNERS, nargs="+", default=list(RUNNERS), help="default: all")
    parser.add_argument("--before", metavar="COMMIT", help="run the runners of this commit, too, in turn with those of this tree")
    parser.output("reports/bench-latency.md")
    asked = parser.parse_args(arguments)
    if (why_not := missing()) is not None:
        raise ConfigError(why_not)
    with checked_out(asked.before) if asked.before else nullcontext() as tree:
        report = "\n".join(asyncio.run(measure(asked.rate, asked.seconds, asked.runner, tree))) + "\n"
    keep(report, asked.output)
    print(report)


async def measure(rates: Sequence[float], seconds: float, runners: Sequence[str], before: Path | None = None) -> list[str]:
    """The lines of the report. `before`: a checkout of another commit."""
    lines = [f"# Latency, {now()}", "", f"Machine: {machine()}. Broker: Apache Kafka on the same machine, one node, four partitions.", ""]
    with apache_kafka() as bootstrap:
        await create_topics(bootstrap, [GENERATIONS, "touchstone.dead", "touchstone.results"])
        await latency(Contender(runners[0], bootstrap, 0, "warm"), min(rates), BROKER_WARM_S)  # its code is slow at first
        for number, rate in enumerate(rates):
            for runner in runners:
                for tree in (before, None) if before else (None,):
                    name = f"{runner}, before" if tree else runner
                    found = await latency(Contender(runner, bootstrap, 0, f"{name.replace(', ', '.')}.{number}", tree), rate, seconds)
                    lines += found.lines(name)
    return lines
