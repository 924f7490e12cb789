import pytest

from tests.scorers.clinical.hl7v2.messages import OBR, OBX, PID, PV1, admission, findings, header, message, report_of, result, told

NEWER = ["2.9", "2.9.1", "2.9.2", "2.10"]


@pytest.mark.parametrize("version", NEWER)
@pytest.mark.parametrize(
    ("more", "code"),
    [
        ("OH1|1", "structure.unknown-segment"),
        ("QRD|1", "structure.unexpected-segment"),
        ("OBX|1|NM|718-7^Hemoglobin^LN||13.4|g/dL|||||Q", "valuesets.code"),
    ],
)
def test_what_only_an_older_versions_tables_forbid_is_minor(version: str, more: str, code: str) -> None:
    data = admission(more, version=version) if code != "valuesets.code" else result(more, version=version)
    said = {found.severity for found in findings(data) if found.code == code}

    assert said <= {"minor", "info"}
    assert not [found for found in findings(data) if found.severity in {"critical", "major"}]


def test_a_finding_by_another_versions_tables_names_them() -> None:
    (found,) = [found for found in findings(admission("OH1|1", version="2.9")) if found.code == "structure.unknown-segment"]

    assert "by the tables of HL7 2.8.2, because those of the declared version are not at hand" in found.message


@pytest.mark.parametrize("version", ["2.9.2", "2.10", "2.11.1"])
def test_a_version_that_hl7_may_have_published_since_is_minor_and_the_age_of_the_tables_is_told(version: str) -> None:
    (found,) = [found for found in findings(admission(version=version)) if found.code == "structure.version"]

    assert found.severity == "minor"
    assert "HL7 2.8.2 and HL7 Terminology" in found.message


@pytest.mark.parametrize("version", ["3.0", "2", "2.05", "V2.5", "9.9"])
def test_what_can_be_no_version_of_hl7_stays_a_fault(version: str) -> None:
    assert ("major", "structure.version", "MSH-12") in told(admission(version=version))


def test_what_the_tables_of_the_declared_version_forbid_stays_a_fault() -> None:
    assert ("major", "structure.unknown-segment", "line 5") in told(admission("QQQ|1", version="2.5.1"))
    assert ("major", "structure.unexpected-segment", "QRD") in told(admission("QRD|1", version="2.5.1"))


def test_a_malformed_value_stays_a_fault_in_a_newer_version() -> None:
    assert ("major", "datetimes.malformed", "PID-7") in told(admission(version="2.9", pid=PID.replace("19610215", "1961-02-15")))


def test_a_segment_that_a_later_version_defines_is_minor() -> None:
    assert ("minor", "structure.unknown-segment", "PRT[1]") in told(result(OBX, "PRT|1|UC", version="2.5.1"))


@pytest.mark.parametrize("kind", ["ADT^Z01", "ADT^Z01^ADT_Z01", "ZPM^Z01^ZPM_Z01"])
def test_local_messages_and_events_are_not_checked(kind: str) -> None:
    report = report_of(message(header(kind), "EVN||20260211080000-0600", PID, PV1))

    assert [found for found in report.findings if found.severity in {"critical", "major"}] == []
    assert "hl7v2.local-messages" in {rule.check for rule in report.not_checked}


def test_a_local_event_with_a_published_structure_is_held_against_that() -> None:
    assert ("major", "structure.missing-segment", "PV1") in told(message(header("ADT^Z01^ADT_A01"), "EVN||20260211080000-0600", PID))


def test_a_code_outside_a_table_that_grows_names_how_old_the_table_is() -> None:
    (found,) = [found for found in findings(result(OBX.replace("|NM|", "|QQ|"), obr=OBR)) if found.code == "valuesets.code"]

    assert "as of HL7 2.8.2 and HL7 Terminology" in found.message
