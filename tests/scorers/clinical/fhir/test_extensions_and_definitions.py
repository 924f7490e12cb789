from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from tests.scorers.clinical.fhir.resources import PLAIN, bundle, codes, found, observation, patient, report
from touchstone.scorers.clinical.formats.fhir import is_valid
from touchstone.scorers.clinical.formats.fhir.tables import definitions

CORE = "http://hl7.org/fhir/StructureDefinition/"
STRICT = replace(PLAIN, extensions="known")


def test_a_known_extension_in_its_place_is_good() -> None:
    assert is_valid(report(patient(extension=[{"url": CORE + "patient-birthPlace", "valueAddress": {"text": "x"}}]), STRICT))
    maiden = {"extension": [{"url": CORE + "humanname-mothers-family", "valueString": "x"}]}
    assert is_valid(report(patient(name=[{"family": "a", "_family": maiden}]), STRICT))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"extension": [{"url": CORE + "patient-birthPlace", "valueString": "x"}]}, "fhir.extensions.type"),
        ({"name": [{"text": "a", "extension": [{"url": CORE + "patient-birthPlace", "valueAddress": {"text": "x"}}]}]}, "fhir.extensions.context"),
        ({"name": [{"text": "a", "extension": [{"url": CORE + "humanname-mothers-family", "valueString": "x"}]}]}, "fhir.extensions.context"),
        ({"modifierExtension": [{"url": CORE + "patient-birthPlace", "valueAddress": {"text": "x"}}]}, "fhir.extensions.modifier"),
        ({"extension": [{"url": CORE + "patient-birthPlace|4.0.1", "valueAddress": {"text": "x"}}]}, "fhir.extensions.url"),
        ({"extension": [{"url": "birthPlace", "valueString": "x"}]}, "fhir.extensions.url"),
        ({"extension": [{"url": CORE + "patient-nationality", "extension": [{"url": "flag", "valueString": "x"}]}]}, "fhir.extensions.part"),
        ({"extension": [{"valueString": "x"}]}, "fhir.structure.missing"),
    ],
)
def test_an_extension_that_its_definition_does_not_allow_is_told(changes: dict[str, Any], code: str) -> None:
    assert code in codes(patient(**changes))


def test_an_extension_without_a_definition_is_not_checked_or_refused_as_asked() -> None:
    unknown = patient(extension=[{"url": "http://vendor.test/x", "valueString": "x"}])
    assert "extensions without a definition" in {one.check for one in report(unknown).not_checked}
    assert codes(unknown, STRICT) == {"fhir.extensions.unknown"}


def test_an_extension_that_hl7_may_have_published_since_is_minor_and_names_the_edition() -> None:
    made = patient(extension=[{"url": CORE + "patient-not-yet-published", "valueString": "x"}])
    told = found(made, "fhir.extensions.unknown")
    assert told.severity == "minor"
    assert re.search(r"HL7's extensions \d+\.\d+\.\d+ of 20\d\d-\d\d-\d\d; a later edition may have it", told.message)
    assert is_valid(report(made))
    assert not is_valid(report(made, STRICT))


def test_what_only_a_later_edition_of_hl7s_extensions_could_allow_is_minor() -> None:
    newer = patient(extension=[{"url": CORE + "patient-knownNonDuplicate", "valueString": "x"}])
    assert "r4" in definitions().extensions[CORE + "patient-knownNonDuplicate"]
    assert definitions().extensions[CORE + "patient-knownNonDuplicate"]["r4"] is False
    told = [one for one in report(newer).findings if one.code.startswith("fhir.extensions.")]
    assert {one.severity for one in told} == {"minor"}
    assert "a later edition may allow it" in told[0].message


def test_what_r4_itself_forbids_of_an_extension_is_a_fault_whatever_later_editions_say() -> None:
    url = next(url for url, known in definitions().extensions.items() if isinstance(known.get("r4"), dict) and known["values"] == ["string"])
    told = found(patient(extension=[{"url": url, "valueBoolean": True}]), "fhir.extensions.type")
    assert told.severity == "major"


ABSENT, PLACE = CORE + "data-absent-reason", CORE + "geolocation"
GEO = [{"url": "latitude", "valueDecimal": 1.5}, {"url": "longitude", "valueDecimal": 2.5}]


@pytest.mark.parametrize("good_first", [True, False])
def test_a_good_extension_hides_no_bad_one_of_the_same_shape(good_first: bool) -> None:
    absent = [{"_family": {"extension": [{"url": ABSENT, "valueCode": code}]}} for code in ("unknown", "bogus")]
    assert "fhir.bindings.required" in codes(patient(name=absent if good_first else absent[::-1]))
    wrong = [{"url": "latitude", "valueString": "1"}, {"url": "longitude", "valueDecimal": 2.5}]
    places = [{"city": "x", "extension": [{"url": PLACE, "extension": parts}]} for parts in (GEO, wrong)]
    assert "fhir.extensions.type" in codes(patient(address=places if good_first else places[::-1]))


