"""The default runner: one Faust agent per suite, fenced against rebalances. Only the `faust_*` modules import Faust.

What Faust 0.15.3 does by itself and must not do here: acknowledge an event whose processing raised, commit past events in
flight when acknowledgements come out of order, lose sink results on produce errors, serve its tables over HTTP, create
topics. So the agent takes raw bytes, hands them to the intake and goes on; an offset is committed only when
the intake says that it and every earlier offset of its partition are done.
"""

import asyncio
import contextlib
import ssl
import tempfile
from collections.abc import AsyncIterator
from typing import Any

import faust
import structlog
from aiokafka.errors import InconsistentGroupProtocolError, KafkaError
from faust.auth import SASLCredentials, SSLCredentials
from faust.types.auth import SASLMechanism

from touchstone.schemas.settings.house import KafkaSettings
from touchstone.scorers.base import ConfigError
from touchstone.streams.runners.base import POLL_S, Clock, Job, Stalled, Unreadable, mixed_runners
from touchstone.streams.runners.faust_feeds import BatchFeed, EventFeed
from touchstone.streams.runners.faust_private import CHANNEL_SLICES, FETCH_SLICES, BatchTransport, EventTransport, Membership, changed
from touchstone.streams.wire.clients import ssl_context
from touchstone.streams.wire.group_offsets import heed_group_errors
from touchstone.streams.wire.record_batches import read_leniently

log = structlog.get_logger(__name__)

#: How long a stop waits for a start that is under way: Faust stopped amid its start leaves a thread and tasks behind.
START_S = 3.0
#: Faust's own buffer between the stock fetcher and its agent.
STREAM_BUFFER_RECORDS = 512


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


def make_app(job: Job, datadir: str) -> faust.App:
    """The Faust application of one suite: everything of Faust that could lose, leak or listen is off."""
    settings, worker = job.settings, job.settings.worker
    batched = _batched(job)
    read_leniently(settings.kafka)
    heed_group_errors()
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
        consumer_auto_offset_reset="none",  # see `EventConsumer`
        consumer_metadata_max_age_ms=int(settings.kafka.metadata_max_age_s * 1000),
        consumer_max_fetch_size=max(worker.event_bytes_max, 1_048_576),
        processing_guarantee="at_least_once",
        producer_acks=-1,
        broker_max_poll_records=FETCH_SLICES * worker.slice_records if batched else None,
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
    app.transport = (BatchTransport if batched else EventTransport)(app.conf.broker_consumer, app)
    app.transport.job = job
    return app


def _batched(job: Job) -> bool:
    """Whether our fetcher serves. Where this Faust is not the one that it knows, the stock one does, and the log says so."""
    if job.settings.worker.faust_fetcher == "stock":
        return False
    if names := changed():
        log.warning("faust_fetcher_stock", message=f"this Faust has changed {', '.join(names)}: its own fetcher serves, at a lower rate")
    return not names


def credentials(kafka: KafkaSettings) -> Any:
    """The settings' credentials as Faust takes them; None for PLAINTEXT."""
    context = ssl_context(kafka)
    if kafka.security_protocol.startswith("SASL"):
        password = kafka.sasl_password.get_secret_value() if kafka.sasl_password else None
        return SASLCredentials(username=kafka.sasl_username, password=password, mechanism=SASLMechanism(kafka.sasl_mechanism), ssl_context=context)
    return SSLCredentials(context=context) if isinstance(context, ssl.SSLContext) else None


def attach(app: faust.App, job: Job) -> EventFeed | BatchFeed:
    """Give the app its one agent and its rebalance callbacks."""
    source = app.topic(*job.topics, value_type=bytes, key_type=bytes, value_serializer="raw", key_serializer="raw")
    feed = app.transport.feed = _batches(app, job, source) if isinstance(app.transport, BatchTransport) else _events(app, job, source)

    @app.on_partitions_revoked.connect  # type: ignore[untyped-decorator]
    async def revoked(_: Any, *__: Any, **___: Any) -> None:
        if job.assigned:
            await job.intake.drain(min(2.0, job.settings.worker.rebalance_timeout_s / 4))
            await feed.settle()
            await _commit(app, job)
        feed.forget()
        job.on_revoked()

    @app.on_partitions_assigned.connect  # type: ignore[untyped-decorator]
    async def assigned(_: Any, partitions: Any = (), *__: Any, **___: Any) -> None:
        feed.forget()
        feed.fenced = False
        job.on_assigned({(tp.topic, tp.partition) for tp in partitions})
        log.info("assigned", partitions=len(partitions))

    return feed


def _events(app: faust.App, job: Job, source: Any) -> EventFeed:
    """The agent that takes events one by one."""
    feed = EventFeed(app, job)

    @app.agent(source, name=f"{job.group}.intake", concurrency=1)  # type: ignore[untyped-decorator]
    async def intake(stream: Any) -> None:
        events: AsyncIterator[Any] = stream.noack().events()
        async for event in events:
            await feed.take(event)

    return feed


def _batches(app: faust.App, job: Job, source: Any) -> BatchFeed:
    """The agent that takes slices of records from a channel; Faust subscribes to the topics all the same."""
    feed = BatchFeed(job)
    channel = app.transport.channel = app.channel(maxsize=CHANNEL_SLICES)
    app.topics.add(source)

    @app.agent(channel, name=f"{job.group}.intake", concurrency=1)  # type: ignore[untyped-decorator]
    async def intake(stream: Any) -> None:
        async for batch in stream:
            await feed.take(batch)

    return feed


async def _commit(app: faust.App, job: Job) -> None:
    """Commit what is settled, within a bound. Faust makes no commit while another one is under way, it only waits for that; so it is asked twice.

    Trap: cancelled while it waits, Faust takes the cancellation for the other commit's and begins one of its own. A `wait_for` would wait for that without end
    where the coordinator is away, so the task is left behind.
    """

    async def commit() -> None:
        topics = set(job.topics)
        if not await app.commit(topics):
            await app.commit(topics)

    committing = asyncio.create_task(commit())
    try:
        await asyncio.wait({committing}, timeout=job.settings.worker.commit_timeout_s)
    finally:
        if not committing.done():
            committing.cancel()
    if committing.done():
        committing.result()


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
    job.on_joining()  # only now: what came before, on a busy machine, may have taken longer than a rebalance may
    starting = asyncio.create_task(app.start())  # ends with the first assignment, which may be long in coming
    settler = Clock(feed.settle, worker.commit_interval_s / 2)  # twice per Faust commit
    try:
        while not job.stop.is_set():
            if starting.done():
                _say_why_not_started(starting)
            if app.consumer.unreadable is not None:
                raise Unreadable(app.consumer.unreadable)
            if (code := getattr(app.consumer, "failed", None)) is not None:
                log.warning("consumer_failed", code=code)
                raise Stalled
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
        await _commit(app, job)
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
    """
    membership = Membership(app.consumer)
    if not membership.has_error:
        return
    code = await membership.take_error()
    if code == InconsistentGroupProtocolError.__name__:
        raise ConfigError(mixed_runners(job.group, "faust", "direct"))
    log.warning("consumer_failed", code=code)
    if membership.ended:
        raise Stalled
    job.on_joining()
