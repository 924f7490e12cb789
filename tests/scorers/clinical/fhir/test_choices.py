"""Names that look like a choice of a shorter element, and are elements of their own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.scorers.clinical.fhir.resources import PLAIN, codes, definition
from touchstone.scorers.clinical.formats.fhir.fhirpath.values import CHOICE_TYPES, NO_CHOICES, children
from touchstone.scorers.clinical.formats.fhir.tables import definitions

COVERAGE = {"resourceType": "Coverage", "id": "c", "status": "active", "beneficiary": {"reference": "Patient/1"}, "payor": [{"reference": "Patient/1"}]}


def test_the_names_are_those_of_r4() -> None:
    single = [(one.name, one.element.endswith("[x]"), kind) for kind, held in definitions().types.items() for one in held.fields.values()]
    names = {(kind, name) for name, is_choice, kind in single if not is_choice}
    alike = {
        name for name, is_choice, kind in single if not is_choice and any((kind, name[: -len(one)]) in names for one in CHOICE_TYPES if name.endswith(one))
    }
    assert alike == NO_CHOICES
    assert not {name for name, is_choice, _ in single if is_choice} & NO_CHOICES


def test_an_element_is_not_read_as_a_choice_of_a_shorter_one() -> None:
    assert children({"responseCode": "200"}, "response") == []
    assert children({"valueCode": "a"}, "value") == ["a"]


def test_one_assertion_of_a_script_is_one() -> None:
    script = {"resourceType": "TestScript", "id": "t", "url": "http://a.test/t", "name": "T", "status": "draft"}
    asserted = {"responseCode": "200", "warningOnly": False}
    assert codes(script | {"setup": {"action": [{"assert": asserted}]}}) == set()
    assert codes(script | {"setup": {"action": [{"assert": asserted | {"response": "okay"}}]}}) == {"fhir.invariants.tst-5"}


def test_a_profile_asks_for_the_element_itself(tmp_path: Path) -> None:
    of_coverage = {"type": "Coverage", "baseDefinition": "http://hl7.org/fhir/StructureDefinition/Coverage"}
    (tmp_path / "a.json").write_text(json.dumps(definition({"id": "Coverage.subscriber", "path": "Coverage.subscriber", "min": 1}, **of_coverage)))
    options = replace(PLAIN, packages=(tmp_path / "a.json",), profiles=("http://a.test/sd",))
    assert codes(COVERAGE | {"subscriber": {"reference": "Patient/1"}}, options) == set()
    assert codes(COVERAGE | {"subscriberId": "1"}, options) == {"fhir.profiles.missing"}
