"""Messages name what is wrong, and never a name that may be patient text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.scorers.clinical.fhir.resources import observation, patient, report
from touchstone.scorers.clinical import validate_document
from touchstone.scorers.clinical.formats.fhir import Options, extensions
from touchstone.scorers.clinical.formats.fhir.names import meant
from touchstone.scorers.clinical.formats.fhir.options import PER_CODE_MAX
from touchstone.scorers.clinical.formats.fhir.profiles.constraints import Constraint
from touchstone.scorers.clinical.formats.fhir.profiles.message_texts import slice_text
from touchstone.scorers.clinical.report import Context

URL = "http://hospital.example.net/StructureDefinition/lab"
CATEGORIES = "http://terminology.hl7.org/CodeSystem/observation-category"
UCUM = "http://unitsofmeasure.org"


def messages(resource: dict[str, Any], code: str, *, quote: bool = False) -> list[str]:
    context = Context(quote=quote)
    from touchstone.scorers.clinical.formats.fhir import validate_resource

    return [one.message for one in validate_resource(resource, context, Options(marks=False, installed_packages=False)).findings if one.code == code]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nane", "name"), ("gendre", "gender"), ("birthdate", "birthDate"), ("familly", "family"), ("_gener", "gender"), ("adress", "address"),
        ("identifer", "identifier"), ("naem", "name"),
        ("Kate", None), ("Jane", None), ("Mrs Smith of Boston", None), ("Smith", None), ("", None), ("x" * 900, None),
    ],
)  # fmt: skip
def test_a_misspelled_name_is_recognised_and_the_name_of_a_person_is_not(name: str, expected: str | None) -> None:
    assert meant(name, ["name", "gender", "birthDate", "family", "address", "identifier", "contact", "date", "rate"]) == expected


def test_an_unknown_element_is_named_if_its_name_cannot_be_of_a_patient() -> None:
    found = messages({"resourceType": "Patient", "nane": 1, "status": "active", "Jane Roe": 1}, "fhir.structure.unknown-element")
    assert found == [
        "FHIR R4 has no element nane in Patient; did you mean name?",
        "FHIR R4 has no element status in Patient",
        "FHIR R4 has no such element in Patient; its name is left out, because it may be patient text; --quote shows it",
    ]
    assert any("JaneRoe" in one for one in messages({"resourceType": "Patient", "JaneRoe": 1}, "fhir.structure.unknown-element", quote=True))


def test_an_element_whose_name_is_hidden_is_found_by_its_line() -> None:
    text = '{\n"resourceType": "Patient",\n"status": "active",\n"nane": [],\n"Jane Roe": 1,\n"gender": "female"}'
    (line,) = [one.line for one in validate_document(text).report.findings if one.path == "Patient.?"]
    assert line == 5


def test_a_link_inside_the_narrative_is_numbered_and_named_only_if_quoting_is_allowed() -> None:
    div = '<div xmlns="http://www.w3.org/1999/xhtml"><p id="here"/><a href="#here">x</a><a href="#smith">x</a></div>'
    narrated = patient(text={"status": "generated", "div": div})
    (message,) = messages(narrated, "fhir.narrative.link")
    assert message.startswith("link 2 of 2 inside this narrative leads nowhere")
    assert "smith" not in message
    assert "#smith" in messages(narrated, "fhir.narrative.link", quote=True)[0]


def test_a_part_that_an_extension_does_not_have_is_named_by_the_same_rule() -> None:
    nationality = "http://hl7.org/fhir/StructureDefinition/patient-nationality"
    parts = [{"url": name, "valueCodeableConcept": {"text": "x"}} for name in ("coed", "status", "Jane Roe")]
    found = messages(patient(extension=[{"url": nationality, "extension": parts}]), "fhir.extensions.part")
    assert [one.partition(" is no part")[0] for one in found] == [
        "the part coed",
        "the part status",
        "a part (its name is left out, because it may be patient text; --quote shows it)",
    ]
    assert all(one.endswith("its definition has: code, period") for one in found)


def test_a_telephone_without_a_system_is_one_fault(package: Options) -> None:
    found = report({**lab(), "contained": [{"resourceType": "Patient", "id": "p", "telecom": [{"value": "555"}]}]}, package).findings
    assert [one.code for one in found if "telecom" in one.path] == ["fhir.invariants.cpt-2"]


def lab(**changes: Any) -> dict[str, Any]:
    return observation(meta={"profile": [URL]}, subject={"reference": "#p"}, contained=[{"resourceType": "Patient", "id": "p"}], **changes)


@pytest.fixture
def package(tmp_path: Path) -> Options:
    """A profile that asks for a category of a slice, in a package."""
    folder = tmp_path / "lab.test#1.2.3" / "package"
    folder.mkdir(parents=True)
    coding = {"system": CATEGORIES, "code": "laboratory"}
    elements: list[dict[str, Any]] = [
        {"id": "Observation", "path": "Observation"},
        {"id": "Observation.category", "path": "Observation.category", "slicing": {"discriminator": [{"type": "pattern", "path": "$this"}], "rules": "open"}},
        {"id": "Observation.category:Lab", "path": "Observation.category", "sliceName": "Lab", "min": 1, "patternCodeableConcept": {"coding": [coding]}},
        {"id": "Observation.category:Two", "path": "Observation.category", "sliceName": "Two", "min": 1},
        {"id": "Observation.category:Two.coding", "path": "Observation.category.coding", "min": 1},
        {"id": "Observation.category:Two.coding.system", "path": "Observation.category.coding.system", "min": 1, "fixedUri": CATEGORIES},
        {"id": "Observation.category:Two.coding.code", "path": "Observation.category.coding.code", "min": 1, "fixedCode": "exam"},
    ]
    telecom = [{"id": "Patient", "path": "Patient"}, {"id": "Patient.telecom.system", "path": "Patient.telecom.system", "min": 1}]
    for kind, url, given in (("Observation", URL, elements), ("Patient", f"{URL}-patient", telecom)):
        definition = {
            "resourceType": "StructureDefinition", "url": url, "version": "1.2.3", "name": "Lab", "status": "active", "kind": "resource",
            "abstract": False, "type": kind, "derivation": "constraint", "baseDefinition": f"http://hl7.org/fhir/StructureDefinition/{kind}",
            "differential": {"element": given},
        }  # fmt: skip
        (folder / f"StructureDefinition-{url.rpartition('/')[2]}.json").write_text(json.dumps(definition), encoding="utf-8")
    (folder / "package.json").write_text('{"name": "lab.test", "version": "1.2.3"}', encoding="utf-8")
    return Options(marks=False, installed_packages=False, packages=(tmp_path,), profiles=(f"{URL}-patient",))


def test_a_missing_slice_names_the_profile_with_its_version_and_the_code_that_the_slice_fixes(package: Options) -> None:
    first, second = [one for one in report(lab(category=None), package).findings if one.code == "fhir.profiles.slice-missing"]
    assert first.message == f"profile lab|1.2.3 asks for at least 1 category of the slice Lab ({CATEGORIES}#laboratory); found 0"
    assert first.suggestion == f"Add category of the slice Lab ({CATEGORIES}#laboratory)"
    assert second.suggestion == f"Add category of the slice Two ({CATEGORIES}#exam)"


def test_a_missing_category_of_vital_signs_names_its_code() -> None:
    vital = observation(code={"coding": [{"system": "http://loinc.org", "code": "8867-4"}]})
    found = [one.suggestion for one in report(vital, Options(marks=False, installed_packages=False)).findings if one.code == "fhir.profiles.slice-missing"]
    assert found == [f"Add category of the slice VSCat ({CATEGORIES}#vital-signs)"]


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [
        ({"unit": "mmHg"}, [("minor", "units.label")]),
        ({"unit": "mm of mercury", "system": UCUM, "code": "mm[Hg]"}, []),
        ({"unit": "mmHg", "system": UCUM, "code": "mmHg"}, [("major", "units.invalid")]),
        ({"unit": "mmHg", "system": "http://snomed.info/sct", "code": "259018001"}, []),
        ({"unit": "mm[Hg]"}, []),
        ({"unit": "mmHg", "code": "mmHg"}, []),
    ],
)
def test_only_a_code_of_ucum_is_invalid_ucum(quantity: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    found = report(observation(code={"text": "x"}, valueQuantity={"value": 1, **quantity}), Options(marks=False, installed_packages=False)).findings
    assert [(one.severity, one.code) for one in found if one.code.startswith("units.")] == expected


def test_names_of_parts_are_compared_only_while_a_finding_may_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def counted(name: str, known: Any) -> str | None:
        compared.append(name)
        return meant(name, known)

    monkeypatch.setattr(extensions, "meant", counted)
    parts = [{"url": f"coed{number}", "valueString": "x"} for number in range(500)]
    value = {"url": "http://hl7.org/fhir/StructureDefinition/patient-nationality", "extension": parts}
    found = report(patient(extension=[value] * 3), Options(marks=False)).counts()

    assert found["fhir.extensions.part", "major"] == 1_500
    assert len(compared) <= 4 * PER_CODE_MAX


def test_a_missing_part_of_an_extension_is_named_by_its_url() -> None:
    cut = Constraint("extension", "extension", children={"url": Constraint("url", "url", fixed="ombCategory")})
    assert slice_text("omb", cut) == "with the url ombCategory"
    assert slice_text("omb", Constraint("extension", "extension")) == "of the slice omb"
