"""(c) latency at half the measured load, and (d) memory with a tenfold backlog; both on real workers."""

import asyncio
import subprocess
import time
from dataclasses import dataclass

import orjson
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from touchstone.ops.lab.bench.throughput import command, ends, environment
from touchstone.ops.lab.bench.workload import GENERATIONS, PARTITIONS, create_topics, events


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds from the event's append to the broker until its result was read back, at `rate` events/s."""

    contender: str
    rate: float
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class Memory:
    """Peak resident memory of a worker, in MiB, while it worked off a backlog."""

    contender: str
    backlog: int
    peak_mib: float


async def latency(contender: str, bootstrap: str, rate: float, seconds: float, tag: str) -> Latency:
    """Offer events at a steady rate to a running worker and read its results back."""
    target, prefix = f"bench.latency.{tag}", f"lat-{tag}"
    await create_topics(bootstrap, [target])
    process = subprocess.Popen(
        command(contender, bootstrap, f"bench.{tag}", target, 0), env=environment(f"bench.{tag}", target) | {"TOUCHSTONE_WORKER_AUTO_OFFSET_RESET": "latest"}
    )
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=5)
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True)
    await consumer.start()
    await producer.start()
    consumer.assign([TopicPartition(target, number) for number in range(PARTITIONS)])
    sent: dict[str, float] = {}
    taken_ms: list[float] = []
    count = int(rate * seconds)
    try:
        await _until_scoring(producer, consumer)
        reading = asyncio.create_task(_read_back(consumer, sent, taken_ms, count))
        begun = time.perf_counter()
        for number, value in enumerate(events(count, prefix)):
            ahead = begun + number / rate - time.perf_counter()
            if ahead > 0.002:
                await asyncio.sleep(ahead)
            sent[f"{prefix}-{number}"] = time.perf_counter()
            await producer.send(GENERATIONS, value, partition=number % PARTITIONS)
        await asyncio.wait_for(reading, 60)
    finally:
        process.terminate()
        process.wait(30)
        await producer.stop()
        await consumer.stop()
    # The first third belongs to start-up: connections, first batches, a worker that works off the knocking.
    warm = sorted(taken_ms[len(taken_ms) // 3 :])
    return Latency(contender, rate, warm[len(warm) // 2], warm[int(len(warm) * 0.99)])


async def _until_scoring(producer: AIOKafkaProducer, consumer: AIOKafkaConsumer) -> None:
    """Knock until the worker answers: it may still be joining its group, and starts at the end of the topic."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for number, value in enumerate(events(PARTITIONS, f"knock-{time.monotonic_ns()}")):
            await producer.send_and_wait(GENERATIONS, value, partition=number)
        fetched = await consumer.getmany(timeout_ms=500)
        if len({tp for tp, records in fetched.items() if records}) == PARTITIONS:
            return
    raise RuntimeError("the worker did not score within a minute")


async def _read_back(consumer: AIOKafkaConsumer, sent: dict[str, float], taken_ms: list[float], count: int) -> None:
    """Note when each result arrives."""
    while len(taken_ms) < count:
        for records in (await consumer.getmany(timeout_ms=200)).values():
            now = time.perf_counter()
            for record in records:
                headers = dict(record.headers)
                if headers.get("ce_type") == b"touchstone.result":
                    event_id = orjson.loads(record.value)["event_id"]
                    if event_id in sent:
                        taken_ms.append((now - sent[event_id]) * 1000)


async def peak_memory(contender: str, bootstrap: str, backlog: int, tag: str) -> Memory:
    """Let a worker work off what lies on the topic, sampling its resident memory."""
    import psutil

    target = f"bench.memory.{tag}"
    await create_topics(bootstrap, [target])
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap)
    await consumer.start()
    process = subprocess.Popen(command(contender, bootstrap, f"bench.{tag}", target, backlog), env=environment(f"bench.{tag}", target))
    peak = 0
    deadline = time.monotonic() + 60 + backlog / 500
    try:
        while await ends(consumer, target) < backlog:
            peak = max(peak, psutil.Process(process.pid).memory_info().rss)
            if time.monotonic() > deadline or process.poll() is not None:
                raise RuntimeError(f"{contender} ended or hung before the backlog was done")
            await asyncio.sleep(0.1)
    finally:
        process.terminate()
        process.wait(30)
        await consumer.stop()
    return Memory(contender, backlog, peak / 2**20)
