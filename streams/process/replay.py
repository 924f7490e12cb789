"""Scores again what a suite has put aside: the offsets that its ledger tells as shed are read from their topic once more.

No consumer group is joined and no offset moves. A case that is scored now has the result id that it would have had at first, and in the account
`scored` outweighs `shed`; one that is shed again stays as it was. Workers may run meanwhile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from touchstone.schemas.settings.house import Settings
from touchstone.scorers.base import Closeable, ConfigError
from touchstone.streams.account.intervals import Interval, Span, fold, size
from touchstone.streams.account.projection import Unreadable, read_ledger
from touchstone.streams.intake.intake import Destinations, Intake
from touchstone.streams.intake.outbox import Outbox
from touchstone.streams.intake.scoring import RunningSuite
from touchstone.streams.telemetry.metrics import WorkerMetrics
from touchstone.streams.topics.log_reader import LogReader, Place
from touchstone.streams.wire.clients import check_topics
from touchstone.streams.wire.codec import LEDGER_TYPE, RESULT_TYPE, Record

#: Outcomes of one partition that are held before they are joined.
CLAIMS_MAX = 50_000


@dataclass(slots=True)
class Replayed:
    """What was found and what became of it. `shed`: reason → offsets; `read`: those of them that the topic still holds; `outcomes`: their outcomes now."""

    shed: Counter[str] = field(default_factory=Counter)
    read: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)

    @property
    def left(self) -> int:
        """Offsets that have no result yet and could have one."""
        return self.read - self.outcomes["scored"]


async def shed_offsets(records: AsyncIterator[Record], suite: str, topics: Iterable[str], reason: str | None = None) -> dict[Place, list[Interval]]:
    """(topic, partition) → what a suite has put aside there and not scored since, by the records of the results topic. `reason`: why it was put aside."""
    wanted, source = frozenset(topics), f"/touchstone/{suite}".encode()
    claims: dict[Place, list[Interval]] = {}
    async for record in records:
        headers = dict(record.headers)
        if headers.get("ce_source") != source or not record.value:
            continue
        for place, claim in _claims(headers.get("ce_type", b""), record.value):
            if place[0] not in wanted:
                continue
            own = claims.setdefault(place, [])
            own.append(claim)
            if len(own) > CLAIMS_MAX:
                claims[place] = fold(own)
    found = {place: [one for one in fold(own) if one.outcome == "shed" and reason in {None, one.reason}] for place, own in claims.items()}
    return {place: spans for place, spans in found.items() if spans}


def _claims(kind: bytes, value: bytes) -> Iterable[tuple[Place, Interval]]:
    """What one record says of offsets; nothing where another program wrote it."""
    try:
        if kind == LEDGER_TYPE.encode():
            account, intervals = read_ledger(value)
            return [((account.topic, account.partition), interval) for interval in intervals]
        if kind == RESULT_TYPE.encode():
            at = orjson.loads(value)["source"]
            return [((str(at["topic"]), int(at["partition"])), Interval(int(at["offset"]), int(at["offset"]), "scored"))]
    except (Unreadable, ValueError, KeyError, TypeError):
        pass
    return []


async def replay(suite: RunningSuite, topics: tuple[str, ...], settings: Settings, *, reason: str | None = None, dry: bool = False) -> Replayed:
    """Score what was put aside. `topics`: the suite's input topics; `dry`: only count. Closes the suite's scorer. Raises `ConfigError`.

    While a stage is unavailable it waits, as a worker does; what was scored by then stays scored.
    """
    try:
        needed = [*topics, *settings.topics.inputs(suite.hands_on), settings.topics.results, settings.topics.dead]
        partitions = await check_topics(settings.kafka, needed)
        async with LogReader(settings.kafka, [settings.topics.results]) as results:
            found = await shed_offsets(results.read("beginning"), suite.name, topics, reason)
        told = Replayed(Counter({why: size(_spans(found, why)) for why in {one.reason for spans in found.values() for one in spans}}))
        if dry or not found:
            return told
        # What waited for its turn is old by now, and was let in once.
        worker = settings.worker.model_copy(update={"event_age_max_s": 0.0})
        metrics = WorkerMetrics(suite.name, suite.version, "replay", topics=topics)
        outbox = await Outbox(settings.kafka, worker, metrics).start()
        try:
            intake = Intake(suite, outbox, Destinations.of(settings.topics, partitions, suite.hands_on), worker, metrics)
            async with LogReader(settings.kafka, topics) as reader:
                told.read = await _feed(intake, reader, found, worker.slice_records)
            while not (await intake.drain(worker.commit_interval_s) or intake.defect.is_set()):
                await intake.settle()
            await intake.settle()
            if intake.defect.is_set():
                raise ConfigError(f"the replay of {suite.name} stopped at a defect; what was scored by then stays scored, and the log names the place")
        finally:
            await outbox.stop()
        told.outcomes.update({name: count for name, count in metrics.totals().items() if name in {"scored", "skipped", "shed", "dead"}})
        return told
    finally:
        if isinstance(suite.scorer, Closeable):
            await suite.scorer.close()


def _spans(found: Mapping[Place, list[Interval]], reason: str) -> list[Span]:
    return [(one.first, one.last) for spans in found.values() for one in spans if one.reason == reason]


async def _feed(intake: Intake, reader: LogReader, found: Mapping[Place, list[Interval]], slice_records: int) -> int:
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
        if not spans or record.offset < spans[-1].first:
            continue
        count += 1
        waiting.setdefault(place, []).append(record)
        if len(waiting[place]) >= slice_records:
            await start(place)
        if intake.defect.is_set():
            return count
    for place in list(waiting):
        await start(place)
    return count
