"""The scorer of the clinical judge: scores a trace, or a request that the validators made for one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from touchstone.schemas.judging import JudgeRequest
from touchstone.schemas.result import Scorecard
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.base import Lost, Reading
from touchstone.scorers.clinical import VERSION as VALIDATORS_VERSION
from touchstone.scorers.clinical.judging.scorecard import compose, skipped
from touchstone.scorers.clinical.judging.settings import CoherenceSettings, prompt
from touchstone.scorers.clinical.judging.verdicts import CoherenceVerdict
from touchstone.scorers.clinical.requests.judge_requests import request_of
from touchstone.scorers.clinical.settings import fingerprint as validators_fingerprint
from touchstone.scorers.identity import config_digest
from touchstone.scorers.judges.ask.consult import Unjudged, consult, settled
from touchstone.scorers.judges.ask.judge import Answer, Judge

if TYPE_CHECKING:
    from touchstone.scorers.clinical.scorer import ClinicalScorer

NOTHING: Final = "(none)"


class CoherenceScorer:
    """Asks a judge about traces, and combines its scores with the validators'. Without a judge, Clinical is missing from the results.

    `validators`: they score bare traces. Made at the first one, because their tables take memory that a worker on requests does not need.
    """

    def __init__(self, judge: Judge | None, settings: CoherenceSettings, name: str, version: str, validators: ClinicalScorer | None = None) -> None:
        self._judge = judge
        self._settings = settings
        self.name, self.version = name, version
        self._validators = validators
        self._prompt = prompt()
        self._validators_digest = ""

    def readings(self) -> Iterable[Reading]:
        """The judge's metrics."""
        return () if self._judge is None else self._judge.readings()

    async def close(self) -> None:
        """Close the judge's connections."""
        if self._judge is not None:
            await self._judge.close()

    async def score(self, case: ProductionTrace | JudgeRequest) -> Scorecard:
        """Score one case.

        A bare trace is validated first. If the judge does not answer, only its own component is missing, because the validators' scores are in no other result.
        A request waits for the judge: raises `Unavailable`, also while the budget is spent, or `Shed` if the settings say so.
        """
        if isinstance(case, JudgeRequest):
            judged = await self._asked(case)
            return settled(judged, compose(case, judged, quote=self._settings.quote))
        request, reason = await self._request(case)
        judged = await self._asked(request) if reason is None else reason
        card = compose(request, judged, quote=self._settings.quote)
        return settled(judged, card) if isinstance(judged, Unjudged) and isinstance(judged.wait, Lost) else card

    async def _request(self, trace: ProductionTrace) -> tuple[JudgeRequest, Unjudged | None]:
        """The request for a trace, and the reason if the trace is not to be judged."""
        if self._validators is None:
            from touchstone.scorers.clinical.scorer import ClinicalScorer

            self._validators = ClinicalScorer(self._settings.validators)
        if not self._validators_digest:
            self._validators_digest = config_digest(validators_fingerprint(self._settings.validators))
        card = await self._validators.score(trace)
        event_id = trace.id or trace.trace_id
        request, reason = await asyncio.to_thread(request_of, trace, event_id, card, self._settings.validators, VALIDATORS_VERSION, self._validators_digest)
        return request, None if reason is None else skipped(reason)

    async def _asked(self, request: JudgeRequest) -> Answer[CoherenceVerdict] | Unjudged:
        """The judge's answer, or why there is none."""
        asked = request.asked
        fields = {
            "day": request.day or NOTHING,
            "request": asked.prompt.text if asked.prompt is not None else NOTHING,
            "persona": asked.persona.text if asked.persona is not None else NOTHING,
            "documents": "\n\n".join(f"{part.place}:\n{part.text}" for part in asked.outputs) or NOTHING,
        }
        return await consult(self._judge, self._prompt, fields, CoherenceVerdict, component="clinical", on_budget=self._settings.on_budget)
