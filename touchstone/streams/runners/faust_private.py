"""Everything that reaches into Faust 0.15.3 by names that it does not promise: its consumer and its fetcher, made whole and made fast.

`BATCHES_NEED` lists what our fetcher reaches for, with its shape. Where a later Faust has changed one of them, `changed` says which, and the
stock fetcher serves: the same promises, at a third of the rate.
"""

import asyncio
import inspect
import re
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import faust
import structlog
from aiokafka import ConsumerRecord
from aiokafka.errors import ConsumerStoppedError, KafkaError
from faust.transport import consumer as faust_consumer
from faust.transport.conductor import Conductor
from faust.transport.consumer import ensure_TP
from faust.transport.drivers.aiokafka import Consumer as AIOKafkaConsumer
from faust.transport.drivers.aiokafka import Transport as AIOKafkaTransport
from faust.types.tuples import TP
from mode.services import Service, ServiceTask, WaitResults

from touchstone.streams.intake.offsets import TopicPartition
from touchstone.streams.runners.base import NOWHERE, POLL_S, SOON_S, Job, places_of
from touchstone.streams.runners.faust_feeds import MOVED, BatchFeed, EventFeed
from touchstone.streams.wire.record_batches import UNREADABLE

log = structlog.get_logger(__name__)

#: Records of one fetch, in slices.
FETCH_SLICES = 8
#: Slices that wait in the channel between fetcher and agent.
CHANNEL_SLICES = 8
#: How often the fetcher looks whether a rebalance has ended.
REBALANCE_POLL_S = 0.01
_StockFetcher: Any = getattr(AIOKafkaTransport, "Fetcher", Service)


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


class EventConsumer(PromptRace, AIOKafkaConsumer):  # type: ignore[misc]
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
        feed: EventFeed | BatchFeed = self.transport.feed
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
        mine = await self._unchanged(offsets)
        return bool(mine) and await super()._commit(mine) and len(mine) == len(offsets)

    async def _unchanged(self, offsets: Mapping[TP, int]) -> dict[TP, int]:
        """Those of the topics that are still the same; none if that cannot be found out, or a rebalance comes between (see `Job.owed_now`)."""
        job: Job = self.transport.job
        assigned = job.assigned
        try:
            async with asyncio.timeout(job.settings.worker.commit_timeout_s):
                still = await job.intake.unchanged({tp.topic for tp in offsets})
        except TimeoutError:
            return {}
        return {tp: offset for tp, offset in offsets.items() if tp.topic in still and job.assigned is assigned}

    async def commit_now(self, offsets: Mapping[TopicPartition, int]) -> bool:
        """Commit past Faust's own books. True if the broker has all of it."""
        return await self._commit({TP(*partition): offset for partition, offset in offsets.items()})

    def jump(self, partition: TopicPartition, offset: int) -> None:
        """Take everything below an offset for committed: Faust commits without gaps only."""
        tp = TP(*partition)
        self._gap[tp].chop(0, offset)
        self._acked[tp] = [acked for acked in self._acked[tp] if acked >= offset]
        self._acked_index[tp] = set(self._acked[tp])
        self._committed_offset[tp] = offset

    def restart(self, partition: TopicPartition, offset: int) -> None:
        """Forget what was acknowledged on a partition whose log is another one now, and begins at this offset."""
        tp = TP(*partition)
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

    async def seek_to_committed(self) -> Mapping[TP, int | None]:
        """Seek every assigned partition: to what is committed, else to where this group begins to read."""
        committed = await self._seek_to_committed()
        bare = [ensure_TP(tp) for tp, offset in committed.items() if not offset]
        if bare:
            for tp in bare:
                self._committed_offset[tp] = None
            await self.seek_wait({tp: self.transport.job.begin_of((tp.topic, tp.partition)) for tp in bare})
        return committed

    async def _seek_to_committed(self) -> Mapping[TP, int | None]:
        """As inherited, but what is committed is asked for in one request: aiokafka sends one for each partition, and waits for its answer each time."""
        consumer: Any = getattr(self._thread, "_consumer", None)
        ask: Any = getattr(getattr(consumer, "_coordinator", None), "fetch_committed_offsets", None)
        if ask is None:
            found: Mapping[TP, int | None] = await super().seek_to_committed()
            return found

        async def seek() -> Mapping[TP, int | None]:
            partitions = consumer.assignment()
            assert partitions, "no partitions are assigned"  # as aiokafka says it
            committed = {tp: known.offset for tp, known in (await ask(list(partitions))).items()}
            for tp, offset in committed.items():
                if offset > 0:
                    consumer.seek(tp, offset)
            return {tp: committed.get(tp) for tp in partitions}

        sought: Mapping[TP, int | None] = await self._thread.call_thread(seek)
        return sought


