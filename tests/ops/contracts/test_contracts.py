import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator, Draft202012Validator

from tests.ops.commands import Commands
from tests.ops.contracts.fitting import faults, headers_of
from tests.ops.reports.toy import SUITE, finding, laid_out, problem, result
from tests.streams.fakes import FakeRecord
from touchstone.ops.contracts import ASYNCAPI, asyncapi, schemas, written
from touchstone.ops.contracts.documents import DIALECT
from touchstone.schemas.ledger import LedgerEntry, LedgerRecord
from touchstone.schemas.reports.suite import SuiteEvent
from touchstone.schemas.result import ScoreResult
from touchstone.schemas.settings.house import KafkaSettings, Settings, TopicSettings, WorkerSettings
from touchstone.scorers.registry import load_suite, suite_entry_points
from touchstone.scorers.suite import Suite
from touchstone.streams.wire.codec import encode_ledger
from touchstone.streams.wire.dead_letter import OMITTED, OURS, dead_letter

COMMITTED = Path(__file__).parents[3] / "docs" / "contracts"
SPECIFICATION = Path(__file__).parent / "asyncapi-specs-6.11.1" / "3.0.0.json"
#: The suites whose contracts are committed: those whose workers the committed document names. A new suite joins them when its contracts are renewed.
HOUSE = tuple(
    load_suite(name)
    for name in sorted(suite_entry_points())
    if f'"{WorkerSettings().group_prefix}.{name}"' in (COMMITTED / f"{ASYNCAPI}.json").read_text(encoding="utf-8")
)
SCHEMAS = schemas(HOUSE)
DOCUMENTS = SCHEMAS | {ASYNCAPI: asyncapi(suites=HOUSE, beside_schemas=True)}
WHOLE = asyncapi(suites=HOUSE)
RENEW = "renew the committed documents with: touchstone schemas --output docs/contracts"


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_the_committed_document_is_what_the_code_says(name: str) -> None:
    path = COMMITTED / f"{name}.json"
    assert path.exists(), f"{path.name} is missing; {RENEW}"
    assert path.read_text(encoding="utf-8") == written(DOCUMENTS[name]), f"{path.name} differs from the code; {RENEW}"


def test_nothing_is_committed_that_the_code_does_not_say() -> None:
    assert {path.stem for path in COMMITTED.glob("*.json")} == set(DOCUMENTS), RENEW


def test_every_suite_of_a_specification_has_its_contracts_committed() -> None:
    assert {suite.name for suite in HOUSE} >= {"clinical", "clinical_conformance", "clinical_judge", "safe_v0", "summary_loss"}


def test_every_event_and_every_report_has_a_schema() -> None:
    kinds = {kind for suite in HOUSE for kind in suite.cases}
    assert {"result", "ledger", "event-headers", "dead-letter-headers", "resolution", "report", "report-event"} <= set(SCHEMAS)
    assert {f"event.{kind}" for kind in kinds} <= set(SCHEMAS)
    assert {f"report-event.{suite.name}" for suite in HOUSE if suite.event_model} <= set(SCHEMAS)
    assert {f"report.{suite.name}" for suite in HOUSE if "json" in suite.layouts} <= set(SCHEMAS)


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_every_schema_is_one_and_its_examples_fit(name: str) -> None:
    schema = SCHEMAS[name]
    Draft202012Validator.check_schema(schema)
    assert (schema["$schema"], schema["$id"]) == (DIALECT, f"urn:touchstone:schema:{name}")
    assert [fault for example in schema.get("examples", ()) for fault in faults(example, schema)] == []


@pytest.mark.parametrize("name", [name for name in sorted(SCHEMAS) if name.startswith("event.") or name in {"result", "ledger"}])
def test_an_event_has_an_example_that_its_model_reads(name: str) -> None:
    models: dict[str, Any] = {"result": ScoreResult, "ledger": LedgerRecord}
    models |= {f"event.{kind}": model for suite in HOUSE for kind, model in suite.cases.items()}
    for example in SCHEMAS[name]["examples"]:
        assert models[name].model_validate_json(json.dumps(example))


def test_a_reader_may_meet_fields_that_a_schema_does_not_name() -> None:
    example = SCHEMAS["result"]["examples"][0]
    assert faults(example | {"new": 1}, SCHEMAS["result"], strictly=False) == []
    assert faults(example | {"new": 1}, SCHEMAS["result"]) != []
    assert faults(example | {"label": "Good"}, SCHEMAS["result"], strictly=False) != []
    assert faults({name: part for name, part in example.items() if name != "models"}, SCHEMAS["result"], strictly=False) != []


