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
