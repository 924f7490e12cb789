"""Scores again what a suite has put aside: reads the offsets that its ledger lists as shed from their topic once more.

No consumer group is joined and no offset moves. A case that is scored now gets the result id that it would have had at first, and in the account
`scored` outweighs `shed`; one that is shed again stays as it was. Workers may run meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Final

import structlog
from aiokafka.errors import KafkaError

from touchstone.schemas.settings.house import Settings
from touchstone.scorers.backoff import Backoff
from touchstone.scorers.base import ConfigError, Measured
from touchstone.scorers.scoring import close_scorer
from touchstone.streams.account.intervals import Interval
from touchstone.streams.account.put_aside import PutAside, held
from touchstone.streams.intake.intake import Destinations, Intake
from touchstone.streams.intake.outbox import Outbox
from touchstone.streams.intake.scoring import RunningSuite
from touchstone.streams.process.incarnations import watching
from touchstone.streams.process.pages import Heartbeat, Pages
from touchstone.streams.telemetry.metrics import CollectorRegistry, WorkerMetrics
from touchstone.streams.telemetry.replay_counts import ReplayCounts
from touchstone.streams.topics.log_reader import LogReader, Place
from touchstone.streams.wire.clients import Unreachable, check_topics

log = structlog.get_logger(__name__)

#: The longest pause between two looks if nobody knows when asking again may help.
PAUSE_MAX_S: Final = 3_600.0
#: Clocks differ: this long after its period begins, a budget is certainly available again.
MARGIN_S: Final = 1.0
#: Longest sleep between two looks at the clock, which goes on while a machine is suspended.
NAP_S: Final = 60.0


@dataclass(slots=True)
class Replayed:
    """What one round found, and the outcomes now. `shed`: reason → offsets; `read`: those of them that the topic still holds; `outcomes`: their outcomes now.

    `again_at`: when those that were shed again can be scored, in `time.time`; None if that is not known.
    """

    shed: Counter[str] = field(default_factory=Counter)
    read: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    again_at: float | None = None

    @property
    def left(self) -> int:
        """Offsets that have no result yet and could have one."""
        return self.read - sum(self.outcomes[name] for name in ("scored", "dead", "skipped"))

    @property
    def waiting(self) -> int:
        """Offsets that are put aside, as of now; those that are gone from the topic too."""
        return self.shed.total() - (self.read - self.left)


class Replay:
    """Scores what a suite has put aside, as often as it is asked. `topics`: the suite's input topics. `stop`: hand over no more, and finish what was.

    While a stage is unavailable it waits, as a worker does; what was scored by then stays scored.
    """

    def __init__(self, suite: RunningSuite, topics: tuple[str, ...], settings: Settings, reason: str | None = None, stop: asyncio.Event | None = None) -> None:
        self._suite = suite
        self._topics = topics
        self._settings = settings
        self._reason = reason
        self._stop = stop or asyncio.Event()
        self._aside = PutAside(suite.name, suite.version, topics, settings.topics.results)
        self._at_work: tuple[Intake, Outbox] | None = None

    def obstacle(self) -> str:
        """What a round waits for now, as a worker's page says it; empty if it goes on. Read from another thread."""
        if (at_work := self._at_work) is None:
            return ""
        intake, outbox = at_work
        if not outbox.up:
            return "the broker does not accept results"
        return intake.why_unavailable

    async def once(self, *, dry: bool = False) -> Replayed:
        """Find what is put aside now, and score it. `dry`: only count. Raises `ConfigError`, and `Unreachable` if no broker answers."""
        topics, kafka = self._settings.topics, self._settings.kafka
        partitions = await check_topics(kafka, [*self._topics, *topics.inputs(self._suite.hands_on), topics.results, topics.dead])
        await self._aside.read_on(kafka)
        found = self._aside.shed(self._reason)
        replayed = Replayed()
        for one in (one for spans in found.values() for one in spans):
            replayed.shed[one.reason] += one.length
        if found and not dry:
            await self._score(found, replayed, Destinations.of(topics, partitions, self._suite.hands_on))
        return replayed

    async def _score(self, found: dict[Place, list[Interval]], replayed: Replayed, to: Destinations) -> None:
        settings, suite = self._settings, self._suite
        # What waited for its turn is old by now, and was let in once.
        worker = settings.worker.model_copy(update={"event_age_max_s": 0.0})
        metrics = WorkerMetrics(suite.name, suite.version, "replay", topics=self._topics)
        outbox = await Outbox(settings.kafka, worker, metrics).start()
        holding = AsyncExitStack()
        intake = Intake(suite, outbox, to, worker, metrics, await holding.enter_async_context(watching(settings, self._aside.topic_ids, self._topics)))
        self._at_work = intake, outbox
        try:
            async with LogReader(settings.kafka, self._topics) as reader:
                there = held(found, await reader.bounds())
                replayed.read = await self._feed(intake, reader, there, worker.slice_records) if there else 0
            while not (await intake.drain(worker.commit_interval_s) or intake.defect.is_set() or intake.made_anew.is_set()):
                await intake.settle()
            if intake.made_anew.is_set():
                raise ConfigError(f"a topic of {suite.name} was made anew during the replay; what was scored by then stays scored. Replay again")
            await intake.settle()
            if intake.defect.is_set():
                raise ConfigError(f"the replay of {suite.name} stopped at a defect; what was scored by then stays scored, and the log names the place")
        finally:
            self._at_work = None
            intake.revoke()
            await holding.aclose()
            await outbox.stop()
        replayed.outcomes.update({name: count for name, count in metrics.totals().items() if name in {"scored", "skipped", "shed", "dead"}})
        replayed.again_at = intake.again_at

    async def _feed(self, intake: Intake, reader: LogReader, found: Mapping[Place, list[Interval]], slice_records: int) -> int:
        """Hand the records at these offsets to the intake, in the order of each partition; return how many there are."""
        ends = await reader.ends()
        starts = {place: found[place][0].first if place in found else end for place, end in ends.items()}
        waiting: dict[Place, list[Any]] = {}
        left = {place: list(reversed(spans)) for place, spans in found.items()}
        count = 0

        async def start(place: Place) -> None:
            await intake.room()
            intake.start(place, waiting.pop(place))

        async for record in reader.read(starts):
            place = (record.topic, record.partition)
            spans = left.get(place, [])
            while spans and spans[-1].last < record.offset:
                spans.pop()
            if spans and record.offset >= spans[-1].first:
                count += 1
                waiting.setdefault(place, []).append(record)
                if len(waiting[place]) >= slice_records:
                    await start(place)
                if spans[-1].last == record.offset:
                    spans.pop()
            if intake.defect.is_set() or self._stop.is_set():
                return count
            if not any(left.values()):
                break  # what comes after may be a whole topic
        for place in list(waiting):
            await start(place)
        return count

    async def close(self) -> None:
        """Close the suite's scorer."""
        await close_scorer(self._suite.scorer)


