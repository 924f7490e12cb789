import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.brokers import EACH_ONCE, Broker, Namespace
from tests.integration.workers import Worker, committed, produce, reading
from touchstone.ops.batch.run import Run
from touchstone.ops.batch.sources import Source
from touchstone.schemas.case import validate_case
from touchstone.schemas.result import Scorecard, ScoreResult
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.clinical import SUITE, ClinicalSettings, build, samples
from touchstone.scorers.identity import event_id

CANARY = "Wierzba-Kanarek"
PATIENCE_S = 400.0


def sample_events() -> list[dict[str, Any]]:
    records = [json.loads(path.read_text(encoding="utf-8")) for path in samples.paths()]
    return [{**record, "kind": "trace", "id": event_id(ProductionTrace, record)} for record in records]


def card_of(result: ScoreResult) -> Scorecard:
    return Scorecard(**{name: getattr(result, name) for name in Scorecard.model_fields})


KNOWN = """
[[suppress]]
code = "fhir.bindings.required"
path = "Patient.gender"
reason = "r"
expires = 9999-01-01

[[suppress]]
code = "valuesets.*"
path = "PID-8"
reason = "r"
expires = 9999-01-01

[[suppress]]
code = "*"
path = "Patient.birthDate"
reason = "r"
expires = 2020-01-01

[[suppress]]
profile = "us-core-patient"
reason = "r"
expires = 9999-01-01
"""
HL7V2 = "MSH|^~\\&|A|B|C|D|20240101120000+0000||ADT^A01^ADT_A01|1|P|2.5.1\rEVN||20240101120000+0000\rPID|1||1^^^A&1.2.3&ISO^MR||S^J||19801340|Q\rPV1|1|I\r"


@pytest.mark.parametrize(("broker", "runner"), [("embedded", "direct"), ("embedded", "faust")], indirect=True)
async def test_a_list_of_known_issues_is_applied_live_as_in_a_batch(broker: Broker, namespace: Namespace, runner: str, tmp_path: Path) -> None:
    (known := tmp_path / "known.toml").write_text(KNOWN, encoding="utf-8")
    bad = {"resourceType": "Patient", "gender": "X", "birthDate": "2001-02-30"}
    outputs: list[dict[str, Any]] = [{"fhir": {"content": bad}}, {"hl7v2": {"content": HL7V2}}, {"fhir": {"content": bad}, "hl7v2": {"content": HL7V2}}]
    traces = [{"kind": "trace", "traceId": f"t{number}", "timestamp": "2026-01-02T03:04:05Z", "outputs": one} for number, one in enumerate(outputs)]
    lines = [json.dumps({**one, "id": event_id(ProductionTrace, one)}) for one in traces]
    (file := tmp_path / "traces.jsonl").write_text("\n".join(lines), encoding="utf-8")
    run = Run(SUITE, ClinicalSettings(suppress=known))
    await asyncio.to_thread(run.score, [Source(file)])
    batch = {one.event_id: one for one in run.entries if isinstance(one, ScoreResult)}
    broker.create_topics(namespace.topics())
    await produce(broker, namespace.topic("traces"), [(number % 4, line.encode(), ()) for number, line in enumerate(lines)])
    worker = Worker(runner, namespace.environment(broker) | {"CLINICAL_SUPPRESS": str(known)}, suite=SUITE.name)
    try:
        async with reading(broker, namespace) as until:
            outcomes = await until(lambda seen: len(seen.results) == len(lines), PATIENCE_S)
    finally:
        worker.close()
    live = {event: ScoreResult.model_validate_json(json.dumps(results[-1])) for event, results in outcomes.results.items()}
    assert {event: (one.config_digest, card_of(one)) for event, one in live.items()} == {
        event: (one.config_digest, card_of(one)) for event, one in batch.items()
    }
    told = [one.details["suppressed"] for one in sorted(live.values(), key=lambda one: one.case_id or "")]
    gender, sex = {"fhir.bindings.required at Patient.gender": 1}, {"valuesets.* at PID-8": 1}
    assert told == [gender, sex, gender | sex]
    assert all(one.label != "Pass" for one in live.values())  # the entry that expired suppresses nothing


@EACH_ONCE
async def test_every_trace_ends_in_its_outcome_live_as_in_a_call(broker: Broker, namespace: Namespace, runner: str) -> None:
    broker.create_topics(namespace.topics())
    # Without `kind` it is seen by its keys; what is no trace is a dead letter; a trace of nothing is scored as such.
    leaking = {"traceId": CANARY, "id": "leak", "outputs": {"fhir": {"content": {"resourceType": "Patient", "gender": CANARY}}}}
    empty = {"traceId": "t-empty", "id": "empty", "outputs": {}}
    poison: list[bytes] = [
        json.dumps({"kind": "trace", "id": "p1", "traceId": "t", "outputs": {"fhir": {"content": 5, "x": CANARY}}}).encode(),
        b'{"traceId": "t", "outputs": {"fhir": {"content": "' + CANARY.encode(),
        json.dumps({"kind": "trace", "id": "p2", "outputs": {}}).encode(),
    ]
    others = [json.dumps({"kind": "summary", "id": "s", "generated": "x"}).encode()]
    events = [*sample_events(), leaking, empty]
    values = [*(json.dumps(event).encode() for event in events), *poison, *others]
    await produce(broker, namespace.topic("traces"), [(number % 4, value, ()) for number, value in enumerate(values)])
    worker = Worker(runner, namespace.environment(broker) | {"TOUCHSTONE_LOG_LEVEL": "debug"}, suite=SUITE.name)
    try:
        async with reading(broker, namespace) as until:
            outcomes = await until(lambda seen: len(seen.results) == len(events) and len(seen.dead) == 3 and seen.told("skipped") == 1, PATIENCE_S)
        metrics = worker.page("/metrics")[1]
        assert worker.end(60) == 0, worker.log
        log = worker.log
    finally:
        worker.close()
    assert sum(await committed(broker, namespace.group(SUITE.name), namespace.topic("traces"))) == len(values)
    last = {event: ScoreResult.model_validate_json(json.dumps(results[-1])) for event, results in outcomes.results.items()}
    cards = {event: card_of(result) for event, result in last.items()}
    assert samples.unexpected(list(last.values())) == []
    scorer = build(ClinicalSettings())
    assert [event["id"] for event in sample_events() if cards[event["id"]] != scorer.evaluate(validate_case(ProductionTrace, event))] == []
    assert (cards["empty"].label, cards["empty"].failures[0].code) == ("unscored", "no_output")
    assert cards["leak"].label == "Warn"
    # The producer's own id of the trace is told; what the trace holds is not.
    told = json.dumps([result for event, results in outcomes.results.items() for result in results if event != "leak"])
    leak = json.dumps(outcomes.results["leak"]).replace(f'"case_id": "{CANARY}"', "").replace(f'"trace_id": "{CANARY}"', "")
    headers = [content for record in outcomes.dead for _, content in record.headers]
    assert all(CANARY not in text for text in (metrics, log, told, leak))
    assert all(CANARY.encode() not in content for content in headers)
