import asyncio
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete

from tests.integration.brokers import EACH_FETCHER, EACH_ONCE, Broker, Namespace
from tests.integration.raw_batches import changed, renamed
from tests.integration.workers import Start, committed, produce, reading
from tests.streams.fakes import safe_event
from touchstone.streams.wire.record_batches import read_leniently

read_leniently()  # what is read here must be read whole
CANARY = "CANARY-41bc-John-Roe"


def value(event_id: str, **extra: Any) -> bytes:
    return json.dumps(safe_event(event_id, **extra)).encode()


def codes(dead: list[Any]) -> list[str]:
    return sorted(dict(record.headers)["__streams.errors.exception"].decode() for record in dead)


async def test_a_header_name_that_is_not_utf8_costs_its_own_record_only(broker: Broker, namespace: Namespace, runner: str, start: Start) -> None:
    broker.create_topics(namespace.topics())
    topic = namespace.topic("generations")
    await produce(broker, topic, [(0, value("before"), []), (1, value("beside"), [])])
    with changed(renamed(b"bad_name", b"\xff\xfed_name")):
        headers = [("fine", b"1"), ("bad_name", b"\x00\xff"), ("fine", b"2"), ("touchstone.unreadable.61", b"3")]
        # One batch: its first and its last record are as good as any.
        await produce(broker, topic, [(0, value("in1"), []), (0, value("bad"), headers), (0, value("in2"), [("fine", b"")])], linger_ms=200)
    await produce(broker, topic, [(0, value("after"), [])])
    worker = start(runner, namespace.environment(broker))
    async with reading(broker, namespace) as until:
        outcomes = await until(lambda seen: len(seen.results) == 5 and len(seen.dead) == 1 and seen.told("dead") == 1)
    assert worker.end() == 0, worker.log
    assert set(outcomes.results) == {"before", "beside", "in1", "in2", "after"}
    (letter,) = outcomes.dead
    assert (letter.key, letter.value) == (b"k", value("bad"))
    own = [("fine", b"1"), ("touchstone.unreadable.fffe645f6e616d65", b"\x00\xff"), ("fine", b"2"), ("touchstone.original.touchstone.unreadable.61", b"3")]
    assert list(letter.headers[:4]) == own
    said = dict(letter.headers)
    assert said["__streams.errors.exception"] == b"header_name_not_utf8"
    assert said["__streams.errors.message"] == b"header_name_not_utf8 at header 1"
    assert outcomes.dead_positions() == {(0, 2)}
    assert await committed(broker, namespace.group("safe_v0"), topic) == [5, 1, 0, 0]


async def test_a_batch_that_cannot_be_decompressed_is_dead_offset_by_offset(shared_embedded: Broker, namespace: Namespace, runner: str, start: Start) -> None:
    # Apache Kafka decompresses what it is given and refuses this batch; others do not look.
    broker = shared_embedded
    broker.create_topics(namespace.topics())
    topic = namespace.topic("generations")
    sent: list[bytes] = []

    def broken(raw: bytes) -> bytes:
        sent.append(raw[:61] + b"\xaa" * (len(raw) - 61))
        return sent[-1]

    await produce(broker, topic, [(0, value("before"), []), (1, value("beside"), [])])
    with changed(broken):
        await produce(broker, topic, [(0, value(f"lost{n}"), []) for n in range(3)], compression_type="zstd", linger_ms=200)
    await produce(broker, topic, [(0, value("after"), [])])
    worker = start(runner, namespace.environment(broker))
    async with reading(broker, namespace) as until:
        outcomes = await until(lambda seen: len(seen.results) == 3 and len(seen.dead) == 3 and seen.told("dead") == 3)
    assert worker.end() == 0, worker.log
    assert codes(outcomes.dead) == ["record_damaged"] * 3
    assert outcomes.dead_positions() == {(0, 1), (0, 2), (0, 3)}
    # The first letter carries the batch; the checksum is over what the producer sent, and the broker writes only before it.
    assert [None if letter.value is None else letter.value[61:] for letter in outcomes.dead] == [sent[0][61:], None, None]
    assert await committed(broker, namespace.group("safe_v0"), topic) == [5, 1, 0, 0]


