"""How a runner grows: 1, 2 and 4 workers on eight partitions, the memory of one over a long backlog, and one worker with many partitions."""

import asyncio
import os
import random
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import psutil
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import GroupCoordinatorNotAvailableError

from touchstone.ops.lab.bench.brokers import apache_kafka, create_topics
from touchstone.ops.lab.bench.output import keep, now, table
from touchstone.ops.lab.bench.processes import cpu_s
from touchstone.ops.lab.bench.streams.workload import events
from touchstone.ops.lab.command import Arguments
from touchstone.ops.local.kafka.artifacts import missing
from touchstone.scorers.base import ConfigError
from touchstone.scorers.engines.machine import machine

PARTITIONS = 8
WORKERS = (1, 2, 4)
RESULT_PARTITIONS = 4
WITHIN_S = 300.0
#: A worker that has caught up is watched for so long.
IDLE_S = 10.0
#: So often each page is asked for then.
PAGES = 40


def main(arguments: Sequence[str]) -> None:
    """Measure, print, write."""
    parser = Arguments("bench scale", __doc__)
    parser.add_argument("--events", type=int, default=100_000, help="events for one, two and four workers (default 100,000)")
    parser.add_argument("--backlog", type=int, default=1_000_000, help="events of the backlog (default 1,000,000: about 2 GB on disk; 0: leave out)")
    parser.add_argument("--partitions", type=int, default=2_000, help="partitions of one worker (default 2,000; 0: leave out)")
    parser.add_argument("--runner", choices=("direct", "faust"), nargs="+", default=["direct", "faust"], help="default: both")
    parser.output("reports/bench-scale.md")
    asked = parser.parse_args(arguments)
    if (why_not := missing()) is not None:
        raise ConfigError(why_not)
    report = "\n".join(asyncio.run(measure(asked.runner, asked.events, asked.backlog, asked.partitions))) + "\n"
    keep(report, asked.output)
    print(report)


async def measure(runners: Sequence[str], count: int, backlog: int, partitions: int) -> list[str]:
    """The lines of the report."""
    lines = [f"# Scale, {now()}", "", f"Machine: {machine()}. Broker: Apache Kafka on the same machine, one node.", ""]
    with apache_kafka() as bootstrap:
        await create_topics(bootstrap, ["touchstone.generations", "touchstone.dead", "touchstone.results"], 1)
        if count:
            lines += ["## Workers", "", *await workers(bootstrap, runners, count)]
        if backlog:
            lines += ["## Memory over a backlog", "", *await memory(bootstrap, runners, backlog)]
        if partitions:
            lines += ["## Many partitions", "", *await many_partitions(bootstrap, runners, partitions)]
    return lines


async def workers(bootstrap: str, runners: Sequence[str], count: int) -> list[str]:
    """Rate and processor time an event of several workers over those of one. Events come once all have joined: a start costs as much as thousands of them."""
    rows = []
    for runner in runners:
        alone = 0.0
        for number in WORKERS:
            tag, begun, cpu = f"{runner}.{number}", 0.0, 0.0
            await create_topics(bootstrap, [f"scale.in.{tag}"], PARTITIONS)
            async for pids, _ in worked_off(bootstrap, runner, tag, f"scale.in.{tag}", number, count):
                if not begun and await have_joined(bootstrap, f"scale.{tag}.safe_v0", number):
                    begun, cpu = time.monotonic(), sum(map(cpu_s, pids))
                    await fill(bootstrap, f"scale.in.{tag}", count, PARTITIONS)
                last, spent = time.monotonic(), sum(map(cpu_s, pids))
            us = (spent - cpu) / count * 1e6
            alone = alone or us
            rows.append((runner, str(number), f"{count / (last - begun):,.0f}", f"{us:.0f}", f"{us / alone:.2f}"))
    return table(("", "workers", "events/s", "processor µs per event", "over one worker"), rows)