SEARCH = {
    "resourceType": "SearchParameter",
    "url": "http://a.example/s",
    "name": "S",
    "status": "draft",
    "description": "x",
    "code": "name",
    "base": ["Organization"],
}
CODES = {"resourceType": "CodeSystem", "name": "C", "status": "draft", "content": "complete"}
QUESTIONS = {"resourceType": "Questionnaire", "name": "Q", "status": "draft"}


HL7 = "http://hl7.org/fhir/"
NAMED = {"definition": HL7 + "SearchParameter/Organization-name", "expression": "name"}


@pytest.mark.parametrize(
    ("definition", "told"),
    [
        ("SearchParameter/Organization-name", None),
        ("SearchParameter/Resource-id", None),
        ("SearchParameter/Observation-code-value-quantity", "composite itself"),
        ("SearchParameter/Observation-value-quantity", "other types of resources"),
    ],
)
def test_a_component_of_a_search_parameter_is_described_by_a_simple_one_for_the_same_resources(definition: str, told: str | None) -> None:
    judged = report(SEARCH | {"type": "composite", "component": [NAMED, NAMED | {"definition": HL7 + definition}]})
    said = [one.message for one in judged.findings if one.code == "fhir.definitions.search"]
    assert [told in one for one in said if told] == ([True] if told else [])
    assert len(said) == (told is not None)


def test_a_component_whose_definition_nobody_has_is_named_as_not_checked() -> None:
    judged = report(SEARCH | {"type": "composite", "component": [NAMED, NAMED | {"definition": "http://a.test/nobody"}]})
    assert "components of search parameters" in {one.check for one in judged.not_checked}


@pytest.mark.parametrize(
    ("resource", "code"),
    [
        (SEARCH | {"type": "composite"}, "fhir.definitions.search"),
        (SEARCH | {"type": "token", "derivedFrom": "http://hl7.org/fhir/SearchParameter/Organization-name"}, "fhir.definitions.search"),
        (SEARCH | {"type": "composite", "component": [NAMED, NAMED | {"expression": "name("}]}, "fhir.definitions.expression"),
        (
            {"resourceType": "ValueSet", "name": "V", "status": "draft", "compose": {"include": [{"system": HL7 + "ValueSet/item-type"}]}},
            "fhir.definitions.system",
        ),
        (CODES | {"count": 2, "concept": [{"code": "a"}]}, "fhir.definitions.count"),
        (
            QUESTIONS | {"item": [{"linkId": "1", "type": "string", "enableWhen": [{"question": "9", "operator": "exists", "answerBoolean": True}]}]},
            "fhir.questionnaires.enable",
        ),
        ({"resourceType": "ValueSet", "name": "V", "status": "draft", "compose": {"include": [{"system": "codes"}]}}, "fhir.codings.system"),
        ({"resourceType": "QuestionnaireResponse", "status": "completed", "questionnaire": "http://hl7.org/fhir/ValueSet/item-type"}, "fhir.canonicals.type"),
        ({"resourceType": "QuestionnaireResponse", "status": "completed", "questionnaire": "my-questions/1"}, "fhir.canonicals.relative"),
    ],
)
def test_a_definition_that_contradicts_itself_or_its_page_is_told(resource: dict[str, Any], code: str) -> None:
    assert code in codes(resource)


def test_html_in_texts_is_an_error_only_where_security_is_asked_for() -> None:
    active = patient(name=[{"text": "<script>x</script>"}])
    assert is_valid(report(active))
    assert codes(active, replace(PLAIN, security=True)) == {"fhir.texts.html"}


def test_example_urls_and_experimental_definitions_can_be_refused() -> None:
    photo = patient(photo=[{"url": "http://example.org/a"}])
    assert codes(photo, replace(PLAIN, example_urls=False)) == {"fhir.texts.example-url"}
    assert codes(QUESTIONS | {"experimental": True}, replace(PLAIN, experimental=False)) == {"fhir.definitions.experimental"}


def test_a_canonical_that_names_a_resource_of_the_same_server_is_minor() -> None:
    resource = {"resourceType": "QuestionnaireResponse", "status": "completed", "questionnaire": "Questionnaire/1"}
    assert found(resource, "fhir.canonicals.relative").severity == "minor"


def test_parts_of_an_extension_are_checked_for_type_and_number() -> None:
    url = "http://hl7.org/fhir/StructureDefinition/patient-animal"
    species = {"url": "species", "valueCodeableConcept": {"text": "dog"}}
    good = {"url": url, "extension": [species]}
    assert codes(patient(extension=[good])) == set()
    assert "fhir.extensions.part-count" in codes(patient(extension=[good | {"extension": [species, species]}]))
    assert "fhir.extensions.part-count" in codes(patient(extension=[good | {"extension": [{"url": "breed", "valueCodeableConcept": {"text": "a"}}]}]))
    assert "fhir.extensions.type" in codes(patient(extension=[good | {"extension": [{"url": "species", "valueString": "dog"}]}]))


