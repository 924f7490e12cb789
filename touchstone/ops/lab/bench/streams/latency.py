"""Latency of a worker at a steady load: from the event's append to the broker until its result was read back."""

import asyncio
import time

import orjson
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from touchstone.ops.lab.bench.streams.contenders import Contender
from touchstone.ops.lab.bench.streams.workload import GENERATIONS, PARTITIONS, create_topics, events


async def latency(contender: Contender, rate: float, seconds: float) -> tuple[float, float]:
    """Milliseconds, median and 99th percentile, at `rate` events a second."""
    await create_topics(contender.bootstrap, [contender.target])
    sent: dict[str, float] = {}
    taken_ms: list[float] = []
    count, prefix = int(rate * seconds), f"lat-{contender.tag}"
    consumer = AIOKafkaConsumer(bootstrap_servers=contender.bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=5)
    producer = AIOKafkaProducer(bootstrap_servers=contender.bootstrap, enable_idempotence=True)
    with contender.running(TOUCHSTONE_WORKER_AUTO_OFFSET_RESET="latest"):
        async with consumer, producer:
            consumer.assign([TopicPartition(contender.target, number) for number in range(PARTITIONS)])
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
    # The first third belongs to start-up: connections, first batches, a worker that works off the probes.
    warm = sorted(taken_ms[len(taken_ms) // 3 :])
    return warm[len(warm) // 2], warm[int(len(warm) * 0.99)]


async def _until_scoring(producer: AIOKafkaProducer, consumer: AIOKafkaConsumer) -> None:
    """Send probes until the worker answers: it may still be joining its group, and starts at the end of the topic."""
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
                if dict(record.headers).get("ce_type") == b"touchstone.result":
                    event_id = orjson.loads(record.value)["event_id"]
                    if event_id in sent:
                        taken_ms.append((now - sent[event_id]) * 1000)
