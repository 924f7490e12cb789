"""Verdicts of external validators on single documents, as an evaluation run reports them beside its scores."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from touchstone.schemas.conformance import ConformanceFormat
from touchstone.schemas.reports.evaluation import Conformance
from touchstone.scorers.base import Unavailable
from touchstone.scorers.clinical.conformance.not_known import as_not_checked, separated
from touchstone.scorers.clinical.conformance.scorecards import VALIDATORS, DocumentVerdict, Missing, findings_of
from touchstone.scorers.clinical.conformance.service import Service, Undecided, open_services
from touchstone.scorers.clinical.conformance.settings import ENV_PREFIX, ConformanceSettings
from touchstone.scorers.operation_outcome import Outcome


def conformance_of(form: ConformanceFormat, verdict: Outcome | Undecided | Missing) -> Conformance:
    """A verdict as the run reports it: severities, ids and places, and no text, which may quote the document."""
    if not isinstance(verdict, Outcome):
        return Conformance(format=form, validator=VALIDATORS[form], reason=verdict.why)
    known = separated(verdict) if form == "fhir" else verdict
    counts = known.counts()
    return Conformance(
        format=form,
        validator=VALIDATORS[form],
        valid=known.valid,
        errors=counts["error"],
        warnings=counts["warning"],
        findings=tuple(findings_of(DocumentVerdict("", form, known), quote=False)),
        not_checked=tuple(as_not_checked("", known)),
    )


def conformance_checks(settings: ConformanceSettings) -> dict[str, Callable[[bytes], Awaitable[Conformance]]]:
    """Format → a function that validates a document. Without an address, FHIR has none, and that of C-CDA says that it is off."""
    services = open_services(settings)
    forms: tuple[ConformanceFormat, ...] = ("ccda", *(("fhir",) if "fhir" in services else ()))
    return {form: partial(_checked, form, services.get(form)) for form in forms}


async def _checked(form: ConformanceFormat, service: Service | None, document: bytes) -> Conformance:
    if service is None:
        return conformance_of(form, Missing("off", f"no {VALIDATORS[form]} is configured ({ENV_PREFIX}{form.upper()}_URL)"))
    try:
        return conformance_of(form, await service.ask_patiently(document))
    except Unavailable as error:
        return conformance_of(form, Missing("unavailable", f"the {VALIDATORS[form]} does not answer ({error.code})"))
