from __future__ import annotations

import json
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.scorers.clinical.fhir.resources import PLAIN, codes, observation, patient, report
from touchstone.scorers.clinical.formats.fhir import Options, is_valid

URL = "http://profiles.test/StructureDefinition/member"
EXTENSION = "http://profiles.test/StructureDefinition/note"
SET = "http://profiles.test/ValueSet/marital"


def element(identity: str, **facts: Any) -> dict[str, Any]:
    return {"id": identity, "path": ".".join(part.split(":")[0] for part in identity.split(".")), **facts}


def discriminator(kind: str, path: str) -> dict[str, Any]:
    return {"discriminator": [{"type": kind, "path": path}], "rules": "open"}


MEMBER = {
    "resourceType": "StructureDefinition",
    "url": URL,
    "type": "Patient",
    "kind": "resource",
    "derivation": "constraint",
    "baseDefinition": "http://hl7.org/fhir/StructureDefinition/Patient",
    "differential": {
        "element": [
            element("Patient", constraint=[{"key": "mem-1", "severity": "error", "expression": "birthDate.exists() or deceased.exists()"}]),
            element("Patient.extension", slicing=discriminator("value", "url")),
            element("Patient.extension:note", min=1, max="1", type=[{"code": "Extension", "profile": [EXTENSION]}]),
            element("Patient.identifier", min=1, slicing=discriminator("pattern", "type")),
            element("Patient.identifier:mrn", min=1, max="1"),
            element("Patient.identifier:mrn.type", min=1, patternCodeableConcept={"coding": [{"code": "MR"}]}),
            element("Patient.name", min=1, mustSupport=True),
            element("Patient.name.family", min=1),
            element("Patient.active", fixedBoolean=True),
            element("Patient.maritalStatus", binding={"strength": "required", "valueSet": SET}),
            element("Patient.deceased[x]", type=[{"code": "boolean"}]),
            element("Patient.photo", max="0"),
            element(
                "Patient.managingOrganization",
                mustSupport=True,
                type=[{"code": "Reference", "targetProfile": ["http://hl7.org/fhir/StructureDefinition/Organization"]}],
            ),
        ]
    },
}
NOTE = {
    "resourceType": "StructureDefinition",
    "url": EXTENSION,
    "type": "Extension",
    "kind": "complex-type",
    "derivation": "constraint",
    "baseDefinition": "http://hl7.org/fhir/StructureDefinition/Extension",
    "context": [{"type": "element", "expression": "Patient"}],
    "snapshot": {
        "element": [
            element("Extension", min=0, max="1"),
            element("Extension.url", min=1, max="1", fixedUri=EXTENSION),
            element("Extension.value[x]", min=1, max="1", type=[{"code": "string"}]),
        ]
    },
}
MARITAL = {"resourceType": "ValueSet", "url": SET, "compose": {"include": [{"system": "http://profiles.test/CodeSystem/marital", "concept": [{"code": "M"}]}]}}
PACKAGE = {"StructureDefinition-member.json": MEMBER, "StructureDefinition-note.json": NOTE, "ValueSet-marital.json": MARITAL}


@pytest.fixture(params=["folder", "archive"])
def asked(request: pytest.FixtureRequest, tmp_path: Path) -> Options:
    """Options that name the package, as an installed folder or as an archive."""
    folder = tmp_path / "profiles.test#1.0.0" / "package"
    folder.mkdir(parents=True)
    for name, definition in PACKAGE.items():
        (folder / name).write_text(json.dumps(definition))
    if request.param == "folder":
        return replace(PLAIN, packages=(tmp_path,))
    archive = tmp_path / "profiles.test.tgz"
    with tarfile.open(archive, "w:gz") as made:
        made.add(folder, "package")
    return replace(PLAIN, packages=(archive,))


def member(**changes: Any) -> dict[str, Any]:
    good = {
        "meta": {"profile": [URL]},
        "extension": [{"url": EXTENSION, "valueString": "x"}],
        "identifier": [{"type": {"coding": [{"system": "http://a.example", "code": "MR"}]}, "system": "http://a.example/mrn", "value": "1"}],
        "active": True,
    }
    return patient(**(good | changes))


def test_a_resource_that_keeps_its_profile_is_valid(asked: Options) -> None:
    assert is_valid(report(member(), asked)), report(member(), asked).findings


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"name": None}, "fhir.profiles.missing"),
        ({"name": [{"text": "a"}]}, "fhir.profiles.missing"),
        ({"photo": [{"url": "http://a.example/x"}]}, "fhir.profiles.too-many"),
        ({"active": False}, "fhir.profiles.fixed"),
        ({"extension": None}, "fhir.profiles.slice-missing"),
        ({"extension": [{"url": EXTENSION, "valueCode": "x"}]}, "fhir.profiles.type"),
        ({"identifier": [{"value": "1"}]}, "fhir.profiles.slice-missing"),
        ({"maritalStatus": {"coding": [{"system": "http://profiles.test/CodeSystem/marital", "code": "D"}]}}, "fhir.profiles.binding"),
        ({"deceasedDateTime": "2020"}, "fhir.profiles.type"),
        ({"birthDate": None}, "fhir.invariants.mem-1"),
    ],
)
def test_a_breach_of_the_profile_is_told(asked: Options, changes: dict[str, Any], code: str) -> None:
    assert code in codes(member(**changes), asked)


