"""The bare loops: the same codec, scorer and encoder between a consumer and a producer, and nothing else.

They keep the one promise that the comparison needs: an offset is committed only after the results before it were acknowledged. They have no
dead letters, no ledger, no metrics and no rebalances. Run as
`python -m touchstone.ops.lab.bench.streams.bare_loops confluent|aiokafka BOOTSTRAP GROUP IN OUT COUNT`.
"""

import asyncio
import gc
import sys
import time
from typing import Any

from touchstone.ops.lab.bench.streams.workload import PARTITIONS
from touchstone.schemas.result import Scorecard
from touchstone.schemas.settings.house import Settings
from touchstone.scorers.scoring import ResultMaker
from touchstone.streams.process.suites import running_suite
from touchstone.streams.wire.codec import Codec, Encoded, Read, encode_result, source_of

CHUNK = 500
COMMIT_INTERVAL_S = 1.0


def parts() -> tuple[Codec, Any, ResultMaker]:
    """The suite's own codec, scorer and maker of results."""
    suite, _ = running_suite("safe_v0", Settings())
    return suite.codec, suite.scorer, ResultMaker(suite.name, suite.version, suite.digest)


def encoded(results: ResultMaker, record: Any, read: Read, card: Scorecard) -> Encoded:
    """The result event of a scored record."""
    return encode_result(results.result(read.case, read.event_id, source_of(record), card, 0.0))


class _ConfluentRecord:
    """A confluent message with the attributes that the codec reads."""

    __slots__ = ("headers", "key", "offset", "partition", "timestamp", "topic", "value")

    def __init__(self, message: Any) -> None:
        self.topic = message.topic()
        self.partition = message.partition()
        self.offset = message.offset()
        self.timestamp = message.timestamp()[1]
        self.key = message.key()
        self.value = message.value()
        self.headers = message.headers() or ()


async def confluent_loop(bootstrap: str, group: str, source: str, target: str, count: int) -> None:
    """librdkafka at both ends: consume, score, produce; flush and commit once a second."""
    from confluent_kafka import Consumer, Producer, TopicPartition

    codec, scorer, results = parts()
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False, "log_level": 0})
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, "queue.buffering.max.messages": 1_000_000, "log_level": 0})
    consumer.subscribe([source])
    done, next_offsets, committed_at = 0, {}, time.monotonic()
    while done < count:
        for message in consumer.consume(CHUNK, timeout=0.2):
            record = _ConfluentRecord(message)
            read = codec.read(record)
            if isinstance(read, Read):
                card = await scorer.score(read.case)
                key, value, headers = encoded(results, record, read, card)
                producer.produce(target, value, key, record.partition % PARTITIONS, headers=headers)
            next_offsets[record.partition] = record.offset + 1
            done += 1
        producer.poll(0)
        if time.monotonic() - committed_at >= COMMIT_INTERVAL_S or done >= count:
            producer.flush()
            offsets = [TopicPartition(source, partition, offset) for partition, offset in next_offsets.items()]
            if offsets:
                consumer.commit(offsets=offsets, asynchronous=False)
            committed_at = time.monotonic()
    consumer.close()


async def aiokafka_loop(bootstrap: str, group: str, source: str, target: str, count: int) -> None:
    """aiokafka at both ends: getmany, score, send; every future of a chunk awaited; commit once a second."""
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

    codec, scorer, results = parts()
    consumer = AIOKafkaConsumer(source, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False)
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, acks="all", linger_ms=5, max_batch_size=262_144)
    await consumer.start()
    await producer.start()
    done, committed_at = 0, time.monotonic()
    while done < count:
        fetched = await consumer.getmany(timeout_ms=200, max_records=CHUNK)
        pending = []
        for records in fetched.values():
            for record in records:
                read = codec.read(record)
                if isinstance(read, Read):
                    card = await scorer.score(read.case)
                    key, value, headers = encoded(results, record, read, card)
                    pending.append(await producer.send(target, value, key, record.partition % PARTITIONS, headers=headers))
                done += 1
        if pending:
            await asyncio.gather(*pending)
        if time.monotonic() - committed_at >= COMMIT_INTERVAL_S or done >= count:
            await consumer.commit()
            committed_at = time.monotonic()
    await consumer.stop()
    await producer.stop()


def main() -> None:
    """Run one loop in this process."""
    import logging

    import uvloop

    kind, bootstrap, group, source, target, count = sys.argv[1:]
    logging.getLogger("aiokafka").setLevel(logging.WARNING)
    gc.set_threshold(50_000, 20, 100)  # as the worker does, so that the collector is not part of the comparison
    loop = confluent_loop if kind == "confluent" else aiokafka_loop
    uvloop.run(loop(bootstrap, group, source, target, int(count)))


if __name__ == "__main__":
    main()
