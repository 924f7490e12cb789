"""The events of the benchmark: the shipped sample cases, over and over, each with an id of its own."""

import asyncio
import itertools
from collections.abc import Iterator

import orjson
from aiokafka import AIOKafkaProducer

from touchstone.ops.batch.cases import completed
from touchstone.ops.batch.reading import read_values
from touchstone.ops.batch.sources import find_sources, opened
from touchstone.ops.lab.bench import brokers
from touchstone.schemas.case import SafeCase
from touchstone.schemas.result import Problem
from touchstone.scorers.safe import SUITE, samples

PARTITIONS = 4
GENERATIONS = "touchstone.generations"


def sample_documents() -> list[dict[str, object]]:
    """Every shipped sample case, as an event without an id."""
    documents: list[dict[str, object]] = []
    for source in find_sources(samples().paths, any_file=False):
        with opened(source) as stream:
            records = [one[1] for one in read_values(stream, source) if not isinstance(one, Problem)]
        documents += [completed(record, SafeCase, source, SUITE) for record in records]
    return [{key: value for key, value in document.items() if key != "id"} for document in documents]


def events(count: int, prefix: str = "bench") -> Iterator[bytes]:
    """`count` event values with ids `prefix-0`, `prefix-1`, …"""
    for number, document in zip(range(count), itertools.cycle(sample_documents()), strict=False):
        yield orjson.dumps(document | {"id": f"{prefix}-{number}"})


async def create_topics(bootstrap: str, names: list[str]) -> None:
    """Create topics with four partitions each."""
    await brokers.create_topics(bootstrap, names, PARTITIONS)


async def preload(bootstrap: str, topic: str, count: int, prefix: str = "bench") -> None:
    """Produce `count` events, spread evenly, and wait for every acknowledgement."""
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, max_batch_size=500_000, linger_ms=5) as producer:
        pending: list[asyncio.Future[object]] = []
        for number, value in enumerate(events(count, prefix)):
            pending.append(await producer.send(topic, value, partition=number % PARTITIONS))
            if len(pending) >= 10_000:
                await asyncio.gather(*pending)
                pending.clear()
        await asyncio.gather(*pending)
