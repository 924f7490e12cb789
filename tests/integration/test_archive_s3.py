"""The archive on servers that speak S3: objects are created once, whoever writes at the same time and whatever is killed, and keys can be replaced."""

import base64
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from obstore.store import S3Store
from pydantic import SecretStr

import tests.ops.web.served
from tests.ops.web.history import CANARY, history
from tests.ops.web.served import served, toy_suite
from tests.s3_servers import KINDS, lead_to, new_bucket, running
from touchstone.ops.lab.chaos.object_stores import S3Server
from touchstone.ops.store.archive.encryption import Cipher, Undecipherable
from touchstone.ops.store.archive.objects import ArchiveAway, Objects
from touchstone.ops.web.api.api import open_sources
from touchstone.schemas.settings.house import ArchiveSettings, Settings, StoreSettings
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.base import ConfigError

WRITERS = 50
#: Large enough that a server which refuses it answers before it has read it.
LARGE = 20_000_000
KILLS = 3
#: Writes large objects until it is killed: each is full of one letter. Arguments: URL, and what the names begin with.
WRITER = """
import itertools, sys
from touchstone.ops.store.archive.objects import Objects
objects = Objects.open(sys.argv[1])
print("started", flush=True)
for number in itertools.count():
    objects.put(f"cases/k/{sys.argv[2]}-{number}.json", b"abcdefghij"[number % 10 : number % 10 + 1] * 3_000_000)
"""


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with running(request.param, tmp_path_factory.mktemp(request.param)) as started:
        yield started


