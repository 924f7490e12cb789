"""The reconciliation's reading side: offsets, commits, dead letters and doubtful records from Kafka, outcomes from the store."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from touchstone.schemas.settings.house import Settings
from touchstone.scorers.base import ConfigError
from touchstone.streams.account.intervals import Interval, Span, join, runs, size
from touchstone.streams.account.reconcile import DeadLetters, PartitionFacts, Reconciliation, candidate_holes, facts_of_accounts, judge
from touchstone.streams.account.store_port import AccountStore, check_positions, check_topic
from touchstone.streams.topics.dlq import parse_letter
from touchstone.streams.topics.identity import ids_of
from touchstone.streams.wire.clients import check_topics, client_options, unreachable
from touchstone.streams.wire.closing import close_client

#: A hole is looked up record by record, but a hole of this size needs no further proof.
HOLE_RECORDS_MAX = 100_000
#: As many offsets past the committed one are looked up, to distinguish events in flight from offsets without a record.
TAIL_RECORDS_MAX = 1_000
POLL_MS = 500
CATCH_UP_POLL_S = 0.25
#: A broker that returns nothing for this long, with records left to read, counts as gone.
READ_STALL_S = 30.0


@dataclass(frozen=True, slots=True)
class Question:
    """What to reconcile. `wait_s`: how long the store may take to catch up with the results topic before it is judged."""

    suite: str
    topics: tuple[str, ...]
    drained: bool = False
    dead_letters: bool = True
    wait_s: float = 0.0


@dataclass(slots=True)
class _Log:
    """Bounds of partitions, what the group has committed, and the topics' ids."""

    starts: dict[TopicPartition, int] = field(default_factory=dict)
    ends: dict[TopicPartition, int] = field(default_factory=dict)
    committed: dict[TopicPartition, int | None] = field(default_factory=dict)
    topic_ids: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Letters:
    """Dead letters by the input partition they name, and its topic's id. `complete`: retention has deleted none."""

    offsets: dict[tuple[TopicPartition, str], list[Span]]
    complete: bool

    def of(self, part: TopicPartition, topic_ids: Iterable[str]) -> DeadLetters:
        """Those of one input partition of the topics with these ids."""
        named = [span for topic_id in topic_ids for span in self.offsets.get((part, topic_id), ())]
        return DeadLetters(tuple(join(named)), size(named), self.complete)


async def reconcile(settings: Settings, store: AccountStore, question: Question) -> Reconciliation:
    """Compare a suite's topics with the store. Raises `ConfigError` for what cannot be reached or does not exist.

    Order matters while workers run: commits first, then the end of the results topic, then the store, so that everything
    committed has its outcome below the offset that the store has to reach.
    """
    kafka, names = settings.kafka, settings.topics
    wanted = [*question.topics, names.results, *([names.dead] if question.dead_letters else [])]
    counts = await check_topics(kafka, wanted)
    try:
        async with _consumer(settings, group=f"{settings.worker.group_prefix}.{question.suite}") as consumer:
            inputs = [TopicPartition(topic, number) for topic in question.topics for number in range(counts[topic])]
            log = await _read_log(consumer, inputs)
            topics = await ids_of(kafka, [*question.topics, names.results])
            log.topic_ids = {topic: topics[topic] for topic in question.topics}
            check_topic(names.results, await asyncio.to_thread(store.topic_id, names.results), topics[names.results])
            results = [TopicPartition(names.results, number) for number in range(counts[names.results])]
            behind = await _catch_up(consumer, store, names.results, results, question.wait_s)
            letters = None
            if question.dead_letters:
                dead = [TopicPartition(names.dead, number) for number in range(counts[names.dead])]
                letters = await _read_dead_letters(consumer, dead, question.suite)
            reads_all = settings.worker.auto_offset_reset == "earliest"
            facts = await _with_latest_ends(consumer, inputs, await asyncio.to_thread(_facts, store, question, log, letters, reads_all))
            accounts = []
            for one in facts:
                if one.former:
                    accounts.append(judge(one, present=()))  # nobody can look into it any more
                    continue
                candidates = candidate_holes(one)
                present = await _present(consumer, TopicPartition(one.topic, one.partition), candidates, one) if candidates else None
                accounts.append(judge(one, present, await _waiting(consumer, one)))
            return Reconciliation(question.suite, accounts, behind, question.drained)
    except (KafkaError, OSError, TimeoutError) as error:
        raise ConfigError(unreachable(kafka, error)) from None


