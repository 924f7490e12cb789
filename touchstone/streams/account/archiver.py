"""The archiver: results → the events that a policy names → objects and index, restartable at any instant.

Several archivers share the results topic as one consumer group. A batch's offsets are committed after its objects and rows are written, so a crash repeats
and loses nothing; objects are created once, so a repeat changes nothing.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

from touchstone.schemas.settings.house import Settings
from touchstone.scorers.backoff import Backoff
from touchstone.streams.account.archive_port import ArchiveAway, CaseArchive, Outcome, Wanted
from touchstone.streams.account.projection import NO_SUITES, Position, project
from touchstone.streams.account.sources import Sources
from touchstone.streams.account.store_port import StoreUnavailable
from touchstone.streams.telemetry.archive_counts import ArchiverCounts
from touchstone.streams.wire.clients import check_topics, client_options
from touchstone.streams.wire.closing import close_client
from touchstone.streams.wire.source_documents import document_of
from touchstone.streams.wire.waiting import once_reached

log = structlog.get_logger("touchstone.archiver")

POLL_MS = 250
#: Names of the dependencies on the readiness page.
SPOKEN = {"kafka": "the broker", "objects": "the store of objects", "store": "the result store"}
#: One call of the archive that takes longer does not count as an answer.
PATIENCE_S = 60.0
#: Outcomes of events that cannot be kept: each is logged once for a process.
LOST: frozenset[Outcome] = frozenset({"source_expired", "made_anew", "too_large", "unreadable"})


class Archiver:
    """One archiver of the group. `run` until `stop` is set; what is being written then is finished first."""

    def __init__(self, settings: Settings, archive: CaseArchive, metrics: ArchiverCounts | None = None) -> None:
        self._settings = settings
        self._archive = archive
        self._metrics = metrics or ArchiverCounts()
        self._topic = settings.topics.results
        self._down: dict[str, tuple[float, str]] = {}
        self._asked: dict[object, float] = {}
        self._said: set[str] = set()
        self._writing = asyncio.Lock()
        self.group = f"{settings.worker.group_prefix}.archive"
        self.ready = asyncio.Event()

    def readiness(self) -> tuple[bool, str]:
        """Whether broker, objects and store take part, and the reason if not. Read from another thread."""
        now = time.monotonic()
        gone = [f"{SPOKEN[name]} has not answered for {now - since:.0f} s ({code})" for name, (since, code) in sorted(self._down.copy().items())]
        silent_s = now - min(self._asked.copy().values(), default=now)
        if silent_s > PATIENCE_S and not gone:
            gone.append(f"the archive has not answered for {silent_s:.0f} s (silent)")
        return (False, ", ".join(gone)) if gone else (self.ready.is_set(), "connecting to the broker and the archive")

    async def reach(self, stop: asyncio.Event) -> bool:
        """Wait until the cluster answers and has the topic; False if `stop` came first. Raises `ConfigError` for a missing topic."""
        kafka = self._settings.kafka

        def on_wait(waits: bool) -> None:
            self._mark("kafka", up=not waits, code="Unreachable")

        return await once_reached(lambda: check_topics(kafka, [self._topic]), kafka, self._backoff(), stop, on_wait) is not None

    async def run(self, stop: asyncio.Event) -> None:
        """Archive until `stop`. Waits for a broker or a store that goes away; raises `ConfigError` for faults that waiting cannot fix."""
        session = asyncio.ensure_future(self._sessions(stop))
        stopped = asyncio.ensure_future(stop.wait())
        await asyncio.wait({session, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        async with self._writing:
            session.cancel()
        try:
            await session
        except asyncio.CancelledError:
            if not stop.is_set():
                raise

    async def _sessions(self, stop: asyncio.Event) -> None:
        backoff = self._backoff()
        while not stop.is_set():
            began = time.monotonic()
            try:
                await self._session(stop)
            except StoreUnavailable as error:
                self._gone("store", error.code)
            except ArchiveAway as error:
                self._gone("objects", error.code)
            except (CommitFailedError, IllegalStateError):
                log.info("partitions_taken", group=self.group)  # another archiver has them: what is not committed is read again, and changes nothing
            except (KafkaError, OSError, TimeoutError) as error:
                self._gone("kafka", type(error).__name__)
            finally:
                self.ready.clear()
            if time.monotonic() - began > self._settings.worker.retry_backoff_max_s:
                backoff.reset()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), backoff.next_s())

    def _backoff(self) -> Backoff:
        worker = self._settings.worker
        return Backoff(worker.retry_backoff_min_s, worker.retry_backoff_max_s)

    async def _session(self, stop: asyncio.Event) -> None:
        """Join the group and work until something breaks: then nothing in memory is trusted."""
        worker = self._settings.worker
        async with AsyncExitStack() as stack:
            consumer = AIOKafkaConsumer(
                self._topic,
                **client_options(self._settings.kafka),
                group_id=self.group,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                session_timeout_ms=int(worker.session_timeout_s * 1000),
                heartbeat_interval_ms=int(worker.heartbeat_interval_s * 1000),
                rebalance_timeout_ms=int(worker.rebalance_timeout_s * 1000),
                max_poll_interval_ms=int(worker.poll_interval_max_s * 1000),
            )
            stack.push_async_callback(close_client, consumer.stop)
            await consumer.start()
            sources = Sources(self._settings.kafka)
            stack.push_async_callback(sources.close)
            await self._ask(self._archive.check_writable)
            self._back("store")
            self._back("objects")
            probed = 0.0
            while not stop.is_set():
                polled = await consumer.getmany(timeout_ms=POLL_MS, max_records=self._settings.archive.batch_records_max)
                if polled:
                    await self._batch(consumer, sources, polled)
                if not self.ready.is_set() or time.monotonic() - probed > self._settings.kafka.probe_interval_s:
                    await self._probe(consumer)
                    probed = time.monotonic()
                    self.ready.set()

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
        await consumer.commit({part: records[-1].offset + 1 for part, records in polled.items()})
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
            for one in by_place[place]:
                ready.append(replace(one, data=data or b"", gone=gone))
                size += len(data or b"")
            if size > self._settings.archive.in_flight_bytes or len(ready) >= self._settings.archive.batch_records_max:
                await self._keep(ready)
                ready, size = [], 0
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

    async def _ask(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Call the archive in a thread, noting since when it has been asked."""
        key = object()
        self._asked[key] = time.monotonic()
        try:
            return await asyncio.to_thread(call, *arguments)
        finally:
            del self._asked[key]

    def _gone(self, name: str, code: str) -> None:
        if self._mark(name, up=False, code=code):
            log.warning("dependency_down", stage=name, code=code)

    def _back(self, name: str) -> None:
        if self._mark(name, up=True):
            log.info("dependency_up", stage=name)

    def _mark(self, name: str, *, up: bool, code: str = "") -> bool:
        """Record the state of a dependency; return whether it changed."""
        news = (name in self._down) is up
        self._metrics.dependency(name, up)
        if up:
            self._down.pop(name, None)
        elif news:
            self._down[name] = (time.monotonic(), code)
        return news
