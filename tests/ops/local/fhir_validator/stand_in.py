"""A small HTTP server that answers as the official validator does, or as it should not."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.ops.lab.agreement.test_agreement_mutations import PATIENT
from touchstone.ops.local.fhir_validator import server
from touchstone.ops.local.fhir_validator.client import ValidatorClient

Answer = tuple[int, bytes]


def outcome(*issues: dict[str, Any]) -> bytes:
    return json.dumps({"resourceType": "OperationOutcome", "issue": list(issues) or [{"severity": "information", "code": "informational"}]}).encode()


def issue(severity: str, message_id: str, location: str, text: str = "") -> dict[str, Any]:
    url = "http://hl7.org/fhir/StructureDefinition/operationoutcome-message-id"
    return {
        "severity": severity,
        "code": "structure",
        "extension": [{"url": url, "valueCode": message_id}],
        "details": {"text": text},
        "expression": [location],
    }


class Quiet(ThreadingHTTPServer):
    """One whose client may go away before it is answered."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing."""


class StandIn:
    """`answer`: body of a request → status and body. `paths`: what was asked for."""

    def __init__(self) -> None:
        self.answer: Callable[[bytes], Answer] = lambda _: (200, outcome())
        self.paths: list[str] = []
        stand_in = self

        class Asked(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                stand_in.paths.append(self.path)
                status, body = stand_in.answer(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self.server = Quiet(("127.0.0.1", 0), Asked)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def patient(tmp_path: Path) -> Path:
    path = tmp_path / "patient.json"
    path.write_text(json.dumps(PATIENT))
    return path


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    server = StandIn()
    yield server
    server.close()


@pytest.fixture
def official(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """A stand-in that commands take for the validator that they start."""
    monkeypatch.setattr(server.FhirValidator, "start", lambda self: ValidatorClient(stand_in.port, timeout_s=10))
    return stand_in
