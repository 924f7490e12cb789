import asyncio
import time
from typing import Any

import pytest

from tests.ops.evaluation.generator import Generator
from touchstone.ops.evaluation.items import Item
from touchstone.ops.evaluation.over_http import HttpSystem
from touchstone.ops.evaluation.settings import SystemSettings, resolve, system_override
from touchstone.ops.evaluation.systems import Answer, StepFailed
from touchstone.schemas.trace import ClinicalFormat
from touchstone.scorers.base import ConfigError

ITEM = Item("prompt", "An adult patient.", "--prompt")
PERSONA = "/api/plan-persona"
HL7V2 = "/api/generate/hl7v2"
FHIR = "/api/generate/fhir"


def settings(served: Generator, **given: Any) -> SystemSettings:
    return SystemSettings.model_validate({"url": served.url, "retry_min_s": 0.001, "retry_max_s": 0.002, "timeout_s": 10, "attempts_max": 3} | given)


def persona(served: Generator, **given: Any) -> Answer:
    async def ask() -> Answer:
        system = HttpSystem(settings(served, **given))
        try:
            return await system.persona(ITEM)
        finally:
            await system.close()

    return asyncio.run(ask())


def document(served: Generator, form: ClinicalFormat, **given: Any) -> Any:
    async def ask() -> Any:
        system = HttpSystem(settings(served, **given))
        try:
            return (await system.document(ITEM, {"name": "Kim Sample"}, form)).value
        finally:
            await system.close()

    return asyncio.run(ask())


@pytest.mark.parametrize("fault", ["429", "429-wait", "429-no-year", "500", "502", "503", "half", "reset"])
def test_what_may_pass_is_asked_again(system: Generator, fault: str) -> None:
    system.faults[PERSONA] = (fault, 2)
    told = persona(system)
    assert (told.attempts, told.value["name"]) == (3, "Kim Sample")


@pytest.mark.parametrize(
    ("fault", "code", "attempts"),
    [
        ("429", "status_429", 3),
        ("500", "status_500", 3),
        ("half", "connection", 3),
        ("reset", "connection", 3),
        ("404", "status_404", 1),
        ("401", "status_401", 1),
        ("redirect", "redirected", 1),
        ("huge", "too_large", 1),
        ("{", "not_json", 1),
        ("[]", "not_an_object", 1),
        ("{}", "not_an_object", 1),
        ('{"persona": "x"}', "not_an_object", 1),
        ('{"error": "overloaded", "status": 200}', "not_an_object", 1),
    ],
)
def test_a_fault_that_stays_has_a_name(system: Generator, fault: str, code: str, attempts: int) -> None:
    system.faults[PERSONA] = (fault, 99)
    with pytest.raises(StepFailed) as failed:
        persona(system)
    assert (failed.value.code, failed.value.attempts, system.times(PERSONA)) == (code, attempts, attempts)
    assert "Canarybird" not in str(failed.value)


@pytest.mark.parametrize("fault", ["hang", "drip"])
def test_a_system_that_hangs_or_drips_is_left_after_the_timeout(system: Generator, fault: str) -> None:
    system.faults[PERSONA] = (fault, 99)
    with pytest.raises(StepFailed, match="timeout"):
        persona(system, timeout_s=0.2, attempts_max=2)
    assert system.times(PERSONA) == 2


def test_a_system_that_is_not_there_is_a_failed_connection() -> None:
    with pytest.raises(StepFailed, match="connection"):
        persona(Generator(url="http://127.0.0.1:1"), attempts_max=2)


def test_the_pause_that_a_system_asks_for_is_bounded(system: Generator) -> None:
    system.faults[PERSONA] = ("503", 1)
    begun = time.monotonic()
    assert persona(system).attempts == 2
    assert time.monotonic() - begun < 5


def test_the_token_goes_into_its_header(system: Generator) -> None:
    persona(system, token="t-1")
    persona(system, token="t-2", token_header="X-Key", token_scheme="")
    assert (system.asked[0][2]["Authorization"], system.asked[1][2]["X-Key"]) == ("Bearer t-1", "t-2")


@pytest.mark.parametrize(
    ("form", "body", "content"),
    [
        ("hl7v2", b"MSH|^~\\&|A", "MSH|^~\\&|A"),
        ("hl7v2", b'{"content": "MSH|"}', "MSH|"),
        ("hl7v2", b'"MSH|"', "MSH|"),
        ("hl7v2", b"\xff\xfeM", b"\xff\xfeM"),
        ("ccda", b"<ClinicalDocument/>", "<ClinicalDocument/>"),
        ("fhir", b'{"resourceType": "Patient"}', '{"resourceType": "Patient"}'),
        ("fhir", b'{"content": {"resourceType": "Patient"}}', {"resourceType": "Patient"}),
        ("fhir", b'{"content": "{"}', "{"),
        ("fhir", b'{"resourceType": ', '{"resourceType": '),
        ("fhir", b'{"content": [{"resourceType": "Patient"}, "{"]}', [{"resourceType": "Patient"}, "{"]),
    ],
)
def test_a_document_is_taken_out_of_whatever_form_the_answer_has(system: Generator, form: ClinicalFormat, body: bytes, content: Any) -> None:
    system.answers[f"/api/generate/{form}"] = body
    assert document(system, form) == content


@pytest.mark.parametrize(
    ("form", "body"),
    [("hl7v2", b" "), ("hl7v2", b'{"hl7": "MSH|"}'), ("hl7v2", b'{"content": ""}'), ("fhir", b'{"error": "no"}'), ("fhir", b'{"content": null}')],
)
def test_an_answer_without_a_document_is_a_failure(system: Generator, form: ClinicalFormat, body: bytes) -> None:
    system.answers[f"/api/generate/{form}"] = body
    with pytest.raises(StepFailed, match="no_content"):
        document(system, form)


def test_paths_are_the_settings(system: Generator) -> None:
    system.answers = {"/p": b'{"persona": {"name": "A"}}', "/h": b"MSH|"}
    assert persona(system, persona_path="/p").value == {"name": "A"}
    assert document(system, "hl7v2", hl7v2_path="/h") == "MSH|"


@pytest.mark.parametrize(
    "given",
    [
        {"url": "ftp://host"},
        {"url": "http://user:pw@host"},
        {"url": "http://host/?q"},
        {"url": "http://host", "token": "t"},
        {"url": "http://localhost", "directory": "."},
        {"token": "a\nb"},
        {"persona_path": "plan"},
    ],
)
def test_settings_that_cannot_be_used_are_refused_without_their_value(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as refused:
        resolve({}, given)
    assert not any(value in str(refused.value) for value in ("user:pw", "a\nb"))


def test_the_command_line_s_system_takes_the_place_of_the_other_kind() -> None:
    document = {"url": "http://localhost:1"}
    assert resolve({}, document, system_override("outputs")).url is None
    assert resolve({"EVAL_SYSTEM_DIRECTORY": "outputs"}, None, system_override("http://localhost:2")).url == "http://localhost:2"


def test_a_token_may_stand_in_a_file(tmp_path: Any) -> None:
    (tmp_path / "token").write_text("t-3\n")
    token = resolve({"EVAL_SYSTEM_TOKEN_FILE": str(tmp_path / "token")}, None).token
    assert token is not None
    assert token.get_secret_value() == "t-3"
