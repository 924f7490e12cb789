"""Findings carry the line and column of their place in the text of the document."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.scorers.clinical.consistency.patient import CCDA
from touchstone.schemas.result import Finding
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.clinical import validate_document
from touchstone.scorers.clinical.documents import DocumentValidator
from touchstone.scorers.clinical.reading import line_numbers
from touchstone.scorers.clinical.settings import ClinicalSettings
from touchstone.scorers.clinical.trace_scoring import score_trace

PATIENT = """{
  "resourceType": "Patient",
  "gender": "X",
  "name": [
    {"family": "A"},
    {"use": "bad"}
  ]
}
"""
XML = '<Patient xmlns="http://hl7.org/fhir">\n  <gender value="X"/>\n</Patient>\n'
MESSAGE = (
    "MSH|^~\\&|A|B|C|D|20240101120000+0000||ADT^A01^ADT_A01|1|P|2.5.1\r\nEVN||20240101120000+0000\r\nPID|1||1^^^A&1.2.3&ISO||Doe^Jo||20221345\r\nPV1|1|I\r\n"
)


def at(findings: Any, path: str) -> tuple[int | None, int | None]:
    return next((finding.line, finding.column) for finding in findings if finding.path == path)


def scored(content: Any, **outputs: Any) -> tuple[Finding, ...]:
    trace = ProductionTrace.model_validate({"traceId": "t", "outputs": {"fhir": {"content": content}, **outputs}})
    settings = ClinicalSettings()
    return score_trace(trace, DocumentValidator(settings), settings).findings


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_json_findings_have_the_line_and_column_of_the_file(mark: bytes, line_end: str) -> None:
    findings = validate_document(mark + PATIENT.replace("\n", line_end).encode()).report.findings
    assert at(findings, "Patient.gender") == (3, 3)
    assert at(findings, "Patient.name[1].use") == (6, 6)


@pytest.mark.parametrize(
    "text",
    [
        '{"resourceType": "Patient",\n"Ada Winter": 1,\n"gendr": "male",\n"Winter": {"a": [2]},\n"_Pond": 1}',
        '<Patient xmlns="http://hl7.org/fhir">\n<Ada value="1"/>\n<gendr value="male"/>\n<Winter value="1"/>\n<Pond value="2"/>\n</Patient>',
    ],
)
def test_each_member_whose_name_is_left_out_has_a_line_of_its_own(text: str) -> None:
    findings = [one for one in validate_document(text).report.findings if one.code == "fhir.structure.unknown-element"]

    assert [(one.path, one.line) for one in findings] == [("Patient.?", 2), ("Patient.gendr", 3), ("Patient.?", 4), ("Patient.?", 5)]


def test_a_document_on_one_line_keeps_its_own_columns() -> None:
    text = json.dumps(json.loads(PATIENT))
    line, column = at(validate_document(text).report.findings, "Patient.gender")
    assert (line, text[(column or 0) - 1 :][:8]) == (1, '"gender"')


def test_ndjson_findings_have_the_line_of_the_file() -> None:
    data = '{"resourceType": "Patient"}\n\n{"resourceType": "Patient", "gender": "X"}\n'
    assert at(validate_document(data).report.findings, "Line[3].Patient.gender") == (3, 29)


def test_json_that_cannot_be_read_has_the_place_of_the_fault() -> None:
    (finding,) = validate_document('{\n  "resourceType": "Patient",\n  "gender": }\n').report.findings
    assert finding.line == 3


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be"])
def test_xml_in_utf_16_has_lines_with_and_without_its_mark(codec: str) -> None:
    findings = validate_document(CCDA.replace("UTF-8", "UTF-16").encode(codec)).report.findings

    assert at(findings, "ClinicalDocument") == at(validate_document(CCDA).report.findings, "ClinicalDocument") != (None, None)


def test_fhir_xml_ccda_and_hl7v2_have_lines_too() -> None:
    assert at(validate_document(XML).report.findings, "Patient.gender") == (2, 3)
    assert at(validate_document(MESSAGE).report.findings, "PID-7.1") == (3, 33)
    assert at(validate_document(f"\x0b{MESSAGE}\x1c\r").report.findings, "PID-7.1")[0] == 3
    text = CCDA.replace('unit="cm"', 'unit="cmm"')
    placed = [finding for finding in validate_document(text).report.findings if finding.path and finding.line is not None]
    assert placed
    assert all(1 <= (finding.line or 0) <= text.count("\n") + 1 for finding in placed)


def test_documents_in_a_trace_have_lines_of_their_own() -> None:
    assert at(scored(PATIENT), "outputs.fhir/Patient.gender") == (3, 3)
    # An object has no text of its own: its lines are those of the object indented by two spaces.
    assert at(scored(json.loads(PATIENT)), "outputs.fhir/Patient.gender") == (3, 3)
    assert at(scored([PATIENT, f"\n{PATIENT}"]), "outputs.fhir[1]/Patient.gender") == (4, 3)


def test_a_contradiction_between_documents_has_the_line_of_the_document_that_it_names() -> None:
    document = '{\n"resourceType": "Patient",\n"name": [{"family": "Doe", "given": ["Jo"]}],\n"birthDate": "1960-01-01"}'
    message = MESSAGE.replace("20221345", "19700101")
    found = [finding for finding in scored(document, hl7v2={"content": message}) if finding.code.startswith("consistency.")]
    assert found
    lines = {"outputs.fhir/Patient.birthDate": 4, "outputs.hl7v2/PID-7.1": 3, "outputs.hl7v2/PID-7": 3}
    assert all(finding.line == lines[finding.path] for finding in found)


def test_a_finding_about_no_one_place_has_no_line() -> None:
    bundle = {"resourceType": "Bundle", "type": "collection", "entry": []}
    about_all = Finding(severity="major", code="x", path="Observation.status", message="m")
    about_it = Finding(severity="major", code="x", path="", message="m")
    assert [one.line for one in line_numbers.with_lines([about_all, about_it], bundle, "fhir")] == [None, None]


def test_a_document_without_findings_is_not_read_for_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("read for nothing")

    monkeypatch.setattr(line_numbers, "as_written", never)
    tagged = {"resourceType": "Patient", "meta": {"security": [{"system": "http://terminology.hl7.org/CodeSystem/v3-ActReason", "code": "HTEST"}]}}
    assert validate_document(json.dumps(tagged)).report.findings == []


@pytest.mark.parametrize("form", ["json", "xml"])
def test_a_thousand_findings_in_a_large_document_take_time_in_proportion(form: str) -> None:
    """Steps are counted, not seconds: each finding's walk must not begin at the first entry again."""
    import cProfile
    import pstats

    def calls(entries: int) -> int:
        if form == "json":
            content = json.dumps({"resourceType": "Bundle", "entry": [{"resource": {"resourceType": "Patient", "gender": "X"}}] * entries})
        else:
            entry = '<entry><resource><Patient><gender value="X"/></Patient></resource></entry>'
            content = f'<Bundle xmlns="http://hl7.org/fhir">{entry * entries}</Bundle>'
        findings = [Finding(severity="major", code="x", path=f"Patient[{number}].gender", message="m") for number in range(entries)]
        profile = cProfile.Profile()
        placed = profile.runcall(line_numbers.with_lines, findings, content, "fhir")
        assert all(finding.line == 1 for finding in placed)
        assert len({finding.column for finding in placed}) == entries
        return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]

    assert calls(1_000) < 5 * calls(250)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ('<ClinicalDocument xmlns="urn:hl7-org:v3"><id root="1"/></ClinicalDoc>', 70),
        ('<ClinicalDocument xmlns="urn:hl7-org:v3"><id root="1"/></ClinicalDoc>\n', 70),
        ('<ClinicalDocument xmlns="urn:hl7-org:v3"><id root="1" root="2"/></ClinicalDocument>', 63),
        ('<Patient xmlns="http://hl7.org/fhir"><id value="1"></Patient>', 62),
        ('<Patient xmlns="http://hl7.org/fhir"><id value="ä"/>&foo;</Patient>', 58),
        ('{"resourceType":"Patient","id":"x"', 35),
        ('{"resourceType":"Patient","id":"x"\n', 1),
        ('{"resourceType":"Patient","id":}', 32),
    ],
)
def test_a_document_that_cannot_be_read_has_one_column_in_the_message_and_beside_it(text: str, column: int) -> None:
    (finding,) = [one for one in validate_document(text.encode()).report.findings if one.code.endswith(".syntax")]
    named = re.search(r"line (\d),? column (\d+)", finding.message)
    assert named is not None
    (placed,) = line_numbers.with_lines([finding], text, validate_document(text.encode()).format)  # type: ignore[arg-type]
    assert (placed.line, placed.column) == (int(named[1]), int(named[2]))
    assert placed.column == column
