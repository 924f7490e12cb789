"""The default runner: one Faust agent per suite, fenced against rebalances. The only module that imports Faust.

What Faust 0.15.3 does by itself and must not do here: acknowledge an event whose processing raised, commit past events in
flight when acknowledgements come out of order, lose sink results on produce errors, serve its tables over HTTP, create
topics. So the agent takes raw bytes with `noack`, hands them to the intake and goes on; an event is acknowledged only when
the intake says that it and every earlier offset of its partition are done.
"""

import asyncio
import contextlib
import re
import ssl
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Generator, Mapping
from typing import Any

import faust
import structlog
from aiokafka import ConsumerRecord
from aiokafka.errors import InconsistentGroupProtocolError, KafkaError
from faust.auth import SASLCredentials, SSLCredentials
from faust.transport.consumer import ensure_TP
from faust.transport.drivers.aiokafka import Consumer as AIOKafkaConsumer
from faust.transport.drivers.aiokafka import Transport as AIOKafkaTransport
from faust.types.auth import SASLMechanism
from faust.types.tuples import TP
from mode.services import Service, WaitResults

from touchstone.schemas.settings.house import KafkaSettings
from touchstone.scorers.base import ConfigError
from touchstone.streams.intake.offsets import TopicPartition
from touchstone.streams.runners.base import NOWHERE, POLL_S, Clock, Job, Stalled, Unreadable, mixed_runners, places_of
from touchstone.streams.wire.clients import ssl_context
from touchstone.streams.wire.record_batches import UNREADABLE, read_leniently

log = structlog.get_logger(__name__)

#: Bounds of how long an event waits for a slice to fill before it is scored: Faust yields events one by one, slices are cheaper.
#: A quiet stream waits the short time, a busy one up to the long time, where slices fill before it has passed.
LINGER_MIN_S = 0.002
LINGER_MAX_S = 0.025
#: A flush that finds so many events gathered belongs to a busy stream.
BUSY_RECORDS = 16
#: How long a stop waits for a start that is under way: Faust stopped amid its start leaves a thread and tasks behind.
START_S = 3.0
#: The value of a record that Faust's consumer makes up itself, known by its identity: the partition had to be sought. Its key is where it could not be read.
MOVED = b"moved"
#: Faust's own buffer between consumer and agent.
STREAM_BUFFER_RECORDS = 512


class _FaustRecord:
    """A Faust message in the form that the codec reads: milliseconds, and headers as pairs."""

    __slots__ = ("event", "headers", "key", "offset", "partition", "timestamp", "topic", "value")

    def __init__(self, event: Any) -> None:
        message = event.message
        self.event = event
        self.topic: str = message.topic
        self.partition: int = message.partition
        self.offset: int = message.offset
        self.timestamp = round((message.timestamp or 0) * 1000)  # Faust divides it by 1000
        self.key: bytes | None = message.key
        self.value: bytes | None = message.value
        headers = message.headers
        self.headers: list[tuple[str, bytes]] = list(headers.items()) if isinstance(headers, dict) else list(headers or ())


