import asyncio
import json
import time
from typing import Any

import pytest

from tests.scorers.clinical.conformance.fake_services import (
    CANARY,
    CCDA,
    ERROR,
    FINE,
    INFO,
    PATIENT,
    VOCABULARY,
    WARNING,
    FakeService,
    Reply,
    issue,
    outcome,
    report,
    result,
)
from touchstone.scorers.base import Unavailable
from touchstone.scorers.clinical.conformance.service import NotServingError, Service, Undecided, open_services
from touchstone.scorers.clinical.conformance.settings import ConformanceSettings
from touchstone.scorers.operation_outcome import Outcome

DOCUMENT = json.dumps(PATIENT).encode()
DOWN = Reply(503, b'{"code":"starting","message":"no process is up yet"}', {"Retry-After": "0"})
DIED = Reply(502, b'{"code":"process_died","message":"the process died on this document"}')
GATEWAY = Reply(502, b"<html>Bad Gateway</html>")
HTML = Reply(body=b"<html>Sign in</html>", headers={"Content-Type": "text/html"})


def fhir(fake: FakeService, **settings: Any) -> Service:
    return open_services(ConformanceSettings.model_validate({"wait_s": 0, "fhir": {"url": fake.url, **settings}}))["fhir"]


def ccda(fake: FakeService, **settings: Any) -> Service:
    return open_services(ConformanceSettings.model_validate({"wait_s": 0, "ccda": {"url": fake.url, **settings}}))["ccda"]


async def test_a_resource_is_posted_to_the_fhir_service_with_profiles_and_token() -> None:
    async with FakeService([FINE]) as fake:
        said = await fhir(fake, profiles=["http://example.org/a|1", "http://example.org/b"], token="t-1").ask(DOCUMENT)
    (asked,) = fake.asked
    assert isinstance(said, Outcome)
    assert said.valid
    assert asked.target == (
        "/service/validateResource?allowExampleUrls=true&extension=any&profile=http%3A%2F%2Fexample.org%2Fa%7C1&profile=http%3A%2F%2Fexample.org%2Fb"
    )
    assert (asked.body, asked.headers["content-type"], asked.headers["authorization"]) == (DOCUMENT, "application/fhir+json", "Bearer t-1")


async def test_a_resource_in_xml_says_so() -> None:
    async with FakeService([FINE]) as fake:
        await fhir(fake).ask(b'\xef\xbb\xbf <Patient xmlns="http://hl7.org/fhir"/>')
    assert fake.asked[0].headers["content-type"] == "application/fhir+xml"


async def test_a_document_is_posted_to_the_ccda_service_in_the_form_that_its_controller_reads() -> None:
    async with FakeService([report()]) as fake:
        await ccda(fake, vocabulary_config="ccdaReferenceValidatorConfig", token="t-2").ask(CCDA.encode())
    (asked,) = fake.asked
    assert (asked.target, asked.headers["authorization"]) == ("/service/", "Bearer t-2")
    assert asked.form == {
        "validationObjective": ("C-CDA_IG_Plus_Vocab", None),
        "referenceFileName": ("No Scenario File", None),
        "vocabularyConfig": ("ccdaReferenceValidatorConfig", None),
        "severityLevel": ("warning", None),
        "ccdaFile": (CCDA, "document.xml"),
    }


async def test_the_ccda_services_results_are_read_by_their_types_and_statements() -> None:
    answer = report(
        result(ERROR, f"Consol US Realm Header SHALL contain exactly one [1..1] title (CONF:1198-5254) {CANARY}"),
        result(VOCABULARY, f"Code '{CANARY}' is not in the value set", xpath=f"/ClinicalDocument/recordTarget[1]/*[local-name()='{CANARY}']"),
        result(ERROR, "cvc-complex-type.2.4.a", xpath="", line="40", schemaError=True),
        result(WARNING, "SHOULD contain (CONF:81-7291)"),
        result(INFO, "MAY contain (CONF:81-7292)"),
    )
    async with FakeService([answer]) as fake:
        said = await ccda(fake).ask(CCDA.encode())
    assert isinstance(said, Outcome)
    assert [(one.severity, one.code, one.location) for one in said.issues] == [
        ("error", "1198-5254", "/ClinicalDocument/title[1]"),
        ("error", "vocabulary", "/ClinicalDocument/recordTarget[1]"),
        ("error", "schema", "line 40"),
        ("warning", "81-7291", "/ClinicalDocument/title[1]"),
        ("information", "81-7292", "/ClinicalDocument/title[1]"),
    ]
    assert said.counts() == {"error": 3, "warning": 1, "information": 1}


