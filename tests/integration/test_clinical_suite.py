"""The clinical suite live: traces on their own topic, on every kind of broker and with both runners."""

import json
from typing import Any

import pytest

from tests.integration.brokers import Broker, Namespace
from tests.integration.workers import Worker, committed, produce, reading
from touchstone.ops.batch.trace_events import completed
from touchstone.ops.local.demo_live import card_of
from touchstone.ops.local.demo_traces import Traces, unexpected
from touchstone.ops.local.samples import expected_traces, traces
from touchstone.scorers.clinical import SUITE, ClinicalSettings, build

CANARY = "Wierzba-Kanarek"
PATIENCE_S = 90.0


@pytest.fixture(params=["direct", "faust"])
def runner(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def sample_events() -> list[dict[str, Any]]:
    return [completed(json.loads(path.read_text(encoding="utf-8"))) for path in sorted(traces().glob("*.json"))]


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
    cards = {event_id: card_of(results[-1]) for event_id, results in outcomes.results.items()}
    samples = Traces.read(SUITE)
    assert unexpected({trace.trace_id: cards[event_id] for event_id, trace in samples.samples.items()}, expected_traces()) == []
    scorer = build(ClinicalSettings())
    assert {event_id: cards[event_id] == scorer.evaluate(trace) for event_id, trace in samples.samples.items()} == dict.fromkeys(samples.samples, True)
    assert (cards["empty"].label, cards["empty"].failures[0].code) == ("unscored", "no_output")
    assert cards["leak"].label == "Warn"
    # The producer's own id of the trace is told; what the trace holds is not.
    told = json.dumps([result for event_id, results in outcomes.results.items() for result in results if event_id != "leak"])
    leak = json.dumps(outcomes.results["leak"]).replace(f'"case_id": "{CANARY}"', "").replace(f'"trace_id": "{CANARY}"', "")
    headers = [content for record in outcomes.dead for _, content in record.headers]
    assert all(CANARY not in text for text in (metrics, log, told, leak))
    assert all(CANARY.encode() not in content for content in headers)
