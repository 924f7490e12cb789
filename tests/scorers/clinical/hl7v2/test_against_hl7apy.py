"""hl7apy as the oracle, where it is right; and where it is known to be wrong, that it still is and that we are not.

The defects were reproduced on hl7apy 1.3.5; a version that mends one fails its test here, and the list gets shorter.
"""

from typing import Any

import pytest
from hl7apy.consts import VALIDATION_LEVEL
from hl7apy.exceptions import HL7apyException
from hl7apy.parser import parse_message

from tests.scorers.clinical.hl7v2.messages import OBR, OBX, PID, admission, grave, header, message, result

#: Versions whose tables in hl7apy ask for OBX-4, which the standard asks for only where results repeat.
CONDITIONAL_TAKEN_FOR_REQUIRED = {"2.3.1"}
VERSIONS = ["2.3.1", "2.4", "2.5", "2.5.1", "2.6"]


def theirs(data: bytes) -> Any:
    return parse_message(data.decode(), validation_level=VALIDATION_LEVEL.TOLERANT, find_groups=True)


def they_accept(data: bytes) -> bool:
    """Whether hl7apy reads and validates the message without an error."""
    try:
        return bool(theirs(data).validate())
    except (HL7apyException, AttributeError):
        return False


def we_accept(data: bytes) -> bool:
    """Whether we find no structural fault and no malformed value; what is asked for beyond the tables is left out."""
    return not [found for found in grave(data) if found[1].split(".")[0] in {"structure", "data_types"}]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("make", [result, admission])
def test_both_accept_a_good_message(make: Any, version: str) -> None:
    data = make(version=version)
    if version in CONDITIONAL_TAKEN_FOR_REQUIRED:
        data = data.replace(b"^Hemoglobin^LN||", b"^Hemoglobin^LN|1|")

    assert they_accept(data)
    assert we_accept(data)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "damage",
    [
        ("ADT", "PV1|1|I|3W^12^A", "PV1|1||3W^12^A"),
        ("ADT", "PV1|1|I|3W^12^A\r", ""),
        ("ADT", "EVN|A01|20260211080000-0600\r", ""),
        ("ADT", "PV1|1|I|", "PV1|1|I~O|"),
        ("ORU", OBR + "\r", ""),
        ("ORU", "718-7^Hemoglobin^LN|||20260211083000", "|||20260211083000"),
    ],
    ids=["field missing", "segment missing", "event missing", "repeated", "order missing", "code missing"],
)
def test_both_refuse_what_the_tables_forbid(version: str, damage: tuple[str, str, str]) -> None:
    kind, good, bad = damage
    whole = (admission if kind == "ADT" else result)(version=version).decode()
    assert good in whole
    data = whole.replace(good, bad, 1).encode()

    assert not they_accept(data)
    assert not we_accept(data)


# Known defects of hl7apy, each with what we do.


@pytest.mark.parametrize("version", ["2.3.1", "2.5.1"])
def test_defect_it_rejects_five_encoding_characters_before_2_7(version: str) -> None:
    data = result(version=version).replace(b"|^~\\&|", b"|^~\\&#|", 1)

    assert not they_accept(data)
    assert we_accept(data)


def test_defect_it_drops_segments_outside_of_the_structure() -> None:
    data = message(header(), PID, OBR, OBX, "DG1|1||I10^Hypertension^I10|||W")

    assert "DG1" not in theirs(data).to_er7()
    assert ("major", "structure.unexpected-segment", "DG1[1]") in grave(data)


def test_defect_it_passes_a_birth_on_no_day_of_the_calendar() -> None:
    data = admission(pid=PID.replace("19610215", "19801332"))

    assert they_accept(data)
    assert ("major", "datetimes.calendar", "PID-7.1") in grave(data)


def test_defect_it_stops_at_the_first_error() -> None:
    data = admission(pv1="PV1|||3W~3X")

    with pytest.raises(HL7apyException):
        theirs(data).validate()
    assert {("major", "structure.required-field", "PV1-2"), ("major", "structure.cardinality", "PV1-3")} <= set(grave(data))


def test_defect_it_does_not_hold_values_against_their_types() -> None:
    data = result(OBX.replace("|13.4|", "|high|"))

    assert they_accept(data)
    assert ("major", "data_types.datatype", "OBX[1]-5") in grave(data)


def test_defect_it_requires_what_is_conditional() -> None:
    assert not they_accept(result(version="2.3.1"))
    assert we_accept(result(version="2.3.1"))
