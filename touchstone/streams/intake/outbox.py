"""The outbox: sends results, ledger records and dead letters, and waits for the broker's acknowledgement.

It has one idempotent producer. Everything for one partition goes through a lane: what queues up while a request is under
way leaves together in the next batch, in order. A publish ends only when the broker has acknowledged it: faults are
retried without end, because giving up would mean either losing the outcome or acknowledging an event without one.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.errors import (
    InvalidMessageError,
    KafkaError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    ProducerClosed,
    RecordListTooLargeError,
)

from touchstone.schemas.settings.house import KafkaSettings, WorkerSettings
from touchstone.scorers.backoff import Backoff
from touchstone.streams.telemetry.metric_list import Happening, State
from touchstone.streams.wire.clients import client_options
from touchstone.streams.wire.closing import close_client
from touchstone.streams.wire.message import Message

log = structlog.get_logger(__name__)

#: Below the brokers' default message.max.bytes of 1 MiB, with room for the batch's own header.
BATCH_BYTES = 900_000
#: The broker never accepts such a record, however often it is sent.
REFUSED_FOR_SIZE = (MessageSizeTooLargeError, RecordListTooLargeError, InvalidMessageError)


class TooLarge(Exception):
    """The broker refuses this one record for its size."""


class OutboxEvents(Protocol):
    """Receives what the outbox counts."""

    def count(self, name: Happening, amount: int = 1) -> None: ...  # noqa: D102
    def gauge(self, name: State, value: float) -> None: ...  # noqa: D102


@dataclass(slots=True, eq=False)
class _Parcel:
    """Messages of one publish call; `sent` of them are acknowledged."""

    messages: Sequence[Message]
    done: asyncio.Future[None]
    sent: int = 0


@dataclass(slots=True, eq=False)
class _Lane:
    """What waits for one partition."""

    topic: str
    partition: int
    parcels: deque[_Parcel] = field(default_factory=deque)
    task: asyncio.Task[None] | None = None


class Outbox:
    """An idempotent producer whose publishes end when the broker has acknowledged them."""

    def __init__(self, kafka: KafkaSettings, worker: WorkerSettings, metrics: OutboxEvents) -> None:
        self._kafka = kafka
        self._worker = worker
        self._metrics = metrics
        self._producer: AIOKafkaProducer | None = None
        self._rebuilding = asyncio.Lock()
        self._lanes: dict[tuple[str, int], _Lane] = {}
        self._sending: dict[asyncio.Task[Any], AIOKafkaProducer] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._up = True
        self._failing: set[tuple[str, int]] = set()
        #: () → how far this machine's clock is ahead of the cluster's, if that matters.
        self.clock_off_s: Callable[[], float] = lambda: 0.0

    @property
    def up(self) -> bool:
        """False from the first failed attempt until an acknowledgement after which no partition fails any more."""
        return self._up

    async def start(self) -> Self:
        """Connect, and return itself. Raises the client's error if no broker answers."""
        self._producer = await self._open()
        self._metrics.gauge("outbox_up", 1)
        return self

    async def stop(self) -> None:
        """Close the producer. What is not acknowledged by now stays so, and its offset is not committed."""
        for lane in self._lanes.values():
            if lane.task is not None:
                lane.task.cancel()
        producer, self._producer = self._producer, None
        if producer is not None:
            await self._close(producer)
        for task in list(self._closing):
            task.cancel()
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def publish(self, topic: str, partition: int, messages: Sequence[Message]) -> None:
        """Send messages to one partition, in order, and wait until the broker has acknowledged them all.

        Retries without end. Raises `TooLarge` if the broker refuses a message for its size; the others of the call
        may then be published already, which their deterministic ids make harmless.
        """
        if not messages:
            return
        lane = self._lanes.get((topic, partition))
        if lane is None:
            lane = self._lanes[topic, partition] = _Lane(topic, partition)
        parcel = _Parcel(messages, asyncio.get_running_loop().create_future())
        lane.parcels.append(parcel)
        if lane.task is None or lane.task.done():
            lane.task = asyncio.create_task(self._drain(lane))
        await parcel.done

    async def _drain(self, lane: _Lane) -> None:
        """Empty one lane, batch by batch."""
        backoff = self._backoff()
        try:
            while lane.parcels:
                if lane.parcels[0].done.done():  # its caller has gone: a revoked partition
                    lane.parcels.popleft()
                    continue
                producer = self._producer
                if producer is None:
                    return
                batch, taken = self._pack(producer, lane)
                try:
                    await self._send(producer, batch, lane)
                except REFUSED_FOR_SIZE as error:
                    await self._rebuild(producer, lane)  # the refused batch left a gap in the idempotent sequence
                    await self._send_singly(lane, taken, error)
                except KafkaTimeoutError:
                    # Raised by send_batch while its own queue waits: nothing was sent.
                    self._down(lane, "queue_timeout")
                except (KafkaError, OSError) as error:
                    self._down(lane, type(error).__name__)
                    await asyncio.sleep(backoff.next_s())
                    await self._rebuild(producer, lane)
                else:
                    backoff.reset()
                    self._recovered(lane)
                    self._settle(lane, taken)
        except asyncio.CancelledError:
            for parcel in lane.parcels:
                parcel.done.cancel()
            raise
        except Exception as error:  # noqa: BLE001 -- see the next line
            # A defect here must reach the caller that waits, or the event would stay in flight forever.
            log.error("outbox_defect", code=type(error).__name__)
            for parcel in lane.parcels:
                if not parcel.done.done():
                    parcel.done.set_exception(error)
            lane.parcels.clear()
        finally:
            self._failing.discard((lane.topic, lane.partition))  # nothing waits here any more

    async def _send(self, producer: AIOKafkaProducer, batch: Any, lane: _Lane) -> None:
        """Send a batch and wait until the broker has acknowledged it. Raises `KafkaError`, and `ProducerClosed` where another lane had the producer replaced.

        Trap: a closed producer wakes nobody. Who waits for the metadata of a topic that it has not sent to before, or for a batch
        that it did not get rid of in time, would wait for ever, and everything for that partition behind it.
        """
        task = asyncio.current_task()
        assert task is not None
        self._sending[task] = producer
        try:
            acknowledged = await producer.send_batch(batch, lane.topic, partition=lane.partition)
            await acknowledged
        except asyncio.CancelledError:
            if task in self._sending or task.uncancel() > 0:
                raise
            raise ProducerClosed from None
        finally:
            self._sending.pop(task, None)

    def _pack(self, producer: AIOKafkaProducer, lane: _Lane) -> tuple[Any, list[tuple[_Parcel, int]]]:
        """Fill one batch from the head of the lane. Returns it and how many messages of each parcel it holds."""
        batch = producer.create_batch()
        # Kafka refuses what is dated more than an hour ahead: a worker whose clock is would stand for ever.
        off_s = self.clock_off_s()
        stamp_ms = int((time.time() - off_s) * 1000) if off_s else None
        taken: list[tuple[_Parcel, int]] = []
        for parcel in lane.parcels:
            count = 0
            for message in parcel.messages[parcel.sent :]:
                if batch.append(timestamp=stamp_ms, key=message.key, value=message.value, headers=message.headers) is None:
                    break
                count += 1
            if count:
                taken.append((parcel, count))
            if parcel.sent + count < len(parcel.messages):
                break
        return batch, taken

    def _settle(self, lane: _Lane, taken: list[tuple[_Parcel, int]]) -> None:
        """Mark messages acknowledged and wake the callers whose last message was among them."""
        for parcel, count in taken:
            parcel.sent += count
            if parcel.sent == len(parcel.messages) and not parcel.done.done():
                parcel.done.set_result(None)
        while lane.parcels and lane.parcels[0].sent == len(lane.parcels[0].messages):
            lane.parcels.popleft()

    async def _send_singly(self, lane: _Lane, taken: list[tuple[_Parcel, int]], error: KafkaError) -> None:
        """After a refusal for size: find the message that is too large, and send the others."""
        if sum(count for _, count in taken) == 1:
            parcel = taken[0][0]
            if not parcel.done.done():
                parcel.done.set_exception(TooLarge(type(error).__name__))
            lane.parcels.remove(parcel)
            return
        for parcel, count in taken:
            for _ in range(count):
                single = _Lane(lane.topic, lane.partition)
                part = _Parcel([parcel.messages[parcel.sent]], asyncio.get_running_loop().create_future())
                single.parcels.append(part)
                await self._drain(single)
                failure = part.done.exception() if part.done.done() and not part.done.cancelled() else None
                if failure is not None:
                    if not parcel.done.done():
                        parcel.done.set_exception(failure)
                    parcel.sent = len(parcel.messages)
                    break
                self._settle(lane, [(parcel, 1)])
        while lane.parcels and lane.parcels[0].sent == len(lane.parcels[0].messages):
            lane.parcels.popleft()

    async def _open(self) -> AIOKafkaProducer:
        compression = None if self._worker.compression == "none" else self._worker.compression
        options = client_options(self._kafka) | {"request_timeout_ms": int(self._worker.produce_timeout_s * 1000)}
        producer = AIOKafkaProducer(
            **options,
            acks="all",
            enable_idempotence=True,
            compression_type=compression,
            max_batch_size=BATCH_BYTES,
            max_request_size=2**31 - 1,
        )
        try:
            await producer.start()
        except BaseException:
            await self._close(producer)
            raise
        return producer

    async def _rebuild(self, failed: AIOKafkaProducer, lane: _Lane) -> None:
        """Replace a producer after a failed batch.

        A batch that fails for good leaves a gap in the idempotent sequence, and every later batch to that partition
        is refused: only a new producer id ends that.
        """
        async with self._rebuilding:
            if self._producer is not failed:
                return
            backoff = self._backoff()
            while True:
                try:
                    fresh = await self._open()
                    break
                except (KafkaError, OSError) as error:
                    self._down(lane, type(error).__name__)
                    await asyncio.sleep(backoff.next_s())
            self._producer = fresh
        task = asyncio.create_task(self._close(failed))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _backoff(self) -> Backoff:
        """Pauses between the attempts of one outage."""
        return Backoff(self._worker.retry_backoff_min_s, self._worker.retry_backoff_max_s)

    async def _close(self, producer: AIOKafkaProducer) -> None:
        """Stop a producer within a bound: its own stop waits for batches that may never be acknowledged. Lanes that still wait for it send again."""
        try:
            await close_client(producer.stop)
        finally:
            for task in [task for task, used in self._sending.items() if used is producer]:
                del self._sending[task]  # so that it knows by whom it was cancelled
                task.cancel()

    def _down(self, lane: _Lane, code: str) -> None:
        """Count a failed attempt; log the first of a row."""
        self._failing.add((lane.topic, lane.partition))
        self._metrics.count("outbox_retries")
        if self._up:
            self._up = False
            self._metrics.gauge("outbox_up", 0)
            log.warning("outbox_down", code=code)

    def _recovered(self, lane: _Lane) -> None:
        """Note an acknowledgement. That of one partition says nothing of another, whose leader may have a full disk."""
        self._failing.discard((lane.topic, lane.partition))
        if not self._up and not self._failing:
            self._up = True
            self._metrics.gauge("outbox_up", 1)
            log.info("outbox_up")
