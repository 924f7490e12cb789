import pytest

from tests.scorers.clinical.hl7v2.messages import grave, message, report_of
from touchstone.scorers.clinical.formats.hl7v2.profiles import CASE_NOTIFICATION, ELR

HORIZON = "LAB^2.16.840.1.113883.3.8000.1^ISO"
ORDER = "4711^LAB^2.16.840.1.113883.3.8000.1^ISO"
SENT = "20260205134200.000-0500"
RESULT = "260415000^Not detected^SCT"
REPORT = {
    "MSH": f"MSH|^~\\&|{HORIZON}|{HORIZON}|HUB^2.16.840.1.114222.4.3.3.7^ISO|CDC^2.16.840.1.114222.4.1.10416^ISO|{SENT}||ORU^R01^ORU_R01|1|P|2.5.1"
    "|||NE|NE|USA||||PHLabReport-NoAck^ELR251R1_Rcvr_Prof^2.16.840.1.113883.9.11^ISO",
    "SFT": "SFT|Maker|1.0|LIMS|N/A||20251127172748",
    "PID": "PID|1||19348^^^LAB&2.16.840.1.113883.3.8000.2&ISO^PI||Winter^Ada^^^^^L||20070209|F||2106-3^White^HL70005|^^^VI||||||||||"
    "|N^Not Hispanic or Latino^HL70189",
    "ORC": f"ORC|RE||{ORDER}||||||202601051342||||||||||||Clinic^D|1 Hospital Way^^Springfield^IL^62701^USA^B|^WPN^PH^^1^217^5550100",
    "OBR": f"OBR|1||{ORDER}|95422-2^Panel^LN|||20260116010000.000-0500|||||||||||||||{SENT}|||F",
    "OBX": f"OBX|1|CWE|94533-7^RNA^LN||{RESULT}||||||F|||20260116010000.000-0500|||Multiplex^^99ELR||20260117113900.000-0500"
    "||||Department of Health^D^^^^CLIA&2.16.840.1.113883.19.4.6&ISO^XX^^^48D2179122|3500 Estate^^Christiansted^VI^00820-4370",
    "SPM": f"SPM|1|^1&LAB&2.16.840.1.113883.3.8000.1&ISO||258500001^Nasopharyngeal swab^SCT|||||||||||||20260116010000.000-0500|{SENT}",
}
#: A case notification: no order, and the reason in OBR-31.
NOTICE = {
    "MSH": REPORT["MSH"].rsplit("|", 1)[0] + "|NOTF_ORU_v3.0^PHINProfileID^2.16.840.1.114222.4.10.3^ISO",
    "PID": REPORT["PID"],
    "OBR": REPORT["OBR"] + "||||||10056^Condition^2.16.840.1.114222.4.5.277",
    "OBX": f"OBX|1|CWE|11368-8^Illness onset^LN||{RESULT}||||||F",
}
#: Values that no field of these types may hold.
SPOILT = {"TS": "20261399", "SI": "one", "ID": "@@", "CWE": "no code", "HD": "no id"}
TYPED = [
    ("MSH", 3, "HD"), ("MSH", 4, "HD"), ("MSH", 5, "HD"), ("MSH", 6, "HD"), ("MSH", 7, "TS"), ("MSH", 15, "ID"), ("MSH", 16, "ID"),
    ("SFT", 6, "TS"),
    ("PID", 1, "SI"), ("PID", 3, "CWE"), ("PID", 7, "TS"), ("PID", 8, "ID"), ("PID", 10, "CWE"), ("PID", 22, "CWE"),
    ("ORC", 1, "ID"), ("ORC", 9, "TS"),
    ("OBR", 1, "SI"), ("OBR", 4, "CWE"), ("OBR", 7, "TS"), ("OBR", 22, "TS"), ("OBR", 25, "ID"),
    ("OBX", 1, "SI"), ("OBX", 2, "ID"), ("OBX", 3, "CWE"), ("OBX", 5, "CWE"), ("OBX", 11, "ID"), ("OBX", 14, "TS"), ("OBX", 17, "CWE"), ("OBX", 19, "TS"),
    ("SPM", 1, "SI"), ("SPM", 4, "CWE"), ("SPM", 17, "TS"), ("SPM", 18, "TS"),
]  # fmt: skip
REQUIRED_BY_BASE = [("MSH", position) for position in (7, 9, 10, 11, 12)] + [("OBX", 2), ("OBX", 5)]
REQUIRED = sorted({*REQUIRED_BY_BASE, *((name, position) for name, positions in ELR.required.items() for position in positions)})


