"""What a validator outside Touchstone says of one document, as an evaluation run reports it beside its scores."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from touchstone.schemas.conformance import ConformanceFormat
from touchstone.schemas.reports.evaluation import Conformance
from touchstone.scorers.base import Unavailable
from touchstone.scorers.clinical.conformance.scorecards import VALIDATORS, Missing, Said, findings_of
from touchstone.scorers.clinical.conformance.service import Service, Undecided
from touchstone.scorers.clinical.conformance.service_protocols import open_services
from touchstone.scorers.clinical.conformance.settings import ENV_PREFIX, ConformanceSettings
from touchstone.scorers.operation_outcome import Outcome


def tell(form: ConformanceFormat, said: Outcome | Undecided | Missing) -> Conformance:
    """Severities, ids and places, and no text, which may quote the document; or why there is no verdict."""
    if not isinstance(said, Outcome):
        return Conformance(format=form, validator=VALIDATORS[form], reason=said.why)
    counts = said.counts()
    findings = tuple(findings_of(Said("", form, said), quote=False))
    return Conformance(format=form, validator=VALIDATORS[form], valid=said.valid, errors=counts["error"], warnings=counts["warning"], findings=findings)


def tellers(settings: ConformanceSettings) -> dict[str, Callable[[bytes], Awaitable[Conformance]]]:
    """Format → what tells of a document of it, for each service that has an address; without one, C-CDA is told to be off."""
    services = open_services(settings)

    def teller(form: ConformanceFormat, service: Service | None) -> Callable[[bytes], Awaitable[Conformance]]:
        async def told(document: bytes) -> Conformance:
            if service is None:
                return tell(form, Missing("off", f"no {VALIDATORS[form]} is configured ({ENV_PREFIX}{form.upper()}_URL)"))
            try:
                return tell(form, await service.ask_patiently(document))
            except Unavailable as error:
                return tell(form, Missing("unavailable", f"the {VALIDATORS[form]} does not answer ({error.code})"))

        return told

    forms: tuple[ConformanceFormat, ...] = ("ccda", *(("fhir",) if "fhir" in services else ()))
    return {form: teller(form, services.get(form)) for form in forms}
