"""A viewer as a process of its own, on traces that are made for the test."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from touchstone.ops.cli import app


def sample_traces(folder: Path, count: int) -> list[Path]:
    made = CliRunner().invoke(app, ["eval", "sample-traces", "--count", str(count), "--output", str(folder)])
    assert made.exit_code == 0, made.output
    return sorted(folder.glob("*.json"))


@dataclass
class Viewer:
    process: "subprocess.Popen[str]"
    address: str
    said: list[str] = field(default_factory=list)

    def ask(self, path: str, method: str = "GET", body: Any = None, etag: str | None = None) -> tuple[Any, str]:
        """The JSON of an answer, and its entity tag."""
        headers = {"Content-Type": "application/json"} | ({"If-Match": etag} if etag else {})
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.address + path, data, headers, method=method), timeout=30) as answer:
            return json.loads(answer.read()), answer.headers.get("etag", "")

    def told(self, text: str) -> str:
        """The first line that contains it, which on a busy machine comes after the page's address."""
        assert self.process.stderr is not None
        while not (found := [line for line in self.said if text in line]):
            line = self.process.stderr.readline()
            assert line, self.said
            self.said.append(line.rstrip())
        return found[0]

    def end(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        self.process.wait(30)
        self.said += (self.process.stderr or iter(())).read().splitlines()  # type: ignore[union-attr]
        return self.process.returncode


@contextmanager
def viewing(*arguments: str | Path, cwd: Path, brokers: str = "127.0.0.1:1") -> Iterator[Viewer]:
    """Starts the command and waits for its page."""
    command = [sys.executable, "-m", "touchstone.ops.cli", "viewer", *map(str, arguments), "--port", "0"]
    environment = {**os.environ, "KAFKA_BOOTSTRAP_SERVERS": brokers}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=cwd, env=environment) as process:
        viewer = Viewer(process, "")
        try:
            assert process.stderr is not None
            for line in process.stderr:
                viewer.said.append(line.rstrip())
                if found := re.search(r"open (http://\S+)", line):
                    viewer.address = found[1]
                    break
            assert viewer.address, viewer.said
            yield viewer
        finally:
            if process.poll() is None:
                process.kill()
