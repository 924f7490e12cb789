"""A judge's server that hangs while a worker scores: few requests, nothing acknowledged, and every result once it answers."""

import asyncio
import json
import time
from typing import Any

import pytest

from tests.doubles.judges import JudgeServer
from tests.doubles.judges.asked import Asked
from tests.doubles.judges.faults import Fault, Kind
from tests.doubles.judges.replies import Reply
from tests.integration.brokers import Broker, Namespace
from tests.integration.workers import Start, committed, produce, reading

CASES = 60
CONCURRENCY = 10
#: Seconds between two tries; those of the worker's own breaker come on top.
INTERVAL_S = 0.5


def event(number: int) -> bytes:
    output = {"signals": ["s"], "summary": "s", "followup_questions": [f"Did it hurt, number {number}?"]}
    expectations: dict[str, Any] = {"signal_generation": {"must_find_signals": ["s"]}}
    return json.dumps(
        {"kind": "safe", "id": f"e{number}", "test_id": f"t{number}", "archetype": "a", "concern_id": "c", "batch_id": "b"}
        | {"expectations": expectations, "output": output}
    ).encode()


@pytest.mark.parametrize("runner", ["faust", "direct"])
async def test_a_worker_waits_for_a_judge_that_hangs_and_sends_it_few_requests(
    shared_embedded: Broker, namespace: Namespace, start: Start, runner: str
) -> None:
    broker, hangs = shared_embedded, [True]

    def answer(_: Asked) -> Any:
        return Reply(fault=Fault(Kind.HANG)) if hangs[0] else None

    broker.create_topics(namespace.topics())
    await produce(broker, namespace.topic("generations"), [(number % 4, event(number), ()) for number in range(CASES)])
    async with JudgeServer(answer) as server, reading(broker, namespace) as until:
        judge = {"BASE_URL": server.base_url, "MODEL": "touchstone-scripted", "CONCURRENCY": CONCURRENCY, "TIMEOUT_S": 1, "DEADLINE_S": 3}
        pauses = {"RETRY_BACKOFF_MIN_S": INTERVAL_S, "RETRY_BACKOFF_MAX_S": INTERVAL_S}
        env = {f"TOUCHSTONE_JUDGE_{name}": str(value) for name, value in (judge | pauses).items()}
        worker = start(runner, namespace.environment(broker) | env | {"SAFE_V0_AH_JUDGE": "on"})
        async with asyncio.timeout(120):
            while server.seen.requests < CONCURRENCY:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        begun = time.monotonic()
        await asyncio.sleep(6)  # longer than the deadline: the worker asks again by then
        assert server.seen.requests <= CONCURRENCY + 1 + (time.monotonic() - begun) / INTERVAL_S
        assert sum(await committed(broker, namespace.group("safe_v0"), namespace.topic("generations"))) == 0
        hangs[0] = False
        outcomes = await until(lambda seen: len(seen.results) == CASES)
        assert worker.end(60) == 0
    assert all(len(results) == 1 for results in outcomes.results.values())
    # It has answered each, with a verdict that names no question.
    assert {results[0]["details"]["judge"]["state"] for results in outcomes.results.values()} == {"incomplete"}
    assert sum(await committed(broker, namespace.group("safe_v0"), namespace.topic("generations"))) == CASES