async def test_errors_that_are_counted_and_not_listed_make_a_document_invalid() -> None:
    async with FakeService([report(counts={ERROR: 2, WARNING: 0})]) as fake:
        said = await ccda(fake).ask(CCDA.encode())
    assert isinstance(said, Outcome)
    assert (said.valid, said.counts()["error"]) == (False, 2)


@pytest.mark.parametrize(
    ("reply", "reason", "why"),
    [
        (Reply(413), "too_large", "does not take a document of this size"),
        (Reply(422, CANARY.encode()), "rejected", "does not take this document (422)"),
        (report(serviceError=True, serviceErrorMessage=f"The service has encountered {CANARY}"), "undecided", "it says that it failed on this document"),
        (Reply(500, b"<html>Internal Server Error</html>"), "undecided", "it failed on this document (500)"),
        (HTML, "undecided", "it answered what is no report of a C-CDA validator"),
        (Reply(body=report(result(ERROR, "x")).body, then="half"), "undecided", "it broke off in the middle"),
        (Reply(body=report(result(ERROR, "x")).body[:-20]), "undecided", "it answered what is no report of a C-CDA validator"),
        (report(result("C-CDA Conformance Catastrophe", "x")), "undecided", "it answered what is no report of a C-CDA validator"),
        (Reply(body=b"[" * 60_000), "undecided", "it answered what is no report of a C-CDA validator"),
        (Reply(body=b" " * 100_000), "undecided", "its answer is too large"),
        (Reply(then="drop"), "undecided", "it broke off in the middle"),
        (Reply(then="hang"), "undecided", "it did not answer within 0.2 s"),
    ],
)
async def test_a_document_that_the_service_has_no_verdict_on_is_undecided_and_not_asked_about_for_ever(reply: Reply, reason: str, why: str) -> None:
    async with FakeService([reply]) as fake:
        said = await ccda(fake, timeout_s=0.2 if reply.then == "hang" else 30, answer_bytes_max=65_536).ask(CCDA.encode())
    assert isinstance(said, Undecided)
    assert said.reason == reason
    assert why in said.why
    assert len(fake.asked) == (2 if reason == "undecided" else 1)
    assert CANARY not in said.why


def broken(code: str) -> dict[str, Any]:
    return {"severity": "fatal", "code": code, "details": {"text": f"{CANARY} broke it"}}


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (outcome(), "it answered without any issue"),
        (Reply(body=b'{"resourceType": "OperationOutcome"}'), "it answered what is no OperationOutcome"),
        (outcome(broken("exception")), "it could not finish the validation"),
        (outcome(broken("timeout"), {"severity": "warning", "code": "invalid"}), "it could not finish the validation"),
        (outcome(broken("login")), "it could not finish the validation"),
    ],
    ids=["none", "no list", "exception", "timeout", "login"],
)
async def test_an_outcome_that_says_nothing_about_the_document_is_no_verdict(reply: Reply, why: str) -> None:
    async with FakeService([reply]) as fake:
        said = await fhir(fake).ask(DOCUMENT)
    assert isinstance(said, Undecided)
    assert (said.reason, said.why) == ("undecided", why)


@pytest.mark.parametrize(
    "issues",
    [
        (broken("exception"), issue("error", "Terminology_TX_NoValid_16")),
        (broken("structure"),),
        ({**issue("error", "Type_Specific_Checks_DT_Date_Valid"), "code": "exception"},),
    ],
    ids=["beside an error", "of the document", "with the validator's own id"],
)
async def test_an_error_about_the_document_is_a_verdict(issues: tuple[dict[str, Any], ...]) -> None:
    async with FakeService([outcome(*issues)]) as fake:
        said = await fhir(fake).ask(DOCUMENT)
    assert isinstance(said, Outcome)
    assert not said.valid


