"""Extensions that derive from others, slices by what a reference finds, default slices, parts of elements of other versions, contained canonicals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.scorers.clinical.fhir.resources import DIV, PLAIN, codes, definition, observation, patient

HL7, HERE = "http://hl7.org/fhir/StructureDefinition/", "http://a.test/"


def extension(name: str, *elements: dict[str, Any], base: str = HL7 + "Extension") -> dict[str, Any]:
    root = {"id": "Extension", "path": "Extension"}
    url = {"id": "Extension.url", "path": "Extension.url", "fixedUri": HERE + name}
    facts = {"type": "Extension", "kind": "complex-type", "url": HERE + name, "baseDefinition": base, "context": [{"type": "element", "expression": "Patient"}]}
    return definition(**facts, differential={"element": [root, url, *elements]})


def value(**facts: Any) -> dict[str, Any]:
    return {"id": "Extension.value[x]", "path": "Extension.value[x]"} | facts


def part(name: str, **facts: Any) -> list[dict[str, Any]]:
    return [
        {"id": f"Extension.extension:{name}", "path": "Extension.extension", "sliceName": name, "min": 1, "max": "1"},
        {"id": f"Extension.extension:{name}.url", "path": "Extension.extension.url", "fixedUri": name},
        {"id": f"Extension.extension:{name}.value[x]", "path": "Extension.extension.value[x]"} | facts,
    ]


LABEL = extension("label", {"id": "Extension.extension", "path": "Extension.extension", "max": "0"}, value(min=1, type=[{"code": "string"}]))
SHORT = extension("short", value(maxLength=4), base=HERE + "label")
PAIR = extension("pair", *part("left", type=[{"code": "string"}]), *part("right", type=[{"code": "integer"}]))
NARROW = extension("narrow", {"id": "Extension.extension:right.value[x]", "path": "Extension.extension.value[x]", "minValueInteger": 5}, base=HERE + "pair")
LEFT = {"url": "left", "valueString": "a"}


def told(folder: Path, resource: dict[str, Any], *definitions: dict[str, Any], profiles: tuple[str, ...] = ()) -> set[str]:
    for number, one in enumerate(definitions):
        (folder / f"StructureDefinition-{number}.json").write_text(json.dumps(one))
    return codes(resource, replace(PLAIN, packages=(folder,), profiles=profiles))


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ({"url": HERE + "short", "valueString": "four"}, set()),
        ({"url": HERE + "label", "valueString": "longer"}, set()),
        ({"url": HERE + "short", "valueString": "longer"}, {"fhir.profiles.length"}),
        ({"url": HERE + "short", "valueInteger": 1}, {"fhir.profiles.type"}),
        ({"url": HERE + "narrow", "extension": [LEFT, {"url": "right", "valueInteger": 5}]}, set()),
        ({"url": HERE + "narrow", "extension": [LEFT, {"url": "right", "valueInteger": 4}]}, {"fhir.profiles.range"}),
        ({"url": HERE + "narrow", "extension": [{"url": "right", "valueInteger": 5}]}, {"fhir.profiles.slice-missing"}),
        ({"url": HERE + "narrow", "extension": [LEFT, {"url": "right", "valueString": "5"}]}, {"fhir.profiles.type"}),
        ({"url": HERE + "narrow", "extension": [LEFT, {"url": "right", "valueInteger": 5}, {"url": "up", "valueString": "a"}]}, {"fhir.extensions.part"}),
    ],
)
def test_a_derived_extension_keeps_what_its_base_states_but_for_the_url(tmp_path: Path, used: dict[str, Any], expected: set[str]) -> None:
    assert told(tmp_path, patient(extension=[used]), LABEL, SHORT, PAIR, NARROW) == expected


CALM = extension("calm", value(fixedString="calm"), base=HERE + "label")
CALM["differential"]["element"][1].pop("fixedUri")  # it keeps the url of what it is derived from
OF_CALM = definition(
    {"id": "Patient.extension:mood", "path": "Patient.extension", "sliceName": "mood", "type": [{"code": "Extension", "profile": [HERE + "calm"]}]}
)


@pytest.mark.parametrize(("text", "expected"), [("calm", set()), ("cross", {"fhir.profiles.fixed"})])
def test_a_profile_may_ask_for_a_derived_extension_under_the_url_of_its_base(tmp_path: Path, text: str, expected: set[str]) -> None:
    used = [{"url": HERE + "label", "valueString": text}]
    assert told(tmp_path, patient(extension=used), LABEL, CALM, OF_CALM, profiles=("http://a.test/sd",)) == expected


CATEGORY = "Observation.category"
SLICED = definition(
    {"id": CATEGORY, "path": CATEGORY, "slicing": {"discriminator": [{"type": "pattern", "path": "$this"}], "rules": "closed"}},
    {"id": CATEGORY + ":lab", "path": CATEGORY, "sliceName": "lab", "patternCodeableConcept": {"coding": [{"code": "laboratory"}]}},
    {"id": CATEGORY + ":@default", "path": CATEGORY, "sliceName": "@default"},
    {"id": CATEGORY + ":@default.text", "path": CATEGORY + ".text", "min": 1},
    type="Observation",
    baseDefinition=HL7 + "Observation",
)
LAB = {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/observation-category", "code": "laboratory"}]}


@pytest.mark.parametrize(("categories", "expected"), [([LAB], set()), ([LAB, {"text": "x"}], set()), ([LAB, {"id": "x"}], {"fhir.profiles.missing"})])
def test_what_is_in_no_other_slice_is_in_the_default_slice(tmp_path: Path, categories: list[dict[str, Any]], expected: set[str]) -> None:
    found = told(tmp_path, observation(category=categories), SLICED, profiles=("http://a.test/sd",))
    assert {code for code in found if "profiles" in code} == expected


PERFORMER = "Observation.performer"
ACTIVE = definition(
    {"id": "Practitioner.active", "path": "Practitioner.active", "min": 1, "fixedBoolean": True},
    type="Practitioner",
    baseDefinition=HL7 + "Practitioner",
    url=HERE + "active",
)
BY_TARGET = definition(
    {"id": PERFORMER, "path": PERFORMER, "slicing": {"discriminator": [{"type": "value", "path": "resolve().active"}], "rules": "open"}},
    {"id": PERFORMER + ":one", "path": PERFORMER, "sliceName": "one", "min": 1, "type": [{"code": "Reference", "targetProfile": [HERE + "active"]}]},
    type="Observation",
    baseDefinition=HL7 + "Observation",
)


@pytest.mark.parametrize(("active", "breach"), [((True,), False), ((False, True), False), ((False,), True), ((), True)])
def test_a_slice_may_be_decided_by_an_element_of_what_a_reference_finds(tmp_path: Path, active: tuple[bool, ...], breach: bool) -> None:
    inside = [{"resourceType": "Practitioner", "id": f"p{number}", "active": one} for number, one in enumerate(active)]
    made = observation(contained=inside or None, performer=[{"reference": f"#{one['id']}"} for one in inside] or None)
    assert ("fhir.profiles.slice-missing" in told(tmp_path, made, BY_TARGET, ACTIVE, profiles=("http://a.test/sd",))) is breach


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"url": "specification", "valueCodeableConcept": {"text": "x"}}, set()),
        ({"url": "version", "valueString": "1"}, set()),
        ({"url": "specification", "valueString": "x"}, {"fhir.extensions.type"}),
        ({"url": "colour", "valueString": "x"}, {"fhir.extensions.part"}),
    ],
)
def test_a_part_of_an_element_of_another_version_has_a_type_of_that_element(given: dict[str, Any], expected: set[str]) -> None:
    conforms = {"url": "http://hl7.org/fhir/5.0/StructureDefinition/extension-Device.conformsTo", "extension": [given]}
    assert codes({"resourceType": "Device", "id": "d", "extension": [conforms]}) == expected


@pytest.mark.parametrize(("kind", "expected"), [("Questionnaire", set()), ("ValueSet", {"fhir.canonicals.type"})])
def test_a_contained_resource_is_of_a_type_that_the_canonical_allows(kind: str, expected: set[str]) -> None:
    inner = {"resourceType": kind, "id": "c", "status": "active"}
    made = {"resourceType": "QuestionnaireResponse", "id": "r", "status": "completed", "contained": [inner], "questionnaire": "#c"}
    assert codes(made) == expected


def test_a_contained_resource_that_only_the_narrative_shows_is_referred_to() -> None:
    picture = {"resourceType": "Binary", "id": "pic", "contentType": "image/png", "data": "AAAA"}
    shown = {"status": "generated", "div": DIV.replace("Made", '<img src="#pic" alt="x"/> Made')}
    assert codes(patient(contained=[picture], text=shown)) == set()
    assert codes(patient(contained=[picture])) == {"fhir.invariants.dom-3"}
