"""The scorer of the clinical judge: one trace, or one request that the validators made, to the trace's overall result."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from touchstone.schemas.judging import JudgeRequest
from touchstone.schemas.result import Failure, Scorecard
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.base import Lost, Reading, Shed, Unavailable
from touchstone.scorers.clinical import VERSION as VALIDATORS_VERSION
from touchstone.scorers.clinical.judging.composing import Unjudged, compose, skipped
from touchstone.scorers.clinical.judging.settings import CoherenceSettings, prompt
from touchstone.scorers.clinical.judging.verdicts import CoherenceVerdict
from touchstone.scorers.clinical.requests.making import request_of
from touchstone.scorers.clinical.settings import fingerprint as validators_fingerprint
from touchstone.scorers.identity import config_digest
from touchstone.scorers.judges.asking import Answer, Judge, OverBudget, Unanswered

if TYPE_CHECKING:
    from touchstone.scorers.clinical.scorer import ClinicalScorer

NOTHING: Final = "(none)"
#: The unavailability of a worker that waits for the next period of its budget.
OUT_OF_BUDGET: Final = "judge_budget"


class CoherenceScorer:
    """Asks a judge about traces, and composes its scores with the validators'. Without a judge, Clinical is missing and the results say so.

    `validators`: score a bare trace; made when the first one comes, because their tables take memory that a worker on requests does not need.
    """

    def __init__(self, judge: Judge | None, settings: CoherenceSettings, name: str, version: str, validators: ClinicalScorer | None = None) -> None:
        self._judge = judge
        self._settings = settings
        self._name = name
        self._version = version
        self._validators = validators
        self._prompt = prompt()
        self._validators_digest = ""

    @property
    def name(self) -> str:
        """The suite's name."""
        return self._name

    @property
    def version(self) -> str:
        """The suite's version."""
        return self._version

    def readings(self) -> Iterable[Reading]:
        """What the judge counts."""
        return () if self._judge is None else self._judge.readings()

    async def close(self) -> None:
        """Close the judge's connections."""
        if self._judge is not None:
            await self._judge.close()

    async def score(self, case: ProductionTrace | JudgeRequest) -> Scorecard:
        """Score one case.

        A bare trace is validated first; a judge that does not answer then costs its own component only, because nobody else knows the validators' scores.
        A request waits for the judge: `Unavailable` is raised, also while its budget is spent, or `Shed` where the settings say so.
        """
        if isinstance(case, JudgeRequest):
            return compose(case, await self._asked(case), quote=self._settings.quote)
        request, reason = await self._request(case)
        if reason is not None:
            return compose(request, reason, quote=self._settings.quote)
        try:
            judged = await self._asked(request, waits=False)
        except Lost:
            raise
        except Unavailable as error:
            judged = _missing("unavailable", error.code, "the judge does not answer")
        return compose(request, judged, quote=self._settings.quote)

    async def _request(self, trace: ProductionTrace) -> tuple[JudgeRequest, Unjudged | None]:
        """The request for a trace, and why it is not to be judged, if so."""
        if self._validators is None:
            from touchstone.scorers.clinical.scorer import ClinicalScorer

            self._validators = ClinicalScorer(self._settings.validators)
        if not self._validators_digest:
            self._validators_digest = config_digest(validators_fingerprint(self._settings.validators))
        card = await self._validators.score(trace)
        event_id = trace.id or trace.trace_id
        request, reason = await asyncio.to_thread(request_of, trace, event_id, card, self._settings.validators, VALIDATORS_VERSION, self._validators_digest)
        return request, None if reason is None else skipped(reason)

    async def _asked(self, request: JudgeRequest, *, waits: bool = True) -> Answer[CoherenceVerdict] | Unjudged:
        """The judge's answer, or why there is none. Raises `Unavailable`, or `Shed`, where the case `waits` for the judge."""
        if self._judge is None:
            return Unjudged("no_judge", "no judge is configured: there is no key for it")
        asked = request.asked
        fields = {
            "day": request.day or NOTHING,
            "request": asked.prompt.text if asked.prompt is not None else NOTHING,
            "persona": asked.persona.text if asked.persona is not None else NOTHING,
            "documents": "\n\n".join(f"{part.place}:\n{part.text}" for part in asked.outputs) or NOTHING,
        }
        try:
            return await self._judge.ask(self._prompt, fields, CoherenceVerdict)
        except Unanswered as error:
            failure = Failure(component="clinical", kind="judge", code=error.code)
            return Unjudged("unanswered", f"the judge gave no verdict ({error.code})", failure, error.usage)
        except OverBudget:
            if waits:
                raise (Shed("budget") if self._settings.on_budget == "shed" else Unavailable(OUT_OF_BUDGET)) from None
            return _missing("shed", "budget", "the judge's budget is spent")


def _missing(kind: str, code: str, why: str) -> Unjudged:
    return Unjudged(kind, why, Failure(component="clinical", kind=kind, code=code))