@asynccontextmanager
async def _consumer(settings: Settings, group: str) -> AsyncIterator[AIOKafkaConsumer]:
    """A consumer that may ask for the group's offsets but never joins or commits."""
    async with AsyncExitStack() as stack:
        consumer = AIOKafkaConsumer(**client_options(settings.kafka), group_id=group, enable_auto_commit=False, auto_offset_reset="earliest")
        stack.push_async_callback(close_client, consumer.stop)
        await consumer.start()
        yield consumer


async def _read_log(consumer: AIOKafkaConsumer, partitions: Sequence[TopicPartition]) -> _Log:
    """Commits first: the end offset read after them is never below one."""
    committed = {part: await consumer.committed(part) for part in partitions}
    return _Log(await consumer.beginning_offsets(partitions), await consumer.end_offsets(partitions), committed)


async def _with_latest_ends(consumer: AIOKafkaConsumer, partitions: Sequence[TopicPartition], facts: Sequence[PartitionFacts]) -> list[PartitionFacts]:
    """The facts with the ends as they are after the store was read: what it knows by then has an offset below them."""
    ends = await consumer.end_offsets(partitions)
    return [one if one.former else replace(one, latest_end=ends.get(TopicPartition(one.topic, one.partition))) for one in facts]


async def _catch_up(consumer: AIOKafkaConsumer, store: AccountStore, topic: str, partitions: Sequence[TopicPartition], wait_s: float) -> int:
    """Wait until the store has read what the results topic holds now. Returns how many records it is still behind."""
    stored = await asyncio.to_thread(store.positions, topic)
    starts, ends = await consumer.beginning_offsets(partitions), await consumer.end_offsets(partitions)
    check_positions(topic, stored, {part.partition: (starts[part], ends[part]) for part in partitions})
    deadline = time.monotonic() + wait_s
    while True:
        behind: int = sum(max(0, ends[part] - stored.get(part.partition, starts[part])) for part in partitions)
        if not behind or time.monotonic() >= deadline:
            return behind
        await asyncio.sleep(CATCH_UP_POLL_S)
        stored = await asyncio.to_thread(store.positions, topic)


def _facts(store: AccountStore, question: Question, log: _Log, letters: _Letters | None, reads_all: bool) -> list[PartitionFacts]:
    """The facts of store and topics about every partition: first those of topics that are gone. Partitions that only the store knows have an empty log."""
    facts = []
    for topic in question.topics:
        keys, contradicted = store.accounts(question.suite, topic), store.contradictions(question.suite, topic)
        gone, here = _incarnations(log.topic_ids[topic], {key.topic_id for key in keys}, {topic_id for topic_id, _, _ in contradicted})
        numbers = {part.partition for part in log.ends if part.topic == topic}
        for topic_ids, former in [*((one, True) for one in gone), (here, False)]:
            for number in sorted({key.partition for key in keys if key.topic_id in topic_ids} | (set() if former else numbers)):
                part = TopicPartition(topic, number)
                folded, without_row, without_score = facts_of_accounts(
                    [store.account(key) for key in keys if key.topic_id in topic_ids and key.partition == number]
                )
                start, end, committed = log.starts.get(part, 0), log.ends.get(part, 0), log.committed.get(part)
                if former:
                    start, end, committed = folded[0].first, folded[-1].last + 1, folded[-1].last + 1
                facts.append(
                    PartitionFacts(
                        *(topic, number, start, end, committed),
                        intervals=folded,
                        scored_without_row=without_row,
                        row_without_scored=without_score,
                        first=_first_owed(folded, start, committed, reads_all),
                        dead_letters=letters.of(part, topic_ids) if letters is not None else None,
                        contradicted=tuple(runs(at for topic_id, of, at in contradicted if of == number and topic_id in topic_ids)) if not former else (),
                        topic_id=max(topic_ids),
                        former=former,
                    )
                )
    return facts


