from typing import Any

import pytest

from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.clinical.patient import identity_of


def trace(persona: dict[str, Any] | None = None, fhir: Any = None) -> ProductionTrace:
    outputs = {} if fhir is None else {"fhir": {"content": fhir}}
    return ProductionTrace.model_validate({"traceId": "t-1", "persona": persona, "outputs": outputs})


ROE = {"name": "Jane Roe", "birthDate": "1950-01-02"}
FHIR = {"resourceType": "Patient", "name": [{"family": "ROE", "given": ["Jane"]}], "birthDate": "1950-01-02"}


@pytest.mark.parametrize(
    ("persona", "fhir"),
    [
        ({"name": "Roe, Jane", "dateOfBirth": "1950-01-02"}, None),
        ({"patient": ROE}, None),
        (None, FHIR),
        ({"age": 76}, {"entry": [{"resource": FHIR}], "resourceType": "Bundle"}),
    ],
)
def test_one_patient_is_the_same_however_a_trace_writes_them(persona: dict[str, Any] | None, fhir: Any) -> None:
    assert identity_of(trace(persona, fhir)) == identity_of(trace(ROE)) != ()


def test_another_name_or_birthday_is_another_patient() -> None:
    assert len({identity_of(trace(ROE | more)) for more in ({}, {"name": "Jane Doe"}, {"birthDate": "1950-01-03"})}) == 3


@pytest.mark.parametrize("persona", [None, {}, {"name": "Jane Roe"}, {"birthDate": "1950-01-02"}])
def test_without_name_and_birthday_nobody_is_identified(persona: dict[str, Any] | None) -> None:
    assert identity_of(trace(persona)) == ()
