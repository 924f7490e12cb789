import json

import pytest

from touchstone.scorers.clinical.documents import DocumentValidator
from touchstone.scorers.clinical.format_detection import SNIFFED_BYTES, sniff

PATIENT = b'{"resourceType":"Patient"}'
LONG = json.dumps({"entry": [{"resource": {"resourceType": "Patient", "id": "x" * 100}}] * 1_000, "resourceType": "Bundle"}).encode()


@pytest.mark.parametrize(
    ("data", "form"),
    [
        (PATIENT, "fhir"),
        (b"\xef\xbb\xbf \n" + PATIENT, "fhir"),
        (b'{"id":"x}{","resourceType" : "Patient"', "fhir"),
        (b'[{"resourceType":"Patient"}]', "fhir"),
        (b'{ // a comment with one " in it\n "resourceType":"Patient"}', "fhir"),
        (PATIENT + b"\n" + PATIENT, "fhir"),
        (LONG, "fhir"),
        (b'{"prefetch":{"patient":{"resourceType":"Patient"}}}', None),
        (b'{"text":"\\"resourceType\\":"}', None),
        (b'{"name":"touchstone"}', None),
        (b'<Patient xmlns="http://hl7.org/fhir"/>', "fhir"),
        (b'<?xml version="1.0"?><ClinicalDocument xmlns="urn:hl7-org:v3"/>', "ccda"),
        (b"<html/>", None),
        (b"MSH|^~\\&|A", "hl7v2"),
        (b"\x0bMSH|^~\\&|A", "hl7v2"),
        (b"\r\nFHS|^~\\&|A", "hl7v2"),
        ("MSH|^~\\&|A".encode("utf-16"), "hl7v2"),
        (b"PID|1", None),
        (b"", None),
        (b"\x00\xff", None),
    ],
)
def test_a_format_is_recognised_by_its_own_marks(data: bytes, form: str | None) -> None:
    assert sniff(data) == form


def test_only_the_beginning_is_looked_at() -> None:
    assert len(LONG) > SNIFFED_BYTES
    assert sniff(b" " * SNIFFED_BYTES + PATIENT) is None


@pytest.mark.parametrize("data", [b"MSH", b"MSH|", b'{"resourceType":"Patient"}\n{"resourceType":\n'])
def test_what_cannot_be_read_in_whole_or_in_part_fails(data: bytes) -> None:
    validated = DocumentValidator().validate(data)
    assert (validated.scores.label, validated.valid, validated.label_max) == ("Fail", False, "Fail")
