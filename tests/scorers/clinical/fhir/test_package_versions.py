"""Packages side by side: which version of a definition a claim, or another package, means."""

from __future__ import annotations

import json
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.scorers.clinical.fhir.resources import PLAIN, patient, report
from touchstone.scorers.clinical.formats.fhir import Options, is_valid
from touchstone.scorers.clinical.report import Report

PROFILE = "http://versions.test/StructureDefinition/status"
OTHER = "http://versions.test/StructureDefinition/other"
SET = "http://versions.test/ValueSet/status"
SYSTEM = "http://versions.test/CodeSystem/status"


def profile(version: str, *, url: str = PROFILE, base: str = "http://hl7.org/fhir/StructureDefinition/Patient") -> dict[str, Any]:
    element = {"id": "Patient.maritalStatus", "path": "Patient.maritalStatus", "min": 1, "binding": {"strength": "required", "valueSet": SET}}
    differential = {"element": [element] if url == PROFILE else []}
    kind = {"kind": "resource", "type": "Patient", "derivation": "constraint", "baseDefinition": base}
    return {"resourceType": "StructureDefinition", "url": url, "version": version, **kind, "differential": differential}


def value_set(version: str, *allowed: str) -> dict[str, Any]:
    include = {"system": SYSTEM, "concept": [{"code": code} for code in allowed]}
    return {"resourceType": "ValueSet", "url": SET, "version": version, "compose": {"include": [include]}}


def installed(folder: Path, name: str, version: str, *definitions: dict[str, Any], dependencies: dict[str, str] | None = None, archive: bool = False) -> None:
    """Write a package as FHIR tools keep it: a folder, or an archive beside the others."""
    package = folder / f"{name}#{version}" / "package"
    package.mkdir(parents=True)
    (package / "package.json").write_text(json.dumps({"name": name, "version": version, "dependencies": dependencies or {}}))
    for number, one in enumerate(definitions):
        (package / f"definition{number}.json").write_text(json.dumps(one))
    if archive:
        with tarfile.open(folder / f"{name}-{version}.tgz", "w:gz") as packed:
            packed.add(package, "package")
        for path in package.iterdir():
            path.unlink()
        package.rmdir()
        package.parent.rmdir()


@pytest.fixture(params=[False, True], ids=["folders", "archives"])
def asked(request: pytest.FixtureRequest, tmp_path: Path) -> Options:
    """Two versions of one package, and two versions of another that depends on them."""
    archive = bool(request.param)
    installed(tmp_path, "versions.test", "1.0.0", profile("1.0.0"), value_set("1.0.0", "old"), archive=archive)
    installed(tmp_path, "versions.test", "2.0.0", profile("2.0.0"), value_set("2.0.0", "new"), archive=archive)
    for version in ("1.0.0", "2.0.0"):
        wrapper = profile(version, url=OTHER, base=PROFILE)
        installed(tmp_path, "other.test", version, wrapper, dependencies={"versions.test": version}, archive=archive)
    return replace(PLAIN, packages=(tmp_path,))


def told(found: Report) -> set[str]:
    return {one.code for one in found.findings}


def claiming(canonical: str, code: str) -> dict[str, Any]:
    return patient(meta={"profile": [canonical]}, maritalStatus={"coding": [{"system": SYSTEM, "code": code}]})


@pytest.mark.parametrize("url", [PROFILE, OTHER], ids=["its own", "of the package that it depends on"])
@pytest.mark.parametrize(
    ("version", "code", "valid"),
    [("|1.0.0", "old", True), ("|2.0.0", "new", True), ("", "new", True), ("|1.0.0", "new", False), ("|2.0.0", "old", False), ("", "old", False)],
)
def test_a_profile_of_one_version_means_the_value_set_of_that_version(asked: Options, url: str, version: str, code: str, valid: bool) -> None:
    found = report(claiming(url + version, code), asked)
    assert is_valid(found) is valid
    assert ("fhir.profiles.binding" in told(found)) is not valid


