from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.scorers.clinical.fhir.resources import PLAIN, bundle, definition, observation, patient, report
from touchstone.scorers.clinical.checks.scalars import Membership
from touchstone.scorers.clinical.formats.fhir import Options, is_valid, validate
from touchstone.scorers.clinical.report import Context, Report

OPTIONS = Options(installed_packages=False)
NOW = Context(now=lambda: datetime(2026, 1, 1, tzinfo=UTC))


def told(resource: dict[str, Any]) -> Report:
    return validate(json.dumps(resource).encode(), NOW, OPTIONS)


def quantity(value: float, unit: str) -> dict[str, Any]:
    return {"value": value, "unit": unit, "system": "http://unitsofmeasure.org", "code": unit}


def vital(loinc: str, number: int, value: dict[str, Any]) -> dict[str, Any]:
    return observation(id=f"o{number}", code={"coding": [{"system": "http://loinc.org", "code": loinc}]}, valueQuantity=value)


def pressure(number: int, systolic: float, diastolic: float) -> dict[str, Any]:
    parts = [
        {"code": {"coding": [{"system": "http://loinc.org", "code": code}]}, "valueQuantity": quantity(value, "mm[Hg]")}
        for code, value in (("8480-6", systolic), ("8462-4", diastolic))
    ]
    return observation(id=f"o{number}", code={"coding": [{"system": "http://loinc.org", "code": "85354-9"}]}, valueQuantity=None, component=parts)


