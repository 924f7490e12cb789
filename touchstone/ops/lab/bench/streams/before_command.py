"""The runners of an earlier commit beside those of this tree, in turn on one broker: what a change has won or cost."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from touchstone.ops.lab.bench.brokers import apache_kafka
from touchstone.ops.lab.bench.output import keep, now, spread, table
from touchstone.ops.lab.bench.streams.commits import checked_out
from touchstone.ops.lab.bench.streams.contenders import CONTENDERS, Contender, Run
from touchstone.ops.lab.bench.streams.workload import GENERATIONS, create_topics, preload
from touchstone.ops.lab.command import Arguments, at_least
from touchstone.ops.lab.runners import RUNNERS
from touchstone.ops.local.kafka.artifacts import missing
from touchstone.scorers.base import ConfigError
from touchstone.scorers.engines.machine import machine


def main(arguments: Sequence[str]) -> None:
    """Measure, print, write."""
    parser = Arguments("bench before", __doc__)
    parser.add_argument("commit", help="of this repository: what the runners are compared with")
    parser.add_argument("--events", type=at_least(1_000), default=30_000, help="events per run (default 30,000)")
    parser.add_argument("--repeats", type=at_least(1), default=3, help="runs of each contender (default 3)")
    parser.add_argument(
        "--contender", choices=CONTENDERS, nargs="+", default=["confluent loop", "aiokafka loop", "direct", "faust"], help="default: all but faust-stock"
    )
    parser.output("reports/bench-before.md")
    asked = parser.parse_args(arguments)
    if (why_not := missing()) is not None:
        raise ConfigError(why_not)
    with checked_out(asked.commit) as tree:
        report = "\n".join(asyncio.run(measure(asked.commit, tree, asked.contender, asked.events, asked.repeats))) + "\n"
    keep(report, asked.output)
    print(report)


async def measure(commit: str, tree: Path, names: Sequence[str], count: int, repeats: int) -> list[str]:
    """The lines of the report."""
    found: dict[str, list[Run]] = {}
    with apache_kafka() as bootstrap:
        await create_topics(bootstrap, [GENERATIONS, "touchstone.dead", "touchstone.results"])
        await preload(bootstrap, GENERATIONS, count)
        for turn in range(repeats):
            for name in names:
                contender = Contender(name, bootstrap, count, f"{name.replace(' ', '-')}.{turn}")
                pair = [contender] if name not in RUNNERS else [replace(contender, tag=f"{contender.tag}.before", tree=tree), contender]
                for one in pair if turn % 2 else reversed(pair):  # who runs second has the warmer broker
                    found.setdefault(f"{name}, before" if one.tree else name, []).append(await one.run())
    return [
        f"# Beside {commit}, {now()}",
        "",
        f"Machine: {machine()}. Broker: Apache Kafka on the same machine, one node, four partitions.",
        f"{repeats} runs in turn, {count:,} events each; medians, and the least and the most.",
        "",
        *table(
            ("", "events/s: median", "min–max", "processor µs per event: median", "min–max"),
            [(name, *spread([run.rate for run in runs]), *spread([run.cpu_us for run in runs])) for name, runs in found.items()],
        ),
    ]
