"""What FHIR does not have is compared between HL7 v2 and C-CDA, and with the persona."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.scorers.clinical.consistency.patient import ADT, CCDA, PERSONA, changed, compared, fhir

Resources = list[dict[str, Any]]


def lacking(*names: str) -> Callable[[Resources], None]:
    """FHIR's patient without these elements."""

    def change(resources: Resources) -> None:
        for name in names:
            del resources[0][name]

    return change


def replaced(text: str, before: str, after: str) -> str:
    assert before in text
    return text.replace(before, after)


def entries_without(kind: str) -> dict[str, Any]:
    bundle = fhir()
    bundle["entry"] = [entry for entry in bundle["entry"] if entry["resource"]["resourceType"] != kind]
    return bundle


BORN_LATER = replaced(CCDA, '<birthTime value="19610409"/>', '<birthTime value="19610408"/>')
A_MAN = replaced(CCDA, '<administrativeGenderCode code="F"', '<administrativeGenderCode code="M"')
OF_OTHER_NAME = replaced(CCDA, "<family>Sample Ortega", "<family>Miller")
OBSERVATION = '<observation classCode="OBS" moodCode="EVN"'
WITHOUT_ALLERGY = entries_without("AllergyIntolerance")


@pytest.mark.parametrize(
    ("document", "ccda", "code", "path"),
    [
        (changed(lacking("birthDate")), BORN_LATER, "patient.birth-date", "birthTime"),
        (changed(lacking("gender")), A_MAN, "patient.sex", "administrativeGenderCode"),
        (changed(lacking("name")), OF_OTHER_NAME, "patient.name", "name"),
        ({"resourceType": "Observation", "status": "final", "code": {"text": "x"}}, BORN_LATER, "patient.birth-date", "birthTime"),
    ],
    ids=["birth", "sex", "name", "no patient"],
)
def test_a_contradiction_in_what_fhir_does_not_have_is_found_between_the_others(document: dict[str, Any], ccda: str, code: str, path: str) -> None:
    found = [one for one in compared(("fhir", document), ("ccda", ccda), ("hl7v2", ADT)).findings if one.code == f"consistency.{code}"]

    assert [(one.severity, one.path.endswith(path)) for one in found] == [("major", True)]
    assert "outputs.hl7v2/PID" in found[0].message


def test_an_allergy_that_fhir_does_not_have_differs_between_the_others() -> None:
    other = replaced(ADT, "7980", "7984")
    found = [one for one in compared(("fhir", WITHOUT_ALLERGY), ("ccda", CCDA), ("hl7v2", other)).findings if one.severity == "major"]

    assert [one.code for one in found] == ["consistency.allergy.code"]
    assert "outputs.hl7v2/AL1[1]" in found[0].message


def test_an_allergy_that_fhir_does_not_have_is_negated_by_one_of_the_others() -> None:
    before, section, after = CCDA.partition('<code code="48765-2"')
    negated = before + section + after.replace(OBSERVATION, f'{OBSERVATION} negationInd="true"', 1)
    found = [one for one in compared(("fhir", WITHOUT_ALLERGY), ("ccda", negated), ("hl7v2", ADT)).findings if one.severity == "major"]

    assert [(one.code, one.path) for one in found] == [("consistency.allergy.denied", "outputs.hl7v2/AL1[1]")]


@pytest.mark.parametrize("ccda", [BORN_LATER, A_MAN, OF_OTHER_NAME])
def test_what_fhir_has_is_reported_once(ccda: str) -> None:
    codes = [one.code for one in compared(("fhir", fhir()), ("ccda", ccda), ("hl7v2", ADT)).findings]

    assert len(codes) == len(set(codes)) == 1


def test_three_formats_and_a_persona_that_agree_have_no_findings() -> None:
    for document in (fhir(), changed(lacking("birthDate", "gender", "name")), changed(lacking("identifier"))):
        report = compared(("fhir", document), ("ccda", CCDA), ("hl7v2", ADT), persona=PERSONA)
        assert not report.findings


def test_a_persona_s_sex_is_compared_with_the_format_that_has_one() -> None:
    found = compared(("fhir", changed(lacking("gender"))), ("hl7v2", ADT), persona={"name": PERSONA["name"], "sex": "male"}).findings

    assert [one.code for one in found] == ["consistency.patient.sex"]
