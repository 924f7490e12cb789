import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.scorers.clinical.conformance.fake_services import CANARY, CCDA, ERROR, FINE, PATIENT, WARNING, FakeService, Reply, issue, outcome, report, result
from touchstone.ops.batch.call import ascore
from touchstone.schemas.conformance import ConformanceRequest
from touchstone.schemas.result import Failure, Scorecard
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.base import ConfigError, Document, Unavailable
from touchstone.scorers.clinical import SUITE as VALIDATORS
from touchstone.scorers.clinical.conformance import NAME, SUITE, VERSION
from touchstone.scorers.clinical.conformance.scorer import ASKED_MAX, ConformanceScorer
from touchstone.scorers.clinical.conformance.settings import ConformanceSettings, fingerprint, resolve
from touchstone.scorers.clinical.requests.conformance_requests import documents_request
from touchstone.scorers.clinical.settings import ClinicalSettings, ConformanceRequestSettings
from touchstone.scorers.reporting.report import RunFacts
from touchstone.scorers.scoring import Scoring

TRACE = {"kind": "trace", "id": "e1", "traceId": "t1", "outputs": {"fhir": {"content": PATIENT}, "ccda": {"content": CCDA}}}
FORMATS = ("fhir", "hl7v2", "ccda")


def trace(**outputs: Any) -> ProductionTrace:
    given = {form: {"content": content} for form, content in outputs.items()}
    return ProductionTrace.model_validate(TRACE | ({"outputs": given} if outputs else {}))


def scorer(fhir: FakeService | None = None, ccda: FakeService | None = None, **settings: Any) -> ConformanceScorer:
    urls = {name: {"url": fake.url} for name, fake in (("fhir", fhir), ("ccda", ccda)) if fake is not None}
    return ConformanceScorer(ConformanceSettings.model_validate({"wait_s": 0, **urls, **settings}), NAME, VERSION)


async def card(fhir: Reply, ccda: Reply, case: Any = None, **settings: Any) -> Scorecard:
    async with FakeService([fhir]) as one, FakeService([ccda]) as two:
        return await scorer(one, two, **settings).score(case or trace())


async def test_documents_without_errors_and_warnings_pass() -> None:
    found = await card(FINE, report())
    assert (found.label, found.values) == ("Pass", {"conformant": 100.0, "fhir_conformant": 100.0, "ccda_conformant": 100.0})
    assert (found.findings, found.failures, found.components_missing) == ((), (), ())


async def test_a_warning_keeps_a_trace_from_passing() -> None:
    found = await card(outcome(issue("warning", "W")), report())
    assert (found.label, found.values["conformant"]) == ("Warn", 100.0)


async def test_an_error_fails_a_trace_and_its_findings_have_the_validators_own_ids_and_no_word_of_the_document() -> None:
    fhir = outcome(issue("information", "I"), issue("warning", "W"), issue("error", "E", f"Bundle.entry[0].resource/*Patient/{CANARY}*/.gender"))
    found = await card(fhir, report(result(ERROR, f"SHALL (CONF:1198-5254) {CANARY}"), result(WARNING, "SHOULD (CONF:81-7291)")))
    assert (found.label, found.values) == ("Fail", {"conformant": 0.0, "fhir_conformant": 0.0, "ccda_conformant": 0.0})
    assert [(one.severity, one.code, one.path) for one in found.findings] == [
        ("major", "conformance.fhir.E", "outputs.fhir/Bundle.entry[0].resource.gender"),
        ("minor", "conformance.fhir.W", "outputs.fhir/Patient.gender"),
        ("major", "conformance.ccda.1198-5254", "outputs.ccda/ClinicalDocument/title[1]"),
        ("minor", "conformance.ccda.81-7291", "outputs.ccda/ClinicalDocument/title[1]"),
    ]
    assert found.details["counts"] == {"fhir": {"error": 1, "warning": 1, "information": 1}, "ccda": {"error": 1, "warning": 1, "information": 0}}
    assert CANARY not in found.model_dump_json()


@pytest.mark.parametrize("place", [f"Patient.where(name='{CANARY}')", f"Patient.extension('{CANARY}')", f"Patient/*{CANARY}*/.name", f"('{CANARY}')"])
async def test_a_place_that_quotes_is_cut_where_it_does(place: str) -> None:
    found = await card(outcome(issue("error", f"x {CANARY}", place)), report())
    (finding,) = found.findings
    assert finding.code == "conformance.fhir.other"
    assert CANARY not in finding.model_dump_json()


async def test_only_where_the_settings_say_so_findings_quote() -> None:
    found = await card(outcome(issue("error", "E")), report(), quote=True)
    assert found.findings[0].message == f"{CANARY} is wrong"


async def test_several_documents_of_a_format_are_worth_their_share() -> None:
    async with FakeService(lambda asked: FINE if b'"p1"' in asked.body else outcome(issue("error", "E"))) as fake:
        found = await scorer(fake).score(trace(fhir=[PATIENT, {**PATIENT, "id": "p2"}]))
    assert (found.label, found.values["fhir_conformant"]) == ("Fail", 50.0)
    assert [one.path for one in found.findings] == ["outputs.fhir[1]/Patient.gender"]


