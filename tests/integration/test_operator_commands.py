import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import psutil
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from tests.integration.brokers import Broker, Namespace, SecuredBroker
from tests.ops.commands import Commands, Ran
from tests.streams.fakes import FakeRecord, safe_event
from touchstone.ops.local import demo_parts
from touchstone.ops.local.demo import run_demo
from touchstone.schemas.settings.house import Settings, TopicSettings
from touchstone.scorers.installing import install_extras
from touchstone.scorers.safe import SUITE as SAFE
from touchstone.streams.topics.dlq import LETTER, REDRIVEN, RESOLUTION
from touchstone.streams.wire.clients import existing_topics
from touchstone.streams.wire.dead_letter import dead_letter

CANARY = "zanzibar-canary"
assert SAFE.samples is not None
(SAFE_SAMPLES,) = SAFE.samples().paths
TERMINAL_ATTACK = b'{"x": "\x1b]0;owned\x07\x1b[2J \xe2\x80\xae"}'


class Scene:
    def __init__(self, broker: Broker, namespace: Namespace, run: Commands) -> None:
        self.broker, self._run = broker, run
        self.env = namespace.environment(broker)
        self.topics: TopicSettings = namespace.topic_settings()

    def __call__(self, *arguments: object, stdin: bytes | None = None) -> Ran:
        return self._run(*arguments, stdin=stdin, env=self.env)

    def json(self, *arguments: object) -> Any:
        """A command's JSON; it must succeed."""
        ran = self(*arguments, "--json")
        assert ran.code == 0, ran.err
        return json.loads(ran.out)

    def json_lines(self, *arguments: object) -> list[Any]:
        return [json.loads(line) for line in self(*arguments, "--json").out.splitlines()]

    def send(self, topic: str, *records: Mapping[str, Any]) -> None:
        async def work() -> None:
            async with AIOKafkaProducer(bootstrap_servers=self.broker.bootstrap_servers, max_request_size=2**30) as producer:
                for record in records:
                    await producer.send_and_wait(topic, **record)

        asyncio.run(work())

    def kept(self, topic: str) -> list[Any]:
        async def work() -> list[Any]:
            async with AIOKafkaConsumer(bootstrap_servers=self.broker.bootstrap_servers, group_id=None) as consumer:
                await consumer._client.force_metadata_update()
                parts = [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic) or {0, 1, 2, 3})]
                consumer.assign(parts)
                await consumer.seek_to_beginning(*parts)
                ends = await consumer.end_offsets(parts)
                found: list[Any] = []
                while [part for part in parts if await consumer.position(part) < ends[part]]:
                    for records in (await consumer.getmany(timeout_ms=200)).values():
                        found += records
                return sorted(found, key=lambda record: (record.partition, record.offset))

        return asyncio.run(work())

    def topics_there(self) -> set[str]:
        async def work() -> set[str]:
            admin = AIOKafkaAdminClient(bootstrap_servers=self.broker.bootstrap_servers)
            await admin.start()
            try:
                return set(await existing_topics(admin))
            finally:
                await admin.close()

        return asyncio.run(work())


