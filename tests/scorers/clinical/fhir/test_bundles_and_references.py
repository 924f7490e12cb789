from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.scorers.clinical.fhir.resources import PLAIN, bundle, codes, found, observation, patient, report
from touchstone.scorers.clinical.formats.fhir import is_valid

ORGANIZATION = {"resourceType": "Organization", "id": "org", "name": "A"}


def test_a_fragment_must_name_a_contained_resource() -> None:
    good = patient(contained=[ORGANIZATION], managingOrganization={"reference": "#org"})
    assert is_valid(report(good))
    assert codes(good | {"managingOrganization": {"reference": "#other"}}) == {"fhir.invariants.ref-1", "fhir.invariants.dom-3"}


def test_a_contained_resource_must_be_referred_to_or_refer_to_its_container() -> None:
    assert codes(patient(contained=[ORGANIZATION])) == {"fhir.invariants.dom-3"}
    back = {"resourceType": "Basic", "id": "b", "code": {"text": "x"}, "subject": {"reference": "#"}}
    assert is_valid(report(patient(contained=[back])))


def test_contained_resources_do_not_contain_nor_carry_versions_nor_labels() -> None:
    inner = ORGANIZATION | {"contained": [{"resourceType": "Basic", "id": "b", "code": {"text": "x"}}]}
    assert "fhir.invariants.dom-2" in codes(patient(contained=[inner], managingOrganization={"reference": "#org"}))
    for meta, key in (({"versionId": "1"}, "dom-4"), ({"security": [{"code": "R"}]}, "dom-5")):
        resource = patient(contained=[ORGANIZATION | {"meta": meta}], managingOrganization={"reference": "#org"})
        assert codes(resource) == {f"fhir.invariants.{key}"}


def test_a_reference_to_a_type_that_is_not_allowed_is_told() -> None:
    finding = found(observation(subject={"reference": "Medication/1"}), "fhir.references.target")
    assert finding.path == "Observation.subject.reference"
    assert "Patient" in finding.message


@pytest.mark.parametrize("reference", ["nonsense", "Patient", "Persona/1", "Patient/"])
def test_a_relative_reference_should_have_the_form_of_one(reference: str) -> None:
    assert found(observation(subject={"reference": reference}), "fhir.references.form").severity == "minor"


@pytest.mark.parametrize("reference", ["Patient/a b", "http://server.example/Patient/a b", "urn:uuid:5fa91d3c-9f6c-4a3b-8b54-2f3c2b1f0a11 "])
def test_a_reference_holds_no_whitespace(reference: str) -> None:
    assert codes(observation(subject={"reference": reference})) == {"fhir.references.form"}


def test_a_reference_by_search_belongs_into_a_transaction() -> None:
    asking = observation(subject={"reference": "Patient?identifier=1"})
    assert codes(asking) == {"fhir.references.conditional"}
    entry = {"resource": asking, "request": {"method": "POST", "url": "Observation"}}
    assert codes({"resourceType": "Bundle", "type": "transaction", "entry": [entry]}) == set()


def test_the_type_of_a_resource_that_is_only_named_is_minor() -> None:
    assert found(observation(subject={"reference": "Medication/1"}), "fhir.references.target").severity == "minor"
    inside = [{"resourceType": "Medication", "id": "m"}]
    assert codes(observation(subject={"reference": "#m"}, contained=inside)) == {"fhir.references.target"}


def test_a_stated_type_must_be_the_type_that_is_pointed_to() -> None:
    assert codes(observation(subject={"reference": "Patient/1", "type": "Group"})) == {"fhir.references.type"}
    assert codes(observation(subject={"reference": "Patient/1", "type": "http://hl7.org/fhir/StructureDefinition/Patient"})) == {"fhir.references.type"}


def test_in_a_document_of_its_own_a_reference_may_point_outside_unless_asked() -> None:
    alone = observation(subject={"reference": "Patient/elsewhere"})
    assert is_valid(report(alone))
    assert codes(alone, replace(PLAIN, references="exists")) == {"fhir.references.unresolved"}


def entry(resource: dict[str, Any], url: str | None) -> dict[str, Any]:
    return {"resource": resource} | ({} if url is None else {"fullUrl": url})


def test_an_entry_needs_an_absolute_full_url_unless_it_is_an_exchange() -> None:
    for url in (None, "Patient/p1"):
        one = {"resourceType": "Bundle", "type": "collection", "entry": [entry(patient(), url)]}
        assert codes(one) == {"fhir.bundle.full-url"}
    request = entry(patient(), None) | {"request": {"method": "POST", "url": "Patient"}}
    assert is_valid(report({"resourceType": "Bundle", "type": "transaction", "entry": [request]}))