def _incarnations(current: str, known: set[str], contradicted: set[str]) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    """The ids of each topic that had the name before, and those of the topic that has it now.

    Outcomes without an id (of an earlier version of this program, or of a broker without ids) belong to the topic of now if nothing contradicts it:
    no other topic had the name, and no result names another event at one of their offsets.
    """
    named = known - {""}
    if not current:
        here = ("", *sorted(named)) if len(named) < 2 else ("",)
    else:
        here = (current, "") if named <= {current} and "" not in contradicted else (current,)
    return [(topic_id,) for topic_id in sorted(known - set(here))], here


def _first_owed(folded: Sequence[Interval], start: int, committed: int | None, reads_all: bool) -> int:
    """The first offset to account for.

    Events before the log's start count if they have an outcome. A group that began at the end owes nothing before that.
    """
    if folded:
        return min(start, folded[0].first) if reads_all else folded[0].first
    return start if reads_all or committed is None else committed


async def _read_dead_letters(consumer: AIOKafkaConsumer, partitions: Sequence[TopicPartition], suite: str) -> _Letters:
    """Every dead letter of the suite."""
    starts, ends = await consumer.beginning_offsets(partitions), await consumer.end_offsets(partitions)
    named: dict[tuple[TopicPartition, str], list[Span]] = {}
    async for record in _read(consumer, {part: (starts[part], ends[part]) for part in partitions}):
        letter = parse_letter(record)
        if letter is None or letter.suite != suite or letter.source_partition < 0 or letter.source_offset < 0:
            continue  # of another suite, or not written by a worker: other programs may write to this topic
        part = TopicPartition(letter.source_topic, letter.source_partition)
        named.setdefault((part, letter.source_topic_id), []).append((letter.source_offset, letter.source_last))
    return _Letters(named, not any(starts.values()))


async def _present(consumer: AIOKafkaConsumer, part: TopicPartition, candidates: Sequence[Span], facts: PartitionFacts) -> list[int]:
    """Offsets of the candidate holes that hold a record."""
    present: list[int] = []
    examined = 0
    for first, last in candidates:
        low, high = max(first, facts.start), min(last, facts.end - 1)
        if low > high:
            continue
        if examined + high - low >= HOLE_RECORDS_MAX:
            present.extend(range(low, high + 1))
            continue
        examined += size([(low, high)])
        present.extend([record.offset async for record in _read(consumer, {part: (low, high + 1)})])
    return present


async def _waiting(consumer: AIOKafkaConsumer, facts: PartitionFacts) -> int | None:
    """Records from the committed offset on, if few enough offsets are left to look up.

    The last offset of a transactional producer is a marker that is never consumed; it is not an event in flight.
    """
    low, high = max(facts.decided, facts.start), facts.end
    if not 0 < high - low <= TAIL_RECORDS_MAX:
        return None
    return len([None async for _ in _read(consumer, {TopicPartition(facts.topic, facts.partition): (low, high)})])


async def _read(consumer: AIOKafkaConsumer, bounds: dict[TopicPartition, tuple[int, int]], stall_s: float = READ_STALL_S) -> AsyncIterator[Any]:
    """Every record of the partitions in [start, end). Raises `TimeoutError` if the broker stops returning them."""
    open_parts = {part: end for part, (start, end) in bounds.items() if start < end}
    if not open_parts:
        return
    consumer.assign(list(open_parts))
    for part in open_parts:
        consumer.seek(part, bounds[part][0])
    moved_at = time.monotonic()
    while open_parts:
        polled = await consumer.getmany(*open_parts, timeout_ms=POLL_MS)
        for part, records in polled.items():
            for record in records:
                if record.offset < open_parts[part]:
                    yield record
        if polled:
            moved_at = time.monotonic()
        elif time.monotonic() - moved_at > stall_s:
            raise TimeoutError
        # Positions also pass transaction markers and compacted offsets, which hold no record.
        for part in list(open_parts):
            if await consumer.position(part) >= open_parts[part]:
                del open_parts[part]
