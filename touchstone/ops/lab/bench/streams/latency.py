"""Latency at a steady load, from the event's append to the log until its result was read back, and in which stage the time went.

Load, worker and reader are processes of their own, and load and reader are librdkafka: a reader in Python would be most of what is measured. The broker
stamps events and results when it appends them, the worker notes its slices' stages (`timed`), and all of that is joined when the load is over.
"""

import itertools
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import orjson
import psutil

from touchstone.ops.lab.bench.brokers import create_topics
from touchstone.ops.lab.bench.output import table
from touchstone.ops.lab.bench.processes import cpu_s, process, received, taken_s
from touchstone.ops.lab.bench.streams.contenders import Contender
from touchstone.ops.lab.bench.streams.workload import PARTITIONS, events
from touchstone.ops.lab.runners import runner_of

#: Between the appends of an event and of its result, as `touchstone.streams.intake.offsets.Slice.stage` names it, and after it.
STAGES = ("fetch wait", "queue", "score", "confirm", "produce", "reader")
#: The first part of a run belongs to start-up (connections, first batches) and is not counted.
WARM_S = 5.0
#: Of the load. A request for every few events would have the broker take more of the machine than the worker.
LINGER_MS = 25
WITHIN_S = 120.0
_Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Latency:
    """`stages`: of each event, milliseconds in each of `STAGES`. `pauses`: of the worker: (cause, milliseconds).

    `busy`: process → the share of one processor that it took while the load was on; what the host of a virtual machine took for others is there, too.
    """

    rate: float
    stages: list[tuple[float, ...]]
    pauses: list[tuple[str, float]]
    busy: dict[str, float]

    @property
    def totals(self) -> list[float]:
        """Milliseconds of each event, ascending."""
        return sorted(map(sum, self.stages))

    def lines(self, name: str) -> list[str]:
        """The table of stages, and one of pauses."""
        slowest = sorted(self.stages, key=sum)[-max(1, len(self.stages) // 100) :]
        rows = []
        for number, stage in enumerate((*STAGES, "all")):
            values = sorted(one[number] for one in self.stages) if stage != "all" else self.totals
            mean = sum(one[number] if stage != "all" else sum(one) for one in slowest) / len(slowest)
            rows.append((stage, *(f"{value:.0f}" for value in (at(values, 0.5), at(values, 0.99), values[-1], mean))))
        head = (f"{name}, {self.rate:,.0f} events/s: ms", "p50", "p99", "most", "mean of the slowest 1 %")
        causes = {cause: [ms for found, ms in self.pauses if found == cause] for cause, _ in self.pauses}
        pauses = [(cause, str(len(all_)), f"{sum(all_):.0f}", f"{max(all_):.0f}") for cause, all_ in sorted(causes.items())]
        busy = ", ".join(f"{name} {share:.0%}" for name, share in self.busy.items())
        shown = table(("pauses of its process of 2 ms and more", "number", "ms together", "longest"), pauses) if pauses else []
        return [*table(head, rows), f"Of one core: {busy}.", "", *shown]


def at(values: Sequence[float], share: float) -> float:
    """The quantile of ascending values."""
    return values[min(int(len(values) * share), len(values) - 1)]


async def latency(contender: Contender, rate: float, seconds: float) -> Latency:
    """Measure a runner at `rate` events a second. Raises `TimeoutError` if results are missing."""
    source = f"bench.latency.{contender.tag}"
    await create_topics(contender.bootstrap, [source, contender.target], PARTITIONS, {"message.timestamp.type": "LogAppendTime"})
    count = int(rate * (WARM_S + seconds))
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as directory:
        notes = Path(directory) / "notes.json"
        runner, variables = runner_of(contender.name)
        settings = variables | {"TOUCHSTONE_TOPICS_GENERATIONS": source, "KAFKA_BOOTSTRAP_SERVERS": contender.bootstrap, "TOUCHSTONE_HTTP_PORT": "0"}
        module = [sys.executable, "-m", "touchstone.ops.lab.bench.streams.timed", runner, str(notes)]
        reading = process(_read_back, contender.bootstrap, contender.target, count + PARTITIONS)
        with reading as (reader, reader_pid), contender.started(module, settings) as worker:
            with process(_load, contender.bootstrap, source, contender.tag, rate, count) as (load, load_pid):
                assert received(load, WITHIN_S) == "first ones sent"
                assert received(reader, WITHIN_S) == "first ones read"  # the worker has joined its group
                pids = {"worker": worker.pid, "broker": _broker(), "load": load_pid, "reader": reader_pid}
                spent, taken, begun = {name: cpu_s(pid) for name, pid in pids.items()}, taken_s(), time.monotonic()
                load.send("go")
                received(load, WITHIN_S + 3 * (WARM_S + seconds))
                took_s = time.monotonic() - begun
                busy = {name: (cpu_s(pid) - spent[name]) / took_s for name, pid in pids.items()} | {"the machine's host": (taken_s() - taken) / took_s}
            results: list[tuple[bytes, float, float]] = received(reader, WITHIN_S)
        noted = orjson.loads(notes.read_bytes())
    return _joined(rate, _appends(contender.bootstrap, source, count + PARTITIONS), results, noted, busy)


def _broker() -> int:
    """The process id of the broker that this benchmark has started; 0 if it has not."""
    return next((child.pid for child in psutil.Process().children(recursive=True) if child.name() == "java"), 0)


def _joined(rate: float, appended_s: dict[_Place, float], results: list[tuple[bytes, float, float]], noted: dict[str, Any], busy: dict[str, float]) -> Latency:
    """What the broker, the worker and the reader saw of each event, together."""
    marks: dict[_Place, dict[str, float]] = {}
    for partition, first, after, found in noted["slices"]:
        times = dict(found)
        marks |= {(partition, offset): times for offset in range(first, after)}
    rows: list[tuple[float, tuple[float, ...]]] = []
    for value, result_s, read_s in results:
        source = orjson.loads(value)["source"]
        place = (source["partition"], source["offset"])
        if place not in marks or place not in appended_s:
            continue
        times = marks[place]
        moments = [appended_s[place], times["queue"], times["score"], times.get("confirm", times["produce"]), times["produce"], result_s, read_s]
        # The broker's stamps are whole milliseconds.
        rows.append((moments[0], tuple(max(0.0, (end - begin) * 1000) for begin, end in itertools.pairwise(moments))))
    rows.sort()
    warm = rows[int(rate * WARM_S) :]
    pauses = [(cause, took_s * 1000) for cause, at_s, took_s in noted["pauses"] if at_s >= warm[0][0]]
    return Latency(rate, [stages for _, stages in warm], pauses, busy)


def _load(pipe: Connection, bootstrap: str, topic: str, prefix: str, rate: float, count: int) -> None:
    """Send one event to each partition, wait, then send `count` at a steady rate."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": LINGER_MS, "acks": "all", "log_level": 0})
    for number, value in enumerate(events(PARTITIONS, f"{prefix}.first")):
        producer.produce(topic, value, partition=number)
    producer.flush()
    values = list(events(count, prefix))
    pipe.send("first ones sent")
    pipe.recv()
    begun = time.perf_counter()
    for number, value in enumerate(values):
        ahead = begun + number / rate - time.perf_counter()
        if ahead > 0.001:
            producer.poll(0)
            time.sleep(ahead)
        producer.produce(topic, value, partition=number % PARTITIONS)
    producer.flush()
    pipe.send("sent")


def _read_back(pipe: Connection, bootstrap: str, topic: str, count: int) -> None:
    """Read results as they come: value, when it was appended, when it was here."""
    found: list[tuple[bytes, float, float]] = []
    said = False
    for message, now in _records(bootstrap, topic, count):
        found.append((message.value(), message.timestamp()[1] / 1000, now))
        if not said and len(found) >= PARTITIONS:
            said = True
            pipe.send("first ones read")
    pipe.send(found)


def _appends(bootstrap: str, topic: str, count: int) -> dict[_Place, float]:
    """Partition and offset → when the broker appended the event."""
    return {(message.partition(), message.offset()): message.timestamp()[1] / 1000 for message, _ in _records(bootstrap, topic, count)}


def _records(bootstrap: str, topic: str, count: int) -> Iterator[tuple[Any, float]]:
    """The first `count` records that are not ledger records, and when each was here. Ends early after `WITHIN_S` without one."""
    from confluent_kafka import Consumer, TopicPartition

    alone = {"group.id": f"bench.{topic}", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    consumer = Consumer({"bootstrap.servers": bootstrap, "fetch.wait.max.ms": 5, "log_level": 0, **alone})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    seen, moved_at = 0, time.monotonic()
    while seen < count and time.monotonic() - moved_at < WITHIN_S:
        for message in consumer.consume(1_000, timeout=0.005):
            if message.error() is None and (message.key() or b"")[:7] != b"ledger/":
                seen, moved_at = seen + 1, time.monotonic()
                yield message, time.time()
    consumer.close()
