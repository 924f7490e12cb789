"""Scoring outside Kafka: one suite, configured and built, that gives the same results as a worker."""

import asyncio
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from touchstone.schemas.case import Case
from touchstone.schemas.result import Failure, Scorecard, ScoreResult, Source
from touchstone.scorers.base import Closeable, Scorer, Shed, Unavailable
from touchstone.scorers.identity import ResultIds, config_digest
from touchstone.scorers.suite import Suite

#: How long a scorer may take to release its engines.
CLOSE_S = 10.0


def failed_card(suite: str, kind: str, code: str) -> Scorecard:
    """The card of a case that could not be scored: named, unscored, never a zero."""
    return Scorecard(label="unscored", values={}, failures=(Failure(component=suite, kind=kind, code=code),), components_missing=(suite,))


class Scoring:
    """Scores cases of one suite with one configuration. Building the scorer may take seconds; raises `ConfigError`.

    `on_failure`: called with a scorer's exception, of which the result holds only a code.
    """

    def __init__(self, suite: Suite, settings: Any, *, scorer: Scorer[Any] | None = None, on_failure: Any = None) -> None:
        self.suite = suite
        self.settings = settings
        self.configuration: Mapping[str, Any] = suite.fingerprint(settings)
        self.digest = config_digest(self.configuration)
        self._scorer: Scorer[Any] = suite.build(settings) if scorer is None else scorer
        self._ids = ResultIds(suite.name, suite.version, self.digest)
        self._on_failure = on_failure

    async def result(self, case: Case, event_id: str, source: Source) -> ScoreResult:
        """Score one case. The scorer's exceptions become failures in the result, as in a worker; only cancellation is raised."""
        begun = time.perf_counter()
        card = await self._card(case)
        spent_ms = round((time.perf_counter() - begun) * 1000, 3)
        # The scorecard was validated when it was made and all else is ours: validating it again would cost more than a cheap suite's scoring.
        return ScoreResult.of_valid(
            {
                "result_id": self._ids.of(event_id),
                "event_id": event_id,
                "case_id": case.case_id,
                "kind": case.kind,
                "suite": self.suite.name,
                "suite_version": self.suite.version,
                "config_digest": self.digest,
                "outcome": "scored",
                "label": card.label,
                "values": card.values,
                "findings": card.findings,
                "failures": card.failures,
                "components_missing": card.components_missing,
                "not_checked": card.not_checked,
                "details": card.details,
                "attributes": card.attributes,
                "models": card.models,
                "correlation": case.correlation,
                "source": source,
                "scored_at": datetime.now(UTC),
                "duration_ms": {"score": spent_ms},
            }
        )

    async def _card(self, case: Case) -> Scorecard:
        try:
            card = await self._scorer.score(case)
        except Unavailable as error:
            return error.card or failed_card(self.suite.name, "unavailable", error.code)
        except Shed as shed:
            return shed.card or failed_card(self.suite.name, "shed", shed.reason)
        except Exception as error:  # noqa: BLE001 -- a defect in one case must not cost the others
            if self._on_failure is not None:
                self._on_failure(error)
            return failed_card(self.suite.name, "scorer_error", type(error).__name__)
        return card if isinstance(card, Scorecard) else failed_card(self.suite.name, "scorer_error", "scorecard_TypeError")

    async def close(self) -> None:
        """Close the scorer, within a bound."""
        if isinstance(self._scorer, Closeable):
            closing = asyncio.ensure_future(self._scorer.close())
            await asyncio.wait({closing}, timeout=CLOSE_S)
            if not closing.done():
                closing.cancel()
            elif not closing.cancelled():
                closing.exception()  # retrieved, so that asyncio does not warn; no caller is left to report it to