def test_two_entries_do_not_share_full_url_and_version() -> None:
    twice = bundle(patient(), patient())
    assert codes(twice) == {"fhir.invariants.bdl-7"}
    twice["entry"][1]["resource"]["meta"] = {"versionId": "2"}
    assert is_valid(report(twice))


def test_total_search_request_and_response_belong_to_their_kinds_of_bundle() -> None:
    assert codes(bundle(patient()) | {"total": 1}) == {"fhir.invariants.bdl-1"}
    for member, key in (
        ({"search": {"mode": "match"}}, "bdl-2"),
        ({"request": {"method": "GET", "url": "x"}}, "bdl-3"),
        ({"response": {"status": "200"}}, "bdl-4"),
    ):
        one = bundle(patient())
        one["entry"][0] |= member
        assert codes(one) == {f"fhir.invariants.{key}"}


def document(*others: dict[str, Any]) -> dict[str, Any]:
    composition = {
        "resourceType": "Composition",
        "id": "c",
        "status": "final",
        "type": {"text": "Summary"},
        "subject": {"reference": "Patient/p1"},
        "date": "2024-01-01",
        "author": [{"reference": "Patient/p1"}],
        "title": "Summary",
    }
    made = bundle(composition, patient(), *others, kind="document")
    return made | {"identifier": {"system": "urn:ietf:rfc:3986", "value": "urn:oid:1.2.3"}, "timestamp": "2024-01-01T00:00:00Z"}


def test_a_document_begins_with_a_composition_and_has_an_identifier_and_a_time() -> None:
    assert is_valid(report(document()))
    broken = document()
    broken["entry"].reverse()
    assert codes(broken) == {"fhir.invariants.bdl-11"}
    assert codes({name: value for name, value in document().items() if name not in {"identifier", "timestamp"}}) == {
        "fhir.invariants.bdl-9",
        "fhir.invariants.bdl-10",
    }


def test_what_a_composition_is_about_must_be_in_the_document_and_everything_linked_with_it() -> None:
    missing = document()
    del missing["entry"][1]
    assert codes(missing) == {"fhir.bundle.unresolved"}
    assert codes(document(ORGANIZATION)) == {"fhir.bundle.unreachable"}


def test_references_in_a_bundle_resolve_by_full_url_and_version() -> None:
    versions = document()
    versions["entry"][0]["resource"]["subject"]["reference"] = "Patient/p1/_history/7"
    versions["entry"][1]["resource"]["meta"] = {"versionId": "7"}
    assert is_valid(report(versions))


def test_search_results_have_ids_and_the_type_that_was_asked_for() -> None:
    found_set = bundle(patient(), kind="searchset") | {"link": [{"relation": "self", "url": "http://server.example/Patient?name=a"}]}
    assert is_valid(report(found_set))
    found_set["link"][0]["url"] = "http://server.example/Observation?code=a"
    assert is_valid(report(found_set))
    found_set["entry"][0]["search"] = {"mode": "match"}
    assert codes(found_set) == {"fhir.bundle.search"}
    found_set["link"][0]["url"] = "http://server.example/Patient?link=http://other.example/Observation"
    assert is_valid(report(found_set))  # what follows a question mark is no part of the path


def test_a_fragment_of_a_full_url_is_no_part_of_its_path() -> None:
    made = bundle(patient())
    made["entry"][0]["fullUrl"] = "http://server.example/Observation/p1#a/Patient/p1"
    assert codes(made) == {"fhir.bundle.full-url"}


def test_a_full_url_names_the_type_of_its_resource() -> None:
    made = bundle(patient())
    made["entry"][0]["fullUrl"] = "http://server.example/Observation/p1"
    assert codes(made) == {"fhir.bundle.full-url"}


def test_a_link_relation_that_names_one_page_occurs_once() -> None:
    links = [{"relation": "next", "url": "http://server.example/Patient"}] * 2
    assert codes(bundle(patient(), kind="searchset") | {"link": links}) == {"fhir.bundle.link"}


def test_only_a_contained_resource_refers_to_its_container() -> None:
    assert codes(observation(subject={"reference": "#"})) == {"fhir.invariants.ref-1"}
    inner = {"resourceType": "Provenance", "id": "i", "target": [{"reference": "#"}], "recorded": "2020-01-01T00:00:00Z", "agent": [{"who": {"display": "x"}}]}
    assert codes(observation(contained=[inner])) == set()
