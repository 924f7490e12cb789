"""Case → result. Every result is made here: for workers, for commands on files and for Python calls."""

import asyncio
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from touchstone.schemas.case import Case
from touchstone.schemas.result import Failure, Scorecard, ScoreResult, Source
from touchstone.schemas.settings.house import WorkerSettings
from touchstone.scorers.base import Closeable, Scorer, Shed, Unavailable
from touchstone.scorers.identity import ResultIds, config_digest
from touchstone.scorers.suite import Suite

#: How long a scorer may take to release its engines.
CLOSE_S = 10.0
#: How long one case may take, if the caller does not say: the workers' default (`worker.score_timeout_s`).
SCORE_TIMEOUT_S: float = WorkerSettings.model_fields["score_timeout_s"].default
FOLLOW_UP_TOO_LARGE = Failure(component="follow_up", kind="too_large", code="follow_up_too_large")


def failed_card(suite: str, kind: str, code: str) -> Scorecard:
    """The card of a case that could not be scored: named, unscored, never a zero."""
    return Scorecard(label="unscored", values={}, failures=(Failure(component=suite, kind=kind, code=code),), components_missing=(suite,))


def late_card(suite: str) -> Scorecard:
    """The card of a case that took longer than `worker.score_timeout_s`."""
    return failed_card(suite, "timeout", "score_timeout")


class ResultMaker:
    """Makes the results of one suite, in one version and configuration.

    `digest`: of its configuration. `on_defect`: called with the exception and its code when a result records a defect of the suite's code.
    """

    def __init__(self, suite: str, version: str, digest: str, on_defect: Callable[[Exception, str], None] = lambda *_: None) -> None:
        self._suite = suite
        defaults = {name: field.get_default(call_default_factory=True) for name, field in ScoreResult.model_fields.items()}
        self._template: dict[str, Any] = defaults | {"suite": suite, "suite_version": version, "config_digest": digest}
        self._ids = ResultIds(suite, version, digest)
        self._on_defect = on_defect

    def id_of(self, event_id: str) -> str:
        """UUIDv5 of (event, suite, version, configuration)."""
        return self._ids.of(event_id)

    def result(self, case: Case, event_id: str, source: Source, card: Any, spent_s: float) -> ScoreResult:
        """The result of a scored case. If `card` is no scorecard, or the suite's `case_id` raises, that is a failure in the result."""
        case_id = None
        try:
            case_id = case.case_id
        except Exception as error:  # noqa: BLE001 -- the suite's own code
            card = self._defect("case_id", error)
        # The scorecard was validated when it was made and all else is ours: validating it again would cost more than a cheap suite's scoring.
        fields = self._template.copy()
        fields.update(card.__dict__ if type(card) is Scorecard else self._fields_of(card))
        fields["result_id"] = self._ids.of(event_id)
        fields["event_id"] = event_id
        fields["case_id"] = case_id
        fields["kind"] = case.kind
        fields["correlation"] = case.correlation
        fields["source"] = source
        fields["scored_at"] = datetime.now(UTC)
        fields["duration_ms"] = {"score": round(spent_s * 1000, 3)}
        return ScoreResult.of_valid(fields)

    def _fields_of(self, card: Any) -> dict[str, Any]:
        """The fields of a result that a scorer's return value gives: those of a subclass's scorecard, or a failure."""
        if isinstance(card, Scorecard):
            return {name: getattr(card, name) for name in Scorecard.model_fields}
        return self._defect("scorecard", TypeError()).__dict__

    def unwritable(self, result: ScoreResult, error: Exception) -> ScoreResult:
        """The result of a case whose scorecard JSON cannot hold: a failure of the suite."""
        card = self._defect("scorecard", error)
        # A name that is not plain text might be what JSON cannot hold.
        named = result.case_id if isinstance(result.case_id, str) and result.case_id.isprintable() else None
        return result.model_copy(update={**card.__dict__, "case_id": named})

    def _defect(self, culprit: str, error: Exception) -> Scorecard:
        code = f"{culprit}_{type(error).__name__}"
        self._on_defect(error, code)
        return failed_card(self._suite, "scorer_error", code)


def trimmed(result: ScoreResult) -> ScoreResult:
    """The result without the parts that can make it too large for a broker; a failure records that."""
    smaller = result.model_copy(update={"findings": (), "details": {}, "not_checked": ()})
    return _with_failure(smaller, Failure(component="details", kind="too_large", code="result_too_large"))


def without_follow_up(result: ScoreResult) -> ScoreResult:
    """The result of a case whose follow-up event is too large for the broker; a failure records that."""
    return _with_failure(result, FOLLOW_UP_TOO_LARGE)


def _with_failure(result: ScoreResult, failure: Failure) -> ScoreResult:
    return result.model_copy(update={"failures": (*result.failures, failure)})


class Scoring:
    """Scores cases of one suite with one configuration, each within `timeout_s`. Building the scorer may take seconds; raises `ConfigError`."""

    def __init__(self, suite: Suite, settings: Any, *, scorer: Scorer[Any] | None = None, timeout_s: float = SCORE_TIMEOUT_S) -> None:
        self._asked_timeout_s = timeout_s
        self.suite = suite
        self.settings = settings
        self.configuration: Mapping[str, Any] = suite.fingerprint(settings)
        self.digest = config_digest(self.configuration)
        self._scorer: Scorer[Any] = suite.build(settings) if scorer is None else scorer
        self._results = ResultMaker(suite.name, suite.version, self.digest)

    async def result(self, case: Case, event_id: str, source: Source) -> ScoreResult:
        """Score one case. The suite's exceptions become failures in the result, as in a worker; only cancellation is raised."""
        begun = time.perf_counter()
        card = await self._card(case)
        return self._results.result(case, event_id, source, card, time.perf_counter() - begun)

    @cached_property
    def _timeout_s(self) -> float | None:
        """None for an inline scorer: it does not suspend, so no timer could interrupt it."""
        return None if self.suite.execution_with(self.settings) == "inline" else self._asked_timeout_s

    async def _card(self, case: Case) -> Scorecard:
        try:
            async with asyncio.timeout(self._timeout_s) as limit:
                return await self._scorer.score(case)
        except Unavailable as error:
            return error.card or failed_card(self.suite.name, "unavailable", error.code)
        except Shed as shed:
            return shed.card or failed_card(self.suite.name, "shed", shed.reason)
        except Exception as error:  # noqa: BLE001 -- a defect in one case must not cost the others
            return late_card(self.suite.name) if limit.expired() else failed_card(self.suite.name, "scorer_error", type(error).__name__)

    async def close(self) -> None:
        """Close the scorer, within a bound. What it raises is dropped: no caller is left to report it to."""
        await close_scorer(self._scorer)


async def close_scorer(scorer: Scorer[Any]) -> BaseException | None:
    """Close a scorer, within a bound. Returns what it raised, or a `TimeoutError` if it takes too long; None if all went well."""
    if not isinstance(scorer, Closeable):
        return None
    closing = asyncio.ensure_future(scorer.close())
    await asyncio.wait({closing}, timeout=CLOSE_S)
    if not closing.done():
        closing.cancel()
        return TimeoutError()
    return None if closing.cancelled() else closing.exception()
