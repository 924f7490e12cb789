"""Profiles in NIST's XML: usage, cardinality, lengths, constants and the place of segments."""

from pathlib import Path

import pytest

from tests.scorers.clinical.hl7v2.nist_profile import LINES, PROFILE, TITLE, changed, edited, judged, of_profile, with_field, written

OBX, PID = LINES["OBX"], LINES["PID"]
GOOD = [
    edited(),
    with_field("PID", 3, "1~2~3"),
    with_field("PID", 5, "Winter^Ada~Frost^Ada~Snow^Ada"),
    with_field("PID", 7, ""),  # RE
    with_field("PID", 8, ""),
    with_field("MSH", 4, ""),
    with_field("PID", 11, "Jo"),
    with_field("PID", 11, "Joann"),
    with_field("PID", 11, "A\\T\\BCD"),  # an escape sequence is one character
    with_field("PID", 6, "Winter"),
    with_field("MSH", 14, "back"),  # B
    with_field("MSH", 10, "12345678"),
    edited(more="NTE|1\nNTE|2\nOBX|2|CWE|a^b^L||x^y^L||||||F"),
    edited(more="SPM|1|||x^y^L"),
    edited(more="OBR|2||8802|719-8^Ferritin^LN\nOBX|1|NM|1^x^L||4||||||F\nSPM|1|||x"),
    edited(OBX=""),  # RESULT is RE
    edited(OBX=changed("OBX", 5, "a^b^L", OBX.replace("|NM|", "|CWE|"))),  # the type that OBX-2 names
    edited(OBX=changed("OBX", 5, "a^b", OBX.replace("|NM|", "|XX|"))),  # no case: not judged by the mapping
]
BAD = [
    (edited(PID=""), [("profile.required-segment", "PID")]),
    (edited(OBX="", OBR=""), [("profile.required-group", "ORDER")]),
    (with_field("OBR", 3, ""), [("profile.required-field", "OBR[1]-3")]),
    (with_field("OBX", 1, ""), [("profile.required-field", "OBX[1]-1")]),
    (with_field("OBR", 3, '""'), [("profile.required-field", "OBR[1]-3")]),
    (with_field("PID", 3, "^^^A&2.16.840.1.113883.3.1234&ISO"), [("profile.required-component", "PID-3.1")]),
    (with_field("PID", 3, "1~^^^^MR"), [("profile.required-component", "PID-3[2].1")]),
    (with_field("PID", 3, "1^^^A&&ISO"), [("profile.required-component", "PID-3.4.2")]),
    (with_field("PID", 2, "9"), [("profile.not-supported", "PID-2")]),
    (with_field("PID", 3, "1^9"), [("profile.not-supported", "PID-3.2")]),
    (with_field("MSH", 8, "x"), [("profile.not-supported", "MSH-8")]),
    (edited(PID=PID + "\rPD1|x"), [("profile.not-supported", "PD1")]),
    (with_field("PID", 3, "1~2~3~4"), [("profile.cardinality", "PID-3")]),
    (with_field("OBX", 8, "A~B~C"), [("profile.cardinality", "OBX[1]-8")]),
    (edited(more="OBR|2||2|x^x^L\nOBX|1||1^x^L||4||||||F\nOBR|3||3|x^x^L"), [("profile.cardinality", "ORDER")]),
    (with_field("MSH", 3, "LIS^2.16.840.1.113883.3.1234^DNS"), [("profile.constant", "MSH-3.3")]),
    (with_field("PID", 3, "1^^^A&2.16.840.1.113883.3.1234&L"), [("profile.constant", "PID-3.4.3")]),
    (edited(PID=PID + "\rNK1|1|Frost^Jo|FTH"), [("profile.unexpected-segment", "NK1[1]")]),
    (edited(PID=PID + "\rPV1|1|O"), [("profile.unexpected-segment", "PV1")]),
]
MILD = [
    (with_field("PID", 11, "A"), ("minor", "profile.length", "PID-11")),
    (with_field("PID", 11, "Joanna"), ("minor", "profile.length", "PID-11")),
    (with_field("MSH", 10, "123456789"), ("minor", "profile.length", "MSH-10")),
    (with_field("PID", 12, "Adams"), ("info", "profile.conformance-length", "PID-12")),
    (with_field("MSH", 13, "1"), ("minor", "profile.not-supported", "MSH-13")),
    (edited(OBR=LINES["OBR"] + "||x"), ("minor", "profile.extra", "OBR[1]")),
    (edited(more="ZZZ|x"), ("minor", "profile.unexpected-segment", "line 5")),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("pond"))


@pytest.mark.parametrize("data", GOOD)
def test_what_the_profile_allows_is_no_finding(data: bytes, folder: Path) -> None:
    assert of_profile(judged(data, folder), "critical", "major", "minor", "info") == []


@pytest.mark.parametrize(("data", "expected"), BAD)
def test_what_the_profile_forbids_is_one_major_finding(data: bytes, expected: list[tuple[str, str]], folder: Path) -> None:
    assert of_profile(judged(data, folder)) == expected


