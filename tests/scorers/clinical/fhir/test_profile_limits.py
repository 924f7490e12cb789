from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.scorers.clinical.fhir.resources import PLAIN, codes, observation, patient
from touchstone.scorers.clinical.formats.fhir import Options

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
    extension = profile(
        "note", "Extension", element("Extension.url", fixedUri=URL + "note"), element("Extension.value[x]", min=1, type=[{"code": "code"}], binding=bound)
    )
    options = replace(asking(extension), profiles=())
    assert codes(patient(extension=[{"url": URL + "note", "valueCode": "male"}]), options) == set()
    assert codes(patient(extension=[{"url": URL + "note", "valueCode": "x"}]), options) == {"fhir.profiles.binding"}


def test_a_bound_is_compared_after_conversion(asking: Any) -> None:
    most = {"value": 1, "system": "http://unitsofmeasure.org", "code": "kg"}
    options = asking(profile("light", "Observation", element("Observation.value[x]", maxValueQuantity=most)))
    assert codes(observation(valueQuantity=most | {"value": 900, "code": "g"}), options) == set()
    assert codes(observation(valueQuantity=most | {"value": 1100, "code": "g"}), options) == {"fhir.profiles.range"}


def test_elements_without_ids_belong_to_the_slice_that_was_named_last(asking: Any) -> None:
    definition = profile(
        "messages",
        "Communication",
        {"path": "Communication.payload", "slicing": sliced("type", "content", "closed")},
        {"path": "Communication.payload", "sliceName": "text", "max": "1"},
        {"path": "Communication.payload.contentString", "type": [{"code": "string"}], "maxLength": 3},
        {"path": "Communication.payload", "sliceName": "file"},
        {"path": "Communication.payload.contentAttachment", "type": [{"code": "Attachment"}]},
    )
    options = asking(definition)
    file = {"contentAttachment": {"url": "http://a.example/f", "title": "f"}}

    def told(*payload: dict[str, Any]) -> set[str]:
        return codes({"resourceType": "Communication", "status": "completed", "payload": list(payload)}, options)

    assert told({"contentString": "abc"}, file, file) == set()
    assert told({"contentString": "abcd"}) == {"fhir.profiles.length"}
    assert told({"contentString": "a"}, {"contentString": "b"}) == {"fhir.profiles.slice-too-many"}
    assert told({"contentReference": {"display": "x"}}) == {"fhir.profiles.slice"}


def test_one_of_several_profiles_on_a_type_is_enough(asking: Any) -> None:
    home = profile("home", "Address", element("Address.use", min=1, fixedCode="home"))
    town = profile("town", "Address", element("Address.city", min=1))
    patients = profile("patients", "Patient", element("Patient.address", type=[{"code": "Address", "profile": [URL + "home", URL + "town"]}]))
    options = asking(patients, home, town)
    assert codes(patient(address=[{"use": "home"}, {"city": "x"}]), options) == set()
    assert codes(patient(address=[{"use": "work"}]), options) == {"fhir.profiles.choice"}


@pytest.mark.parametrize("kinds", [[{"code": "Organization"}], [{"code": "Resource", "profile": [BASE + "Organization"]}]])
def test_a_resource_inside_is_of_the_type_that_the_profile_asks_for(asking: Any, kinds: list[dict[str, Any]]) -> None:
    options = asking(profile("bundle", "Bundle", element("Bundle.entry.resource", type=kinds)))
    entry = {"fullUrl": "urn:uuid:c757873d-ec9a-4326-a141-556f43239520", "resource": patient()}
    assert codes({"resourceType": "Bundle", "type": "collection", "entry": [entry]}, options) == {"fhir.profiles.type"}


