"""Stores of objects that can be taken away while archivers write: a folder, and a server that speaks S3 and keeps its objects on this disk."""

import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from touchstone.ops.local.kafka.processes import free_ports
from touchstone.ops.store.archive.objects import Objects
from touchstone.scorers.base import ConfigError

START_TIMEOUT_S = 60.0
BUCKET = "chaos-cases"
_SECRET = "nothing-is-kept-from-anybody"


class ObjectStore(Protocol):
    """Where the archivers of a run keep cases. `environment`: the settings that lead a process to it."""

    environment: dict[str, str]

    def leave(self) -> None:
        """Go away: whatever is asked of it fails from now on."""
        ...

    def come_back(self) -> None:
        """Be there again, with everything that it had acknowledged."""
        ...

    def objects(self) -> Objects:
        """The objects, for the judge."""
        ...

    def close(self) -> None:
        """Leave no process behind."""
        ...


class Folder:
    """A folder; while it is away, a file has its name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._aside = folder.with_name(f"{folder.name}.away")
        folder.mkdir(parents=True)
        self.environment = {"TOUCHSTONE_ARCHIVE_URL": f"file://{folder}"}

    def leave(self) -> None:
        """Move the folder away."""
        self.folder.rename(self._aside)
        self.folder.touch()

    def come_back(self) -> None:
        """Move it back."""
        if self._aside.exists():
            self.folder.unlink()
            self._aside.rename(self.folder)

    def objects(self) -> Objects:
        """Its objects."""
        return Objects.open(self.environment["TOUCHSTONE_ARCHIVE_URL"])

    def close(self) -> None:
        """Nothing runs."""


class S3Server:
    """A server on loopback, as a process that is killed and started again at the same address. `environment`: how clients find and open it."""

    def __init__(self, folder: Path, port: int, command: Sequence[str]) -> None:
        self._folder = folder
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"http://127.0.0.1:{port}"
        self.environment = {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": _SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ALLOW_HTTP": "true",
            "TOUCHSTONE_ARCHIVE_URL": f"s3://{BUCKET}/cases",
        }

    @classmethod
    def moto(cls, folder: Path) -> "S3Server":
        """moto's: with its process, everything that it holds is gone. It has no bucket."""
        (port,) = free_ports("127.0.0.1", 1)
        return cls(folder, port, [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)])

    @classmethod
    def versitygw(cls, folder: Path) -> "S3Server":
        """versitygw: every object is a file below `folder`. Raises `ConfigError` where it is not installed."""
        binary = os.environ.get("VERSITYGW") or shutil.which("versitygw")
        if binary is None:
            raise ConfigError("versitygw, a server that speaks S3, is neither on PATH nor named by VERSITYGW")
        (port,) = free_ports("127.0.0.1", 1)
        data = folder / "data"
        (data / BUCKET).mkdir(parents=True, exist_ok=True)
        # Temporary files with names, as on file systems that know no others: what a kill leaves of them must not become objects.
        options = ["--port", f"127.0.0.1:{port}", "--access", "test", "--secret", _SECRET, "--quiet"]
        return cls(folder, port, [binary, *options, "posix", "--disableotmp", str(data)])

    def start(self) -> None:
        """Start it, and wait until it answers. Raises `ConfigError`."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise ConfigError(f"the server of objects does not start; see {self._folder / 'server.log'}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(self.url, timeout=5).close()
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    def leave(self) -> None:
        """SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None

    def come_back(self) -> None:
        """Start it again, on what it holds."""
        if self._process is None:
            self.start()

    def objects(self) -> Objects:
        """The objects of the bucket."""
        from obstore.store import S3Store

        environment = self.environment
        return Objects(
            S3Store(
                BUCKET,
                prefix="cases",
                endpoint=self.url,
                allow_http=True,
                region=environment["AWS_REGION"],
                access_key_id=environment["AWS_ACCESS_KEY_ID"],
                secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
            )
        )

    def close(self) -> None:
        """Kill it."""
        self.leave()
