import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from structlog.testing import capture_logs

from tests.integration.brokers import Broker, Namespace
from tests.streams.results_topic import SOURCE, headers_of, ledger, result
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.ledger import LedgerRecord
from touchstone.schemas.result import ScoreResult
from touchstone.schemas.settings.house import KafkaSettings, ProjectorSettings, Settings, WorkerSettings
from touchstone.scorers.registry import usable_suites
from touchstone.streams.account.intervals import Interval
from touchstone.streams.account.projection import AccountKey
from touchstone.streams.account.projector import Projector
from touchstone.streams.account.store_port import StoreRefused, StoreUnavailable
from touchstone.streams.wire import closing

ACCOUNT = AccountKey("safe_v0", "0.1", SOURCE, "", 0)
Event = ScoreResult | LedgerRecord


@pytest.fixture
def settings(broker: Broker, namespace: Namespace, tmp_path: Path) -> Settings:
    return settings_on(broker, namespace, tmp_path)


def settings_on(broker: Broker, namespace: Namespace, tmp_path: Path, **projector: Any) -> Settings:
    broker.create_topics(namespace.topics(partitions=2))
    return Settings.model_validate(
        {
            "kafka": KafkaSettings(bootstrap_servers=broker.bootstrap_servers, request_timeout_s=5, probe_interval_s=0.2),
            "topics": namespace.topic_settings(),
            "projector": ProjectorSettings(**({"report_interval_s": 0.1, "quiet_s": 3600} | projector)),
            "worker": WorkerSettings(group_prefix=namespace.prefix, retry_backoff_max_s=0.3),
            "store": {"url": f"sqlite:///{tmp_path / 'store.db'}"},
        }
    )


@pytest.fixture
def store(tmp_path: Path) -> Any:
    opened = ResultStore.open(f"sqlite:///{tmp_path / 'store.db'}", create=True)
    yield opened
    opened.close()


@contextlib.asynccontextmanager
async def projecting(settings: Settings, store: ResultStore, **further: Any) -> AsyncIterator[Projector]:
    running = Projector(settings, store, suites=usable_suites(), **further)
    stop = asyncio.Event()
    task = asyncio.create_task(running.run(stop))
    try:
        yield running
    finally:
        stop.set()
        await task


async def produce(settings: Settings, events: Sequence[Event], partition: int = 0) -> None:
    await produce_raw(settings, [(event.model_dump_json().encode(), headers_of(event)) for event in events], partition)


async def produce_raw(settings: Settings, records: Iterable[tuple[bytes, list[tuple[str, bytes]]]], partition: int = 0) -> None:
    async with AIOKafkaProducer(bootstrap_servers=settings.kafka.bootstrap_servers) as producer:
        sent = [await producer.send(settings.topics.results, value, headers=headers, partition=partition) for value, headers in records]
        await asyncio.gather(*sent)


@contextlib.asynccontextmanager
async def reports_of(settings: Settings) -> AsyncIterator[Callable[[], Any]]:
    """A call that gives the reports sent since the last one, as (document, headers)."""
    async with AIOKafkaConsumer(settings.topics.reports, bootstrap_servers=settings.kafka.bootstrap_servers, auto_offset_reset="earliest") as consumer:

        async def more() -> list[tuple[dict[str, Any], dict[str, bytes]]]:
            ends = await consumer.end_offsets(list(consumer.assignment()))
            got = []
            while any([await consumer.position(part) < end for part, end in ends.items()]):
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    got += [(json.loads(record.value), dict(record.headers)) for record in records]
            return got

        yield more


async def until(condition: Callable[[], Any], seconds: float = 240.0) -> None:
    """Wait for a condition; asynchronous ones are awaited."""
    async with asyncio.timeout(seconds):
        while True:
            outcome = condition()
            if await outcome if asyncio.iscoroutine(outcome) else outcome:
                return
            await asyncio.sleep(0.05)


async def reports_until_final(more: Callable[[], Any]) -> list[tuple[dict[str, Any], dict[str, bytes]]]:
    got: list[tuple[dict[str, Any], dict[str, bytes]]] = []

    async def final() -> bool:
        got.extend(await more())
        return bool(got) and got[-1][0]["final"] is True

    await until(final)
    return got


