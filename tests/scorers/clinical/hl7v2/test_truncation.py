from __future__ import annotations

import pytest

from tests.scorers.clinical.hl7v2.messages import OBR, OBX, PID, header, message, result
from touchstone.scorers.clinical import validate_document

CUT = "structure.cut"


def told(data: bytes) -> tuple[str, bool]:
    found = validate_document(data)
    return found.scores.label, CUT in {one.code for one in found.report.findings}


@pytest.mark.parametrize("data", [b"MSH|^~\\&|", b"MSH|^~\\&|\r", header().encode() + b"\r", message(header(), PID, OBR, OBX) + header().encode() + b"\r"])
def test_a_header_alone_is_fail(data: bytes) -> None:
    assert told(data) == ("Fail", True)


def test_a_message_cut_in_its_patient_or_in_a_result_is_fail() -> None:
    whole = result()
    for part in (whole[: whole.index(b"PID") + 20], whole[: whole.index(b"OBX") + 20], whole[: whole.index(b"OBX") + 2]):
        assert told(part) == ("Fail", True), part


def test_a_whole_message_without_its_last_terminator_passes() -> None:
    assert told(result()) == told(result().rstrip(b"\r\n")) == ("Pass", False)
    assert told(result() + b"\0\0  ")[1] is False


def test_a_message_that_ends_and_lacks_a_segment_is_invalid_and_not_called_cut() -> None:
    data = result()
    ended = data[: data.index(b"OBR")]
    assert told(ended) == ("Warn", False)


def test_a_wrong_code_in_the_last_field_is_no_sign_of_a_cut() -> None:
    data = result().rstrip(b"\r\n")
    assert not told(data[: data.rindex(b"|F") + 1] + b"Q")[1]
