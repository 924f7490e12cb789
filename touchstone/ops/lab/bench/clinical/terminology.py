"""Questions a second that the terminology client asks a server behind TLS, and over how many connections.

200 questions, none in the cache, from one thread and from eight: with one client for all of them, and with a new one for each, which is the cost of
a connection for every question. The server is a process of its own.
"""

from __future__ import annotations

import json
import os
import ssl
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

import trustme

from touchstone.ops.lab.bench.output import table
from touchstone.ops.lab.bench.processes import process, received
from touchstone.ops.lab.command import Arguments
from touchstone.scorers.clinical.checks.terminology_server import TerminologyServer
from touchstone.scorers.engines.machine import machine

QUESTIONS, REPEATS = 200, 5
_SYSTEM = "http://snomed.info/sct"
_ANSWER = json.dumps({"resourceType": "Parameters", "parameter": [{"name": "result", "valueBoolean": True}]}).encode()


class _Answers(BaseHTTPRequestHandler):
    """Answers every question with yes, and counts connections."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    connections = 0

    def setup(self) -> None:
        _Answers.connections += 1
        super().setup()

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(_ANSWER)))
        self.end_headers()
        self.wfile.write(_ANSWER)

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """Ignore a client that disconnects."""


def serve(pipe: Connection, certificate: str) -> None:
    """Serve until the other end of the pipe is closed; every message is answered with the connections taken since the last one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with _Server(("127.0.0.1", 0), _Answers) as server, ThreadPoolExecutor(1) as pool:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        pool.submit(server.serve_forever, 0.05)
        pipe.send(server.server_address[1])
        with suppress(EOFError):
            while True:
                pipe.recv()
                pipe.send(_Answers.connections)
                _Answers.connections = 0
        server.shutdown()


def questions_per_second(url: str, threads: int, *, is_shared: bool) -> float:
    """Ask every question once."""
    shared = TerminologyServer(url, timeout_s=30)

    def ask(number: int) -> str:
        client = shared if is_shared else TerminologyServer(url, timeout_s=30)
        return client.membership(_SYSTEM, str(number))[0]

    with ThreadPoolExecutor(threads) as pool:
        begun = time.perf_counter()
        answers = set(pool.map(ask, range(QUESTIONS)))
        took_s = time.perf_counter() - begun
    if answers != {"member"}:
        sys.exit("the server did not answer every question")
    return QUESTIONS / took_s


def main(arguments: Sequence[str]) -> None:
    """Measure, the contenders in turn, and print the medians."""
    Arguments("bench terminology", __doc__).parse_args(arguments)
    authority = trustme.CA()
    found: dict[tuple[bool, int], list[tuple[float, int]]] = {}
    with TemporaryDirectory() as folder:
        server_file, authority_file = (str(Path(folder) / f"{name}.pem") for name in ("server", "authority"))
        authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(server_file)
        authority.cert_pem.write_to_path(authority_file)
        os.environ["SSL_CERT_FILE"] = authority_file
        with process(serve, server_file) as (server, _):
            url = f"https://127.0.0.1:{received(server)}/fhir"
            for is_shared, threads in [(is_shared, threads) for threads in (1, 8) for is_shared in (True, False)] * REPEATS:
                rate = questions_per_second(url, threads, is_shared=is_shared)
                server.send(None)
                found.setdefault((is_shared, threads), []).append((rate, received(server)))
    rows = [
        (
            "one client" if is_shared else "a client for every question",
            f"{threads}",
            f"{statistics.median(rate for rate, _ in runs):,.0f}",
            f"{statistics.median(count for _, count in runs):.0f}",
        )
        for (is_shared, threads), runs in found.items()
    ]
    print(f"Machine: {machine()}. {QUESTIONS} questions, medians of {REPEATS} runs in turn.\n")
    print("\n".join(table(("", "threads", "questions/s", "connections"), rows)))
