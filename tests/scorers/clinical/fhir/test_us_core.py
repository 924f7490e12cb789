from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.scorers.clinical.fhir.resources import PLAIN, report
from touchstone.scorers.clinical.formats.fhir import is_valid
from touchstone.scorers.clinical.formats.fhir.profiles.us_core import URL, profiles_stating, rules

UCUM = "http://unitsofmeasure.org"
QUANTITY = {"value": 1, "unit": "mg", "system": UCUM, "code": "mg"}
CODED = {"coding": [{"system": "http://snomed.info/sct", "code": "260385009"}]}
NPI = "http://hl7.org/fhir/sid/us-npi"
ABSENT = {"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueCode": "unknown"}
CVX = {"system": "http://hl7.org/fhir/sid/cvx", "code": "197"}
NDC = {"system": "http://hl7.org/fhir/sid/ndc", "code": "49281012165"}
MEMBER = {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v2-0203", "code": "MB"}]}
Json = dict[str, Any]


def identifier(system: str, value: str) -> Json:
    return {"identifier": [{"system": system, "value": value}]}


#: key, profile, resource type, what keeps it, what breaks it
CASES: tuple[tuple[str, str, str, Json, Json], ...] = (
    ("pd-1", "us-core-practitionerrole", "PractitionerRole", {"telecom": [{"system": "phone", "value": "1"}]}, {"code": [{"text": "a"}]}),
    ("pd-1", "us-core-practitionerrole", "PractitionerRole", {"endpoint": [{"reference": "Endpoint/1"}]}, {"active": False}),
    (
        "provenance-1",
        "us-core-provenance",
        "Provenance",
        {"agent": [{"who": {"reference": "Practitioner/1"}, "onBehalfOf": {"reference": "Organization/1"}}]},
        {"agent": [{"who": {"reference": "Practitioner/1"}}]},
    ),
    ("us-core-1", "us-core-observation-lab", "Observation", {"effectiveDateTime": "2020-01-01"}, {"effectiveDateTime": "2020-01"}),
    ("us-core-1", "us-core-observation-lab", "Observation", {"effectivePeriod": {"start": "2020"}}, {"effectiveDateTime": "2020"}),
    ("us-core-2", "us-core-observation-lab", "Observation", {"dataAbsentReason": {"text": "lost"}}, {"status": "final"}),
    ("us-core-2", "us-core-observation-lab", "Observation", {"hasMember": [{"reference": "Observation/1"}]}, {"note": [{"text": "a"}]}),
    ("us-core-3", "us-core-observation-lab", "Observation", {"valueQuantity": QUANTITY}, {"valueQuantity": QUANTITY | {"system": "http://other.test"}}),
    ("us-core-3", "us-core-observation-lab", "Observation", {"valueString": "a"}, {"valueQuantity": {"value": 1, "system": "urn:x:y", "code": "a"}}),
    ("us-core-4", "us-core-observation-lab", "Observation", {"valueCodeableConcept": CODED}, {"valueCodeableConcept": {"coding": [NDC]}}),
    (
        "us-core-4",
        "us-core-observation-lab",
        "Observation",
        {"valueCodeableConcept": {"coding": [NDC, *CODED["coding"]]}},
        {"valueCodeableConcept": {"coding": [CVX]}},
    ),
    ("us-core-5", "us-core-immunization", "Immunization", {"vaccineCode": {"coding": [CVX, NDC]}}, {"vaccineCode": {"coding": [CVX]}}),
    (
        "us-core-6",
        "us-core-documentreference",
        "DocumentReference",
        {"content": [{"attachment": {"url": "http://docs.test/1"}}]},
        {"content": [{"attachment": {"contentType": "text/plain"}}]},
    ),
    ("us-core-6", "us-core-patient", "Patient", {"name": [{"family": "A"}]}, {"name": [{"text": "A"}]}),
    ("us-core-6", "us-core-patient", "Patient", {"name": [{"extension": [ABSENT]}]}, {"name": [{"family": "A", "extension": [ABSENT]}]}),
    ("us-core-7", "us-core-procedure", "Procedure", {"status": "completed", "performedDateTime": "2020"}, {"status": "completed"}),
    ("us-core-7", "us-core-procedure", "Procedure", {"status": "not-done"}, {"status": "in-progress"}),
    ("us-core-8", "us-core-diagnosticreport-lab", "DiagnosticReport", {"status": "registered"}, {"status": "final"}),
    ("us-core-9", "us-core-diagnosticreport-lab", "DiagnosticReport", {"status": "final", "issued": "2020-01-01T00:00:00Z"}, {"status": "amended"}),
    ("us-core-10", "us-core-diagnosticreport-note", "DiagnosticReport", {"status": "final", "effectiveDateTime": "2020-01-01"}, {"status": "final"}),
    ("us-core-12", "us-core-implantable-device", "Device", {"udiCarrier": [{"carrierHRF": "a"}]}, {"udiCarrier": [{"issuer": "urn:a:b"}]}),
    ("us-core-13", "us-core-practitionerrole", "PractitionerRole", {"location": [{"reference": "Location/1"}]}, {"code": [{"text": "a"}]}),
    ("us-core-14", "us-core-relatedperson", "RelatedPerson", {"name": [{"text": "A"}]}, {"active": True}),
    ("us-core-15", "us-core-coverage", "Coverage", {"subscriberId": "1"}, {"identifier": [{"value": "1"}]}),
    ("us-core-15", "us-core-coverage", "Coverage", {"identifier": [{"type": MEMBER, "value": "1"}]}, {"dependent": "1"}),
    ("us-core-16", "us-core-practitioner", "Practitioner", identifier(NPI, "1245319599"), identifier(NPI, "12453")),
    ("us-core-16", "us-core-organization", "Organization", identifier("urn:x:y", "12"), identifier(NPI, "124531959A")),
    ("us-core-17", "us-core-practitioner", "Practitioner", identifier(NPI, "1245319599"), identifier(NPI, "1245319598")),
    ("us-core-17", "us-core-organization", "Organization", identifier(NPI, "1234567893"), identifier(NPI, "1234567890")),
    (
        "us-core-18",
        "us-core-organization",
        "Organization",
        identifier("urn:oid:2.16.840.1.113883.4.7", "12D4567890"),
        identifier("urn:oid:2.16.840.1.113883.4.7", "12A4567890"),
    ),
    (
        "us-core-19",
        "us-core-organization",
        "Organization",
        identifier("urn:oid:2.16.840.1.113883.6.300", "12345"),
        identifier("urn:oid:2.16.840.1.113883.6.300", "1234"),
    ),
    ("us-core-20", "us-core-medicationdispense", "MedicationDispense", {"status": "completed", "whenHandedOver": "2020"}, {"status": "completed"}),
    ("us-core-21", "us-core-medicationrequest", "MedicationRequest", {"intent": "plan"}, {"intent": "order"}),
    (
        "us-core-22",
        "us-core-observation-lab",
        "Observation",
        {"referenceRange": [{"low": QUANTITY}]},
        {"referenceRange": [{"high": {"value": 1, "system": "urn:a:b"}}]},
    ),
    ("us-core-24", "us-core-smokingstatus", "Observation", {"valueCodeableConcept": CODED}, {"valueString": "yes"}),
    ("us-core-25", "us-core-smokingstatus", "Observation", {"valueQuantity": QUANTITY}, {"valueString": "two packs"}),
    (
        "us-core-26",
        "us-core-average-blood-pressure",
        "Observation",
        {"component": [{"code": {"text": "a"}, "valueQuantity": QUANTITY}]},
        {"component": [{"code": {"text": "a"}}]},
    ),
)
_SMOKING = {"us-core-24": ("http://loinc.org", "72166-2"), "us-core-25": ("http://snomed.info/sct", "401201003")}


def resource(key: str, profile: str, kind: str, members: Json) -> Json:
    made = {"resourceType": kind, "meta": {"profile": [URL + profile]}} | members
    if key in _SMOKING:
        system, code = _SMOKING[key]
        made["code"] = {"coding": [{"system": system, "code": code}]}
    return made


def told(resource: Json, key: str, packages: tuple[Path, ...] = ()) -> list[str]:
    said = report(resource, replace(PLAIN, packages=packages))
    return [finding.severity for finding in said.findings if finding.code == f"fhir.invariants.{key}"]


@pytest.mark.parametrize(("key", "profile", "kind", "good", "bad"), CASES)
def test_an_invariant_is_told_where_it_is_broken_and_only_there(key: str, profile: str, kind: str, good: Json, bad: Json) -> None:
    assert told(resource(key, profile, kind, good), key) == []
    assert len(told(resource(key, profile, kind, bad), key)) == 1


@pytest.mark.parametrize("version", ["311", "610"])
@pytest.mark.parametrize(("key", "profile", "kind", "good", "bad"), CASES)
def test_the_same_with_a_package_at_hand(clinical_data: Path, version: str, key: str, profile: str, kind: str, good: Json, bad: Json) -> None:
    package = (clinical_data / "packages" / f"us_core_{version}.tgz",)
    assert told(resource(key, profile, kind, good), key, package) == []
    assert len(told(resource(key, profile, kind, bad), key, package)) == 1


def test_every_rule_has_a_case() -> None:
    assert {rule.key for rule in rules()} == {case[0] for case in CASES}


def test_what_only_a_later_version_asks_is_minor_beside_a_package(clinical_data: Path) -> None:
    package = (clinical_data / "packages" / "us_core_610.tgz",)
    made = resource("us-core-24", "us-core-smokingstatus", "Observation", {"valueString": "yes"})
    assert told(made, "us-core-24", package) == ["minor"]
    assert told(made, "us-core-24") == ["major"]


def test_a_claimed_profile_without_its_package_is_told_as_not_checked() -> None:
    said = report(resource("us-core-7", "us-core-procedure", "Procedure", {"status": "completed"}))
    assert any("us-core-procedure" in skipped.check and "invariants were checked" in skipped.reason for skipped in said.not_checked)
    assert not is_valid(said)


def test_a_profile_that_is_asked_for_is_checked_though_none_is_claimed() -> None:
    ((kind, url),) = profiles_stating("us-core-20")
    said = report({"resourceType": kind, "status": "completed"}, replace(PLAIN, profiles=(url,)))
    assert "fhir.invariants.us-core-20" in {finding.code for finding in said.findings}


def test_a_simple_extension_of_a_package_has_no_parts(clinical_data: Path) -> None:
    package = (clinical_data / "packages" / "us_core_311.tgz",)
    made = {"resourceType": "Patient", "extension": [{"url": URL + "us-core-birthsex", "valueCode": "F"}]}
    assert is_valid(report(made, replace(PLAIN, packages=package)))


@pytest.mark.parametrize(("version", "severity"), [("", "major"), ("|6.1.0", "major"), ("|8.0.0", "major"), ("|8.0.1", "minor"), ("|9.0.0-ballot", "minor")])
def test_a_rule_that_a_version_unknown_here_may_have_dropped_is_minor(version: str, severity: str) -> None:
    claimed = {"resourceType": "RelatedPerson", "meta": {"profile": [f"{URL}us-core-relatedperson{version}"]}, "patient": {"reference": "Patient/1"}}
    (told,) = [one for one in report(claimed).findings if one.code == "fhir.invariants.us-core-14"]
    assert told.severity == severity


@pytest.mark.parametrize(
    ("version", "severity"),
    [("", "major"), ("|3.1.1", "minor"), ("|4.0.0", "minor"), ("|5.0.1", "minor"), ("|5", "minor"), ("|6", "major"), ("|6.1.0", "major"), ("|7.0.0", "major")],
)
def test_a_rule_that_the_claimed_version_is_not_known_to_state_is_minor(version: str, severity: str) -> None:
    npi = [{"system": "http://hl7.org/fhir/sid/us-npi", "value": "1234567890"}]
    made = {"resourceType": "Practitioner", "meta": {"profile": [f"{URL}us-core-practitioner{version}"]}, "identifier": npi}
    assert told(made, "us-core-17") == [severity]


@pytest.mark.parametrize(("version", "severity"), [("", "major"), ("|3.1.1", "major"), ("|4.0.0", "minor"), ("|6.1.0", "minor")])
def test_a_rule_that_a_later_version_dropped_is_minor_under_that_version(version: str, severity: str) -> None:
    (bad,) = (case[4] for case in CASES if case[0] == "us-core-12")
    assert told(resource("us-core-12", f"us-core-implantable-device{version}", "Device", bad), "us-core-12") == [severity]