@EACH_ONCE
async def test_a_batch_that_unpacks_to_too_much_is_one_dead_letter_for_all_its_offsets(
    broker: Broker, namespace: Namespace, runner: str, start: Start, tmp_path: Path
) -> None:
    """And its readers pass over it too: the account closes, and the letter cannot be sent back."""
    broker.create_topics(namespace.topics())
    topic = namespace.topic("generations")
    env = namespace.environment(broker) | {"TOUCHSTONE_STORE_URL": f"sqlite:///{tmp_path / 'store.db'}", "TOUCHSTONE_KAFKA_BATCH_BYTES_MAX": "2000000"}
    sent: list[bytes] = []
    await produce(broker, topic, [(0, value("before"), []), (1, value("beside"), [])])
    with changed(lambda raw: sent.append(raw) or raw):
        blanks = [(0, b" " * 100_000, [])] * 80
        await produce(broker, topic, blanks, compression_type="zstd", linger_ms=500, max_batch_size=2**26)
    await produce(broker, topic, [(0, value(f"after{number}"), []) for number in range(3)], compression_type="zstd", linger_ms=200)
    worker = start(runner, env)
    projector = start("", env, command=[sys.executable, "-m", "touchstone.ops.cli", "projector"])
    async with reading(broker, namespace) as until:
        outcomes = await until(lambda seen: len(seen.results) == 5 and len(seen.dead) == len(sent) and seen.told("dead") == 80)
    judged = await asyncio.to_thread(touchstone, env, "reconcile", "--suite", "safe_v0", "--drained", "--wait", "30")
    (listed, *_) = await asyncio.to_thread(touchstone, env, "dlq", "list")
    refused = await asyncio.to_thread(touchstone, env, "dlq", "redrive", listed["id"], code=3)
    seen = await asyncio.to_thread(touchstone, env, "tail", "generations", "--no-follow", lines=True)
    counted = worker.page("/metrics")[1]
    assert projector.end() == 0, projector.log
    assert worker.end() == 0, worker.log
    assert codes(outcomes.dead) == ["batch_too_large"] * len(sent)
    assert [letter.value[61:] for letter in outcomes.dead] == [raw[61:] for raw in sent]  # the broker writes only before the checksum
    assert dict(outcomes.dead[-1].headers)["touchstone.batch_offsets"].endswith(b"-80")
    (row,) = [row for row in judged["partitions"] if row["partition"] == 0]
    assert (row["consumed"], row["scored"], row["dead"], row["in_flight"]) == (84, 4, {"batch_too_large": 80}, 0)
    assert re.search(r'touchstone_events_outcomes_total\{[^}]*reason="batch_too_large"[^}]*\} 80', counted)
    assert sum(one.get("code") == "batch_too_large" for one in seen) == 80
    assert "whole record batch" in json.dumps(refused)
    assert await committed(broker, namespace.group("safe_v0"), topic) == [84, 1, 0, 0]


async def test_a_batch_with_a_wrong_checksum_is_told_loudly_and_passed_by_nobody(
    shared_embedded: Broker, namespace: Namespace, runner: str, start: Start
) -> None:
    broker = shared_embedded
    broker.create_topics(namespace.topics())
    topic = namespace.topic("generations")
    await produce(broker, topic, [(2, value("before"), [])])
    with changed(renamed(b"Stable.", b"Unable."), sealed=False):
        await produce(broker, topic, [(2, value("changed"), [])])
    await produce(broker, topic, [(2, value("after"), [])])
    worker = start(runner, namespace.environment(broker))
    assert worker.process.wait(300) == 70, worker.log
    assert "Traceback" not in worker.log
    (line,) = [json.loads(line) for line in worker.log.splitlines() if "record_unreadable" in line]
    assert (line["level"], line["code"], line["topic"], line["partition"]) == ("error", "CorruptRecordException", topic, 2)
    assert (await committed(broker, namespace.group("safe_v0"), topic))[2] <= 1


