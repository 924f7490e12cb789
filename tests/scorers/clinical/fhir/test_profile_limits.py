"""Profiles: bounds of values, greatest value sets, slices by profile and by what is referred to, extensions held to their definitions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scorers.clinical.formats.fhir import Options
from tests.scorers.clinical.fhir.resources import PLAIN, codes, observation, patient

URL = "http://profiles.test/StructureDefinition/"
BASE = "http://hl7.org/fhir/StructureDefinition/"


def element(identity: str, **facts: Any) -> dict[str, Any]:
    return {"id": identity, "path": ".".join(part.split(":")[0] for part in identity.split(".")), **facts}


def profile(name: str, kind: str, *elements: dict[str, Any], version: str = "1.0.0") -> dict[str, Any]:
    facts = {"kind": "resource", "derivation": "constraint", "baseDefinition": BASE + kind, "version": version}
    return {"resourceType": "StructureDefinition", "url": URL + name, "type": kind, **facts, "differential": {"element": list(elements)}}


def sliced(kind: str, path: str, rules: str = "open") -> dict[str, Any]:
    return {"discriminator": [{"type": kind, "path": path}], "rules": rules}


@pytest.fixture
def asking(tmp_path: Path) -> Any:
    """Options that ask for the first of some profiles, with all of them at hand."""

    def made(*definitions: dict[str, Any], ask: str | None = None) -> Options:
        files = []
        for number, one in enumerate(definitions):
            files.append(tmp_path / f"{number}.json")
            files[-1].write_text(json.dumps(one))
        return replace(PLAIN, packages=tuple(files), profiles=(ask or definitions[0]["url"],))

    return made


@pytest.mark.parametrize(("value", "told"), [(1, False), (999, False), (1000, True), (0.5, True)])
def test_a_value_stays_between_the_bounds_of_the_profile(asking: Any, value: float, told: bool) -> None:
    options = asking(profile("lab", "Observation", element("Observation.value[x].value", minValueDecimal=1, maxValueDecimal=999)))
    assert ("fhir.profiles.range" in codes(observation(valueQuantity={"value": value, "unit": "mg"}), options)) is told


def test_a_value_is_no_longer_than_the_profile_allows(asking: Any) -> None:
    options = asking(profile("short", "Patient", element("Patient.name.family", maxLength=5)))
    assert codes(patient(name=[{"family": "Abcde"}]), options) == set()
    assert codes(patient(name=[{"family": "Abcdef"}]), options) == {"fhir.profiles.length"}


def test_no_code_leaves_the_greatest_value_set_however_weak_the_binding(asking: Any) -> None:
    greatest = {"url": BASE + "elementdefinition-maxValueSet", "valueCanonical": "http://hl7.org/fhir/ValueSet/administrative-gender"}
    bound = {"strength": "preferred", "valueSet": "http://profiles.test/ValueSet/unknown", "extension": [greatest]}
    options = asking(profile("most", "Basic", element("Basic.code", binding=bound)))
    coding = {"system": "http://hl7.org/fhir/administrative-gender", "code": "male"}
    assert codes({"resourceType": "Basic", "code": {"coding": [coding]}}, options) == set()
    assert "fhir.profiles.binding" in codes({"resourceType": "Basic", "code": {"coding": [coding | {"system": "http://a.example/s"}]}}, options)


def test_a_version_may_name_the_first_parts_of_one(asking: Any) -> None:
    named = profile("named", "Patient", element("Patient.photo", min=1), version="0.2.1")
    assert "fhir.profiles.missing" in codes(patient(), asking(named, ask=f"{URL}named|0.2"))
    assert "fhir.profiles.missing" not in codes(patient(), asking(named, ask=f"{URL}named|0.20"))


def _list(*types: str) -> dict[str, Any]:
    contained = [{"resourceType": kind, "id": f"r{number}", "name": [{"text": "x"}] if kind == "Patient" else "x"} for number, kind in enumerate(types)]
    entries = [{"item": {"reference": f"#r{number}"}} for number in range(len(types))]
    return {"resourceType": "List", "status": "current", "mode": "working", "contained": contained, "entry": entries}


@pytest.mark.parametrize("kind", ["type", "profile"])
def test_slices_are_told_apart_by_what_is_referred_to(asking: Any, kind: str) -> None:
    cut = element("List.entry:someone.item", min=1, type=[{"code": "Reference", "targetProfile": [BASE + "Patient"]}])
    people = profile("people", "List", element("List.entry", slicing=sliced(kind, "item.resolve()")), element("List.entry:someone", min=1, max="1"), cut)
    assert codes(_list("Patient", "Organization"), asking(people)) == set()
    assert codes(_list("Organization"), asking(people)) == {"fhir.profiles.slice-missing"}
    assert codes(_list("Patient", "Patient"), asking(people)) == {"fhir.profiles.slice-too-many"}


def test_entries_are_told_apart_by_the_profile_that_they_conform_to(asking: Any) -> None:
    named = profile("named", "Patient", element("Patient.name", min=1))
    cut = element("Bundle.entry:named.resource", min=1, type=[{"code": "Patient", "profile": [URL + "named"]}])
    bundle = profile("bundle", "Bundle", element("Bundle.entry", slicing=sliced("profile", "resource")), element("Bundle.entry:named", min=1), cut)
    entry = {"fullUrl": "urn:uuid:c757873d-ec9a-4326-a141-556f43239520", "resource": patient()}
    good = {"resourceType": "Bundle", "type": "collection", "entry": [entry]}
    assert codes(good, asking(bundle, named)) == set()
    assert codes(good | {"entry": [entry | {"resource": patient(name=None)}]}, asking(bundle, named)) == {"fhir.profiles.slice-missing"}


def test_a_contained_resource_conforms_to_a_profile_that_may_be_referred_to(asking: Any) -> None:
    named = profile("named", "Organization", element("Organization.name", min=1))
    target = element("Patient.managingOrganization", type=[{"code": "Reference", "targetProfile": [URL + "named"]}])
    options = asking(profile("patient", "Patient", target), named)
    inner = {"resourceType": "Organization", "id": "o", "identifier": [{"value": "1"}]}
    assert codes(patient(contained=[inner | {"name": "x"}], managingOrganization={"reference": "#o"}), options) == set()
    assert codes(patient(contained=[inner], managingOrganization={"reference": "#o"}), options) == {"fhir.profiles.target"}


def test_an_extension_is_held_to_its_definition_wherever_it_stands(asking: Any) -> None:
    bound = {"strength": "required", "valueSet": "http://hl7.org/fhir/ValueSet/administrative-gender"}
    extension = profile("note", "Extension", element("Extension.url", fixedUri=URL + "note"), element("Extension.value[x]", min=1, binding=bound))
    options = replace(asking(extension), profiles=())
    assert codes(patient(extension=[{"url": URL + "note", "valueCode": "male"}]), options) == set()
    assert codes(patient(extension=[{"url": URL + "note", "valueCode": "x"}]), options) == {"fhir.profiles.binding"}
