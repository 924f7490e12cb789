import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from touchstone.scorers.clinical.documents import DocumentValidator
from touchstone.scorers.clinical.settings import ClinicalSettings

SNOMED = "http://snomed.info/sct"
KNOWN = {(SNOMED, "44054006")}
#: A code of good form that the server does not know.
UNKNOWN = "73211009"
CONDITION = {"resourceType": "Condition", "subject": {"reference": "Patient/1"}, "code": {"coding": [{"system": SNOMED, "code": "44054006"}]}}
MESSAGE = (
    "MSH|^~\\&|A|B|C|D|20240101120000+0000||ADT^A01^ADT_A01|1|P|2.5.1\rEVN||20240101120000+0000\r"
    "PID|1||1^^^A&1.2.3&ISO^MR||Doe^Jo^^^^^L||19800229|F\rPV1|1|I\rDG1|1||44054006^Diabetes^SCT||20240101|A\r"
)


class Asked(ThreadingHTTPServer):
    """Speaks CodeSystem/$validate-code; `failing` makes it answer 500."""

    questions: list[tuple[str, str]]
    failing = False


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, Asked)
        query = parse_qs(urlsplit(self.path).query)
        question = (query["url"][0], query["code"][0])
        server.questions.append(question)
        answer = {"resourceType": "Parameters", "parameter": [{"name": "result", "valueBoolean": question in KNOWN}]}
        body = json.dumps(answer).encode()
        self.send_response(500 if server.failing else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Asked]:
    made = Asked(("127.0.0.1", 0), Handler)
    made.questions = []
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()


def validator(server: Asked) -> DocumentValidator:
    return DocumentValidator(ClinicalSettings.model_validate({"terminology": {"url": f"http://127.0.0.1:{server.server_address[1]}/fhir"}}))


@pytest.mark.parametrize("document", [json.dumps(CONDITION), MESSAGE], ids=["fhir", "hl7v2"])
def test_a_server_tells_members_from_others_in_every_format(server: Asked, document: str) -> None:
    asking = validator(server)
    good = asking.validate(document)
    assert (SNOMED, "44054006") in server.questions
    assert not [finding for finding in good.report.findings if finding.code == "terminology.membership"]
    bad = asking.validate(document.replace("44054006", UNKNOWN))
    assert [finding.severity for finding in bad.report.findings if finding.code == "terminology.membership"] == ["major"]


@pytest.mark.parametrize("document", [json.dumps(CONDITION), MESSAGE], ids=["fhir", "hl7v2"])
def test_a_server_that_fails_makes_codes_not_checked_and_never_wrong(server: Asked, document: str) -> None:
    server.failing = True
    found = validator(server).validate(document.replace("44054006", UNKNOWN))
    assert not [finding for finding in found.report.findings if finding.code == "terminology.membership"]
    assert any("500" in skipped.reason for skipped in found.report.not_checked)


@pytest.mark.parametrize("document", [json.dumps(CONDITION), MESSAGE], ids=["fhir", "hl7v2"])
def test_without_a_source_membership_is_not_checked_and_says_so(document: str) -> None:
    found = DocumentValidator().validate(document.replace("44054006", UNKNOWN))
    assert not [finding for finding in found.report.findings if finding.code == "terminology.membership"]
    assert any("SNOMED CT" in skipped.check or "SNOMED CT" in skipped.reason for skipped in found.report.not_checked)


def test_a_table_of_your_own_release_answers_without_a_server(tmp_path: Path) -> None:
    release = tmp_path / "cvx.txt"
    release.write_text("08 |Hep B, adolescent or pediatric|\n")
    asking = DocumentValidator(ClinicalSettings.model_validate({"terminology": {"cvx": release}}))
    immunization = {
        "resourceType": "Immunization",
        "status": "completed",
        "patient": {"reference": "Patient/1"},
        "occurrenceDateTime": "2020-01-01",
        "vaccineCode": {"coding": [{"system": "http://hl7.org/fhir/sid/cvx", "code": "08"}]},
    }
    assert not [finding for finding in asking.validate(immunization).report.findings if finding.code == "terminology.membership"]
    immunization["vaccineCode"] = {"coding": [{"system": "http://hl7.org/fhir/sid/cvx", "code": "999"}]}
    assert [finding for finding in asking.validate(immunization).report.findings if finding.code == "terminology.membership"]