async def test_a_document_that_fails_once_and_then_not_has_its_verdict() -> None:
    async with FakeService([Reply(then="drop"), report()]) as fake:
        said = await ccda(fake).ask(CCDA.encode())
    assert isinstance(said, Outcome)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (DOWN, "conformance_fhir"),
        (Reply(429), "conformance_fhir"),
        (Reply(401), "conformance_fhir_refused"),
        (Reply(404), "conformance_fhir_not_found"),
        (Reply(400, b'{"code":"profile","message":"not installed"}'), "conformance_fhir_settings"),
        (Reply(302, headers={"Location": "https://elsewhere.example.org/"}), "conformance_fhir_redirected"),
    ],
)
async def test_a_service_that_does_not_serve_is_unavailable_and_no_fault_of_the_document(reply: Reply, code: str) -> None:
    async with FakeService([reply]) as fake:
        service = fhir(fake)
        for _ in range(4):
            with pytest.raises(NotServingError) as raised:
                await service.ask(DOCUMENT)
            assert raised.value.code == code


async def test_a_service_that_nobody_listens_for_is_unavailable() -> None:
    async with FakeService([FINE]) as fake:
        pass
    with pytest.raises(NotServingError) as raised:
        await fhir(fake).ask(DOCUMENT)
    assert raised.value.code == "conformance_fhir"


async def test_a_process_that_dies_twice_on_the_same_document_leaves_it_undecided_though_the_service_restarts_in_between() -> None:
    async with FakeService([DIED, DOWN, DIED, FINE]) as fake:
        service = fhir(fake)
        with pytest.raises(NotServingError):
            await service.ask(DOCUMENT)
        assert await service.ask(DOCUMENT) == Undecided("undecided", "it failed on this document (502)")
        assert isinstance(await service.ask(b'{"resourceType":"Patient"}'), Outcome)


async def test_a_gateway_before_a_service_that_is_down_is_no_fault_of_the_document() -> None:
    well = [False]
    async with FakeService([GATEWAY, GATEWAY, GATEWAY, FINE], well=lambda: Reply() if well[0] else GATEWAY) as fake:
        service = fhir(fake)
        for _ in range(5):
            with pytest.raises(NotServingError):
                await service.ask(DOCUMENT)
        well[0] = True
        assert isinstance(await service.ask(DOCUMENT), Undecided | Outcome)
        assert len(fake.asked) < 5


async def test_a_service_that_hangs_is_unavailable_and_its_documents_have_their_verdicts_once_it_is_back() -> None:
    hangs = [True]
    async with FakeService(lambda _: Reply(then="hang") if hangs[0] else FINE, well=lambda: Reply(then="hang") if hangs[0] else Reply()) as fake:
        service = fhir(fake, timeout_s=0.2)
        for _ in range(4):
            with pytest.raises(NotServingError):
                await service.ask(DOCUMENT)
        hangs[0] = False
        assert isinstance(await service.ask(DOCUMENT), Outcome)


async def test_a_document_that_takes_the_whole_service_down_each_time_is_undecided_after_the_second() -> None:
    poison, well = b'{"resourceType":"Bundle"}', [True]

    def answers(asked: Any) -> Reply:
        well[0] = asked.body != poison
        return FINE if well[0] else Reply(then="drop")

    async with FakeService(answers, well=lambda: Reply() if well[0] else Reply(503)) as fake:
        service = fhir(fake)
        with pytest.raises(NotServingError):
            await service.ask(poison)
        well[0] = True
        assert isinstance(await service.ask(poison), Undecided)


async def test_a_verdict_is_kept_so_that_a_second_attempt_at_a_trace_asks_only_what_was_not_answered() -> None:
    async with FakeService([outcome(issue("error", "X"))]) as fake:
        service = fhir(fake)
        assert await service.ask(DOCUMENT) is await service.ask(DOCUMENT)
    assert len(fake.asked) == 1


