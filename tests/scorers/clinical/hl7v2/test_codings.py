"""Codes with their systems, for terminology."""

from tests.scorers.clinical.hl7v2.messages import OBR, OBX, PID, admission, header, message, result
from touchstone.scorers.clinical.formats.hl7v2 import codings, read
from touchstone.scorers.clinical.formats.hl7v2.codings import CODINGS_MAX, Coding


def test_codes_are_found_where_fields_are_coded() -> None:
    found = list(codings(read(admission("DG1|1||I10^Hypertension^I10^38341003^Hypertensive disorder^SCT|||W").decode())))

    assert found == [Coding("DG1[1]-3", "I10", "I10"), Coding("DG1[1]-3", "SCT", "38341003")]


def test_a_value_is_coded_where_obx_2_says_so() -> None:
    coded = "OBX|1|CWE|94500-6^RNA^LN||260415000^Not detected^SCT||||||F"
    plain = "OBX|2|ST|94500-6^RNA^LN|2|A^b^LN||||||F"

    assert [coding.path for coding in codings(read(result(coded, plain).decode()))] == ["OBR[1]-4", "OBX[1]-3", "OBX[1]-5", "OBX[2]-3"]


def test_a_code_without_a_system_is_not_one_to_look_up() -> None:
    assert list(codings(read(message(header(), PID, OBR.replace("^LN|", "|")).decode()))) == []


def test_messages_of_a_batch_are_told_apart_and_their_codes_bounded() -> None:
    two = read((result() + result()).decode())

    assert [coding.path for coding in codings(two)][-1] == "message[2]/OBX[1]-6"
    assert len(list(codings(read(message(header(), PID, OBR, *[OBX] * CODINGS_MAX).decode())))) == CODINGS_MAX
