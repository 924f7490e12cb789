"""The user's cache. Its entries are complete or missing: one process makes an entry while others wait."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from touchstone.scorers.base import ConfigError


def cache_folder() -> Path:
    """The folder of everything that Touchstone fetches or unpacks."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "touchstone"


@contextmanager
def made_whole(target: Path, is_whole: Callable[[Path], bool] = Path.is_dir) -> Iterator[Path | None]:
    """Yield a scratch folder that becomes `target` at the end, or None if `target` exists and `is_whole`.

    One process makes it while others wait. A process that fails leaves nothing behind; what a killed one left is removed.
    Raises `ConfigError` if the cache cannot be written.
    """
    scratch_name = f".making-{target.name}-"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.with_name(f"{target.name}.lock").open("w") as lock:
            _wait_for(lock)
            if target.is_dir() and is_whole(target):
                yield None
                return
            for left in target.parent.glob(f"{scratch_name}*"):
                shutil.rmtree(left, ignore_errors=True)
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=scratch_name) as scratch:
                folder = Path(scratch) / "whole"
                folder.mkdir()
                yield folder
                if target.exists():
                    target.rename(Path(scratch) / "broken")
                folder.rename(target)
    except OSError as error:
        raise ConfigError(f"{target.parent}: the cache cannot be written ({error.strerror}); set XDG_CACHE_HOME to a writable folder") from None


def _wait_for(lock: IO[str]) -> None:
    """Hold the lock until the file is closed; the system releases it when the process ends. Without such locks, each process makes its own entry."""
    try:
        import fcntl
    except ImportError:  # Windows: the rename at the end still lets only a whole folder appear
        return
    fcntl.flock(lock, fcntl.LOCK_EX)