async def test_a_document_beyond_the_bound_is_not_sent() -> None:
    async with FakeService([FINE]) as fake:
        said = await fhir(fake, document_bytes_max=1_024).ask(b" " * 1_025)
    assert isinstance(said, Undecided)
    assert (said.reason, fake.asked) == ("too_large", [])


async def test_no_more_documents_than_the_setting_says_are_asked_about_at_a_time() -> None:
    async with FakeService(lambda _: Reply(then="hang")) as fake:
        service = fhir(fake, concurrency=2)
        tasks = [asyncio.create_task(service.ask(f'{{"n":{number}}}'.encode())) for number in range(5)]
        async with asyncio.timeout(10):
            while len(fake.asked) < 2:  # noqa: ASYNC110 -- what is waited for has no event
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        assert len(fake.asked) == 2
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_from_a_file_a_service_that_starts_is_waited_for() -> None:
    async with FakeService([DOWN, DOWN, FINE]) as fake:
        service = open_services(ConformanceSettings.model_validate({"wait_s": 30, "fhir": {"url": fake.url}}))["fhir"]
        assert isinstance(await service.ask_patiently(DOCUMENT), Outcome)


async def test_from_files_a_service_that_is_away_is_not_waited_for_by_every_document() -> None:
    async with FakeService([FINE]) as fake:
        pass
    service = open_services(ConformanceSettings.model_validate({"wait_s": 0.3, "fhir": {"url": fake.url}}))["fhir"]
    before = time.monotonic()
    for number in range(200):
        with pytest.raises(Unavailable):
            await service.ask_patiently(f'{{"n":{number}}}'.encode())
    assert time.monotonic() - before < 20  # 200 times 0.3 s would be 60


@pytest.mark.parametrize("reply", [Reply(then="hang"), Reply(503)], ids=["hangs", "busy"])
async def test_from_files_a_service_that_is_away_is_not_probed_for_every_document(reply: Reply) -> None:
    async with FakeService(lambda _: reply, well=lambda: reply) as fake:
        settings = {"wait_s": 1.0, "fhir": {"url": fake.url, "timeout_s": 0.5, "concurrency": 2}}
        service = open_services(ConformanceSettings.model_validate(settings))["fhir"]
        before = time.monotonic()
        told = await asyncio.gather(*(service.ask_patiently(f'{{"n":{number}}}'.encode()) for number in range(64)), return_exceptions=True)
        elapsed_s = time.monotonic() - before
    assert {type(each) for each in told} == {NotServingError}
    assert len(fake.asked) + len(fake.probes) <= 8 + elapsed_s
    assert elapsed_s < 10  # with a probe for each document it was 17


async def test_of_the_documents_in_flight_when_a_service_goes_down_at_most_one_is_held_to_be_its_fault() -> None:
    state = {"well": True, "outages": 0}
    together = asyncio.Condition()
    waiting = [0]

    class Falling(FakeService):
        async def _answer(self, asked: Any, writer: asyncio.StreamWriter) -> None:
            if asked.method == "POST" and state["outages"] < 2:
                async with together:
                    waiting[0] += 1
                    together.notify_all()
                    await together.wait_for(lambda: waiting[0] >= 3)
                state["well"] = False
                writer.transport.abort()
                return
            await super()._answer(asked, writer)

    async with Falling([FINE], well=lambda: Reply() if state["well"] else Reply(503)) as fake:
        service = fhir(fake, concurrency=3)
        documents = [f'{{"n":{number}}}'.encode() for number in range(3)]
        said: list[Any] = []
        for _ in range(3):
            said = await asyncio.gather(*(service.ask(document) for document in documents), return_exceptions=True)
            waiting[0], state["well"], state["outages"] = 0, True, state["outages"] + 1
    assert sum(isinstance(one, Undecided) for one in said) <= 1
    assert sum(isinstance(one, Outcome) for one in said) >= 2