def with_field(rows: dict[str, str], name: str, position: int, value: str) -> bytes:
    fields = rows[name].split("|")
    fields[position - (name == "MSH")] = value
    return message(*(rows | {name: "|".join(fields)}).values())


def told_at(data: bytes, name: str, position: int) -> list[tuple[str, str, str]]:
    places = tuple(f"{start}-{position}{end}" for start in (name, f"{name}[1]") for end in ("", ".", "["))
    return [found for found in grave(data) if found[2] in places[::3] or found[2].startswith(tuple(place for place in places if place[-1] in ".["))]


def test_a_whole_report_and_a_whole_notice_have_nothing_grave() -> None:
    assert grave(message(*REPORT.values())) == []
    assert grave(message(*NOTICE.values())) == []


@pytest.mark.parametrize(("name", "position"), REQUIRED)
def test_a_required_field_of_a_laboratory_report_is_missed_at_its_path(name: str, position: int) -> None:
    assert told_at(with_field(REPORT, name, position, ""), name, position)


@pytest.mark.parametrize(("name", "position"), [(name, position) for name, positions in CASE_NOTIFICATION.required.items() for position in positions])
def test_a_required_field_of_a_case_notification_is_missed_at_its_path(name: str, position: int) -> None:
    if (name, position) != ("MSH", 21):  # without it nothing says that this is a case notification
        assert told_at(with_field(NOTICE, name, position, ""), name, position)


@pytest.mark.parametrize(("name", "position", "datatype"), TYPED)
def test_a_spoilt_field_is_told_at_its_path(name: str, position: int, datatype: str) -> None:
    assert told_at(with_field(REPORT, name, position, SPOILT[datatype]), name, position)


@pytest.mark.parametrize("value", ["", '""', "no profile", "PHLabReport^x"])
def test_a_report_that_names_no_profile_is_told_so(value: str) -> None:
    assert told_at(with_field(REPORT, "MSH", 21, value), "MSH", 21)


@pytest.mark.parametrize("name", ["SFT", "PID", "ORC", "OBR", "OBX", "SPM"])
def test_a_required_segment_of_a_laboratory_report_is_missed(name: str) -> None:
    told = grave(message(*(row for kept, row in REPORT.items() if kept != name)))

    assert name in {path for _, code, path in told if code in {"profile.required-segment", "structure.missing-segment"}}


def test_a_number_of_a_laboratory_report_needs_its_unit() -> None:
    number = REPORT["OBX"].replace("|CWE|", "|NM|").replace(RESULT, "7.4")

    assert grave(message(*(REPORT | {"OBX": number}).values())) == [("major", "profile.required-field", "OBX[1]-6")]


@pytest.mark.parametrize(("position", "value"), [(10, "9999-9^X^HL70005"), (22, "Q^X^HL70189")])
def test_race_and_ethnic_group_are_held_against_the_table_that_they_name(position: int, value: str) -> None:
    found = report_of(with_field(REPORT, "PID", position, value)).findings

    assert ("minor", "valuesets.code", f"PID-{position}") in [(one.severity, one.code, one.path) for one in found]
    assert grave(with_field(REPORT, "PID", position, value)) == []


def test_a_required_field_may_not_be_null() -> None:
    assert told_at(with_field(REPORT, "ORC", 3, '""'), "ORC", 3) == [("major", "profile.required-field", "ORC[1]-3")]


def test_an_immunization_update_needs_the_patient_s_birth() -> None:
    rows = {
        "MSH": "MSH|^~\\&|A|B|C|D|20260205134200-0500||VXU^V04^VXU_V04|1|P|2.5.1|||ER|AL|||||Z22^CDCPHINVS",
        "PID": "PID|1||1^^^A&2.16.840.1.113883.3.1&ISO^MR||Winter^Ada^^^^^L||20070209|F",
        "ORC": "ORC|RE||65930^DCS",
        "RXA": "RXA|0|1|20260205|20260205|08^HepB^CVX|999",
    }
    assert grave(message(*rows.values())) == []
    assert told_at(with_field(rows, "PID", 7, ""), "PID", 7)


def test_other_profiles_are_named_as_not_checked() -> None:
    data = message(REPORT["MSH"].replace("PHLabReport-NoAck^ELR251R1_Rcvr_Prof^2.16.840.1.113883.9.11^ISO", "X^Y^2.16.840.1.113883.9.9999^ISO"), REPORT["PID"])

    assert "the profile that MSH-21 declares is not carried" in {rule.reason for rule in report_of(data).not_checked}
