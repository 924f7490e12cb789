"""The archiver: results → the events that a policy names → objects and index, restartable at any instant.

Several archivers share the results topic as one consumer group. A batch's offsets are committed after its objects and rows are written, so a crash repeats
and loses nothing; objects are created once, so a repeat changes nothing.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, OffsetOutOfRangeError

from touchstone.schemas.settings.house import Settings
from touchstone.streams.account.archive_port import ArchiveAway, CaseArchive, Outcome, Wanted
from touchstone.streams.account.committed import NOWHERE, Committed, Rebalances, with_id
from touchstone.streams.account.projection import NO_SUITES, Position, project
from touchstone.streams.account.service import Service
from touchstone.streams.account.sources import Sources
from touchstone.streams.telemetry.service_counts import ArchiverCounts
from touchstone.streams.wire.clients import client_options
from touchstone.streams.wire.closing import close_client
from touchstone.streams.wire.source_documents import document_of

log = structlog.get_logger("touchstone.archiver")

POLL_MS = 250
#: The client library's own bound of one answer of a broker.
FETCH_BYTES_MAX = 52_428_800
#: Outcomes of events that cannot be kept: each is logged once for a process.
LOST: frozenset[Outcome] = frozenset({"source_expired", "made_anew", "too_large", "unreadable"})


class Archiver(Service):
    """One archiver of the group."""

    SPOKEN = MappingProxyType({"kafka": "the broker", "objects": "the store of objects", "store": "the result store"})
    ENDS_STUCK = True

    def __init__(self, settings: Settings, archive: CaseArchive, metrics: ArchiverCounts | None = None) -> None:
        self._metrics = metrics or ArchiverCounts()
        super().__init__(settings, self._metrics, log, settings.topics.results)
        self._archive = archive
        self._topic_id = ""
        self._said: set[str] = set()
        self.group = f"{settings.worker.group_prefix}.archive"

    def _silence(self) -> tuple[str, float]:
        """Objects are written one by one in a long call: only the one under way counts. Without one, it is the result store that is waited for."""
        name, seconds = super()._silence()
        asked_at, answered_at = self._archive.waits()
        now = time.monotonic()
        return ("objects", now - asked_at) if asked_at is not None else (name, min(seconds, now - answered_at))

    def _failed(self, error: Exception) -> None:
        """Note why a session has ended."""
        if isinstance(error, ArchiveAway):
            self._gone("objects", error.code)
        elif isinstance(error, OffsetOutOfRangeError):
            log.info("results_position_gone", topic=self._topic)  # the next session finds its place anew
        elif isinstance(error, CommitFailedError | IllegalStateError):
            log.info("partitions_taken", group=self.group)  # another archiver has them: what is not committed is read again, and changes nothing
        else:
            super()._failed(error)

    async def _session(self, stop: asyncio.Event) -> None:
        """Join the group and work until something breaks: then nothing in memory is trusted."""
        worker = self._settings.worker
        fetch_bytes = min(FETCH_BYTES_MAX, self._settings.archive.in_flight_bytes)
        async with AsyncExitStack() as stack:
            consumer = AIOKafkaConsumer(
                **client_options(self._settings.kafka),
                group_id=self.group,
                enable_auto_commit=False,
                auto_offset_reset="none",  # see `_place`
                fetch_max_bytes=fetch_bytes,
                session_timeout_ms=int(worker.session_timeout_s * 1000),
                heartbeat_interval_ms=int(worker.heartbeat_interval_s * 1000),
                rebalance_timeout_ms=int(worker.rebalance_timeout_s * 1000),
                max_poll_interval_ms=int(worker.poll_interval_max_s * 1000),
            )
            stack.push_async_callback(close_client, consumer.stop)
            await consumer.start()
            sources = Sources(self._settings.kafka, fetch_bytes)
            stack.push_async_callback(sources.close)
            committed = await stack.enter_async_context(Committed(self._settings.kafka, self.group, self._topic))
            rebalances = Rebalances()
            consumer.subscribe(topics=[self._topic], listener=rebalances)  # once started: before, start would wait for an assignment
            await self._ask(self._archive.check_writable)
            self._back("store")
            self._back("objects")
            placed, probed = -1, 0.0
            while not stop.is_set():
                try:
                    polled = await consumer.getmany(timeout_ms=POLL_MS, max_records=self._settings.archive.batch_records_max)
                except NOWHERE:
                    placed = -1
                if placed != rebalances.count:
                    placed = rebalances.count
                    await self._place(consumer, committed)  # what has been polled comes again
                    continue
                if polled:
                    # Asked after the poll: what was read before is of the topic that the offsets belong to, or nothing of it is committed.
                    await self._check_topic(committed)
                    await self._batch(consumer, sources, polled)
                if not self.ready.is_set() or time.monotonic() - probed > self._settings.kafka.probe_interval_s:
                    await self._check_topic(committed)
                    await self._probe(consumer)
                    # Else nobody would notice that they are away before the next case is to be written.
                    await self._ask(self._archive.check_readable)
                    probed = time.monotonic()
                    self.ready.set()

    async def _check_topic(self, committed: Committed) -> None:
        """Raise `OffsetOutOfRangeError` if another topic has the name now."""
        if await committed.topic_id() != self._topic_id:
            raise OffsetOutOfRangeError

    async def _place(self, consumer: AIOKafkaConsumer, committed: Committed) -> None:
        """Seek to where the group reads on, and say what of the topic is skipped. What moves is committed, so that it is said once."""
        places = await committed.find(consumer, self._topic_id)
        for part, offset in places.offsets.items():
            consumer.seek(part, offset)
        if places.moved:
            await consumer.commit(with_id({part: places.offsets[part] for part in places.moved}, places.topic_id))
        if places.is_anew:
            log.warning("topic_made_anew", topic=self._topic)
        if places.expired:
            log.warning("results_expired", topic=self._topic, count=places.expired)
        self._metrics.skipped(made_anew=places.is_anew, expired=places.expired)
        self._topic_id = places.topic_id

    async def _batch(self, consumer: AIOKafkaConsumer, sources: Sources, polled: Mapping[TopicPartition, Sequence[Any]]) -> None:
        """Keep what is wanted of these results, then commit."""
        projection = await asyncio.to_thread(project, self._topic, {}, {part.partition: records for part, records in polled.items()}, NO_SUITES)
        for code, count in projection.rejected.items():
            log.warning("results_record_unreadable", topic=self._topic, code=code, count=count)
        known, wanted = await self._ask(self._archive.sort, projection.results)
        self._metrics.results(len(projection.results), len(known) + sum(len(one.results) for one in wanted))
        async with self._writing:
            await self._ask(self._archive.keep_results, known)
        self._metrics.outcome("known", len({row.event_id for row in known}))
        await self._cases(sources, wanted)
        await consumer.commit(with_id({part: records[-1].offset + 1 for part, records in polled.items()}, self._topic_id))
        self._metrics.committed()

    async def _cases(self, sources: Sources, wanted: Sequence[Wanted]) -> None:
        """Read the events and keep them, as many at a time as memory may hold."""
        by_place: dict[Position, list[Wanted]] = {}
        for one in wanted:
            by_place.setdefault(one.place, []).append(one)
        ready: list[Wanted] = []
        size = 0
        async for place, found in sources.read({place: ones[0].checksum for place, ones in by_place.items()}):
            data = b"" if isinstance(found, str) else document_of(found)
            gone: Outcome | None = found if isinstance(found, str) else "unreadable" if data is None else None
            size += len(data or b"")
            if size > self._settings.archive.in_flight_bytes or len(ready) >= self._settings.archive.batch_records_max:
                await self._keep(ready)
                ready, size = [], len(data or b"")
            ready += [replace(one, data=data or b"", gone=gone) for one in by_place[place]]
        await self._keep(ready)

    async def _keep(self, ready: Sequence[Wanted]) -> None:
        if not ready:
            return
        began = time.perf_counter()
        async with self._writing:
            outcomes = await self._ask(self._archive.keep_cases, ready)
        self._metrics.written(time.perf_counter() - began)
        for outcome, count in outcomes.items():
            self._metrics.outcome(outcome, count)
            if count and outcome in LOST and outcome not in self._said:
                self._said.add(outcome)
                log.warning("cases_not_kept", code=outcome, count=count)

    async def _probe(self, consumer: AIOKafkaConsumer) -> None:
        """Ask for the log's ends: an idle connection that has died shows here. Without partitions of its own another archiver has them all."""
        parts = list(consumer.assignment())
        async with asyncio.timeout(self._settings.kafka.probe_timeout_s):
            if not parts:
                await consumer.topics()
            ends = await consumer.end_offsets(parts) if parts else {}
            self._metrics.lag({part.partition: max(0, end - await consumer.position(part)) for part, end in ends.items()})
        self._back("kafka")