def test_a_claim_of_a_version_that_is_not_at_hand_is_not_checked_by_another(asked: Options) -> None:
    found = report(claiming(f"{PROFILE}|3.0.0", "neither"), asked)
    assert is_valid(found)
    assert any("profile" in one for one in map(str, found.not_checked))


def test_a_broken_file_of_the_system_beside_definitions_hides_no_definition(tmp_path: Path) -> None:
    installed(tmp_path, "versions.test", "1.0.0", profile("1.0.0"), value_set("1.0.0", "old"))
    package = tmp_path / "versions.test#1.0.0" / "package"
    (package / "._definition0.json").write_bytes(b"\x00\x05\x16")
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as packed:
        packed.add(package, "package")
    found = report(claiming(PROFILE, "new"), replace(PLAIN, packages=(tmp_path / "a.tgz",)))
    assert "fhir.profiles.binding" in told(found)


@pytest.mark.parametrize(("asked_for", "allowed"), [("1.0.x", "old"), ("1.0.0", "old"), ("2.x", "new"), ("current", "new"), ("latest", "new")])
def test_a_dependency_may_name_a_range_or_the_newest(asked_for: str, allowed: str, tmp_path: Path) -> None:
    installed(tmp_path, "versions.test", "1.0.0", value_set("1.0.0", "old"))
    installed(tmp_path, "versions.test", "2.0.0", value_set("2.0.0", "new"))
    installed(tmp_path, "other.test", "1.0.0", profile("1.0.0"), dependencies={"versions.test": asked_for})
    options = replace(PLAIN, packages=(tmp_path,))
    for code in ("old", "new"):
        told = report(patient(meta={"profile": [PROFILE]}, maritalStatus={"coding": [{"system": SYSTEM, "code": code}]}), options)
        assert is_valid(told) is (code == allowed)


def search(kind: str) -> dict[str, Any]:
    return {"resourceType": "SearchParameter", "url": "http://versions.test/SearchParameter/eye", "version": "1.0.0", "code": "eye", "type": kind}


def capabilities(kind: str) -> dict[str, Any]:
    asked = {"name": "eye", "type": kind, "definition": "http://versions.test/SearchParameter/eye"}
    rest = [{"mode": "server", "resource": [{"type": "Patient", "searchParam": [asked]}]}]
    stated = {"status": "active", "date": "2020-01-01", "kind": "instance", "fhirVersion": "4.0.1", "format": ["json"]}
    return {"resourceType": "CapabilityStatement", **stated, "implementation": {"description": "x"}, "rest": rest}


@pytest.mark.parametrize(("kind", "is_same"), [("token", True), ("string", False), ("date", False)])
def test_search_parameters_of_packages_are_used_where_a_capability_statement_names_them(kind: str, *, is_same: bool, tmp_path: Path) -> None:
    installed(tmp_path, "versions.test", "1.0.0", search("token"))
    told = [one for one in report(capabilities(kind), replace(PLAIN, packages=(tmp_path,))).findings if one.code == "fhir.definitions.search"]
    assert (told == []) is is_same
    assert [one for one in report(capabilities(kind), PLAIN).findings if one.code == "fhir.definitions.search"] == []


@pytest.mark.parametrize(("kind", "is_same"), [("token", True), ("string", False), ("date", False)])
def test_a_search_parameter_is_compared_with_that_of_a_package_it_is_derived_from(kind: str, *, is_same: bool, tmp_path: Path) -> None:
    installed(tmp_path, "versions.test", "1.0.0", search("token"))
    stated = {"name": "Eye", "status": "active", "description": "x", "base": ["Patient"], "expression": "Patient.gender"}
    derived = search(kind) | stated | {"url": "http://other.test/SearchParameter/eye", "derivedFrom": search("token")["url"]}
    told = [one for one in report(derived, replace(PLAIN, packages=(tmp_path,))).findings if one.code == "fhir.definitions.search"]
    assert (told == []) is is_same
