"""Apache Kafka for the length of a benchmark."""

import asyncio
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from touchstone.ops.local.kafka.cluster import KafkaCluster

TRIES, PAUSE_S = 600, 0.1


@contextmanager
def apache_kafka() -> Iterator[str]:
    """The address of one node on this machine."""
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as directory, KafkaCluster(Path(directory) / "kafka", port=0, tied=True) as kafka:
        yield kafka.bootstrap_servers


async def create_topics(bootstrap: str, names: Sequence[str], partitions: int, settings: Mapping[str, str] | None = None) -> None:
    """Create topics, and wait until the broker names them: it does so a moment later."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, partitions, 1, topic_configs=dict(settings or {})) for name in names])
        for _ in range(TRIES):
            if set(names) <= set(await admin.list_topics()):
                return
            await asyncio.sleep(PAUSE_S)
        raise TimeoutError(f"the broker does not name its new topics within {TRIES * PAUSE_S:.0f} s")
    finally:
        await admin.close()
