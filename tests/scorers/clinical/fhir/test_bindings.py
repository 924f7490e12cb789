from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.scorers.clinical.fhir.resources import PLAIN, codes, found, observation, patient, report
from touchstone.scorers.clinical.formats.fhir import is_valid
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


def test_an_extension_does_not_stand_in_for_a_code_that_is_required() -> None:
    absent = {"extension": [{"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueCode": "unknown"}]}
    condition = {"resourceType": "Condition", "subject": {"reference": "Patient/p"}, "clinicalStatus": absent}
    assert not is_valid(report(condition))
    assert codes(patient(maritalStatus=absent)) == set()
