import contextlib
import gzip
import json
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import trustme

from tests.clock import Clock
from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.checks.terminology_server import ANSWER_BYTES_MAX, UMLS_BASE_URL, TerminologyServer, umls_server

SNOMED = "http://snomed.info/sct"
MEMBERS = {SNOMED: {"73211009"}, "http://loinc.org": {"8867-4"}}


def parameters(**values: Any) -> bytes:
    fields = {bool: "valueBoolean", str: "valueString", dict: "resource"}
    listed = [{"name": name.replace("_", "-"), fields[type(value)]: value} for name, value in values.items()]
    return json.dumps({"resourceType": "Parameters", "parameter": listed}).encode()


class Server:
    """A terminology server that speaks `$validate-code`, and misbehaves on demand; `connections` counts those that it took."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.connections = 0
        self.asked: list[tuple[str, dict[str, list[str]], dict[str, str]]] = []
        self.misbehave: Callable[[BaseHTTPRequestHandler], None] | None = None
        outer = self

        class Answers(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                outer.connections += 1
                super().setup()

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                outer.asked.append((parts.path, parse_qs(parts.query), dict(self.headers)))
                if outer.misbehave is not None:
                    outer.misbehave(self)
                else:
                    outer.answer(self, parse_qs(parts.query))

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self._server.server_address[1]}/fhir/"

    def answer(self, handler: BaseHTTPRequestHandler, query: dict[str, list[str]]) -> None:
        members = MEMBERS.get(query["url"][0])
        if members is None:
            issue = {"severity": "error", "code": "not-found", "details": {"coding": [{"code": "not-found"}]}}
            reply(handler, 200, parameters(result=False, issues={"resourceType": "OperationOutcome", "issue": [issue]}))
        else:
            reply(handler, 200, parameters(result=query["code"][0] in members, message="…"))

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def reply(handler: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def server() -> Iterator[Server]:
    started = Server()
    yield started
    started.close()


def test_members_and_others_are_told_apart(server: Server) -> None:
    client = TerminologyServer(server.url)
    assert client.membership(SNOMED, "73211009") == ("member", None)
    assert client.membership(SNOMED, "404684003") == ("not_member", None)
    path, query, headers = server.asked[0]
    assert path == "/fhir/CodeSystem/$validate-code"
    assert query == {"url": [SNOMED], "code": ["73211009"]}
    assert headers["Accept"] == "application/fhir+json"
    assert "Authorization" not in headers


def test_answers_are_cached_until_they_are_old_or_too_many(server: Server) -> None:
    clock = Clock()
    client = TerminologyServer(server.url, cache_max=2, cache_s=60, clock=clock)
    for _ in range(3):
        client.membership(SNOMED, "73211009")
    assert len(server.asked) == 1
    clock.now += 61
    client.membership(SNOMED, "73211009")
    assert len(server.asked) == 2
    client.membership(SNOMED, "1")
    client.membership(SNOMED, "2")
    client.membership(SNOMED, "73211009")
    assert len(server.asked) == 5


def test_an_unknown_code_system_is_asked_for_once_and_never_a_fault(server: Server) -> None:
    client = TerminologyServer(server.url)
    for code in ("a", "b", "c"):
        assert client.membership("http://example.org/own", code) == ("not_checked", "the terminology server does not know this code system")
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [404, 422])
def test_a_server_may_say_unknown_by_its_status(server: Server, status: int) -> None:
    server.misbehave = lambda handler: reply(handler, status, b'{"resourceType": "OperationOutcome"}')
    assert TerminologyServer(server.url).membership(SNOMED, "1") == ("not_checked", "the terminology server does not know this code system")


def test_a_server_may_say_unknown_by_a_parameter(server: Server) -> None:
    body = json.dumps(
        {"parameter": [{"name": "result", "valueBoolean": False}, {"name": "x-caused-by-unknown-system", "valueCanonical": SNOMED}]},
    ).encode()
    server.misbehave = lambda handler: reply(handler, 200, body)
    assert TerminologyServer(server.url).membership(SNOMED, "1")[0] == "not_checked"


def holding(arrived: Callable[[], object], released: threading.Event) -> Callable[[BaseHTTPRequestHandler], None]:
    """An answer that says that the question has arrived, and waits for its release."""

    def hold(handler: BaseHTTPRequestHandler) -> None:
        arrived()
        released.wait(10)
        reply(handler, 200, parameters(result=True))

    return hold


def garbage(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"\x00\x01 not http at all\r\n\r\n")
    handler.close_connection = True


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def cut_short(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
    handler.close_connection = True


def endless(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"x" * (ANSWER_BYTES_MAX + 1))
    handler.close_connection = True


@pytest.mark.parametrize(
    "misbehave",
    [
        garbage,
        hang_up,
        cut_short,
        endless,
        lambda handler: reply(handler, 500, b""),
        lambda handler: reply(handler, 503, b"", **{"Retry-After": "1"}),
        lambda handler: reply(handler, 401, b""),
        lambda handler: reply(handler, 429, b""),
        lambda handler: reply(handler, 302, b"", Location="http://elsewhere.example/"),
        lambda handler: reply(handler, 302, b"", Location="http://[elsewhere:x/"),
        lambda handler: reply(handler, 200, gzip.compress(parameters(result=False)), **{"Content-Encoding": "gzip"}),
        lambda handler: reply(handler, 200, b"<html>"),
        lambda handler: reply(handler, 200, b"[" * 100_000),
        lambda handler: reply(handler, 200, b"[]"),
        lambda handler: reply(handler, 200, b'{"parameter": 5}'),
        lambda handler: reply(handler, 200, b'{"parameter": [{"name": "result", "valueBoolean": "yes"}]}'),
    ],
)
def test_no_misbehaviour_of_the_server_becomes_a_verdict(server: Server, misbehave: Callable[[BaseHTTPRequestHandler], None]) -> None:
    server.misbehave = misbehave
    client = TerminologyServer(server.url, timeout_s=2)
    membership, reason = client.membership(SNOMED, "73211009")
    assert membership == "not_checked"
    assert reason is not None
    assert "73211009" not in reason
    server.misbehave = None
    assert client.membership(SNOMED, "73211009") == ("member", None)


def test_a_silent_server_is_given_up_on_in_time(server: Server) -> None:
    released = threading.Event()

    def wait(_: BaseHTTPRequestHandler) -> None:
        released.wait(10)

    server.misbehave = wait
    try:
        assert TerminologyServer(server.url, timeout_s=0.2).membership(SNOMED, "1") == ("not_checked", "the terminology server is too slow")
    finally:
        released.set()


def test_an_absent_server_is_not_checked() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        client = TerminologyServer(f"http://127.0.0.1:{taken.getsockname()[1]}", timeout_s=1)
        assert client.membership(SNOMED, "1") == ("not_checked", "the terminology server cannot be reached (ConnectionRefusedError)")


def test_the_breaker_leaves_a_failing_server_alone_then_lets_one_question_through(server: Server) -> None:
    clock = Clock()
    client = TerminologyServer(server.url, failures_max=3, pause_s=30, clock=clock)
    server.misbehave = lambda handler: reply(handler, 500, b"")
    for number in range(10):
        client.membership(SNOMED, str(number))
    assert len(server.asked) == 3
    clock.now += 31
    client.membership(SNOMED, "10")
    assert "left alone" in (client.membership(SNOMED, "11")[1] or "")
    assert len(server.asked) == 4
    clock.now += 31
    server.misbehave = None
    assert client.membership(SNOMED, "73211009") == ("member", None)
    assert client.membership(SNOMED, "1") == ("not_member", None)


def test_while_one_question_tries_again_the_others_wait_for_no_answer(server: Server) -> None:
    clock, arrived, released = Clock(), threading.Event(), threading.Event()
    client = TerminologyServer(server.url, failures_max=1, pause_s=30, clock=clock)
    server.misbehave = lambda handler: reply(handler, 500, b"")
    client.membership(SNOMED, "1")
    clock.now += 31
    server.misbehave = holding(arrived.set, released)
    trial = threading.Thread(target=client.membership, args=(SNOMED, "2"))
    trial.start()
    try:
        assert arrived.wait(10)
        assert "left alone" in (client.membership(SNOMED, "3")[1] or "")
    finally:
        released.set()
        trial.join()
    assert client.membership(SNOMED, "2") == ("member", None)


def test_an_answer_without_end_is_cut_off(server: Server) -> None:
    server.misbehave = endless
    assert TerminologyServer(server.url).membership(SNOMED, "1") == ("not_checked", "the terminology server's answer is too large")


def test_what_cannot_be_encoded_is_no_member_and_is_not_asked(server: Server) -> None:
    assert TerminologyServer(server.url).membership(SNOMED, "\udc80") == ("not_member", None)
    assert server.asked == []


@pytest.mark.parametrize(
    ("credentials", "header"),
    [({"token": "t0ken-secret"}, "Bearer t0ken-secret"), ({"umls_api_key": "k3y-secret"}, "Basic YXBpa2V5OmszeS1zZWNyZXQ=")],
)
def test_credentials_travel_in_a_header_and_show_nowhere(server: Server, credentials: dict[str, str], header: str) -> None:
    client = TerminologyServer(server.url, **credentials)  # type: ignore[arg-type]
    server.misbehave = lambda handler: reply(handler, 401, b"")
    answer = client.membership(SNOMED, "73211009")
    assert server.asked[0][2]["Authorization"] == header
    assert "secret" not in repr(client) + str(answer) + server.asked[0][0] + str(server.asked[0][1])


@pytest.mark.parametrize(
    "url",
    [
        "ftp://tx.example/fhir",
        "tx.example/fhir",
        "http://",
        "https://user:pw@tx.example/fhir",
        "https://tx.example/fhir?x=1",
        "http://tx.example:99999",
        "http://[tx/",
        "http://é..x/",
    ],
)
def test_a_base_url_that_cannot_be_used_is_a_configuration_error(url: str) -> None:
    with pytest.raises(ConfigError, match="terminology server"):
        TerminologyServer(url)


def test_credentials_never_travel_unencrypted_to_another_machine() -> None:
    with pytest.raises(ConfigError, match="https"):
        TerminologyServer("http://tx.example/fhir", token="secret")
    with pytest.raises(ConfigError, match="no header can carry"):
        TerminologyServer("https://tx.example/fhir", token="se\r\ncret")
    assert "secret" not in repr(umls_server("secret"))
    assert UMLS_BASE_URL.startswith("https://")


def drip_headers(handler: BaseHTTPRequestHandler) -> None:
    """One byte after another, each well within a socket's timeout."""
    handler.close_connection = True
    with contextlib.suppress(OSError):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        for _ in range(200):
            handler.wfile.write(b"x")
            time.sleep(0.05)