async def test_a_service_that_is_off_is_a_missing_component_and_neither_a_failure_nor_a_zero() -> None:
    async with FakeService([FINE]) as fake:
        found = await scorer(fake).score(trace())
    assert (found.label, found.values) == ("Pass", {"conformant": 100.0, "fhir_conformant": 100.0})
    assert (found.components_missing, found.failures) == (("ccda_conformant",), ())
    assert [(one.severity, one.code, one.path) for one in found.findings] == [("info", "conformance.ccda.off", "outputs.ccda")]


async def test_without_any_service_a_trace_is_unscored_and_says_why() -> None:
    found = await scorer().score(trace())
    assert (found.label, found.values, found.failures) == ("unscored", {}, ())
    assert [one.code for one in found.findings] == ["conformance.fhir.off", "conformance.ccda.off"]


async def test_a_trace_without_a_document_that_anybody_could_be_asked_about_is_unscored() -> None:
    found = await scorer().score(trace(hl7v2="MSH|^~\\&|"))
    assert (found.label, found.components_missing) == ("unscored", ("conformant",))
    assert [one.check for one in found.not_checked] == ["hl7v2"]


async def test_an_undecided_document_has_no_say_in_the_label() -> None:
    found = await card(Reply(413), report())
    assert (found.label, found.components_missing, found.failures) == ("Pass", ("fhir_conformant",), ())
    assert [(one.severity, one.code) for one in found.findings] == [("info", "conformance.fhir.too_large")]


async def test_a_request_waits_for_a_service_that_is_down_and_a_file_does_not() -> None:
    request = documents_request(trace(), "e1", FORMATS, ConformanceRequestSettings())
    assert request is not None
    async with FakeService([Reply(503)]) as fhir, FakeService([report()]) as ccda:
        with pytest.raises(Unavailable) as raised:
            await scorer(fhir, ccda).score(request)
        found = await scorer(fhir, ccda).score(trace())
    assert raised.value.code == "conformance_fhir"
    assert raised.value.card == found
    assert (found.label, found.values) == ("Pass", {"conformant": 100.0, "ccda_conformant": 100.0})
    assert found.failures == (Failure(component="fhir_conformant", kind="unavailable", code="conformance_fhir"),)


async def test_a_request_scores_like_the_trace_itself() -> None:
    case = trace()
    request = documents_request(case, "e1", FORMATS, ConformanceRequestSettings())
    assert request is not None
    again = ConformanceRequest.model_validate_json(orjson.dumps(request.model_dump(mode="json", exclude_none=True)))
    fhir, ccda = outcome(issue("error", "E")), report(result(WARNING, "SHOULD (CONF:81-7291)"))
    assert (again.id, await card(fhir, ccda, again)) == ("e1", await card(fhir, ccda, case))


async def test_what_does_not_fit_an_event_is_named_and_the_rest_is_handed_on() -> None:
    large = {**PATIENT, "text": {"div": "x" * 3_000}}
    request = documents_request(trace(fhir=[large, PATIENT], ccda=CCDA), "e1", FORMATS, ConformanceRequestSettings(request_bytes_max=1_024))
    assert request is not None
    assert [(one.place, one.content is None) for one in request.documents] == [("outputs.fhir[0]", True), ("outputs.fhir[1]", False), ("outputs.ccda", False)]
    found = await card(FINE, report(), request)
    assert (found.label, found.components_missing) == ("Pass", ())
    assert [(one.severity, one.code, one.path) for one in found.findings] == [("info", "conformance.fhir.not_handed_on", "outputs.fhir[0]")]


def test_the_largest_request_fits_its_event_whatever_the_documents_are_made_of() -> None:
    documents = [f"<ClinicalDocument>{text}</ClinicalDocument>" for text in ('"\\\n\t' * 60_000, "ż" * 300_000, "x" * 500_000, "\x01" * 90_000)]
    request = documents_request(trace(ccda=documents), "e1", FORMATS, ConformanceRequestSettings())
    assert request is not None
    assert 100_000 < len(orjson.dumps(request.model_dump(mode="json", exclude_none=True))) < 800_000


@pytest.mark.parametrize(("rate", "handed"), [(0.0, 0), (1.0, 200)])
def test_the_share_of_traces_is_chosen_by_their_events_ids(rate: float, handed: int) -> None:
    settings = ConformanceRequestSettings(sample_rate=rate)
    assert sum(documents_request(trace(), f"e{number}", FORMATS, settings) is not None for number in range(200)) == handed


@pytest.mark.parametrize(("requests", "roles"), [(True, ["conformance"]), (False, [])])
async def test_the_validators_hand_documents_on_only_where_they_are_set_to(requests: bool, roles: list[str]) -> None:
    settings = ClinicalSettings(conformance=ConformanceRequestSettings(requests=requests))
    validators = VALIDATORS.build(settings)
    handed = await validators.follow_up(trace(), "e1", Scorecard(label="Pass", values={}))  # type: ignore[attr-defined]  # it hands on
    assert [one.role for one in handed] == roles
    assert VALIDATORS.hands_on is not None
    assert VALIDATORS.hands_on(settings) == tuple(roles)


