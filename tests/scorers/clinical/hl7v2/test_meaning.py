import pytest

from tests.scorers.clinical.hl7v2.messages import OBR, OBX, PID, PV1, admission, findings, grave, header, message, report_of, result, told

CODED_OBX = "OBX|1|CWE|94500-6^SARS-CoV-2 RNA^LN||260415000^Not detected^SCT||||||F|||20260211083000-0600"
ELR_HEADER = (
    "MSH|^~\\&|LIS^2.16.840.1.113883.3.1^ISO|LAB^2.16.840.1.113883.3.2^ISO|CDC^2.16.840.1.114222.4.3^ISO|EPI^2.16.840.1.114222.4.1^ISO|"
    "20260211101500-0600||ORU^R01^ORU_R01|1|P|2.5.1|||NE|NE|USA||||PHLabReport-NoAck^ELR251R1_Rcvr_Prof^2.16.840.1.113883.9.11^ISO"
)
SFT = "SFT|Maker|1|Product|B1"
ELR_OBX = CODED_OBX + "|||||||||Laboratory^D^^^^CLIA&2.16.840.1.113883.4.7&ISO^XX^^^11D0000000|1 Main St^^Springfield^IL^62701"

ELR_ORC = "ORC|RE||8801^LAB|||||||||||||||||" + "|Clinic^D|1 Main St^^Springfield^IL^62701^USA^B|^WPN^PH^^1^217^5550100"
ELR_SPM = "SPM|1|^1&LAB||258500001^Nasopharyngeal swab^SCT|||||||||||||20260211083000-0600|20260211101500-0600"


def elr(*observations: str, head: str = ELR_HEADER, software: str | None = SFT, pid: str = PID) -> bytes:
    return message(head, *([software] if software else []), pid, ELR_ORC, OBR, *(observations or (ELR_OBX,)), ELR_SPM)


# Header


@pytest.mark.parametrize(
    ("position", "code"),
    [(7, "structure.required-field"), (9, "structure.message-type"), (10, "structure.required-field"), (11, "structure.required-field")],
)
def test_what_the_header_must_hold_is_asked_for(position: int, code: str) -> None:
    fields = header().split("|")
    fields[position - 1] = ""
    data = message("|".join(fields), PID, OBR, OBX)

    assert any(found.path == f"MSH-{position}" and found.code == code for found in findings(data))


@pytest.mark.parametrize(("version", "assumed"), [("", "2.5.1"), ("2.10", "2.8.2"), ("two", "2.5.1"), ("3.0", "2.5.1")])
def test_a_missing_or_unknown_version_is_told_with_the_one_assumed(version: str, assumed: str) -> None:
    said = [found.message for found in findings(result(head=header(version=version))) if found.code == "structure.version"]

    assert len(said) == 1
    assert assumed in said[0]


@pytest.mark.parametrize(("version", "read_as"), [("2.0", "2.1"), ("2.0D", "2.1"), ("2.7.1", "2.7"), ("2.9", "2.8.2"), ("2.9.1", "2.8.2")])
def test_a_published_version_without_tables_is_no_fault_and_is_named_as_read_by_another(version: str, read_as: str) -> None:
    report = report_of(result(head=header(version=version)))

    assert [found for found in report.findings if found.path.startswith("MSH-12")] == []
    assert [skipped.reason for skipped in report.not_checked if skipped.check == "hl7v2.version"] == [
        f"the source has no tables of the declared version; those of HL7 {read_as} were used"
    ]


@pytest.mark.parametrize(("version", "severity"), [("2.3.z", "minor"), ("2.5.1.", "major"), ("2.3x", "major")])
def test_a_guides_own_variant_of_a_version_is_a_slip_and_anything_else_a_fault(version: str, severity: str) -> None:
    found = [(found.severity, found.code) for found in findings(result(head=header(version=version))) if found.path.startswith("MSH-12")]

    assert found == [(severity, "structure.version")]


def test_a_structure_that_does_not_exist_is_told_once() -> None:
    assert [found.code for found in findings(result(head=header("ORU^R01^ORU_R99"))) if found.path == "MSH-9.3"] == ["structure.message-structure"]


