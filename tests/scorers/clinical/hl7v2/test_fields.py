import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scorers.clinical.hl7v2.messages import NOW, OBR, OBX, PID, admission, findings, grave, header, message, report_of, result, told
from touchstone.scorers.clinical.formats.hl7v2.field_patterns import compiled
from touchstone.scorers.clinical.formats.hl7v2.fields import Checker
from touchstone.scorers.clinical.formats.hl7v2.findings import Findings
from touchstone.scorers.clinical.formats.hl7v2.lexer import Segment
from touchstone.scorers.clinical.formats.hl7v2.primitives import trie
from touchstone.scorers.clinical.formats.hl7v2.tables import Element, load
from touchstone.scorers.clinical.formats.hl7v2.value_checks import check_value
from touchstone.scorers.clinical.report import Context, Report

PIECES = ["", '""', "A", "4711", "20260229", "20240229", "2024", "202402291200-0600", "12.5", "-1", "Winter", "LN", "HL70001", "99X", "SCT", "Y", "F", "ISO"]
PIECES += ["2.16.840.1", "x y", "é", "MR", "\\T\\", "\\", "\x07", "H", "u" * 210, "NPI", "0", "1260"]
DATATYPES = [
    "CX",
    "XPN",
    "XAD",
    "XTN",
    "XCN",
    "XON",
    "CE",
    "CWE",
    "CNE",
    "HD",
    "EI",
    "TS",
    "DR",
    "CQ",
    "SN",
    "PL",
    "DTM",
    "NM",
    "SI",
    "ID",
    "IS",
    "ST",
    "DT",
    "TM",
]


@pytest.mark.parametrize(
    ("datatype", "good", "bad"),
    [
        ("NM", ["1", "-1.5", "+.5", "007", "1."], ["", "1,5", "1e5", "NaN", "++1", "1 "]),
        ("SI", ["0", "1", "9999"], ["-1", "10000", "1.0", "a"]),
        ("DT", ["2024", "202402", "20240229"], ["20230229", "20240431", "202413", "2024-02-29", "20240229T"]),
        ("TM", ["23", "2359", "235959", "235959.9999", "0000+0100"], ["24", "2360", "235960", "1", "12:00"]),
        (
            "DTM",
            ["2024", "2024022912", "202402291200", "20240229120000.1234-0500", "20000229", "20240229+0000"],
            ["19000229", "2024022924", "20240229120000.12345", "20240229120000-05", "20240229120000-1500", "19801332", "x"],
        ),
    ],
)
def test_primitives_have_their_form(datatype: str, good: list[str], bad: list[str]) -> None:
    pattern = compiled("2.5.1", datatype, None, repeats=False)

    assert [value for value in good if pattern.fullmatch(value) is None] == []
    assert [value for value in bad if pattern.fullmatch(value)] == []


@st.composite
def values(draw: st.DrawFn) -> str:
    def level(separators: str) -> st.SearchStrategy[str]:
        if not separators:
            return st.sampled_from(PIECES)
        return st.lists(level(separators[1:]), min_size=1, max_size=8 if separators[0] == "^" else 3).map(separators[0].join)

    return draw(level("~^&"))


@pytest.mark.parametrize("version", ["2.1", "2.3", "2.5.1", "2.8"])
@settings(deadline=None)
@given(datatype=st.sampled_from(DATATYPES), value=values())
def test_what_is_passed_at_a_glance_passes_the_careful_look(version: str, datatype: str, value: str) -> None:
    tables = load(version)
    if datatype not in tables.datatypes and datatype in {"CX", "XPN", "CWE", "CNE", "XON"}:
        return
    if not value or compiled(version, datatype, None, repeats=True).fullmatch(value) is None:
        return
    report = Report()
    for repetition in value.split("~"):
        if repetition and repetition != '""':
            check_value(tables, Element(1, datatype, 0, -1, None, "X"), repetition, "X-1", Findings(Context(now=lambda: NOW), report))

    assert report.findings == [], value


@pytest.mark.parametrize("segment", ["PID", "PV1", "OBR", "OBX", "ORC", "DG1", "IN1", "NK1", "AL1"])
@settings(deadline=None)
@given(position=st.integers(1, 12), value=values())
def test_a_bound_field_passed_at_a_glance_passes_the_careful_look(segment: str, position: int, value: str) -> None:
    checker = Checker(load("2.5.1"), segment)
    if position >= len(checker.accepts) or not value or not checker.accepts[position](value):
        return
    report = Report()
    checker._field(Segment(segment, [segment, *[""] * (position - 1), value], 1), position, Findings(Context(now=lambda: NOW), report))
    element = checker.elements[position]
    if element.datatype == "varies":
        return

    assert report.findings == [], (position, value)


@settings(deadline=None)
@given(st.sets(st.text("ab1+", min_size=1, max_size=4), min_size=1, max_size=8), st.text("ab1+", max_size=5))
def test_a_trie_matches_exactly_its_words(words: set[str], text: str) -> None:
    assert (re.fullmatch(trie(frozenset(words)), text) is not None) == (text in words)


