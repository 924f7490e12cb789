"""One slice of records: bytes → cases → scorecards → result events. The hot path; what it measures, it measures per slice."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from schemas.case import Case
from schemas.config import WorkerSettings
from schemas.result import Failure, Scorecard
from scorers.base import Scorer, Unavailable
from streams.codec import Codec, Read, Record, Reject, ResultEncoder
from streams.metrics import WorkerMetrics
from streams.offsets import Span, append_span
from streams.outbox import Message

log = structlog.get_logger(__name__)

#: A larger result is sent without its findings and details, so that it fits the brokers' default limit.
RESULT_BYTES_MAX = 800_000


@dataclass(frozen=True, slots=True)
class RunningSuite:
    """A suite, configured and built. `inline`: score the cases of a slice in a row, not in a task each."""

    name: str
    version: str
    digest: str
    scorer: Scorer[Any]
    codec: Codec
    inline: bool


@dataclass(slots=True)
class Scored:
    """What became of a slice: result events to publish, records nobody can read, and the outcomes without a result."""

    messages: list[Message]
    stamps_ms: list[int]
    rejected: list[tuple[Record, Reject]]
    spans: list[Span]


class SliceScorer:
    """Reads and scores slices for one suite."""

    def __init__(self, suite: RunningSuite, settings: WorkerSettings, metrics: WorkerMetrics) -> None:
        self._suite = suite
        self._settings = settings
        self._metrics = metrics
        self._encoder = ResultEncoder(suite.name, suite.version, suite.digest)
        self._down: set[str] = set()

    @property
    def available(self) -> bool:
        """False while a stage that scoring needs is unavailable."""
        return not self._down

    async def score(self, records: Sequence[Record]) -> Scored:
        """Read and score a slice; on return its records are counted as consumed."""
        slice_ = Scored([], [], [], [])
        formats: dict[str, int] = {}
        cards: Counter[tuple[str, tuple[tuple[str, float], ...]]] = Counter()
        if self._suite.inline:
            times = await self._in_a_row(records, slice_, formats, cards)
        else:
            times = await self._together(records, slice_, formats, cards)
        metrics, scored = self._metrics, len(slice_.messages)
        metrics.consumed(records[0].topic, formats)
        metrics.stage("decode", times[0] / len(records), len(records))
        if scored:
            metrics.stage("score", times[1] / scored, scored)
            metrics.stage("encode", times[2] / scored, scored)
            metrics.results(cards)
        return slice_

    def _sort(self, record: Record, formats: dict[str, int], slice_: Scored, oldest_ms: float) -> Read | None:
        """Read one record: a case to score is returned, every other outcome is noted in the slice."""
        step = self._suite.codec.read(record)
        formats[step.format] = formats.get(step.format, 0) + 1
        if isinstance(step, Read):
            if record.timestamp >= oldest_ms:
                return step
            append_span(slice_.spans, ("shed", "too_old", record.offset, record.offset))
        elif isinstance(step, Reject):
            slice_.rejected.append((record, step))
            append_span(slice_.spans, ("dead", step.code, record.offset, record.offset))
        else:
            append_span(slice_.spans, ("skipped", step.reason, record.offset, record.offset))
        return None

    def _oldest_ms(self) -> float:
        """Events with an earlier timestamp are shed."""
        limit_s = self._settings.event_age_max_s
        return (time.time() - limit_s) * 1000 if limit_s else float("-inf")

    async def _in_a_row(self, records: Sequence[Record], slice_: Scored, formats: dict[str, int], cards: Counter[Any]) -> tuple[float, float, float]:
        """One record after the other from bytes to bytes, while it is warm in the caches; no task, no suspension."""
        score, clock = self._suite.scorer.score, time.perf_counter
        oldest_ms, messages, stamps = self._oldest_ms(), slice_.messages, slice_.stamps_ms
        score_s = encode_s = 0.0
        begun = clock()
        for record in records:
            read = self._sort(record, formats, slice_, oldest_ms)
            if read is None:
                continue
            decoded = clock()
            try:
                card = await score(read.case)
            except Exception as error:  # noqa: BLE001 -- told apart there
                card = await self._again(read.case, error)
            scored = clock()
            messages.append(self._message(record, read, card, scored - decoded))
            stamps.append(record.timestamp)
            cards[card.label, tuple(card.values.items())] += 1
            score_s += scored - decoded
            encode_s += clock() - scored
        return clock() - begun - score_s - encode_s, score_s, encode_s

    async def _together(self, records: Sequence[Record], slice_: Scored, formats: dict[str, int], cards: Counter[Any]) -> tuple[float, float, float]:
        """All cases of the slice at once, so that the engines' batchers see them together."""

        async def one(case: Case) -> tuple[Scorecard, float]:
            before = time.perf_counter()
            try:
                card = await self._suite.scorer.score(case)
            except Exception as error:  # noqa: BLE001 -- told apart there
                card = await self._again(case, error)
            return card, time.perf_counter() - before

        begun = time.perf_counter()
        oldest_ms = self._oldest_ms()
        reads = [(record, read) for record in records if (read := self._sort(record, formats, slice_, oldest_ms)) is not None]
        decoded = time.perf_counter()
        scored = await asyncio.gather(*(one(read.case) for _, read in reads))
        answered = time.perf_counter()
        for (record, read), (card, spent_s) in zip(reads, scored, strict=True):
            slice_.messages.append(self._message(record, read, card, spent_s))
            slice_.stamps_ms.append(record.timestamp)
            cards[card.label, tuple(card.values.items())] += 1
        return decoded - begun, sum(spent_s for _, spent_s in scored), time.perf_counter() - answered

    def _message(self, record: Record, read: Read, card: Scorecard, spent_s: float) -> Message:
        """One result event, trimmed where it would not fit."""
        duration_ms = {"score": round(spent_s * 1000, 3)}
        message = Message(*self._encoder.encode(record, read, card, duration_ms))
        if len(message.value or b"") > RESULT_BYTES_MAX:
            return Message(*self._encoder.encode(record, read, _trimmed(card), duration_ms))
        return message

    async def _again(self, case: Case, error: Exception) -> Scorecard:
        """After a scorer raised: wait out an unavailable world; its own defect is a named failure, never a zero."""
        backoff_s = self._settings.retry_backoff_min_s
        while True:
            if not isinstance(error, Unavailable):
                code = type(error).__name__
                log.error("scorer_failed", suite=self._suite.name, code=code)
                failure = Failure(component=self._suite.name, kind="scorer_error", code=code)
                return Scorecard(label="unscored", values={}, failures=(failure,), components_missing=(self._suite.name,))
            self._unavailable(error.code)
            await asyncio.sleep(backoff_s)
            backoff_s = min(backoff_s * 2, self._settings.retry_backoff_max_s)
            try:
                card = await self._suite.scorer.score(case)
            except Exception as next_error:  # noqa: BLE001 -- told apart at the top of the loop
                error = next_error
            else:
                self._back()
                return card

    def _unavailable(self, code: str) -> None:
        """Count an attempt; log the first of a row."""
        self._metrics.count("unavailable")
        if code not in self._down:
            self._down.add(code)
            self._metrics.gauge("suite_up", 0)
            log.warning("stage_unavailable", code=code)

    def _back(self) -> None:
        """Note that what was unavailable has answered."""
        if self._down:
            log.info("stage_available", code=",".join(sorted(self._down)))
            self._down.clear()
            self._metrics.gauge("suite_up", 1)


def _trimmed(card: Scorecard) -> Scorecard:
    """A scorecard without what makes its result too large for the broker; it says so."""
    failure = Failure(component="details", kind="too_large", code="result_too_large")
    return card.model_copy(update={"findings": (), "details": {}, "not_checked": (), "failures": (*card.failures, failure)})
