"""The plain runner: an aiokafka loop, fenced against rebalances, public API only.

The fence is the intake's own: a rebalance drops every partition's progress, so whatever an older assignment still
completes can no longer be acknowledged. It is dropped both when partitions go and when new ones come, because the
consumer may hand out buffered records of the old assignment in between.
"""

import asyncio
import contextlib
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import (
    CommitFailedError,
    GroupAuthorizationFailedError,
    IllegalStateError,
    InconsistentGroupProtocolError,
    KafkaError,
    TopicAuthorizationFailedError,
)

from touchstone.scorers.backoff import Backoff
from touchstone.scorers.base import ConfigError
from touchstone.streams.runners.base import NOWHERE, POLL_S, SOON_S, Clock, Job, Unreadable, mixed_runners, places_of
from touchstone.streams.wire.clients import client_options
from touchstone.streams.wire.closing import close_client
from touchstone.streams.wire.record_batches import UNREADABLE

log = structlog.get_logger(__name__)

#: How long a cancelled poll may take to end.
CANCEL_S = 5.0


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    """Settles and commits what is done before partitions go, then forgets them."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.consumer: AIOKafkaConsumer | None = None
        self.epoch = 0

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Bounded: a rebalance must not wait for a slow event."""
        job = self._job
        if job.assigned:
            await job.intake.drain(min(2.0, job.settings.worker.rebalance_timeout_s / 4))
            await commit(job, self.consumer)
        self.epoch += 1
        job.on_revoked()

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Start from the committed offsets, with nothing left over."""
        self.epoch += 1
        partitions = {(tp.topic, tp.partition) for tp in assigned}
        self._job.on_assigned(partitions)
        log.info("assigned", partitions=len(partitions))


async def commit(job: Job, consumer: AIOKafkaConsumer | None) -> None:
    """Commit what the intake says may be committed; a failure is counted, and corrected by the next commit or a replay."""
    timeout_s = job.settings.worker.commit_timeout_s
    try:
        # The ledger goes through the outbox, which retries a broker that is down without end: bound the wait here.
        async with asyncio.timeout(timeout_s):
            job.owed.update(await job.intake.settle())
        if not job.owed or consumer is None:
            return
        async with asyncio.timeout(timeout_s):
            # What an earlier commit failed to deliver is tried again: on a partition that has gone quiet nothing newer would come.
            offsets = await job.owed_now()
            if not offsets:
                return
            assigned = job.assigned
            await consumer.commit({TopicPartition(*partition): offset for partition, offset in offsets.items()})
    except (CommitFailedError, IllegalStateError):
        job.metrics.count("commit_failures")  # the partition has gone to another worker, which replays from the last commit
    except (KafkaError, OSError) as error:  # a timeout is an OSError, too
        job.metrics.count("commit_failures")
        log.debug("commit_failed", code=type(error).__name__)
    else:
        if job.assigned is assigned:  # else it says nothing of where the next assignment stands
            job.on_committed(offsets)


def make_consumer(job: Job) -> AIOKafkaConsumer:
    """The group's consumer; it commits no offsets by itself."""
    worker = job.settings.worker
    return AIOKafkaConsumer(
        **client_options(job.settings.kafka),
        group_id=job.group,
        enable_auto_commit=False,
        auto_offset_reset="none",  # see `_go_on`
        session_timeout_ms=int(worker.session_timeout_s * 1000),
        heartbeat_interval_ms=int(worker.heartbeat_interval_s * 1000),
        rebalance_timeout_ms=int(worker.rebalance_timeout_s * 1000),
        max_poll_interval_ms=int(worker.poll_interval_max_s * 1000),
        max_partition_fetch_bytes=max(worker.event_bytes_max, 1_048_576),
    )


async def run(job: Job) -> None:
    """Consume until `job.stop` is set; then finish what is in flight, commit and leave the group.

    An answer of the group's coordinator that aiokafka does not know ends its membership for good; a new consumer joins
    anew. Raises `ConfigError` if the broker does not let this user in, or another runner has the group.
    """
    worker = job.settings.worker
    backoff, said = Backoff(worker.retry_backoff_min_s, worker.retry_backoff_max_s), ""
    while not job.stop.is_set():
        began = time.monotonic()
        job.on_joining()
        try:
            await _session(job)
        except (GroupAuthorizationFailedError, TopicAuthorizationFailedError) as error:
            raise ConfigError(f"group {job.group}: {type(error).__name__}; allow the user of kafka.sasl_username to read the group and its topics") from None
        except InconsistentGroupProtocolError:
            raise ConfigError(mixed_runners(job.group, "direct", "faust")) from None
        except UNREADABLE as error:
            raise Unreadable(type(error).__name__) from error
        except KafkaError as error:
            if time.monotonic() - began > worker.session_timeout_s:
                backoff.reset()
                said = ""
            code = type(error).__name__
            if code != said:  # once per outage
                log.warning("consumer_failed", code=code)
                said = code
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(job.stop.wait(), backoff.next_s())