async def replay(suite: RunningSuite, topics: tuple[str, ...], settings: Settings, *, reason: str | None = None, dry: bool = False) -> Replayed:
    """Score once what was put aside, and close the suite's scorer. `dry`: only count. Raises `ConfigError`."""
    work = Replay(suite, topics, settings, reason)
    try:
        return await work.once(dry=dry)
    finally:
        await work.close()


async def catch_up(
    suite: RunningSuite, topics: tuple[str, ...], settings: Settings, stop: asyncio.Event, *, reason: str | None = None, every_s: float = 60.0
) -> None:
    """Score what was put aside whenever it can be, until `stop` is set; then what is in flight is finished, within `worker.drain_timeout_s`.

    Meanwhile it serves a worker's pages, with counts of its own. Closes the suite's scorer. Raises `ConfigError`.
    """
    work = Replay(suite, topics, settings, reason, stop)
    registry, heartbeat = CollectorRegistry(), Heartbeat()
    counts = ReplayCounts(suite.name, suite.version, registry, suite.scorer.readings if isinstance(suite.scorer, Measured) else None)

    def ready() -> tuple[bool, str]:
        obstacle = work.obstacle()
        return (False, obstacle) if obstacle else counts.ready()

    pages = Pages(settings.http, registry, heartbeat.alive, ready)
    beating: asyncio.Task[None] | None = None
    try:
        address = pages.start()
        beating = asyncio.create_task(heartbeat.beat())
        log.info("replay_started", suite=suite.name, version=suite.version, topics=list(topics), address=address)
        await _until_stopped(again_and_again(work.once, stop, every_s, suite.name, counts), stop, settings.worker.drain_timeout_s)
        log.info("replay_stopped", suite=suite.name)
    finally:
        if beating is not None:
            beating.cancel()
        pages.stop()
        await work.close()


async def again_and_again(
    once: Callable[[], Awaitable[Replayed]], stop: asyncio.Event, every_s: float, suite: str, counts: ReplayCounts, clock: Callable[[], float] = time.time
) -> None:
    """Call `once` again and again: every `every_s`; where something was shed again, when its scorer said that it can be scored, else after pauses that grow.

    So a spent budget is tried once in its period, and an unreachable broker is waited for.
    """
    unknown = Backoff(every_s, max(every_s, PAUSE_MAX_S))
    away = Backoff(min(every_s, 1.0), max(every_s, 1.0))
    is_away = False
    while not stop.is_set():
        try:
            done = await once()
        except (Unreachable, KafkaError, OSError, TimeoutError) as error:
            if not is_away:
                log.warning("broker_unreachable", code=type(error).__name__)
            is_away, counts.is_broker_up = True, False
            await _sleep(stop, clock() + away.next_s(), clock)
            continue
        if is_away:
            log.info("broker_reached")
        is_away, counts.is_broker_up = False, True
        counts.done(done.outcomes, done.waiting)
        away.reset()
        until = _next(done, every_s, unknown, clock())
        if done.read:
            log.info("replayed", suite=suite, records=done.read, count=done.outcomes["scored"], seconds=round(until - clock(), 1))
        await _sleep(stop, until, clock)


def _next(done: Replayed, every_s: float, unknown: Backoff, now: float) -> float:
    if not done.outcomes["shed"]:
        unknown.reset()
        return now + every_s
    return now + unknown.next_s() if done.again_at is None else max(done.again_at, now) + MARGIN_S


async def _sleep(stop: asyncio.Event, until: float, clock: Callable[[], float]) -> None:
    while (left_s := until - clock()) > 0 and not stop.is_set():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(left_s, NAP_S)):
                await stop.wait()


async def _until_stopped(work: Awaitable[None], stop: asyncio.Event, patience_s: float) -> None:
    """Do the work; once `stop` is set, for so much longer at most."""
    doing, stopping = asyncio.ensure_future(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({doing, stopping}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({doing}, timeout=patience_s)
        if doing.done():
            doing.result()
    finally:
        for task in (doing, stopping):
            task.cancel()
        await asyncio.gather(doing, stopping, return_exceptions=True)
