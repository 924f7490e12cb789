from pathlib import Path

import pytest

from touchstone.ops.lab.agreement.hl7v2 import labelled, measure, message_files, read_name, samples

MESSAGE = (
    "MSH|^~\\&|LIS|GOODHOPE|EHR|GOODHOPE|20240109123000-0600||ADT^A01^ADT_A01|M1|P|2.5.1\r"
    "EVN|A01|20240109123000-0600\r"
    "PID|1||12345^^^HOSP&2.16.840.1.113883.3.1234&ISO^MR||Winter^Ada^^^^^L||19700101|F\r"
    "PV1|1|I|2W^1^A\r"
)


@pytest.mark.parametrize(
    ("name", "promise"),
    [
        ("LAB_2.5.1_NO_MSH3", "MSH-3"),
        ("LAB_2.5.1_MISSING_MSH21", "MSH-21"),
        ("OBR-25 is missing", None),
        ("LAB_OBR25_MISSING", "OBR-25"),
        ("LAB_PID5_ERROR", "PID-5"),
        ("LAB_INVALID_OBX2", "OBX-2"),
        ("LAB_OBX2CWE_OBX5ST", "OBX-5"),
        ("LAB_WITH_PID22.1_NO_PID22.3", "PID-22"),
        ("LAB_DUPLICATE_OBX1", "OBX"),
        ("TWO_OBX_WITH_SAME_OBX3_NULL_OBX4", "OBX"),
        ("TWO_OBX_WITH_SAME_OBX3_DIFFERENT_OBX4", "valid"),
        ("LAB_NO_PID", "PID"),
        ("LAB_WITH_ERRORS", "a fault"),
        ("LAB_2.5.1_VALID_MESSAGE", "valid"),
        ("Lab HappyPath", "valid"),
        ("LAB_INVALID", "a fault"),
        ("LAB_FLU_2.5.1", None),
        ("NO_WAY", None),
    ],
)
def test_a_name_is_read_word_by_word(name: str, promise: str | None) -> None:
    found = read_name(name)
    assert (None if found is None else str(found)) == promise


def test_names_are_held_against_findings(tmp_path: Path) -> None:
    for name, text in {
        "LAB_VALID.hl7": MESSAGE,
        "LAB_NO_MSH9.hl7": MESSAGE.replace("ADT^A01^ADT_A01", ""),
        "LAB_NO_MSH10.hl7": MESSAGE,
        "LAB_OLD_VALID.hl7": MESSAGE.replace("|2.5.1\r", "|\r"),
        "LAB.hl7": MESSAGE,
    }.items():
        (tmp_path / name).write_text(text)
    found = labelled(sorted(tmp_path.iterdir()))
    assert (found["cases"], found["agree"], found["valid"], found["false_alarms"], found["missed"]) == (4, 2, 2, 1, 1)
    assert [(each["case"], each["expected"]) for each in found["disagreements"]] == [("LAB_NO_MSH10.hl7", "MSH-10"), ("LAB_OLD_VALID.hl7", "valid")]
    assert found["unread"] == ["LAB.hl7"]


def test_samples_are_counted_whole_by_version(tmp_path: Path) -> None:
    (tmp_path / "one.hl7").write_text(MESSAGE + "\r\n\r\n")
    (tmp_path / "two.txt").write_text(f"\x0b{MESSAGE}\x1c\r")
    found = samples(sorted(tmp_path.iterdir()))
    assert (found["cases"], found["agree"], found["versions"]) == (2, 2, {"2.5.1": 2})


def test_a_dropped_line_is_a_disagreement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from touchstone.ops.lab.agreement import hl7v2 as agreement_hl7v2

    read = agreement_hl7v2.read

    def dropping(text: str) -> object:
        document = read(text)
        document.messages[0].segments.pop()
        return document

    monkeypatch.setattr(agreement_hl7v2, "read", dropping)
    (tmp_path / "one.hl7").write_text(MESSAGE)
    assert samples([tmp_path / "one.hl7"])["disagreements"] == [{"case": "one.hl7", "expected": "read whole", "ours": ["4 lines, 3 segments"]}]


def test_a_crash_is_a_disagreement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from touchstone.ops.lab.agreement import hl7v2 as agreement_hl7v2

    def crash(text: str) -> object:
        raise ZeroDivisionError

    monkeypatch.setattr(agreement_hl7v2, "read", crash)
    (tmp_path / "one.hl7").write_text(MESSAGE)
    assert samples([tmp_path / "one.hl7"])["disagreements"][0]["ours"] == ["crashed: ZeroDivisionError"]


def test_messages_are_found_by_content_not_by_suffix(tmp_path: Path) -> None:
    (tmp_path / "LICENSE").write_text("Text about MSH segments")
    (tmp_path / "message").write_text(MESSAGE)
    (tmp_path / "odd.hl7").write_text(MESSAGE.replace("MSH|^~\\&|", "MSH$%~\\&$"))
    assert [path.name for path in message_files(tmp_path)] == ["message", "odd.hl7"]


def test_labelled_files_are_those_below_a_folder_of_that_name(tmp_path: Path) -> None:
    for name in ("site/labelled-x/LAB_VALID.hl7", "site/LAB_NO_MSH3.hl7"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(MESSAGE)
    found = measure(tmp_path)
    assert found["cases"] == 1
    assert found["samples"]["cases"] == 2
