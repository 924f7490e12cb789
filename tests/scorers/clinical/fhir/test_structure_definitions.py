from __future__ import annotations

from typing import Any

import pytest

from tests.scorers.clinical.fhir.resources import codes, definition, patient, report
from touchstone.scorers.clinical.formats.fhir import is_valid
from touchstone.scorers.clinical.formats.fhir.structure_definitions import fields_at

Json = dict[str, Any]


def element(path: str, **facts: Any) -> Json:
    return {"id": path, "path": path} | facts


@pytest.mark.parametrize(
    "good",
    [
        element("Patient.name", min=1, max="1"),
        element("Patient.name.given", max="2"),
        element("Patient.deceased[x]", type=[{"code": "boolean"}]),
        element("Patient.deceasedBoolean", fixedBoolean=False),
        element("Patient.contact.name.family", patternString="a"),
        element("Patient.extension", max="*"),
        element("Patient.contained", type=[{"code": "Organization"}]),
        element("Patient.birthDate", fixedDate="2020"),
    ],
)
def test_a_profile_may_narrow_what_its_type_has(good: Json) -> None:
    assert is_valid(report(definition(good))), report(definition(good)).findings


@pytest.mark.parametrize(
    "bad",
    [
        element("Patient.nome"),
        element("Patient.name.nome"),
        element("Patient.birthDate", max="2"),
        element("Patient.birthDate", max="*"),
        element("Patient.birthDate", type=[{"code": "Quantity"}]),
        element("Patient.birthDate", fixedString="a"),
        element("Patient.gender", patternCoding={"code": "a"}),
    ],
)
def test_a_profile_cannot_have_what_its_type_has_not(bad: Json) -> None:
    assert codes(definition(bad)) == {"fhir.definitions.element"}


def test_ids_of_elements_differ_and_a_derivation_is_stated() -> None:
    assert "fhir.definitions.element" in codes(definition(element("Patient.name"), element("Patient.name")))
    assert codes(definition(derivation=None)) == {"fhir.definitions.element"}


def test_what_lies_below_an_open_type_is_not_followed() -> None:
    assert fields_at("Bundle.entry.resource.foo") is None
    assert fields_at("Patient.contact.relationship.coding.code") != []


def test_the_context_of_an_extension_exists() -> None:
    url = "http://a.test/sd"
    facts = {"type": "Extension", "kind": "complex-type", "baseDefinition": "http://hl7.org/fhir/StructureDefinition/Extension"}
    elements = {"element": [element("Extension"), element("Extension.url", fixedUri=url)]}
    for expression, expected in (("Patient.contact", set()), ("HumanName", set()), ("Foo.bar", {"fhir.definitions.context"})):
        made = definition(**facts, differential=elements, context=[{"type": "element", "expression": expression}])
        assert codes(made) == expected


def code_system(**changes: Any) -> Json:
    return {"resourceType": "CodeSystem", "url": "http://a.test/cs", "name": "C", "status": "draft", "content": "complete"} | changes


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (code_system(content="supplement", concept=[{"code": "a"}]), "fhir.definitions.content"),
        (code_system(content="not-present", concept=[{"code": "a"}]), "fhir.definitions.content"),
        (code_system(supplements="http://example.org/s", concept=[{"code": "a"}]), "fhir.definitions.content"),
        (
            code_system(property=[{"code": "p", "type": "integer"}], concept=[{"code": "a", "property": [{"code": "p", "valueString": "x"}]}]),
            "fhir.definitions.property",
        ),
    ],
)
def test_a_code_system_says_of_its_content_what_is_so(made: Json, code: str) -> None:
    assert codes(made) == {code}
    assert codes(code_system(concept=[{"code": "a"}])) == set()


@pytest.mark.parametrize(
    ("include", "code"),
    [
        ({"system": "http://hl7.org/fhir/ValueSet/administrative-gender"}, "fhir.definitions.system"),
        ({"system": "http://hl7.org/fhir/administrative-gender", "filter": [{"property": "concept", "op": "is-a", "value": "man"}]}, "fhir.definitions.filter"),
    ],
)
def test_a_value_set_includes_code_systems_and_filters_by_their_codes(include: Json, code: str) -> None:
    assert code in codes({"resourceType": "ValueSet", "name": "V", "status": "draft", "compose": {"include": [include]}})


def test_a_fragment_names_a_contained_resource() -> None:
    question = {"linkId": "1", "type": "choice", "answerValueSet": "#v"}
    questions = {"resourceType": "Questionnaire", "status": "draft", "item": [question]}
    assert codes(questions) == {"fhir.canonicals.fragment"}
    assert codes(questions | {"contained": [{"resourceType": "ValueSet", "id": "v", "status": "draft"}]}) == set()


def test_a_resource_cannot_claim_to_be_of_another_type() -> None:
    claim = {"profile": ["http://hl7.org/fhir/StructureDefinition/Observation"]}
    assert codes(patient(meta=claim)) == {"fhir.profiles.type"}
    assert codes(patient(meta={"profile": ["http://hl7.org/fhir/StructureDefinition/Patient"]})) == set()
