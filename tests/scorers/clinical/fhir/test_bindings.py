from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.scorers.clinical.fhir.resources import PLAIN, codes, found, observation, patient, report
from touchstone.scorers.clinical.formats.fhir import codings, is_valid
from touchstone.scorers.clinical.formats.fhir.tables import _read, later_codes

ACTIVE = "http://terminology.hl7.org/CodeSystem/condition-clinical"


def condition(code: str, system: str = ACTIVE) -> dict[str, object]:
    return {"resourceType": "Condition", "subject": {"reference": "Patient/p"}, "clinicalStatus": {"coding": [{"system": system, "code": code}]}}


def test_a_code_outside_its_required_value_set_is_told_with_the_valid_ones() -> None:
    finding = found(patient(gender="X"), "fhir.bindings.required")
    assert (finding.severity, finding.path) == ("major", "Patient.gender")
    assert "female, male, other, unknown" in finding.message


def test_codes_are_case_sensitive() -> None:
    assert codes(observation(status="Final")) == {"fhir.bindings.required"}


def test_a_clinical_status_outside_its_set_is_minor_as_specified_and_still_not_valid() -> None:
    finding = found(condition("current"), "fhir.bindings.status")
    assert (finding.severity, finding.path) == ("minor", "Condition.clinicalStatus")
    assert not is_valid(report(condition("current")))


def test_the_system_counts_as_well_as_the_code() -> None:
    assert is_valid(report(condition("active")))
    assert not is_valid(report(condition("active", "http://example.org/other")))


def test_a_mime_type_has_the_form_of_one() -> None:
    photo = [{"contentType": "image/png", "url": "http://a.example/x"}]
    assert is_valid(report(patient(photo=photo)))
    assert codes(patient(photo=[photo[0] | {"contentType": "picture"}])) == {"fhir.bindings.required"}


def test_the_system_of_a_coding_is_absolute_and_no_value_set() -> None:
    assert codes(observation(code={"coding": [{"system": "loinc", "code": "1"}]})) == {"fhir.codings.system"}
    assert codes(observation(code={"coding": [{"system": "http://hl7.org/fhir/ValueSet/observation-codes", "code": "1"}]})) == {"fhir.codings.value-set"}


def test_an_unknown_code_of_fhirs_own_systems_is_told_once() -> None:
    bad = {"coding": [{"system": "http://hl7.org/fhir/publication-status", "code": "nope"}]}
    told = [one.code for one in report(patient(maritalStatus=bad, contact=[{"name": {"text": "x"}, "relationship": [bad]}])).findings]
    assert told.count("fhir.codings.unknown") == 1


def test_a_display_that_differs_is_minor_or_an_error_as_asked() -> None:
    wrong = patient(maritalStatus={"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v3-MaritalStatus", "code": "M", "display": "Divorced"}]})
    assert found(wrong, "fhir.codings.display").severity == "minor"
    assert codes(wrong, replace(PLAIN, displays="error")) == {"fhir.codings.display"}
    assert is_valid(report(wrong, replace(PLAIN, displays="ignore")))


def test_bindings_fire_whether_or_not_the_code_is_right() -> None:
    counts = [report(patient(gender=gender)).rules_fired["bindings"] for gender in ("female", "woman")]
    assert counts[0] == counts[1] > 0


def test_codes_that_later_editions_of_hl7_terminology_added_are_known() -> None:
    system = "http://terminology.hl7.org/CodeSystem/v3-RoleCode"
    added = [code for code in later_codes()[system] if code not in _read("codes")["systems"][system]]
    for code, expected in ((added[0], False), ("no-such-role", True)):
        made = patient(contact=[{"name": {"text": "a"}, "relationship": [{"coding": [{"system": system, "code": code}]}]}])
        assert ("fhir.codings.unknown" in {one.code for one in report(made).findings}) is expected


def test_a_code_that_hl7_terminology_may_have_added_since_is_minor_and_names_the_edition() -> None:
    coding = {"system": "http://terminology.hl7.org/CodeSystem/v3-RoleCode", "code": "no-such-role"}
    made = patient(contact=[{"name": {"text": "a"}, "relationship": [{"coding": [coding]}]}])
    told = found(made, "fhir.codings.unknown")
    assert told.severity == "minor"
    assert re.search(r"HL7 Terminology \d+\.\d+\.\d+ of 20\d\d-\d\d-\d\d; a later edition may have it", told.message)
    assert is_valid(report(made))


def test_a_code_that_fhirs_own_systems_lack_is_a_fault_since_r4_is_final() -> None:
    made = patient(maritalStatus={"coding": [{"system": "http://hl7.org/fhir/publication-status", "code": "nope"}]})
    assert found(made, "fhir.codings.unknown").severity == "major"


def test_a_required_binding_to_all_of_a_system_takes_what_was_added_to_it_since_r4() -> None:
    assert codes(condition("unknown")) == set()
    assert is_valid(report(condition("unknown")))