class _Silent(faust.Monitor):  # type: ignore[misc]
    """Faust's own statistics, off: they are computed per event, in units that contradict their names, and they are never read."""

    def on_message_in(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""

    def on_message_out(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""

    def on_stream_event_in(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""

    def on_stream_event_out(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""


class PromptRace(Service):  # type: ignore[misc]
    """`wait_first` without four tasks per record.

    For every record Faust's consumer races the hand-over to the agent's queue against "suspended", "stopped" and
    "crashed". The queue nearly always has room, so the hand-over ends at its first step and there is nothing to race; a
    third of a worker's time went into those tasks.
    """

    async def wait_first(self, *coros: Any, timeout: Any = None) -> WaitResults:  # noqa: ASYNC109 -- inherited signature
        """As inherited, with the first coroutine's first step taken at once."""
        first, *others = coros
        if not asyncio.iscoroutine(first) or timeout is not None or self.should_stop:
            return await super().wait_first(*coros, timeout=timeout)
        try:
            waits_for = first.send(None)
        except StopIteration as done:
            for other in others:
                if asyncio.iscoroutine(other):
                    other.close()
            # The agent's turn: otherwise the queue fills at once, and Faust then pauses the fetch for a second.
            await asyncio.sleep(0)
            return WaitResults([], [], True) if self.should_stop else WaitResults([first], [done.value], False)
        return await super().wait_first(_Resumed(first, waits_for), *others)


class _Resumed:
    """A coroutine that has taken its first step and waits for something: awaiting this takes the other steps."""

    def __init__(self, coroutine: Any, waits_for: Any) -> None:
        self._coroutine = coroutine
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, Any]:
        """Drive the coroutine to its end; what is thrown in (a cancellation, for one) belongs inside it."""
        waits_for = self._waits_for
        while True:
            try:
                sent = yield waits_for
            except BaseException as error:  # noqa: BLE001 -- see above
                step, value = self._coroutine.throw, error
            else:
                step, value = self._coroutine.send, sent
            try:
                waits_for = step(value)
            except StopIteration as done:
                return done.value


class _Consumer(PromptRace, AIOKafkaConsumer):  # type: ignore[misc]
    """Faust's consumer, with that race, and with seeking made whole.

    Records that Faust has fetched when a rebalance begins are dropped, and it seeks back to what is committed. aiokafka
    leaves a partition where it is if nothing (or offset 0) is committed: what was dropped would never come again, and the
    next commit would pass it. And Faust takes for committed what a failed commit asked for, and then ignores
    acknowledgements below it.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        #: The error that aiokafka raised for an unreadable batch; Faust's fetcher ends with it and does not report it to its app.
        self.unreadable: str | None = None

    async def _getmany(self, active_partitions: set[TP] | None, timeout: float) -> Any:  # noqa: ASYNC109 -- inherited signature
        """As inherited; an unreadable batch is reported with its partition."""
        try:
            return await super()._getmany(active_partitions, timeout)
        except NOWHERE as error:
            return await self._go_on({ensure_TP(tp): position for tp, position in places_of(error).items()})
        except UNREADABLE as error:
            self.unreadable = type(error).__name__
            found = re.search(r"topic='([^']*)', partition=(\d+)", str(error))
            place = {"topic": found[1], "partition": int(found[2])} if found else {}
            log.error("record_unreadable", code=self.unreadable, **place)
            raise

    async def _go_on(self, places: dict[TP, int | None]) -> dict[TP, list[ConsumerRecord]]:
        """Seek partitions that cannot be read where they are. Returns a mark for each: the feed takes note behind all that was fetched before."""
        feed: FaustFeed = self.transport.feed
        job: Job = self.transport.job
        starts = await self.earliest_offsets(*places)
        if feed.fenced:
            return {}
        bare = {tp: job.begin_of((tp.topic, tp.partition)) for tp, position in places.items() if position is None}
        moved = {tp: starts[tp] for tp in places if tp not in bare}
        await self.seek_wait(bare | moved)
        return {tp: [ConsumerRecord(tp.topic, tp.partition, start, 0, 0, str(places[tp]).encode(), MOVED, None, 0, 0, ())] for tp, start in moved.items()}

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        """As inherited, for topics that are still the same: Faust commits up to a second after an acknowledgement, and by the topic's name."""
        job: Job = self.transport.job
        try:
            async with asyncio.timeout(job.settings.worker.commit_timeout_s):
                still = await job.intake.unchanged({tp.topic for tp in offsets})
        except TimeoutError:
            return False
        mine = {tp: offset for tp, offset in offsets.items() if tp.topic in still}
        return bool(mine) and await super()._commit(mine) and len(mine) == len(offsets)

    def jump(self, tp: TP, offset: int) -> None:
        """Take everything below an offset for committed: Faust commits without gaps only."""
        self._gap[tp].chop(0, offset)
        self._acked[tp] = [acked for acked in self._acked[tp] if acked >= offset]
        self._acked_index[tp] = set(self._acked[tp])
        self._committed_offset[tp] = offset

    def restart(self, tp: TP, offset: int) -> None:
        """Forget what was acknowledged on a partition whose log is another one now, and begins at this offset."""
        for books in (self._gap, self._acked, self._acked_index):
            books.pop(tp, None)
        self._committed_offset[tp] = offset

    async def _add_gap(self, tp: TP, offset_from: int, offset_to: int) -> None:
        """As inherited, without the record behind the gap.

        Faust counts that record into the gap, and then takes its acknowledgement for the beginning of a new run: each commit
        passes one gap only. Where producers use transactions, commits would fall behind without end.
        """
        await super()._add_gap(tp, offset_from, offset_to - 1)

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Nothing. Faust looks here for partitions that hang, by statistics that are off; it would report every idle one. The watchdog looks for them."""

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """Seek every assigned partition: to what is committed, else to where this group begins to read."""
        committed: Mapping[TP, int] = await super().seek_to_committed()
        bare = [ensure_TP(tp) for tp, offset in committed.items() if not offset]
        if bare:
            for tp in bare:
                self._committed_offset[tp] = None
            await self.seek_wait({tp: self.transport.job.begin_of((tp.topic, tp.partition)) for tp in bare})
        return committed


class _Transport(AIOKafkaTransport):  # type: ignore[misc]
    """Faust's transport, with that consumer, which finds its job and its feed here."""

    Consumer = _Consumer
    job: Job
    feed: "FaustFeed"


class FaustFeed:
    """Between the agent and the intake: gathers events into slices, and acknowledges them in order."""

    def __init__(self, app: faust.App, job: Job) -> None:
        self._app = app
        self._job = job
        self._gathered: dict[TopicPartition, list[_FaustRecord]] = {}
        self._unacknowledged: dict[TopicPartition, deque[Any]] = {}
        self._taken: dict[TopicPartition, int] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._linger_s = LINGER_MIN_S
        self._jumps: dict[TopicPartition, int] = {}
        self.closed = False
        self.fenced = True

    async def take(self, event: Any) -> None:
        """Take one event from the stream. Waits while the window is full, which pauses the stream."""
        intake = self._job.intake
        if not intake.has_room():
            self.flush()
            await intake.room()
        message = event.message
        # Faust counts the generation up only when the next assignment is there; until then its number does not fence.
        if self.closed or self.fenced or message.generation_id != self._app.consumer_generation_id:
            return  # of an assignment that has ended: the partition's new owner consumes it
        partition = (message.topic, message.partition)
        if message.value is MOVED:
            self._go_on(partition, message.offset, int(message.key))
            return
        if message.offset <= self._taken.get(partition, -1):
            return
        self._taken[partition] = message.offset
        gathered = self._gathered.setdefault(partition, [])
        gathered.append(_FaustRecord(event))
        if len(gathered) >= self._job.settings.worker.slice_records:
            self._start(partition)
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._linger_s, self.flush)

    def flush(self) -> None:
        """Hand every gathered slice to the intake."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        busy = sum(map(len, self._gathered.values())) >= BUSY_RECORDS
        self._linger_s = min(self._linger_s * 2, LINGER_MAX_S) if busy else max(self._linger_s / 2, LINGER_MIN_S)
        for partition in list(self._gathered):
            self._start(partition)

    def _go_on(self, partition: TopicPartition, start: int, position: int) -> None:
        """Everything that was fetched before a partition had to be sought has been taken: now it goes on from `start` instead of `position`."""
        self._start(partition)
        self._job.go_on(partition, start, position)
        self._taken[partition] = start - 1
        if position > start:
            self._unacknowledged.pop(partition, None)
            self._app.consumer.restart(TP(*partition), start)
        else:
            self._jumps[partition] = start

    def _start(self, partition: TopicPartition) -> None:
        records = self._gathered.pop(partition, None)
        if records:
            self._unacknowledged.setdefault(partition, deque()).extend(record.event for record in records)
            self._job.intake.start(partition, records)

    async def settle(self) -> None:
        """Acknowledge what is done to Faust, which commits it on its next tick."""
        worker = self._job.settings.worker
        try:
            async with asyncio.timeout(worker.commit_timeout_s):
                offsets = await self._job.intake.settle()
        except TimeoutError:
            self._job.metrics.count("commit_failures")
            return
        for partition, after in offsets.items():
            waiting = self._unacknowledged.get(partition)
            while waiting and waiting[0].message.offset < after:
                waiting.popleft().ack()
        if offsets:
            self._job.on_committed(offsets)
        for partition in [partition for partition, start in self._jumps.items() if offsets.get(partition, -1) >= start]:
            del self._jumps[partition]
            self._app.consumer.jump(TP(*partition), offsets[partition])
            self._job.owed[partition] = offsets[partition]
        if self._job.owed:
            await self._repay()

    async def _repay(self) -> None:
        """Commit once more what the broker does not have, past Faust's own books, which say that it has."""
        owed = dict(self._job.owed)
        offsets = {TP(*partition): offset for partition, offset in owed.items()}
        try:
            async with asyncio.timeout(self._job.settings.worker.commit_timeout_s):
                committed = await self._app.consumer._commit(offsets)  # noqa: SLF001 -- see above
        except TimeoutError:
            committed = False
        if committed:
            self._job.paid(owed)
        else:
            self._job.metrics.count("commit_failures")

    def forget(self) -> None:
        """A rebalance: gathered and unacknowledged events belong to this worker no more, and no event is taken until it has ended."""
        self.fenced = True
        self._gathered.clear()
        self._unacknowledged.clear()
        self._taken.clear()
        self._jumps.clear()


def make_app(job: Job, datadir: str) -> faust.App:
    """The Faust application of one suite: everything of Faust that could lose, leak or listen is off."""
    settings, worker = job.settings, job.settings.worker
    read_leniently(settings.kafka)
    app = faust.App(
        job.group,
        broker=[f"kafka://{address.strip()}" for address in settings.kafka.bootstrap_servers.split(",")],
        broker_credentials=credentials(settings.kafka),
        broker_client_id=settings.kafka.client_id,
        broker_session_timeout=worker.session_timeout_s,
        broker_heartbeat_interval=worker.heartbeat_interval_s,
        broker_rebalance_timeout=worker.rebalance_timeout_s,
        broker_request_timeout=max(settings.kafka.request_timeout_s, worker.session_timeout_s),
        broker_max_poll_interval=worker.poll_interval_max_s,
        broker_commit_interval=worker.commit_interval_s,
        consumer_auto_offset_reset="none",  # see `_Consumer`
        consumer_metadata_max_age_ms=int(settings.kafka.metadata_max_age_s * 1000),
        consumer_max_fetch_size=max(worker.event_bytes_max, 1_048_576),
        processing_guarantee="at_least_once",
        producer_acks=-1,
        stream_buffer_maxsize=STREAM_BUFFER_RECORDS,
        stream_wait_empty=False,
        topic_allow_declare=False,
        topic_disable_leader=True,
        web_enabled=False,
        autodiscover=False,
        Monitor=_Silent,
        store="memory://",
        datadir=datadir,  # Faust makes it at start, though nothing is kept in it
        value_serializer="raw",
        key_serializer="raw",
    )
    app.transport = _Transport(app.conf.broker_consumer, app)
    app.transport.job = job
    return app


def credentials(kafka: KafkaSettings) -> Any:
    """The settings' credentials as Faust takes them; None for PLAINTEXT."""
    context = ssl_context(kafka)
    if kafka.security_protocol.startswith("SASL"):
        password = kafka.sasl_password.get_secret_value() if kafka.sasl_password else None
        return SASLCredentials(username=kafka.sasl_username, password=password, mechanism=SASLMechanism(kafka.sasl_mechanism), ssl_context=context)
    return SSLCredentials(context=context) if isinstance(context, ssl.SSLContext) else None


def attach(app: faust.App, job: Job) -> FaustFeed:
    """Give the app its one agent and its rebalance callbacks."""
    feed = app.transport.feed = FaustFeed(app, job)
    source = app.topic(*job.topics, value_type=bytes, key_type=bytes, value_serializer="raw", key_serializer="raw")

    @app.agent(source, name=f"{job.group}.intake", concurrency=1)  # type: ignore[untyped-decorator]
    async def intake(stream: Any) -> None:
        events: AsyncIterator[Any] = stream.noack().events()
        async for event in events:
            await feed.take(event)

    @app.on_partitions_revoked.connect  # type: ignore[untyped-decorator]
    async def revoked(_: Any, *__: Any, **___: Any) -> None:
        if job.assigned:
            await job.intake.drain(min(2.0, job.settings.worker.rebalance_timeout_s / 4))
            await feed.settle()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(app.commit(set(job.topics)), job.settings.worker.commit_timeout_s)
        feed.forget()
        job.on_revoked()

    @app.on_partitions_assigned.connect  # type: ignore[untyped-decorator]
    async def assigned(_: Any, partitions: Any = (), *__: Any, **___: Any) -> None:
        feed.forget()
        feed.fenced = False
        job.on_assigned({(tp.topic, tp.partition) for tp in partitions})
        log.info("assigned", partitions=len(partitions))

    return feed


async def run(job: Job) -> None:
    """Consume until `job.stop` is set; then finish what is in flight, commit and leave the group."""
    if job.stop.is_set():
        return  # asked to stop while Faust was imported: an app that never starts leaves nothing behind
    with tempfile.TemporaryDirectory(prefix="touchstone-faust-") as datadir:
        await _run(job, make_app(job, datadir))


async def _run(job: Job, app: faust.App) -> None:
    """See `run`."""
    worker = job.settings.worker
    feed = attach(app, job)
    starting = asyncio.create_task(app.start())  # ends with the first assignment, which may be long in coming
    settler = Clock(feed.settle, worker.commit_interval_s / 2)  # twice per Faust commit
    try:
        while not job.stop.is_set():
            if starting.done():
                _say_why_not_started(starting)
            if app.consumer.unreadable is not None:
                raise Unreadable(app.consumer.unreadable)
            if app.should_stop:
                log.error("faust_stopped")  # Faust has logged why; a new process is the only way to start it again
                raise Stalled
            await _rejoin_after_error(app, job)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(job.stop.wait(), POLL_S)
        feed.flush()
        feed.closed = True
        await asyncio.wait({starting}, timeout=START_S)
        if not await job.intake.drain(worker.drain_timeout_s):
            log.warning("drain_timeout", in_flight=job.intake.in_flight)
        await feed.settle()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(app.commit(set(job.topics)), worker.commit_timeout_s)
    finally:
        await settler.end(worker.commit_timeout_s)
        feed.forget()
        job.on_revoked()
        half_started = not starting.done()  # nothing else stops its tasks and its thread then
        starting.cancel()
        stopping = asyncio.create_task(app.stop())
        _, late = await asyncio.wait({starting, stopping}, timeout=worker.commit_timeout_s)
        if half_started or late:
            # All that matters is committed by now, and the group notices the rest by the session's end.
            log.warning("faust_left_behind")


def _say_why_not_started(starting: asyncio.Task[None]) -> None:
    """Raise what ended the start. A broker that went away meanwhile is waited for by the next process: Faust cannot start again in this one."""
    try:
        starting.result()
    except (KafkaError, OSError) as error:
        log.warning("consumer_failed", code=type(error).__name__)
        raise Stalled from None


async def _rejoin_after_error(app: faust.App, job: Job) -> None:
    """Continue the group membership after an error that aiokafka reports to its user.

    Raises `Stalled` if it cannot, and `ConfigError` where another runner has the group.

    aiokafka holds such an error back until its own `getmany` is called, and does not join again before; Faust never calls
    it. So the error is taken from where it waits, on the loop of the consumer's thread. These names are private: where
    they are missing, the watchdog finds a worker outside its group, only later.
    """
    thread: Any = getattr(app.consumer, "_thread", None)
    coordinator: Any = getattr(getattr(thread, "_consumer", None), "_coordinator", None)
    task = getattr(coordinator, "_coordination_task", None)
    ended = task is not None and task.done()
    if not ended and getattr(coordinator, "_pending_exception", None) is None:
        return

    async def take() -> str:
        try:
            coordinator.check_errors()
        except KafkaError as error:
            return type(error).__name__
        return ""

    code = await thread.call_thread(take)
    if code == InconsistentGroupProtocolError.__name__:
        raise ConfigError(mixed_runners(job.group, "faust", "direct"))
    log.warning("consumer_failed", code=code)
    if ended:
        raise Stalled
    job.on_joining()
