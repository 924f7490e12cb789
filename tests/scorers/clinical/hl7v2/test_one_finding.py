import pytest

from tests.scorers.clinical.hl7v2.messages import PID, PV1, admission, grave, header, message, told

EVN = "EVN|A01|20260211080000-0600"


@pytest.mark.parametrize("version", ["2.3", "2.5.1", "2.6"])
def test_a_segment_that_stands_too_late_is_misplaced_and_not_missing_too(version: str) -> None:
    data = message(header("ADT^A01^ADT_A01", version), EVN, PV1, PID)

    assert grave(data) == [("major", "structure.misplaced-segment", "PID")]


def test_a_segment_that_is_missing_twice_and_late_once_is_told_of_both() -> None:
    data = message(header("ADT^A01^ADT_A01"), PV1, PID)

    assert ("major", "structure.missing-segment", "EVN") in grave(data)
    assert ("major", "structure.misplaced-segment", "PID") in grave(data)


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_an_identifier_with_a_check_digit_is_not_asked_for_an_authority_that_its_type_does_not_have(version: str) -> None:
    data = message(header("ADT^A01", version), EVN, PID.replace("4711^^^GOODHOPE&2.16.840.1.113883.3.1234&ISO^MR", "4711^4^M10"), PV1)

    assert [found for found in told(data) if found[1].startswith("data_types.cx")] == []


@pytest.mark.parametrize(
    ("version", "expected"), [("2.5.1", ("minor", "data_types.cx-type", "PID-3")), ("2.8", ("minor", "data_types.required-component", "PID-3.5"))]
)
def test_an_identifier_without_its_type_is_one_finding(version: str, expected: tuple[str, str, str]) -> None:
    found = [one for one in told(admission(version=version, pid=PID.replace("&ISO^MR", "&ISO"))) if one[2].startswith("PID-3")]

    assert found == [expected]


@pytest.mark.parametrize("version", ["2.5.1", "2.6", "2.8"])
def test_an_identifier_without_its_number_is_one_finding(version: str) -> None:
    found = [one for one in told(admission(version=version, pid=PID.replace("|4711^", "|^"))) if one[2].startswith("PID-3")]

    assert found == [("major", "data_types.cx-id", "PID-3")]
