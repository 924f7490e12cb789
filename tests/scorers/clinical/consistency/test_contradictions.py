from collections.abc import Callable
from typing import Any

import pytest

from tests.scorers.clinical.consistency.patient import ADT, CCDA, ORU, PERSONA, changed, compared, fhir, observation, only, told, without
from touchstone.schemas.case import validate_case
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.clinical import ClinicalSettings, build

Resources = list[dict[str, Any]]


def change_of(number: int, **values: Any) -> Callable[[Resources], None]:
    return lambda resources: resources[number].update(values)


@pytest.mark.parametrize(
    ("change", "code", "path", "other"),
    [
        (change_of(0, birthDate="1961-04-10"), "patient.birth-date", "Patient.birthDate", "PID-7"),
        (change_of(0, gender="male"), "patient.sex", "Patient.gender", "PID-8"),
        (change_of(0, name=[{"family": "Sample", "given": ["Rosa"]}]), "patient.name", "Patient.name[0]", "PID-5"),
        (lambda found: found[0]["identifier"][0].update(value="MRN-4712"), "patient.identifier", "Patient.identifier[0]", "PID-3[1]"),
        (lambda found: found[2]["code"]["coding"][0].update(code="E10.9"), "condition.code", "Condition[0]", "DG1[1]"),
        (change_of(2, onsetDateTime="2016-06-01"), "condition.time", "Condition[0].onsetDateTime", "DG1[1]-5"),
        (lambda found: found[4]["code"]["coding"][0].update(code="7984"), "allergy.code", "AllergyIntolerance[0]", "AL1[1]"),
        (lambda found: found[9]["valueQuantity"].update(value=84.2), "observation.value", "Observation[2].valueQuantity", "OBX[1]-5"),
        (lambda found: found[9]["valueQuantity"].update(unit="g", code="g"), "observation.value", "Observation[2].valueQuantity", "OBX[1]-5"),
        (change_of(9, effectiveDateTime="2026-03-02T09:30:00-06:00"), "observation.time", "Observation[2].effectiveDateTime", "OBX[1]-14"),
        (change_of(1, period={"start": "2026-03-01T08:00:00-05:00"}), "encounter.time", "Encounter[0].period.start", "PV1-44"),
    ],
    ids=["birth", "sex", "name", "identifier", "condition", "onset", "allergy", "value", "unit", "time", "encounter"],
)
def test_a_difference_from_a_message_is_found_with_both_places(change: Callable[[Resources], None], code: str, path: str, other: str) -> None:
    finding = only(compared(("fhir", changed(change)), ("hl7v2", ADT)))

    assert (finding.severity, finding.code, finding.path) == ("major", f"consistency.{code}", f"outputs.fhir/{path}")
    assert f"outputs.hl7v2/{other} (HL7 v2 ADT_A01)" in finding.message


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        ('<birthTime value="19610409"/>', '<birthTime value="19610408"/>', "patient.birth-date"),
        ('<administrativeGenderCode code="F"', '<administrativeGenderCode code="M"', "patient.sex"),
        ("<family>Sample Ortega", "<family>Miller", "patient.name"),
        ('extension="MRN-4711"', 'extension="MRN-4710"', "patient.identifier"),
        ('code="59621000"', 'code="59621000" nullFlavor="NI"', None),
        ('code="860975"', 'code="860976"', "medication.code"),
        ('<doseQuantity value="0.5" unit="g"/>', '<doseQuantity value="0.5" unit="mg"/>', "medication.dose"),
        ('code="140"', 'code="141"', "immunization.code"),
        ('<effectiveTime value="20251011"/>', '<effectiveTime value="20241011"/>', "immunization.time"),
        ('value="7.2" unit="%"', 'value="72" unit="%"', "observation.value"),
        ('<low value="201801"/>', '<low value="201701"/>', "condition.time"),
        ('code="24484000"', 'code="255604002"', "allergy.severity"),
    ],
)
def test_a_difference_from_a_c_cda_document_is_found(before: str, after: str, code: str | None) -> None:
    assert CCDA.count(before) == 1
    found = [one for _, one, _ in told(compared(("fhir", fhir()), ("ccda", CCDA.replace(before, after))))]

    assert found == ([] if code is None else [f"consistency.{code}"])


@pytest.mark.parametrize(
    ("kind", "number", "other"),
    [
        ("Condition", 0, ("ccda", CCDA)),
        ("Condition", 1, ("hl7v2", ADT)),
        ("MedicationRequest", 0, ("ccda", CCDA)),
        ("AllergyIntolerance", 0, ("hl7v2", ADT)),
        ("Immunization", 0, ("ccda", CCDA)),
        ("Observation", 0, ("hl7v2", ORU)),
        ("Observation", 2, ("hl7v2", ADT)),
    ],
)
def test_an_entry_that_a_bundle_lost_is_missing_from_it(kind: str, number: int, other: tuple[str, str]) -> None:
    finding = only(compared(("fhir", without(kind, number)), other))

    assert finding.code.endswith(".missing")
    assert finding.path.startswith(f"outputs.{other[0]}/")
    assert "is not in outputs.fhir (FHIR R4)" in finding.message


