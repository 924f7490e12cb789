import json
from typing import Any

from tests.integration.brokers import EACH_ONCE, Broker, Namespace
from tests.integration.workers import Worker, committed, produce, reading
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
