"""`touchstone score SUITE --from-topic TOPIC[P]@OFFSET` scores the event of a result again: with the worker's id, and as files are scored."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete

from tests.integration.brokers import Broker, Namespace
from tests.integration.workers import Worker
from tests.ops.commands import Commands, Ran
from tests.streams.fakes import safe_event
from touchstone.ops.cli.common.from_topic import case_at
from touchstone.ops.web.results import replay
from touchstone.schemas.result import Problem
from touchstone.schemas.settings.house import KafkaSettings
from touchstone.scorers.safe import SUITE
from touchstone.streams.topics.identity import ids_of

CANARY = "zanzibar-canary"


class Scene:
    def __init__(self, broker: Broker, namespace: Namespace, commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
        self.broker, self._commands, self.env = broker, commands, namespace.environment(broker)
        self.topic = namespace.topic_settings().generations
        for name, value in self.env.items():
            monkeypatch.setenv(name, value)
        assert self("topics", "create").code == 0

    def __call__(self, *arguments: object) -> Ran:
        return self._commands(*arguments)

    def send(self, *values: bytes, headers: tuple[tuple[str, bytes], ...] = ()) -> None:
        async def work() -> None:
            async with AIOKafkaProducer(bootstrap_servers=self.broker.bootstrap_servers) as producer:
                for value in values:
                    await producer.send_and_wait(self.topic, value, partition=1, headers=list(headers))

        asyncio.run(work())

    def score(self, offset: int | str, *more: str, suite: str = "safe_v0") -> Ran:
        return self("score", suite, "--from-topic", f"{self.topic}[1]@{offset}", *more)


@pytest.fixture
def commands(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Commands:
    monkeypatch.chdir(tmp_path)
    return Commands(capfdbinary, monkeypatch)


@pytest.fixture
def one(broker: Broker, namespace: Namespace, commands: Commands, monkeypatch: pytest.MonkeyPatch) -> Scene:
    return Scene(broker, namespace, commands, monkeypatch)


def event(number: int, **more: Any) -> bytes:
    return json.dumps(safe_event(test_id=f"T-{number}", **more)).encode()


def test_the_command_of_a_result_scores_its_event_with_the_same_id(one: Scene) -> None:
    one.send(event(0, id="own-id"), event(1), event(2))
    worker = Worker("direct", one.env)
    try:
        worker.until(lambda: one("tail", "results", "--json", "--no-follow", "--from", "beginning").out.count('"what": "result"') == 3)
    finally:
        worker.close()
    lines = [json.loads(line) for line in one("tail", "results", "--json", "--no-follow", "--from", "beginning").out.splitlines()]
    for result in (line for line in lines if line["what"] == "result"):
        place = f"{one.topic}[1]@{result['source']['offset']}"
        of = result["source"].get("topic_id", "")
        assert replay(result) == f"touchstone score safe_v0 --from-topic '{place}{of and '#' + of}' --verbose"
        case = case_at(place, SUITE, None)
        assert not isinstance(case, Problem)
        assert case.event_id == result["event_id"]
        assert case.source.model_dump(include={"topic", "partition", "offset", "checksum"}).items() <= result["source"].items()


def test_every_format_shows_that_one_case(one: Scene) -> None:
    one.send(event(0), event(1), event(2))
    for form in ("console", "json", "markdown", "junit", "html"):
        ran = one.score(1, "--format", form, "--verbose")
        assert ran.code in {0, 1, 2}
        assert "T-1" in ran.out
        assert "T-2" not in ran.out
        assert "1 case" in ran.err


def test_a_record_that_is_no_case_is_a_problem_and_quotes_nothing(one: Scene) -> None:
    one.send(b'{"kind": "safe", "summary": "' + CANARY.encode() + b'"}', b'{"' + CANARY.encode())
    for offset, code in ((0, "schema_missing at "), (1, "not_json at ")):
        ran = one.score(offset)
        assert ran.code == 3
        assert f"{one.topic}[1]@{offset}: is not a case: {code}" in ran.err
        assert CANARY not in ran.out + ran.err


def test_an_event_of_another_suite_is_one_line(one: Scene) -> None:
    one.send(event(0))
    assert one.score(0, suite="clinical").one_line.endswith("[1]@0: clinical does not score events of this kind; name the suite that does")


def test_a_place_without_a_record_is_one_line(one: Scene) -> None:
    one.send(event(0))
    for place, told in (
        ("{}[1]@5", "[1]@5: the next record of the partition gets offset 1; check the offset, and whether the topic was made anew"),
        ("{}[9]@0", "[9]@0: the topic has no such partition; it has partitions 0 to 3"),
        ("{}-none[0]@0", "no topic "),
        ("{}", "--from-topic: write TOPIC[PARTITION]@OFFSET, as in 'touchstone.generations[2]@499'"),
    ):
        ran = one("score", "safe_v0", "--from-topic", place.format(one.topic))
        assert ran.code == 3
        assert told in ran.one_line


def test_files_and_a_topic_are_two_sources(one: Scene) -> None:
    assert "name files to score, or one event with --from-topic" in one("score", "safe_v0", "x.json", "--from-topic", "a[0]@0").one_line
    assert "name files to score, or one event with --from-topic" in one("score", "safe_v0").one_line


def test_what_retention_deleted_and_what_never_held_a_record_are_said(
    shared_apache: Broker, namespace: Namespace, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Scene(shared_apache, namespace, commands, monkeypatch)

    async def prepare() -> None:
        async with AIOKafkaProducer(bootstrap_servers=shared_apache.bootstrap_servers, transactional_id=one.topic) as producer:
            for number in range(3):  # offsets 0, 2 and 4; the markers are at 1, 3 and 5
                async with producer.transaction():
                    await producer.send_and_wait(one.topic, event(number), partition=1)
        admin = AIOKafkaAdminClient(bootstrap_servers=shared_apache.bootstrap_servers)
        await admin.start()
        await admin.delete_records({TopicPartition(one.topic, 1): RecordsToDelete(before_offset=2)})
        await admin.close()

    asyncio.run(prepare())
    assert one.score(2).code in {0, 1, 2}
    topic_id = asyncio.run(ids_of(KafkaSettings(bootstrap_servers=shared_apache.bootstrap_servers), [one.topic]))[one.topic]
    assert one.score(f"2#{topic_id}").code in {0, 1, 2}
    assert "this event is gone: its topic was deleted" in one.score(f"2#{'A' * 22}").one_line
    assert "the partition now begins at offset 2; the record was deleted (retention)" in one.score(0).one_line
    for marker in (3, 5):
        assert f"[1]@{marker}: no record has this offset; compaction removed it, or it is the marker of a transaction" in one.score(marker).one_line