def test_codes_of_a_map_belong_to_the_systems_it_maps() -> None:
    group = {"source": "http://hl7.org/fhir/administrative-gender", "target": "http://codes.test", "element": [{"code": "male"}]}
    resource = {"resourceType": "ConceptMap", "name": "M", "status": "draft", "group": [group]}
    assert "fhir.codings.map" not in codes(resource)
    assert "fhir.codings.map" in codes(resource | {"group": [group | {"element": [{"code": "man"}]}]})


def test_codes_of_a_code_system_in_the_document_are_checked() -> None:
    system = {"resourceType": "CodeSystem", "id": "c", "url": "http://codes.test", "status": "draft", "content": "complete", "concept": [{"code": "a"}]}
    for code, expected in (("a", False), ("b", True)):
        coded = observation(code={"coding": [{"system": "http://codes.test", "code": code}]})
        assert ("fhir.codings.unknown" in codes(bundle(system, coded))) is expected


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"expression": "Patient.name | Person.name", "base": ["Patient", "Person"]}, False),
        ({"expression": "Patient.name | Person.name", "base": ["Patient"]}, True),
        ({"expression": "Patient.name.where(use = 'official'", "base": ["Patient"]}, True),
        ({"expression": "(Observation.value as Quantity) | Observation.value.ofType(CodeableConcept)", "base": ["Observation"]}, False),
        ({"expression": "Resource.id", "base": ["Patient"]}, False),
    ],
)
def test_the_expression_of_a_search_parameter_is_fhirpath_over_its_bases(changes: dict[str, Any], wrong: bool) -> None:
    assert ("fhir.definitions.expression" in codes(SEARCH | {"type": "string"} | changes)) is wrong


def test_a_definition_has_an_absolute_url_and_an_extension_fixes_its_own() -> None:
    assert "fhir.canonicals.url" in codes(SEARCH | {"url": "search/1"})
    element = {"id": "Extension.url", "path": "Extension.url", "fixedUri": "http://a.test/other"}
    extension = {
        "resourceType": "StructureDefinition",
        "url": "http://a.test/one",
        "name": "One",
        "status": "draft",
        "kind": "complex-type",
        "abstract": False,
        "type": "Extension",
        "baseDefinition": "http://hl7.org/fhir/StructureDefinition/Extension",
        "derivation": "constraint",
        "differential": {"element": [{"id": "Extension", "path": "Extension"}, element]},
    }
    assert "fhir.definitions.extension-url" in codes(extension)


def test_the_value_of_an_extension_is_from_the_value_set_of_its_definition() -> None:
    absent = CORE + "data-absent-reason"
    assert codes(patient(extension=[{"url": absent, "valueCode": "unknown"}])) == set()
    assert codes(patient(extension=[{"url": absent, "valueCode": "unheard-of"}])) == {"fhir.bindings.required"}


def test_a_version_in_the_url_of_an_extension_that_nobody_knows_is_let_pass() -> None:
    assert codes(patient(extension=[{"url": "http://vendor.test/x|1", "valueString": "x"}])) == set()


@pytest.mark.parametrize(
    "part", [{"population": [{"criteria": {"language": "text/cql"}}]}, {"stratifier": [{"component": [{"criteria": {"language": "text/cql"}}]}]}]
)
def test_a_criterion_in_cql_needs_a_library(part: dict[str, Any]) -> None:
    measure = {"resourceType": "Measure", "status": "draft", "group": [part]}
    assert "fhir.definitions.library" in codes(measure)
    assert "fhir.definitions.library" not in codes(measure | {"library": ["http://a.example/Library/l"]})


def _structure(name: str, derivation: str, **changes: Any) -> dict[str, Any]:
    facts = {"url": "http://a.example/s", "name": "S", "status": "draft", "kind": "logical", "abstract": False}
    base = {"type": name, "derivation": derivation, "baseDefinition": CORE + "Element"}
    return {"resourceType": "StructureDefinition"} | facts | base | {"differential": {"element": [{"id": name, "path": name}]}} | changes


@pytest.mark.parametrize(
    ("kind", "derivation", "told"), [("Boo", "specialization", True), ("Observation", "specialization", True), ("Observation", "constraint", False)]
)
def test_a_new_type_has_a_name_of_its_own(kind: str, derivation: str, told: bool) -> None:
    assert ("fhir.definitions.type" in codes(_structure(kind, derivation))) is told


def test_a_type_is_narrowed_to_a_profile_of_itself() -> None:
    def value(profile: str) -> dict[str, Any]:
        kinds = [{"code": "Quantity", "profile": [CORE + profile]}]
        elements = [{"id": "Observation", "path": "Observation"}, {"id": "Observation.value[x]", "path": "Observation.value[x]", "type": kinds}]
        return _structure("Observation", "constraint", kind="resource", differential={"element": elements})

    assert "fhir.definitions.element" not in codes(value("SimpleQuantity"))
    assert "fhir.definitions.element" in codes(value("Count"))
