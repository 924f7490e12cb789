from __future__ import annotations

from typing import Any

import pytest

from tests.scorers.clinical.fhir.resources import codes, observation, patient, report
from touchstone.scorers.clinical.formats.fhir import is_valid

CONDITION = {"resourceType": "Condition", "subject": {"reference": "Patient/p"}}
VER = "http://terminology.hl7.org/CodeSystem/condition-ver-status"
CLINICAL = "http://terminology.hl7.org/CodeSystem/condition-clinical"


def coded(system: str, code: str) -> dict[str, Any]:
    return {"coding": [{"system": system, "code": code}]}


BROKEN = {
    "obs-6": observation(dataAbsentReason={"text": "unknown"}),
    "obs-3": observation(referenceRange=[{"age": {"low": {"value": 1}}}]),
    "obs-7": observation(component=[{"code": {"coding": [{"system": "http://loinc.org", "code": "2345-7"}]}, "valueString": "x"}]),
    "per-1": patient(name=[{"text": "a", "period": {"start": "2021-01-02", "end": "2021-01-01"}}]),
    "pat-1": patient(contact=[{"gender": "male"}]),
    "cpt-2": patient(telecom=[{"value": "555"}]),
    "qty-3": observation(valueQuantity={"value": 1, "code": "mg"}),
    "sqty-1": observation(referenceRange=[{"low": {"value": 1, "unit": "mg", "comparator": "<"}}]),
    "rng-2": observation(valueQuantity=None, valueRange={"low": {"value": 2, "unit": "mg"}, "high": {"value": 1, "unit": "mg"}}),
    "rat-1": observation(valueQuantity=None, valueRatio={"numerator": {"value": 2}}),
    "att-1": patient(photo=[{"data": "AAAA"}]),
    "ext-1": patient(extension=[{"url": "http://a.example/x", "valueString": "a", "extension": [{"url": "b", "valueString": "c"}]}]),
    "ele-1": patient(maritalStatus={"id": "x"}),
    "con-4": CONDITION | {"clinicalStatus": coded(CLINICAL, "active"), "abatementDateTime": "2020"},
    "con-5": CONDITION | {"clinicalStatus": coded(CLINICAL, "active"), "verificationStatus": coded(VER, "entered-in-error")},
    "ait-1": {"resourceType": "AllergyIntolerance", "patient": {"reference": "Patient/p"}},
    "org-1": {"resourceType": "Organization", "active": True},
    "org-3": {"resourceType": "Organization", "name": "a", "telecom": [{"system": "phone", "use": "home", "value": "1"}]},
    "inv-1": {"resourceType": "Parameters", "parameter": [{"name": "a"}]},
    "que-12": {
        "resourceType": "Questionnaire",
        "name": "Q",
        "status": "draft",
        "item": [
            {"linkId": "0", "type": "string"},
            {"linkId": "1", "type": "string", "enableWhen": [{"question": "0", "operator": "exists", "answerBoolean": True}] * 2},
        ],
    },
    "que-2": {"resourceType": "Questionnaire", "name": "Q", "status": "draft", "item": [{"linkId": "1", "type": "string"}] * 2},
    "que-1": {"resourceType": "Questionnaire", "name": "Q", "status": "draft", "item": [{"linkId": "1", "type": "group"}]},
    "tim-2": {
        "resourceType": "ServiceRequest",
        "status": "draft",
        "intent": "plan",
        "subject": {"reference": "Patient/p"},
        "occurrenceTiming": {"repeat": {"period": 1}},
    },
    "vsd-2": {
        "resourceType": "ValueSet",
        "name": "V",
        "status": "draft",
        "compose": {"include": [{"concept": [{"code": "a"}], "valueSet": ["http://a.example/v"]}]},
    },
    "csd-1": {"resourceType": "CodeSystem", "name": "C", "status": "draft", "content": "complete", "concept": [{"code": "a"}, {"code": "a"}]},
}


@pytest.mark.parametrize("key", sorted(BROKEN))
def test_a_broken_invariant_is_told_by_its_key(key: str) -> None:
    assert f"fhir.invariants.{key}" in codes(BROKEN[key])


def test_an_ambiguous_comparison_is_not_held_against_a_resource() -> None:
    told = report(patient(name=[{"text": "a", "period": {"start": "2021", "end": "2021-05"}}]))
    assert is_valid(told)
    assert "invariant per-1" in {one.check for one in told.not_checked}


def test_a_best_practice_is_a_warning() -> None:
    told = report({"resourceType": "ValueSet", "name": "not a name", "status": "draft"})
    assert is_valid(told)
    assert [one.severity for one in told.findings if one.code == "fhir.invariants.vsd-0"] == ["minor"]
