"""One measurement of the live bench: a server, a crowd of clients in a process of its own, and events at a steady rate."""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from touchstone.ops.lab.bench.live_clients import Crowd, Tally, run_clients
from touchstone.ops.lab.bench.live_processes import Moment, children, resident_mib, socket_mib
from touchstone.ops.lab.bench.live_raw import run_raw
from touchstone.ops.lab.bench.live_stream import TYPE, result
from touchstone.ops.local.kafka.cluster import KafkaCluster
from touchstone.schemas.settings.house import ServeSettings, TopicSettings
from touchstone.streams.embedded.broker import EmbeddedBroker

RAW, SERVICE = "raw server", "touchstone serve"
TOPICS = TopicSettings()
#: How long clients may take for what is left when the last event has been sent.
DRAIN_S = 60.0
START_S = 120.0
#: The embedded broker answers a fetch with one batch of a producer, so with small batches its round trips, and not the service, would be measured.
SEND_EVERY_S = 0.025
LINGER_MS = 20
#: After a client's time is up, until it is cut off.
CUT_S = 10.0
ASK_EVERY_S = 0.5
_COUNTERS = re.compile(r"^touchstone_serve_(clients_stalled_total|events_dropped_total|events_queued) (\S+)$", re.MULTILINE)
_SPAWN = get_context("spawn")


@dataclass(slots=True)
class Run:
    """What was measured. Moments in seconds of the monotonic clock, memory in MiB, processor time in cores (1: one core all the time).

    `sent_at`: of each event. `cut`: stalled clients that were disconnected. `counters`: the service's own, by the ends of their names.
    """

    name: str
    rate: int
    clients: int
    stalled: int
    total: int
    sent_at: list[float] = field(default_factory=list)
    tallies: list[Tally] = field(default_factory=list)
    cut: int = 0
    memory: dict[str, float] = field(default_factory=dict)
    cores: dict[str, float] = field(default_factory=dict)
    counters: dict[str, float] = field(default_factory=dict)

    @property
    def whole(self) -> int:
        """Reading clients that got everything in order."""
        return sum(tally.events == self.total and not tally.faults for tally in self.tallies)

    @property
    def is_whole(self) -> bool:
        """Whether all of them did."""
        return self.whole == self.clients - self.stalled

    @property
    def through_s(self) -> float:
        """From the first event that was sent to the last that a client got."""
        return max(0.001, max((tally.at_s for tally in self.tallies), default=0.0) - self.sent_at[0])

    @property
    def delivered(self) -> int:
        """Events to reading clients."""
        return sum(tally.events for tally in self.tallies)

    @property
    def cpu_us(self) -> float:
        """Processor time of the server for one event to one client."""
        return self.cores["server"] * self.through_s * 1e6 / max(1, self.delivered)

    def lags_ms(self) -> list[float]:
        """How long each event took to each timed client, sorted."""
        blocks = (block for tally in self.tallies for block in tally.blocks)
        return sorted((at - sent) * 1000 for at, first, after in blocks for sent in self.sent_at[first:after]) or [float("nan")]


class Watch:
    """Looks at a server while it is measured."""

    def __init__(self, run: Run, pid: int) -> None:
        self._run, self._pid = run, pid
        run.memory["connected"] = run.memory["most"] = resident_mib(pid)
        self._pids = children() | {pid, os.getpid()}
        self._began = Moment.now(self._pids)

    def look(self) -> None:
        """Note the memory."""
        self._run.memory["most"] = max(self._run.memory["most"], resident_mib(self._pid))
        self._run.memory["sockets"] = max(self._run.memory.get("sockets", 0.0), socket_mib())

    def until(self, is_so: Callable[[], bool], within_s: float) -> None:
        """Look until something is so, or the time is over."""
        end = time.monotonic() + within_s
        while not is_so() and time.monotonic() < end:
            self.look()

    def end(self) -> None:
        """Note what it took of the processor."""
        now = Moment.now(self._pids)
        self._run.cores = {"server": now.cores_of(self._pid, self._began), "others": now.cores_of_others(self._began)}


def measure_raw(clients: int, stalled: int, rate: int, seconds: int) -> Run:
    """The server that does nothing but write."""
    run = Run(RAW, rate, clients, stalled, rate * seconds)
    with process(run_raw, run.total, float(rate)) as (server, pid):
        port = told(server)
        run.memory["alone"] = resident_mib(pid)
        with process(run_clients, Crowd("127.0.0.1", port, clients, stalled, run.total)) as (crowd, _):
            told(crowd)
            watch = Watch(run, pid)
            server.send("go")
            watch.until(lambda: server.poll(0.1), seconds * 5)
            began = told(server)
            run.sent_at = [began + number / rate for number in range(run.total)]
            watch.until(lambda: crowd.poll(0.1), DRAIN_S)
            watch.end()
            _collect(run, crowd)
    return run