async def _session(job: Job) -> None:
    """One consumer's life, from joining the group to leaving it. Raises `KafkaError` if the consumer has failed."""
    listener = _Listener(job)
    consumer = make_consumer(job)
    listener.consumer = consumer
    committer: Clock | None = None
    try:
        await consumer.start()
        consumer.subscribe(topics=list(job.topics), listener=listener)  # once started: before, start would wait for an assignment
        committer = Clock(lambda: commit(job, consumer), job.settings.worker.commit_interval_s)
        await _consume(job, consumer, listener)
        if not await job.intake.drain(job.settings.worker.drain_timeout_s):
            log.warning("drain_timeout", in_flight=job.intake.in_flight)
    finally:
        if committer is not None:
            await committer.end(job.settings.worker.commit_timeout_s)
            await commit(job, consumer)
        listener.consumer = None
        job.on_revoked()
        await close_client(consumer.stop)


async def _consume(job: Job, consumer: AIOKafkaConsumer, listener: _Listener) -> None:
    """Poll until asked to stop. A poll waits for a rebalance to end, however long, so it is not waited for then."""

    async def poll_on() -> None:
        while not job.stop.is_set():
            await _poll(job, consumer, listener)

    polling = asyncio.create_task(poll_on())
    stopped = asyncio.create_task(job.stop.wait())
    try:
        await asyncio.wait({polling, stopped}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({polling}, timeout=2 * POLL_S)
        if polling.done():
            try:
                polling.result()
            except UNREADABLE as error:
                await _say_where(job, consumer, type(error).__name__)
                raise
    finally:
        for task in (polling, stopped):
            task.cancel()
        await asyncio.wait({polling, stopped}, timeout=CANCEL_S)  # bounded: see `Clock`


async def _say_where(job: Job, consumer: AIOKafkaConsumer, code: str) -> None:
    """After a fetch that could not be decoded: log the partition, and the offset at or after which the fault is."""
    deadline = time.monotonic() + job.settings.worker.commit_timeout_s
    partitions = [TopicPartition(*partition) for partition in job.assigned]
    while partitions and time.monotonic() < deadline:
        for tp in partitions:
            try:
                # One by one, up to the one that fails; none is handed over, so none is acknowledged.
                await consumer.getmany(tp, timeout_ms=int(POLL_S * 1000), max_records=1)
            except UNREADABLE:
                log.error("record_unreadable", code=code, topic=tp.topic, partition=tp.partition, offset=await consumer.position(tp))
                return


async def _go_on(job: Job, consumer: AIOKafkaConsumer, listener: _Listener, places: dict[TopicPartition, int | None]) -> None:
    """Seek partitions that cannot be read where they are. Kafka is asked in vain for each as long as that has not been done."""
    epoch = listener.epoch
    starts = await consumer.beginning_offsets(list(places))
    if listener.epoch == epoch:
        for tp, position in places.items():
            consumer.seek(tp, job.go_on((tp.topic, tp.partition), starts[tp], position))


async def _poll(job: Job, consumer: AIOKafkaConsumer, listener: _Listener) -> None:
    """One round: two fetches, and a pause if they brought little.

    The first brings what aiokafka has fetched already, which may be a few records of one partition; the second what has come for all of them since.
    """
    try:
        async with asyncio.timeout(POLL_S):
            await job.intake.room()
    except TimeoutError:
        return
    sizes: list[int] = []
    for wait_s in (POLL_S, SOON_S):
        try:
            fetched = await consumer.getmany(timeout_ms=int(wait_s * 1000), max_records=job.settings.worker.slice_records * 8)
        except NOWHERE as error:
            await _go_on(job, consumer, listener, places_of(error))
            return
        job.polled_at = time.monotonic()
        # Between the fetch returning and here nothing else has run, so this epoch is the one that the records belong to.
        if not await _hand_over(job, listener, listener.epoch, fetched):
            return
        sizes += map(len, fetched.values())
        if not job.are_small(sizes):
            return
    await job.pace()


async def _hand_over(job: Job, listener: _Listener, epoch: int, fetched: Mapping[TopicPartition, Sequence[Any]]) -> bool:
    """Hand over slice by slice as the window allows. False if not all of it is: then it is not acknowledged, and the next owner fetches it again."""
    size = job.settings.worker.slice_records
    for tp, records in fetched.items():
        for begin in range(0, len(records), size):
            while not job.intake.has_room():
                if job.stop.is_set():
                    return False
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(POLL_S):
                        await job.intake.room()
            if listener.epoch != epoch:
                return False
            job.intake.start((tp.topic, tp.partition), records[begin : begin + size])
        await asyncio.sleep(0)
    return True
