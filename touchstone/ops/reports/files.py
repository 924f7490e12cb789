"""Report files: names that cannot leave their directory, checks before the work, and atomic writes."""

import contextlib
import io
import re
import secrets
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from touchstone.ops.reports.layouts import SUFFIXES
from touchstone.scorers.base import ConfigError

_NAME_CHARS_MAX = 80


def name_part(identifier: str) -> str:
    """An identifier as a part of a file name: letters, digits, `_`, `.` and `-`, no dot in front, at most 80 characters."""
    return re.sub(r"[^\w.-]+", "_", identifier).lstrip(".")[:_NAME_CHARS_MAX] or "unnamed"


def report_path(directory: Path, concern_id: str, format: str, generated_at: datetime, *, title: str = "SAFE v0") -> Path:
    """`{title}_{concern_id}_{timestamp}` with the format's ending (SAFE v0 §5.3), numbered where that name is taken."""
    stamp = generated_at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    stem = f"{name_part(title)}_{name_part(concern_id)}_{stamp}"
    path, number = directory / f"{stem}{SUFFIXES[format]}", 2
    while path.exists():
        path, number = directory / f"{stem}_{number}{SUFFIXES[format]}", number + 1
    return path


def check_directory(directory: Path, option: str) -> None:
    """Make the directory if need be and try to write in it. Raises `ConfigError` naming the option that sets it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        probe = directory / f".touchstone-{secrets.token_hex(6)}"
        probe.touch(exist_ok=False)
        probe.unlink()
    except OSError as error:
        raise ConfigError(f"{directory}: cannot be written ({error.strerror}); set {option} to a directory that can") from None


def write_whole(path: Path, report: str | IO[bytes], *, private: bool = False) -> None:
    """Write a report so that a reader sees the old file or the whole new one. Raises `ConfigError` if it cannot be written.

    `report`: its text, or a stream of its bytes, which is never held as a whole. `private`: only its owner may read it.
    """
    source = io.BytesIO(report.encode("utf-8")) if isinstance(report, str) else report
    try:
        if path.exists() and not path.is_file():
            # A pipe or a device cannot be replaced by a file.
            _copy(source, path)
            return
        # If the path is a link, the file behind it is replaced, not the link.
        path = path.resolve()
        beside = path.with_name(f".{path.name[:_NAME_CHARS_MAX]}-{secrets.token_hex(6)}")
        try:
            if private:
                beside.touch(mode=0o600, exist_ok=False)
            _copy(source, beside)
            beside.replace(path)
        except BaseException:  # also a signal that ends the command
            with contextlib.suppress(OSError):
                beside.unlink()
            raise
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links
        reason = getattr(error, "strerror", None) or "its links form a loop"
        raise ConfigError(f"{path}: cannot be written ({reason}); check --output and free space") from None


def _copy(source: IO[bytes], path: Path) -> None:
    with path.open("wb") as target:
        shutil.copyfileobj(source, target)
