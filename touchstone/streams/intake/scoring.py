"""One slice of records: bytes → cases → scorecards → result events. The hot path; what it measures, it measures per slice."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from touchstone.schemas.case import Case
from touchstone.schemas.result import Failure, Scorecard
from touchstone.schemas.settings.house import WorkerSettings
from touchstone.scorers.backoff import Backoff
from touchstone.scorers.base import FollowUp, HandsOn, Lost, Scorer, Shed, Unavailable
from touchstone.scorers.breaker import Breaker
from touchstone.scorers.defects import print_traceback_if_asked, where_raised
from touchstone.scorers.scoring import FOLLOW_UP_TOO_LARGE, ResultMaker, failed_card, late_card, trimmed
from touchstone.streams.intake.offsets import Span, append_span
from touchstone.streams.telemetry.metrics import WorkerMetrics
from touchstone.streams.wire.codec import Codec, Read, Record, Reject, encode_follow_up, encode_result, source_of
from touchstone.streams.wire.message import Message

log = structlog.get_logger(__name__)

#: Role and event of each that hands a case on.
_Next = Sequence[tuple[str, Message]]
#: After so long in a row others have their turn on the event loop: fetches, questions and acknowledgements of other slices wait for it.
TURN_S = 0.003
#: How often the event loop turns then: what they wait for takes several steps.
TURNS = 3
#: The same while so many slices wait for their turn: fewer, larger requests carry more.
BUSY_SLICES, BUSY_TURN_S, BUSY_TURNS = 8, 0.01, 1
#: A larger result is sent without its findings and details, so that it fits the brokers' default limit.
RESULT_BYTES_MAX = 800_000


@dataclass(frozen=True, slots=True)
class RunningSuite:
    """A suite, configured and built. `inline`: score the cases of a slice in a row, not in a task each.

    `components`: names of its values; `value_max`: the largest of them. `notes`: how its settings work out on this machine, for the log.
    `hands_on`: roles of the topics on which its scorer hands cases on.
    """

    name: str
    version: str
    digest: str
    scorer: Scorer[Any]
    codec: Codec
    inline: bool
    value_max: float = 1.0
    components: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    hands_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedSuite:
    """A suite that is configured and not built yet: a model takes seconds to load, and the worker's pages answer meanwhile.

    `build` is called in a thread; it raises `ConfigError`, or `Unavailable` to be asked again.
    """

    name: str
    version: str
    build: Callable[[], RunningSuite]
    components: tuple[str, ...] = ()
    hands_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Handed:
    """An event that hands a case on. `result`: that of the case."""

    role: str
    message: Message
    result: Message


@dataclass(slots=True)
class Scored:
    """The outcome of a slice: result events to publish with their records, events that hand cases on, unreadable records, and outcomes without a result.

    `topic_id`: of the topic that its records are on. `consumed`: how many of its offsets the metrics have counted as consumed.
    `begun`: the slice has its turn to be scored.
    """

    topic_id: str = ""
    messages: list[Message] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    handed: list[Handed] = field(default_factory=list)
    rejected: list[tuple[Record, Reject]] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    consumed: int = 0
    begun: Callable[[], None] = lambda: None

    def dead(self) -> Counter[str]:
        """Code → offsets that are dead."""
        counts: Counter[str] = Counter()
        for outcome, code, first, last in self.spans:
            if outcome == "dead":
                counts[code] += last - first + 1
        return counts


class SliceScorer:
    """Reads and scores slices for one suite."""

    def __init__(self, suite: RunningSuite, settings: WorkerSettings, metrics: WorkerMetrics) -> None:
        self._suite = suite
        self._settings = settings
        self._metrics = metrics
        self._results = ResultMaker(suite.name, suite.version, suite.digest, self._log_defect)
        self._stages = _Stages(metrics)
        self._breaker = Breaker(lambda: Backoff(settings.retry_backoff_min_s, settings.retry_backoff_max_s), self._stages)
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._none_waits = asyncio.Event()
        #: When the case last put aside can be scored (as `time.time`); None if there is none, or its scorer does not know.
        self.again_at: float | None = None

    @property
    def available(self) -> bool:
        """False while a stage that scoring needs is unavailable."""
        return not self._breaker.is_open

    @property
    def away(self) -> tuple[str, ...]:
        """The codes of the stages that are unavailable."""
        return self._breaker.down

    @property
    def available_at(self) -> float:
        """Monotonic time since which every stage answers; minus infinity if none was ever away."""
        return self._stages.back_at

    async def caught_up(self) -> None:
        """Wait until no slice of an inline suite waits for its turn."""
        while self._waiting:
            await self._none_waits.wait()

    async def score(self, records: Sequence[Record], slice_: Scored) -> None:
        """Read and score a slice into `slice_`; on return all its records are counted as consumed."""
        cards: dict[tuple[str, tuple[tuple[str, float], ...]], int] = {}
        if self._suite.inline:
            times = await self._in_a_row(records, slice_, cards)
        else:
            times = await self._together(records, slice_, cards)
        metrics, scored = self._metrics, len(slice_.messages)
        metrics.stage("decode", times[0] / len(records), len(records))
        if scored:
            metrics.stage("score", times[1] / scored, scored)
            metrics.stage("encode", times[2] / scored, scored)
            metrics.results(cards, self._suite.value_max)

    def _count(self, topic: str, formats: dict[str, int], slice_: Scored) -> None:
        """Count what has been read as consumed, from now on in flight."""
        slice_.consumed += sum(formats.values())
        self._metrics.consumed(topic, formats)
        formats.clear()

    def _sort(self, record: Record, formats: dict[str, int], slice_: Scored, oldest_ms: float) -> Read | None:
        """Read one record: a case to score is returned, every other outcome is noted in the slice."""
        try:
            step = self._suite.codec.read(record, slice_.topic_id)
        except Exception as error:  # noqa: BLE001 -- a gap in the codec must cost one event, not the partition
            log.error("codec_failed", code=type(error).__name__, topic=record.topic, partition=record.partition, offset=record.offset)
            step = Reject("codec_failed", "", "unread")
        if isinstance(step, Read):
            formats[step.format] = formats.get(step.format, 0) + 1
            if record.timestamp >= oldest_ms or record.timestamp < 0:  # -1 is Kafka's "no timestamp": the record's age is unknown
                return step
            append_span(slice_.spans, ("shed", "too_old", record.offset, record.offset))
            return None
        since = step.since if isinstance(step, Reject) and step.since is not None else record.offset
        formats[step.format] = formats.get(step.format, 0) + record.offset - since + 1
        if isinstance(step, Reject):
            if step.since is None:
                slice_.rejected.append((record, step))
            append_span(slice_.spans, ("dead", step.code, since, record.offset))
        else:
            append_span(slice_.spans, ("skipped", step.reason, record.offset, record.offset))
        return None

    def _oldest_ms(self) -> float:
        """Events with an earlier timestamp are shed."""
        limit_s = self._settings.event_age_max_s
        return (time.time() - limit_s) * 1000 if limit_s else float("-inf")

    async def _in_a_row(self, records: Sequence[Record], slice_: Scored, cards: dict[Any, int]) -> tuple[float, float, float]:
        """One record after the other from bytes to bytes, while it is warm in the caches, without a task each.

        One slice at a time, the first one first, and with a pause every few milliseconds: if all that are in flight had their records scored at each step of
        the event loop, every acknowledgement would wait for all of them, several times over.
        """
        row = _Row(iter(records), self._oldest_ms())
        while True:
            self._waiting += 1
            self._none_waits.clear()
            try:
                await self._turn.acquire()
            finally:
                self._waiting -= 1
                if not self._waiting:
                    self._none_waits.set()
            try:
                slice_.begun()
                stuck = await self._score_on(row, slice_, cards)
            finally:
                self._turn.release()
            if stuck is None:
                break
            record, read, error = stuck  # for this one it may take long, so it waits without the turn
            before = time.perf_counter()
            card, follow_ups = await self._followed_up(read, await self._patiently(read.case, error))
            spent_s = time.perf_counter() - before
            self._add(record, read, card, spent_s, slice_, cards, follow_ups)
            row.score_s += spent_s
        return row.read_s, row.score_s, row.encode_s

    async def _score_on(self, row: "_Row", slice_: Scored, cards: dict[Any, int]) -> tuple[Record, Read, Exception | None] | None:
        """Score the row's next records, to its end. Returns before that if a case has to wait, or an error has to be judged: with its record and that error."""
        score, breaker, clock, hands_on = self._suite.scorer.score, self._breaker, time.perf_counter, self._suite.hands_on
        formats: dict[str, int] = {}
        topic = ""
        turn_s, turns = (BUSY_TURN_S, BUSY_TURNS) if self._waiting >= BUSY_SLICES else (TURN_S, TURNS)
        begun = resumed = clock()
        for record in row.records:
            topic = record.topic
            read = self._sort(record, formats, slice_, row.oldest_ms)
            decoded = clock()
            row.read_s += decoded - begun
            begun = decoded
            if read is not None:
                if not breaker.is_settled:
                    self._count(topic, formats, slice_)
                    return record, read, None
                try:
                    card = await score(read.case)
                except Exception as raised:  # noqa: BLE001 -- `_patiently` distinguishes them
                    self._count(topic, formats, slice_)
                    return record, read, raised
                follow_ups: _Next = ()
                if hands_on:
                    card, follow_ups = await self._followed_up(read, card)
                scored = clock()
                self._add(record, read, card, scored - decoded, slice_, cards, follow_ups)
                begun = clock()
                row.score_s += scored - decoded
                row.encode_s += begun - scored
            if begun - resumed > turn_s:
                for _ in range(turns):
                    await asyncio.sleep(0)
                begun = resumed = clock()
        self._count(topic, formats, slice_)
        return None

    async def _together(self, records: Sequence[Record], slice_: Scored, cards: dict[Any, int]) -> tuple[float, float, float]:
        """All cases of the slice at once, so that the engines' batchers see them together."""

        async def one(read: Read) -> tuple[Any, float, _Next]:
            before = time.perf_counter()
            card, follow_ups = await self._followed_up(read, await self._patiently(read.case))
            return card, time.perf_counter() - before, follow_ups

        formats: dict[str, int] = {}
        slice_.begun()
        begun = time.perf_counter()
        oldest_ms = self._oldest_ms()
        reads = [(record, read) for record in records if (read := self._sort(record, formats, slice_, oldest_ms)) is not None]
        self._count(records[0].topic, formats, slice_)
        decoded = time.perf_counter()
        scored = await asyncio.gather(*(one(read) for _, read in reads))
        answered = time.perf_counter()
        for (record, read), (card, spent_s, follow_ups) in zip(reads, scored, strict=True):
            self._add(record, read, card, spent_s, slice_, cards, follow_ups)
        return decoded - begun, sum(spent_s for _, spent_s, _ in scored), time.perf_counter() - answered

    async def _followed_up(self, read: Read, card: Any) -> tuple[Any, _Next]:
        """The case's card, with a failure in it for each event that hands it on and cannot be made, and those that can."""
        scorer = self._suite.scorer
        if not self._suite.hands_on or not isinstance(card, Scorecard) or not isinstance(scorer, HandsOn):
            return card, ()
        handed: list[tuple[str, Message]] = []
        failures: list[Failure] = []
        try:
            made = await scorer.follow_up(read.case, read.event_id, card)
            for one in (made,) if isinstance(made, FollowUp) else made or ():
                if one.role not in self._suite.hands_on:
                    raise ValueError(one.role)
                message = Message(*encode_follow_up(self._suite.name, self._results.id_of(read.event_id), read.event_id, one.record))
                if len(message.value or b"") <= RESULT_BYTES_MAX:
                    handed.append((one.role, message))
                else:
                    failures.append(FOLLOW_UP_TOO_LARGE)
        except Exception as error:  # noqa: BLE001 -- any exception here is the scorer's
            code = type(error).__name__
            self._log_defect(error, code, "follow_up_failed", locate=True)
            failures.append(Failure(component="follow_up", kind="scorer_error", code=code))
        return card.model_copy(update={"failures": (*card.failures, *failures)}) if failures else card, handed

    def _add(self, record: Record, read: Read, card: Any, spent_s: float, slice_: Scored, cards: dict[Any, int], follow_ups: _Next = ()) -> None:
        """Add one result event, and the events that hand the case on; if the scorer puts the case aside, add that outcome instead.

        A return value that is not a scorecard, or that JSON cannot hold, counts as a failure of the scorer. So does a case whose `case_id`,
        which is the suite's code, raises.
        """
        if isinstance(card, Shed):
            self.again_at = None if card.again_in_s is None else time.time() + card.again_in_s
            append_span(slice_.spans, ("shed", card.reason, record.offset, record.offset))
            return
        result = self._results.result(read.case, read.event_id, source_of(record, slice_.topic_id), card, spent_s)
        try:
            message = Message(*encode_result(result))
        except Exception as error:  # noqa: BLE001 -- a defect in one case must cost one event, not the worker
            result = self._results.unwritable(result, error)
            message = Message(*encode_result(result))
        if message.value is not None and len(message.value) > RESULT_BYTES_MAX:
            message = Message(*encode_result(trimmed(result)))
        slice_.messages.append(message)
        slice_.records.append(record)
        if follow_ups:
            slice_.handed += [Handed(role, event, message) for role, event in follow_ups]
        key = result.label, tuple(result.values.items())
        cards[key] = cards.get(key, 0) + 1

    def _log_defect(self, error: Exception, code: str, event: str = "scorer_failed", *, locate: bool = False) -> None:
        """Log a defect of the suite. `locate`: with its file and line in the suite's package."""
        print_traceback_if_asked(error)
        where = where_raised(error, type(self._suite.scorer).__module__) if locate else None
        log.error(event, suite=self._suite.name, code=code, **({"where": where} if where else {}))

    async def _patiently(self, case: Case, error: Exception | None = None) -> Any:
        """Ask the scorer, and wait while a stage is unavailable; a defect of the scorer is a named failure, never a zero.

        `error`: what it raised when it was asked before. Raises `Lost`: nothing is acknowledged then, and the worker ends.
        """
        try:
            if error is not None and not isinstance(error, Unavailable):
                raise error
            return await self._breaker.call(lambda: self._ask(case), error)
        except Lost:
            raise
        except Shed as shed:
            return shed
        except Exception as defect:  # noqa: BLE001 -- any exception here is the scorer's
            code = type(defect).__name__
            self._log_defect(defect, code, locate=True)
            return failed_card(self._suite.name, "scorer_error", code)

    async def _ask(self, case: Case) -> Any:
        """Ask the scorer once, within the time limit."""
        limit = asyncio.timeout(self._settings.score_timeout_s)
        try:
            async with limit:
                return await self._suite.scorer.score(case)
        except TimeoutError:
            if not limit.expired():
                raise  # the scorer's own
            log.warning("score_timeout", suite=self._suite.name, seconds=self._settings.score_timeout_s)
            return late_card(self._suite.name)


@dataclass(slots=True)
class _Row:
    """The records of a slice that are still to be scored, and how long the others took. Earlier timestamps than `oldest_ms` are shed."""

    records: Iterator[Record]
    oldest_ms: float
    read_s: float = 0.0
    score_s: float = 0.0
    encode_s: float = 0.0


class _Stages:
    """Reports the breaker's events: counts every failed attempt, and logs the start and the end of an outage."""

    def __init__(self, metrics: WorkerMetrics) -> None:
        self._metrics = metrics
        self._down: set[str] = set()
        self.back_at = float("-inf")

    def failed(self, code: str) -> None:
        """Count an attempt."""
        self._metrics.count("unavailable")

    def opened(self, code: str) -> None:
        """A stage has gone down."""
        self._down.add(code)
        self._metrics.gauge("suite_up", 0)
        log.warning("stage_unavailable", code=code)

    def closed(self, code: str) -> None:
        """A stage is back."""
        self._down.discard(code)
        log.info("stage_available", code=code)
        if not self._down:
            self.back_at = time.monotonic()
            self._metrics.gauge("suite_up", 1)
