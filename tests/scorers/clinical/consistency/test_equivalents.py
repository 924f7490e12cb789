from typing import Any

import pytest

from tests.scorers.clinical.consistency.patient import ADT, CCDA, ICD, ORU, PERSONA, RXNORM, changed, compared, concept, fhir, told


@pytest.mark.parametrize(
    "documents",
    [
        (("fhir", fhir()), ("hl7v2", ADT)),
        (("fhir", fhir()), ("hl7v2", ORU)),
        (("fhir", fhir()), ("ccda", CCDA)),
        (("ccda", CCDA), ("hl7v2", ADT)),
        (("ccda", CCDA), ("hl7v2", ORU)),
        (("fhir", fhir()), ("hl7v2", ADT + "\r" + ORU), ("ccda", CCDA)),
    ],
    ids=["fhir-adt", "fhir-oru", "fhir-ccda", "ccda-adt", "ccda-oru", "all"],
)
def test_one_patient_in_several_formats_is_consistent(documents: tuple[tuple[str, Any], ...]) -> None:
    report = compared(*documents)

    assert told(report) == []
    assert report.rules_fired["consistency"] >= 8


def test_a_persona_in_other_words_and_with_an_age_is_consistent() -> None:
    assert told(compared(("fhir", fhir()), persona=PERSONA)) == []
    assert told(compared(("fhir", fhir()), persona=PERSONA | {"conditions": ["T2DM", "HTN"]})) == []


@pytest.mark.parametrize(("value", "unit"), [(162, "mg/dL"), (1.62, "g/L"), (9.0, "mmol/L"), (8.99, "mmol/L"), (162.0, "mg/dl"), (1620, "mg/L")], ids=str)
def test_a_value_in_another_unit_is_the_same(value: float, unit: str) -> None:
    bundle = changed(lambda resources: resources[8]["valueQuantity"].update(value=value, unit=unit, code=unit))

    assert told(compared(("fhir", bundle), ("ccda", CCDA))) == []


@pytest.mark.parametrize("time", ["2026-03-02T14:30:00Z", "2026-03-02T20:15:00+05:45", "2026-03-02", "2026-03", "2026-03-02T09:30:00.417-05:00"])
def test_a_time_in_another_zone_or_precision_is_the_same(time: str) -> None:
    bundle = changed(lambda resources: [one.update(effectiveDateTime=time) for one in resources if one["resourceType"] == "Observation"])

    assert told(compared(("fhir", bundle), ("ccda", CCDA))) == []


@pytest.mark.parametrize("name", [{"family": "SAMPLE ORTEGA", "given": ["ZOE"]}, {"family": "Sample", "given": ["Z", "M"]}, {"text": "Ms. Zoe Sample-Ortega"}])
def test_a_name_in_another_case_cut_to_initials_or_as_text_is_the_same(name: dict[str, Any]) -> None:
    bundle = changed(lambda resources: resources[0].update(name=[name]))

    assert told(compared(("fhir", bundle), ("hl7v2", ADT))) == []


def test_what_a_message_cannot_carry_is_not_missing_from_it() -> None:
    """An ORU tells results: the patient's allergies, diagnoses, medications and vital signs are no loss."""
    assert told(compared(("fhir", fhir()), ("hl7v2", ORU))) == []


def test_a_message_about_one_of_many_diagnoses_lacks_none() -> None:
    def many(resources: list[dict[str, Any]]) -> None:
        code = resources[2]["code"]["coding"][0]
        resources += [{"resourceType": "Condition", "code": {"coding": [code | {"code": f"Z0{number}", "display": f"Other {number}"}]}} for number in range(5)]

    assert told(compared(("fhir", changed(many)), ("hl7v2", ADT))) == []


def test_codes_of_two_systems_without_a_common_name_are_not_compared() -> None:
    other = ADT.replace("E119^Type 2 diabetes^I10C", "250.00^DM II^I9C").replace("I10^Hypertension^I10C", "401.9^HTN^I9C")
    report = compared(("fhir", fhir()), ("hl7v2", other))

    assert told(report) == []
    assert any(skipped.check == "consistency.condition" for skipped in report.not_checked)


def test_the_diagnosis_of_the_day_of_the_visit_is_no_onset() -> None:
    assert told(compared(("fhir", fhir()), ("hl7v2", ADT.replace("||20150601|A", "||20260302|A")))) == []


def test_a_problem_that_is_over_and_a_medication_that_was_stopped_may_be_left_out() -> None:
    def more(resources: list[dict[str, Any]]) -> None:
        over = {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/condition-clinical", "code": "resolved"}]}
        resources.append({"resourceType": "Condition", "clinicalStatus": over, "code": concept(ICD, "J18.9", "Pneumonia")})
        stopped = concept(RXNORM, "308191", "amoxicillin 500 MG Oral Capsule")
        resources.append({"resourceType": "MedicationRequest", "status": "stopped", "intent": "order", "medicationCodeableConcept": stopped})

    assert told(compared(("fhir", changed(more)), ("ccda", CCDA), persona=PERSONA)) == []


def test_two_visits_with_other_numbers_are_not_taken_for_one() -> None:
    other = ADT.replace("V-1^^^HOSP", "V-9^^^HOSP").replace("20260302140000+0100|20260304160000+0000", "20260401140000+0100|20260402160000+0000")

    assert told(compared(("fhir", fhir()), ("hl7v2", other))) == []


def test_one_format_alone_is_not_compared() -> None:
    report = compared(("fhir", fhir()), ("fhir", fhir()))

    assert not report.rules_fired
    assert not report.findings
