import threading

import pytest

from tests.ops.local.fhir_validator.stand_in import StandIn, issue, outcome
from touchstone.ops.local.fhir_validator.client import OracleLost, Settings, ValidatorClient, read_outcome
from touchstone.scorers.operation_outcome import NoVerdict


def client(stand_in: StandIn, timeout_s: float = 10) -> ValidatorClient:
    return ValidatorClient(stand_in.port, timeout_s=timeout_s)


def test_warnings_leave_a_resource_valid(stand_in: StandIn) -> None:
    stand_in.answer = lambda _: (200, outcome(issue("warning", "W1", "Patient.name"), issue("information", "I1", "Patient")))
    assert client(stand_in).validate(b"{}").valid


@pytest.mark.parametrize("severity", ["error", "fatal"])
def test_an_error_makes_it_invalid_and_is_told_by_id_and_place(stand_in: StandIn, severity: str) -> None:
    stand_in.answer = lambda _: (200, outcome(issue(severity, "E1", "Patient.name[0]", "wrong")))
    said = client(stand_in).validate(b"{}")
    assert not said.valid
    assert [(one.code, one.location, one.text) for one in said.errors] == [("E1", "Patient.name[0]", "wrong")]


def test_an_issue_without_extensions_is_told_by_its_code() -> None:
    said = read_outcome(b'{"resourceType":"OperationOutcome","issue":[{"severity":"error","code":"invalid"}]}')
    assert [(one.code, one.location, one.text) for one in said.errors] == [("invalid", "", "")]


def test_the_settings_are_part_of_the_request(stand_in: StandIn) -> None:
    client(stand_in).validate(b"{}", Settings(example_urls=False, any_extension=False))
    client(stand_in).validate(b"{}")
    assert stand_in.paths == ["/validateResource?allowExampleUrls=false", "/validateResource?allowExampleUrls=true&extension=any"]


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"not JSON",
        b"[]",
        b"null",
        b'{"resourceType":"Patient"}',
        b'{"resourceType":"OperationOutcome"}',
        b'{"resourceType":"OperationOutcome","issue":[{}]}',
        b'{"resourceType":"OperationOutcome","issue":[{"severity":"dire","code":"x"}]}',
        b'{"resourceType":"OperationOutcome","issue":["x"]}',
        outcome({"severity": "error", "code": "exception", "details": {"text": "Operation failed: Unable to process param x=1"}}),
        b"[" * 100_000,
    ],
)
def test_an_answer_that_is_not_understood_is_never_a_verdict(stand_in: StandIn, answer: bytes) -> None:
    stand_in.answer = lambda _: (200, answer)
    with pytest.raises(OracleLost, match=r"the official validator at 127\.0\.0\.1"):
        client(stand_in).validate(b"{}")


def test_an_error_status_is_told(stand_in: StandIn) -> None:
    stand_in.answer = lambda _: (404, b"")
    with pytest.raises(OracleLost, match="answered with status 404"):
        client(stand_in).validate(b"{}")


def test_a_resource_on_which_it_throws_has_no_verdict(stand_in: StandIn) -> None:
    stand_in.answer = lambda _: (500, b'{"resourceType":"OperationOutcome","issue":[{"severity":"error","code":"exception"}]}')
    with pytest.raises(NoVerdict):
        client(stand_in).validate(b"{}")


def test_a_closed_port_is_one_line() -> None:
    stand_in = StandIn()
    stand_in.close()
    with pytest.raises(OracleLost, match=r"does not answer \(ConnectionRefusedError\): it has ended, or was never started"):
        client(stand_in).validate(b"{}")


def test_one_that_hangs_is_left_after_its_time(stand_in: StandIn) -> None:
    release = threading.Event()

    def hang(_: bytes) -> tuple[int, bytes]:
        release.wait(10)
        return 200, b""

    stand_in.answer = hang
    with pytest.raises(OracleLost, match=r"did not answer within 0\.2 s"):
        client(stand_in, timeout_s=0.2).validate(b"{}")
    release.set()
