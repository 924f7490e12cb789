"""A system under test, played over real HTTP: plans personas for prompts, generates documents of them, and fails as it is told to."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from touchstone.scorers.clinical.curated import SAMPLE_OUTPUTS, curated_cases

FILES = {"fhir": "fhir.json", "ccda": "ccda.xml", "hl7v2": "hl7v2.txt"}
#: A fault's name and how often it happens before the answer is a good one.
Fault = tuple[str, int]


@dataclass
class Generator:
    """What the server is told, and what it has seen. `faults`: path → fault. `hanging`: set while a request hangs; `go_on`: lets it end."""

    url: str = ""
    faults: dict[str, Fault] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, Any], dict[str, str]]] = field(default_factory=list)
    answers: dict[str, bytes] = field(default_factory=dict)
    hanging: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)
    on_ask: Callable[[str, dict[str, Any]], str | None] = lambda _path, _question: None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def times(self, path: str) -> int:
        return sum(seen == path for seen, _, _ in self.asked)

    def fault_of(self, path: str, question: dict[str, Any], headers: dict[str, str]) -> str | None:
        """Note a request, and say how it is to fail."""
        with self.lock:
            self.asked.append((path, question, headers))
            told = self.on_ask(path, question)
            if told is not None:
                return told
            name, left = self.faults.get(path, ("", 0))
            if left <= 0:
                return None
            self.faults[path] = (name, left - 1)
            return name

    def answer(self, path: str, question: dict[str, Any]) -> bytes:
        """A good answer: the sample outputs of the curated case of that prompt, or of the first one."""
        if path in self.answers:
            return self.answers[path]
        if path == "/api/plan-persona":
            found = next((case.id for case in curated_cases() if case.prompt == question["prompt"]), curated_cases()[0].id)
            return (SAMPLE_OUTPUTS / found / "persona.json").read_bytes()
        form = path.rpartition("/")[2]
        name = question["persona"]["name"]
        folder = next(path.parent for path in SAMPLE_OUTPUTS.glob("*/persona.json") if json.loads(path.read_bytes())["name"] == name)
        return json.dumps({"content": (folder / FILES[form]).read_bytes().decode()}).encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    generator: Generator

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        fault = self.generator.fault_of(self.path, question, dict(self.headers))
        if fault is None:
            self._send(200, self.generator.answer(self.path, question))
        elif fault.isdecimal():
            self._send(int(fault), b"the patient is called Canarybird")
        elif fault == "429-wait":
            self._send(429, b"", {"Retry-After": "0"})
        elif fault == "429-no-year":
            self._send(429, b"", {"Retry-After": "Mon, 01 Jan 99999999999 00:00:00 GMT"})
        elif fault == "redirect":
            self._send(307, b"", {"Location": "/elsewhere"})
        elif fault == "hang":
            self.generator.hanging.set()
            self.generator.go_on.wait(60)
            self.close_connection = True
        elif fault == "drip":
            # Each wait for bytes is short; together they never end.
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            with contextlib.suppress(OSError):
                while not self.generator.go_on.wait(0.02):
                    self.wfile.write(b" ")
            self.close_connection = True
        elif fault == "half":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
            self.close_connection = True
        elif fault == "reset":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        elif fault == "huge":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            try:
                for _ in range(1_000):
                    self.wfile.write(b" " * 65_536)
            except OSError:
                pass
            self.close_connection = True
        else:
            self._send(200, fault.encode())

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def generator() -> Iterator[Generator]:
    told = Generator()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"generator": told}))
    server.daemon_threads = True
    server.block_on_close = False
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that goes away is what some tests are about
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    told.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield told
    finally:
        told.go_on.set()
        server.shutdown()
        server.server_close()
        thread.join(10)