def drip_body(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True
    with contextlib.suppress(OSError):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        for _ in range(200):
            handler.wfile.write(b" ")
            time.sleep(0.05)


@pytest.mark.parametrize("drip", [drip_headers, drip_body])
def test_a_server_that_drips_is_given_up_on_in_time(server: Server, drip: Callable[[BaseHTTPRequestHandler], None]) -> None:
    server.misbehave = drip
    begun = time.monotonic()
    answer = TerminologyServer(server.url, timeout_s=0.3).membership(SNOMED, "1")
    assert answer == ("not_checked", "the terminology server is too slow")
    assert time.monotonic() - begun < 5


def test_many_threads_share_one_client_and_its_cache(server: Server) -> None:
    client = TerminologyServer(server.url, cache_max=8, timeout_s=30)
    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(lambda number: client.membership(SNOMED, "73211009" if number % 2 else str(number % 10)), range(400)))
    assert {membership for membership, _ in answers[1::2]} == {"member"}
    assert {membership for membership, _ in answers[::2]} == {"not_member"}
    assert len(client._cache) <= 8


def test_no_more_questions_are_open_at_once_than_allowed(server: Server) -> None:
    arrived, released = threading.Semaphore(0), threading.Event()
    server.misbehave = holding(arrived.release, released)
    client = TerminologyServer(server.url, concurrent_max=2, timeout_s=10)
    with ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(client.membership, SNOMED, str(number)) for number in range(6)]
        try:
            assert arrived.acquire(timeout=10)
            assert arrived.acquire(timeout=10)
            assert not arrived.acquire(timeout=0.2)
        finally:
            released.set()
        assert {answer.result()[0] for answer in asked} == {"member"}