def test_the_earliest_versions_may_leave_the_event_to_the_message() -> None:
    assert grave(result(head=header("ORM", "2.1").replace("-0600", ""))) != []
    assert ("major", "structure.message-type", "MSH-9") not in grave(result(head=header("ORU", "2.1")))
    assert ("major", "structure.message-type", "MSH-9") in grave(result(head=header("ORU", "2.3")))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("ADT^A04^ADT_A01", []),
        ("ADT^A04", [("minor", "structure.message-structure", "MSH-9.3")]),
        ("ADT^A04^ADT_A04", [("major", "structure.message-structure", "MSH-9.3")]),
        ("ADT^A04^ADT_A05", [("major", "structure.message-structure", "MSH-9.3")]),
        ("adt^a04", [("major", "structure.message-type", "MSH-9")]),
        ("ADT^Q99", [("minor", "structure.message-structure", "MSH-9.3"), ("major", "structure.message-structure", "MSH-9")]),
    ],
)
def test_the_structure_must_be_the_events(kind: str, expected: list[tuple[str, str, str]]) -> None:
    data = message(header(kind), "EVN||20260211080000-0600", PID, PV1)

    assert set(expected) <= set(told(data))
    assert expected != [] or not [found for found in told(data) if found[2].startswith("MSH-9")]


def test_a_message_without_a_known_structure_is_named_as_not_checked() -> None:
    assert "hl7v2.structure" in {skipped.check for skipped in report_of(message(header("QQQ^Q99"), PID)).not_checked}


def test_an_acknowledgement_needs_no_structure_name() -> None:
    assert grave(message(header("ACK"), "MSA|AA|M0001")) == []
    assert grave(message(header("ACK^R01^ACK"), "MSA|AA|M0001")) == []


# Identities and times


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (("4711^", "^"), ("major", "data_types.cx-id", "PID-3")),
        (("^MR||", "||"), ("minor", "data_types.cx-type", "PID-3")),
        (("&2.16.840.1.113883.3.1234&ISO", "&&ISO"), ("major", "identifiers.universal-id", "PID-3")),
        (("Winter^Ada^^^^^L", "^^^^^^L"), ("major", "data_types.xpn-name", "PID-5")),
        (("Winter^Ada^^^^^L", "^Ada^^^^^L"), ("minor", "data_types.xpn-family", "PID-5")),
        (("Winter^Ada^^^^^L", "Winter^Ada"), ("info", "data_types.xpn-type", "PID-5")),
        (("^IL^", "^Illinois^"), ("minor", "data_types.xad-state", "PID-11")),
        (("^62701^", "^6270^"), ("minor", "data_types.xad-zip", "PID-11")),
        (("^PRN^PH^^1^217^5550100", "(217)555-0100"), ("info", "data_types.xtn-number", "PID-13")),
        (("^PRN^PH^^1^217^5550100", "call me"), ("minor", "data_types.xtn-digits", "PID-13")),
        (("19610215", "20610215"), ("minor", "datetimes.future", "PID-7")),
        (("19610215", "16610215"), ("minor", "datetimes.old", "PID-7")),
    ],
)
def test_a_patient_is_identified_named_and_reachable(changed: tuple[str, str], expected: tuple[str, str, str]) -> None:
    assert expected in told(admission(pid=PID.replace(*changed)))
    assert expected not in told(admission())


@pytest.mark.parametrize("name", ["~^^^^^^U", "~^^^^^^S", "^^^^^^S", '""'])
def test_a_withheld_name_is_no_missing_name(name: str) -> None:
    assert [found for found in told(admission(pid=PID.replace("Winter^Ada^^^^^L", name))) if "xpn" in found[1]] == []


def test_an_address_abroad_is_not_held_to_american_forms() -> None:
    abroad = PID.replace("^IL^62701^USA", "^Bayern^80331^DEU")

    assert [found for found in told(admission(pid=abroad)) if "xad" in found[1]] == []


@pytest.mark.parametrize(("npi", "codes"), [("1234567893", []), ("1234567890", ["identifiers.npi-check-digit"]), ("123", ["identifiers.npi-form"])])
def test_a_providers_npi_is_checked(npi: str, codes: list[str]) -> None:
    obr = OBR.replace("|||||||||||||||20260211101500", f"|||||||||{npi}^Low^Ann^^^^^^NPI&2.16.840.1.113883.4.6&ISO^L^^^NPI||||||20260211101500")

    assert [found.code for found in findings(result(obr=obr)) if found.path == "OBR[1]-16"] == codes


def test_a_discharge_before_admission_is_told() -> None:
    pv1 = PV1 + "|" * 41 + "20260210080000-0600|20260201080000-0600"

    assert ("major", "datetimes.period-order", "PV1-45") in told(admission(pv1=pv1))


