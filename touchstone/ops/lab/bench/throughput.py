"""(b) consume → score → produce → commit: each contender one process, on the same broker, one after the other."""

import asyncio
import os
import subprocess
import sys
import time
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer, TopicPartition

from touchstone.ops.lab.bench.workload import GENERATIONS, PARTITIONS, create_topics

CONTENDERS = ("confluent loop", "aiokafka loop", "direct", "faust")


@dataclass(frozen=True, slots=True)
class Run:
    """One contender's run, from the first 5 % of the results to the last. `cpu_s`: user and system seconds of its process."""

    contender: str
    events: int
    seconds: float
    cpu_s: float

    @property
    def rate(self) -> float:
        """Events per second."""
        return self.events / self.seconds

    @property
    def cpu_us(self) -> float:
        """Processor time per event, in microseconds: what a neighbour on the machine cannot change."""
        return self.cpu_s / self.events * 1e6


def command(contender: str, bootstrap: str, group: str, target: str, count: int) -> list[str]:
    """The contender's command line."""
    if contender.endswith("loop"):
        return [sys.executable, "-m", "touchstone.ops.lab.bench.baselines", contender.split(maxsplit=1)[0], bootstrap, group, GENERATIONS, target, str(count)]
    return [sys.executable, "-m", "touchstone.ops.cli", "worker", "--suite", "safe_v0", "--runner", contender, "--bootstrap", bootstrap]


def environment(group: str, target: str) -> dict[str, str]:
    """A worker's settings for one run: its own group and results topic, quiet."""
    return os.environ | {"TOUCHSTONE_WORKER_GROUP_PREFIX": group, "TOUCHSTONE_TOPICS_RESULTS": target, "TOUCHSTONE_LOG_LEVEL": "error"}


async def ends(consumer: AIOKafkaConsumer, topic: str) -> int:
    """Records on a topic that nothing has been deleted from."""
    return sum((await consumer.end_offsets([TopicPartition(topic, number) for number in range(PARTITIONS)])).values())


async def run_contender(contender: str, bootstrap: str, count: int, tag: str) -> Run:
    """Start a contender, watch its results topic grow, end it. The clock starts with the first 5 % of the results."""
    target = f"bench.results.{tag}"
    await create_topics(bootstrap, [target])
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap)
    await consumer.start()
    process = subprocess.Popen(command(contender, bootstrap, f"bench.{tag}", target, count), env=environment(f"bench.{tag}", target))
    began, first, cpu_at_first = 0.0, 0, 0.0
    deadline = time.monotonic() + 60 + count / 500
    try:
        while True:
            produced = await ends(consumer, target)
            now = time.monotonic()
            if not began and produced >= count // 20:
                began, first, cpu_at_first = now, produced, read_cpu_s(process.pid)
            if produced >= count:
                break
            if (process.poll() is not None and produced < count) or now > deadline:
                raise RuntimeError(f"{contender} ended or hung after {produced} of {count} results")
            await asyncio.sleep(0.05)
        cpu_s = read_cpu_s(process.pid) - cpu_at_first
    finally:
        process.terminate()
        process.wait(30)
        await consumer.stop()
    return Run(contender, count - first, now - began, cpu_s)


def read_cpu_s(pid: int) -> float:
    """User and system seconds of a running process; 0 where it has just ended or the platform does not report it."""
    import psutil

    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)