async def have_joined(bootstrap: str, group: str, number: int) -> bool:
    """Whether a group has so many members, and is at rest."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        (found,) = (await admin.describe_consumer_groups([group]))[0].groups
    except GroupCoordinatorNotAvailableError:  # nobody has joined a group yet
        return False
    finally:
        await admin.close()
    return found[2] == "Stable" and len(found[5]) == number


async def memory(bootstrap: str, runners: Sequence[str], count: int) -> list[str]:
    """Resident memory of one worker as it works a backlog off."""
    await create_topics(bootstrap, ["backlog.in"], PARTITIONS)
    await fill(bootstrap, "backlog.in", count, PARTITIONS)
    shares = (0.1, 0.25, 0.5, 0.75, 0.99)
    rows = []
    for runner in runners:
        seen: dict[float, float] = {}
        peak = 0.0
        async for (pid,), done in worked_off(bootstrap, runner, f"backlog.{runner}", "backlog.in", 1, count):
            mib = psutil.Process(pid).memory_info().rss / 2**20
            peak = max(peak, mib)
            for share in shares:
                if done >= count * share:
                    seen.setdefault(share, mib)
        rows.append((runner, f"{count:,}", *(f"{seen[share]:.0f}" for share in shares), f"{peak:.0f}"))
    return table(("", "backlog", *(f"MiB at {share:.0%}" for share in shares), "peak"), rows)


async def page_times(port: int, name: str) -> str:
    """Milliseconds until a page is there: median and longest of some, asked for at moments of no pattern."""
    times = []
    for _ in range(PAGES):
        await asyncio.sleep(random.uniform(0.05, 0.3))
        times.append(page_ms(port, name) or 0.0)
    return f"{statistics.median(times):.0f} / {max(times):.0f}"


async def many_partitions(bootstrap: str, runners: Sequence[str], partitions: int) -> list[str]:
    """Start, pages and idle time of one worker with many partitions."""
    await create_topics(bootstrap, ["many.in"], partitions)
    await fill(bootstrap, "many.in", 2 * partitions, partitions)
    rows = []
    for runner in runners:
        begun, ready_s = time.monotonic(), 0.0
        port = free_port()
        async for (pid,), done in worked_off(bootstrap, runner, f"many.{runner}", "many.in", 1, 2 * partitions, port):
            if not ready_s and page_ms(port, "readyz") is not None:
                ready_s = time.monotonic() - begun
            done_s = time.monotonic() - begun
            if done >= 2 * partitions:
                await asyncio.sleep(3)  # the last commit
                pages = [await page_times(port, name) for name in ("readyz", "metrics")]
                cpu, at = cpu_s(pid), time.monotonic()
                await asyncio.sleep(IDLE_S)
                idle = (cpu_s(pid) - cpu) / (time.monotonic() - at)
                committed_s = await committed(bootstrap, f"scale.many.{runner}.safe_v0", "many.in", partitions)
        rows.append((runner, f"{partitions:,}", f"{ready_s:.1f}", f"{done_s:.1f}", *pages, f"{idle:.1%}", committed_s))
    return table(("", "partitions", "ready s", "all scored s", "/readyz ms, p50 / max", "/metrics ms, p50 / max", "processor when idle", "committed"), rows)


async def worked_off(bootstrap: str, runner: str, tag: str, source: str, number: int, count: int, port: int = 0) -> AsyncIterator[tuple[list[int], int]]:
    """Start workers and say, again and again, how many results there are, until all are. Raises `RuntimeError` if they hang."""
    target = f"scale.results.{tag}"
    await create_topics(bootstrap, [target], RESULT_PARTITIONS)
    settings = {
        "TOUCHSTONE_WORKER_GROUP_PREFIX": f"scale.{tag}",
        "TOUCHSTONE_TOPICS_RESULTS": target,
        "TOUCHSTONE_TOPICS_GENERATIONS": source,
        "TOUCHSTONE_HTTP_PORT": str(port),
        "TOUCHSTONE_LOG_LEVEL": "error",
    }
    command = [sys.executable, "-m", "touchstone.ops.cli", "worker", "--suite", "safe_v0", "--runner", runner, "--bootstrap", bootstrap]
    places = [TopicPartition(target, place) for place in range(RESULT_PARTITIONS)]
    deadline = time.monotonic() + WITHIN_S + count / 500
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap) as consumer:
        with ExitStack() as stack:
            pids = [stack.enter_context(_process(command, settings)) for _ in range(number)]
            done = 0
            while done < count:
                done = sum((await consumer.end_offsets(places)).values())
                yield pids, done
                if time.monotonic() > deadline:
                    raise RuntimeError(f"{runner}: {done} of {count} results")
                await asyncio.sleep(0.1)


@contextmanager
def _process(command: Sequence[str], settings: dict[str, str]) -> Iterator[int]:
    process = subprocess.Popen(command, env=os.environ | settings)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(60)


async def fill(bootstrap: str, topic: str, count: int, partitions: int) -> None:
    """Produce events, spread evenly."""
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, max_batch_size=500_000, linger_ms=20) as producer:
        for number, value in enumerate(events(count, topic)):
            await producer.send(topic, value, partition=number % partitions)
        await producer.flush()


async def committed(bootstrap: str, group: str, topic: str, partitions: int) -> str:
    """How many partitions have their end committed."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        found = await admin.list_consumer_group_offsets(group)
    finally:
        await admin.close()
    return f"{sum(found[place].offset == 2 for place in found if place.topic == topic):,} of {partitions:,}"


def free_port() -> int:
    """A port that nothing listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def page_ms(port: int, name: str) -> float | None:
    """How long one of the worker's pages took; None where it did not answer, or not with 200."""
    begun = time.perf_counter()
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{name}", timeout=30) as answer:
            answer.read()
    except (urllib.error.URLError, OSError):
        return None
    return (time.perf_counter() - begun) * 1000