def test_who_waits_too_long_for_a_connection_is_not_checked(server: Server) -> None:
    arrived, released = threading.Event(), threading.Event()
    server.misbehave = holding(arrived.set, released)
    client = TerminologyServer(server.url, concurrent_max=1, timeout_s=0.5)
    first = threading.Thread(target=client.membership, args=(SNOMED, "1"))
    first.start()
    try:
        assert arrived.wait(10)
        membership, reason = client.membership(SNOMED, "2")
        assert membership == "not_checked"
        assert reason
    finally:
        released.set()
        first.join()


def test_questions_one_after_another_share_a_connection(server: Server) -> None:
    client = TerminologyServer(server.url)
    for number in range(5):
        assert client.membership(SNOMED, str(number)) == ("not_member", None)
    assert len(server.asked) == 5
    assert server.connections == 1


def test_a_kept_connection_that_the_server_drops_costs_no_answer(server: Server) -> None:
    client = TerminologyServer(server.url, failures_max=1)
    client.membership(SNOMED, "1")

    def hang_up_once(handler: BaseHTTPRequestHandler) -> None:
        server.misbehave = None
        hang_up(handler)

    server.misbehave = hang_up_once
    assert client.membership(SNOMED, "73211009") == ("member", None)
    assert server.connections == 2


