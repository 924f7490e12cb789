import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.brokers import EACH_FETCHER, EACH_ONCE, Broker, Namespace, SecuredBroker
from tests.integration.workers import Start, committed, produce, reading
from tests.streams.fakes import safe_event

CANARY = "CANARY-7f3a-Jane-Doe"
CODECS = ("gzip", "snappy", "lz4", "zstd")
ROOT = Path(__file__).parents[2]


def listens_on(port: int) -> bool:
    table = Path("/proc/net/tcp")
    return table.exists() and any(f":{port:04X} 00000000" in line for line in table.read_text().splitlines())


def root_folder() -> set[str]:
    return {path.name for path in Path("/").iterdir()}


def value(event_id: str, **extra: Any) -> bytes:
    return json.dumps(safe_event(event_id, **extra)).encode()


@EACH_FETCHER
async def test_every_event_ends_in_its_outcome_and_a_drained_worker_leaves_nothing_uncommitted(
    broker: Broker, namespace: Namespace, runner: str, start: Start
) -> None:
    broker.create_topics(namespace.topics())
    records: list[tuple[int, bytes | None, list[tuple[str, bytes]]]] = []
    for number in range(400):
        kinds = {7: b"\xff\xfe", 9: b'{"kind":"summary"}', 11: None}
        records.append((number % 4, kinds.get(number % 100, value(f"e{number}")), [("h", b"1")]))
    await produce(broker, namespace.topic("generations"), records)
    worker = start(runner, namespace.environment(broker), forked=False)  # as a user begins it
    async with reading(broker, namespace) as until:
        outcomes = await until(
            lambda seen: len(seen.results) == 388 and len(seen.dead_positions()) == 8 and seen.told("dead") >= 8 and seen.told("skipped") >= 4
        )
    assert worker.page("/readyz") == (200, "ok\n")
    assert worker.end() == 0, worker.log
    assert all(len(results) == 1 for results in outcomes.results.values())
    assert {dict(record.headers)["__streams.errors.exception"] for record in outcomes.dead} == {b"not_utf8", b"empty"}
    assert {record.value for record in outcomes.dead} == {b"\xff\xfe", None}
    assert await committed(broker, namespace.group("safe_v0"), namespace.topic("generations")) == [100, 100, 100, 100]


async def test_every_compression_codec_is_read(shared_embedded: Broker, namespace: Namespace, runner: str, start: Start) -> None:
    broker = shared_embedded
    broker.create_topics(namespace.topics())
    for codec in CODECS:
        await produce(broker, namespace.topic("generations"), [(n % 4, value(f"{codec}{n}"), []) for n in range(20)], compression_type=codec)
    start(runner, namespace.environment(broker) | {"TOUCHSTONE_WORKER_COMPRESSION": "lz4"})
    async with reading(broker, namespace) as until:
        await until(lambda seen: len(seen.results) == 80)


@EACH_ONCE
async def test_cloudevents_of_both_modes_are_scored(broker: Broker, namespace: Namespace, runner: str, start: Start) -> None:
    broker.create_topics(namespace.topics())
    envelope = {"specversion": "1.0", "id": "structured", "source": "/t", "type": "touchstone.safe", "data": safe_event()}
    binary = [("ce_specversion", b"1.0"), ("ce_id", b"binary"), ("ce_type", b"touchstone.safe"), ("ce_source", b"/t")]
    records = [
        (0, json.dumps(envelope).encode(), [("content-type", b"application/cloudevents+json")]),
        (1, json.dumps(safe_event()).encode(), binary),
    ]
    await produce(broker, namespace.topic("generations"), records)
    start(runner, namespace.environment(broker))
    async with reading(broker, namespace) as until:
        outcomes = await until(lambda seen: len(seen.results) == 2)
    assert set(outcomes.results) == {"structured", "binary"}


@EACH_ONCE
async def test_payload_text_is_found_only_in_the_dead_letters_payload(broker: Broker, namespace: Namespace, runner: str, start: Start) -> None:
    broker.create_topics(namespace.topics())
    expectations = {
        "signal_generation": {"must_find_signals": [CANARY, f"no {CANARY}"]},
        "followup_questions": {"forbidden_terms": [CANARY]},
        "event_summary": {"must_contain_phrases": [f"un{CANARY}"]},
    }
    output = {"signals": [CANARY], "summary": CANARY, "followup_questions": [{"text": CANARY}]}
    good = value("e1", expectations=expectations, output=output, note=CANARY)
    poison = value("e2", correlation={CANARY: []})
    await produce(broker, namespace.topic("generations"), [(0, good, []), (1, poison, []), (2, f'{{"{CANARY}'.encode(), [])])
    worker = start(runner, namespace.environment(broker) | {"TOUCHSTONE_LOG_LEVEL": "debug"})
    async with reading(broker, namespace) as until:
        outcomes = await until(lambda seen: len(seen.results) == 1 and len(seen.dead) == 2 and seen.told("dead") == 2)
    status, metrics = worker.page("/metrics")
    assert worker.end() == 0
    assert status == 200
    assert CANARY not in metrics
    assert CANARY not in worker.log
    for record in outcomes.raw:
        assert CANARY.encode() not in b"".join(content for _, content in record.headers)
        if record.topic == namespace.topic("results"):
            assert CANARY.encode() not in record.value
    assert all(CANARY.encode() in record.value for record in outcomes.dead)


