"""The files of another commit of this repository, whose runners are compared with those of this tree."""

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from touchstone.scorers.base import ConfigError


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """A directory with the files of a commit, for the length of the block. Raises `ConfigError`."""
    try:
        root = subprocess.run(["git", "-C", Path(__file__).parent, "rev-parse", "--show-toplevel"], check=True, capture_output=True, text=True).stdout
        packed = subprocess.run(["git", "-C", root.strip(), "archive", commit], check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise ConfigError(f"git does not give the files of {commit!r}: name a commit of this checkout") from None
    with tempfile.TemporaryDirectory(prefix="touchstone-before-") as directory:
        with tarfile.open(fileobj=io.BytesIO(packed)) as files:
            files.extractall(directory, filter="data")
        yield Path(directory)