# Observations


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("NM", "high", ("major", "data_types.datatype", "OBX[1]-5")),
        ("NM", "13.4^g", ("major", "observations.type-mismatch", "OBX[1]-5")),
        ("ST", "260415000^Not detected^SCT", ("major", "observations.type-mismatch", "OBX[1]-5")),
        ("CWE", "Not detected", ("major", "data_types.coding-system-missing", "OBX[1]-5")),
        ("CWE", "Not detected^^no such system", ("major", "data_types.coding-system", "OBX[1]-5.3")),
        ("DT", "2026-02-11", ("major", "datetimes.malformed", "OBX[1]-5")),
        ("TM", "25", ("major", "data_types.datatype", "OBX[1]-5")),
        ("SN", "about^5", ("major", "observations.comparator", "OBX[1]-5")),
        ("SN", "100", ("major", "observations.comparator", "OBX[1]-5")),
        ("ED", "^TEXT^PLAIN^A", ("minor", "observations.type-mismatch", "OBX[1]-5")),
        ("ED", "plain text", ("major", "observations.type-mismatch", "OBX[1]-5")),
        ("SN", ">^x", ("major", "data_types.datatype", "OBX[1]-5.2")),
        ("", "13.4", ("major", "observations.type-missing", "OBX[1]-2")),
        ('""', "13.4", ("major", "observations.type-missing", "OBX[1]-2")),
        ('""^x', "13.4~14", ("major", "observations.type-missing", "OBX[1]-2")),
        ("XX", "13.4", ("major", "valuesets.code", "OBX[1]-2")),
        ("NM", "", ("minor", "observations.value-missing", "OBX[1]-5")),
    ],
)
def test_a_value_is_of_the_type_that_obx_2_says(kind: str, value: str, expected: tuple[str, str, str]) -> None:
    observation = f"OBX|1|{kind}|718-7^Hemoglobin^LN||{value}|||{'' if value == '' else 'N'}|||F|||20260211083000-0600"

    assert expected in told(result(observation))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("NM", "13.4"),
        ("SN", ">^5"),
        ("SN", "^1^:^64"),
        ("CWE", "260415000^Not detected^SCT"),
        ("CE", "^free text only"),
        ("ST", "negative"),
        ("TX", "one line~another"),
        ("DT", "20260211"),
        ("TS", "202602110830-0600"),
        ("ED", "LAB^application^pdf^Base64^JVBERi0="),
    ],
)
def test_values_of_their_type_pass(kind: str, value: str) -> None:
    assert grave(result(f"OBX|1|{kind}|718-7^Hemoglobin^LN||{value}||||||F|||20260211083000-0600")) == []


def test_a_result_given_twice_is_told() -> None:
    assert ("major", "observations.duplicate", "OBX[2]-3") in grave(result(OBX, OBX.replace("OBX|1", "OBX|2")))


def test_two_results_of_one_observation_are_told_apart_by_obx_4() -> None:
    first, second = OBX, OBX.replace("OBX|1", "OBX|2").replace("|13.4|", "|12.9|")
    numbered = [row.replace("LN||", f"LN|{index}|") for index, row in enumerate((first, second), start=1)]

    assert ("minor", "observations.sub-id", "OBX[2]-4") in told(result(first, second))
    assert ("major", "observations.sub-id", "OBX[2]-4") in told(result(numbered[0], second))
    assert grave(result(*numbered)) == []


def test_the_same_observation_of_another_order_is_no_duplicate() -> None:
    assert grave(message(header(), PID, OBR, OBX, OBR.replace("OBR|1", "OBR|2"), OBX)) == []


def test_a_set_id_used_twice_is_told() -> None:
    other = (
        OBX.replace("718-7^Hemoglobin", "4544-3^Hematocrit").replace("g/dL^gram per deciliter^UCUM", "%").replace("13.4", "40").replace("12.0-16.0", "36-46")
    )

    assert ("minor", "observations.set-id", "OBX[2]-1") in told(result(OBX, other))


def test_a_unit_of_the_wrong_dimension_is_major() -> None:
    platelets = "OBX|1|NM|777-3^Platelets^LN||250|K/uL^K/uL^UCUM|150-400|N|||F|||20260211083000-0600"

    assert ("major", "units.dimension", "OBX[1]-6") in grave(result(platelets))


def test_values_are_judged_by_the_patients_age() -> None:
    infant = PID.replace("19610215", "20260101")
    pulse = "OBX|1|NM|8867-4^Heart rate^LN||150|/min^per minute^UCUM|||||F|||20260211083000-0600"

    assert [found for found in told(result(pulse, pid=infant)) if found[1].startswith("plausibility")] == []
    assert [found for found in told(result(pulse)) if found[1].startswith("plausibility")] != []


# Profiles


def test_a_report_that_keeps_its_profile_has_no_grave_finding() -> None:
    assert grave(elr()) == []


@pytest.mark.parametrize("position", [3, 4, 5, 6])
def test_a_declared_profile_asks_for_sender_and_receiver(position: int) -> None:
    fields = ELR_HEADER.split("|")
    fields[position - 1] = ""

    assert grave(elr(head="|".join(fields))) == [("major", "profile.required-field", f"MSH-{position}")]