async def test_a_suite_of_a_users_own_package_is_found_by_entry_point(
    shared_embedded: Broker, namespace: Namespace, runner: str, start: Start, tmp_path: Path
) -> None:
    example = re.search(r"```python\n(# toy_suite.py\n.*?)```", (ROOT / "docs" / "suites.md").read_text(), re.DOTALL)
    assert example is not None
    (tmp_path / "toy_suite.py").write_text(example.group(1))
    info = tmp_path / "toy-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[touchstone.suites]\ntoy = toy_suite:SUITE\n")
    broker = shared_embedded
    broker.create_topics(namespace.topics())
    await produce(broker, namespace.topic("generations"), [(0, b'{"kind":"toy","id":"t1","size":3}', []), (0, value("e1"), [])])
    worker = start(runner, namespace.environment(broker) | {"PYTHONPATH": str(tmp_path)}, suite="toy")
    async with reading(broker, namespace) as until:
        outcomes = await until(lambda seen: len(seen.results) == 1 and seen.told("skipped") == 1)
    assert outcomes.results["t1"][0]["values"] == {"size": 3.0}, worker.log


async def test_a_second_worker_starts_beside_the_first_and_faust_serves_nothing(shared_embedded: Broker, namespace: Namespace, start: Start) -> None:
    broker = shared_embedded
    broker.create_topics(namespace.topics())
    for index in range(2):
        worker = start("faust", namespace.environment(broker) | {"TOUCHSTONE_WORKER_GROUP_PREFIX": f"{namespace.prefix}{index}"})
        assert worker.page("/healthz")[0] == 200
        assert not listens_on(6066)


async def test_the_accounting_identity_holds_in_every_scrape_of_a_busy_worker(shared_embedded: Broker, namespace: Namespace, runner: str, start: Start) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    broker = shared_embedded
    broker.create_topics(namespace.topics())
    worker = start(runner, namespace.environment(broker))
    worker.page("/healthz")
    await produce(broker, namespace.topic("generations"), [(n % 4, value(f"e{n}") if n % 10 else b"{", []) for n in range(4000)])
    terms = {"touchstone_events_outcomes_total", "touchstone_events_released_total", "touchstone_events_in_flight"}
    for _ in range(15):
        samples = [s for family in text_string_to_metric_families(worker.page("/metrics")[1]) for s in family.samples]
        total = sum(s.value for s in samples if s.name == "touchstone_events_consumed_total")
        assert total == sum(s.value for s in samples if s.name in terms)
    async with reading(broker, namespace) as until:
        await until(lambda seen: len(seen.results) == 3600 and seen.told("dead") >= 400)


@pytest.mark.parametrize(
    ("protocol", "mechanism"), [("SASL_PLAINTEXT", "PLAIN"), ("SASL_SSL", "SCRAM-SHA-512"), ("SASL_SSL", "SCRAM-SHA-256"), ("SSL", "PLAIN")]
)
@pytest.mark.apache
async def test_security_settings_reach_every_client(
    apache_sasl_tls: SecuredBroker, namespace: Namespace, runner: str, start: Start, protocol: str, mechanism: str
) -> None:
    broker = apache_sasl_tls
    broker.create_topics(namespace.topics())
    await produce(broker, namespace.topic("generations"), [(n % 4, value(f"e{n}") if n else b"{", []) for n in range(8)])
    secured = {f"KAFKA_{name.upper()}": text for name, text in broker.connection(protocol, mechanism).items()}
    worker = start(runner, namespace.environment(broker) | secured)
    async with reading(broker, namespace) as until:
        await until(lambda seen: len(seen.results) == 7 and len(seen.dead) == 1 and seen.told("dead") == 1)
    assert worker.end() == 0, worker.log
    assert broker.password not in worker.log


@pytest.mark.apache
async def test_the_runners_do_not_mix_in_one_group_and_the_second_one_says_so(shared_apache: Broker, namespace: Namespace, runner: str, start: Start) -> None:
    shared_apache.create_topics(namespace.topics())
    first = start(runner, namespace.environment(shared_apache))
    first.until(lambda: first.page("/readyz")[0] == 200)
    other = "faust" if runner == "direct" else "direct"
    second = start(other, namespace.environment(shared_apache))
    assert await asyncio.to_thread(second.process.wait, 60) == 3
    (line,) = [line for line in second.log.splitlines() if line.startswith("touchstone: ")]
    assert namespace.group("safe_v0") in line
    assert f"--runner {runner}" in line
    assert first.page("/readyz") == (200, "ok\n")


