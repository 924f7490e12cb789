"""Loss V3 live: summaries beside SAFE cases on one topic, on the embedded broker and with both runners.

With engines that need no model, and (slow) with the default models.
"""

import asyncio
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.integration import lexical_engines
from tests.integration.brokers import Broker, Namespace
from tests.integration.workers import Outcomes, Worker, committed, produce, reading
from tests.ops.loss_cases import CANARY, gold, summary
from tests.streams.fakes import safe_event
from touchstone.ops.batch.run import Run
from touchstone.ops.batch.sources import find_sources
from touchstone.schemas.result import ScoreResult
from touchstone.scorers.reporting.equality import differences
from touchstone.scorers.suite import Suite
from touchstone.scorers.suite_settings import suite_settings
from touchstone.scorers.summary import SUITE
from touchstone.scorers.summary.samples import TOLERANCE, expected, unmet
from touchstone.scorers.summary.samples import samples as sample_files

# A worker loads its models in seconds, on a very busy machine in minutes.
PATIENCE_S = 480.0
SLOW = (pytest.mark.slow(15), pytest.mark.timeout(1200))
#: What the default models are asked about here. All of the samples are scored with them from files (`tests/ops/test_loss_cli.py`) and by the demo, live too.
FEW = {"summary-clinical-good", "summary-law-good", "summary-law-entities", "summary-law-order"}


@dataclass
class Live:
    suite: Suite
    runner: str
    env: dict[str, str]
    workers: list[Worker]

    def start(self, suite: str | None = None, **env: str) -> Worker:
        self.workers.append(Worker(self.runner, self.env | env, suite=suite or self.suite.name))
        return self.workers[-1]


@pytest.fixture(params=["direct", "faust"])
def runner(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[pytest.param(lexical_engines.SUITE, id="lexical"), pytest.param(SUITE, id="default", marks=SLOW)])
def live(request: pytest.FixtureRequest, shared_embedded: Broker, namespace: Namespace, runner: str, tmp_path: Path) -> Iterator[Live]:
    if request.param is SUITE and runner == "direct":
        pytest.skip("the model is asked under the default runner; what differs between runners is shown without it")
    shared_embedded.create_topics(namespace.topics())
    info = tmp_path / "lexical-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lexical\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[touchstone.suites]\nsummary_lexical = tests.integration.lexical_engines:SUITE\n")
    env = namespace.environment(shared_embedded) | dict(sample_files().env) | {"PYTHONPATH": str(tmp_path)}
    made = Live(request.param, runner, env, [])
    yield made
    for worker in made.workers:
        worker.close()


def samples() -> list[dict[str, Any]]:
    return [json.loads(line) for path in sample_files().paths for line in path.read_text(encoding="utf-8").splitlines()]


def chosen(suite: Suite) -> list[dict[str, Any]]:
    """The samples to send: where a model answers, few of those that it is asked about, and all that need no model."""
    asked = {name for name, want in expected().items() if want.keys() & {"good", "worse_than"}}
    return [event for event in samples() if suite is not SUITE or event["id"] in FEW or event["id"] not in asked]


async def send(broker: Broker, namespace: Namespace, events: list[Any]) -> None:
    values = [event if isinstance(event, bytes) else json.dumps(event).encode() for event in events]
    await produce(broker, namespace.topic("generations"), [(number % 4, value, ()) for number, value in enumerate(values)])


def last_results(outcomes: Outcomes) -> dict[str, ScoreResult]:
    """Event id → its last result."""
    return {event_id: ScoreResult.model_validate_json(json.dumps(results[-1])) for event_id, results in outcomes.results.items()}


def scored_from_file(suite: Suite, events: list[dict[str, Any]], file: Path) -> list[ScoreResult]:
    file.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    run = Run(suite, suite_settings(suite, env=sample_files().env))
    run.score(find_sources([file], any_file=False))
    return [entry for entry in run.entries if isinstance(entry, ScoreResult)]


