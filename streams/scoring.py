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
class Reads:
    """What the records of a slice turned out to be; `spans` tells the outcomes that have no result event."""

    cases: list[tuple[Record, Read]]
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

    def read(self, records: Sequence[Record]) -> Reads:
        """Decode a slice and count it as consumed."""
        reads = Reads([], [], [])
        formats: dict[str, int] = {}
        cases, spans, read = reads.cases, reads.spans, self._suite.codec.read
        oldest_ms = (time.time() - self._settings.event_age_max_s) * 1000 if self._settings.event_age_max_s else 0.0
        started = time.perf_counter()
        for record in records:
            step = read(record)
            formats[step.format] = formats.get(step.format, 0) + 1
            if isinstance(step, Read):
                if record.timestamp >= oldest_ms:
                    cases.append((record, step))
                else:
                    append_span(spans, ("shed", "too_old", record.offset, record.offset))
            elif isinstance(step, Reject):
                reads.rejected.append((record, step))
                append_span(spans, ("dead", step.code, record.offset, record.offset))
            else:
                append_span(spans, ("skipped", step.reason, record.offset, record.offset))
        self._metrics.stage("decode", (time.perf_counter() - started) / len(records), len(records))
        self._metrics.consumed(records[0].topic, formats)
        return reads

    async def score(self, cases: Sequence[tuple[Record, Read]]) -> list[Message]:
        """The result events of a slice: scored in a row for inline suites, together otherwise."""
        if not cases:
            return []
        labels: Counter[tuple[str, tuple[tuple[str, float], ...]]] = Counter()
        if self._suite.inline:
            messages, score_s, encode_s = await self._in_a_row(cases, labels)
        else:
            messages, score_s, encode_s = await self._together(cases, labels)
        self._metrics.stage("score", score_s / len(cases), len(cases))
        self._metrics.stage("encode", encode_s / len(cases), len(cases))
        self._metrics.results(labels)
        return messages

    async def _in_a_row(self, cases: Sequence[tuple[Record, Read]], labels: Counter[Any]) -> tuple[list[Message], float, float]:
        """Score one after the other, without a task or a suspension where the scorer has none."""
        messages: list[Message] = []
        score, clock, score_s = self._suite.scorer.score, time.perf_counter, 0.0
        begun = before = clock()
        for record, read in cases:
            try:
                card = await score(read.case)
            except Exception as error:  # noqa: BLE001 -- told apart there
                card = await self._again(read.case, error)
            spent = clock() - before
            score_s += spent
            messages.append(self._message(record, read, card, spent))
            labels[card.label, tuple(card.values.items())] += 1
            before = clock()
        return messages, score_s, before - begun - score_s

    async def _together(self, cases: Sequence[tuple[Record, Read]], labels: Counter[Any]) -> tuple[list[Message], float, float]:
        """Score all at once, so that the engines' batchers see them together."""

        async def one(case: Case) -> tuple[Scorecard, float]:
            before = time.perf_counter()
            try:
                card = await self._suite.scorer.score(case)
            except Exception as error:  # noqa: BLE001 -- told apart there
                card = await self._again(case, error)
            return card, time.perf_counter() - before

        cards = await asyncio.gather(*(one(read.case) for _, read in cases))
        begun = time.perf_counter()
        messages = []
        for (record, read), (card, spent) in zip(cases, cards, strict=True):
            messages.append(self._message(record, read, card, spent))
            labels[card.label, tuple(card.values.items())] += 1
        return messages, sum(spent for _, spent in cards), time.perf_counter() - begun

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