@pytest.fixture
def scene(broker: Broker, namespace: Namespace, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Scene:
    monkeypatch.chdir(tmp_path)
    one = Scene(broker, namespace, Commands(capfdbinary, monkeypatch))
    assert one("topics", "create").code == 0
    return one


def letter(offset: int = 7, *, value: bytes | None = b"{broken", partition: int = 1, suite: str = "safe_v0", **options: Any) -> dict[str, Any]:
    """A dead letter to send, of an event of the topic given in `topic`."""
    headers = options.pop("headers", [("trace", b"\x00\xff"), ("trace", b"2")])
    original = FakeRecord(offset, value, topic=options.pop("topic"), partition=partition, key=b"key", headers=headers, timestamp=11)
    message = dead_letter(original, suite=suite, version="1", code=options.pop("code", "not_json"), where="character 1", **options)
    return {"value": message.value, "key": message.key, "headers": list(message.headers)}


# -- topics


def test_creating_topics_twice_changes_nothing(scene: Scene) -> None:
    again = scene.json("topics", "create")
    assert {topic["outcome"] for topic in again} == {"existed"}
    assert {topic["partitions"] for topic in again} == {4}


def test_describe_tells_offsets_leaders_and_configuration(scene: Scene) -> None:
    scene.send(scene.topics.dead, {"value": b"x", "partition": 2})
    facts = {topic["role"]: topic for topic in scene.json("topics", "describe")}
    assert [part["end"] for part in facts["dead"]["partitions"]] == [0, 0, 1, 0]
    assert all(part["leader"] >= 0 for topic in facts.values() for part in topic["partitions"])
    if scene.broker.kind == "embedded":
        assert facts["dead"]["configuration"] is None
    else:
        assert facts["dead"]["configuration"]["max.message.bytes"] == str(scene.topics.dead_message_bytes_max)


def test_differing_partition_counts_are_said(scene: Scene) -> None:
    scene.env["TOUCHSTONE_TOPICS_PARTITIONS"] = "5"
    assert "has 4 partitions, topics.partitions asks for 5" in scene("topics", "create").out


def test_a_missing_topic_is_one_line_and_is_not_made_by_asking(
    broker: Broker, namespace: Namespace, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = Scene(broker, namespace, Commands(capfdbinary, monkeypatch))
    for _ in range(2):
        ran = fresh("tail", "results", "--no-follow")
        assert ran.code == 3
        assert namespace.topic("results") in ran.one_line
        assert fresh("topics", "describe").code == 3


# -- produce and tail


def test_samples_are_sent_whole_and_the_same_twice(scene: Scene) -> None:
    first, second = (scene.json("produce", SAFE_SAMPLES) for _ in range(2))
    assert first["sent"] == second["sent"] == sum(batch["cases"] for batch in first["batches"])
    records = scene.kept(scene.topics.generations)
    assert len(records) == 2 * first["sent"]
    assert len({record.value for record in records}) == first["sent"]
    assert all(record.key.decode() == json.loads(record.value)["id"] for record in records)


def test_nothing_is_sent_when_one_line_is_wrong(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text(json.dumps(safe_event("e1")) + "\n" + json.dumps({"kind": CANARY}))
    ran = scene("produce", "b.jsonl")
    assert ran.code == 3
    assert "b.jsonl, line 2" in ran.one_line
    assert CANARY not in ran.err
    assert scene.kept(scene.topics.generations) == []


def test_raw_lines_arrive_byte_for_byte(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "poison").write_bytes(b"\xff\xfe\n\n{broken\n")
    scene("produce", "--raw", "poison")
    assert {record.value for record in scene.kept(scene.topics.generations)} == {b"\xff\xfe", b"", b"{broken"}


@pytest.mark.parametrize("envelope", ["binary", "structured"])
def test_cloudevents_are_recognised(scene: Scene, envelope: str, tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text(json.dumps(safe_event("e1")))
    scene("produce", "b.jsonl", "--cloudevents", envelope)
    (seen,) = scene.json_lines("tail", "generations", "--no-follow")
    assert (seen["format"], seen["event_id"]) == (f"cloudevents_{envelope}", "e1")


def test_a_rate_is_kept(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text("\n".join(json.dumps(safe_event(f"e{number}")) for number in range(6)))
    started = time.monotonic()
    scene("produce", "b.jsonl", "--rate", "10/s")
    assert time.monotonic() - started >= 0.5


def test_standard_input_is_sent(scene: Scene) -> None:
    ran = scene("produce", "-", "--json", stdin=json.dumps(safe_event("e1")).encode())
    assert json.loads(ran.out)["sent"] == 1


def test_an_event_too_large_for_the_broker_is_named(scene: Scene, tmp_path: Path) -> None:
    if scene.broker.kind == "embedded":
        pytest.skip("the embedded broker takes any size")
    scene.env["TOUCHSTONE_WORKER_EVENT_BYTES_MAX"] = "104857600"
    event = safe_event("e1", padding="x" * 40_000_000)
    (tmp_path / "b.jsonl").write_text(json.dumps(event))
    ran = scene("produce", "b.jsonl")
    assert ran.code == 3
    # On a busy machine the broker may seem away for a moment while 40 MB arrive, and that is a line of its own.
    assert "b.jsonl, line 1: larger than the broker accepts" in ran.err.splitlines()[-1]


def test_tail_stops_at_a_limit_and_shows_no_payload(scene: Scene, tmp_path: Path) -> None:
    events = [safe_event(f"e{number}", output={"summary": CANARY}) for number in range(5)]
    (tmp_path / "b.jsonl").write_text("\n".join(json.dumps(event) for event in events))
    scene("produce", "b.jsonl")
    ran = scene("tail", "generations", "--from", "beginning", "-n", "3")
    assert len(ran.out.splitlines()) == 3
    assert CANARY not in ran.out


def test_following_ends_cleanly_on_ctrl_c(scene: Scene) -> None:
    command = [sys.executable, "-m", "touchstone.ops.cli", "tail", "generations", "--from", "beginning", "--json"]
    scene.send(scene.topics.generations, {"value": json.dumps(safe_event("e1")).encode()})
    tail = subprocess.Popen(command, env=os.environ | scene.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert tail.stdout is not None
    assert json.loads(tail.stdout.readline())["event_id"] == "e1"
    scene.send(scene.topics.generations, {"value": json.dumps(safe_event("e2")).encode()})
    assert json.loads(tail.stdout.readline())["event_id"] == "e2"
    tail.send_signal(signal.SIGINT)
    _, said = tail.communicate(timeout=200)
    assert (tail.returncode, said) == (0, "")


# -- dead letters


def test_a_letter_goes_back_as_it_came_and_is_listed_no_more(scene: Scene) -> None:
    source, dead = scene.topics.generations, scene.topics.dead
    scene.send(dead, letter(topic=source, value=b"\xff\x00 original") | {"partition": 0})
    (listed,) = scene.json("dlq", "list")
    assert (listed["id"], listed["source_offset"], listed["size"]) == ("0:0", 7, 11)
    assert scene.json("dlq", "redrive", "0:0", "--dry-run")[0]["resolution"] is None
    assert scene.kept(source) == []
    assert scene.json("dlq", "redrive", "0:0")[0]["resolution"] == "redriven"
    (back,) = scene.kept(source)
    assert (back.partition, back.key, back.value) == (1, b"key", b"\xff\x00 original")
    assert list(back.headers) == [("trace", b"\x00\xff"), ("trace", b"2"), (REDRIVEN, b"1")]
    assert scene.json("dlq", "list") == []
    assert scene.json("dlq", "list", "--all")[0]["resolution"] == "redriven"
    *_, resolution = scene.kept(dead)
    assert (resolution.key, dict(resolution.headers)) == (b"resolution/0:0", {RESOLUTION: b"redriven", LETTER: b"0:0"})
    ran = scene("dlq", "redrive", "0:0")
    assert ran.code == 3
    assert "is already redriven" in ran.out
    assert len(scene.kept(source)) == 1


def test_an_event_that_dies_again_keeps_count_until_it_is_refused(scene: Scene) -> None:
    source = scene.topics.generations
    scene.send(scene.topics.dead, letter(topic=source, headers=[(REDRIVEN, b"2")]) | {"partition": 0})
    scene("dlq", "redrive", "--all")
    (back,) = scene.kept(source)
    assert dict(back.headers) == {REDRIVEN: b"3"}
    scene.send(scene.topics.dead, letter(9, topic=source, headers=list(back.headers)) | {"partition": 0})
    ran = scene("dlq", "redrive", "--all")
    assert ran.code == 3
    assert "was redriven 3 times" in ran.out


def test_one_event_of_two_suites_is_sent_back_once(scene: Scene) -> None:
    source = scene.topics.generations
    both = [letter(topic=source), letter(topic=source, suite="other"), letter(topic=source)]
    scene.send(scene.topics.dead, *(one | {"partition": 0} for one in both))
    assert [one["copies"] for one in scene.json("dlq", "list")] == [["0:2"], []]
    scene("dlq", "redrive", "0:0")
    assert len(scene.kept(source)) == 1
    assert scene.json("dlq", "list") == []


def test_a_letter_of_a_topic_that_is_gone_does_not_make_it_anew(scene: Scene) -> None:
    gone = f"{scene.topics.generations}-gone"
    scene.send(scene.topics.dead, letter(topic=gone) | {"partition": 0})
    ran = scene("dlq", "redrive", "0:0")
    assert ran.code == 3
    assert f"topic {gone} is gone" in ran.err
    assert scene.json("dlq", "list")[0]["resolution"] is None
    assert gone not in scene.topics_there()


def test_a_letter_without_payload_is_refused_but_can_be_discarded(scene: Scene) -> None:
    scene.send(scene.topics.dead, letter(topic=scene.topics.generations, payload=False) | {"partition": 0})
    ran = scene("dlq", "redrive", "0:0")
    assert ran.code == 3
    assert "has no payload" in ran.out
    assert scene.json("dlq", "discard", "0:0")[0]["resolution"] == "discarded"
    assert scene.json("dlq", "list") == []


def test_a_large_letter_goes_back_whole(scene: Scene) -> None:
    large = b"x" * 5_000_000
    scene.send(scene.topics.dead, letter(topic=scene.topics.generations, value=large) | {"partition": 0})
    assert scene("dlq", "redrive", "--all").code == 0
    (back,) = scene.kept(scene.topics.generations)
    assert back.value == large


def test_filters_choose_letters(scene: Scene) -> None:
    source = scene.topics.generations
    letters = [letter(1, topic=source, code="empty"), letter(2, topic=source), letter(3, topic=source, suite="other")]
    scene.send(scene.topics.dead, *(one | {"partition": 0} for one in letters))
    assert [one["id"] for one in scene.json("dlq", "list", "--code", "empty")] == ["0:0"]
    assert [one["id"] for one in scene.json("dlq", "list", "--suite", "other", "--since", "5m")] == ["0:2"]
    assert scene.json("dlq", "list", "--since", "2100-01-01") == []


def test_show_keeps_the_payload_back_and_a_terminal_safe(scene: Scene) -> None:
    headers = [("patient", CANARY.encode())]
    scene.send(scene.topics.dead, letter(topic=scene.topics.generations, value=TERMINAL_ATTACK + CANARY.encode(), headers=headers) | {"partition": 0})
    closed, opened = scene("dlq", "show", "0:0"), scene("dlq", "show", "0:0", "--payload")
    assert CANARY not in closed.out
    assert "patient" in closed.out
    assert opened.out.count(CANARY) == 2
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", opened.out)
    listed = scene("dlq", "list")
    assert CANARY not in listed.out + listed.err


# -- everything in one terminal


@pytest.fixture
def up(tmp_path: Path) -> Iterator["Up"]:
    with Up(tmp_path, "--suite", "safe_v0", "--suite", "clinical") as one:
        yield one


@pytest.fixture
def up_with_one_suite(tmp_path: Path) -> Iterator["Up"]:
    with Up(tmp_path, "--suite", "safe_v0") as one:
        yield one


class Up:
    """`touchstone up` as a process."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        command = [sys.executable, "-m", "touchstone.ops.cli", "up", "--runner", "direct", *arguments]
        self._log = (folder / "up.log").open("wb")
        env = {name: value for name, value in os.environ.items() if not name.startswith(("KAFKA_", "TOUCHSTONE_"))}
        self.process = subprocess.Popen(command, cwd=folder, env=env | {"PYTHONPATH": str(Path.cwd())}, stdout=self._log, stderr=self._log)
        self._file = folder / "up.log"

    @property
    def said(self) -> str:
        return self._file.read_text()

    def __enter__(self) -> Self:
        self.wait_for("Press Ctrl-C to stop.")
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(200)
        self._log.close()

    def wait_for(self, text: str, timeout_s: float = 100) -> None:
        deadline = time.monotonic() + timeout_s
        while text not in self.said:
            assert time.monotonic() < deadline, f"{text!r} not said:\n{self.said}"
            assert self.process.poll() is None or text in self.said, self.said
            time.sleep(0.05)

    def children(self) -> list[int]:
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [int(pid) for thread in threads for pid in thread.read_text().split()]

    def env(self) -> dict[str, str]:
        (exports,) = re.findall(r"export (\S+=\S+ \S+=\S+)", self.said)
        return dict(pair.split("=", 1) for pair in exports.split())


def gone(pids: Sequence[int], within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if not any(Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split(")")[-1][:3] for pid in pids):
            return True
        time.sleep(0.05)
    return False


def own_children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


@pytest.mark.slow
def test_up_scores_accounts_and_ends_in_order(up: Up, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    run = Commands(capfdbinary, monkeypatch)
    assert "VOLATILE" in up.said
    (page,) = re.findall(r"^mission control  (http://127\.0\.0\.1:[0-9]+/)$", up.said, re.MULTILINE)
    with urllib.request.urlopen(page, timeout=20) as answer:
        assert b"<html" in answer.read()
    assert run("produce", SAFE_SAMPLES, env=up.env()).code == 0
    ran = Ran(1, "", "")
    deadline = time.monotonic() + 20
    while ran.code and time.monotonic() < deadline:
        ran = run("reconcile", "--suite", "safe_v0", "--drained", "--wait", "5", env=up.env())
    assert ran.code == 0, ran.out
    children = up.children()
    up.process.send_signal(signal.SIGINT)
    assert up.process.wait(200) == 0
    assert gone(children, 5)
    stopped = [up.said.index(text) for text in ("worker_stopped", "projector_stopped", "What the broker held is gone")]
    assert "[mission control] serve_stopped" in up.said
    assert stopped == sorted(stopped)
    store = up.env()["TOUCHSTONE_STORE_URL"].removeprefix("sqlite:///")
    assert not Path(store).exists()


@pytest.mark.slow
def test_a_child_that_dies_ends_everything_and_is_named(up_with_one_suite: Up) -> None:
    up = up_with_one_suite
    children = up.children()
    worker = next(pid for pid in children if b"safe_v0" in Path(f"/proc/{pid}/cmdline").read_bytes())
    os.kill(worker, signal.SIGKILL)
    assert up.process.wait(200) == 3
    assert "safe_v0/1 ended by signal SIGKILL" in up.said
    assert gone(children, 5)


@pytest.mark.slow
def test_no_child_outlives_a_parent_that_is_killed(up_with_one_suite: Up) -> None:
    up = up_with_one_suite
    children = up.children()
    assert len(children) >= 3
    up.process.kill()
    up.process.wait(60)
    assert gone(children, 15)


@pytest.mark.slow(80)
@pytest.mark.timeout(600)
def test_the_demo_adds_up_in_a_dumb_terminal(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "dumb", "LANG": "C", "PYTHONPATH": str(Path.cwd())}
    command = [sys.executable, "-m", "touchstone.ops.cli", "demo"]
    ran = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, timeout=500, check=False)
    said = ran.stdout.decode()
    assert ran.returncode == 0, said + ran.stderr.decode()
    assert "44 consumed = 44 scored" in said
    assert "5 consumed = 5 scored" in said
    assert "clinical_judge over 4 partitions: 4 consumed = 4 scored" in said
    assert "it closes" in said
    assert "19 scored + 44 skipped" in said
    assert said.count("safe:v0:result") == 5
    assert said.count("summary_loss:v3:result") == 2
    assert said.count("(final)") == 9
    assert said.count("equal to the live ones") == 4
    assert "\nShown: 72 events in" in said
    assert sorted(path.suffix for path in (tmp_path / "reports").iterdir()) == [".json"] * 4 + [".md"] * 4
    assert not ran.stderr


@pytest.mark.slow
def test_the_demo_leaves_out_what_cannot_run_here_and_says_nothing_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("touchstone.scorers.registry.find_spec", lambda name: None if name in {"ucumvert", "onnxruntime", "torch", "openai"} else name)
    said: list[str] = []
    assert asyncio.run(run_demo(Settings(), "direct", None, said.append)) == []
    told = "\n".join(said)
    assert f"Left out: clinical: its libraries are missing; {install_extras('clinical')}." in told
    assert f"Left out: clinical_judge: its libraries are missing; {install_extras('judge')}." in told
    assert f"Left out: summary_loss: its libraries are missing; {install_extras('nli-onnx')}." in told
    assert "44 consumed = 44 scored" in told
    assert "\nShown: 44 events in" in told
    assert "NOT" not in told


@pytest.mark.slow
def test_a_demo_that_is_kept_serves_its_results_until_a_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("touchstone.scorers.registry.find_spec", lambda name: None if name in {"ucumvert", "onnxruntime", "torch", "openai"} else name)
    said: list[str] = []
    shown: list[int] = []
    read: dict[str, Any] = {}
    before = own_children()
    during: set[int] = set()

    def look() -> None:
        (line,) = [line for line in said if line.startswith("\nmission control  http://127.0.0.1:")]
        during.update(own_children() - before)
        try:
            deadline = time.monotonic() + 120
            while sum(shown) != 44 and time.monotonic() < deadline:
                with urllib.request.urlopen(f"{line.split()[-1]}v1/summary?minutes=60", timeout=30) as answer:
                    shown[:] = [suite["total"] for suite in json.load(answer)["suites"]]
                time.sleep(0.05)
            (opened,) = [line.removeprefix("open this failed case: ") for line in said if line.startswith("open this failed case: ")]
            with urllib.request.urlopen(opened.replace("/cases/", "/api/cases/").replace("?", "/reading?"), timeout=30) as answer:
                read.update(json.load(answer))
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    def say(text: str) -> None:
        said.append(text)
        if "until you press Ctrl-C" in text:
            threading.Thread(target=look).start()

    assert asyncio.run(run_demo(Settings(), "direct", None, say, keep=True)) == []
    assert sum(shown) == 44
    assert (read["text"], read["reading"]["label"]) == ("shown", "Fail")
    assert any(line.startswith("\nShown: 44 events in") for line in said[:-3])
    assert len(during) >= 4  # broker, worker, projector, page
    assert gone(sorted(during), 5)


@pytest.mark.slow
def test_the_demo_says_where_live_and_files_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("touchstone.scorers.registry.find_spec", lambda name: None if name in {"ucumvert", "onnxruntime", "torch", "openai"} else name)
    # The worker is told by a variable, this process by a file: the two score with other thresholds.
    monkeypatch.setenv("SAFE_V0_CR_PASS", "0.9")
    real = demo_parts.suite_settings
    monkeypatch.setattr(demo_parts, "suite_settings", lambda suite, env: real(suite, env={**env, "SAFE_V0_CR_PASS": "0.5"}))
    said: list[str] = []
    problems = asyncio.run(run_demo(Settings(), "direct", None, said.append))
    assert problems
    assert "\nThis does NOT add up: " in "\n".join(said)
    assert not any(line.startswith("\nShown") for line in said)


# -- doctor and credentials


@pytest.fixture
def _kafka_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Doctor tries no extra and no suite, which takes seconds: see local/test_extras.py and the suites' own tests."""
    monkeypatch.setattr("touchstone.ops.local.extras.EXTRAS", {})
    monkeypatch.setattr("touchstone.ops.local.checkup.check_suite", lambda _: [])


@pytest.mark.usefixtures("_kafka_alone")
def test_doctor_finds_topics_and_lag(scene: Scene) -> None:
    scene.send(scene.topics.generations, *({"value": b"x"} for _ in range(3)))
    ran = scene("doctor", "--json")
    checks = {(check["area"], check["state"]): check["what"] for check in json.loads(ran.out)}
    assert ran.code == 0, ran.out
    assert scene.topics.results in checks["topics", "good"]
    assert "3 records wait" in checks["groups", "note"]


@pytest.mark.usefixtures("_kafka_alone")
def test_doctor_names_a_missing_topic(scene: Scene) -> None:
    scene.env["TOUCHSTONE_TOPICS_REPORTS"] = f"{scene.topics.reports}.other"
    ran = scene("doctor")
    assert ran.code == 1
    assert f"missing: {scene.topics.reports}.other" in ran.out


@pytest.mark.apache
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL", "SSL"])
def test_commands_connect_with_credentials_and_refuse_wrong_ones_in_one_line(
    apache_sasl_tls: SecuredBroker, protocol: str, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    run = Commands(capfdbinary, monkeypatch)
    env = {f"KAFKA_{name.upper()}": value for name, value in apache_sasl_tls.connection(protocol).items()}
    assert run("topics", "create", env=env).code == 0
    assert run("tail", "results", "--no-follow", env=env).code == 0
    wrong = env | ({"KAFKA_SASL_PASSWORD": CANARY} if protocol.startswith("SASL") else {"KAFKA_SECURITY_PROTOCOL": "PLAINTEXT"})
    for command in ("topics describe", "tail --no-follow", "dlq list"):
        ran = run(*command.split(), env=wrong | {"TOUCHSTONE_KAFKA_CONNECT_TIMEOUT_S": "3"})
        assert ran.code == 3
        assert "Kafka at" in ran.one_line
        assert CANARY not in ran.err
