"""`make bench`: the four measurements, as a table on standard output and in `reports/bench.md`."""

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from touchstone.ops.lab.bench.inprocess import rows_per_second, steps_us
from touchstone.ops.lab.bench.latency import Latency, Memory, latency, peak_memory
from touchstone.ops.lab.bench.throughput import CONTENDERS, Run, environment, run_contender
from touchstone.ops.lab.bench.workload import GENERATIONS, create_topics, preload
from touchstone.ops.local.kafka.artifacts import missing
from touchstone.ops.local.kafka.cluster import KafkaCluster
from touchstone.scorers.engines.machine import machine

PROFILE_S = 8.0


async def profile(runner: str, bootstrap: str, directory: Path, count: int) -> list[str]:
    """Where the runner's time goes, by library."""
    target, tag, out = f"bench.profile.{runner}", f"profile.{runner}", directory / f"{runner}.txt"
    await create_topics(bootstrap, [target])
    variables = environment(f"bench.{tag}", target) | {"KAFKA_BOOTSTRAP_SERVERS": bootstrap, "BENCH_PROFILE": str(out)}
    seconds = min(PROFILE_S, 1 + count / 25_000)
    await asyncio.to_thread(
        subprocess.run, [sys.executable, "-m", "touchstone.ops.lab.bench.profiled", runner, str(seconds), str(count)], env=variables, check=True, timeout=120
    )
    return out.read_text(encoding="utf-8").splitlines()


async def measure(count: int, repeats: int) -> list[str]:
    """Run everything; return the lines of the table."""
    ours, bare = await rows_per_second()
    lines = [
        f"# Bench, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "",
        f"Machine: {machine()}. Broker: Apache Kafka on the same machine, one node, four partitions.",
        "Ratios compare what ran in the same minutes; absolute figures are this machine's, on this day.",
        "",
        "## (a) In one process",
        "",
        "| | rows/s | over the bare loop |",
        "|---|---|---|",
        f"| `score_batch` | {ours:,.0f} | {ours / bare:.2f} |",
        f"| the same functions in a bare loop | {bare:,.0f} | |",
        "",
        "| step | µs per event |",
        "|---|---|",
        *(f"| {name} | {value:.1f} |" for name, value in (await steps_us()).items()),
        "",
    ]
    why_not = missing()
    if why_not is not None:
        return [*lines, f"(b), (c) and (d) were not run: {why_not}"]
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as directory, KafkaCluster(Path(directory) / "kafka", port=0, tied=True) as kafka:
        bootstrap = kafka.bootstrap_servers
        await create_topics(bootstrap, [GENERATIONS, "touchstone.dead", "touchstone.results"])
        await preload(bootstrap, GENERATIONS, count // 10, "small")
        small = [await peak_memory(runner, bootstrap, count // 10, f"small.{runner}") for runner in ("direct", "faust")]
        await preload(bootstrap, GENERATIONS, count - count // 10)
        runs = [await run_contender(name, bootstrap, count, f"{name.replace(' ', '-')}.{turn}") for turn in range(repeats) for name in CONTENDERS]
        large = [await peak_memory(runner, bootstrap, count, f"large.{runner}") for runner in ("direct", "faust")]
        rates = {name: statistics.median(run.rate for run in runs if run.contender == name) for name in CONTENDERS}
        waits = [await latency(runner, bootstrap, rates[runner] / 2, 10.0, f"half.{runner}") for runner in ("direct", "faust")]
        profiles = {runner: await profile(runner, bootstrap, Path(directory), count) for runner in ("direct", "faust")}
    return [*lines, *throughput_table(runs, rates), *latency_table(waits), *memory_table(small, large), *profile_table(profiles)]


def throughput_table(runs: list[Run], rates: dict[str, float]) -> list[str]:
    """(b)."""
    best = max(rates["confluent loop"], rates["aiokafka loop"])
    cpu = {name: statistics.median(run.cpu_us for run in runs if run.contender == name) for name in CONTENDERS}
    lines = [
        "## (b) consume → score → produce → commit, one process each",
        "",
        f"Medians of {len(runs) // len(CONTENDERS)} runs in turn, {runs[0].events:,} events counted in each.",
        "",
    ]
    lines += ["| | events/s | over the better loop | over the aiokafka loop | processor µs per event |", "|---|---|---|---|---|"]
    lines += [
        f"| {name} | {rates[name]:,.0f} | {rates[name] / best:.2f} | {rates[name] / rates['aiokafka loop']:.2f} | {cpu[name]:.0f} |" for name in CONTENDERS
    ]
    return [*lines, ""]


def latency_table(waits: list[Latency]) -> list[str]:
    """(c)."""
    lines = ["## (c) event appended → result read back, at half that load", "", "| | events/s offered | p50 ms | p99 ms |", "|---|---|---|---|"]
    return [*lines, *(f"| {wait.contender} | {wait.rate:,.0f} | {wait.p50_ms:.0f} | {wait.p99_ms:.0f} |" for wait in waits), ""]


def memory_table(small: list[Memory], large: list[Memory]) -> list[str]:
    """(d)."""
    lines = ["## (d) peak memory with a backlog", "", "| | backlog | MiB | backlog | MiB | ratio |", "|---|---|---|---|---|---|"]
    for one, ten in zip(small, large, strict=True):
        lines.append(f"| {one.contender} | {one.backlog:,} | {one.peak_mib:.0f} | {ten.backlog:,} | {ten.peak_mib:.0f} | {ten.peak_mib / one.peak_mib:.2f} |")
    return [*lines, ""]


def profile_table(profiles: dict[str, list[str]]) -> list[str]:
    """Where the time goes."""
    lines = ["## Where the time goes", "", "Shares of samples of the worker's main thread; the consumer thread of Faust is set against the same total.", ""]
    for runner, shares in profiles.items():
        lines += [f"| {runner} | share |", "|---|---|", *(f"| {line.split(' ', 1)[1]} | {float(line.split(' ', 1)[0]):.0%} |" for line in shares), ""]
    return lines


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m touchstone.ops.lab.bench", description=__doc__)
    parser.add_argument("--events", type=int, default=100_000, help="events per run (default 100,000)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each contender (default 3)")
    parser.add_argument("--output", type=Path, default=Path("reports/bench.md"))
    options = parser.parse_args()
    table = "\n".join(asyncio.run(measure(options.events, options.repeats))) + "\n"
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(table, encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
