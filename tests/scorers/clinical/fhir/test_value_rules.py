"""Rules on values that profiles state by extension, and bounds of answers (extensions package, R5's ElementDefinition in R4)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.scorers.clinical.fhir.resources import PLAIN, codes, definition, found, observation, patient, report
from tests.scorers.clinical.fhir.test_questionnaire_responses import ANSWER, bound, one, question

R5 = "http://hl7.org/fhir/5.0/StructureDefinition/extension-ElementDefinition."
REASON, OTHER = "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "http://a.example/why"
GENDER, ADMIN = "http://hl7.org/fhir/ValueSet/administrative-gender", "http://hl7.org/fhir/administrative-gender"
ABSENT = {"extension": [{"url": REASON, "valueCode": "unknown"}]}
WHY = {"extension": [{"url": OTHER, "valueString": "x"}]}
MUST, SHORT = {"url": R5 + "mustHaveValue", "valueBoolean": True}, {"url": "http://hl7.org/fhir/StructureDefinition/minLength", "valueInteger": 3}
INSTEAD = {"url": R5 + "valueAlternatives", "valueCanonical": REASON}
TOOLS = "http://hl7.org/fhir/tools/StructureDefinition/additional-binding"


def told(path: str, facts: dict[str, Any], folder: Path, **changes: Any) -> set[str]:
    """The codes of faults by a profile that states `facts` of one element."""
    (folder / "a.json").write_text(json.dumps(definition({"id": path, "path": path} | facts)))
    return {code for code in codes(patient(**changes), replace(PLAIN, packages=(folder / "a.json",), profiles=("http://a.test/sd",))) if "profiles" in code}


@pytest.mark.parametrize(
    ("rule", "changes", "breach"),
    [
        (SHORT, {"birthDate": "1980"}, None),
        (SHORT | {"valueInteger": 4}, {"birthDate": "1980"}, None),
        (SHORT, {"birthDate": None}, None),
        (SHORT | {"valueInteger": 5}, {"birthDate": "1980"}, "fhir.profiles.length"),
        (SHORT | {"valueInteger": 8}, {"birthDate": "1980-02"}, "fhir.profiles.length"),
        (SHORT | {"valueInteger": 11}, {"birthDate": "1980-02-29"}, "fhir.profiles.length"),
        (MUST, {}, None),
        (MUST, {"birthDate": None}, None),
        (MUST | {"valueBoolean": False}, {"birthDate": None, "_birthDate": ABSENT}, None),
        (MUST, {"birthDate": None, "_birthDate": ABSENT}, "fhir.profiles.value"),
        (MUST, {"birthDate": None, "_birthDate": WHY}, "fhir.profiles.value"),
        (INSTEAD, {}, None),
        (INSTEAD, {"birthDate": None, "_birthDate": ABSENT}, None),
        (INSTEAD, {"_birthDate": WHY}, None),
        (INSTEAD, {"birthDate": None, "_birthDate": WHY}, "fhir.profiles.value"),
    ],
)
def test_rules_on_the_value_of_a_primitive(tmp_path: Path, rule: dict[str, Any], changes: dict[str, Any], breach: str | None) -> None:
    assert told("Patient.birthDate", {"extension": [rule]}, tmp_path, **changes) == ({breach} if breach else set())


@pytest.mark.parametrize(
    ("purpose", "more", "code", "breach"),
    [
        ("required", (), "male", False),
        ("candidate", (), "x", False),
        ("required", ({"url": "usage", "valueUsageContext": {}},), "x", False),
        ("required", (), "M", True),
        ("maximum", (), "S", True),
        ("required", ({"url": "documentation", "valueMarkdown": "y"},), "D", True),
    ],
)
def test_an_additional_binding_holds_besides_the_binding(tmp_path: Path, purpose: str, more: tuple[dict[str, Any], ...], code: str, breach: bool) -> None:
    parts = [{"url": "purpose", "valueCode": purpose}, {"url": "valueSet", "valueCanonical": GENDER}, *more]
    binding = {"strength": "example", "valueSet": "http://a.test/any", "extension": [{"url": TOOLS, "extension": parts}]}
    status = {"coding": [{"system": ADMIN if code.islower() else "http://terminology.hl7.org/CodeSystem/v3-MaritalStatus", "code": code}]}
    assert ("fhir.profiles.binding" in told("Patient.maritalStatus", {"binding": binding}, tmp_path, maritalStatus=status)) is breach


@pytest.mark.parametrize(
    ("more", "statuses", "breach", "open_rules"),
    [
        ([{"url": "any", "valueBoolean": True}], ["S", "male"], False, 0),
        ([{"url": "any", "valueBoolean": True}], ["male"], False, 0),
        ([{"url": "any", "valueBoolean": True}], [], False, 0),
        ([{"url": "any", "valueBoolean": True}], ["S", "M"], True, 0),
        ([{"url": "any", "valueBoolean": False}], ["S", "male"], True, 0),
        ([{"url": "usage", "valueUsageContext": {}}], ["S"], False, 1),
    ],
)
def test_an_additional_binding_holds_in_one_repeat_or_in_a_context_where_it_says_so(
    tmp_path: Path, more: list[dict[str, Any]], statuses: list[str], breach: bool, open_rules: int
) -> None:
    parts = [{"url": "purpose", "valueCode": "required"}, {"url": "valueSet", "valueCanonical": GENDER}, *more]
    binding = {"strength": "example", "valueSet": "http://a.test/any", "extension": [{"url": TOOLS, "extension": parts}]}
    stated = definition({"id": "Patient.communication.language", "path": "Patient.communication.language"}, {"id": "Patient.contact.relationship",
        "path": "Patient.contact.relationship", "binding": binding})  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps(stated))
    systems = [ADMIN if one.islower() else "http://terminology.hl7.org/CodeSystem/v3-MaritalStatus" for one in statuses]
    said = [{"coding": [{"system": system, "code": one}]} for system, one in zip(systems, statuses, strict=True)]
    contact = {"name": {"text": "a"}} | ({"relationship": said} if said else {})
    judged = report(patient(contact=[contact]), replace(PLAIN, packages=(tmp_path / "a.json",), profiles=("http://a.test/sd",)))
    assert any(one.code == "fhir.profiles.binding" for one in judged.findings) is breach
    assert sum(one.check.startswith("additional binding") for one in judged.not_checked) == open_rules


@pytest.mark.parametrize(
    ("rules", "systems", "breach"),
    [
        ({"ordered": True}, ["a", "a", "b"], False),
        ({"ordered": True}, ["a", "x", "b"], False),
        ({"ordered": True}, ["b"], False),
        ({"ordered": False}, ["b", "a"], False),
        ({"ordered": True}, ["b", "a"], True),
        ({"ordered": True}, ["a", "b", "a"], True),
        ({"ordered": True}, ["b", "x", "a"], True),
        ({"rules": "openAtEnd"}, ["b", "a", "x", "y"], False),
        ({"rules": "openAtEnd"}, ["a", "x", "b"], True),
        ({"rules": "openAtEnd"}, ["x", "a"], True),
    ],
)
def test_slices_keep_the_order_that_the_profile_states(tmp_path: Path, rules: dict[str, Any], systems: list[str], breach: bool) -> None:
    path, slices = "Patient.identifier", []
    for name in ("a", "b"):
        slices += [
            {"id": f"{path}:{name}", "path": path, "sliceName": name},
            {"id": f"{path}:{name}.system", "path": f"{path}.system", "fixedUri": f"http://{name}.test"},
        ]
    slicing = {"discriminator": [{"type": "value", "path": "system"}], "rules": "open"} | rules
    (tmp_path / "a.json").write_text(json.dumps(definition({"id": path, "path": path, "slicing": slicing}, *slices)))
    identifiers = [{"system": f"http://{one}.test", "value": "1"} for one in systems]
    judged = codes(patient(identifier=identifiers), replace(PLAIN, packages=(tmp_path / "a.json",), profiles=("http://a.test/sd",)))
    assert ("fhir.profiles.slice-order" in judged) is breach


@pytest.mark.parametrize(("amount", "unit", "breach"), [(2, "kg", False), (900, "mg", False), (900, "mL", True), (900, "s", True), (0.1, "g", True)])
def test_an_amount_in_a_unit_that_does_not_convert_is_not_within_a_bound(tmp_path: Path, amount: float, unit: str, breach: bool) -> None:
    path, least = "Observation.value[x]", quantity(500, "mg")["valueQuantity"]
    stated = definition(
        {"id": path, "path": path, "minValueQuantity": least}, type="Observation", baseDefinition="http://hl7.org/fhir/StructureDefinition/Observation"
    )
    (tmp_path / "a.json").write_text(json.dumps(stated))
    judged = codes(observation(**quantity(amount, unit)), replace(PLAIN, packages=(tmp_path / "a.json",), profiles=("http://a.test/sd",)))
    assert ("fhir.profiles.range" in judged) is breach


def quantity(value: float, code: str) -> dict[str, Any]:
    return {"valueQuantity": {"value": value, "system": "http://unitsofmeasure.org", "code": code}}


LEAST = question("quantity", **bound("minValue", **quantity(1, "kg")))
ROUND = question("quantity", **bound("maxDecimalPlaces", valueInteger=1))
SMALL = question("attachment", **bound("maxSize", valueDecimal=3))


@pytest.mark.parametrize(
    ("item", "good", "bad"),
    [
        (LEAST, quantity(2, "kg"), quantity(2, "cm")),
        (LEAST, quantity(2000, "g"), quantity(2, "h")),
        (LEAST, quantity(1, "kg"), quantity(900, "mL")),
        (ROUND, quantity(1.5, "kg"), quantity(1.55, "kg")),
        (ROUND, quantity(2, "kg"), quantity(1e-7, "kg")),
        (SMALL, {"valueAttachment": {"data": "YWJj"}}, {"valueAttachment": {"data": "YWJjZA=="}}),
        (SMALL, {"valueAttachment": {"data": "YWI="}}, {"valueAttachment": {"data": "YWJjZGU="}}),
        (SMALL, {"valueAttachment": {"url": "http://a.test/x"}}, {"valueAttachment": {"url": "http://a.test/x", "size": 4}}),
    ],
)
def test_answers_keep_units_types_and_sizes(item: dict[str, Any], good: dict[str, Any], bad: dict[str, Any]) -> None:
    assert (one(item, good), one(item, bad)) == (set(), {ANSWER})


@pytest.mark.parametrize(
    ("part", "breach"), [("value[x]", False), ("valueQuantity", False), ("value", False), ("valueOf", True), ("amount", True), ("valueString.x", True)]
)
def test_a_choice_of_another_version_may_be_named_with_or_without_its_type(part: str, breach: bool) -> None:
    url = "http://hl7.org/fhir/5.0/StructureDefinition/extension-AdministrableProductDefinition.property"
    given = {"url": url, "extension": [{"url": part, "valueString": "x"}]}
    assert ("fhir.extensions.part" in codes(observation(extension=[given]))) is breach


def test_an_unknown_element_is_named_where_its_name_is_like_one_of_the_standard() -> None:
    assert "no element birthdate in Patient" in (message := found(patient(birthdate="1980"), "fhir.structure.unknown-element").message)
    assert "did you mean birthDate" in message
    assert "Ada Example" not in found(patient(**{"Ada Example": "1"}), "fhir.structure.unknown-element").message
