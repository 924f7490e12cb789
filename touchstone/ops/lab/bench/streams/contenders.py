"""Contenders: each is one process that scores the events on a topic, one after the other on the same broker."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from aiokafka import AIOKafkaConsumer, TopicPartition

from touchstone.ops.lab.bench.processes import cpu_s
from touchstone.ops.lab.bench.streams.workload import GENERATIONS, PARTITIONS, create_topics
from touchstone.ops.lab.runners import runner_of

CONTENDERS = ("confluent loop", "aiokafka loop", "direct", "faust", "faust-stock")


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
        """Processor time per event, in microseconds: other work on the machine does not change it."""
        return self.cpu_s / self.events * 1e6


@dataclass(frozen=True, slots=True)
class Contender:
    """One of `CONTENDERS` with a consumer group and a results topic of its own.

    `count`: events that it has to score. `tree`: another checkout, whose code it runs; None: this one's.
    """

    name: str
    bootstrap: str
    count: int
    tag: str
    tree: Path | None = None

    @property
    def target(self) -> str:
        """Its results topic."""
        return f"bench.results.{self.tag}"

    @property
    def environment(self) -> dict[str, str]:
        """Its settings."""
        return os.environ | {"TOUCHSTONE_WORKER_GROUP_PREFIX": f"bench.{self.tag}", "TOUCHSTONE_TOPICS_RESULTS": self.target, "TOUCHSTONE_LOG_LEVEL": "error"}

    @contextmanager
    def running(self, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
        """The process, ended with the block. `settings`: more variables."""
        if self.name.endswith("loop"):
            loop = [self.name.split(maxsplit=1)[0], self.bootstrap, f"bench.{self.tag}", GENERATIONS, self.target, str(self.count)]
            command = [sys.executable, "-m", "touchstone.ops.lab.bench.streams.bare_loops", *loop]
        else:
            runner, variables = runner_of(self.name)
            settings = variables | settings
            command = [sys.executable, "-m", "touchstone.ops.cli", "worker", "--suite", "safe_v0", "--runner", runner, "--bootstrap", self.bootstrap]
        with self.started(command, settings) as process:
            yield process

    @contextmanager
    def started(self, command: Sequence[str], settings: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
        """A process of this command line with its settings, ended with the block."""
        path = {} if self.tree is None else {"PYTHONPATH": str(self.tree)}
        process = subprocess.Popen(command, env=self.environment | dict(settings) | path, cwd=self.tree)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(30)

    async def run(self) -> Run:
        """Its rate: the clock starts with the first 5 % of the results."""
        began, first, cpu_at_first = 0.0, 0, 0.0
        async for process, produced in self._results(every_s=0.05):
            if not began and produced >= self.count // 20:
                began, first, cpu_at_first = time.monotonic(), produced, cpu_s(process.pid)
            ended, cpu_now = time.monotonic(), cpu_s(process.pid)
        return Run(self.name, self.count - first, ended - began, cpu_now - cpu_at_first)

    async def peak_mib(self) -> float:
        """Its peak resident memory while it works off the backlog."""
        peak = 0
        async for process, produced in self._results(every_s=0.1):
            if produced < self.count:
                peak = max(peak, psutil.Process(process.pid).memory_info().rss)
        return peak / 2**20

    async def _results(self, every_s: float) -> AsyncIterator[tuple[subprocess.Popen[bytes], int]]:
        """Start it, and say how many results there are, again and again until all are. Raises `RuntimeError` if it ends or hangs before."""
        await create_topics(self.bootstrap, [self.target])
        deadline = time.monotonic() + 60 + self.count / 500
        partitions = [TopicPartition(self.target, number) for number in range(PARTITIONS)]
        async with AIOKafkaConsumer(bootstrap_servers=self.bootstrap) as consumer:
            with self.running() as process:
                while True:
                    produced = sum((await consumer.end_offsets(partitions)).values())
                    yield process, produced
                    if produced >= self.count:
                        return
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise RuntimeError(f"{self.name} ended or hung after {produced} of {self.count} results")
                    await asyncio.sleep(every_s)
