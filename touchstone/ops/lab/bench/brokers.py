"""Apache Kafka for the length of a benchmark."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from touchstone.ops.local.kafka.cluster import KafkaCluster


@contextmanager
def apache_kafka() -> Iterator[str]:
    """The address of one node on this machine."""
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as directory, KafkaCluster(Path(directory) / "kafka", port=0, tied=True) as kafka:
        yield kafka.bootstrap_servers


async def create_topics(bootstrap: str, names: Sequence[str], partitions: int) -> None:
    """Create topics."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, partitions, 1) for name in names])
    finally:
        await admin.close()