def test_without_a_profile_sender_and_receiver_are_only_information() -> None:
    routing = [found for found in told(result(head=header().replace("LIS|GOODHOPE", "|"))) if found[1] != "watermarks.none"]
    assert routing == [("info", "structure.routing", "MSH-3"), ("info", "structure.routing", "MSH-4")]


def test_a_declared_profile_asks_for_coding_systems_everywhere() -> None:
    ethnic = PID + "|" * 9 + "N^Not Hispanic^^NH^Not Hispanic^L"

    assert grave(elr(pid=ethnic)) == [("major", "profile.coding-system", "PID-22")]
    assert grave(result(pid=ethnic)) == []


def test_a_declared_profile_asks_for_its_software_segment() -> None:
    assert ("major", "profile.required-segment", "SFT") in grave(elr(software=None))


def test_a_report_to_public_health_must_name_its_profile() -> None:
    assert grave(elr(head=ELR_HEADER.rsplit("|", 1)[0])) == [("major", "profile.undeclared", "MSH-21")]


def test_an_unknown_profile_is_named_as_not_checked() -> None:
    other = result(head=header() + "|" * 9 + "LRI_Common^^2.16.840.1.113883.9.16^ISO")

    assert "hl7v2.profile" in {skipped.check for skipped in report_of(other).not_checked}


# Batches


def batch(*messages: bytes, count: str | None = None) -> bytes:
    head = b"FHS|^~\\&|LIS\rBHS|^~\\&|LIS\r"
    return head + b"".join(messages) + f"BTS|{len(messages) if count is None else count}\rFTS|1\r".encode()


def test_every_message_of_a_batch_is_checked_and_named() -> None:
    bad = admission(pv1="PV1|1||3W")

    assert grave(batch(result(), result())) == []
    assert grave(batch(result(), bad)) == [("major", "structure.required-field", "message[2]/PV1-2")]


def test_the_trailers_count_is_held_against_the_messages() -> None:
    assert grave(batch(result(), count="2")) == [("major", "structure.batch-count", "BTS-1")]
    assert grave(batch(result(), count="many")) == [("major", "structure.batch-count", "BTS-1")]
    assert grave(batch(result(), count="")) == []


@pytest.mark.parametrize(("count", "expected"), [("1", []), ("2", [("major", "structure.batch-count", "FTS-1")])])
def test_a_file_of_messages_without_a_batch_header_is_one_batch(count: str, expected: list[tuple[str, str, str]]) -> None:
    assert grave(b"FHS|^~\\&|LIS\r" + result() + result() + f"FTS|{count}\r".encode()) == expected


def test_half_a_batch_is_told() -> None:
    whole = batch(result(), result())
    cut = whole[: whole.index(b"BTS")]

    assert {found[1] for found in grave(cut)} == {"structure.batch"}
    assert {found[1] for found in grave(whole.replace(b"FHS|^~\\&|LIS\rBHS|^~\\&|LIS\r", b""))} >= {"structure.batch"}


def test_messages_may_follow_each_other_without_a_batch() -> None:
    assert grave(result() + result()) == []


# Accounting


def test_rules_are_counted_by_check() -> None:
    fired = report_of(result()).rules_fired

    every = {"structure", "data_types", "valuesets", "identifiers", "datetimes", "observations", "units", "plausibility", "terminology", "watermarks"}
    assert set(fired) == every
    assert all(fired.values())


def test_findings_are_named_by_the_check_that_counts_them() -> None:
    known = {"structure", "data_types", "valuesets", "identifiers", "datetimes", "observations", "units", "plausibility", "profile", "terminology"}
    known.add("watermarks")
    bad = message(
        "MSH|^~\\&|||||x||ORU^R01|||2.5", "PID|x||1||A||1||Q", "OBR|1", "OBX|1|NM|8867-4^x^LN||350|mmHg|9-1|AB|||Q", "OBX|1|NM|8867-4^x^LN||350", "bad"
    )

    assert {found.code.split(".")[0] for found in findings(bad)} <= known


def test_a_time_of_death_needs_its_offset_and_a_day_does_not() -> None:
    fields = [*PID.split("|"), *[""] * 30]
    fields[29] = "20260211083000"
    dead = "|".join(fields).rstrip("|")

    assert ("minor", "datetimes.zone-missing", "PID-29") in told(admission(pid=dead))
    assert not [path for _, _, path in told(admission(pid=dead.replace("083000", ""))) if path == "PID-29"]


def test_a_code_outside_of_the_table_it_names_is_told_once() -> None:
    order = message(header("RDE^O11^RDE_O11"), PID, "ORC|NW|1^EHR", "RXE|^^^20260211|1191^Aspirin^RXNORM|1||mg^mg^UCUM", "RXR|ZZZ^Nowhere^HL70162")

    assert [found.code for found in findings(order) if found.path == "RXR[1]-1"] == ["valuesets.code"]
