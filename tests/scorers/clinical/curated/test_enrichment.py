from typing import Any

import pytest

from touchstone.scorers.clinical.curated import enriched

ICD = "http://hl7.org/fhir/sid/icd-10-cm"


def test_an_entry_without_a_code_gets_one_and_the_given_persona_stays_as_it_was() -> None:
    persona = {"conditions": [{"name": "Hypertension", "onset": "2020"}]}
    whole, added = enriched(persona)
    assert whole == {"conditions": [{"name": "Hypertension", "onset": "2020", "code": "I10", "system": ICD}]}
    assert persona == {"conditions": [{"name": "Hypertension", "onset": "2020"}]}
    assert [(one.path, one.code, one.written) for one in added] == [("persona.conditions[0]", "I10", True)]


@pytest.mark.parametrize("more", [{"code": "I15.9"}, {"system": "x"}, {"icd10": "I15.9"}, {"coding": [{"code": "x"}]}])
def test_an_entry_with_a_code_of_any_kind_is_left_alone(more: dict[str, Any]) -> None:
    persona = {"conditions": [{"name": "Hypertension", **more}]}
    assert enriched(persona) == (persona, ())


def test_plain_text_stays_text_and_its_code_is_told() -> None:
    persona = {"medications": ["Metformin"]}
    whole, added = enriched(persona)
    assert whole == persona
    assert [(one.code, one.written) for one in added] == [("6809", False)]


@pytest.mark.parametrize("name", ["Diabetes", "Hypertension?", "glucose", "Metformin or insulin", "", "no hypertension", "anxiety"])
def test_a_name_that_leaves_a_doubt_gets_no_code(name: str) -> None:
    for key in ("conditions", "medications", "labs"):
        assert enriched({key: [{"name": name}]})[1] == ()


@pytest.mark.parametrize("persona", [{}, {"conditions": None}, {"conditions": "Hypertension"}, {"conditions": [None, 7, [], {}, {"name": 3}]}])
def test_a_persona_of_another_shape_is_left_alone(persona: dict[str, Any]) -> None:
    assert enriched(persona) == (persona, ())