@pytest.fixture
def bucket(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of an empty bucket; where it is and how it is opened is in the environment, as in production."""
    lead_to(server, monkeypatch)
    return f"s3://{new_bucket(server)}/cases"


def test_of_fifty_writers_one_creates_the_object_and_its_content_stays(request: pytest.FixtureRequest, bucket: str) -> None:
    objects = Objects.open(bucket)
    # Trap: moto looks for the object and writes it in two steps, so on a busy machine two writers at once may both create it. A real server does not.
    with ThreadPoolExecutor(1 if "moto" in request.node.callspec.id else WRITERS) as pool:
        outcomes = Counter(pool.map(lambda number: objects.put("traces/trace-t.json", b"%d" % (number % 2)), range(WRITERS)))
    assert outcomes["created"] == 1
    assert outcomes["same"] == WRITERS // 2 - 1
    assert outcomes["other"] == WRITERS // 2
    assert [entry.path for entry in objects.list("traces")] == ["traces/trace-t.json"]


def test_a_large_object_that_is_there_is_known_though_the_server_refuses_it_unread(bucket: str) -> None:
    objects = Objects.open(bucket)
    assert objects.put("cases/large.json", b"x" * LARGE) == "created"
    assert {objects.put("cases/large.json", b"x" * LARGE) for _ in range(5)} == {"same"}
    assert objects.put("cases/large.json", b"y" * LARGE) == "other"


def test_objects_are_listed_in_pages_and_from_a_place_on(bucket: str) -> None:
    objects = Objects.open(bucket)
    names = [f"results/{number:04}/a%2Fb.json" for number in range(1_010)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: objects.put(name, b"{}"), names))
    assert sorted(entry.path for entry in objects.list("results")) == names
    assert [entry.path for entry in objects.list("results", after=names[-3])] == names[-2:]


def test_after_a_kill_in_mid_write_an_object_is_whole_or_not_there(bucket: str) -> None:
    check_kills(bucket)


def test_after_a_kill_in_mid_write_a_file_is_whole_or_not_there_and_nothing_stays_beside_it(tmp_path: Path) -> None:
    check_kills(f"file://{tmp_path}")
    assert [one.name for one in tmp_path.rglob("*#*")] == []


def check_kills(url: str) -> None:
    """Kill writers in the middle; every object is whole then, and the next run keeps all that the last one began."""
    draw = random.Random(1)
    objects = Objects.open(url)
    for run in range(KILLS):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, url, str(run)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(draw.uniform(0.01, 0.15))  # a random moment, not a wait for anything
        writer.kill()
        writer.communicate()
        kept = {entry.path: entry.size for entry in objects.list()}
        assert set(kept.values()) <= {3_000_000}
        for number in range(sum(path.startswith(f"cases/k/{run}-") for path in kept) + 1):
            whole = b"abcdefghij"[number % 10 : number % 10 + 1] * 3_000_000
            path = f"cases/k/{run}-{number}.json"
            # What a server has wholly received, it may still write after the kill.
            assert objects.put(path, whole) in ({"same"} if path in kept else {"created", "same"})


def test_a_server_that_is_killed_and_comes_back_has_what_it_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running("versitygw", tmp_path) as server:
        lead_to(server, monkeypatch)
        objects = Objects.open(f"s3://{new_bucket(server)}/cases")
        acknowledged: list[str] = []

        def put(number: int) -> str:
            """As the archiver does: again, until it has succeeded."""
            deadline = time.monotonic() + 120
            while time.monotonic() < deadline:
                try:
                    outcome = objects.put(f"cases/{number}.json", b"%d" % (number % 10) * 2_000_000)
                except ArchiveAway:
                    continue
                acknowledged.append(f"cases/{number}.json")
                return outcome
            raise TimeoutError

        with ThreadPoolExecutor(4) as pool:
            outcomes = [pool.submit(put, number) for number in range(60)]
            while len(acknowledged) < 10 and not any(one.done() and one.exception() for one in outcomes):
                time.sleep(0.01)
            server.leave()
            before = list(acknowledged)
            server.come_back()
        assert {one.result() for one in outcomes} <= {"created", "same"}
        assert 10 <= len(before) < 60
        assert {entry.path: entry.size for entry in objects.list()} == dict.fromkeys(acknowledged, 2_000_000)


async def test_the_api_reads_a_case_from_a_bucket_and_creates_a_trace_in_it_once(bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tests.ops.web.served, "toy_suite", lambda name: replace(toy_suite(name), cases={"trace": ProductionTrace}))
    with history(tmp_path, bucket):
        settings = Settings(store=StoreSettings(url=SecretStr(f"sqlite:///{tmp_path / 'store.db'}")), archive=ArchiveSettings(url=bucket))
        async with served(sources=open_sources(settings)) as web:
            reading = (await web.get("/api/cases/t-0/reading")).json()
            assert reading["text"] == "shown"
            assert CANARY in (await web.get("/api/cases/e-0/document")).text
            sent = {"traceId": "trace/9", "timestamp": "2026-02-04T14:30:00Z", "source": "production", "prompt": "p", "outputs": {}}
            answers = [await web.client.post("/api/traces", json=document) for document in (sent, sent, sent | {"prompt": "another"})]
            assert [answer.status_code for answer in answers] == [201, 200, 409]
            assert (await web.get("/api/traces/trace%2F9")).json()["prompt"] == "p"


class Forgetful(BaseHTTPRequestHandler):
    """S3 as far as it takes everything, whatever the conditions."""

    def _answer(self, body: bytes = b"", length: int | None = None) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        headers = {"ETag": '"1"', "Content-Length": str(len(body) if length is None else length), "Last-Modified": "Mon, 23 Nov 2026 10:00:00 GMT"}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        """Many deletes in one."""
        self._answer(b"<DeleteResult><Deleted><Key>probes/x</Key></Deleted></DeleteResult>")

    def do_HEAD(self) -> None:
        self._answer(length=1)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class Hasty(Forgetful):
    """S3 that hangs up before it has read what it refuses, so that the refusal is lost."""

    def do_PUT(self) -> None:
        self.close_connection = True

    def do_GET(self) -> None:
        self._answer(b"first")

    def do_HEAD(self) -> None:
        self._answer(length=len(b"first"))


@contextmanager
def answering(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """A server that misbehaves, and its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def objects_at(url: str) -> Objects:
    options = {"allow_http": True, "access_key_id": "x", "secret_access_key": "x", "region": "us-east-1", "retry_config": {"max_retries": 0}}
    return Objects(S3Store("b", endpoint=url, **options))  # type: ignore[arg-type]


def test_a_server_that_ignores_conditions_is_refused_at_the_start() -> None:
    with answering(Forgetful) as url, pytest.raises(ConfigError, match="replaces an object that is there already"):
        objects_at(url).check_writable()


def test_a_refusal_that_is_lost_is_found_out() -> None:
    with answering(Hasty) as url:
        assert objects_at(url).put("cases/large.json", b"first") == "same"
        assert objects_at(url).put("cases/large.json", b"second") == "other"


def test_one_that_keeps_them_is_taken_and_holds_nothing_of_the_question(bucket: str) -> None:
    objects = Objects.open(bucket)
    objects.check_writable()
    assert list(objects.list()) == []


def test_a_replaced_key_reads_what_the_old_one_wrote_and_a_lost_one_does_not(bucket: str, tmp_path: Path) -> None:
    old, new = (base64.b64encode(os.urandom(32)).decode() for _ in range(2))

    def with_keys(*keys: str) -> Objects:
        (tmp_path / "keys").write_text("\n".join(keys))
        return Objects.open(bucket, Cipher.from_file(tmp_path / "keys"))

    with_keys(old).put("cases/a.json", b"first")
    both = with_keys(new, old)
    both.put("cases/b.json", b"second")
    assert (both.get("cases/a.json"), both.get("cases/b.json")) == (b"first", b"second")
    assert with_keys(new).get("cases/b.json") == b"second"
    with pytest.raises(Undecipherable):
        with_keys(new).get("cases/a.json")


def test_a_store_that_is_away_is_named_by_a_code_within_seconds(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    away = Objects.open(bucket)
    asked = time.monotonic()
    with pytest.raises(ArchiveAway) as error:
        away.put("cases/a.json", b"text of a case")
    assert "text" not in str(error.value)
    assert time.monotonic() - asked < 25  # by itself the client asks for three minutes
