"""The configuration's digest changes with what is read of tables, packages, rules and profiles, and with nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.scorers.clinical.hl7v2.nist_profile import written
from touchstone.scorers.clinical.settings import ClinicalSettings, fingerprint

PROFILE_URL = "http://pond.example/StructureDefinition/duck"


def definition(**more: Any) -> str:
    return json.dumps({"resourceType": "StructureDefinition", "url": PROFILE_URL, "name": "Duck", **more})


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def profile_folder(folder: Path) -> dict[str, Any]:
    written(folder)
    return {"hl7v2": {"profiles": [folder]}}


def profile_file(folder: Path) -> dict[str, Any]:
    written(folder)
    return {"hl7v2": {"profiles": [folder / "PROFILE.xml"]}}


def rules_folder(folder: Path) -> dict[str, Any]:
    put(folder / "a.sch", "<schema/>")
    return {"ccda": {"rules": [folder]}}


def loose(folder: Path) -> dict[str, Any]:
    put(folder / "duck.json", definition())
    return {"fhir": {"packages": [folder]}}


def packed(folder: Path) -> dict[str, Any]:
    put(folder / "package" / "package.json", '{"name": "pond", "version": "1.0.0"}')
    put(folder / "package" / "StructureDefinition-duck.json", definition())
    return {"fhir": {"packages": [folder]}}


def several(folder: Path) -> dict[str, Any]:
    packed(folder / "pond#1.0.0")
    packed(folder / "lake#1.0.0")
    return {"fhir": {"packages": [folder]}}


def changed(make: Callable[[Path], dict[str, Any]], folder: Path, file: str, text: str) -> bool:
    """True if the configuration has another digest once a file has another content."""
    folder.mkdir(exist_ok=True)
    given = make(folder)
    before = fingerprint(ClinicalSettings.model_validate(given))
    assert "unreadable" not in str(before)
    put(folder / file, text)
    return fingerprint(ClinicalSettings.model_validate(given)) != before


@pytest.mark.parametrize(
    ("make", "file", "text"),
    [
        (profile_file, "CONSTRAINTS.xml", "<ConformanceContext/>"),
        (profile_folder, "CONSTRAINTS.xml", "<ConformanceContext/>"),
        (profile_folder, "PROFILE.xml", "<ConformanceProfile/>"),
        (profile_folder, "sub/PROFILE.xml", "<ConformanceProfile/>"),
        (rules_folder, "a.sch", "<schema><pattern/></schema>"),
        (rules_folder, "b.sch", "<schema/>"),
        (loose, "duck.json", definition(version="2.0.0")),
        (loose, "goose.json", definition()),
        (packed, "package/package.json", '{"name": "pond", "version": "1.0.1"}'),
        (packed, "package/StructureDefinition-duck.json", definition(version="2.0.0")),
        (several, "pond#1.0.0/package/package.json", '{"name": "pond", "version": "1.0.1"}'),
        (several, "lake#1.0.0/package/StructureDefinition-duck.json", definition(version="2.0.0")),
    ],
)
def test_what_is_read_changes_the_digest(make: Callable[[Path], dict[str, Any]], file: str, text: str, tmp_path: Path) -> None:
    assert changed(make, tmp_path / "at", file, text)


@pytest.mark.parametrize(
    ("make", "file", "text"),
    [
        (profile_file, "sub/other.xml", "<a/>"),
        (profile_file, "sub/PROFILE.xml", "<ConformanceProfile/>"),
        (profile_folder, "sub/other.xml", "<a/>"),
        (profile_folder, "README.md", "x"),
        (rules_folder, "README.md", "x"),
        (loose, "README.md", "x"),
        (loose, "Patient-example.json", "{}"),
        (packed, "package/Patient-example.json", "{}"),
        (packed, "package/example/StructureDefinition-x.json", definition()),
        (several, "notes.txt", "x"),
    ],
)
def test_what_is_not_read_changes_no_digest(make: Callable[[Path], dict[str, Any]], file: str, text: str, tmp_path: Path) -> None:
    assert not changed(make, tmp_path / "at", file, text)


@pytest.mark.parametrize("make", [profile_file, profile_folder, rules_folder, loose, packed, several])
def test_the_same_content_elsewhere_has_the_same_digest(make: Callable[[Path], dict[str, Any]], tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    one, other = (fingerprint(ClinicalSettings.model_validate(make(tmp_path / name))) for name in ("one", "other"))
    assert one == other


def test_what_is_absent_or_holds_too_much_is_named_and_raises_nothing(tmp_path: Path) -> None:
    given = profile_folder(tmp_path)
    assert fingerprint(ClinicalSettings(hl7v2={"profiles": [tmp_path / "none"]}))["hl7v2"] == {"profiles": ["absent"]}
    for number in range(70):
        put(tmp_path / f"{number}.xml", "<a/>")
    assert fingerprint(ClinicalSettings.model_validate(given))["hl7v2"] == {"profiles": ["unreadable"]}
