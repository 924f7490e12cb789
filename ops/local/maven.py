"""Jars from Maven, and whatever else is fetched once, in the user's cache: whole or not there, made by one process while others wait."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from touchstone.scorers.base import ConfigError

FETCH_TIMEOUT_S = 900
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"


def cache_folder() -> Path:
    """Where everything that was fetched is kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "touchstone"


def jars_folder(name: str, pom: Path) -> Path:
    """Where the jars of exactly this pom are, or would be, kept."""
    return cache_folder() / f"{name}-{hashlib.sha256(pom.read_bytes()).hexdigest()[:8]}"


def find_maven(what: str, other_ways: str = "") -> str:
    """Path of Maven. `what` it fetches, and `other_ways` to do without, are for the message of the `ConfigError` that is raised without it."""
    maven = shutil.which("mvn")
    if maven is None:
        raise ConfigError(f"no Maven (mvn) on the PATH, which fetches {what} once: install it (Debian: maven){other_ways}")
    return maven


def fetch_jars(maven: str, pom: Path, libs: Path, wanted: str, what: str) -> None:
    """Copy a pom's jars to `libs`. `wanted`: a pattern that one of them has. Raises `ConfigError`."""
    with made_whole(libs) as folder:
        if folder is None:
            return
        command = [maven, "-B", "-q", "-f", str(pom), _COPY, "-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise ConfigError(f"Maven did not fetch {what} within {FETCH_TIMEOUT_S} s: check its network settings") from None
        if done.returncode != 0 or not any(folder.glob(wanted)):
            lines = [line for line in done.stdout.splitlines() if "ERROR" in line] or ["no output"]
            raise ConfigError(f"Maven could not fetch {what}: {lines[0][:300]}")


@contextmanager
def made_whole(target: Path) -> Iterator[Path | None]:
    """Give a scratch folder that becomes `target` at the end, or None where `target` is there already.

    Of several processes one makes it and the others wait; one that fails leaves nothing. Raises `ConfigError` for a cache that cannot be written.
    """
    import fcntl  # Unix only, like what is fetched here

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.with_name(f"{target.name}.lock").open("w") as lock, tempfile.TemporaryDirectory(dir=target.parent, prefix=".making-") as scratch:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the system releases it when the process ends
            if target.is_dir():
                yield None
                return
            folder = Path(scratch) / "whole"
            folder.mkdir()
            yield folder
            folder.rename(target)
    except OSError as error:
        raise ConfigError(f"{target.parent}: the cache cannot be written ({error.strerror}); set XDG_CACHE_HOME to a writable folder") from None