@EACH_ONCE
async def test_records_of_nothing_and_of_much_end_in_their_outcome(broker: Broker, namespace: Namespace, runner: str, start: Start) -> None:
    broker.create_topics(namespace.topics())
    topic = namespace.topic("generations")
    many = [(f"h{n % 7}", b"%d" % n) for n in range(5_000)]
    large = [("large", b"x" * 3_000_000)]
    records = [(0, None, []), (0, b"", []), (0, value("many"), many), (0, value("large"), large), (0, b"{", large), (0, b"{", many), (0, value("last"), [])]
    await produce(broker, topic, records)
    worker = start(runner, namespace.environment(broker))
    async with reading(broker, namespace) as until:
        outcomes = await until(lambda seen: len(seen.results) == 3 and len(seen.dead) == 4 and seen.told("dead") == 4)
    assert worker.end() == 0, worker.log
    assert codes(outcomes.dead) == ["empty", "empty", "not_json", "not_json"]
    by_offset = {dict(letter.headers)["__streams.errors.offset"]: letter for letter in outcomes.dead}
    assert [by_offset[offset].value for offset in (b"0", b"1", b"4", b"5")] == [None, b"", b"{", b"{"]
    assert list(by_offset[b"5"].headers[:5_000]) == many
    assert by_offset[b"4"].headers[0] == large[0]
    assert await committed(broker, namespace.group("safe_v0"), topic) == [7, 0, 0, 0]


@EACH_ONCE
async def test_a_timestamp_says_nothing_about_whether_an_event_is_read(broker: Broker, namespace: Namespace, runner: str, start: Start) -> None:
    broker.create_topics(namespace.topics())
    topic = namespace.topic("generations")
    await produce(broker, topic, [(0, value("now"), [])])
    # Apache Kafka refuses what is dated more than an hour ahead, and takes what has no timestamp.
    dated = [-1, 0, 2**53 if broker.kind == "embedded" else int(time.time() * 1000) + 3_000_000]
    for number, stamp in enumerate(dated):
        # The first timestamp of a batch is all that a batch of one record has.
        with changed(lambda raw, stamp=stamp: raw[:27] + stamp.to_bytes(8, "big", signed=True) * 2 + raw[43:]):
            await produce(broker, topic, [(0, value(f"e{number}"), []), (1, b"{", [])])
    worker = start(runner, namespace.environment(broker) | {"TOUCHSTONE_WORKER_EVENT_AGE_MAX_S": "86400"})
    async with reading(broker, namespace) as until:
        outcomes = await until(lambda seen: len(seen.results) == 3 and len(seen.dead) == 3 and seen.told("shed") == 1)
    assert set(outcomes.results) == {"now", "e0", "e2"}
    stamps = sorted(int(dict(letter.headers)["touchstone.source_timestamp_ms"]) for letter in outcomes.dead)
    assert stamps == dated
    (sum_s,) = [float(line.split()[1]) for line in worker.page("/metrics")[1].splitlines() if line.startswith("touchstone_event_latency_seconds_sum")]
    assert 0 <= sum_s < 600
    assert worker.end() == 0, worker.log


async def commit(broker: Broker, group: str, part: TopicPartition, offset: int) -> None:
    async with AIOKafkaConsumer(bootstrap_servers=broker.bootstrap_servers, group_id=group, enable_auto_commit=False) as consumer:
        consumer.assign([part])
        await consumer.commit({part: offset})


