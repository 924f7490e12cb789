"""Reads topics for people, without a consumer group, so that no committed offsets move."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Literal, Self

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from touchstone.schemas.settings.house import KafkaSettings
from touchstone.scorers.base import ConfigError
from touchstone.streams.topics.absence import Absence, Say
from touchstone.streams.wire.clients import Unreachable, client_options, existing_topics, open_admin, unreachable
from touchstone.streams.wire.closing import close_client
from touchstone.streams.wire.codec import Record

POLL_MS = 500
POLL_RECORDS_MAX = 500
#: A broker that returns nothing for this long, with records left to read, counts as gone.
STALL_S = 30.0
#: While following, how often the broker is asked whether it is there, and how long it may take to answer.
PROBE_INTERVAL_S = 2.0
PROBE_TIMEOUT_S = 5.0

#: 9999-12-31T23:59:59.999Z
MOMENT_MAX_MS = 253_402_300_799_999
EPOCH = datetime.fromtimestamp(0, UTC)

Place = tuple[str, int]


class NoRecord(ConfigError):
    """There is no record at an offset; the message says why."""


class LogReader:
    """A reader of whole topics. Use as an async context manager; raises `ConfigError` for an unreachable broker or a missing topic.

    `say`: called, while following, once when the broker is away and once when it is back.
    """

    def __init__(self, kafka: KafkaSettings, topics: Sequence[str], say: Say | None = None) -> None:
        self._kafka = kafka
        where = f"Kafka at {kafka.bootstrap_servers}"
        self._absence = Absence(say, when_gone=f"{where} does not answer; waiting for it", when_back=f"{where} is back; reading continues where it stopped")
        self._watch: asyncio.Task[None] | None = None
        self._topics = tuple(dict.fromkeys(topics))
        self._consumer: AIOKafkaConsumer = None
        self._partitions: list[TopicPartition] = []

    async def __aenter__(self) -> Self:
        """Connect and find the partitions."""
        admin = await open_admin(self._kafka)
        try:
            existing = await existing_topics(admin)
        except (KafkaError, OSError, TimeoutError) as error:
            raise Unreachable(unreachable(self._kafka, error)) from None
        finally:
            await admin.close()
        missing = [name for name in self._topics if name not in existing]
        if missing:
            raise ConfigError(f"no topic {', '.join(missing)} on {self._kafka.bootstrap_servers}; run `touchstone topics create`, or check the name")
        # "earliest": what retention deletes while it is being read is passed over.
        consumer = AIOKafkaConsumer(**client_options(self._kafka), group_id=None, enable_auto_commit=False, auto_offset_reset="earliest")
        try:
            await consumer.start()
        except BaseException as error:
            await consumer.stop()
            if isinstance(error, (KafkaError, OSError, TimeoutError)):
                raise Unreachable(unreachable(self._kafka, error)) from None
            raise
        self._consumer = consumer
        self._partitions = [TopicPartition(name, entry["partition"]) for name in self._topics for entry in existing[name]]
        consumer.assign(self._partitions)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Disconnect, within a bound."""
        if self._watch is not None:
            self._watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watch
        await close_client(self._consumer.stop)

    async def ends(self) -> dict[Place, int]:
        """(topic, partition) → the offset that the next record will get."""
        found = await self._bounded(self._consumer.end_offsets(self._partitions))
        return {(part.topic, part.partition): end for part, end in found.items()}

    async def bounds(self) -> dict[Place, tuple[int, int]]:
        """(topic, partition) → its first offset, and the one that the next record will get."""
        begins = await self._bounded(self._consumer.beginning_offsets(self._partitions))
        return {place: (begins[TopicPartition(*place)], end) for place, end in (await self.ends()).items()}

    async def read(self, start: Literal["beginning", "end"] | Mapping[Place, int], *, follow: bool = False) -> AsyncIterator[Record]:
        """Records from `start` to the current end, or without end. In order within a partition only.

        While following it waits for a broker that goes away, and continues where it stopped.
        """
        consumer = self._consumer
        ends = await self.ends()
        begins = await self._bounded(consumer.beginning_offsets(self._partitions))
        for part in self._partitions:
            place = (part.topic, part.partition)
            at = begins[part] if start == "beginning" else ends[place] if start == "end" else start[place]
            consumer.seek(part, at)
        if follow and self._watch is None:
            self._watch = asyncio.create_task(self._watch_broker())
        moved = time.monotonic()
        while follow or await self._before(ends):
            polled = await consumer.getmany(timeout_ms=POLL_MS, max_records=POLL_RECORDS_MAX)
            # Before the first record goes out: whoever reads one has been told that the broker is back.
            if polled:
                self._absence.back()
            for part, records in polled.items():
                for record in records:
                    if follow or record.offset < ends[part.topic, part.partition]:
                        yield record
            if polled:
                moved = time.monotonic()
            elif not follow and time.monotonic() - moved > STALL_S:
                raise Unreachable(f"Kafka at {self._kafka.bootstrap_servers} stopped answering; the records read so far are not all")

    async def fetch(self, topic: str, partition: int, offset: int) -> Record | None:
        """The record at one offset; None if there is none (deleted by retention, or never written)."""
        try:
            return await self.record_at(topic, partition, offset)
        except NoRecord:
            return None

    async def record_at(self, topic: str, partition: int, offset: int) -> Record:
        """The record at one offset. Raises `NoRecord`, which says why there is none."""
        where, part = f"{topic}[{partition}]@{offset}", TopicPartition(topic, partition)
        if part not in self._partitions:
            raise NoRecord(f"{where}: the topic has no such partition; it has partitions 0 to {len(self._partitions) - 1}")
        begin = (await self._bounded(self._consumer.beginning_offsets([part])))[part]
        end = (await self._bounded(self._consumer.end_offsets([part])))[part]
        if offset < begin:
            raise NoRecord(f"{where}: the partition now begins at offset {begin}; the record was deleted (retention)")
        if offset >= end:
            raise NoRecord(f"{where}: the next record of the partition gets offset {end}; check the offset, and whether the topic was made anew")
        self._consumer.seek(part, offset)
        deadline = time.monotonic() + STALL_S
        while time.monotonic() < deadline:
            polled = await self._consumer.getmany(part, timeout_ms=POLL_MS, max_records=1)
            for record in polled.get(part, ()):
                found: Record = record
                if found.offset == offset:
                    return found
            # Markers and compacted records have offsets, and nothing to read.
            if polled or await self._bounded(self._consumer.position(part)) > offset:
                raise NoRecord(f"{where}: no record has this offset; compaction removed it, or it is the marker of a transaction")
        raise ConfigError(f"Kafka at {self._kafka.bootstrap_servers} does not return {topic}[{partition}] offset {offset}; look at the broker's log")

    async def _watch_broker(self) -> None:
        """Ask for the log's ends now and then: an empty poll does not distinguish a quiet topic from a broker that is away."""
        while True:
            await asyncio.sleep(PROBE_INTERVAL_S)
            try:
                await asyncio.wait_for(self._consumer.end_offsets(self._partitions), PROBE_TIMEOUT_S)
            except (KafkaError, OSError, TimeoutError):
                self._absence.gone()
            else:
                self._absence.back()

    async def _before(self, ends: Mapping[Place, int]) -> bool:
        """True if something is left to read. Positions count, not records: markers and compacted records have offsets too."""
        for part in self._partitions:
            if await self._bounded(self._consumer.position(part)) < ends[part.topic, part.partition]:
                return True
        return False

    async def _bounded(self, asked: Any) -> Any:
        """What the broker answers, within the request timeout."""
        try:
            return await asyncio.wait_for(asked, self._kafka.request_timeout_s)
        except (KafkaError, OSError, TimeoutError) as error:
            raise Unreachable(unreachable(self._kafka, error)) from None


def moment(milliseconds: int | None) -> datetime:
    """A record's timestamp; bounded to the years that a datetime has."""
    return EPOCH + timedelta(milliseconds=min(max(milliseconds or 0, 0), MOMENT_MAX_MS))


def header_texts(headers: Iterable[tuple[str, bytes]] | None) -> dict[str, str]:
    """Headers as text, the last of a name winning; bytes that are no UTF-8 become replacement characters."""
    return {name: (raw or b"").decode("utf-8", "replace") for name, raw in headers or ()}