STATUS = {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/condition-clinical", "code": "current"}]}
SPECIFIED = [
    (bundle(patient(gender="X")), "major", "Patient.gender"),
    (
        bundle({"resourceType": "Condition", "id": "c", "subject": {"reference": "Patient/p1"}, "clinicalStatus": STATUS}),
        "minor",
        "Condition[0].clinicalStatus",
    ),
    (patient(identifier=[{"system": "mrn", "value": "1"}]), "minor", "Patient.identifier[0].system"),
    (patient(deceasedDateTime="2020-01-01T10:00:00"), "major", "Patient.deceasedDateTime"),  # minor there; corrections, Clinical 2
    (bundle(vital("2345-7", 0, quantity(95, "mg/dl"))), "minor", "Observation[0].valueQuantity.code"),  # major there; corrections, Clinical 1
    (bundle(vital("8867-4", 0, quantity(350, "/min"))), "critical", "Observation[0].valueQuantity"),
    (bundle(vital("8867-4", 0, quantity(60, "/min")), vital("2345-7", 1, quantity(650, "mg/dL"))), "major", "Observation[1].valueQuantity"),
    (bundle(pressure(0, 120, 80), pressure(1, 120, 80), pressure(2, 110, 120)), "major", "Observation[2].component"),
]


@pytest.mark.parametrize(("resource", "severity", "path"), SPECIFIED)
def test_a_finding_of_the_specifications_examples_is_made(resource: dict[str, Any], severity: str, path: str) -> None:
    assert (severity, path) in {(one.severity, one.path) for one in told(resource).findings}


def test_an_npi_with_a_wrong_check_digit_is_told() -> None:
    npi = {"resourceType": "Practitioner", "id": "x", "identifier": [{"system": "http://hl7.org/fhir/sid/us-npi", "value": "1234567890"}]}
    assert [one.path for one in told(npi).findings if one.code == "identifiers.npi-check-digit"] == ["Practitioner.identifier[0].value"]


def test_a_birth_in_the_future_and_a_death_before_birth_are_told() -> None:
    assert "datetimes.future" in {one.code for one in told(patient(birthDate="2030-01-01")).findings}
    assert "datetimes.order" in {one.code for one in told(patient(deceasedDateTime="1970-01-01")).findings}


def test_a_document_without_a_synthetic_mark_is_told_for_information() -> None:
    marked, bare = told(patient()), told(patient(meta=None))
    assert [[one.severity for one in each.findings if one.code == "fhir.watermarks.none"] for each in (marked, bare)] == [[], ["info"]]


def test_every_group_that_finds_something_also_counts_its_rules() -> None:
    for resource, _, _ in SPECIFIED:
        seen = told(resource)
        groups = {one.code.removeprefix("fhir.").split(".")[0] for one in seen.findings}
        assert groups <= {name for name, times in seen.rules_fired.items() if times}


def test_values_are_quoted_only_where_asked() -> None:
    data = json.dumps(patient(gender="Zaphod")).encode()
    assert "Zaphod" not in str(validate(data, NOW, OPTIONS).findings)
    assert "Zaphod" in str(validate(data, Context(now=NOW.now, quote=True), OPTIONS).findings)


class Register:
    """A source that knows no code, and counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def membership(self, system: str, code: str) -> tuple[Membership, str | None]:
        self.asked.append((system, code))
        return "not_member", None


def asking(source: Register) -> Options:
    return replace(PLAIN, clinical=True, source=source)


def coded(system: str, *values: str) -> dict[str, Any]:
    return observation(code={"coding": [{"system": system, "code": value} for value in values]})


def test_a_source_is_asked_once_per_code_about_systems_that_no_table_holds() -> None:
    register = Register()
    told = report(coded("http://snomed.info/sct", "73211009", "73211009"), asking(register))
    assert register.asked == [("http://snomed.info/sct", "73211009")]
    assert any(one.code.startswith("terminology.") for one in told.findings)


def test_a_source_is_asked_about_code_systems_of_others_but_not_about_those_of_r4() -> None:
    register = Register()
    report(coded("http://codes.test/own", "a"), asking(register))
    assert ("http://codes.test/own", "a") in register.asked
    assert not any(system.startswith("http://terminology.hl7.org/CodeSystem/observation-category") for system, _ in register.asked)


def test_one_document_asks_a_source_only_so_many_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchstone.scorers.clinical.formats.fhir.shared_checks.SOURCE_CODES_MAX", 3)
    register = Register()
    told = report(coded("http://codes.test/own", *(f"c{number}" for number in range(9))), asking(register))
    assert len(register.asked) == 3
    assert any("more than 3 codes" in one.reason for one in told.not_checked)


def test_a_document_asks_a_source_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchstone.scorers.clinical.formats.fhir.shared_checks.SOURCE_S_MAX", -1.0)
    register = Register()
    told = report(coded("http://codes.test/own", "a", "b"), asking(register))
    assert register.asked == []
    assert any("took more than" in one.reason for one in told.not_checked)


def race(code: str) -> dict[str, Any]:
    category = {"url": "ombCategory", "valueCoding": {"system": "urn:oid:2.16.840.1.113883.6.238", "code": code}}
    url = "http://hl7.org/fhir/us/core/StructureDefinition/us-core-race"
    return patient(extension=[{"url": url, "extension": [category, {"url": "text", "valueString": "x"}]}])


@pytest.mark.parametrize(("code", "expected"), [("2106-3", []), ("2131-1", []), ("2118-8", ["valuesets.code"])])
def test_categories_of_race_are_checked_without_the_package_of_us_core(code: str, expected: list[str]) -> None:
    found = [one for one in told(race(code)).findings if one.code == "valuesets.code"]
    assert [one.code for one in found] == expected
    assert all(one.path == "Patient.extension[0].extension[0].valueCoding" for one in found)


def rate(**more: Any) -> dict[str, Any]:
    """A heart rate of 350 that is coded otherwise than by its LOINC code alone."""
    return observation(valueQuantity=quantity(350, "/min"), **more)


LOINC = "http://loinc.org"


@pytest.mark.parametrize(
    "code",
    [
        {"coding": [{"system": LOINC, "code": "8716-3"}, {"system": LOINC, "code": "8867-4"}]},
        {"coding": [{"system": "http://a.example/codes", "code": "HR", "display": "Heart rate"}]},
        {"coding": [{"system": "http://a.example/codes", "code": "HR"}], "text": "Pulse"},
        {"coding": [{"system": "http://a.example/codes", "code": "HR", "display": "Heart rate"}], "text": "as measured at the wrist"},
    ],
)
def test_a_parameter_is_known_by_any_of_its_codes_and_names(code: dict[str, Any]) -> None:
    assert "plausibility.impossible" in {one.code for one in told(rate(code=code)).findings}


def test_a_loinc_code_that_has_no_ranges_silences_its_names() -> None:
    code = {"coding": [{"system": LOINC, "code": "8716-3", "display": "Heart rate"}], "text": "Heart rate"}
    assert not [one for one in told(rate(code=code)).findings if one.code.startswith("plausibility.")]


def test_pressures_that_are_named_and_not_coded_are_compared() -> None:
    parts = [{"code": {"text": name}, "valueQuantity": quantity(value, "mm[Hg]")} for name, value in (("Systolic", 80), ("Diastolic", 90))]
    found = told(observation(code={"text": "Blood pressure"}, valueQuantity=None, component=parts)).findings
    assert [one.path for one in found if one.code == "plausibility.blood-pressure"] == ["Observation.component"]


@pytest.mark.parametrize("when", [{"effectiveDateTime": "2024-01-01"}, {"effectivePeriod": {"start": "2024-01-01"}}, {"issued": "2024-01-01T00:00:00Z"}])
def test_the_age_is_that_at_whatever_time_an_observation_gives(when: dict[str, Any]) -> None:
    weight = observation(code={"coding": [{"system": LOINC, "code": "29463-7"}]}, valueQuantity=quantity(70, "kg"), effectiveDateTime=None)
    found = told(bundle(patient(birthDate="2023-12-30"), weight | when)).findings
    assert [one.severity for one in found if one.code == "plausibility.impossible"] == ["critical"]


@pytest.mark.parametrize(("birth", "when"), [("2024-05-01", "2023-05-01"), ("2024", "2024"), ("2024", "2025-11-01"), ("2024-05", "2024-05-30")])
def test_an_age_too_roughly_known_for_an_infant_judges_nothing(birth: str, when: str) -> None:
    weight = observation(code={"coding": [{"system": LOINC, "code": "29463-7"}]}, valueQuantity=quantity(11, "kg"), effectiveDateTime=when)
    assert not {one.code for one in told(bundle(patient(birthDate=birth), weight)).findings if one.code.startswith("plausibility")}


def test_a_year_is_enough_for_the_age_of_an_adult() -> None:
    height = observation(code={"coding": [{"system": LOINC, "code": "8302-2"}]}, valueQuantity=quantity(40, "cm"), effectiveDateTime="2024")
    assert "plausibility.impossible" in {one.code for one in told(bundle(patient(birthDate="1980"), height)).findings}


def test_an_observed_period_that_has_not_begun_is_told() -> None:
    ahead = {name: value for name, value in observation(effectivePeriod={"start": "2030-01-01"}).items() if name != "effectiveDateTime"}
    assert [one.path for one in told(ahead).findings if one.code == "datetimes.future"] == ["Observation.effectivePeriod.start"]


def test_an_identifier_system_without_a_scheme_is_told_once_and_breaks_the_resource() -> None:
    found = told(patient(identifier=[{"system": "mrn", "value": "1"}]))
    at_system = [(one.severity, one.code) for one in found.findings if one.path == "Patient.identifier[0].system"]
    assert at_system == [("minor", "fhir.identifiers.system")]
    assert not is_valid(found)


def test_a_plan_may_lie_ahead_and_not_have_been_written_there() -> None:
    plan = {"resourceType": "ServiceRequest", "id": "r", "status": "active", "intent": "plan", "subject": {"reference": "Patient/p1"}}
    found = told(plan | {"occurrenceDateTime": "2030-01-01", "authoredOn": "2030-01-01"}).findings
    assert [one.path for one in found if one.code == "datetimes.future"] == ["ServiceRequest.authoredOn"]


def test_a_profile_may_be_claimed_in_a_version() -> None:
    assert not [one for one in told(patient(meta={"profile": ["http://a.example/Profile|1.0"]})).findings if one.code.startswith("identifiers.")]


def test_what_a_definition_fixes_is_no_identifier() -> None:
    element = {"id": "Patient.identifier", "path": "Patient.identifier", "patternIdentifier": {"type": {"text": "x"}}}
    assert not [one for one in told(definition(element, url="http://a.example/P", name="P")).findings if one.code.startswith("identifiers.")]
