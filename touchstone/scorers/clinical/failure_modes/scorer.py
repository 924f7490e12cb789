"""The scorer of failure modes: each mode answers with pass or fail for one trace. Code answers its own at once; judges, if any, are asked after it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from touchstone.schemas.result import Failure, Finding, NotChecked, Scorecard
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.base import Reading
from touchstone.scorers.clinical.failure_modes.entries import Persona, is_of_fhir, persona_entries
from touchstone.scorers.clinical.failure_modes.knowledge import knowledge
from touchstone.scorers.clinical.failure_modes.modes import MODES
from touchstone.scorers.clinical.failure_modes.scorecard import CodeAnswers, composed
from touchstone.scorers.clinical.failure_modes.settings import NAME, VERSION, FailureModeSettings
from touchstone.scorers.clinical.reading.fhir_persona import PLACE, persona_of
from touchstone.scorers.clinical.trace_scoring import day_of

if TYPE_CHECKING:
    from touchstone.scorers.clinical.failure_modes.judging.asking import ModeJudging

#: Places of one mode that a result names.
PLACES_MAX: Final = 20


class FailureModesScorer:
    """Asks every mode. Those in the shadow are counted, and decide nothing. `demoted`: modes of code that people put there. `judging`: asks the judges."""

    def __init__(self, settings: FailureModeSettings, judging: ModeJudging | None = None, demoted: Iterable[str] = ()) -> None:
        self._shadow = frozenset(settings.shadow) | frozenset(demoted)
        self._quote = settings.quote
        self._judging = judging

    @property
    def name(self) -> str:
        """The suite's name."""
        return NAME

    @property
    def version(self) -> str:
        """The suite's version."""
        return VERSION

    def warm(self) -> None:
        """Read the table."""
        knowledge()

    def readings(self) -> Iterable[Reading]:
        """What the judges' clients count; nothing without judges."""
        return () if self._judging is None else self._judging.readings()

    async def close(self) -> None:
        """Close the connections of the judges' clients."""
        if self._judging is not None:
            await self._judging.close()

    async def score(self, case: ProductionTrace) -> Scorecard:
        """Score one trace: its persona, and for lists that this does not have, its FHIR document; then by the judges, which read all of it.

        With judges: raises `Unavailable`, or `Shed`, while one does not answer, each with the card that the trace has without it.
        """
        code = await asyncio.to_thread(self._asked, case)
        if self._judging is None:
            return composed(code, (), self._shadow, quote=self._quote)
        from touchstone.scorers.clinical.failure_modes.judging.asking import gravest_wait

        answers = await self._judging.ask(case)
        card = composed(code, answers, self._shadow, quote=self._quote)
        if (wait := gravest_wait(answers)) is not None:
            wait.card = card
            raise wait from None
        return card

    def _asked(self, case: ProductionTrace) -> CodeAnswers:
        """The answers of code."""
        persona, at = _persona(case)
        attributes = {"trace_id": case.trace_id, "source": case.source, "test_case_id": case.test_case_id, "day": day_of(case)}
        if persona is None:
            failure = Failure(component="persona", kind="input", code="no_persona")
            reason = "the trace has neither a persona nor a FHIR document that describes a patient"
            return CodeAnswers({}, (), tuple(NotChecked(check=name, reason=reason) for name in MODES), attributes, failure, tuple(MODES))
        values: dict[str, float] = {}
        findings: list[Finding] = []
        not_checked: list[NotChecked] = []
        for name, mode in MODES.items():
            answer = mode.ask(persona, knowledge())
            if isinstance(answer, str):
                not_checked.append(NotChecked(check=name, reason=answer))
                continue
            values[name] = 0.0 if answer else 1.0
            severity = "info" if name in self._shadow else "major"
            for seen in answer[:PLACES_MAX]:
                path = f"{at}/{seen.path.removeprefix(PLACE)}" if is_of_fhir(seen.path) else f"persona/{seen.path}"
                findings.append(
                    Finding(
                        severity=severity,
                        code=f"mode.{name}",
                        path=path,
                        message=f"{seen.critique}: {seen.detail}" if self._quote and seen.detail else seen.critique,
                    )
                )
        return CodeAnswers(values, tuple(findings), tuple(not_checked), attributes)


def _persona(case: ProductionTrace) -> tuple[Persona | None, str]:
    """The persona, completed from the FHIR document, and the place of that."""
    described: Mapping[str, Any] = {}
    at = "outputs.fhir"
    output = case.outputs.fhir
    for number, content in enumerate(output.documents if output is not None else ()):
        described = persona_of(content)
        if described:
            at = "outputs.fhir" if output is not None and len(output.documents) == 1 else f"outputs.fhir[{number}]"
            break
    if not case.persona and not described:
        return None, at
    moment = case.timestamp
    return persona_entries(case.persona or {}, case.prompt or "", moment.year if moment is not None else None, described), at