async def test_results_become_rows_outcomes_and_a_final_report(settings: Settings, store: ResultStore) -> None:
    events: list[Event] = [result(event=f"e{number}", offset=number, size=4, label="Pass" if number else "Fail", seconds=number) for number in range(4)]
    await produce(settings, [*events, ledger(("dead", "not_json", ((4, 5),)))])
    async with reports_of(settings) as more, projecting(settings, store):
        document, headers = (await reports_until_final(more))[-1]
    assert document["summary"] == {"total_cases": 4, "pass": 3, "review": 0, "fail": 1, "overall_pass_rate": 0.75}
    assert document["timestamp"] == "2026-01-02T03:04:08Z"
    assert headers["ce_type"] == b"safe:v0:result"
    assert store.account(ACCOUNT).intervals == (Interval(0, 3, "scored"), Interval(4, 5, "dead", "not_json"))


async def test_batches_of_every_suite_are_reported_under_its_own_type(settings: Settings, store: ResultStore) -> None:
    size = {"batch_id": "b1", "concern_id": "C", "batch_size": "1"}
    versions = {"safe_v0": "0.1", "summary_loss": "3.0", "clinical": "1.0", "theirs": "2.1"}
    plain = [result(event=name, offset=number, suite=name, version=version, size=1) for number, (name, version) in enumerate(versions.items())]
    await produce(settings, [each.model_copy(update={"correlation": size}) for each in plain])
    sent: list[tuple[dict[str, Any], dict[str, bytes]]] = []
    async with reports_of(settings) as more, projecting(settings, store):

        async def all_are_there() -> bool:
            sent.extend(await more())
            return len(sent) >= len(versions)

        await until(all_are_there)
    assert {headers["ce_type"] for _, headers in sent} == {b"safe:v0:result", b"summary_loss:v3:result", b"clinical:v1:result", b"theirs:v2:result"}
    assert all(document["final"] and document["summary"]["total_cases"] == 1 for document, _ in sent)


async def test_restarts_replays_and_repeats_send_no_further_report(settings: Settings, store: ResultStore) -> None:
    events = [result(event=f"e{number}", offset=number, size=3) for number in range(3)]
    await produce(settings, events)
    async with reports_of(settings) as more:
        async with projecting(settings, store):
            await reports_until_final(more)
        await produce(settings, [result(event="e1", offset=1, size=3, seconds=99), result(event="e2", offset=7, size=3, seconds=99)])
        async with projecting(settings, store):
            await until(lambda: store.positions(settings.topics.results) == {0: 5})
            await produce(settings, [result(event="f", offset=8, batch="other", size=1)], partition=1)
            sent = await reports_until_final(more)
    # A report of the first batch would have come before that of the second.
    assert [document["batch_id"] for document, _ in sent] == ["other"]


async def test_reading_from_the_start_again_changes_nothing(settings: Settings, store: ResultStore) -> None:
    await produce(settings, [result(event=f"e{number}", offset=number, size=3) for number in range(3)])
    async with reports_of(settings) as more:
        async with projecting(settings, store):
            await reports_until_final(more)
        before = store.account(ACCOUNT)
        store.forget_positions(settings.topics.results)
        async with projecting(settings, store):
            await until(lambda: store.positions(settings.topics.results) == {0: 3})
        assert await more() == []
    assert store.account(ACCOUNT) == before


async def test_records_that_nobody_can_read_do_not_stop_it(settings: Settings, store: ResultStore) -> None:
    canary = b"\xff canary patient"
    await produce_raw(settings, [(canary, headers_of(result())), (b"{}", []), (canary, [("ce_type", b"else")])])
    await produce(settings, [result(offset=3)])
    with capture_logs() as lines:
        async with projecting(settings, store):
            await until(lambda: store.positions(settings.topics.results) == {0: 4})
    assert {line["code"] for line in lines if line["event"] == "results_record_unreadable"} == {"invalid_result", "no_type", "unknown_type"}
    assert "canary" not in str(lines)
    assert store.account(ACCOUNT).rows == ((3, 3),)


