"""Clinical files on disk: named, or found in directories, and read one at a time within a bound.

A directory is walked in name order. Hidden files are left out. A link is followed only where it leads to a file inside the directory;
no linked directory is entered, so that links in a circle lead nowhere. What is passed over is told, not lost.
"""

import errno
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

STANDARD_INPUT: Final = Path("-")
#: Bytes of one file: what the FHIR validator reads. HL7 v2 has a lower bound of its own.
FILE_BYTES_MAX: Final = 100 * 1024 * 1024
#: Directories nested in directories.
DEPTH_MAX: Final = 64
#: Why files are not read; one of these stands in `not_checked`.
TOO_LARGE: Final = f"larger than {FILE_BYTES_MAX // 1024**2} MiB: not read"
_OUTSIDE: Final = "a link that leads out of the directory is not followed; name it to have it validated"
_NO_FILE: Final = "neither a file nor a directory"
_MEND: Final = {
    errno.EACCES: "check its permissions",
    errno.EPERM: "check its permissions",
    errno.EBADF: "pipe a document into it, or name a file",
    errno.EIO: "check the disk",
    errno.EMFILE: "close other files, or raise the limit (ulimit -n)",
}


@dataclass(frozen=True, slots=True)
class ClinicalFile:
    """A file to validate. `named`: on the command line, not found in a directory. `passed_over`, `problem`: why it is not read."""

    path: Path
    named: bool
    passed_over: str | None = None
    problem: str | None = None

    @property
    def name(self) -> str:
        """The path as it was given; bytes that are no UTF-8 are shown as escapes, so that any program can read the name."""
        return os.fsencode(self.path).decode("utf-8", "backslashreplace")

    def size(self) -> int:
        """Its bytes, where that can be told before it is read; else 0."""
        if self.path == STANDARD_INPUT or self.passed_over or self.problem:
            return 0
        try:
            return self.path.stat().st_size
        except (OSError, ValueError):
            return 0


class UnreadableError(Exception):
    """A file that cannot be read; its text says why, without the file's name."""


class TooLargeError(Exception):
    """A file beyond the bound. `head`: its first bytes, from which its format can be told."""

    def __init__(self, head: bytes) -> None:
        super().__init__(TOO_LARGE)
        self.head = head


def find_files(paths: Sequence[Path]) -> Iterator[ClinicalFile]:
    """The files of the paths in order, found as they are asked for. Every name given yields at least one, or a problem."""
    for path in paths:
        if path == STANDARD_INPUT:
            yield ClinicalFile(path, named=True)
            continue
        try:
            is_directory = stat.S_ISDIR(path.stat().st_mode)
        except (OSError, ValueError) as error:
            yield ClinicalFile(path, named=True, problem=_reason(error))
            continue
        if is_directory:
            yield from _walk(path)
        else:
            yield ClinicalFile(path, named=True)


def read_file(file: ClinicalFile, bytes_max: int = FILE_BYTES_MAX, head_bytes: int = 65_536) -> bytes:
    """A file's bytes. Raises `UnreadableError`, and `TooLargeError` without having read more than its head where its size is known."""
    try:
        with nullcontext(_standard_input()) if file.path == STANDARD_INPUT else _opened(file) as stream:
            size = 0 if file.path == STANDARD_INPUT else os.fstat(stream.fileno()).st_size
            if size > bytes_max:
                raise TooLargeError(stream.read(head_bytes))
            # What grows while it is read, or has no size (a pipe), meets the same bound.
            data = stream.read(bytes_max + 1)
    except (OSError, ValueError) as error:
        raise UnreadableError(_reason(error)) from None
    if len(data) > bytes_max:
        raise TooLargeError(data[:head_bytes])
    return data


def _standard_input() -> BinaryIO:
    """Standard input. Raises `OSError` where the process was started without one (`<&-`)."""
    if sys.stdin is None:
        raise OSError(errno.EBADF, "it is closed")
    return sys.stdin.buffer


def _opened(file: ClinicalFile) -> BinaryIO:
    """The file, opened. A pipe that took a file's place in a directory must not hold up the run for ever."""
    if file.named:
        return file.path.open("rb")
    return os.fdopen(os.open(file.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")


def _walk(root: Path) -> Iterator[ClinicalFile]:
    """The files of a directory and of those inside it, in name order."""
    real_root = root.resolve()
    # A directory's listing is a generator of its own; those that are not finished stand here.
    open_listings = [_listed(root, real_root)]
    while open_listings:
        for found in open_listings[-1]:
            if isinstance(found, ClinicalFile):
                yield found
            elif len(open_listings) >= DEPTH_MAX:
                yield ClinicalFile(found, named=False, problem=f"nested more than {DEPTH_MAX} directories deep")
            else:
                open_listings.append(_listed(found, real_root))
                break
        else:
            open_listings.pop()


def _listed(directory: Path, real_root: Path) -> Iterator[ClinicalFile | Path]:
    """What lies in one directory: files, and directories to enter."""
    try:
        with os.scandir(directory) as listing:
            entries = sorted((entry for entry in listing if not entry.name.startswith(".")), key=lambda entry: entry.name)
    except OSError as error:
        yield ClinicalFile(directory, named=False, problem=_reason(error))
        return
    for entry in entries:
        path = directory / entry.name
        try:
            if entry.is_symlink():
                yield from _linked(path, real_root)
            elif entry.is_dir(follow_symlinks=False):
                yield path
            elif entry.is_file(follow_symlinks=False):
                yield ClinicalFile(path, named=False)
            else:
                yield ClinicalFile(path, named=False, passed_over=_NO_FILE)
        except OSError as error:
            yield ClinicalFile(path, named=False, problem=_reason(error))


def _linked(path: Path, real_root: Path) -> Iterator[ClinicalFile]:
    """A link as a file, where it leads to one inside the directory. A directory inside is met under its own name."""
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):  # RuntimeError: links that lead in a circle, before Python 3.13
        yield ClinicalFile(path, named=False, passed_over="a link that leads nowhere")
        return
    if not target.is_relative_to(real_root):
        yield ClinicalFile(path, named=False, passed_over=_OUTSIDE)
    elif target.is_file():
        yield ClinicalFile(path, named=False)
    elif not target.is_dir():
        yield ClinicalFile(path, named=False, passed_over=_NO_FILE)


def _reason(error: Exception) -> str:
    """What the system says, in words that can be acted upon."""
    if isinstance(error, FileNotFoundError):
        return "no such file; check the path"
    number = getattr(error, "errno", None) or 0
    if number == errno.ELOOP:
        return "a link that leads in a circle; name a file"
    said = getattr(error, "strerror", None) or "no path that this system knows"
    return f"cannot be read ({said}); {_MEND.get(number, 'check the path')}"
