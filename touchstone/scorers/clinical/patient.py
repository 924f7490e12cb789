"""Whom a trace is about. For splits by patient: two traces of one patient are never in two parts."""

from __future__ import annotations

from touchstone.schemas.case import Case
from touchstone.schemas.trace import ProductionTrace


def identity_of(trace: Case) -> tuple[str, ...]:
    """What identifies the patient: name and date of birth, of the persona or else of the FHIR document; nothing where one of the two is missing.

    A request of another stage has neither. It is patient data: store a digest of it. Names count without case, and in any order of their parts.
    """
    from touchstone.scorers.clinical.consistency.persona_record import read_persona
    from touchstone.scorers.clinical.reading.fhir_persona import persona_of

    if not isinstance(trace, ProductionTrace):
        return ()
    output = trace.outputs.fhir
    described = (persona_of(content) for content in (output.documents if output is not None else ()))
    for persona in (trace.persona or {}, *described):
        for patient in read_persona(persona).patients if persona else ():
            words = sorted({*patient.names[0].family, *patient.names[0].given}) if patient.names else []
            if words and patient.birth is not None:
                return (*words, patient.birth.text)
    return ()
