"""Filters of ValueSets against the code system that they select from."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scorers.clinical.fhir.resources import bundle, codes, report

SYSTEM, OTHER = "http://a.example/CodeSystem/shapes", "http://a.example/CodeSystem/materials"
KINDS = {"sides": "integer", "since": "dateTime", "area": "decimal", "made": "Coding", "like": "code"}
SHAPES = {
    "resourceType": "CodeSystem",
    "id": "shapes",
    "url": SYSTEM,
    "status": "active",
    "content": "complete",
    "property": [
        {"code": name, "type": kind} for name, kind in (("sides", "integer"), ("since", "dateTime"), ("area", "decimal"), ("made", "Coding"), ("like", "code"))
    ],
    "filter": [{"code": "weight", "operator": ["="], "value": "a number"}],
    "concept": [{"code": "round"}, {"code": "flat", "concept": [{"code": "disc"}]}],
}
MATERIALS = {"resourceType": "CodeSystem", "id": "materials", "url": OTHER, "status": "active", "content": "complete", "concept": [{"code": "wood"}]}
FAULT = "fhir.definitions.filter"
EXPRESSION = "http://hl7.org/fhir/StructureDefinition/cqf-expression"


def value_set(condition: dict[str, Any], system: str = SYSTEM, **more: Any) -> dict[str, Any]:
    include = {"system": system, "filter": [condition]}
    return {"resourceType": "ValueSet", "id": "v", "url": "http://a.example/v", "status": "active", "compose": {"include": [include]}} | more


def judged(condition: dict[str, Any], system: str = SYSTEM, **more: Any) -> set[str]:
    return {code for code in codes(bundle(value_set(condition, system, **more), SHAPES, MATERIALS)) if code.startswith("fhir.definitions")}


def test_a_value_set_of_the_same_bundle_is_no_code_system() -> None:
    mine = value_set({"property": "concept", "op": "is-a", "value": "a"}, system="http://a.example/w")
    other = value_set({"property": "concept", "op": "is-a", "value": "disc"}) | {"id": "w", "url": "http://a.example/w"}
    assert "fhir.definitions.system" in codes(bundle(mine, other, SHAPES))
    assert "fhir.definitions.system" not in codes(bundle(other, SHAPES, {**SHAPES, "id": "w2", "url": "http://a.example/w"}))


@pytest.mark.parametrize(
    ("name", "operator", "good", "bad"),
    [
        ("concept", "is-a", "disc", "oval"),
        ("concept", "descendent-of", "flat", "oval"),
        ("concept", "in", "round, disc", "round,oval"),
        ("sides", "=", "4", "four"),
        ("sides", "in", "3,4", "3,four"),
        ("sides", "=", "lt5", "about5"),
        ("since", "=", "ge2020-01", "yesterday"),
        ("area", "=", "1.5", "large"),
        ("inactive", "=", "false", "no"),
        ("sides", "exists", "true", "perhaps"),
        ("code", "regex", "s.*(a|b)", "s(("),
        ("code", "regex", "(?=a)b", "[a"),
        ("made", "=", f"{OTHER}#wood", f"{OTHER}#air"),
        ("made", "=", f"{OTHER}|1.0#wood", f"{OTHER}|1.0#air"),
        ("made", "=", f"{OTHER}|wood", "wood"),
    ],
)
def test_the_value_of_a_filter_fits_its_property(name: str, operator: str, good: str, bad: str) -> None:
    assert judged({"property": name, "op": operator, "value": good}) == set()
    assert judged({"property": name, "op": operator, "value": bad}) == {FAULT}


@pytest.mark.parametrize(
    "condition",
    [
        {"property": "unheard-of", "op": "=", "value": "x"},
        {"property": "like", "op": "=", "value": "oval"},  # a property may hold codes of any system
        {"property": "made", "op": "=", "value": "http://a.example/unknown#x"},
        {"property": "weight", "op": "=", "value": "4"},
    ],
)
def test_what_the_standard_leaves_open_is_no_fault(condition: dict[str, Any]) -> None:
    assert judged(condition) == set()


def test_a_filter_is_used_with_the_operators_that_its_system_gives_it() -> None:
    assert judged({"property": "weight", "op": "regex", "value": "4"}) == {FAULT}


def test_codes_of_a_system_that_is_not_at_hand_are_open() -> None:
    assert judged({"property": "concept", "op": "is-a", "value": "x"}, "http://a.example/CodeSystem/unknown") == set()


def expression(text: str, language: str = "text/fhirpath") -> dict[str, Any]:
    return {"extension": [{"url": EXPRESSION, "valueExpression": {"language": language, "expression": text}}]}


NAMED = {"extension": [{"url": "http://hl7.org/fhir/tools/StructureDefinition/valueset-parameter", "extension": [{"url": "name", "valueCode": "p-sides"}]}]}


@pytest.mark.parametrize(
    ("stated", "declared", "breach"),
    [
        ({"_value": expression("%p-sides")}, NAMED, False),
        ({"_value": expression("'4'")}, {}, False),
        ({"_value": expression("%resource.id")}, {}, False),
        ({"_value": expression("%p-sides")}, {}, True),
        ({"_value": expression("%p-area")}, NAMED, True),
        ({"_value": expression("%p-sides", "text/cql")}, NAMED, True),
        ({"_value": expression("%p-sides +* 2")}, NAMED, True),
        ({"_value": expression("%p-sides > 2 'mg'")}, NAMED, False),  # quantities are not read
        ({"value": "4", "_value": expression("%p-sides")}, NAMED, True),
    ],
)
def test_an_expression_stands_for_a_value_and_names_declared_parameters(stated: dict[str, Any], declared: dict[str, Any], breach: bool) -> None:
    assert judged({"property": "sides", "op": "="} | stated, **declared) == ({FAULT} if breach else set())


def test_the_message_names_what_the_value_must_be() -> None:
    found = report(bundle(value_set({"property": "sides", "op": "=", "value": "many"}), SHAPES)).findings
    assert [(one.path, one.message) for one in found if one.code == FAULT] == [
        ("ValueSet[0].compose.include[0].filter[0]", "the value of this filter must be an integer"),
    ]
