from typing import Any

import pytest

from touchstone.scorers.clinical import validate_document

INFANT, ADULT = ("infant", "20231101", "2023-11-01"), ("adult", "19800101", "1980-01-01")


def entry(resource: dict[str, Any]) -> dict[str, Any]:
    return {"fullUrl": f"http://records.example/fhir/{resource['resourceType']}/{resource['id']}", "resource": resource}


def bundle(*patients: tuple[str, str, str], subject: str) -> dict[str, Any]:
    people = [entry({"resourceType": "Patient", "id": name, "birthDate": born}) for name, _, born in patients]
    rate = {
        "resourceType": "Observation",
        "id": "rate",
        "status": "final",
        "category": [{"coding": [{"system": "http://terminology.hl7.org/CodeSystem/observation-category", "code": "vital-signs"}]}],
        "code": {"coding": [{"system": "http://loinc.org", "code": "8867-4"}]},
        "subject": {"reference": f"Patient/{subject}"},
        "effectiveDateTime": "2024-01-01",
        "valueQuantity": {"value": 170, "unit": "/min", "system": "http://unitsofmeasure.org", "code": "/min"},
    }
    return {"resourceType": "Bundle", "type": "collection", "entry": [*people, entry(rate)]}


def message(*patients: tuple[str, str, str]) -> str:
    """An ORU of several patients, each with a heart rate of 170."""
    segments = ["MSH|^~\\&|A|B|C|D|20240101120000+0000||ORU^R01^ORU_R01|1|T|2.5.1"]
    for number, (name, born, _) in enumerate(patients, 1):
        segments += [
            f"PID|{number}||{number}^^^A&1.2.3&ISO^MR||Doe^{name}^^^^^L||{born}|F",
            "OBR|1||1^LAB|24323-8^Panel^LN|||20240101120000+0000|||||||||||||||20240101120000+0000|||F",
            "OBX|1|NM|8867-4^Heart rate^LN||170|/min^per minute^UCUM|||||F|||20240101120000+0000",
        ]
    return "\r".join(segments) + "\r"


def plausibility(document: dict[str, Any] | str) -> list[tuple[str, str]]:
    return [(found.code, found.path) for found in validate_document(document).report.findings if found.code.startswith("plausibility.")]


@pytest.mark.parametrize("order", [(INFANT, ADULT), (ADULT, INFANT)])
def test_a_bundle_of_several_patients(order: tuple[Any, Any]) -> None:
    assert plausibility(bundle(*order, subject="infant")) == []
    assert plausibility(bundle(*order, subject="adult")) == [("plausibility.critical", "Observation[0].valueQuantity")]


def test_a_subject_that_is_not_here_is_nobody_of_several_and_the_only_one_of_one() -> None:
    assert plausibility(bundle(INFANT, ADULT, subject="elsewhere")) == []
    assert plausibility(bundle(ADULT, subject="elsewhere")) == [("plausibility.critical", "Observation[0].valueQuantity")]


def test_a_message_of_several_patients() -> None:
    assert plausibility(message(INFANT, ADULT)) == [("plausibility.critical", "OBX[2]-5")]
    assert plausibility(message(ADULT, INFANT)) == [("plausibility.critical", "OBX[1]-5")]
