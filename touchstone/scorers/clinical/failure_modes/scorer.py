"""The scorer of failure modes: each mode answers with pass or fail for one trace."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from touchstone.schemas.result import Failure, Finding, NotChecked, Scorecard
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.clinical.failure_modes.entries import Persona, is_of_fhir, persona_entries
from touchstone.scorers.clinical.failure_modes.knowledge import knowledge
from touchstone.scorers.clinical.failure_modes.modes import MODES
from touchstone.scorers.clinical.failure_modes.settings import NAME, VERSION, FailureModeSettings
from touchstone.scorers.clinical.reading.fhir_persona import PLACE, persona_of
from touchstone.scorers.clinical.trace_scoring import day_of

#: Places of one mode that a result names.
PLACES_MAX: Final = 20


class FailureModesScorer:
    """Asks every mode. Those in the shadow are counted, and decide nothing."""

    def __init__(self, settings: FailureModeSettings) -> None:
        self._shadow = frozenset(settings.shadow)
        self._quote = settings.quote

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

    async def score(self, case: ProductionTrace) -> Scorecard:
        """Score one trace: its persona, and for lists that this does not have, its FHIR document."""
        return await asyncio.to_thread(self._score, case)

    def _score(self, case: ProductionTrace) -> Scorecard:
        persona, at = _persona(case)
        attributes = {"trace_id": case.trace_id, "source": case.source, "test_case_id": case.test_case_id, "day": day_of(case)}
        if persona is None:
            failure = Failure(component="persona", kind="input", code="no_persona")
            reason = "the trace has neither a persona nor a FHIR document that describes a patient"
            unasked = tuple(NotChecked(check=name, reason=reason) for name in MODES)
            return Scorecard(label="unscored", values={}, failures=(failure,), not_checked=unasked, components_missing=tuple(MODES), attributes=attributes)
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
        decided = [value for name, value in values.items() if name not in self._shadow]
        if decided:
            values = {"modes_passed": sum(decided) / len(decided), **values}
        if not decided:
            failure = Failure(component="persona", kind="input", code="nothing_to_ask")
            return Scorecard(
                label="unscored", values=values, findings=tuple(findings), failures=(failure,), not_checked=tuple(not_checked), attributes=attributes
            )
        return Scorecard(
            label="Pass" if all(decided) else "Fail",
            values=values,
            findings=tuple(findings),
            not_checked=tuple(not_checked),
            details={"shadow": sorted(self._shadow)} if self._shadow else {},
            attributes=attributes,
        )


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
