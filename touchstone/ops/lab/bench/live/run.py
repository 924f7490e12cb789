"""One measurement of the live bench: a server, a crowd of clients in a process of its own, and events at a steady rate."""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from urllib.parse import urlsplit

from aiokafka import AIOKafkaProducer

from touchstone.ops.lab.bench.brokers import apache_kafka, create_topics
from touchstone.ops.lab.bench.live.clients import Crowd, Tally, run_clients
from touchstone.ops.lab.bench.live.processes import Moment, children, resident_mib, socket_mib
from touchstone.ops.lab.bench.live.raw_server import run_raw
from touchstone.ops.lab.bench.live.stream import TYPE, result
from touchstone.ops.lab.bench.processes import START_S, process, received
from touchstone.schemas.settings.house import ServeSettings, TopicSettings
from touchstone.streams.embedded.broker import EmbeddedBroker

RAW, SERVICE = "raw server", "touchstone serve"
TOPICS = TopicSettings()
#: How long clients may still read after the last event was sent.
DRAIN_S = 60.0
#: The embedded broker answers a fetch with one batch of a producer, so with small batches its round trips, and not the service, would be measured.
SEND_EVERY_S = 0.025
LINGER_MS = 20
#: After a client's time is up, until it is cut off.
CUT_S = 10.0
ASK_EVERY_S = 0.5
_COUNTERS = re.compile(r"^touchstone_serve_(clients_stalled_total|events_dropped_total|events_queued) (\S+)$", re.MULTILINE)


@dataclass(slots=True)
class Run:
    """The figures of one measurement. Moments in seconds of the monotonic clock, memory in MiB, processor time in cores (1: one core all the time).

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
        """True if all of them did."""
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
        """Look until a condition holds, or the time is over."""
        end = time.monotonic() + within_s
        while not is_so() and time.monotonic() < end:
            self.look()

    def end(self) -> None:
        """Note the processor time that it took."""
        now = Moment.now(self._pids)
        self._run.cores = {"server": now.cores_of(self._pid, self._began), "others": now.cores_of_others(self._began)}


def measure_raw(clients: int, stalled: int, rate: int, seconds: int) -> Run:
    """Measure the server that only writes."""
    run = Run(RAW, rate, clients, stalled, rate * seconds)
    with process(run_raw, run.total, float(rate)) as (server, pid):
        port = received(server)
        run.memory["alone"] = resident_mib(pid)
        with process(run_clients, Crowd("127.0.0.1", port, clients, stalled, run.total)) as (crowd, _):
            received(crowd)
            watch = Watch(run, pid)
            server.send("go")
            watch.until(lambda: server.poll(0.1), seconds * 5)
            began = received(server)
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
            received(crowd)
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
    with apache_kafka() as bootstrap:
        asyncio.run(create_topics(bootstrap, [TOPICS.results, TOPICS.reports], 1))
        yield bootstrap


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


def _is_settled(address: str, run: Run) -> bool:
    """True if no event waits for a client: the stalled clients have been cut off, or the kernel's buffers took everything."""
    time.sleep(ASK_EVERY_S)
    with urllib.request.urlopen(f"{address}/metrics", timeout=START_S) as answer:
        run.counters = {name: float(number) for name, number in _COUNTERS.findall(answer.read().decode())}
    return not run.counters["events_queued"]


def _collect(run: Run, crowd: Connection) -> None:
    """Take the tallies of the clients."""
    crowd.send("stop")
    first = received(crowd)
    run.tallies, run.cut = received(crowd) if first == "done" else first
