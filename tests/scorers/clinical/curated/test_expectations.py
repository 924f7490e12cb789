import json
from datetime import UTC, datetime
from typing import Any

import pytest

from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.clinical.curated import CuratedCase, check_expectations
from touchstone.scorers.clinical.curated.facts import age_at

MOMENT = datetime(2026, 9, 10, tzinfo=UTC)
ICD = "http://hl7.org/fhir/sid/icd-10-cm"


def told(expected: dict[str, Any], persona: Any = None, **outputs: Any) -> Any:
    case = CuratedCase.model_validate({"id": "x", "category": "y", "prompt": "z", "expected": expected})
    trace = ProductionTrace.model_validate(
        {"traceId": "t", "timestamp": MOMENT, "persona": persona, "outputs": {form: {"content": content} for form, content in outputs.items()}}
    )
    return check_expectations(case, trace)


def fhir(*resources: dict[str, Any]) -> dict[str, Any]:
    return {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": resource} for resource in resources]}


def condition(code: str = "E11.9", **more: Any) -> dict[str, Any]:
    return {"resourceType": "Condition", "code": {"coding": [{"system": ICD, "code": code}]}, **more}


@pytest.mark.parametrize(
    "written",
    [
        "Type 2 diabetes mellitus",
        "type 2 diabetes with neuropathy",
        "T2DM, poorly controlled",
        {"name": "diabetes", "code": "E11.42", "system": ICD},
        {"display": "Diabetes mellitus, type 2 / Type II diabetes"},
        {"code": {"coding": [{"system": "urn:oid:2.16.840.1.113883.6.90", "code": "E1165"}]}},
        {"icd10": "E11.9"},
    ],
)
def test_a_condition_is_found_by_name_or_code(written: Any) -> None:
    found = told({"conditions": ["type-2-diabetes"]}, {"conditions": [written]})
    assert (found.met, found.expected[0].found_in, found.findings) == (1, ("persona",), ())


@pytest.mark.parametrize(
    "written",
    [
        "Type 1 diabetes",
        "No type 2 diabetes",
        "Family history of type 2 diabetes",
        "Ruled out: type 2 diabetes",
        "Type 22 diabetes",
        {"name": "x", "code": "E10.9", "system": ICD},
        {"name": "x", "code": "E11.9", "system": "http://loinc.org"},
        {"name": 7, "code": 11},
        None,
        17,
    ],
)
def test_what_is_another_thing_or_absent_is_not_found(written: Any) -> None:
    found = told({"conditions": ["type-2-diabetes"]}, {"conditions": [written]})
    assert (found.met, [finding.code for finding in found.findings]) == (0, ["expectations.condition"])


def test_a_word_that_makes_it_another_thing_counts() -> None:
    assert told({"conditions": ["hypertension"]}, {"conditions": ["Pulmonary hypertension"]}).met == 0
    assert told({"labs": ["hemoglobin"]}, {"labs": [{"name": "Hemoglobin A1c"}]}).met == 0


def test_a_medication_in_the_list_of_conditions_is_none() -> None:
    assert told({"medications": ["metformin"]}, {"conditions": ["metformin"]}).met == 0
    assert told({"medications": ["metformin"]}, {"medications": ["Metformin 500 mg twice a day"]}).met == 1


def test_one_of_a_list_is_enough() -> None:
    expected = {"medications": [["metformin", "insulin"]]}
    found = told(expected, {"medications": ["Lantus"]})
    assert (found.met, found.expected[0].name) == (1, "Metformin or Insulin")
    assert told(expected, {"medications": ["aspirin"]}).findings[0].message == "expected medication is in neither persona nor outputs: Metformin or Insulin"


def test_outputs_are_looked_at_too() -> None:
    hl7v2 = "MSH|^~\\&|A|B|C|D|20260910||ADT^A01|1|P|2.5.1\rPID|1||1||X^Y||19680314|M\rDG1|1||E11.9^Type 2^I10C\rOBX|1|NM|4548-4^A1c^LN||7\r"
    entry = '<entry><code code="6809" codeSystem="2.16.840.1.113883.6.88"/></entry>'
    ccda = f'<ClinicalDocument xmlns="urn:hl7-org:v3"><section><code code="10160-0"/>{entry}</section></ClinicalDocument>'
    expected = {"conditions": ["type-2-diabetes"], "labs": ["hba1c"], "medications": ["metformin"], "age": [58, 58], "sex": "male"}
    found = told(expected, None, fhir=json.dumps(fhir(condition(), {"resourceType": "Patient", "gender": "male"})), hl7v2=hl7v2, ccda=ccda)
    assert found.met == found.asked == 5
    assert [one.found_in for one in found.expected] == [("fhir", "hl7v2"), ("ccda",), ("hl7v2",), ("hl7v2",), ("fhir", "hl7v2")]


@pytest.mark.parametrize(
    "more", [{"verificationStatus": {"coding": [{"code": "refuted"}]}}, {"verificationStatus": {"coding": [{"code": "entered-in-error"}]}}]
)
def test_a_refuted_condition_is_none(more: dict[str, Any]) -> None:
    assert told({"conditions": ["type-2-diabetes"]}, None, fhir=fhir(condition(**more))).met == 0


def test_a_medication_that_is_referred_to_is_found() -> None:
    medication = {"resourceType": "Medication", "code": {"text": "metformin"}}
    request = {"resourceType": "MedicationRequest", "medicationReference": {"reference": "#m"}, "contained": [medication]}
    assert told({"medications": ["metformin"]}, None, fhir=fhir(request)).met == 1


@pytest.mark.parametrize(
    ("persona", "fits"),
    [
        ({"age": 58}, True),
        ({"age": "58"}, True),
        ({"age": 61.9}, True),
        ({"age": 62}, False),
        ({"age": 54.9}, False),
        ({"birthDate": "1968-03-14"}, True),
        ({"demographics": {"dateOfBirth": "1990-01-01"}}, False),
        ({"age": True}, None),
        ({"age": 58, "birthDate": "1990-01-01"}, True),
        ({"birthDate": "2030-01-01"}, None),
        ({}, None),
    ],
)
def test_the_age_is_that_of_the_persona_or_of_its_birth(persona: dict[str, Any], fits: bool | None) -> None:
    found = told({"age": [55, 61]}, persona)
    assert (found.asked, found.met) == ((0, 0) if fits is None else (1, int(fits)))
    assert bool(found.not_checked) is (fits is None)


def test_a_document_that_says_another_age_or_sex_than_the_persona_is_told() -> None:
    patient = {"resourceType": "Patient", "gender": "female", "birthDate": "1990-05-05"}
    found = told({"age": [55, 61], "sex": "male"}, {"age": 58, "sex": "M"}, fhir=patient)
    assert [finding.message for finding in found.findings] == [
        "the age is another than expected (age 55 to 61) in fhir",
        "the sex is another than expected (male) in fhir",
    ]


@pytest.mark.parametrize("content", ["{", "[]", "[" * 5_000, "", b"\xff"])
def test_a_document_that_cannot_be_read_is_told_and_harms_nothing(content: Any) -> None:
    found = told({"conditions": ["type-2-diabetes"]}, {"conditions": ["T2DM"]}, fhir=content, hl7v2="", ccda="<a")
    assert found.met == 1
    assert {skipped.check for skipped in found.not_checked} == {"expectations.fhir", "expectations.hl7v2", "expectations.ccda"}


@pytest.mark.parametrize("persona", [{"conditions": "x", "medications": {"a": 1}, "labs": None}, {"conditions": [[["x"]]], "demographics": "y", "age": []}])
def test_a_persona_of_another_shape_harms_nothing(persona: dict[str, Any]) -> None:
    assert told({"conditions": ["asthma"], "age": [1, 2], "sex": "male"}, persona).met == 0


@pytest.mark.parametrize(
    ("resource", "met"),
    [
        ({"resourceType": "Condition", "code": 7}, 0),
        ({"resourceType": "Condition", "code": {"coding": {"code": "E11.9"}}}, 0),
        ({"resourceType": ["Condition"], "code": {"text": "T2DM"}}, 0),
        ({"resourceType": "Condition", "code": {"text": "T2DM"}, "status": ["x"], "component": 3, "contained": 4}, 1),
    ],
)
def test_a_resource_of_another_shape_harms_nothing(resource: dict[str, Any], met: int) -> None:
    assert told({"conditions": ["type-2-diabetes"]}, None, fhir=fhir(resource)).met == met


def test_findings_quote_nothing_of_the_trace() -> None:
    found = told({"conditions": ["asthma"], "sex": "male", "age": [1, 2]}, {"conditions": ["Canarybird"], "sex": "female", "age": 77})
    assert "Canarybird" not in found.model_dump_json()
    assert "77" not in found.model_dump_json()


@pytest.mark.parametrize(
    ("birth", "years"), [("2020", 6.2), ("2020-03", 6.5), ("20200910", 6.0), ("2020-09-10T10:00:00Z", 6.0), ("x", None), ("20201340", None), (7, None)]
)
def test_ages_are_reckoned_from_iso_and_hl7_dates(birth: Any, years: float | None) -> None:
    age = age_at(birth, MOMENT)
    assert age is None if years is None else age == pytest.approx(years, abs=0.06)