async def test_a_flood_of_dead_letters_stops_the_worker_until_it_is_told_to_go_on(
    shared_embedded: Broker, namespace: Namespace, runner: str, start: Start
) -> None:
    broker, limit = shared_embedded, {"TOUCHSTONE_WORKER_DEAD_LIMIT_RECORDS": "50", "TOUCHSTONE_WORKER_SLICE_RECORDS": "10"}
    broker.create_topics(namespace.topics(1))
    await produce(broker, namespace.topic("generations"), [(0, value(f"e{n}") if n < 10 else b"{", []) for n in range(400)])
    worker = start(runner, namespace.environment(broker) | limit)
    worker.until(lambda: "records are dead letters (not_json" in worker.page("/readyz")[1])
    assert 'touchstone_dead_limit_reached{suite="safe_v0"} 1.0' in worker.page("/metrics")[1]
    assert worker.log.count('"event": "dead_limit_reached"') == 1
    assert worker.end() == 0, worker.log
    (position,) = await committed(broker, namespace.group("safe_v0"), namespace.topic("generations"), 1)
    async with reading(broker, namespace, 1) as until:
        outcomes = await until(lambda seen: len(seen.results) == 10)
        assert len(outcomes.dead) < 60
        assert 10 <= position < 70
        start(runner, namespace.environment(broker) | limit, arguments=["--dead-limit", "off"])
        await until(lambda seen: len(seen.dead_positions()) == 390 and seen.told("dead") >= 390)


def fails_with(env: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "-m", "touchstone.ops.cli", "worker", "--suite", "safe_v0", *arguments]
    done = subprocess.run(command, env=os.environ | env, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("touchstone: ")]
    return line


def test_a_broker_that_does_not_come_within_the_bound_is_one_line_and_exit_3(runner: str) -> None:
    line = fails_with({"KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1", "TOUCHSTONE_KAFKA_START_WAIT_S": "1"}, "--runner", runner)
    assert "127.0.0.1:1" in line
    assert "does not answer" in line


def test_a_missing_topic_is_named_with_the_command_that_makes_it(broker: Broker, namespace: Namespace) -> None:
    line = fails_with(namespace.environment(broker))
    assert namespace.topic("generations") in line
    assert "touchstone topics create" in line


@pytest.mark.apache
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_wrong_credentials_are_one_line_without_the_password(apache_sasl_tls: SecuredBroker, namespace: Namespace, protocol: str) -> None:
    secured = {f"KAFKA_{name.upper()}": text for name, text in apache_sasl_tls.connection(protocol).items()}
    line = fails_with(namespace.environment(apache_sasl_tls) | secured | {"KAFKA_SASL_PASSWORD": "wrong-horse"})
    assert "wrong-horse" not in line
    assert "KAFKA" in line or "kafka." in line


def test_an_unknown_setting_is_one_line() -> None:
    assert "TOUCHSTONE_WORKER_SLICE_RECORD" in fails_with({"TOUCHSTONE_WORKER_SLICE_RECORD": "1"})


def test_a_threshold_out_of_order_is_one_line() -> None:
    assert "SAFE_V0" in fails_with({"SAFE_V0_CR_PASS": "0.3", "SAFE_V0_CR_REVIEW": "0.5"})


async def test_faust_leaves_nothing_outside_a_temporary_folder(shared_embedded: Broker, namespace: Namespace, start: Start, tmp_path: Path) -> None:
    shared_embedded.create_topics(namespace.topics())
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    before = root_folder()
    worker = start("faust", namespace.environment(shared_embedded) | {"TMPDIR": str(temporary), "HOME": str(home)}, cwd=home)
    assert worker.page("/healthz")[0] == 200
    async with reading(shared_embedded, namespace) as until:
        await produce(shared_embedded, namespace.topic("generations"), [(0, value("e1"), [])])
        await until(lambda seen: len(seen.results) == 1)
    assert worker.end() == 0, worker.log
    assert root_folder() == before
    assert list(home.iterdir()) == list(temporary.iterdir()) == []


@EACH_ONCE
async def test_a_header_without_a_value_costs_nothing(broker: Broker, namespace: Namespace, runner: str, start: Start) -> None:
    broker.create_topics(namespace.topics())
    nulls: list[tuple[str, Any]] = [("content-type", None), ("ce_specversion", b"1.0"), ("ce_id", None)]
    await produce(broker, namespace.topic("generations"), [(0, value("e1"), nulls), (0, b"{", nulls), (0, value("e2"), [])])
    start(runner, namespace.environment(broker))
    async with reading(broker, namespace) as until:
        outcomes = await until(lambda seen: len(seen.results) == 2 and len(seen.dead) == 1)
    assert [header for header in outcomes.dead[0].headers if header[0] in {"content-type", "ce_id"}] == [("content-type", None), ("ce_id", None)]
