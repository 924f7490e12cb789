"""Both fetchers of the Faust runner, as processes: ours, and Faust's own where ours cannot serve."""

import json
import sys
from typing import Any

import pytest

from tests.integration.brokers import Broker, Namespace
from tests.integration.workers import Start, committed, produce, reading
from tests.streams.fakes import safe_event


def fetcher_lines(log: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    return [line for line in lines if line["event"] == "faust_fetcher_stock"]


@pytest.mark.parametrize(("module", "said"), [("touchstone.ops.cli", 0), ("tests.integration.changed_faust", 1)])
async def test_a_faust_that_has_changed_is_served_by_its_own_fetcher_and_the_log_says_so(
    shared_embedded: Broker, namespace: Namespace, start: Start, module: str, said: int
) -> None:
    broker, topic = shared_embedded, namespace.topic("generations")
    broker.create_topics(namespace.topics())
    await produce(broker, topic, [(number % 4, json.dumps(safe_event(f"e{number}")).encode(), []) for number in range(40)])
    command = [sys.executable, "-m", module, "worker", "--suite", "safe_v0", "--runner", "faust"]
    worker = start("faust", namespace.environment(broker), command=command)
    async with reading(broker, namespace) as until:
        await until(lambda seen: len(seen.results) == 40)
    assert worker.end() == 0, worker.log
    assert await committed(broker, namespace.group("safe_v0"), topic) == [10, 10, 10, 10]
    lines = fetcher_lines(worker.log)
    assert len(lines) == said, worker.log
    assert all(line["level"] == "warning" and "Consumer._filter_committable_offsets" in line["message"] for line in lines)