@pytest.mark.parametrize(
    ("changes", "message", "suggestion"),
    [
        ({"name": None}, "profile member asks for at least 1 name; found 0", "Add name"),
        ({"photo": [{"url": "http://a.example/x"}]}, "profile member allows at most 0 photo; found 1", "Leave out photo"),
        ({"active": False}, "profile member fixes this to true", "Write true"),
        ({"deceasedDateTime": "2020"}, "profile member does not allow DateTime here; allowed: boolean", "Use boolean"),
        (
            {"maritalStatus": {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v3-MaritalStatus", "code": "D"}]}},
            "profile member requires a code of the value set marital; found D",
            "Use a code of http://profiles.test/ValueSet/marital",
        ),
    ],
)
def test_a_breach_names_the_profile_what_it_asks_for_and_the_remedy(asked: Options, changes: dict[str, Any], message: str, suggestion: str) -> None:
    assert (message, suggestion) in {(one.message, one.suggestion) for one in report(member(**changes), asked).findings}


def test_a_code_that_nobody_published_is_not_shown(asked: Options) -> None:
    told = report(member(maritalStatus={"coding": [{"system": "http://a.example", "code": "JaneDoe"}]}), asked).findings
    assert "profile member requires a code of the value set marital" in {one.message for one in told}
    assert not any("JaneDoe" in one.message for one in told)


def test_must_support_elements_that_appear_nowhere_are_told_for_information(asked: Options) -> None:
    told = [one for one in report(member(), asked).findings if one.code == "fhir.profiles.must-support"]
    assert [(one.severity, one.path) for one in told] == [("info", "Patient.managingOrganization")]


def test_a_profile_that_no_package_has_is_not_checked() -> None:
    told = report(patient(meta={"profile": ["http://profiles.test/StructureDefinition/other"]}))
    assert is_valid(told)
    assert [one.check for one in told.not_checked] == ["profile of another publisher (its URL is shown with quote)"]


def test_a_profile_can_be_asked_for(asked: Options) -> None:
    assert "fhir.profiles.slice-missing" in codes(patient(), replace(asked, profiles=(URL,)))


def test_a_damaged_package_is_no_package(tmp_path: Path) -> None:
    (tmp_path / "broken.tgz").write_bytes(b"not an archive")
    assert is_valid(report(member(), replace(PLAIN, packages=(tmp_path / "broken.tgz",))))


def test_a_vital_sign_must_keep_its_profile_whether_it_claims_it_or_not() -> None:
    rate = observation(code={"coding": [{"system": "http://loinc.org", "code": "8867-4"}]}, valueQuantity={"value": 60, "unit": "/min"})
    assert "fhir.profiles.slice-missing" in codes(rate)
    vital = [{"coding": [{"system": "http://terminology.hl7.org/CodeSystem/observation-category", "code": "vital-signs"}]}]
    good = {"value": 60, "unit": "beats", "system": "http://unitsofmeasure.org", "code": "/min"}
    assert is_valid(report(rate | {"category": vital, "valueQuantity": good}))


def package(folder: Path, name: str, *, index: bool) -> Path:
    """A package whose file is named by something else than the last part of the URL."""
    inner = folder / "a.b#1.0.0" / "package"
    inner.mkdir(parents=True)
    (inner / name).write_text(json.dumps(MEMBER))
    if index:
        files = [{"filename": name, "resourceType": "StructureDefinition", "url": URL, "version": "1.0.0"}]
        (inner / ".index.json").write_text(json.dumps({"index-version": 2, "files": files}))
    return folder


@pytest.mark.parametrize("index", [True, False])
def test_a_definition_is_found_whatever_its_file_is_called(tmp_path: Path, index: bool) -> None:
    options = replace(PLAIN, packages=(package(tmp_path, "StructureDefinition-another-name.json", index=index),))
    assert "fhir.profiles.missing" in codes(patient(meta={"profile": [URL]}, name=None), options)


def test_an_index_cannot_name_files_outside_its_package(tmp_path: Path) -> None:
    folder = package(tmp_path, "StructureDefinition-x.json", index=False)
    (tmp_path / "outside.json").write_text(json.dumps(MEMBER))
    inner = folder / "a.b#1.0.0" / "package"
    (inner / "StructureDefinition-x.json").unlink()
    files = [{"filename": "../../outside.json", "resourceType": "StructureDefinition", "url": URL}]
    (inner / ".index.json").write_text(json.dumps({"files": files}))
    assert "fhir.profiles.missing" not in codes(patient(meta={"profile": [URL]}, name=None), replace(PLAIN, packages=(folder,)))


def test_a_code_that_a_system_may_have_got_since_breaks_no_binding_of_a_profile(tmp_path: Path) -> None:
    roles = "http://terminology.hl7.org/CodeSystem/v3-RoleCode"
    profile = MEMBER | {"differential": {"element": [element("Patient.maritalStatus", binding={"strength": "required", "valueSet": SET})]}}
    values = {"resourceType": "ValueSet", "url": SET, "compose": {"include": [{"system": roles}]}}
    (tmp_path / "profile.json").write_text(json.dumps(profile))
    (tmp_path / "values.json").write_text(json.dumps(values))
    asked = replace(PLAIN, profiles=(URL,), packages=(tmp_path / "profile.json", tmp_path / "values.json"))
    for system, code, said in ((roles, "FTH", set()), (roles, "no-such-role", set()), ("http://other.test/codes", "FTH", {"fhir.profiles.binding"})):
        assert codes(patient(maritalStatus={"coding": [{"system": system, "code": code}]}), asked) == said
    unknown = report(patient(maritalStatus={"coding": [{"system": roles, "code": "no-such-role"}]}), asked)
    assert f"binding {SET}" in {one.check for one in unknown.not_checked}