async def test_a_batch_is_final_when_it_has_been_quiet_and_open_again_with_a_late_case(
    broker: Broker, namespace: Namespace, tmp_path: Path, store: ResultStore
) -> None:
    settings = settings_on(broker, namespace, tmp_path, quiet_s=1.0)
    await produce(settings, [result(event="a")])
    async with reports_of(settings) as more, projecting(settings, store):
        first = [document for document, _ in await reports_until_final(more)]
        await produce(settings, [result(event="late", offset=1)])
        second = [document for document, _ in await reports_until_final(more)]
    assert [(one["final"], one["summary"]["total_cases"]) for one in first + second] == [(False, 1), (True, 1), (False, 2), (True, 2)]


async def test_a_second_projector_on_the_same_store_is_turned_away(settings: Settings, store: ResultStore) -> None:
    first, second = (asyncio.create_task(Projector(settings, store).run(asyncio.Event())) for _ in range(2))
    tries = 0
    async with asyncio.timeout(30):
        while not (first.done() or second.done()):
            await produce(settings, [result(event=f"e{tries}", offset=tries)])
            tries += 1
    with pytest.raises(StoreRefused, match="another projector"):
        (first if first.done() else second).result()
    for task in (first, second):
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, StoreRefused):
            await task
    assert store.account(ACCOUNT).rows[0][0] == 0


@pytest.mark.parametrize(("values", "why"), [({}, "another topic"), ({"topic_id": ""}, "ends at 0")], ids=["by its id", "without ids"])
async def test_a_topic_made_anew_is_refused_with_the_way_to_fix_it(
    settings: Settings, store: ResultStore, broker: Broker, namespace: Namespace, values: dict[str, str], why: str
) -> None:
    await produce(settings, [result(event=f"e{number}", offset=number) for number in range(3)])
    async with projecting(settings, store):
        await until(lambda: store.positions(settings.topics.results) == {0: 3})
    # Another topic that is shorter stands for the one made anew.
    broker.create_topics({namespace.topic("anew"): 2})
    remade = settings.model_copy(update={"topics": namespace.topic_settings(results=namespace.topic("anew"))})
    from touchstone.ops.store.engine import writing
    from touchstone.ops.store.schema import positions

    with writing(store.engine) as connection:
        connection.execute(positions.update().values(topic=namespace.topic("anew"), **values))
    with pytest.raises(StoreRefused, match=rf"{why}.*--from-start"):
        await Projector(remade, store).run(asyncio.Event())


async def test_new_partitions_are_read_too(one_node: Broker, namespace: Namespace, tmp_path: Path, store: ResultStore) -> None:
    from confluent_kafka.admin import AdminClient, NewPartitions

    settings = settings_on(one_node, namespace, tmp_path)
    async with projecting(settings, store):
        await produce(settings, [result(event="a")])
        await until(lambda: store.positions(settings.topics.results) == {0: 1})
        admin = AdminClient({"bootstrap.servers": one_node.bootstrap_servers})
        for created in admin.create_partitions([NewPartitions(settings.topics.results, 3)]).values():
            await asyncio.to_thread(created.result, 30)
        await produce(settings, [result(event="b", offset=1)], partition=2)
        await until(lambda: store.positions(settings.topics.results) == {0: 1, 2: 1})


