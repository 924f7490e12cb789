"""Requests on one topic and replies on another, joined by a correlation id; without a consumer group, so that nothing is left behind."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import orjson
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from touchstone.schemas.settings.house import KafkaSettings
from touchstone.scorers.base import ConfigError
from touchstone.streams.wire.clients import client_options, existing_topics, open_admin, refused_or_unreachable, unreachable
from touchstone.streams.wire.closing import close_client
from touchstone.streams.wire.codec import Record

CORRELATION: Final = "correlation_id"
POLL_MS: Final = 200
POLL_RECORDS_MAX: Final = 500
#: Replies to one request that wait to be read; a reply beyond them is dropped, as one to nobody is.
REPLIES_MAX: Final = 1_000


class Undelivered(Exception):
    """A request was not acknowledged, or the replies can no longer be read. The text names the kind of error, never a payload."""


class RequestReply:
    """Sends requests and hands out their replies. Use as an async context manager.

    A reply belongs to the request whose correlation id it carries, in the header `correlation_id` or, without one, in that field of its JSON. Every other
    record of the reply topic is passed over. Replies are read from where the topic ends when it is opened, on all partitions.
    """

    def __init__(self, kafka: KafkaSettings, request_topic: str, reply_topic: str) -> None:
        """Opens no connection."""
        self._kafka, self._request_topic, self._reply_topic = kafka, request_topic, reply_topic
        self._consumer: AIOKafkaConsumer | None = None
        self._producer: AIOKafkaProducer | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waiting: dict[str, asyncio.Queue[bytes]] = {}

    async def open(self) -> None:
        """Connect. Raises `ConfigError` for an unreachable broker or a missing topic."""
        partitions = await self._partitions()
        # What retention deletes while nobody looks is passed over.
        self._consumer = AIOKafkaConsumer(**client_options(self._kafka), group_id=None, enable_auto_commit=False, auto_offset_reset="latest")
        self._producer = AIOKafkaProducer(**client_options(self._kafka), acks="all", enable_idempotence=True)
        try:
            await self._producer.start()
            await self._consumer.start()
            self._consumer.assign(partitions)
            # Now, not at the first poll: by then the reply to the first request might be there.
            ends = await asyncio.wait_for(self._consumer.end_offsets(partitions), self._kafka.request_timeout_s)
            for partition, end in ends.items():
                self._consumer.seek(partition, end)
        except (KafkaError, OSError, TimeoutError) as error:
            await self.close()
            raise await refused_or_unreachable(self._kafka, error) from None
        except BaseException:
            await self.close()
            raise
        self._reading = asyncio.create_task(self._read(self._consumer))

    async def close(self) -> None:
        """Disconnect, within a bound."""
        if self._reading is not None:
            self._reading.cancel()
            with contextlib.suppress(asyncio.CancelledError, KafkaError):
                await self._reading
            self._reading = None
        for client in (self._consumer, self._producer):
            if client is not None:
                await close_client(client.stop)
        self._consumer = self._producer = None

    @asynccontextmanager
    async def exchange(self, correlation: str, key: bytes, document: Mapping[str, Any]) -> AsyncIterator[Callable[[], Awaitable[bytes]]]:
        """Send a request, and give what waits for its next reply; the caller knows which one is the last, and how long to wait.

        Sending and waiting raise `Undelivered`.
        """
        queue: asyncio.Queue[bytes] = asyncio.Queue(REPLIES_MAX)
        self._waiting[correlation] = queue
        try:
            await self._send(correlation, key, document)
            yield lambda: self._next(queue)
        finally:
            del self._waiting[correlation]

    async def _send(self, correlation: str, key: bytes, document: Mapping[str, Any]) -> None:
        assert self._producer is not None, "open comes first"
        headers = [(CORRELATION, correlation.encode()), ("reply_topic", self._reply_topic.encode())]
        try:
            await self._producer.send_and_wait(self._request_topic, orjson.dumps(document), key=key, headers=headers)
        except (KafkaError, OSError) as error:
            raise Undelivered(type(error).__name__) from None

    async def _next(self, queue: asyncio.Queue[bytes]) -> bytes:
        """The next reply to one request. Raises `Undelivered` once none can come any more."""
        assert self._reading is not None
        getting = asyncio.ensure_future(queue.get())
        try:
            await asyncio.wait({getting, self._reading}, return_when=asyncio.FIRST_COMPLETED)
            if getting.done():
                return getting.result()
        finally:
            getting.cancel()
        error = None if self._reading.cancelled() else self._reading.exception()
        raise Undelivered(type(error).__name__)

    async def _read(self, consumer: AIOKafkaConsumer) -> None:
        """Hand each reply to the request that waits for it."""
        while True:
            for records in (await consumer.getmany(timeout_ms=POLL_MS, max_records=POLL_RECORDS_MAX)).values():
                for record in records:
                    queue = self._waiting.get(_correlation_of(record) or "")
                    if queue is not None and not queue.full():
                        queue.put_nowait(record.value or b"")

    async def _partitions(self) -> list[TopicPartition]:
        """The partitions of the reply topic. Neither topic is created: whose they are decides that."""
        admin = await open_admin(self._kafka)
        try:
            existing = await existing_topics(admin)
        except (KafkaError, OSError, TimeoutError) as error:
            raise ConfigError(unreachable(self._kafka, error)) from None
        finally:
            await admin.close()
        if missing := [name for name in (self._request_topic, self._reply_topic) if name not in existing]:
            raise ConfigError(f"no topic {', '.join(missing)} on {self._kafka.bootstrap_servers}; create it, or check the name")
        return [TopicPartition(self._reply_topic, entry["partition"]) for entry in existing[self._reply_topic]]


def _correlation_of(record: Record) -> str | None:
    """The correlation id of a record; None without one that can be read."""
    for name, value in record.headers or ():
        if name == CORRELATION:
            return bytes(value).decode("utf-8", "replace")
    try:
        document = orjson.loads(record.value or b"")
    except orjson.JSONDecodeError:
        return None
    found = document.get(CORRELATION) if isinstance(document, dict) else None
    return found if isinstance(found, str) else None
