"""Both runners beside bare loops: rates, latency, memory, and where the time goes. Ratios compare what ran in the same minutes."""

import asyncio
import statistics
import subprocess
import sys
from collections.abc import Sequence

from touchstone.ops.lab.bench.brokers import apache_kafka
from touchstone.ops.lab.bench.output import keep, now, spread, table
from touchstone.ops.lab.bench.streams.contenders import CONTENDERS, Contender, Run
from touchstone.ops.lab.bench.streams.in_process import rows_per_second, steps_us
from touchstone.ops.lab.bench.streams.latency import latency
from touchstone.ops.lab.bench.streams.workload import GENERATIONS, create_topics, preload
from touchstone.ops.lab.command import Arguments
from touchstone.ops.lab.runners import RUNNERS as PROFILED
from touchstone.ops.lab.runners import runner_of
from touchstone.ops.local.kafka.artifacts import missing
from touchstone.scorers.engines.machine import machine

PROFILE_S = 8.0
LATENCY_S = 10.0
LOADS = (0.5, 0.8)
RUNNERS = ("direct", "faust")


def main(arguments: Sequence[str]) -> None:
    """Measure, print, write."""
    parser = Arguments("bench", __doc__)
    parser.add_argument("--events", type=int, default=100_000, help="events per run (default 100,000)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each contender (default 3)")
    parser.output("reports/bench.md")
    asked = parser.parse_args(arguments)
    report = "\n".join(asyncio.run(measure(asked.events, asked.repeats))) + "\n"
    keep(report, asked.output)
    print(report)


async def measure(count: int, repeats: int) -> list[str]:
    """Run everything; return the lines of the report."""
    lines = [
        f"# Bench, {now()}",
        "",
        f"Machine: {machine()}. Broker: Apache Kafka on the same machine, one node, four partitions.",
        "Ratios compare what ran in the same minutes; absolute figures are this machine's, on this day.",
        "",
        *await in_one_process(),
    ]
    if (why_not := missing()) is not None:
        return [*lines, f"(b), (c) and (d) were not run: {why_not}"]
    with apache_kafka() as bootstrap:
        await create_topics(bootstrap, [GENERATIONS, "touchstone.dead", "touchstone.results"])
        few = count // 10
        await preload(bootstrap, GENERATIONS, few, "small")
        small = [await Contender(runner, bootstrap, few, f"small.{runner}").peak_mib() for runner in RUNNERS]
        await preload(bootstrap, GENERATIONS, count - few)
        runs = [await Contender(name, bootstrap, count, f"{name.replace(' ', '-')}.{turn}").run() for turn in range(repeats) for name in CONTENDERS]
        large = [await Contender(runner, bootstrap, count, f"large.{runner}").peak_mib() for runner in RUNNERS]
        rates = {name: statistics.median(run.rate for run in runs if run.contender == name) for name in CONTENDERS}
        waits = [
            (runner, share, await latency(Contender(runner, bootstrap, 0, f"{share:.0%}.{runner}".replace("%", "")), rates[runner] * share, LATENCY_S))
            for share in LOADS
            for runner in PROFILED
        ]
        shares = {runner: await profile(Contender(runner, bootstrap, count, f"profile.{runner}")) for runner in PROFILED}
    return [
        *lines,
        *throughput(runs, rates),
        "## (c) event appended → result read back, at a share of that load",
        "",
        *(line for runner, share, found in waits for line in found.lines(f"{runner} at {share:.0%}")),
        "## (d) peak memory with a backlog",
        "",
        *table(
            ("", "backlog", "MiB", "backlog", "MiB", "ratio"),
            [
                (runner, f"{few:,}", f"{one:.0f}", f"{count:,}", f"{ten:.0f}", f"{ten / one:.2f}")
                for runner, one, ten in zip(RUNNERS, small, large, strict=True)
            ],
        ),
        "## Where the time goes",
        "",
        "Shares of samples of the worker's main thread; the consumer thread of Faust is compared with the same total.",
        "",
        *(line for runner in PROFILED for line in table((runner, "share"), shares[runner])),
    ]


async def in_one_process() -> list[str]:
    """(a): without a broker."""
    ours, bare = await rows_per_second()
    return [
        "## (a) In one process",
        "",
        *table(
            ("", "rows/s", "over the bare loop"),
            [("`score_batch`", f"{ours:,.0f}", f"{ours / bare:.2f}"), ("the same functions in a bare loop", f"{bare:,.0f}", "")],
        ),
        *table(("step", "µs per event"), [(name, f"{value:.1f}") for name, value in (await steps_us()).items()]),
    ]


def throughput(runs: list[Run], rates: dict[str, float]) -> list[str]:
    """(b): each contender over the better and over the plainer loop."""
    best, plain = max(rates["confluent loop"], rates["aiokafka loop"]), rates["aiokafka loop"]
    by_name = {name: [run for run in runs if run.contender == name] for name in CONTENDERS}
    head = ("", "events/s: median", "min–max", "over the better loop", "over the aiokafka loop", "processor µs per event: median", "min–max")
    rows = [
        (
            name,
            *spread([run.rate for run in mine]),
            f"{rates[name] / best:.2f}",
            f"{rates[name] / plain:.2f}",
            *spread([run.cpu_us for run in mine]),
        )
        for name, mine in by_name.items()
    ]
    return [
        "## (b) consume → score → produce → commit, one process each",
        "",
        f"Medians of {len(runs) // len(CONTENDERS)} runs in turn, {runs[0].events:,} events counted in each.",
        "",
        *table(head, rows),
    ]


async def profile(contender: Contender) -> list[tuple[str, str]]:
    """(library, share) of a runner's time."""
    await create_topics(contender.bootstrap, [contender.target])
    seconds = min(PROFILE_S, 1 + contender.count / 25_000)
    command = [sys.executable, "-m", "touchstone.ops.lab.bench.streams.profiled", contender.name, str(seconds), str(contender.count)]
    environment = contender.environment | runner_of(contender.name)[1] | {"KAFKA_BOOTSTRAP_SERVERS": contender.bootstrap}
    done = await asyncio.to_thread(subprocess.run, command, env=environment, check=True, timeout=120, stdout=subprocess.PIPE, text=True)
    shares = (line.split(" ", 1) for line in done.stdout.splitlines())
    return [(name, f"{float(share):.0%}") for share, name in shares]