@pytest.mark.parametrize("system", ["units", "http://hl7.org/fhir/ValueSet/administrative-gender"])
def test_the_system_of_a_unit_is_a_code_system(system: str) -> None:
    assert "fhir.codings.system" in codes(observation(valueQuantity={"value": 1, "code": "a", "system": system}))


ABSENT = {"extension": [{"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueCode": "unknown"}]}


def test_an_extension_does_not_stand_in_for_a_concept_that_is_required() -> None:
    condition = {"resourceType": "Condition", "subject": {"reference": "Patient/p"}, "clinicalStatus": ABSENT}
    assert not is_valid(report(condition))
    assert codes(patient(maritalStatus=ABSENT)) == set()


@pytest.mark.parametrize(
    ("made", "place"),
    [
        ({"resourceType": "Person", "_gender": ABSENT}, "Person._gender"),
        (patient(telecom=[{"_system": ABSENT, "value": "1"}]), "Patient.telecom[0]._system"),
        (observation(valueQuantity={"value": 1, "_comparator": ABSENT}), "Observation.valueQuantity._comparator"),
        ({"resourceType": "Person", "_gender": {"extension": [{"url": "http://example.org/said", "valueString": "f"}]}}, "Person._gender"),
        ({"resourceType": "Binary", "_contentType": ABSENT, "data": "YQ=="}, "Binary._contentType"),
    ],
)
def test_an_extension_does_not_stand_in_for_a_code_that_is_required(made: dict[str, object], place: str) -> None:
    told = found(made, "fhir.bindings.required")
    assert (told.severity, told.path) == ("major", place)


def test_one_of_several_required_codes_that_has_an_extension_only_is_told() -> None:
    repeat = {"dayOfWeek": ["mon", None], "_dayOfWeek": [None, ABSENT], "frequency": 1, "period": 1, "periodUnit": "wk"}
    subject = {"status": "active", "intent": "order", "medicationCodeableConcept": {"text": "a"}, "subject": {"reference": "Patient/p"}}
    made = {"resourceType": "MedicationRequest", **subject, "dosageInstruction": [{"timing": {"repeat": repeat}}]}
    assert found(made, "fhir.bindings.required").path == "MedicationRequest.dosageInstruction[0].timing.repeat._dayOfWeek[1]"


@pytest.mark.parametrize(
    "made",
    [
        patient(gender="female", _gender=ABSENT),
        patient(_birthDate=ABSENT),
        patient(_language=ABSENT),
        patient(name=[{"_family": ABSENT}]),
        observation(code={"coding": [{"_system": ABSENT, "code": "a"}]}),
    ],
)
def test_an_extension_stands_beside_a_code_or_in_place_of_a_value_that_no_value_set_binds(made: dict[str, object]) -> None:
    assert "fhir.bindings.required" not in {one.code for one in report(made).findings}
    assert is_valid(report(made))


HL7 = "http://terminology.hl7.org/CodeSystem/"


def category(code: str, system: str = "observation-category") -> dict[str, object]:
    return observation(category=[{"coding": [{"system": HL7 + system, "code": code}]}])


@pytest.mark.parametrize(
    ("code", "system", "meant"),
    [
        ("Laboratory", "observation-category", "laboratory"),
        ("vital_signs", "observation-category", "vital-signs"),
        ("Vital Signs", "observation-category", "vital-signs"),
        ("divorced", "v3-MaritalStatus", "D"),
        ("m", "v3-MaritalStatus", "M"),
        ("High", "v3-ObservationInterpretation", "H"),
        ("ambulatory", "v3-ActCode", "AMB"),
        ("Medical record number", "v2-0203", "MR"),
    ],
)
def test_a_known_code_written_otherwise_or_its_display_is_no_code_whatever_editions_follow(code: str, system: str, meant: str) -> None:
    told = found(category(code, system), "fhir.codings.written")
    assert (told.severity, told.suggestion) == ("major", f"Use {meant!r}")


@pytest.mark.parametrize(
    ("code", "system", "rule"),
    [
        ("microbiome", "observation-category", "fhir.codings.unknown"),
        ("mr", "v2-0203", "fhir.codings.case"),  # R4 does not say that capitals count in the tables of HL7 v2
        ("no-such-role", "v3-RoleCode", "fhir.codings.unknown"),
    ],
)
def test_a_code_that_may_be_right_is_minor(code: str, system: str, rule: str) -> None:
    assert found(category(code, system), rule).severity == "minor"
    assert is_valid(report(category(code, system)))


def test_another_writing_that_could_mean_two_codes_is_not_taken_for_either() -> None:
    two = {"a-b": "One", "a_b": "Another", "c": "Third"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codings, "code_systems", lambda: {"http://example.org/s": two})
        assert codings._slips.__wrapped__("http://example.org/s") == {"one": "a-b", "another": "a_b", "c": "c", "third": "c"}