async def test_every_event_ends_in_its_outcome_live_as_in_batch(shared_embedded: Broker, namespace: Namespace, live: Live, tmp_path: Path) -> None:
    events = chosen(live.suite)
    nine_facts = summary("nine", datum=gold(key_facts=[f"{CANARY} {number}." for number in range(9)]))
    poison: list[Any] = [nine_facts, {"kind": "summary", "id": "no-text", "generated": [CANARY]}, b'{"generated": "' + CANARY.encode()]
    # The first SAFE case says its kind; of the second one, and of every sample, the kind is seen by its keys.
    others = [safe_event("s1"), {key: value for key, value in safe_event("s2").items() if key != "kind"}]
    await send(shared_embedded, namespace, [*events, *poison, *others])
    worker, safe = live.start(TOUCHSTONE_LOG_LEVEL="debug"), live.start("safe_v0")
    wanted = {event["id"]: expected()[event["id"]] for event in events}
    async with reading(shared_embedded, namespace) as until:
        # Both suites read all: each skips what is the other's, and what nobody can read is a dead letter of both.
        outcomes = await until(
            lambda seen: len(seen.results) == len(wanted) + 2 and len(seen.dead) == 4 and seen.told("skipped") == 2 + len(wanted) + 2, PATIENCE_S
        )
    scored = {event_id: card for event_id, card in last_results(outcomes).items() if event_id in wanted}
    # What only a model can tell apart is asked of a model only.
    assert unmet(scored, wanted if live.suite is SUITE else {name: want for name, want in wanted.items() if "worse_than" not in want}) == []
    assert sorted(dict(record.headers)["__streams.errors.exception"] for record in outcomes.dead) == [
        b"not_json", b"not_json", b"schema_item_count", b"schema_string_type",
    ]  # fmt: skip
    metrics = worker.page("/metrics")[1]
    assert worker.page("/readyz") == (200, "ok\n")
    assert worker.end(60) == 0, worker.log
    assert safe.end() == 0
    for text in (metrics, worker.log, *(json.dumps(results) for results in outcomes.results.values())):
        assert CANARY not in text
        assert "Wierzba" not in text
    total = len(events) + len(poison) + len(others)
    for suite in (live.suite.name, "safe_v0"):
        assert sum(await committed(shared_embedded, namespace.group(suite), namespace.topic("generations"))) == total
    assert differences(scored.values(), await asyncio.to_thread(scored_from_file, live.suite, events, tmp_path / "same.jsonl"), TOLERANCE) == []
    check_metrics(metrics, live.suite.name)


def check_metrics(text: str, suite: str) -> None:
    families = {family.name: family for family in text_string_to_metric_families(text)}
    engine = {name: family for name, family in families.items() if name.startswith("touchstone_engine_")}
    assert {family.type for family in engine.values()} == {"counter", "gauge", "histogram"}
    for name, family in engine.items():
        assert re.fullmatch(r"touchstone_[a-z0-9_]+", name)
        assert family.documentation
        assert all(sample.labels["suite"] == suite for sample in family.samples)
    assert sum(sample.value for sample in engine["touchstone_engine_tokens"].samples) > 0


async def test_a_shutdown_amid_work_is_bounded_and_the_next_worker_scores_the_rest(shared_embedded: Broker, namespace: Namespace, live: Live) -> None:
    base = next(event for event in samples() if event["id"] == "summary-clinical-missing")
    count = 12
    events = [base | {"kind": "summary", "id": f"e{number}", "generated": f"{base['generated']} He had been in bed {number}."} for number in range(count)]
    worker = live.start(TOUCHSTONE_WORKER_DRAIN_TIMEOUT_S="0.2", LEXICAL_S="60")
    wait_until(lambda: worker.page("/readyz")[0] == 200, worker)
    await send(shared_embedded, namespace, events)
    # Scoring all of them takes seconds, and the drain is given a fifth of one.
    wait_until(lambda: in_flight(worker) > 0, worker)
    began = time.monotonic()
    assert worker.end(60) == 0, worker.log
    assert time.monotonic() - began < 30
    group, topic = namespace.group(live.suite.name), namespace.topic("generations")
    assert sum(await committed(shared_embedded, group, topic)) < count
    second = live.start()
    async with reading(shared_embedded, namespace) as until:
        outcomes = await until(lambda seen: len(seen.results) == count, PATIENCE_S)
    assert second.end(60) == 0, second.log
    assert sum(await committed(shared_embedded, group, topic)) == count
    for results in outcomes.results.values():
        assert len({result["result_id"] for result in results}) == 1
        assert all(0 < result["values"]["loss"] < 1 for result in results)


def in_flight(worker: Worker) -> float:
    found = re.search(r"^touchstone_events_in_flight\{[^}]*\} (\S+)", worker.page("/metrics")[1], re.MULTILINE)
    return float(found[1]) if found else 0.0


def wait_until(so: Callable[[], bool], worker: Worker) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not so():
        assert time.monotonic() < deadline, worker.log
        assert worker.process.poll() is None, worker.log
        time.sleep(0.05)
