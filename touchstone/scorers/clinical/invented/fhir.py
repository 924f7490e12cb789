"""The FHIR document of an invented patient: a Bundle, as a deterministic generator would write it from the persona."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Final

_TAG: Final = {"tag": [{"system": "http://terminology.hl7.org/CodeSystem/v3-ActReason", "code": "HTEST", "display": "test health data"}]}
_CODES: Final = "http://terminology.hl7.org/CodeSystem"
_CLASSES: Final = {"office": ("AMB", "ambulatory"), "emerg": ("EMER", "emergency"), "ed vi": ("EMER", "emergency")}
#: LOINC codes of vital signs, which have a category of their own.
_VITAL_SIGNS: Final = frozenset({"2708-6", "8867-4", "8310-5"})
#: Units as people write them → UCUM, where they differ.
_UCUM: Final = {"mIU/L": "m[IU]/L"}
_INPATIENT: Final = ("IMP", "inpatient encounter")


def bundle(persona: Mapping[str, Any], trace_id: str) -> dict[str, Any]:
    """The Bundle of a persona. The same persona and trace give the same ids."""
    patient = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, trace_id)}"
    resources = list(_resources(persona, patient, trace_id))
    entries = [
        {"fullUrl": patient if number == 0 else f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{trace_id}/{number}')}", "resource": one}
        for number, one in enumerate(resources)
    ]
    return {"resourceType": "Bundle", "meta": _TAG, "type": "collection", "entry": entries}


def _resources(persona: Mapping[str, Any], patient: str, trace_id: str) -> Iterator[dict[str, Any]]:
    given, _, family = str(persona["name"]).partition(" ")
    yield {
        "resourceType": "Patient",
        "meta": _TAG,
        "identifier": [{"type": _coded(f"{_CODES}/v2-0203", "MR", "Medical record number"), "system": "urn:oid:2.16.840.1.113883.19.5.1", "value": trace_id}],
        "name": [{"use": "official", "family": family, "given": [given]}],
        "gender": persona["sex"],
        "birthDate": persona["birthDate"],
    }
    subject = {"reference": patient}
    for one in persona["conditions"]:
        yield {
            "resourceType": "Condition",
            "meta": _TAG,
            "clinicalStatus": _coded(f"{_CODES}/condition-clinical", one["status"]),
            "verificationStatus": _coded(f"{_CODES}/condition-ver-status", "confirmed"),
            "category": [_coded(f"{_CODES}/condition-category", "problem-list-item")],
            "code": {"coding": [{"system": "http://hl7.org/fhir/sid/icd-10-cm", "code": one["icd10"]}], "text": one["name"]},
            "subject": subject,
            "onsetDateTime": one["onsetDate"],
            **({"abatementDateTime": one["endDate"]} if "endDate" in one else {}),
        }
    for one in persona["medications"]:
        yield {
            "resourceType": "MedicationRequest",
            "meta": _TAG,
            "status": one["status"],
            "intent": "order",
            "medicationCodeableConcept": {"text": f"{one['name']} {one['dose']}"},
            "subject": subject,
            "authoredOn": one["startDate"],
            "dosageInstruction": [{"text": f"{one['dose']} {one['frequency']}"}],
        }
    for one in persona["labs"]:
        yield {
            "resourceType": "Observation",
            "meta": _TAG,
            "status": "final",
            "category": [_coded(f"{_CODES}/observation-category", "vital-signs" if one["loinc"] in _VITAL_SIGNS else "laboratory")],
            "code": {"coding": [{"system": "http://loinc.org", "code": one["loinc"]}], "text": one["name"]},
            "subject": subject,
            "effectiveDateTime": one["date"],
            "valueQuantity": {"value": one["value"], "unit": one["unit"], "system": "http://unitsofmeasure.org", "code": _UCUM.get(one["unit"], one["unit"])},
        }
    for one in persona["encounters"]:
        code, display = _CLASSES.get(str(one["type"]).casefold()[:5], _INPATIENT)
        yield {
            "resourceType": "Encounter",
            "meta": _TAG,
            "status": "finished",
            "class": {"system": f"{_CODES}/v3-ActCode", "code": code, "display": display},
            "type": [{"text": one["type"]}],
            "subject": subject,
            "period": {"start": one["date"], "end": one.get("endDate", one["date"])},
            "reasonCode": [{"text": one["reason"]}],
        }


def _coded(system: str, code: str, display: str | None = None) -> dict[str, Any]:
    return {"coding": [{"system": system, "code": code} | ({"display": display} if display else {})]}
