"""Small FHIR resources of our own, good ones, to be broken by tests."""

from __future__ import annotations

import copy
import json
from typing import Any

from touchstone.schemas.result import Finding
from touchstone.scorers.clinical.formats.fhir import Options, validate
from touchstone.scorers.clinical.report import Report

DIV = '<div xmlns="http://www.w3.org/1999/xhtml"><p>Made for a test.</p></div>'
PLAIN = Options(clinical=False, marks=False, installed_packages=False)
_PATIENT = {
    "resourceType": "Patient",
    "id": "p1",
    "meta": {"security": [{"system": "http://terminology.hl7.org/CodeSystem/v3-ActReason", "code": "HTEST"}]},
    "text": {"status": "generated", "div": DIV},
    "identifier": [{"system": "urn:oid:2.16.840.1.113883.4.1", "value": "1"}],
    "name": [{"family": "Example", "given": ["Ada", "B"]}],
    "gender": "female",
    "birthDate": "1980-02-29",
}
_OBSERVATION = {
    "resourceType": "Observation",
    "id": "o1",
    "text": {"status": "generated", "div": DIV},
    "status": "final",
    "category": [{"coding": [{"system": "http://terminology.hl7.org/CodeSystem/observation-category", "code": "laboratory"}]}],
    "code": {"coding": [{"system": "http://loinc.org", "code": "2345-7"}], "text": "Glucose"},
    "subject": {"reference": "Patient/p1"},
    "effectiveDateTime": "2024-03-01T10:00:00Z",
    "valueQuantity": {"value": 95, "unit": "mg/dL", "system": "http://unitsofmeasure.org", "code": "mg/dL"},
}


def patient(**changes: Any) -> dict[str, Any]:
    """A good Patient with some members set, or dropped where the value is None."""
    return changed(_PATIENT, changes)


def observation(**changes: Any) -> dict[str, Any]:
    """A good Observation with some members set, or dropped where the value is None."""
    return changed(_OBSERVATION, changes)


def changed(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    made = copy.deepcopy(base) | changes
    return {name: value for name, value in made.items() if value is not None}


def definition(*elements: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A good profile of Patient, with some members set, or dropped where the value is None."""
    base = {
        "resourceType": "StructureDefinition",
        "url": "http://a.test/sd",
        "name": "One",
        "status": "draft",
        "kind": "resource",
        "abstract": False,
        "type": "Patient",
        "baseDefinition": "http://hl7.org/fhir/StructureDefinition/Patient",
        "derivation": "constraint",
        "differential": {"element": [{"id": "Patient", "path": "Patient"}, *elements]},
    }
    return changed(base, changes)


def bundle(*resources: dict[str, Any], kind: str = "collection") -> dict[str, Any]:
    entries = [{"fullUrl": f"http://server.example/{one['resourceType']}/{one['id']}", "resource": one} for one in resources]
    return {"resourceType": "Bundle", "type": kind, "entry": entries}


def report(resource: Any, options: Options = PLAIN) -> Report:
    return validate(json.dumps(resource).encode(), options=options)


def codes(resource: Any, options: Options = PLAIN) -> set[str]:
    """The codes of what is critical or major in a resource."""
    return {finding.code for finding in report(resource, options).findings if finding.severity in {"critical", "major"}}


def found(resource: Any, code: str, options: Options = PLAIN) -> Finding:
    (finding,) = (one for one in report(resource, options).findings if one.code == code)
    return finding