class EventTransport(AIOKafkaTransport):  # type: ignore[misc]
    """Faust's transport, with that consumer, which finds its job and its feed here."""

    Consumer = EventConsumer
    job: Job
    feed: EventFeed | BatchFeed


class BatchConsumer(EventConsumer):
    """That consumer where records come in batches: what it commits stands in the job's books, not in an entry per record.

    `failed`: the error that ended the fetcher; Faust does not report it to its app.
    """

    failed: str | None = None

    def _filter_committable_offsets(self, tps: Iterable[TP]) -> dict[TP, int]:
        """What is settled and not committed. Faust asks at each tick of its clock, at the end of an assignment and at its own end."""
        job: Job = self.transport.job
        return {TP(*partition): offset for partition, offset in job.owed.items()}

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        """As inherited; a commit that fails stays owed."""
        job: Job = self.transport.job
        feed: BatchFeed = self.transport.feed
        epoch = feed.epoch
        mine = await self._unchanged(offsets)
        if not mine or feed.epoch != epoch:
            return False
        if not await AIOKafkaConsumer._commit(self, mine):  # noqa: SLF001 -- this module is where private names stand
            job.metrics.count("commit_failures")
            return False
        if feed.epoch == epoch:
            job.on_committed({(tp.topic, tp.partition): offset for tp, offset in mine.items()})
        return len(mine) == len(offsets)


class BatchFetcher(_StockFetcher):  # type: ignore[misc]
    """Faust's fetcher without its conductor: hands slices of records to the channel that the agent reads.

    The stock one makes an event of each record, and calls `supervisor.wakeup()`, which it does not have, when it is cancelled amid a rebalance.
    """

    @Service.task  # type: ignore[untyped-decorator]
    async def _fetcher(self) -> None:
        consumer: BatchConsumer = self.app.consumer
        try:
            while not (self.should_stop or consumer.should_stop):
                await self._round(consumer, consumer.transport.feed, consumer.transport.job)
        except BaseException as error:
            # A cancellation, too: what is cancelled in the consumer's thread arrives here as one, and Faust takes it for the end that it wanted.
            if not (self.should_stop or self.app.should_stop):
                consumer.failed = type(error).__name__
                raise
            if not isinstance(error, ConsumerStoppedError):
                raise
        finally:
            self.set_shutdown()

    async def _round(self, consumer: BatchConsumer, feed: BatchFeed, job: Job) -> None:
        """One fetch, slice by slice to the agent."""
        if self.app.rebalancing or not consumer.flow_active or feed.is_stale(feed.epoch):
            # Faust empties the channel when a rebalance begins, and once more when it has ended. What the feed would not take is not fetched: it would be lost.
            await asyncio.sleep(REBALANCE_POLL_S)
            return
        # Taken before the fetch: what a rebalance overtakes has been fetched before or behind its seek, nobody knows which.
        epoch, active = feed.epoch, set(consumer._get_active_partitions())  # noqa: SLF001 -- see above
        if not active or not job.intake.has_room():
            await self._pause(job)
            return
        if feed.behind and not await self._begin_anew(consumer, feed):
            return
        sizes: list[int] = []
        for wait_s in (POLL_S, SOON_S):  # as in the other runner
            fetched = await consumer._getmany(active, wait_s)  # noqa: SLF001 -- see above
            job.polled_at = time.monotonic()
            if feed.epoch != epoch:
                feed.behind = feed.behind or bool(fetched)
                return
            if not await self._hand_all_over(feed, epoch, fetched, job.settings.worker.slice_records):
                return
            sizes += map(len, fetched.values())
            if not job.are_small(sizes):
                return
        await job.pace()

    async def _hand_all_over(self, feed: BatchFeed, epoch: int, fetched: Mapping[TP, Sequence[Any]], size: int) -> bool:
        """Slice by slice. False if a rebalance came between, or the channel was emptied."""
        for tp, records in fetched.items():
            for begin in range(0, len(records), size):
                if feed.epoch != epoch or not await self._hand_over(feed.batch(epoch, (tp.topic, tp.partition), records[begin : begin + size])):
                    return False
        return True

    async def _pause(self, job: Job) -> None:
        """Wait for room, or for partitions."""
        try:
            async with asyncio.timeout(POLL_S):
                await (asyncio.sleep(POLL_S) if job.intake.has_room() else job.intake.room())
        except TimeoutError:
            return

    async def _begin_anew(self, consumer: BatchConsumer, feed: BatchFeed) -> bool:
        """Seek every partition to what is committed, because records were fetched that nobody has taken."""
        feed.behind = False
        try:
            await consumer.perform_seek()
        except (KafkaError, OSError, AssertionError) as error:  # a timeout is an OSError; amid the next rebalance aiokafka asserts that there are partitions
            log.debug("seek_failed", code=type(error).__name__)
            feed.behind = True
            await asyncio.sleep(REBALANCE_POLL_S)
        return not feed.behind

    async def _hand_over(self, batch: Any) -> bool:
        """Put a batch into the channel. False if flow control has emptied the channel and cancelled the wait for room in it."""
        transport = self.app.transport
        try:
            await transport.channel.put(batch)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise  # the fetcher itself is to end
            if not (self.app.rebalancing or transport.feed.is_stale(batch.epoch)):
                transport.feed.lost()
            return False
        return True