@pytest.mark.parametrize("version", ["2.3", "2.3.1", "2.4", "2.5", "2.5.1", "2.6", "2.7", "2.8", "2.8.2"])
def test_a_good_result_has_no_grave_finding_in_any_version(version: str) -> None:
    assert grave(result(version=version)) == []


@pytest.mark.parametrize("version", ["2.3", "2.3.1", "2.4", "2.5", "2.5.1", "2.6", "2.7", "2.8", "2.8.2"])
def test_a_good_admission_has_no_grave_finding_in_any_version(version: str) -> None:
    assert grave(admission(version=version, pv1="PV1|1|I|3W^12^A")) == []


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (admission(pv1="PV1|1||3W"), ("major", "structure.required-field", "PV1-2")),
        (admission(pid=PID.replace("PID|1", "PID|one")), ("major", "data_types.datatype", "PID-1")),
        (admission(pid=PID.replace("19610215", "19611332")), ("major", "datetimes.calendar", "PID-7.1")),
        (admission(pid=PID.replace("19610215", "15/02/1961")), ("major", "datetimes.malformed", "PID-7.1")),
        (admission(pid=PID + "|" * 17 + "Maybe"), ("major", "valuesets.code", "PID-30")),
        (admission(pv1="PV1|1|I~O|3W"), ("major", "structure.cardinality", "PV1-2")),
        (admission("DG1|1||I10^Hypertension^I10|||W|" + "|" * 40 + "x"), ("minor", "structure.extra-field", "DG1[1]-47")),
        (admission(pid=PID.replace("Winter^Ada", "Winter^" + "A" * 200)), ("minor", "data_types.length", "PID-5.2")),
        (admission(pid=PID.replace("^L||1961", "^L^^^^^^^^^^x||1961")), ("minor", "data_types.extra-component", "PID-5")),
        (admission(pid=PID.replace("^MR||", "^MR^^^^^^^^^^y||")), ("minor", "data_types.extra-component", "PID-3")),
        (message(header(), PID, OBR, OBX, "QQQ|1"), ("major", "structure.unknown-segment", "line 5")),
        (message(header(), PID, OBR, "DG1|1||I10^Hypertension^I10|||W", OBX), ("major", "structure.unexpected-segment", "DG1[1]")),
        (message(header(), PID, OBX), ("major", "structure.missing-segment", "OBR")),
        (result(OBX.replace("LN||", "not a system||")), ("major", "data_types.coding-system", "OBX[1]-3.3")),
        (result(OBX.replace("^LN||", "||")), ("major", "data_types.coding-system-missing", "OBX[1]-3")),
        (result(OBX, "NTE|1||a\x07b"), ("minor", "data_types.control-character", "NTE[1]-3")),
        (admission(version="2.7", pid=PID.replace("PID|1||", "PID|1|OLD|")), ("minor", "structure.withdrawn-field", "PID-2")),
    ],
)
def test_what_the_tables_say_is_checked(data: bytes, expected: tuple[str, str, str]) -> None:
    assert expected in told(data)


def test_a_code_of_another_version_is_only_information() -> None:
    # Table 0190 lists BI (billing address) from 2.7 on.
    address = PID.replace("^USA^H", "^USA^BI")

    assert ("info", "valuesets.code-version", "PID-11.7") in told(admission(pid=address, version="2.5"))


def test_an_element_may_be_null() -> None:
    assert grave(admission(pid=PID.replace("|F|", '|""|').replace("19610215", '""'))) == []


def test_local_segments_are_named_as_not_checked() -> None:
    report_data = admission("ZPD|1|anything^at&all~|\\x")
    reasons = {skipped.check for skipped in report_of(report_data).not_checked}

    assert grave(report_data) == []
    assert "hl7v2.local-segments" in reasons


def test_versions_without_code_tables_say_so() -> None:
    assert "hl7v2.tables" in {skipped.check for skipped in report_of(result(version="2.3")).not_checked}
    assert "hl7v2.tables" not in {skipped.check for skipped in report_of(result(version="2.5")).not_checked}


def test_messages_hold_nothing_of_the_payload() -> None:
    secret = "Mnemosyne-7731"
    data = message(
        header(),
        f"PID|{secret}||{secret}^^^{secret}&{secret}&ISO^{secret}||{secret}^\\{secret}||{secret}|{secret}|||{secret}^^^{secret}^{secret}||{secret}",
        f"OBR|1||x|{secret}^{secret}^ {secret}",
        f"OBX|1|{secret}|{secret}||{secret}|{secret}|{secret}|{secret}|||{secret}|||{secret}",
        f"OBX|2|NM|718-7^x^LN||{secret}|{secret}",
        secret,
    )

    assert len(findings(data)) > 10
    assert secret not in repr(findings(data))


def test_values_are_quoted_where_the_settings_ask_for_it() -> None:
    data = admission(pid=PID.replace("PID|1", "PID|one"))

    assert any("'one'" in found.message for found in report_of(data, quote=True).findings)
    assert not any("'one'" in found.message for found in findings(data))
