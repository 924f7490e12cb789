import pytest

from touchstone.scorers.clinical.checks import valuesets
from touchstone.scorers.clinical.report import Context

CONTEXT = Context()

#: Every row of the specification's table (Priority 3) that has codes which may be shipped.
SPECIFIED = {
    "administrative-gender": "female",
    "HL70001": "F",
    "HL70002": "M",
    "marital-status": "M",
    "omb-race-category": "2106-3",
    "omb-ethnicity-category": "2186-5",
    "condition-clinical": "active",
    "condition-ver-status": "confirmed",
    "medicationrequest-status": "active",
    "HL70162": "PO",
    "allergyintolerance-clinical": "active",
    "allergy-intolerance-criticality": "high",
    "reaction-event-severity": "severe",
    "encounter-status": "finished",
    "v3-ActEncounterCode": "AMB",
    "observation-status": "final",
    "observation-interpretation": "H",
    "HL70078": "HH",
    "HL70085": "F",
    "HL70004": "I",
    "HL70112": "01",
}


@pytest.mark.parametrize(("name", "code"), SPECIFIED.items())
def test_every_value_set_of_the_specification_ships(name: str, code: str) -> None:
    assert valuesets.in_value_set(name, code) == "member"
    assert valuesets.in_value_set(name, "no such code") == "not_member"
    assert [finding.code for finding in valuesets.check_code(name, "no such code", "p", CONTEXT)] == ["valuesets.code"]


def test_an_unknown_value_set_is_not_checked() -> None:
    assert valuesets.in_value_set("nobody-knows-it", "x") == "not_checked"
    assert valuesets.check_code("nobody-knows-it", "x", "p", CONTEXT) == []


@pytest.mark.parametrize(
    "name", ["0085", "HL70085", "v2-0085", "http://terminology.hl7.org/ValueSet/v2-0085", "http://terminology.hl7.org/ValueSet/v2-0085|2.9"]
)
def test_a_table_is_found_by_each_of_its_names(name: str) -> None:
    assert valuesets.in_value_set(name, "F") == "member"


@pytest.mark.parametrize("code", [None, 17, True, ["male"], {"code": "male"}, "MALE", "male ", "", "\x00", "\udc80"])
def test_codes_compare_exactly(code: object) -> None:
    assert valuesets.in_value_set("administrative-gender", code) == "not_member"


def test_a_code_that_differs_in_case_is_told_so() -> None:
    (finding,) = valuesets.check_code("administrative-gender", "Male", "Patient.gender", CONTEXT)
    assert "case-sensitive" in finding.message


def test_a_long_list_is_cut_and_the_code_itself_not_shown() -> None:
    (finding,) = valuesets.check_code("HL70078", "SECRET", "OBX[1]-8", CONTEXT)
    assert finding.message.endswith("...")
    assert "SECRET" not in finding.model_dump_json()