def measure_service(clients: int, stalled: int, rate: int, seconds: int, *, is_apache: bool = False, **settings: str) -> Run:
    """`touchstone serve` on Apache Kafka or the embedded broker. `settings`: of its environment, besides."""
    run = Run(SERVICE, rate, clients, stalled, rate * seconds)
    with _apache() if is_apache else _embedded() as bootstrap, _serving(bootstrap, settings) as (address, pid):
        place = urlsplit(address)
        run.memory["alone"] = resident_mib(pid)
        with process(run_clients, Crowd(str(place.hostname), int(place.port or 0), clients, stalled, run.total)) as (crowd, _):
            told(crowd)
            watch = Watch(run, pid)
            asyncio.run(_send(run, bootstrap, watch))
            watch.until(lambda: crowd.poll(0.1), DRAIN_S)
            watch.end()
            patience_s = float(settings.get("TOUCHSTONE_SERVE_SEND_TIMEOUT_S", ServeSettings().send_timeout_s)) + CUT_S
            watch.until(lambda: _is_settled(address, run), patience_s)
            run.memory["end"] = resident_mib(pid)
            _collect(run, crowd)
    return run


async def _send(run: Run, bootstrap: str, watch: Watch) -> None:
    """The events, as steadily as this process can."""
    values, headers = [result(number) for number in range(run.total)], [("ce_type", TYPE)]
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=LINGER_MS) as producer:
        began = time.monotonic()
        while len(run.sent_at) < run.total:
            due = min(run.total, int((time.monotonic() - began) * run.rate) + 1)
            for number in range(len(run.sent_at), due):
                run.sent_at.append(time.monotonic())
                await producer.send(TOPICS.results, values[number], partition=0, headers=headers)
            watch.look()
            await asyncio.sleep(SEND_EVERY_S)


@contextmanager
def _embedded() -> Iterator[str]:
    """The embedded broker with the topics of the service, one partition each."""
    with EmbeddedBroker(dict.fromkeys((TOPICS.results, TOPICS.reports), 1)) as broker:
        yield broker.bootstrap_servers


@contextmanager
def _apache() -> Iterator[str]:
    """The same with one node of Apache Kafka."""
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as directory, KafkaCluster(Path(directory) / "kafka", port=0, tied=True) as kafka:
        asyncio.run(_create_topics(kafka.bootstrap_servers))
        yield kafka.bootstrap_servers


async def _create_topics(bootstrap: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, 1, 1) for name in (TOPICS.results, TOPICS.reports)])
    finally:
        await admin.close()


@contextmanager
def _serving(bootstrap: str, settings: dict[str, str]) -> Iterator[tuple[str, int]]:
    """The service in a process; its address and process id."""
    env = os.environ | {"KAFKA_BOOTSTRAP_SERVERS": bootstrap, "TOUCHSTONE_LOG_FORMAT": "json"} | settings
    command = [sys.executable, "-m", "touchstone.ops.cli", "serve", "--port", "0"]
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as service:
        assert service.stderr is not None
        try:
            address = ""
            for line in service.stderr:
                fields = json.loads(line) if line.startswith("{") else {}
                address = fields.get("address", address)
                if fields.get("event") == "dependency_up":
                    break
            yield address, service.pid
        finally:
            service.terminate()


@contextmanager
def process(target: Callable[..., None], *args: object) -> Iterator[tuple[Connection, int]]:
    """A process of this program, with a pipe to it."""
    ours, theirs = _SPAWN.Pipe()
    child = _SPAWN.Process(target=target, args=(theirs, *args), daemon=True)
    child.start()
    theirs.close()
    try:
        yield ours, child.pid or 0
    finally:
        child.terminate()
        child.join()
        ours.close()


def told(pipe: Connection, within_s: float = START_S) -> Any:
    """What a process says. Raises `TimeoutError`."""
    if not pipe.poll(within_s):
        raise TimeoutError(f"a process of the bench said nothing within {within_s:.0f} s")
    return pipe.recv()


def _is_settled(address: str, run: Run) -> bool:
    """Whether nothing waits for anybody any more: the stalled clients have been cut off, or the kernel took everything for them."""
    time.sleep(ASK_EVERY_S)
    with urllib.request.urlopen(f"{address}/metrics", timeout=START_S) as answer:
        run.counters = {name: float(number) for name, number in _COUNTERS.findall(answer.read().decode())}
    return not run.counters["events_queued"]


def _collect(run: Run, crowd: Connection) -> None:
    """What the clients got."""
    crowd.send("stop")
    said = told(crowd)
    run.tallies, run.cut = told(crowd) if said == "done" else said
