"""Real servers that speak S3, as processes: moto's, which is always there, and versitygw, where it is installed.

versitygw keeps objects as files, so it can be killed and started again on the same data. It is one binary (`go install
github.com/versity/versitygw/cmd/versitygw@latest`); the variable VERSITYGW names it where it is not on PATH.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import pytest

from touchstone.ops.local.kafka.processes import free_ports

KINDS = ("moto", "versitygw")
START_TIMEOUT_S = 60.0
_SECRET = "not-secret-at-all"


class S3Server:
    """One server. `environment`: how a client finds and opens it, in production too. A context manager."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self._folder = folder
        (self._port,) = free_ports("127.0.0.1", 1)
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"http://127.0.0.1:{self._port}"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": _SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ALLOW_HTTP": "true",
        }

    def _command(self) -> Sequence[str]:
        if self.kind == "moto":
            return [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self._port)]
        binary = os.environ.get("VERSITYGW") or shutil.which("versitygw")
        if binary is None:
            pytest.skip("versitygw is not installed (tests/s3_servers.py says how)")
        (self._folder / "data").mkdir(parents=True, exist_ok=True)
        # Temporary files with names, as on file systems without O_TMPFILE: the harder case when it is killed.
        options = ["--port", f"127.0.0.1:{self._port}", "--access", "test", "--secret", _SECRET, "--quiet"]
        return [binary, *options, "posix", "--disableotmp", str(self._folder / "data")]

    def start(self) -> None:
        """Start it, and wait until it answers. Skips where it is not installed."""
        command = self._command()
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._answers():
            assert self._process.poll() is None, (self._folder / "server.log").read_text()
            assert time.monotonic() < deadline, f"{self.kind} does not answer"
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(self.url, timeout=5).close()
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    def kill(self) -> None:
        """SIGKILL; `start` starts it again, at the same address."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)

    def bucket(self) -> str:
        """The name of a bucket that is new and empty."""
        import boto3

        name = f"b-{uuid.uuid4().hex[:12]}"
        keys = {"aws_access_key_id": "test", "aws_secret_access_key": _SECRET}
        boto3.client("s3", endpoint_url=self.url, region_name="us-east-1", **keys).create_bucket(Bucket=name)
        return name

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.kill()