@EACH_FETCHER
async def test_offsets_without_a_record_hold_nothing_up(shared_apache: Broker, namespace: Namespace, runner: str, start: Start) -> None:
    """Transactions leave markers, and retention moves the beginning past what a group has committed. Aborted events are events here."""
    broker = shared_apache
    broker.create_topics(namespace.topics(partitions=1))
    topic, group = namespace.topic("generations"), namespace.group("safe_v0")
    await produce(broker, topic, [(0, value(f"old{number}"), []) for number in range(9)])
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, transactional_id=namespace.prefix) as producer:
        for name, ends_well in (("kept", True), ("aborted", False), *((f"k{number}", True) for number in range(20))):
            await producer.begin_transaction()
            await producer.send_and_wait(topic, value(name))
            await (producer.commit_transaction() if ends_well else producer.abort_transaction())
    await produce(broker, topic, [(0, value("last"), [])])
    await commit(broker, group, TopicPartition(topic, 0), 1)
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    await admin.start()
    await admin.delete_records({TopicPartition(topic, 0): RecordsToDelete(before_offset=8)})
    await admin.close()
    worker = start(runner, namespace.environment(broker))
    async with reading(broker, namespace, partitions=1) as until:
        outcomes = await until(lambda seen: "last" in seen.results)
    assert worker.end() == 0, worker.log
    assert set(outcomes.results) == {"old8", "kept", "aborted", "last", *(f"k{number}" for number in range(20))}
    assert await committed(broker, group, topic, 1) == [54]


def touchstone(env: dict[str, str], *arguments: str, lines: bool = False, code: int = 0) -> Any:
    """What a command says in JSON; it must end with the exit code."""
    ran = subprocess.run(
        [sys.executable, "-m", "touchstone.ops.cli", *arguments, "--json"], env=os.environ | env, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == code, ran.stdout + ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()] if lines else json.loads(ran.stdout)


async def test_whoever_reads_a_topic_reads_past_a_bad_header_name(shared_embedded: Broker, namespace: Namespace, start: Start, tmp_path: Path) -> None:
    broker = shared_embedded
    broker.create_topics(namespace.topics())
    env = namespace.environment(broker) | {"TOUCHSTONE_STORE_URL": f"sqlite:///{tmp_path / 'store.db'}", "TOUCHSTONE_LOG_FORMAT": "json"}
    bad = [("bad_name", CANARY.encode())]
    with changed(renamed(b"bad_name", b"\xff\xfed_name")):
        await produce(broker, namespace.topic("generations"), [(0, value("bad"), bad), (0, value("good"), [])], linger_ms=100)
        for role in ("results", "dead", "reports"):
            await produce(broker, namespace.topic(role), [(0, CANARY.encode(), bad)])
    command = [sys.executable, "-m", "touchstone.ops.cli", "projector"]
    projector = await asyncio.create_subprocess_exec(*command, env=os.environ | env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        worker = start("direct", env)
        async with reading(broker, namespace) as until:
            await until(lambda seen: len(seen.results) == 1 and seen.told("dead") == 1, foreign=True)
        assert worker.end() == 0, worker.log
        judged = await asyncio.to_thread(touchstone, env, "reconcile", "--suite", "safe_v0", "--drained", "--wait", "20")
        seen = await asyncio.to_thread(touchstone, env, "tail", "generations", "results", "dead", "reports", "--no-follow", lines=True)
        (listed,) = await asyncio.to_thread(touchstone, env, "dlq", "list")
        shown = await asyncio.to_thread(touchstone, env, "dlq", "show", listed["id"])
        await asyncio.to_thread(touchstone, env, "dlq", "redrive", listed["id"])
        start("direct", env)
        async with reading(broker, namespace) as until:
            outcomes = await until(lambda seen: len(seen.results) == 2, foreign=True)
    finally:
        projector.terminate()
        said = await projector.communicate()
    assert projector.returncode == 0, said
    assert CANARY.encode() not in said[0]
    assert CANARY not in worker.log + json.dumps([judged, seen, listed])
    (row,) = [row for row in judged["partitions"] if row["partition"] == 0]
    assert (row["consumed"], row["scored"], row["dead"], row["in_flight"]) == (2, 1, {"header_name_not_utf8": 1}, 0)
    assert [(one["topic"], one.get("code")) for one in seen if one["what"] == "event"] == [
        (namespace.topic("generations"), "header_name_not_utf8"),
        (namespace.topic("generations"), None),
    ]
    assert listed["code"] == "header_name_not_utf8"
    assert "touchstone.unreadable.fffe645f6e616d65" in json.dumps(shown)
    assert set(outcomes.results) == {"good", "bad"}