@pytest.mark.parametrize(("data", "expected"), MILD)
def test_lengths_withdrawn_fields_and_additions_are_mild(data: bytes, expected: tuple[str, str, str], folder: Path) -> None:
    report = judged(data, folder)

    assert expected in [(one.severity, one.code, one.path) for one in report.findings]
    assert of_profile(report) == []


def test_a_finding_names_the_profile_with_its_version_and_nothing_of_the_message(folder: Path) -> None:
    report = judged(with_field("PID", 2, "secret"), folder)

    (found,) = [one for one in report.findings if one.code == "profile.not-supported"]
    assert found.message == f"{TITLE} does not support Old id (usage X); leave it out"
    assert "secret" not in str(report.findings)


def test_a_fault_of_the_standard_is_not_reported_by_the_profile_again(folder: Path) -> None:
    report = judged(with_field("MSH", 10, ""), folder)

    assert [one.code for one in report.findings if one.path == "MSH-10" and one.severity == "major"] == ["structure.required-field"]


MORE_OBX = "\n".join(f"OBX|{number}||1^x^L||4||||||F" + "|" * 12 + "x" for number in (1, 2, 3))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (edited(OBR=LINES["OBR"] + "||x"), [("OBR[1]", "fields of OBR, and more are given")]),
        (edited(more=MORE_OBX), [("OBX[2]", "fields of OBX, and more are given in 3 segments")]),
        (edited(OBR=LINES["OBR"] + "||x", more=MORE_OBX), [("OBR[1]", "fields of OBR, and more are given"), ("OBX[2]", "more are given in 3 segments")]),
        (edited(), []),
    ],
)
def test_fields_that_the_profile_does_not_describe_are_one_finding_for_each_kind_of_segment(data: bytes, said: list[tuple[str, str]], folder: Path) -> None:
    found = [one for one in judged(data, folder).findings if one.code == "profile.extra"]

    assert [one.path for one in found] == [path for path, _ in said]
    assert all(one.message.endswith(text) for one, (_, text) in zip(found, said, strict=True))


@pytest.mark.parametrize(
    ("fields", "said"),
    [(1, "describes 1 field of OBR"), (2, "describes 2 fields of OBR"), (4, None)],
)
def test_one_field_is_not_called_fields(fields: int, said: str | None, tmp_path: Path) -> None:
    start = PROFILE.index('<Segment ID="OBR')
    end = PROFILE.index("</Segment>", start)
    described = PROFILE[start:end].split("<Field ")
    short = PROFILE[:start] + "<Field ".join(described[: fields + 1]) + PROFILE[end:]
    messages = [one.message for one in judged(edited(), written(tmp_path, PROFILE=short)).findings if one.code == "profile.extra"]

    assert any(said in one for one in messages) if said else not messages


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (with_field("PID", 11, "A"), "allows 2 to 5 characters for"),
        (with_field("MSH", 10, "M" * 12), "characters for Control id; given: 12"),
        (with_field("PID", 3, "1~2~3~4"), "allows 1 to 3 of"),
        (edited(PID=LINES["PID"] + "\r" + LINES["PID"]), "allows 1 of the segment PID"),
    ],
)
def test_bounds_read_as_people_write_them(data: bytes, said: str, folder: Path) -> None:
    assert any(said in one.message for one in judged(data, folder).findings if one.code.startswith("profile."))


def test_rules_are_counted(folder: Path) -> None:
    assert judged(edited(), folder).rules_fired["profile"] > 50


@pytest.mark.parametrize(
    ("name", "position", "text", "codes"),
    [
        ("PID", 3, '""', ["structure.required-null"]),
        ("PID", 5, '""', ["structure.required-null"]),
        ("OBX", 3, '""', ["structure.required-null"]),
        ("MSH", 10, "M" * 25, ["data_types.length"]),
        ("MSH", 10, "M" * 12, ["profile.length"]),
    ],
)
def test_what_the_standard_says_too_is_one_finding(name: str, position: int, text: str, codes: list[str], tmp_path: Path) -> None:
    before = {(one.code, one.path) for one in judged(edited(), written(tmp_path)).findings}
    found = judged(with_field(name, position, text), written(tmp_path)).findings

    new = [
        one.code for one in found if (one.code, one.path) not in before and one.path.partition("[1]")[0] + one.path.partition("[1]")[2] == f"{name}-{position}"
    ]
    assert new == codes


@pytest.mark.parametrize(
    ("name", "text", "path"), [("MSH", "LIS^2.16.840.1.113883.3.1234^NOTYPE", "MSH-3.3"), ("PID", "1^^^A&2.16.840.1.113883.3.1234&NOTYPE", "PID-3.4.3")]
)
def test_a_constant_that_is_no_code_of_its_table_either_is_one_finding(name: str, text: str, path: str, tmp_path: Path) -> None:
    found = judged(with_field(name, 3, text), written(tmp_path)).findings
    assert [one.code for one in found if one.path == path] == ["profile.constant"]