async def test_a_trace_without_such_documents_is_not_handed_on() -> None:
    assert documents_request(trace(hl7v2="MSH|^~\\&|"), "e1", FORMATS, ConformanceRequestSettings()) is None
    assert documents_request(trace(), "e1", ("hl7v2",), ConformanceRequestSettings()) is None


async def test_of_a_trace_with_very_many_documents_the_first_are_asked_about_and_the_rest_is_named() -> None:
    async with FakeService([FINE]) as fake:
        found = await scorer(fake).score(trace(fhir=[{**PATIENT, "id": f"p{number}"} for number in range(ASKED_MAX + 2)]))
    assert len(fake.asked) == ASKED_MAX
    assert [one.code for one in found.findings] == ["conformance.fhir.not_asked"] * 2


def test_files_are_read_as_by_the_validators_and_requests_are_case_json(tmp_path: Path) -> None:
    settings = ConformanceSettings()
    assert SUITE.read is not None
    (found,) = SUITE.read(Document("a.json", json.dumps(PATIENT).encode()), settings) or ()
    assert "outputs" in found.record  # type: ignore[union-attr]
    assert SUITE.read(Document("b.json", b'{"kind":"conformance_request","trace_id":"t","documents":[]}'), settings) is None


@pytest.mark.parametrize(
    ("env", "told"),
    [
        ({"CONFORMANCE_CCDA_URL": "http://ccda.example.org/"}, "use an https:// address"),
        ({"CONFORMANCE_FHIR_URL": "ftp://x"}, "write http(s)://host"),
        ({"CONFORMANCE_FHIR_URL": "https://user:secret@host/"}, "write http(s)://host"),
        ({"CONFORMANCE_FHIR_TOKEN": "x"}, "token is set without url"),
        ({"CONFORMANCE_CCDA_OBJECTIVE": "a\r\nb"}, "CONFORMANCE_CCDA_OBJECTIVE"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_quoting_it(env: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(told)) as raised:
        resolve(env, None)
    assert "secret" not in str(raised.value)


def test_an_address_that_is_set_to_nothing_switches_a_service_off() -> None:
    assert resolve({"CONFORMANCE_FHIR_URL": "", "CONFORMANCE_FHIR_TOKEN": ""}, None).fhir.url is None


def test_the_digest_changes_with_what_is_asked_and_not_with_where() -> None:
    here, there, profiled = (
        resolve({"CONFORMANCE_FHIR_URL": url} | more, None)
        for url, more in (("http://127.0.0.1:1", {}), ("https://there.example.org", {}), ("http://127.0.0.1:1", {"CONFORMANCE_FHIR_PROFILES": "http://a"}))
    )
    assert fingerprint(here) == fingerprint(there) != fingerprint(profiled)


@pytest.mark.parametrize(
    ("env", "found"),
    [
        ({"TOUCHSTONE_FHIR_VALIDATOR_URL": "http://127.0.0.1:1", "TOUCHSTONE_FHIR_VALIDATOR_TOKEN": "shared"}, ("http://127.0.0.1:1", "shared")),
        ({"TOUCHSTONE_FHIR_VALIDATOR_TOKEN": "shared"}, (None, None)),
        (
            {"TOUCHSTONE_FHIR_VALIDATOR_URL": "http://127.0.0.1:1", "TOUCHSTONE_FHIR_VALIDATOR_TOKEN": "shared", "CONFORMANCE_FHIR_URL": "http://127.0.0.1:2"},
            ("http://127.0.0.1:2", None),
        ),
    ],
)
def test_the_fhir_service_is_found_by_its_shared_name_and_no_token_goes_to_another_address(env: dict[str, str], found: tuple[str | None, str | None]) -> None:
    service = resolve(env, None).fhir
    assert (service.url, service.token and service.token.get_secret_value()) == found


async def test_a_report_says_why_nothing_was_asked() -> None:
    result = await ascore(Scoring(SUITE, ConformanceSettings()), trace())
    view = SUITE.view(SUITE.report([result], RunFacts(SUITE, ConformanceSettings(), "0" * 16, datetime(2026, 1, 2, tzinfo=UTC))))
    assert [case.why for case in view.cases] == ["conformance.fhir.off, conformance.ccda.off"]
    (reasons,) = [table.rows for table in view.tables if table.title == "Not scored"]
    assert [tuple(row) for row in reasons] == [("conformance.ccda.off", "1"), ("conformance.fhir.off", "1")]


@pytest.mark.parametrize(("text", "code"), [('{"resourceType":"Patient"}\n{"resourceType":"Patient"}\n', "conformance.fhir.several"), ("[{}\n,\n{}]", None)])
async def test_several_resources_in_one_document_are_not_asked_about_because_no_validator_reads_them(text: str, code: str | None) -> None:
    found = await card(FINE, report(), trace(fhir=text))
    assert [one.code for one in found.findings] == ([] if code is None else [code])
