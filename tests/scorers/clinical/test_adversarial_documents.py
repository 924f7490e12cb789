import concurrent.futures
import json
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from touchstone.scorers.clinical import validate_document
from touchstone.scorers.clinical.checks import ucum_reader
from touchstone.scorers.clinical.documents import DocumentValidator
from touchstone.scorers.clinical.formats.fhir import validator as fhir_validator


def narrative(text: str) -> dict[str, Any]:
    return {"resourceType": "Patient", "text": {"status": "generated", "div": f'<div xmlns="http://www.w3.org/1999/xhtml">{text}</div>'}}


def answered(pattern: str, text: str) -> dict[str, Any]:
    rule = {"url": "http://hl7.org/fhir/StructureDefinition/regex", "valueString": pattern}
    questionnaire = {"resourceType": "Questionnaire", "id": "q", "status": "active", "item": [{"extension": [rule], "linkId": "a", "type": "string"}]}
    item = [{"linkId": "a", "answer": [{"valueString": text}]}]
    return {"resourceType": "QuestionnaireResponse", "status": "completed", "questionnaire": "#q", "contained": [questionnaire], "item": item}


def history(count: int) -> dict[str, Any]:
    def entry(number: int) -> dict[str, Any]:
        reference = [{"reference": f"Patient/1/_history/{count + 5}"}]
        resource = {"resourceType": "Patient", "id": "1", "meta": {"versionId": str(number)}, "generalPractitioner": reference}
        exchange = {"request": {"method": "PUT", "url": "Patient/1"}, "response": {"status": "200"}}
        return {"fullUrl": "http://records.example/Patient/1", "resource": resource, **exchange}

    return {"resourceType": "Bundle", "type": "history", "entry": [entry(number) for number in range(count)]}


@pytest.mark.parametrize(
    "document",
    [
        narrative("<p " + " " * 80_000 + "x>y</p>"),
        narrative("<" + "a" * 80_000),
        narrative("<p " + 'a="1" ' * 20_000 + "x>y</p>"),
        narrative("&" * 80_000),
        narrative("<!--" + "-" * 80_000),
        answered("a?" * 30 + "a" * 30, "a" * 40 + "!"),
        answered(".*" * 3 + "x", "a" * 300),
        history(4_000),
    ],
    ids=["blanks", "name", "attributes", "ampersands", "comment", "optional-pattern", "star-pattern", "history"],
)
def test_no_document_costs_more_than_its_size(document: dict[str, Any]) -> None:
    begun = time.process_time()
    validate_document(document)
    assert time.process_time() - begun < 5


def test_a_versioned_reference_finds_its_version() -> None:
    document = history(3)
    document["entry"][0]["resource"]["generalPractitioner"] = [{"reference": "Patient/1/_history/2"}]
    found = [finding for finding in validate_document(document).report.findings if finding.path.startswith("Patient[0].generalPractitioner")]
    # It leads to a Patient, which no general practitioner is.
    assert [finding.code for finding in found] == ["fhir.references.target"]


def test_many_threads_that_ask_first_get_the_answer_of_one() -> None:
    """In a process of its own, for the unit reader is built by the first question."""
    script = (
        "import json, sys, concurrent.futures as f\n"
        "from touchstone.scorers.clinical.documents import DocumentValidator\n"
        "v, document = DocumentValidator(), json.loads(sys.stdin.read())\n"
        "with f.ThreadPoolExecutor(8) as pool:\n"
        "    found = list(pool.map(lambda _: [x.code for x in v.validate(document).report.findings], range(16)))\n"
        "assert all(one == found[0] and 'units.invalid' in one for one in found), found\n"
    )
    observation = {
        "resourceType": "Observation",
        "status": "final",
        "code": {"coding": [{"system": "http://loinc.org", "code": "2345-7"}]},
        "valueQuantity": {"value": 5, "unit": "mmHg", "system": "http://unitsofmeasure.org", "code": "mmHg"},
    }
    done = subprocess.run([sys.executable, "-c", script], input=json.dumps(observation), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_a_rule_of_ours_that_fails_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError

    monkeypatch.setattr(fhir_validator, "check_shared", fail)
    found = DocumentValidator().validate({"resourceType": "Patient", "gender": "female"})
    assert found.scores.label == "Warn"
    assert found.valid
    assert [finding.code for finding in found.report.findings if finding.severity == "critical"] == ["internal.rule"]


def test_threads_share_a_validator() -> None:
    shared, documents = DocumentValidator(), [narrative("<p>x</p>"), history(20), answered("a?", "a")]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda document: shared.validate(document).report.findings, documents * 8))
    assert together == [DocumentValidator().validate(document).report.findings for document in documents] * 8


def test_nothing_long_is_kept_when_its_document_is_gone() -> None:
    text = "x" * 100_000
    coding = {"system": "http://example.org/s", "code": "c", "display": text}
    value = {"value": 1, "unit": text, "system": "http://unitsofmeasure.org", "code": text}
    validate_document({"resourceType": "Observation", "status": "final", "code": {"coding": [coding]}, "valueQuantity": value, text: 1})
    engine = fhir_validator.engine()
    assert all(len(str(part)) < 1_000 for key in engine.good_codings for part in key)
    assert all(len(name) < 1_000 for keys in engine.plans("Observation").kept for name in keys)
    before = ucum_reader._read_unit.cache_info().currsize, ucum_reader._conversion.cache_info().currsize
    assert ucum_reader.read_unit(text) is None
    assert ucum_reader.conversion(text, "mg") is None
    assert (ucum_reader._read_unit.cache_info().currsize, ucum_reader._conversion.cache_info().currsize) == before


@pytest.mark.parametrize("at", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=timezone(-timedelta(hours=12)))])
def test_a_trace_of_any_year_is_judged(at: datetime) -> None:
    message = "MSH|^~\\&|A|B|C|D|20250101120000-0500||ADT^A01^ADT_A01|1|P|2.5.1\rEVN||20250101120000-0500\rPID|1||1^^^A^MR||D^J^^^^^L||19700101|M\rPV1|1|I"
    patient = {"resourceType": "Patient", "birthDate": "1970-01-01", "deceasedDateTime": "2020-01-01T10:00:00+14:00"}
    for document in (message, patient):
        found = DocumentValidator().validate(document, at=at).report.findings
        assert not [one.code for one in found if "internal" in one.code]
