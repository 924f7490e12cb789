"""The projector: results and ledger records → result store → batch reports, restartable at any instant.

Reads the results topic without a consumer group. The rows of a polled batch and the positions after it
are one transaction of the store, so a crash loses nothing and repeats nothing. Reports are sent from the store's state,
at least once: a batch stays due until the broker has acknowledged its report.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from types import MappingProxyType
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError, OffsetOutOfRangeError, UnknownTopicOrPartitionError, for_code

from touchstone.schemas.settings.house import Settings
from touchstone.scorers.suite import Suite, unknown_suite
from touchstone.streams.account.batch_reports import COMPUTE_SHARE_MAX, BatchState, Emitted, Summary, encode_report, is_final, next_look, payload
from touchstone.streams.account.judge_looks import JudgeLooks
from touchstone.streams.account.judge_port import JudgeSource
from touchstone.streams.account.projection import NO_SUITES, project
from touchstone.streams.account.service import Service
from touchstone.streams.account.store_port import ProjectionStore, check_positions, check_topic
from touchstone.streams.telemetry.service_counts import ProjectorCounts
from touchstone.streams.topics.cluster_clock import ClusterClock
from touchstone.streams.topics.identity import TopicMetadata
from touchstone.streams.wire.clients import client_options
from touchstone.streams.wire.closing import close_client

log = structlog.get_logger("touchstone.projector")

#: Batches looked at in one round, between two polls.
REPORTS_PER_ROUND_MAX = 64
POLL_MS = 250


class Projector(Service):
    """One projector over one store. A second one on the same store ends with `StoreRefused`."""

    SPOKEN = MappingProxyType({"kafka": "the broker", "store": "the store"})

    def __init__(
        self,
        settings: Settings,
        store: ProjectionStore,
        *,
        suites: Mapping[str, Suite] = NO_SUITES,
        metrics: ProjectorCounts | None = None,
        judges: JudgeSource | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`judges`: the store, for judges; without it, nothing is found out about them."""
        self._metrics = metrics or ProjectorCounts()
        super().__init__(settings, self._metrics, log, settings.topics.results, settings.topics.reports)
        self._store = store
        self._suites = suites
        self._clock = clock
        self._topic_id = ""
        self._cluster_clock = ClusterClock()
        self._unsent = False
        self._owed: dict[int, int] = {}
        self._judges = None if judges is None else JudgeLooks(settings, judges, self._metrics, self._writing, clock)

    def _why_not(self) -> list[str]:
        """A clock that is far from the cluster's."""
        return [clock] if (clock := self._cluster_clock.why()) else []

    def _failed(self, error: Exception) -> None:
        """A position that the log does not have is looked at by the next session, which reports what is wrong, and how to fix it."""
        if isinstance(error, OffsetOutOfRangeError):
            log.warning("results_position_gone", topic=self._topic)
        else:
            super()._failed(error)

    async def _session(self, stop: asyncio.Event) -> None:
        """Connect, start from the store's positions, and work until something breaks: then nothing in memory is trusted."""
        options = client_options(self._settings.kafka)
        async with AsyncExitStack() as stack:
            admin = AIOKafkaAdminClient(**options)
            stack.push_async_callback(close_client, admin.close)
            await admin.start()
            consumer = AIOKafkaConsumer(**options, group_id=None, enable_auto_commit=False, auto_offset_reset="none")
            stack.push_async_callback(close_client, consumer.stop)
            await consumer.start()
            producer = AIOKafkaProducer(**options, acks="all", enable_idempotence=True)
            stack.push_async_callback(close_client, producer.stop)
            await producer.start()
            metadata = TopicMetadata(self._settings.kafka)
            stack.push_async_callback(metadata.close)
            self._cluster_clock = metadata.clock
            self._topic_id = await self._topic_id_now(metadata)
            check_topic(self._topic, await self._ask(self._store.topic_id, self._topic), self._topic_id)
            positions = await self._assign(consumer, await self._partitions(admin))
            watching = asyncio.create_task(self._watch(admin))
            stack.callback(watching.cancel)
            if self._judges is not None:
                stack.callback(asyncio.create_task(self._judges.run(producer)).cancel)
            while not stop.is_set():
                await self._work(consumer, producer, metadata, positions, stop)
                async with asyncio.timeout(self._settings.kafka.probe_timeout_s):
                    partitions = await self._partitions(admin)
                if set(partitions) - positions.keys():
                    positions = await self._assign(consumer, partitions)
                async with asyncio.timeout(self._settings.kafka.probe_timeout_s):
                    await self._probe(consumer, positions)

    async def _watch(self, admin: AIOKafkaAdminClient) -> None:
        """Ask the cluster at intervals, even while other work waits for it: a report that cannot be sent blocks for long."""
        kafka = self._settings.kafka
        while True:
            await asyncio.sleep(kafka.probe_interval_s)
            try:
                async with asyncio.timeout(kafka.probe_timeout_s):
                    await self._partitions(admin)
            except (KafkaError, OSError, TimeoutError) as error:
                self._gone("kafka", type(error).__name__)
            else:
                if not self._unsent:
                    self._back("kafka")

    async def _work(
        self, consumer: AIOKafkaConsumer, producer: AIOKafkaProducer, metadata: TopicMetadata, positions: dict[int, int | None], stop: asyncio.Event
    ) -> None:
        """Poll, write and report until it is time to look after the broker."""
        until = time.monotonic() + self._settings.kafka.probe_interval_s
        while not stop.is_set() and time.monotonic() < until:
            polled = await _poll(consumer, self._settings.projector.batch_records_max)
            if polled:
                # Asked after the poll: what was read before is of the topic that the store's positions belong to, or nothing of it is written.
                if await self._topic_id_now(metadata) != self._topic_id:
                    raise OffsetOutOfRangeError
                await self._write(polled, positions)
            await self._report(producer)
            if not self.ready.is_set() and not self._owed:
                # A store on a full disk can be read, and so can a broker: only what was written shows that they are back, all that it refused included.
                await self._ask(self._store.check_writable)
                self._back("kafka")
                self._back("store")
                self.ready.set()

    async def _write(self, polled: Mapping[int, Sequence[Any]], positions: dict[int, int | None]) -> None:
        """One transaction; the positions in memory follow it."""
        projection = await asyncio.to_thread(project, self._topic, positions, polled, self._suites)
        projection.topic_id = self._topic_id
        began = time.perf_counter()
        self._owed = {number: max(reached, self._owed.get(number, 0)) for number, reached in (self._owed | projection.reached).items()}
        try:
            async with self._writing:
                applied = await self._ask(self._store.apply, projection, self._clock())
        finally:  # where it fails, it may have been written all the same
            if self._judges is not None:
                self._judges.touch(projection.results)
        self._owed = {number: reached for number, reached in self._owed.items() if reached > projection.reached.get(number, 0)}
        self._metrics.transaction(time.perf_counter() - began)
        positions.update(projection.reached)
        counts = {"new": applied.new, "replaced": applied.replaced, "repeat": applied.repeats, "replay": applied.replays, "contradicted": applied.contradicted}
        for kind, count in {**counts, "ledger": projection.ledger_records}.items():
            if count:
                self._metrics.records(kind, count)
        if applied.contradicted:
            log.warning("positions_contradicted", topic=self._topic, count=applied.contradicted)
        for code, count in projection.rejected.items():
            self._metrics.records(f"rejected:{code}", count)
            log.warning("results_record_unreadable", topic=self._topic, code=code, count=count)

    async def _report(self, producer: AIOKafkaProducer) -> None:
        """Send what is due and remember what the broker acknowledged."""
        states = await self._ask(self._store.due, self._clock(), REPORTS_PER_ROUND_MAX)
        if not states:
            return
        self._unsent = True
        planned: list[tuple[Emitted, asyncio.Future[Any] | None, float]] = []
        for state in states:
            began = time.perf_counter()
            summary = await self._ask(self._store.summary, state.report_id)
            seconds = time.perf_counter() - began
            planned.append((*await self._send(producer, state, summary, seconds), seconds))
        acknowledged = await asyncio.gather(*(future for _, future, _ in planned if future is not None), return_exceptions=True)
        failure = next((outcome for outcome in acknowledged if isinstance(outcome, BaseException)), None)
        if failure is not None:
            raise failure  # none of the round is marked: what was acknowledged is sent again under the same id
        self._unsent = False
        async with self._writing:
            await self._ask(self._store.mark_emitted, [emitted for emitted, _, _ in planned])
        for emitted, future, seconds in planned:
            if future is not None:
                self._metrics.report(emitted.final, seconds)

    async def _send(self, producer: AIOKafkaProducer, state: BatchState, summary: Summary, seconds: float) -> tuple[Emitted, asyncio.Future[Any] | None]:
        """Hand one report to the producer, unless it equals the last one."""
        settings = self._settings.projector
        now = self._clock()
        final = is_final(state, summary, now, settings.quiet_s)
        interval = max(settings.report_interval_s, seconds / COMPUTE_SHARE_MAX)
        emitted = Emitted(state.report_id, state.revision, final, now, next_look(state, final, now, settings.quiet_s), interval)
        if state.revision == state.emitted_revision and final == state.emitted_final:
            return emitted, None
        suite = self._suites.get(state.key.suite) or unknown_suite(state.key.suite, state.key.suite_version)
        try:
            key, value, headers = encode_report(state, payload(state, summary, final, suite), suite)
        except Exception as error:  # noqa: BLE001 -- a suite that cannot report one batch must not hold up the others
            log.error("report_failed", suite=suite.name, code=type(error).__name__)
            return emitted, None
        return emitted, await producer.send(self._settings.topics.reports, value=value, key=key, headers=headers)

    async def _topic_id_now(self, metadata: TopicMetadata) -> str:
        """The id of the results topic, freshly asked; empty where the broker gives none. Raises `UnknownTopicOrPartitionError` while there is no such topic."""
        topic = (await metadata.read([self._topic])).get(self._topic)
        if topic is None:
            raise UnknownTopicOrPartitionError
        return topic.topic_id

    async def _partitions(self, admin: AIOKafkaAdminClient) -> list[int]:
        """Partition numbers of the results topic, freshly asked."""
        described = (await admin.describe_topics([self._topic]))[0]
        if described["error_code"]:
            raise for_code(described["error_code"])
        return sorted(entry["partition"] for entry in described["partitions"])

    async def _assign(self, consumer: AIOKafkaConsumer, numbers: Sequence[int]) -> dict[int, int | None]:
        """Take every partition from the store's positions on. Raises `StoreRefused` if the topic does not have them."""
        partitions = {number: TopicPartition(self._topic, number) for number in numbers}
        stored = await self._ask(self._store.positions, self._topic)
        starts = await consumer.beginning_offsets(list(partitions.values()))
        ends = await consumer.end_offsets(list(partitions.values()))
        check_positions(self._topic, stored, {number: (starts[part], ends[part]) for number, part in partitions.items()})
        consumer.assign(list(partitions.values()))
        for number, part in partitions.items():
            consumer.seek(part, stored.get(number, starts[part]))
        # Never read before: the fence is that nobody else has begun either.
        return {number: stored.get(number) for number in partitions}

    async def _probe(self, consumer: AIOKafkaConsumer, positions: Mapping[int, int | None]) -> None:
        """Ask for the log's bounds: an idle connection that has died shows here, and so does a recreated topic."""
        ends = await consumer.end_offsets([TopicPartition(self._topic, number) for number in positions])
        lag = {part.partition: end - await consumer.position(part) for part, end in ends.items()}
        if min(lag.values(), default=0) < 0:
            raise OffsetOutOfRangeError
        self._metrics.lag(lag)


async def _poll(consumer: AIOKafkaConsumer, most: int) -> dict[int, list[Any]]:
    """Partition → records: what has arrived, and while the log is known to hold more, up to `most`.

    One poll gives what one fetch brought, often a hundred records; a transaction for each would be the slower way to catch up.
    """
    polled: dict[int, list[Any]] = {}
    left = most
    while left > 0:
        more = await consumer.getmany(timeout_ms=POLL_MS, max_records=left)
        for part, records in more.items():
            polled.setdefault(part.partition, []).extend(records)
            left -= len(records)
        if not more or not any([(consumer.highwater(part) or 0) > await consumer.position(part) for part in consumer.assignment()]):
            break
    return polled