class BatchTransport(EventTransport):
    """Faust's transport with that fetcher, and the channel between it and the agent."""

    Consumer = BatchConsumer
    Fetcher = BatchFetcher
    feed: BatchFeed
    channel: Any


@dataclass(frozen=True, slots=True)
class Name:
    """A name of Faust that is not promised. `parameters`: of a function; None for anything else, which then must be a `kind`."""

    owner: Any
    name: str
    parameters: tuple[str, ...] | None = None
    kind: type = object

    @property
    def label(self) -> str:
        """Where it stands."""
        return f"{getattr(self.owner, '__qualname__', self.owner.__name__)}.{self.name}"

    def holds(self) -> bool:
        """True if it is there, in the shape that we know."""
        found = inspect.getattr_static(self.owner, self.name, None)
        if found is None:
            return False
        if self.parameters is None:
            return isinstance(found, self.kind)
        return callable(found) and tuple(inspect.signature(found).parameters) == self.parameters


#: What our fetcher needs of Faust 0.15.3.
BATCHES_NEED = (
    Name(AIOKafkaTransport, "Fetcher", kind=type),
    Name(_StockFetcher, "_fetcher", kind=ServiceTask),
    Name(_StockFetcher, "set_shutdown", ("self",)),
    Name(faust_consumer.Consumer, "_get_active_partitions", ("self",)),
    Name(faust_consumer.Consumer, "_filter_committable_offsets", ("self", "tps")),
    Name(faust_consumer.Consumer, "perform_seek", ("self",)),
    Name(faust_consumer.Consumer, "flow_active", kind=bool),
    Name(AIOKafkaConsumer, "_getmany", ("self", "active_partitions", "timeout")),
    Name(AIOKafkaConsumer, "_commit", ("self", "offsets")),
    Name(faust.App, "rebalancing", kind=bool),
    Name(Conductor, "add", ("self", "topic")),
    Name(faust.Channel, "put", ("self", "value")),
)


def changed(names: Iterable[Name] = BATCHES_NEED) -> list[str]:
    """Those that are missing or of another shape than in Faust 0.15.3."""
    return [name.label for name in names if not name.holds()]


class Membership:
    """A consumer's membership in its group, as aiokafka's coordinator sees it.

    aiokafka holds an error back until its own `getmany` is called, and does not join again before; Faust never calls
    it. So the error is taken from where it waits, on the loop of the consumer's thread. Where these names are missing, the
    watchdog finds a worker outside its group, only later.
    """

    def __init__(self, consumer: Any) -> None:
        self._thread: Any = getattr(consumer, "_thread", None)
        self._coordinator: Any = getattr(getattr(self._thread, "_consumer", None), "_coordinator", None)
        task = getattr(self._coordinator, "_coordination_task", None)
        #: It has ended for good.
        self.ended = task is not None and task.done()

    @property
    def has_error(self) -> bool:
        """True if an error waits, or it has ended."""
        return self.ended or getattr(self._coordinator, "_pending_exception", None) is not None

    async def take_error(self) -> str:
        """The error's name; with that, aiokafka joins again."""

        async def take() -> str:
            try:
                self._coordinator.check_errors()
            except KafkaError as error:
                return type(error).__name__
            return ""

        code: str = await self._thread.call_thread(take)
        return code
