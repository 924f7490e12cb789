"""(a) SAFE rows/s in one process, and where the microseconds of one event go."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import orjson
from aiokafka.producer.message_accumulator import BatchBuilder

from touchstone.ops.lab.bench.streams.bare_loops import encoded
from touchstone.ops.lab.bench.streams.workload import events
from touchstone.schemas.case import SafeCase, validate_case
from touchstone.schemas.result import Scorecard
from touchstone.schemas.settings.house import Settings
from touchstone.scorers.safe.batch import result_of
from touchstone.scorers.safe.observation import score_batch
from touchstone.scorers.safe.scorer import SafeScorer
from touchstone.scorers.safe.settings import resolve
from touchstone.scorers.scoring import ResultMaker
from touchstone.streams.intake.intake import Destinations, Intake
from touchstone.streams.process.suites import running_suite
from touchstone.streams.telemetry.metrics import CollectorRegistry, WorkerMetrics
from touchstone.streams.wire.codec import Read
from touchstone.streams.wire.message import Message

ROWS = 5_000
REPEATS = 9


@dataclass(slots=True)
class Record:
    """A consumed record, without a broker."""

    offset: int
    value: bytes
    topic: str = "touchstone.generations"
    partition: int = 0
    timestamp: int = field(default_factory=lambda: int(time.time() * 1000))
    key: bytes | None = None
    headers: tuple[()] = ()


class Acknowledged:
    """A publisher whose broker acknowledges at once, so that only Touchstone's part is measured."""

    async def publish(self, topic: str, partition: int, messages: Sequence[Message]) -> None:
        """Nothing to wait for."""


async def interleaved(first: Callable[[], Awaitable[object]], second: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """Least processor seconds of two jobs, run in turn: other programs on the machine only add to them."""
    spent: tuple[list[float], list[float]] = ([], [])
    for _ in range(REPEATS):
        for job, times in zip((first, second), spent, strict=True):
            begun = time.process_time()
            await job()
            times.append(time.process_time() - begun)
    return min(spent[0]), min(spent[1])


async def rows_per_second() -> tuple[float, float]:
    """(rows/s through the batch call `score_batch`, rows/s of the same functions in a bare loop); results are built by both."""
    scorer = SafeScorer(resolve({}, None))
    cases = [validate_case(SafeCase, orjson.loads(value)) for value in events(ROWS)]

    async def bare() -> None:
        for case in cases:
            result_of(scorer.evaluate(case))

    async def ours() -> None:
        for _ in score_batch(cases, scorer):
            pass

    ours_s, bare_s = await interleaved(ours, bare)
    return ROWS / ours_s, ROWS / bare_s


async def steps_us() -> dict[str, float]:
    """Microseconds per event of each step, by processor time: decode, validate, score, encode, produce, account."""
    suite, _ = running_suite("safe_v0", Settings())
    results = ResultMaker(suite.name, suite.version, suite.digest)
    records = [Record(number, value) for number, value in enumerate(events(ROWS))]
    documents = [orjson.loads(record.value) for record in records]
    reads: list[Read] = [read for record in records if isinstance(read := suite.codec.read(record), Read)]
    cards: list[Scorecard] = [await suite.scorer.score(read.case) for read in reads]
    messages = [Message(*encoded(results, record, read, card)) for record, read, card in zip(records, reads, cards, strict=True)]

    async def decode() -> None:
        for record in records:
            suite.codec.read(record)

    async def validate() -> None:
        for document in documents:
            validate_case(SafeCase, document)

    async def score() -> None:
        for read in reads:
            await suite.scorer.score(read.case)

    async def encode() -> None:
        for record, read, card in zip(records, reads, cards, strict=True):
            encoded(results, record, read, card)

    async def produce() -> None:
        for begin in range(0, ROWS, 128):
            batch = BatchBuilder(900_000, 0)
            for message in messages[begin : begin + 128]:
                batch.append(timestamp=None, key=message.key, value=message.value, headers=message.headers)
            batch._build()  # noqa: SLF001 -- as the sender does

    async def bare() -> None:
        for record in records:
            read = suite.codec.read(record)
            assert isinstance(read, Read)
            Message(*encoded(results, record, read, await suite.scorer.score(read.case)))

    async def intake() -> None:
        settings = Settings().worker
        metrics = WorkerMetrics(suite.name, suite.version, "bench", CollectorRegistry())
        heart = Intake(suite, Acknowledged(), Destinations("results", 4, "dead", 4), settings, metrics)
        for begin in range(0, ROWS, settings.slice_records):
            await heart.room()
            heart.start(("touchstone.generations", 0), records[begin : begin + settings.slice_records])
        await heart.drain(60)
        await heart.settle()

    decode_s, validate_s = await interleaved(decode, validate)
    score_s, encode_s = await interleaved(score, encode)
    produce_s, _ = await interleaved(produce, produce)
    intake_s, bare_s = await interleaved(intake, bare)
    spent = {"decode": decode_s - validate_s, "validate": validate_s, "score": score_s, "encode": encode_s, "produce": produce_s, "account": intake_s - bare_s}
    return {name: seconds / ROWS * 1e6 for name, seconds in spent.items()}
