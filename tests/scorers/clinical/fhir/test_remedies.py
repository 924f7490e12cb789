"""Invariants that do not hold are told with what to do."""

from __future__ import annotations

import pytest

from tests.scorers.clinical.fhir.resources import found, patient
from touchstone.scorers.clinical.formats.fhir.remedies import remedy_of
from touchstone.scorers.clinical.formats.fhir.tables import definitions


@pytest.mark.parametrize(
    ("human", "remedy"),
    [
        ("Provide a reference or detail, not both", "Keep exactly one"),
        ("The link ids for groups and questions must be unique within the questionnaire", "Give each a value of its own"),
        ("If present, start SHALL have a lower value than end", "Correct one of the values"),
        ("A question cannot have both answerOption and answerValueSet", "Leave out"),
        ("dataAbsentReason SHALL only be present if Observation.value[x] is not present", "Leave out"),
        ("evidence SHALL have code or details", "Add one of the elements"),
        ("Only proposed or cancelled appointments can be missing start/end dates", "Add the element"),
        ("If the operator is 'exists', the value must be a boolean", "Write the value"),
        ("entry.request mandatory for batch/transaction/history, otherwise prohibited", None),
        ("Group items must have nested items, display items cannot have nested items", None),
        ("There SHALL be a code if there is a value. If system is present, it SHALL be UCUM.", None),
        ("Only 0 and 1 are valid for coordinateSystem", None),
    ],
)
def test_the_kind_of_a_rule_decides_the_remedy_and_a_rule_of_several_kinds_has_none(human: str, remedy: str | None) -> None:
    told = remedy_of(human)
    assert told is None if remedy is None else told is not None and told.startswith(remedy)


def test_most_of_r4_s_invariants_have_a_remedy() -> None:
    texts = {one.human for kind in definitions().types.values() for one in kind.invariants}
    assert sum(remedy_of(text) is not None for text in texts) / len(texts) > 0.85


def test_a_finding_of_an_invariant_says_what_to_do() -> None:
    by_names = found(patient(contact=[{"gender": "male"}]), "fhir.invariants.pat-1")
    by_values = found(patient(identifier=[{"value": "1", "period": {"start": "2020", "end": "2019"}}]), "fhir.invariants.per-1")
    assert (by_names.suggestion, by_values.suggestion) == ("Add one of the elements that the rule names", "Correct one of the values")
