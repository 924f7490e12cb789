import asyncio
import json
import time
from collections.abc import Callable

from tests.integration.brokers import Broker, Namespace
from tests.integration.workers import Outcomes, Start, committed, produce, reading
from tests.scorers.clinical.conformance.fake_services import CANARY, CCDA, ERROR, FINE, Asked, FakeService, Reply, report, result

TRACES = 12
PATIENCE_S = 90.0


def trace(number: int) -> bytes:
    fhir = {"resourceType": "Patient", "id": f"p{number}", "gender": "female", "name": [{"family": CANARY}]}
    outputs = {"fhir": {"content": fhir}, "ccda": {"content": CCDA.replace("<title>", f"<id/><title>{number} ")}}
    return json.dumps({"kind": "trace", "id": f"e{number}", "traceId": f"t{number}", "outputs": outputs}).encode()


def of_suite(seen: Outcomes, suite: str) -> dict[str, set[str]]:
    """Event → ids of its results by one suite."""
    found = {event: {one["result_id"] for one in results if one["suite"] == suite} for event, results in seen.results.items()}
    return {event: ids for event, ids in found.items() if ids}


async def test_services_that_are_killed_or_hang_cost_no_verdict_and_delay_no_fast_one(shared_embedded: Broker, namespace: Namespace, start: Start) -> None:
    broker, hangs = shared_embedded, [True]
    broker.create_topics(namespace.topics())
    env = namespace.environment(broker) | {"CLINICAL_CONFORMANCE_REQUESTS": "true", "TOUCHSTONE_WORKER_RETRY_BACKOFF_MAX_S": "0.3"}

    def ccda_answer(_: Asked) -> Reply:
        return Reply(then="hang") if hangs[0] else report(result(ERROR, f"SHALL contain {CANARY} (CONF:1198-5254)"))

    fhir = FakeService(lambda _: Reply(then="hang"))  # until it is killed, each document is in the middle
    async with FakeService(ccda_answer, well=lambda: Reply(then="hang") if hangs[0] else Reply(405)) as ccda, reading(broker, namespace) as until:
        await fhir.start()
        services = {"CONFORMANCE_FHIR_URL": fhir.url, "CONFORMANCE_CCDA_URL": ccda.url, "CONFORMANCE_CCDA_TIMEOUT_S": "0.5"}
        slow = start("direct", env | services, suite="clinical_conformance")
        validators = start("direct", env, suite="clinical")
        await produce(broker, namespace.topic("traces"), [(number % 4, trace(number), ()) for number in range(TRACES)])
        await _until(lambda: bool(fhir.asked) and bool(ccda.asked))
        await fhir.stop()
        seen = await until(lambda seen: len(of_suite(seen, "clinical")) == TRACES, PATIENCE_S)
        await _until(lambda: '"conformance_fhir"' in slow.log)
        during = len(of_suite(seen, "clinical_conformance"))
        ready = [(await asyncio.to_thread(worker.page, "/readyz"))[0] for worker in (slow, validators)]
        back = FakeService([FINE], port=fhir.port)
        await back.start()
        await _until(lambda: '"conformance_ccda"' in slow.log)
        hangs[0] = False
        seen = await until(lambda seen: len(of_suite(seen, "clinical_conformance")) == TRACES, PATIENCE_S)
        await _until(lambda: slow.log.count('"stage_available"') >= 2)
        codes = [await asyncio.to_thread(slow.end, 60), await asyncio.to_thread(validators.end, 60)]
        await back.stop()
    assert (during, ready) == (0, [503, 200])
    assert codes == [0, 0]
    results = [one for found in seen.results.values() for one in found if one["suite"] == "clinical_conformance"]
    assert of_suite(seen, "clinical_conformance").keys() == of_suite(seen, "clinical").keys() == {f"e{number}" for number in range(TRACES)}
    assert all(len(ids) == 1 for ids in of_suite(seen, "clinical_conformance").values())
    assert {(one["label"], one["values"]["fhir_conformant"], one["values"]["ccda_conformant"]) for one in results} == {("Fail", 100.0, 0.0)}
    assert {finding["code"] for one in results for finding in one["findings"]} == {"conformance.ccda.1198-5254"}
    assert {one["event_id"][1:] for one in results} == {one["case_id"][1:] for one in results}
    assert (seen.dead, CANARY in json.dumps(results) + slow.log) == ([], False)
    assert sum(await committed(broker, namespace.group("clinical_conformance"), namespace.topic("conformance"))) == TRACES


async def _until(condition: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)