async def test_an_outage_is_told_once_and_loses_nothing(
    embedded: Broker, namespace: Namespace, tmp_path: Path, store: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert embedded.embedded is not None
    monkeypatch.setattr(closing, "CLOSE_TIMEOUT_S", 0.5)
    settings = settings_on(embedded, namespace, tmp_path)
    settings = settings.model_copy(update={"kafka": settings.kafka.model_copy(update={"request_timeout_s": 1})})
    attempts: list[str] = []
    seen = Projector._gone
    monkeypatch.setattr(Projector, "_gone", lambda self, name, code: (attempts.append(code), seen(self, name, code)))
    with capture_logs() as lines:
        async with reports_of(settings) as more, projecting(settings, store):
            await produce(settings, [result(event="a", size=2)])
            await until(lambda: store.positions(settings.topics.results) == {0: 1})
            embedded.embedded.set_down()
            await until(lambda: any(line["event"] == "dependency_down" for line in lines))
            await until(lambda: len(attempts) >= 3)
            embedded.embedded.set_up()
            await produce(settings, [result(event="b", offset=1, size=2)])
            final = (await reports_until_final(more))[-1][0]
    assert final["summary"]["total_cases"] == 2
    told = [line["event"] for line in lines if line["event"].startswith("dependency_")]
    assert told == ["dependency_down", "dependency_up"]


async def test_a_store_that_goes_away_is_waited_for_and_loses_nothing(settings: Settings, store: ResultStore, monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = iter(["apply", "apply", "positions", "summary", "mark_emitted"])
    pending: list[str] = [next(refusals)]

    def flaky(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def refuse_or_call(*arguments: Any) -> Any:
            if pending == [name]:
                pending[:] = [next(refusals, "")]
                raise StoreUnavailable("SQLITE_FULL")
            return call(*arguments)

        return refuse_or_call

    for name in ("apply", "positions", "summary", "mark_emitted"):
        monkeypatch.setattr(store, name, flaky(name, getattr(store, name)))
    await produce(settings, [result(event="a", size=2), result(event="b", offset=1, size=2)])
    with capture_logs() as lines:
        async with reports_of(settings) as more, projecting(settings, store):
            sent = await reports_until_final(more)
            await until(lambda: pending == [""])
            await until(lambda: store.due(1e12, 10) == [])
            sent += await more()
    assert store.account(ACCOUNT).rows == ((0, 1),)
    # Sent, but not marked as sent: the repetition bears the same id.
    assert len({headers["ce_id"] for _, headers in sent}) == 1
    assert {line["code"] for line in lines if line["event"] == "dependency_down"} == {"SQLITE_FULL"}


async def test_a_report_that_the_broker_refuses_is_sent_again(embedded: Broker, namespace: Namespace, tmp_path: Path, store: ResultStore) -> None:
    assert embedded.embedded is not None
    settings = settings_on(embedded, namespace, tmp_path)
    await produce(settings, [result(size=1)])
    embedded.embedded.inject_errors("Produce", [29, 29])  # TOPIC_AUTHORIZATION_FAILED: the client does not retry it
    async with reports_of(settings) as more, projecting(settings, store):
        assert (await reports_until_final(more))[-1][0]["final"] is True
    assert store.due(1e12, 10) == []


def start(settings: Settings, namespace: Namespace, broker: Broker) -> subprocess.Popen[bytes]:
    environment = {**os.environ, **namespace.environment(broker), "TOUCHSTONE_PROJECTOR_BATCH_RECORDS_MAX": "10", "TOUCHSTONE_PROJECTOR_QUIET_S": "3600"}
    return subprocess.Popen([sys.executable, "-m", "touchstone.ops.cli", "projector", "--store", settings.store.url.get_secret_value()], env=environment)


# One kind of broker: what a kill may break is the store's transaction. The chaos runs kill projectors on Apache Kafka.
@pytest.mark.chaos
@pytest.mark.parametrize("broker", ["embedded"], indirect=True)
async def test_killed_again_and_again_it_ends_with_the_same_store(settings: Settings, store: ResultStore, namespace: Namespace, broker: Broker) -> None:
    count = 3_000
    topic = settings.topics.results
    await produce(settings, [result(event=f"e{number}", offset=number, batch=f"b{number % 3}", size=count // 3) for number in range(count)])
    for pause in (0.0, 0.03, 0.1):
        process = await asyncio.to_thread(start, settings, namespace, broker)
        position = store.positions(topic).get(0, 0)
        await until(lambda before=position: store.positions(topic).get(0, 0) > before)  # type: ignore[misc]
        await asyncio.sleep(pause)
        process.send_signal(signal.SIGKILL)
        await asyncio.to_thread(process.wait)
        read = store.positions(topic)[0]
        assert read < count, "killed too late to show anything"
        assert store.account(ACCOUNT).rows == ((0, read - 1),)
        assert store.account(ACCOUNT).intervals == (Interval(0, read - 1, "scored"),)
    process = await asyncio.to_thread(start, settings, namespace, broker)
    await until(lambda: store.positions(topic) == {0: count}, 60)
    finals: dict[str, Any] = {}
    async with reports_of(settings) as more:

        async def all_final() -> bool:
            finals.update({document["batch_id"]: document for document, _ in await more() if document["final"]})
            return len(finals) == 3

        await until(all_final)
    process.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(process.wait, 20) == 0
    assert all(document["summary"]["total_cases"] == count // 3 for document in finals.values())
    assert store.account(ACCOUNT).rows == ((0, count - 1),)