def test_a_producer_may_write_numbers_and_objects_where_they_are_read_as_text() -> None:
    example = SCHEMAS["event.safe"]["examples"][0]
    written_so = example | {"correlation": {"run": 42, "share": 0.5}, "output": {"signals": ["a", {"text": "b"}]}}
    assert faults(written_so, SCHEMAS["event.safe"]) == []


def test_a_ledger_record_and_its_headers_fit() -> None:
    entries = (LedgerEntry(outcome="skipped", reason="other_kind", ranges=((0, 4), (7, 7))),)
    record = LedgerRecord(suite="toy", suite_version="1", config_digest="d", topic="t", partition=0, entries=entries)
    _, value, headers = encode_ledger(record)
    assert faults(json.loads(value), SCHEMAS["ledger"]) == []
    assert faults(headers_of(headers), SCHEMAS["event-headers"]) == []


@pytest.mark.parametrize("payload", [True, False])
def test_the_headers_of_a_dead_letter_fit(payload: bool) -> None:
    record = FakeRecord(7, b"\xff", topic="t", headers=[("touchstone.suite", b"of another program"), ("trace", b"1")])
    letter = dead_letter(record, suite="toy", version="1", code="not_utf8", where="byte 0", payload=payload)
    assert faults(headers_of(letter.headers), SCHEMAS["dead-letter-headers"], strictly=False) == []
    assert set(SCHEMAS["dead-letter-headers"]["properties"]) == OURS
    assert (OMITTED in headers_of(letter.headers)) is not payload


def test_the_report_of_any_suite_fits() -> None:
    entries = [result("a"), result("b", "Fail", number=1, findings=(finding(),)), result("c", "unscored", number=2), problem(), problem(kind="passed_over")]
    of_toy = schemas([SUITE])
    document = json.loads(laid_out(entries, "json"))
    assert faults(document, of_toy["report"]) == []
    assert [name for name in of_toy if "toy" in name] == ["event.toy"], "a suite adds only what it has of its own"
    assert faults(json.loads(laid_out([], "json")), of_toy["report"]) == []


def with_(**changes: Any) -> Suite:
    import dataclasses

    return dataclasses.replace(SUITE, **changes)


def test_a_suite_that_writes_its_own_json_and_says_nothing_of_it_promises_nothing() -> None:
    own = with_(layouts={"json": lambda *_: ["[1]"]})
    assert faults([1], schemas([own])["report.toy"]) == []


def test_a_suites_own_kind_and_report_are_in_the_asyncapi_document() -> None:
    document = asyncapi(suites=[SUITE])
    assert list(document["channels"]["generations"]["messages"]) == ["event.toy"]
    assert list(document["channels"]["reports"]["messages"]) == ["report-event.toy", "prevalence"]
    assert document["components"]["messages"]["report-event.toy"]["headers"]["properties"]["ce_type"]["const"] == "toy:v1:result"
    assert document["operations"]["score.toy"]["bindings"]["kafka"]["groupId"]["const"] == "touchstone.toy"
    assert of_specification(document) == []


@pytest.mark.parametrize("on", [True, False])
def test_the_validators_send_requests_to_the_judge_where_that_stage_is_on(on: bool) -> None:
    document = asyncapi(suites=HOUSE, env={"CLINICAL_JUDGE_REQUESTS": str(on).lower()})
    sent = {name: part for name, part in document["operations"].items() if part["action"] == "send" and part["channel"]["$ref"] == "#/channels/judge"}
    assert [[one["$ref"] for one in part["messages"]] for part in sent.values()] == ([["#/channels/judge/messages/event.judge_request"]] if on else [])
    assert set(sent) == ({"hand-on.clinical.judge"} if on else set())
    assert of_specification(document) == []


def test_examples_are_of_a_suite_that_the_document_is_about() -> None:
    others = {suite.name for suite in HOUSE}
    told = json.dumps([asyncapi(suites=[SUITE]), schemas([SUITE])])
    assert "/touchstone/toy" in told
    assert [name for name in others if f'"{name}"' in told or f"/{name}" in told] == []
    assert asyncapi(suites=[])["components"]["messages"]["result"]["examples"][0]["payload"]["suite"] == "your_suite"
    # Its examples fit what it says of them.
    of_toy = schemas([SUITE])
    assert [fault for name in ("result", "ledger") for example in of_toy[name]["examples"] for fault in faults(example, of_toy[name])] == []


def of_specification(document: Any) -> list[str]:
    specification = json.loads(SPECIFICATION.read_text(encoding="utf-8"))
    return [f"{error.json_path}: {error.message[:200]}" for error in Draft7Validator(specification).iter_errors(document)]


