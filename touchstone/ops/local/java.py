"""A Java on this machine that is new enough for what runs on it."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from touchstone.scorers.base import ConfigError

JAVA_VERSION_MIN = 17
_ANSWER_S = 30


def find_java(advice: str, too_old: str) -> str:
    """Path of a Java: `$JAVA_HOME`, else the PATH. Raises `ConfigError` with one of the two, which say what to do."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if java is None:
        raise ConfigError(f"no Java {'below JAVA_HOME' if home else 'on the PATH'}: {advice}")
    found = java_version(answer_of(java, "-version", advice).stderr)
    if found is None or found < JAVA_VERSION_MIN:
        raise ConfigError(f"{java} is Java {found or 'of an unknown version'}: {too_old}")
    return java


def answer_of(java: str, option: str, advice: str) -> subprocess.CompletedProcess[str]:
    """What a Java says of itself. Raises `ConfigError` where it does not run."""
    try:
        return subprocess.run([java, option], capture_output=True, text=True, timeout=_ANSWER_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"{java} does not run ({type(error).__name__}): {advice}") from None


def java_version(answer: str) -> int | None:
    """The feature release in the output of `java -version` (`"1.8.0_392"` is 8); None where there is none."""
    match = re.search(r'version "(?:1\.)?(\d+)', answer)
    return int(match.group(1)) if match else None
