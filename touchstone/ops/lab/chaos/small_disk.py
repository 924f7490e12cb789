"""Full disks: a file system in memory that is filled and emptied, below the store or below the broker."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from touchstone.scorers.base import ConfigError

#: Far more than a run writes; memory is taken only for what is written.
SIZE_MAX = 1024 * 1024 * 1024


@dataclass(frozen=True)
class SmallDisk:
    """A file system of its own at `folder`."""

    folder: Path

    def fill(self) -> None:
        """Leave no space: the file system becomes as small as what it holds."""
        while True:  # what is written meanwhile makes a size too small
            usage = os.statvfs(self.folder)
            if self._resize((usage.f_blocks - usage.f_bfree) * usage.f_frsize):
                return

    def free(self) -> None:
        """Make room again."""
        self._resize(SIZE_MAX)

    def _resize(self, size: int) -> bool:
        return _run("mount", "-o", f"remount,size={size}", str(self.folder)) == ""


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """Mount one. Raises `ConfigError` where that is not possible."""
    folder.mkdir(parents=True, exist_ok=True)
    if fault := _run("mount", "-t", "tmpfs", "-o", f"size={SIZE_MAX}", "tmpfs", str(folder)):
        raise ConfigError(f"a small file system cannot be mounted at {folder} ({fault}); it takes root on Linux")
    try:
        yield SmallDisk(folder)
    finally:
        _run("umount", "-l", str(folder))


def _run(*command: str) -> str:
    """What went wrong with a command, in one line; empty if nothing did."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    return "" if done.returncode == 0 else done.stderr.strip().partition("\n")[0] or f"exit code {done.returncode}"
