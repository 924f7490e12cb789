"""The archive on a server that speaks S3: objects are created once, whoever writes at the same time, and keys can be replaced."""

import base64
import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer
from obstore.store import S3Store

from touchstone.ops.store.archive.encryption import Cipher, Undecipherable
from touchstone.ops.store.archive.objects import ArchiveAway, Objects

WRITERS = 50


@pytest.fixture(scope="module")
def server() -> Iterator[ThreadedMotoServer]:
    started = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    started.start()
    yield started
    started.stop()


@pytest.fixture
def bucket(server: ThreadedMotoServer, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """The URL of an empty bucket; where it is and how it is opened is in the environment, as in production."""
    import boto3

    host, port = server.get_host_and_port()
    given = {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ALLOW_HTTP": "true",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    name = f"b{abs(hash(request.node.name))}"
    boto3.client("s3", endpoint_url=given["AWS_ENDPOINT_URL"], region_name="us-east-1").create_bucket(Bucket=name)
    return f"s3://{name}/cases"


def test_of_fifty_writers_one_creates_the_object_and_its_content_stays(bucket: str) -> None:
    objects = Objects.open(bucket)
    with ThreadPoolExecutor(WRITERS) as pool:
        outcomes = Counter(pool.map(lambda number: objects.put("traces/trace-t.json", b"%d" % (number % 2)), range(WRITERS)))
    assert outcomes["created"] == 1
    assert outcomes["same"] == WRITERS // 2 - 1
    assert outcomes["other"] == WRITERS // 2
    assert [entry.path for entry in objects.list("traces")] == ["traces/trace-t.json"]


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


def test_a_store_that_is_away_is_named_by_a_code(monkeypatch: pytest.MonkeyPatch) -> None:
    away = Objects(S3Store("b", endpoint="http://127.0.0.1:9", allow_http=True, access_key_id="x", secret_access_key="x", retry_config={"max_retries": 0}))
    with pytest.raises(ArchiveAway) as error:
        away.put("cases/a.json", b"text of a case")
    assert "text" not in str(error.value)