def test_a_server_that_drips_over_a_kept_connection_is_given_up_on_in_time(server: Server) -> None:
    client = TerminologyServer(server.url, timeout_s=2)
    assert client.membership(SNOMED, "73211009") == ("member", None)
    server.misbehave = drip_headers
    assert client.membership(SNOMED, "1") == ("not_checked", "the terminology server is too slow")
    assert server.connections == 1


def test_connections_are_closed_with_the_client(server: Server) -> None:
    ended = threading.Event()

    def wait_for_the_end(handler: BaseHTTPRequestHandler) -> None:
        reply(handler, 200, parameters(result=True))
        handler.close_connection = True
        if handler.rfile.read(1) == b"":
            ended.set()

    server.misbehave = wait_for_the_end
    client = TerminologyServer(server.url)
    client.membership(SNOMED, "1")
    assert not ended.is_set()
    del client
    assert ended.wait(10)


def test_no_cookie_of_a_server_is_kept(server: Server) -> None:
    server.misbehave = lambda handler: reply(handler, 200, parameters(result=True), **{"Set-Cookie": "crumb=1; Path=/"})
    client = TerminologyServer(server.url)
    client.membership(SNOMED, "1")
    client.membership(SNOMED, "2")
    assert [headers.get("Cookie") for _, _, headers in server.asked] == [None, None]


def test_a_redirect_takes_neither_question_nor_credentials_to_another_server(server: Server) -> None:
    other = Server()
    try:
        server.misbehave = lambda handler: reply(handler, 307, b"", Location=other.url)
        membership, reason = TerminologyServer(server.url, token="secret").membership(SNOMED, "1")
    finally:
        other.close()
    assert membership == "not_checked"
    assert "redirects" in (reason or "")
    assert other.asked == []


def test_proxies_and_netrc_of_the_environment_are_not_used(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("default login someone password canary\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert TerminologyServer(server.url).membership(SNOMED, "73211009") == ("member", None)
    assert "Authorization" not in server.asked[0][2]


def test_neither_codes_nor_credentials_stand_in_any_log(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    TerminologyServer(server.url, token="t0ken-secret").membership(SNOMED, "73211009")
    assert "73211009" not in caplog.text
    assert "secret" not in caplog.text


@pytest.fixture
def tls_server(tmp_path: Path) -> Iterator[tuple[Server, Path]]:
    """A server behind TLS, and the file with the authority that vouches for it."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    started = Server(context)
    yield started, tmp_path / "authority.pem"
    started.close()


def test_over_tls_a_connection_is_kept_too(tls_server: tuple[Server, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    server, authority = tls_server
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    client = TerminologyServer(server.url, token="secret", timeout_s=30)
    assert client.membership(SNOMED, "73211009") == ("member", None)
    assert client.membership(SNOMED, "1") == ("not_member", None)
    assert server.connections == 1


def test_a_server_without_a_trusted_certificate_is_asked_nothing(tls_server: tuple[Server, Path]) -> None:
    server, _ = tls_server
    reason = "the terminology server cannot be reached (SSLCertVerificationError)"
    assert TerminologyServer(server.url, token="secret", timeout_s=30).membership(SNOMED, "1") == ("not_checked", reason)
    assert server.asked == []
