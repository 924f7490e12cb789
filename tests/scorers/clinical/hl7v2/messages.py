"""Messages of our own, in several versions, and how tests look at findings."""

import re
from datetime import UTC, datetime

from touchstone.schemas.result import Finding
from touchstone.scorers.clinical.formats.hl7v2 import Message
from touchstone.scorers.clinical.formats.hl7v2.escapes import unescape
from touchstone.scorers.clinical.formats.hl7v2.lexer import part
from touchstone.scorers.clinical.formats.hl7v2.validator import check_document
from touchstone.scorers.clinical.report import Context, Report

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
AUTHORITY = "GOODHOPE&2.16.840.1.113883.3.1234&ISO"
PID = f"PID|1||4711^^^{AUTHORITY}^MR||Winter^Ada^^^^^L||19610215|F|||12 Mill Lane^^Springfield^IL^62701^USA^H||^PRN^PH^^1^217^5550100"
PV1 = "PV1|1|I|3W^12^A"
OBR = "OBR|1||8801^LAB|718-7^Hemoglobin^LN|||20260211083000-0600|||||||||||||||20260211101500-0600|||F"
OBX = "OBX|1|NM|718-7^Hemoglobin^LN||13.4|g/dL^gram per deciliter^UCUM|12.0-16.0|N|||F|||20260211083000-0600"


def header(kind: str = "ORU^R01^ORU_R01", version: str = "2.5.1", sent: str = "20260211101500-0600") -> str:
    return f"MSH|^~\\&|LIS|GOODHOPE|EHR|GOODHOPE|{sent}||{kind}|M0001|P|{version}"


def result(*observations: str, version: str = "2.5.1", pid: str = PID, obr: str = OBR, head: str | None = None) -> bytes:
    return message(head or header(version=version), pid, obr, *(observations or (OBX,)))


def admission(*more: str, version: str = "2.5.1", pid: str = PID, pv1: str = PV1) -> bytes:
    """An admission with further segments after PV1."""
    return message(header("ADT^A01^ADT_A01", version), "EVN|A01|20260211080000-0600", pid, pv1, *more)


def message(*segments: str) -> bytes:
    return "\r".join(segments).encode() + b"\r"


def value_at(read: Message, path: str) -> str:
    """The unescaped text at `PID[1]-3[2].4.1`."""
    found = re.fullmatch(r"(\w{3})(?:\[(\d+)\])?-(\d+)(?:\[(\d+)\])?(?:\.(\d+))?(?:\.(\d+))?", path)
    assert found is not None
    value = read.named(found[1])[int(found[2] or 1) - 1].field(int(found[3]))
    if (found[1], found[3]) == ("MSH", "2"):
        return value
    value = value.split("~")[int(found[4] or 1) - 1]
    for separator, number in (("^", found[5]), ("&", found[6])):
        value = part(value, separator, int(number)) if number else value
    return unescape(value)


def report_of(data: bytes, *, quote: bool = False) -> Report:
    """The report, by the validator's own path: what it would have caught is an error here."""
    report = Report()
    check_document(data, Context(now=lambda: NOW, quote=quote), report)
    return report


def findings(data: bytes) -> list[Finding]:
    return report_of(data).findings


def told(data: bytes, *severities: str) -> list[tuple[str, str, str]]:
    """(severity, code, path) of the findings, of these severities where some are named."""
    return [(found.severity, found.code, found.path) for found in findings(data) if not severities or found.severity in severities]


def grave(data: bytes) -> list[tuple[str, str, str]]:
    return told(data, "critical", "major")
