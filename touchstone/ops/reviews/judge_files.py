"""Writes a judge's folder: its newest measurement, the parts of its patients, and decisions, which are only ever appended."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from touchstone.ops.reports.files import write_whole
from touchstone.schemas.calibration import Calibration, Decision
from touchstone.scorers.base import ConfigError
from touchstone.scorers.calibration.folder import CALIBRATION, HISTORY, SPLITS, Splits, folder_of

#: The file by which a measurement that runs is known.
MEASURING: Final = ".measuring"


@contextmanager
def measuring(root: Path, subject: str) -> Iterator[None]:
    """Keeps other measurements of a subject away, so that no two of them are the first to read the test set. Raises `ConfigError` while one runs."""
    path = _made(root, subject) / MEASURING
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror}); check the setting judges.folder, and free space") from None
    try:
        if not _locked(descriptor, waits=False):
            raise ConfigError(f"{subject} is being calibrated by another process; wait until that has ended")
        yield
    finally:
        os.close(descriptor)


def write_splits(root: Path, subject: str, splits: Splits) -> None:
    """Write which part each patient is in. Raises `ConfigError`."""
    write_whole(_made(root, subject) / SPLITS, splits.model_dump_json(indent=2) + "\n")


def write_calibration(root: Path, calibration: Calibration) -> None:
    """Write the newest measurement, in place of the one before. Raises `ConfigError`."""
    write_whole(_made(root, calibration.subject) / CALIBRATION, calibration.model_dump_json(indent=2) + "\n")


def decide(root: Path, decision: Decision) -> None:
    """Append a decision. Two writers both get their line in, and a kill leaves whole lines and at most one that is cut off. Raises `ConfigError`."""
    path = _made(root, decision.subject) / HISTORY
    line = decision.model_dump_json(exclude_defaults=True).encode() + b"\n"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            _locked(descriptor)
            _without_cut_line(descriptor)
            while line:
                line = line[os.write(descriptor, line) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror}); check the setting judges.folder, and free space") from None


def _made(root: Path, subject: str) -> Path:
    folder = folder_of(root, subject)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be made ({error.strerror}); check the setting judges.folder") from None
    return folder


def _locked(descriptor: int, *, waits: bool = True) -> bool:
    """Wait for other writers, where the system has such locks; closing the file gives the lock back. False where another has it and this does not wait."""
    try:
        import fcntl
    except ImportError:  # Windows: appends of one line are whole there, too
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _without_cut_line(descriptor: int) -> None:
    """Drop a last line that a kill cut off: it was never a decision, and the next one would be lost in it."""
    size = os.fstat(descriptor).st_size
    end = size
    while end:
        start = max(0, end - 4_096)
        os.lseek(descriptor, start, os.SEEK_SET)
        found = os.read(descriptor, end - start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    if end < size:
        os.ftruncate(descriptor, end)
