"""Jars from Maven, fetched once into the user's cache."""

import hashlib
import shutil
import subprocess
from pathlib import Path

from touchstone.scorers.base import ConfigError
from touchstone.scorers.cache import cache_folder, made_whole

FETCH_TIMEOUT_S = 900
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"


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