def test_a_slice_may_leave_a_discriminator_open_but_not_all(asking: Any) -> None:
    def kind(code: str) -> dict[str, Any]:
        return {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/referencerange-meaning", "code": code}]}

    by = {"discriminator": [{"type": "pattern", "path": "type"}, {"type": "pattern", "path": "appliesTo"}], "rules": "open"}
    definition = profile(
        "ranges",
        "Observation",
        element("Observation.referenceRange", slicing=by),
        element("Observation.referenceRange:normal", min=1, max="1"),
        element("Observation.referenceRange:normal.type", patternCodeableConcept=kind("normal")),
    )
    ranges = [{"type": kind("normal"), "text": "x"}, {"type": kind("treatment"), "text": "x"}]
    assert codes(observation(referenceRange=ranges), asking(definition)) == set()
    assert codes(observation(referenceRange=ranges[1:]), asking(definition)) == {"fhir.profiles.slice-missing"}


def test_a_quantity_without_a_unit_leaves_no_value_set(asking: Any) -> None:
    bound = {"strength": "required", "valueSet": "http://hl7.org/fhir/ValueSet/administrative-gender"}
    options = asking(profile("amount", "Observation", element("Observation.value[x]", type=[{"code": "Quantity"}], binding=bound)))
    assert codes(observation(valueQuantity={"value": 1}), options) == set()
    assert codes(observation(valueQuantity={"value": 1, "system": "http://a.example/s", "code": "x"}), options) == {"fhir.profiles.binding"}


def test_a_reference_to_what_is_not_here_is_not_held_against_the_document(asking: Any) -> None:
    options = asking(profile("about", "Observation", element("Observation.subject", type=[{"code": "Reference", "targetProfile": [BASE + "Patient"]}])))
    assert codes(observation(subject={"reference": "Group/1"}), options) == set()
    assert codes(observation(subject={"reference": "Group/1"}), replace(options, rest_references=True)) == {"fhir.profiles.target"}


def test_value_sets_of_r4_that_list_their_codes_are_known_without_its_package(asking: Any) -> None:
    bound = {"strength": "required", "valueSet": "http://hl7.org/fhir/ValueSet/age-units"}
    options = asking(profile("age", "Observation", element("Observation.value[x]", type=[{"code": "Quantity"}], binding=bound)))
    amount = {"value": 1, "system": "http://unitsofmeasure.org"}
    assert codes(observation(valueQuantity=amount | {"code": "wk"}), options) == set()
    assert codes(observation(valueQuantity=amount | {"code": "m"}), options) == {"fhir.profiles.binding"}


def test_a_binding_on_a_choice_of_several_types_is_held_against_none(asking: Any) -> None:
    bound = {"strength": "required", "valueSet": "http://hl7.org/fhir/ValueSet/age-units"}
    kinds = [{"code": "Quantity"}, {"code": "CodeableConcept"}]
    options = asking(profile("age", "Observation", element("Observation.value[x]", type=kinds, binding=bound)))
    assert codes(observation(valueQuantity={"value": 1, "system": "http://unitsofmeasure.org", "code": "m"}), options) == set()


def _note(*contexts: tuple[str, str], **facts: Any) -> dict[str, Any]:
    definition = profile("note", "Extension", element("Extension.url", fixedUri=URL + "note"), element("Extension.value[x]", type=[{"code": "boolean"}]))
    return definition | {"context": [{"type": kind, "expression": expression} for kind, expression in contexts]} | facts


NOTE = [{"url": URL + "note", "valueBoolean": True}]


def test_an_extension_stands_where_fhirpath_selects(asking: Any) -> None:
    options = replace(asking(_note(("fhirpath", "Patient.address.where(use = 'home')"), ("fhirpath", "Patient.active"))), profiles=())
    home, work = ({"use": use, "extension": NOTE} for use in ("home", "work"))
    assert codes(patient(address=[home], active=True, _active={"extension": NOTE}), options) == set()
    assert codes(patient(address=[home, work]), options) == {"fhir.extensions.context"}
    assert codes(patient(extension=NOTE), options) == {"fhir.extensions.context"}


def test_an_extension_stands_on_an_extension_that_its_definition_names(asking: Any) -> None:
    other = profile("other", "Extension", element("Extension.url", fixedUri=URL + "other"))
    options = replace(asking(_note(("extension", URL + "other")), other), profiles=())
    beside = {"valueString": "x", "_valueString": {"extension": NOTE}}
    assert codes(patient(extension=[{"url": URL + "other", **beside}]), options) == set()
    assert codes(patient(extension=[{"url": "http://vendor.test/x", **beside}]), options) == {"fhir.extensions.context"}


def test_an_extension_stands_only_where_its_invariants_hold(asking: Any) -> None:
    options = replace(asking(_note(("element", "Patient"), contextInvariant=["active.not()"])), profiles=())
    assert codes(patient(extension=NOTE, active=False), options) == set()
    assert codes(patient(extension=NOTE, active=True), options) == {"fhir.extensions.context"}


def _system(**facts: Any) -> dict[str, Any]:
    concepts = [{"code": "Red"}, {"code": "Blue"}]
    return {"resourceType": "CodeSystem", "url": "http://codes.test/s", "status": "draft", "content": "complete", "concept": concepts} | facts


@pytest.mark.parametrize(
    ("facts", "code", "told"),
    [
        ({}, "red", {"fhir.codings.unknown"}),
        ({"caseSensitive": False}, "red", set()),
        ({"caseSensitive": False}, "green", {"fhir.codings.unknown"}),
        ({"supplements": "http://loinc.org"}, "Red", {"fhir.codings.supplement"}),
    ],
)
def test_codes_of_a_system_in_a_package(asking: Any, facts: dict[str, Any], code: str, told: set[str]) -> None:
    options = replace(asking(_system(**facts)), profiles=())
    assert codes({"resourceType": "Basic", "code": {"coding": [{"system": "http://codes.test/s", "code": code}]}}, options) == told


def test_what_is_mapped_is_in_the_value_set_that_is_mapped(asking: Any) -> None:
    include = {"system": "http://codes.test/s", "concept": [{"code": "Red"}]}
    colours = {"resourceType": "ValueSet", "url": "http://codes.test/v", "status": "draft", "compose": {"include": [include]}}
    options = replace(asking(colours, _system()), profiles=())

    def mapped(code: str) -> set[str]:
        group = {"source": "http://codes.test/s", "element": [{"code": code}]}
        return codes({"resourceType": "ConceptMap", "name": "M", "status": "draft", "sourceCanonical": "http://codes.test/v", "group": [group]}, options)

    assert mapped("Red") == set()
    assert mapped("Blue") == {"fhir.codings.map"}


def test_what_a_trial_for_a_slice_found_in_an_extension_is_told_all_the_same(asking: Any) -> None:
    marked = profile("mark", "Extension", element("Extension.value[x]", min=1, type=[{"code": "boolean"}]))
    marked["context"] = [{"type": "element", "expression": "Element"}]
    marking = {"type": [{"code": "Extension", "profile": [URL + "mark"]}]}
    slicing = element("Patient.extension", slicing=sliced("value", "url"))
    person = profile("person", "Patient", slicing, element("Patient.extension:mark", sliceName="mark", max="1", **marking))
    entries = profile(
        "entries",
        "Bundle",
        element("Bundle.entry", slicing=sliced("profile", "resource")),
        element("Bundle.entry:person", sliceName="person", min=0, max="*"),
        element("Bundle.entry:person.resource", min=1, type=[{"code": "Patient", "profile": [URL + "person"]}]),
    )
    wrong = patient(extension=[{"url": URL + "mark", "valueString": "x"}], id="1")
    whole = {"resourceType": "Bundle", "type": "collection", "entry": [{"fullUrl": "http://records.test/Patient/1", "resource": wrong}]}
    assert "fhir.profiles.type" in codes(whole, asking(entries, person, marked))
