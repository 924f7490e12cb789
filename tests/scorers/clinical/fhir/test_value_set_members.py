"""Membership in value sets: what is decided, what is not, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.scorers.clinical.fhir.resources import PLAIN, found, patient, report
from touchstone.scorers.clinical.formats.fhir import is_valid
from touchstone.scorers.clinical.formats.fhir.profiles.members import Members
from touchstone.scorers.clinical.formats.fhir.profiles.packages import Packages
from touchstone.scorers.clinical.formats.fhir.profiles.value_sets import ValueSets, shipped

ROLES = "http://terminology.hl7.org/CodeSystem/v3-RoleCode"
SNOMED = "http://snomed.info/sct"
OWN = "http://example.org/cs"
TREE = {
    "resourceType": "CodeSystem", "url": OWN, "content": "complete", "concept": [
        {"code": "a", "concept": [{"code": "a1", "property": [{"code": "kind", "valueCode": "x"}]}, {"code": "a2", "concept": [{"code": "a21"}]}]},
        {"code": "b", "property": [{"code": "kind", "valueCode": "y"}]},
    ],
}  # fmt: skip


def a_set(*include: dict[str, Any], exclude: tuple[dict[str, Any], ...] = (), **more: Any) -> dict[str, Any]:
    compose: dict[str, Any] = {"include": list(include)}
    return {"resourceType": "ValueSet", "url": "http://example.org/vs", "compose": compose | ({"exclude": list(exclude)} if exclude else {})} | more


def sets(tmp_path: Path, *definitions: dict[str, Any]) -> ValueSets:
    folder = tmp_path / "own#1" / "package"
    folder.mkdir(parents=True)
    for number, one in enumerate((TREE, *definitions)):
        (folder / f"{one['resourceType']}-{number}.json").write_text(json.dumps(one))
    return ValueSets(Packages((tmp_path,)))


def a_filter(name: str, operation: str, value: str) -> dict[str, Any]:
    return {"system": OWN, "filter": [{"property": name, "op": operation, "value": value}]}


@pytest.mark.parametrize(
    ("include", "members"),
    [
        (a_filter("concept", "is-a", "a"), {"a", "a1", "a2", "a21"}),
        (a_filter("concept", "descendent-of", "a"), {"a1", "a2", "a21"}),
        (a_filter("concept", "is-not-a", "a2"), {"a", "a1", "b"}),
        (a_filter("concept", "in", "a1,b"), {"a1", "b"}),
        (a_filter("kind", "=", "x"), {"a1"}),
        (a_filter("kind", "exists", "true"), {"a1", "b"}),
        (a_filter("kind", "in", "x,y"), {"a1", "b"}),
    ],
)
def test_filters_over_a_code_system_at_hand_are_decided(tmp_path: Path, include: dict[str, Any], members: set[str]) -> None:
    values = sets(tmp_path, a_set(include))
    assert {code for code in ("a", "a1", "a2", "a21", "b", "c") if values.holds("http://example.org/vs", OWN, code)} == members
    assert values.holds("http://example.org/vs", OWN, "c") is False


@pytest.mark.parametrize(
    "include", [a_filter("kind", "regex", "(x+)+"), a_filter("other", "=", "x"), a_filter("kind", "=", "false"), a_filter("concept", "is-a", "z")]
)
def test_other_filters_leave_the_codes_of_their_system_open_and_no_others(tmp_path: Path, include: dict[str, Any]) -> None:
    values = sets(tmp_path, a_set(include))
    assert values.holds("http://example.org/vs", OWN, "a") is None
    assert values.holds("http://example.org/vs", SNOMED, "a") is False


def test_what_one_include_cannot_decide_does_not_hide_what_another_can(tmp_path: Path) -> None:
    snomed = {"system": SNOMED, "filter": [{"property": "concept", "op": "is-a", "value": "404684003"}]}
    values = sets(tmp_path, a_set({"system": OWN, "concept": [{"code": "a"}]}, snomed))
    verdicts = [values.holds("http://example.org/vs", system, code) for system, code in ((OWN, "a"), (OWN, "b"), (SNOMED, "1"), ("http://other.org", "a"))]
    assert verdicts == [True, False, None, False]
    assert values.holds("http://example.org/vs", None, "b") is None


def test_what_is_excluded_is_no_member(tmp_path: Path) -> None:
    values = sets(tmp_path, a_set({"system": OWN}, exclude=(a_filter("concept", "is-a", "a2"),)))
    assert [values.holds("http://example.org/vs", OWN, code) for code in ("a", "a2", "a21", "b")] == [True, False, False, True]


def test_an_exclusion_that_cannot_be_decided_leaves_members_open(tmp_path: Path) -> None:
    values = sets(tmp_path, a_set({"system": OWN}, exclude=({"valueSet": ["http://example.org/absent"]},)))
    assert [values.holds("http://example.org/vs", OWN, code) for code in ("a", "z")] == [None, False]


def test_an_include_of_a_system_and_value_sets_takes_what_all_of_them_have(tmp_path: Path) -> None:
    inner = a_set({"system": OWN, "concept": [{"code": "a"}, {"code": "b"}]}, url="http://example.org/inner")
    other = a_set({"system": OWN, "concept": [{"code": "b"}]}, url="http://example.org/other")
    values = sets(tmp_path, inner, other, a_set({"valueSet": [inner["url"], other["url"]]}, {"system": OWN, "valueSet": [inner["url"]]}))
    assert [values.holds("http://example.org/vs", OWN, code) for code in ("a", "b", "a1")] == [True, True, False]
    assert sets_of_both(values) == [False, True]


def sets_of_both(values: ValueSets) -> list[bool | None]:
    only = a_set({"valueSet": ["http://example.org/inner", "http://example.org/other"]})
    return [values.holds_in(only, OWN, code) for code in ("a", "b")]


def test_filters_of_r4s_own_value_sets_are_decided_by_hl7s_hierarchies() -> None:
    family = "http://terminology.hl7.org/ValueSet/v3-PersonalRelationshipRoleType"
    assert [shipped().holds(family, ROLES, code) for code in ("MTH", "HOSP", "published-later")] == [True, False, None]


def test_countries_and_regions_of_a_jurisdiction_are_decided() -> None:
    places = "http://hl7.org/fhir/ValueSet/jurisdiction"
    country, region = "urn:iso:std:iso:3166", "http://unstats.un.org/unsd/methods/m49/m49.htm"
    assert [shipped().holds(places, *one) for one in ((country, "US"), (country, "United States"), (region, "021"), (region, "840"), (OWN, "US"))] == [
        True, False, True, None, False,
    ]  # fmt: skip


def test_many_includes_of_a_documents_own_value_set_take_linear_time() -> None:
    many = Members()
    for number in range(20_000):
        many.add(Members({OWN: {str(number)}}))
    assert many.holds(OWN, "19999") is True
    assert many.others == []


@pytest.mark.parametrize(("code", "severity"), [("USD", None), ("DEM", "minor"), ("usd", "major")])
def test_a_currency_that_the_list_lacks_makes_no_document_invalid(code: str, severity: str | None) -> None:
    money = {"resourceType": "Invoice", "status": "issued", "totalNet": {"value": 1, "currency": code}}
    told = report(money, PLAIN)
    assert is_valid(told) is (severity != "major")
    assert [one.severity for one in told.findings if one.code == "fhir.bindings.required"] == ([severity] if severity else [])


def test_an_unregistered_kind_of_mime_type_is_minor_and_names_the_registered_ones() -> None:
    odd = patient(photo=[{"contentType": "chemical/x-pdb", "url": "http://a.example/x"}])
    finding = found(odd, "fhir.bindings.required")
    assert finding.severity == "minor"
    assert "chemical is no registered top-level MIME type" in finding.message
    assert is_valid(report(odd))


def test_a_country_that_the_list_lacks_is_told_of_a_coding() -> None:
    coding = {"system": "urn:iso:std:iso:3166", "code": "UK"}
    made = {"resourceType": "Observation", "status": "final", "code": {"text": "x"}, "valueCodeableConcept": {"coding": [coding]}}
    finding = found(made, "fhir.codings.unknown")
    assert (finding.severity, finding.path) == ("minor", "Observation.valueCodeableConcept.coding[0].code")
