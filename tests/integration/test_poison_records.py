"""Poison of the Kafka layer: what lies on a topic though no client library would write it. It hurts only itself."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.integration.brokers import Broker, Namespace
from tests.integration.raw_batches import changed, renamed
from tests.integration.workers import Worker, committed, produce, reading
from tests.streams.fakes import safe_event

Start = Callable[..., Worker]
CODECS = ["gzip", "snappy", "lz4", "zstd"]


@pytest.fixture(params=["direct", "faust"])
def runner(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def start() -> Iterator[Start]:
    workers: list[Worker] = []

    def begin(runner: str, env: dict[str, str], **options: Any) -> Worker:
        workers.append(Worker(runner, env, **options))
        return workers[-1]

    yield begin
    for worker in workers:
        worker.close()


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


@pytest.mark.parametrize("codec", CODECS)
async def test_a_batch_that_cannot_be_decompressed_is_dead_offset_by_offset(
    shared_embedded: Broker, namespace: Namespace, runner: str, start: Start, codec: str
) -> None:
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
        await produce(broker, topic, [(0, value(f"lost{n}"), []) for n in range(3)], compression_type=codec, linger_ms=200)
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
    assert worker.process.wait(60) == 70, worker.log
    assert "Traceback" not in worker.log
    (line,) = [json.loads(line) for line in worker.log.splitlines() if "record_unreadable" in line]
    assert (line["level"], line["code"], line["topic"], line["partition"]) == ("error", "CorruptRecordException", topic, 2)
    assert (await committed(broker, namespace.group("safe_v0"), topic))[2] <= 1


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
