import pytest

from touchstone.scorers.clinical.formats.hl7v2 import validate

MESSAGE = (
    "MSH|^~\\&|A|B|C|D|20240101120000+0000||ADT^A01^ADT_A01|1|P|2.5.1\rEVN||20240101120000+0000\rPID|1||1^^^A&1.2.3&ISO^MR||Doe^Jo^^^^^L||19800229|F\rPV1|1|I\r"
)


def marks(message: str) -> list[tuple[str, str]]:
    return [(finding.severity, finding.path) for finding in validate(message.encode()).findings if finding.code == "watermarks.none"]


def test_an_unmarked_message_is_told_for_information() -> None:
    assert marks(MESSAGE) == [("info", "MSH-11")]


@pytest.mark.parametrize(
    "change", [("|P|", "|T|"), ("|P|", "|D|"), ("MSH|^~\\&|A", "MSH|^~\\&|SYNTHETIC DATA"), ("Doe^Jo", "Test Patient^Jo"), ("|A|B|", "|Synthea|B|")]
)
def test_what_says_that_it_is_synthetic_is_a_mark(change: tuple[str, str]) -> None:
    assert marks(MESSAGE.replace(*change, 1)) == []