def test_the_asyncapi_document_is_one_by_the_specifications_schema() -> None:
    document = DOCUMENTS[ASYNCAPI]
    assert (of_specification(document), of_specification(WHOLE)) == ([], [])
    # The schema does find faults.
    wrong = json.loads(json.dumps(document))
    wrong["channels"]["results"]["bindings"]["kafka"]["partitions"] = 0
    assert of_specification(wrong) != []


def test_every_reference_leads_somewhere() -> None:

    def references(part: Any) -> list[str]:
        if isinstance(part, dict):
            return [*([part["$ref"]] if isinstance(part.get("$ref"), str) else []), *(one for each in part.values() for one in references(each))]
        return [one for each in part for one in references(each)] if isinstance(part, list) else []

    assert {reference for reference in references(DOCUMENTS[ASYNCAPI]) if reference.startswith("./")} <= {f"./{name}.json" for name in SCHEMAS}
    assert len(references(WHOLE)) > 20
    for reference in references(WHOLE):
        place: Any = WHOLE
        for step in reference.removeprefix("#/").split("/"):
            place = place[step]
        assert place


@pytest.mark.parametrize("name", sorted(WHOLE["components"]["messages"]))
def test_the_examples_of_a_message_fit_it(name: str) -> None:
    document = WHOLE
    message = document["components"]["messages"][name]
    assert message["examples"]
    for example in message["examples"]:
        if "payload" in example:
            around = {"allOf": [message["payload"]], "components": document["components"]}
            assert list(Draft7Validator(around).iter_errors(example["payload"])) == []
        if "headers" in example:
            assert list(Draft7Validator(message["headers"]).iter_errors(example["headers"])) == []


def test_channels_have_the_names_of_the_settings() -> None:
    own = Settings(topics=TopicSettings(results="eu.results", replication_factor=3), kafka=KafkaSettings(bootstrap_servers="a:1,b:2"))
    document = asyncapi(own, HOUSE)
    results = document["channels"]["results"]
    assert (results["address"], results["bindings"]["kafka"]["topic"], results["bindings"]["kafka"]["replicas"]) == ("eu.results", "eu.results", 3)
    assert [server["host"] for server in document["servers"].values()] == ["a:1", "b:2"]
    assert of_specification(document) == []


def test_a_secured_cluster_says_so_and_tells_no_secret() -> None:
    secured = KafkaSettings(security_protocol="SASL_SSL", sasl_mechanism="SCRAM-SHA-512", sasl_username="canary-user", sasl_password="canary-word")  # type: ignore[arg-type]
    document = asyncapi(Settings(kafka=secured), HOUSE)
    assert document["servers"]["kafka"]["protocol"] == "kafka-secure"
    assert document["components"]["securitySchemes"]["sasl"] == {"type": "scramSha512"}
    assert of_specification(document) == []
    assert "canary" not in json.dumps(document)


def test_a_report_event_without_content_of_its_own_has_counts_and_means() -> None:
    properties = schemas([SUITE])["report-event"]["properties"]
    assert set(properties) == {"concern_id", "batch_id", "timestamp", "report_id", "final", *SuiteEvent.model_fields}


class TestCommand:
    def test_without_a_name_it_lists_them(self, run: Commands) -> None:
        ran = run("schemas")
        assert ran.code == 0
        assert [line.split()[0] for line in ran.out.splitlines()] == [*schemas(), ASYNCAPI]

    def test_a_named_one_is_printed_as_it_is(self, run: Commands) -> None:
        assert json.loads(run("schemas", "result").out) == schemas()["result"]

    def test_the_asyncapi_document_has_the_names_of_the_settings(self, run: Commands) -> None:
        document = json.loads(run("schemas", "asyncapi", env={"TOUCHSTONE_TOPICS_RESULTS": "eu.results"}).out)
        assert document["channels"]["results"]["address"] == "eu.results"

    def test_all_are_written_to_a_folder(self, run: Commands, tmp_path: Path) -> None:
        ran = run("schemas", "--output", tmp_path / "out")
        assert (ran.code, ran.out) == (0, "")
        assert {path.stem for path in (tmp_path / "out").iterdir()} == {*schemas(), ASYNCAPI}
        assert '"$ref": "./result.json"' in (tmp_path / "out" / "asyncapi.json").read_text()

    def test_an_unknown_name_is_refused_in_one_line(self, run: Commands) -> None:
        ran = run("schemas", "resluts")
        assert ran.code == 3
        assert ran.one_line == "touchstone: there is no schema resluts; `touchstone schemas` lists them"
