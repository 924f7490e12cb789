"""Reading and writing topics with librdkafka's client, which shares no code with the workers."""

import random
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition

from touchstone.ops.lab.chaos.plan import BOMB, Plan, Planned, Wire

#: librdkafka unpacks no batch beyond this; the default is 100 MB.
_UNPACKING = {"receive.message.max.bytes": 1_000_000_000}
READ_STALL_S = 60.0
#: Answers of a broker that has just lost a partition, or does not know its leader yet.
LEADERLESS = frozenset({KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE, KafkaError._TRANSPORT, KafkaError._TIMED_OUT})  # noqa: SLF001 -- its public names
TICK_S = 0.02
#: Quiet, and quick to find a new leader: by itself librdkafka looks for one every five minutes.
_CLIENT = {"log_level": 0, "topic.metadata.refresh.interval.ms": 1000, "reconnect.backoff.max.ms": 1000}


def _end(consumer: Consumer, partition: TopicPartition) -> int:
    """The end of a partition; asked again while its leader is being chosen."""
    deadline = time.monotonic() + READ_STALL_S
    while True:
        try:
            return int(consumer.get_watermark_offsets(partition, timeout=10)[1])
        except KafkaException as error:
            if not error.args[0].retriable() and error.args[0].code() not in LEADERLESS:
                raise
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def read_all(bootstrap_servers: str, topic: str, partitions: int) -> Iterator[Any]:
    """Every record that a topic holds now. Raises `TimeoutError` if the broker stops sending them."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "chaos-witness",
            "enable.auto.commit": False,
            "fetch.message.max.bytes": 16_000_000,
            **_UNPACKING,
            **_CLIENT,
        }
    )
    try:
        ends = {number: _end(consumer, TopicPartition(topic, number)) for number in range(partitions)}
        left = {number for number, end in ends.items() if end}
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in left])
        moved_at = time.monotonic()
        while left:
            for message in consumer.consume(5000, 0.2):
                if message.error():
                    continue
                moved_at = time.monotonic()
                yield message
                if message.offset() + 1 >= ends[message.partition()]:
                    left.discard(message.partition())
            # A transaction marker may be the last offset; the position passes it.
            left -= {part.partition for part in consumer.position([TopicPartition(topic, number) for number in left]) if part.offset >= ends[part.partition]}
            if time.monotonic() - moved_at > READ_STALL_S:
                raise TimeoutError(f"{topic}: nothing more to read, though partitions {sorted(left)} have more")
    finally:
        consumer.close()


class Feeder(threading.Thread):
    """Produces a plan, evenly spread over `seconds` (0: as fast as it goes), idempotently; it waits for a broken broker.

    The second half waits for `workers_up` and takes its full share of the time from there: if workers start
    slowly, events still flow when the first fault comes. `stamped_s`: bounds of how far the events' timestamps are off.
    """

    def __init__(self, plan: Plan, bootstrap_servers: str, topic: str, seconds: float, stamped_s: tuple[float, float] = (0, 0)) -> None:
        super().__init__(name="feeder", daemon=True)
        self._plan = plan
        self._topic = topic
        self._seconds = seconds
        self._stamped_s = stamped_s
        self._draw = random.Random(plan.seed)
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "enable.idempotence": True,
                # With more in flight, a topic just made loses its first batch: refused by a leader that does not know itself
                # yet, then taken for a duplicate, because the broker accepted the second batch as the producer's first.
                "max.in.flight.requests.per.connection": 1,
                "message.max.bytes": 16_000_000,
                "queue.buffering.max.kbytes": 2_000_000,
                "delivery.timeout.ms": 600_000,
                "linger.ms": 5,
                **_CLIENT,
            }
        )
        self.refused: list[str] = []
        #: (partition, offset) → place in the plan, of every record that the broker has acknowledged.
        self.places: dict[tuple[int, int], int] = {}
        self.abandoned = threading.Event()
        self.workers_up = threading.Event()
        if not seconds:
            self.workers_up.set()

    def run(self) -> None:
        """Produce all, then wait until the broker has acknowledged all."""
        began = time.monotonic()
        records = self._plan.records
        sent = 0
        while sent < len(records) and not self.abandoned.is_set():
            elapsed = time.monotonic() - began
            if elapsed > self._seconds / 2 and not self.workers_up.is_set():
                began += elapsed - self._seconds / 2
                elapsed = self._seconds / 2
            due = len(records) if elapsed >= self._seconds else int(len(records) * elapsed / self._seconds)
            for record in records[sent:due]:
                wire = self._plan.wire(record)
                self._produce(record, wire)
            sent = max(sent, due)
            self._producer.poll(TICK_S if sent < len(records) else 0)
        while len(self._producer) and not self.abandoned.is_set():
            self._producer.flush(1.0)

    def _produce(self, record: Planned, wire: Wire) -> None:
        """Hand over one record; waits while the queue is full, or the topic does not have the partition yet."""
        delivered = partial(self._delivered, record.place)
        stamp = int((time.time() + self._draw.uniform(*self._stamped_s)) * 1000)
        while not self.abandoned.is_set():
            try:
                self._producer.produce(
                    self._topic, value=wire.value, key=wire.key, partition=record.partition, headers=wire.headers, timestamp=stamp, on_delivery=delivered
                )
            except BufferError:
                self._producer.poll(0.1)
            except KafkaException as error:
                if error.args[0].code() != KafkaError._UNKNOWN_PARTITION:  # noqa: SLF001 -- its public name
                    raise
                self._producer.poll(0.1)
            else:
                return

    def _delivered(self, place: int, error: Any, message: Any) -> None:
        if error is not None:
            self.refused.append(str(error.name()))
        else:
            self.places[message.partition(), message.offset()] = place


class Bombs:
    """Sends record batches that are small on the wire and huge when unpacked; each record says so in a header."""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        self._topic = topic
        # `flush` sends at once. A short wait would end between two records on a busy machine, and make two batches of one.
        large = {"message.max.bytes": 1_000_000_000, "batch.size": 1_000_000_000, "queue.buffering.max.kbytes": 2_000_000, "linger.ms": 60_000}
        self._producer = Producer({"bootstrap.servers": bootstrap_servers, "compression.type": "zstd", **large, **_CLIENT})

    def send(self, partition: int) -> None:
        """One batch of 48 MB of blanks."""
        for _ in range(24):
            self._producer.produce(self._topic, value=b" " * 2_000_000, partition=partition, headers=[(BOMB, b"")])
        self._producer.flush(60)


class Offsets:
    """Committed and end offsets, asked without joining the group."""

    def __init__(self, bootstrap_servers: str, group: str) -> None:
        self._options = {"bootstrap.servers": bootstrap_servers, "group.id": group, "enable.auto.commit": False, "socket.timeout.ms": 3000, **_CLIENT}
        self._consumer = Consumer(self._options)

    def renew(self) -> None:
        """Start afresh after an error: a client without a subscription forgets a topic that was once without a leader, for good."""
        self._consumer.close()
        self._consumer = Consumer(self._options)

    def committed(self, topic: str, partitions: int) -> tuple[int, ...]:
        """Next offset per partition, 0 if nothing was committed. Raises `KafkaException`."""
        answer = self._consumer.committed([TopicPartition(topic, number) for number in range(partitions)], timeout=2.0)
        for part in answer:
            if part.error:
                raise KafkaException(part.error)
        return tuple(max(0, part.offset) for part in sorted(answer, key=lambda part: part.partition))

    def ends(self, topic: str, partitions: int) -> tuple[int, ...]:
        """High watermark per partition. Raises `KafkaException`."""
        return tuple(self._consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=2.0)[1] for number in range(partitions))

    def close(self) -> None:
        """Close the client."""
        self._consumer.close()