def test_an_entry_that_a_bundle_invented_is_found() -> None:
    bundle = changed(lambda resources: resources.append(observation("2160-0", "Creatinine", 1.1, "mg/dL", "laboratory")))

    assert told(compared(("fhir", bundle), ("ccda", CCDA))) == [("major", "consistency.observation.missing", "outputs.fhir/Observation[4]")]


def test_lost_allergies_of_an_admission_are_one_mild_finding() -> None:
    message = "\r".join(line for line in ADT.split("\r") if not line.startswith("AL1"))

    assert told(compared(("fhir", fhir()), ("hl7v2", message))) == [("minor", "consistency.allergy.missing", "outputs.fhir/AllergyIntolerance[0]")]


def test_an_allergy_beside_no_known_allergies_is_a_contradiction() -> None:
    message = ADT.replace("AL1|1|DA|7980^penicillin G^RXNORM|SV|hives|20010203", "AL1|1|DA|716186003^No known allergies^SCT")
    finding = only(compared(("fhir", fhir()), ("hl7v2", message)))

    assert (finding.severity, finding.code) == ("major", "consistency.allergy.denied")
    assert "outputs.hl7v2/AL1[1] says that there is none" in finding.message


def test_another_patient_is_one_critical_finding_and_nothing_else_is_compared() -> None:
    message = ADT.replace("SAMPLE-ORTEGA^ZOE", "MILLER^JOHN").replace("19610409", "19800101").replace("MRN-4711", "MRN-1").replace("999123456", "999000000")
    report = compared(("fhir", fhir()), ("hl7v2", message))

    assert told(report) == [("critical", "consistency.patient.other", "outputs.fhir/Patient")]
    assert any(skipped.check == "consistency.entries" for skipped in report.not_checked)


@pytest.mark.parametrize(
    ("persona", "expected"),
    [
        ({"conditions": [*PERSONA["conditions"], "Asthma"]}, ("major", "consistency.condition.missing", "persona/conditions[2]")),
        ({"medications": ["Metformin 500 mg", "Lisinopril 10 mg"]}, ("major", "consistency.medication.missing", "persona/medications[1]")),
        ({"conditions": ["Type 2 diabetes"]}, ("minor", "consistency.condition.missing", "outputs.fhir/Condition[1]")),
        ({"allergies": ["No known allergies"]}, ("major", "consistency.allergy.denied", "outputs.fhir/AllergyIntolerance[0]")),
        ({"sex": "male"}, ("major", "consistency.patient.sex", "outputs.fhir/Patient.gender")),
        ({"age": 34}, ("major", "consistency.patient.age", "outputs.fhir/Patient.birthDate")),
        ({"name": "Rosa Miller"}, ("major", "consistency.patient.name", "outputs.fhir/Patient.name[0]")),
    ],
)
def test_what_fhir_lost_or_invented_of_a_persona_is_found(persona: dict[str, Any], expected: tuple[str, str, str]) -> None:
    assert told(compared(("fhir", fhir()), persona=PERSONA | persona)) == [expected]


def test_findings_hold_nothing_of_the_documents_unless_they_may_quote() -> None:
    bundle = changed(lambda resources: resources[0].update(gender="male", birthDate="1961-04-19", name=[{"family": "Canarybird"}]))
    shy, quoting = (compared(("fhir", bundle), ("hl7v2", ADT), quote=quote) for quote in (False, True))

    assert not any(text in finding.message for finding in shy.findings for text in ("male", "1961", "anarybird"))
    assert any("'male / female'" in finding.message for finding in quoting.findings)


def scored(settings: ClinicalSettings, **outputs: Any) -> Any:
    case = {"kind": "trace", "traceId": "t", "timestamp": "2026-03-05T00:00:00Z", "outputs": {form: {"content": content} for form, content in outputs.items()}}
    return build(settings).evaluate(validate_case(ProductionTrace, case))


def test_a_contradiction_costs_the_format_of_its_trace_and_keeps_it_from_passing() -> None:
    good, bad = (scored(ClinicalSettings(), fhir=fhir(), hl7v2=message) for message in (ADT, ADT.replace("|19610409|F|", "|19610409|M|")))

    assert good.details["consistency"]["score"] == 100.0
    assert bad.details["consistency"]["score"] == 90.0
    assert bad.values["format"] < good.values["format"]
    assert (bad.values["fhir_format"], bad.details["label_max"]) == (good.values["fhir_format"], "Warn")
    assert bad.details["finding_counts"]["consistency.patient.sex"] == {"major": 1}


def test_a_setting_turns_the_comparison_off() -> None:
    card = scored(ClinicalSettings(consistency=False), fhir=fhir(), hl7v2=ADT.replace("|F|", "|M|"))

    assert "consistency" not in card.details
    assert not any(finding.code.startswith("consistency") for finding in card.findings)
