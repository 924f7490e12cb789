"""Where cases come from: files, folders, patterns, standard input; compressed or not; opened one at a time, within bounds.

A folder is walked in name order. Hidden files are left out. A link is followed only where it leads to a file inside the folder; no linked
folder is entered, so that a loop of links does no harm. Entries that are passed over are reported.
"""

import errno
import glob
import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from touchstone.schemas.result import FileRef, Problem
from touchstone.scorers.base import ConfigError, Place

STANDARD_INPUT: Final = Path("-")
#: Endings of files that hold case JSON; in folders, other files are only for suites that read documents.
CASE_SUFFIXES: Final = (".json", ".jsonl", ".ndjson")
PACKED_SUFFIXES: Final = (".gz", ".zst")
_ENDINGS: Final = frozenset({*CASE_SUFFIXES, *PACKED_SUFFIXES})
#: Folders nested in folders.
DEPTH_MAX: Final = 64
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
#: A frame that holds no data; parallel compressors begin with one. Its first byte is any from 0x50 to 0x5F.
_ZSTD_SKIPPED: Final = tuple(bytes([first]) + b"\x2a\x4d\x18" for first in range(0x50, 0x60))
#: Memory that a packed stream may ask for: zstd's own limit for archives made without long windows.
_ZSTD_WINDOW_MAX: Final = 128 * 1024 * 1024
#: Packed bytes that are unpacked at a time: they can become 16 MiB (a block is three bytes at least, and 128 KiB at most).
_ZSTD_STEP_BYTES: Final = 512
_BUFFER_BYTES: Final = 131_072
#: Of a file that is not packed; most are smaller, and then one read is all.
_READ_BYTES: Final = 16_384
_OUTSIDE: Final = "a link that leads out of the directory is not followed; name it to have it validated"
_NO_FILE: Final = "neither a file nor a directory"
_REMEDIES: Final = {
    errno.EACCES: "check its permissions",
    errno.EPERM: "check its permissions",
    errno.EBADF: "pipe a document into it, or name a file",
    errno.EIO: "check the disk",
    errno.EMFILE: "close other files, or raise the limit (ulimit -n)",
}


_NOWHERE: Final = Place()


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read (`-`: standard input). `named`: on the command line, not found in a folder. `place`: the names in its path, which complete its cases.

    `problem`, `passed_over`: why it is not read.
    """

    path: Path
    named: bool = True
    place: Place = _NOWHERE
    problem: str | None = None
    passed_over: str | None = None

    @property
    def file(self) -> str:
        """The path as it was given; bytes that are not UTF-8 are shown as escapes, so that any program can read the name."""
        text = str(self.path)
        return text if text.isascii() else os.fsencode(text).decode("utf-8", "backslashreplace")

    @property
    def is_standard_input(self) -> bool:
        """True if it is standard input."""
        # As text: comparing paths takes them apart, for each file again.
        return str(self.path) == "-"

    def size(self) -> int:
        """Its size in bytes, if that is known before it is read; else 0."""
        if self.is_standard_input or self.passed_over or self.problem:
            return 0
        try:
            return self.path.stat().st_size
        except (OSError, ValueError):
            return 0

    def refused(self) -> Problem | None:
        """Why it is not read, as an entry of the run."""
        if self.problem is not None:
            return Problem(source=FileRef(file=self.file), what=self.problem, kind="unreadable")
        if self.passed_over is not None:
            return Problem(source=FileRef(file=self.file), what=self.passed_over, kind="passed_over")
        return None


class UnreadableError(Exception):
    """A file that cannot be read; its text says why, without the file's name."""


def find_sources(
    paths: Sequence[Path], *, any_file: bool, hint: str = "", missing_is_error: bool = True, left_out: list[Path] | None = None
) -> Iterator[Source]:
    """The files of the paths in order, found as they are asked for; a pattern (`*`, `?`, `[…]`) that is not a file's name means the files that match it.

    `any_file`: in folders, take files of any name, for a suite that reads documents. `hint`: what to do about a folder that holds none.
    `left_out`: takes the files in folders that are not case files by their names.
    Raises `ConfigError` for a path that is not there, unless `missing_is_error` is false: then it is a source with a problem.
    """
    check_paths(paths)
    for path in _expanded(paths):
        if path == STANDARD_INPUT:
            yield Source(path)
            continue
        try:
            is_folder = stat.S_ISDIR(path.stat().st_mode)
        except (OSError, ValueError) as error:
            is_pattern = isinstance(error, FileNotFoundError) and glob.has_magic(str(path))
            reason = "no file matches this pattern; check it, or name a folder" if is_pattern else reason_of(error)
            if missing_is_error:
                raise ConfigError(f"{path}: {reason}") from None
            yield Source(path, problem=reason)
            continue
        if not is_folder:
            # A pipe (/dev/fd/63) has a folder that says nothing about its cases.
            yield Source(path, place=Place(_folder_of(path.parent) if path.is_file() else None, stem_of(path)))
            continue
        found = False
        for source in walk(path):
            if any_file or source.problem or is_case_file(source.path):
                found = True
                yield source
            elif left_out is not None:
                left_out.append(source.path)
        if not found and missing_is_error:
            raise ConfigError(f"{path}: holds no batch file ({', '.join(CASE_SUFFIXES)}){f'; {hint}' if hint else ''}")


def check_paths(paths: Sequence[Path]) -> None:
    """Refuse standard input that is named twice. Raises `ConfigError`."""
    if sum(path == STANDARD_INPUT for path in paths) > 1:
        raise ConfigError("standard input (-) is named twice; name it once")


def _expanded(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        text = str(path)
        if glob.has_magic(text) and not path.exists():
            matches = sorted(glob.glob(text, recursive=True))  # noqa: PTH207  # Path.glob takes no absolute pattern
            if matches:
                yield from map(Path, matches)
                continue
        yield path


def _folder_of(folder: Path) -> str | None:
    """The folder's name as it was given; None for the working directory and for a way upwards."""
    return folder.name if folder.name not in {"", ".."} else None


def stem_of(path: Path) -> str:
    """A file's name without its endings: `b1` of `b1.jsonl.gz`."""
    name = path.name
    while (dot := name.rfind(".")) > 0 and name[dot:].lower() in _ENDINGS:
        name = name[:dot]
    return name


def is_case_file(path: Path) -> bool:
    """Whether a file's name says that it holds case JSON, packed or not."""
    bare = path.with_suffix("") if path.suffix.lower() in PACKED_SUFFIXES else path
    return bare.suffix.lower() in CASE_SUFFIXES


@contextmanager
def opened(source: Source) -> Iterator[BinaryIO]:
    """The bytes of a source, unpacked as they are read. Raises `UnreadableError`, also from within."""
    try:
        with _standard_input() if source.is_standard_input else _file(source) as raw:
            head = raw.peek(4)[:4]
            if head.startswith(_GZIP):
                yield cast("BinaryIO", gzip.GzipFile(fileobj=raw, mode="rb"))
            elif head.startswith((_ZSTD, *_ZSTD_SKIPPED)):
                yield cast("BinaryIO", io.BufferedReader(_Unzstd(raw), _BUFFER_BYTES))
            else:
                yield raw
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise UnreadableError(
            f"is compressed and cannot be decompressed ({'cut off' if isinstance(error, EOFError) else 'damaged'}); compress it again"
        ) from None
    except (OSError, ValueError) as error:
        raise UnreadableError(reason_of(error)) from None


class _Unzstd(io.RawIOBase):
    """Zstandard frames, one after the other, as one stream. The library's own stream ends without a word where a file was cut off."""

    def __init__(self, packed: BinaryIO) -> None:
        super().__init__()
        self._packed = packed
        self._frame: Any = None
        self._rest = b""
        self._unpacked = memoryview(b"")
        self._begin()

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Fill the buffer. Raises `EOFError` for a frame that was cut off, `BadGzipFile` for a damaged one."""
        while not self._unpacked:
            if not self._rest:
                self._rest = self._packed.read(_ZSTD_STEP_BYTES)
            if not self._rest:
                if self._begun:
                    raise EOFError
                return 0
            self._step()
        count = min(len(buffer), len(self._unpacked))
        buffer[:count], self._unpacked = self._unpacked[:count], self._unpacked[count:]
        return count

    def _step(self) -> None:
        """Unpack what was read; at the end of a frame the next one begins."""
        import zstandard

        try:
            self._unpacked, self._rest, self._begun = memoryview(self._frame.decompress(self._rest)), b"", True
        except zstandard.ZstdError:
            raise gzip.BadGzipFile from None
        if self._frame.eof:
            self._rest = self._frame.unused_data
            self._begin()

    def _begin(self) -> None:
        import zstandard

        self._frame = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_MAX).decompressobj()
        self._begun = False


@contextmanager
def _standard_input() -> Iterator[io.BufferedReader]:
    if sys.stdin is None:
        raise OSError(errno.EBADF, "it is closed")
    given = sys.stdin.buffer
    if isinstance(given, io.BufferedReader):
        yield given
        return
    reader = cast("io.BufferedReader", io.BufferedReader(cast("io.RawIOBase", given)))  # a program that put something in its place
    try:
        yield reader
    finally:
        reader.detach()


def _file(source: Source) -> io.BufferedReader:
    # A pipe that took a file's place in a folder must not hold up the run for ever.
    flags = os.O_RDONLY | os.O_CLOEXEC | (0 if source.named else os.O_NONBLOCK)
    return cast("io.BufferedReader", os.fdopen(os.open(source.path, flags), "rb", _READ_BYTES))


def walk(root: Path) -> Iterator[Source]:
    """The files of a folder and of those inside it, in name order."""
    real_root = root.resolve()
    # A folder's listing is a generator of its own; these are not finished.
    open_listings = [_listed(root, real_root, _folder_of(root))]
    while open_listings:
        for found in open_listings[-1]:
            if isinstance(found, Source):
                yield found
            elif len(open_listings) >= DEPTH_MAX:
                yield Source(found, named=False, problem=f"nested more than {DEPTH_MAX} directories deep")
            else:
                open_listings.append(_listed(found, real_root, found.name))
                break
        else:
            open_listings.pop()


def _listed(folder: Path, real_root: Path, name: str | None) -> Iterator[Source | Path]:
    """The entries of one folder: files, and folders to enter. `name`: of the folder; None if it says nothing."""
    try:
        with os.scandir(folder) as listing:
            entries = sorted((entry for entry in listing if not entry.name.startswith(".")), key=lambda entry: entry.name)
    except OSError as error:
        yield Source(folder, named=False, problem=reason_of(error))
        return
    for entry in entries:
        path = folder / entry.name
        place = Place(name, stem_of(path))
        try:
            if entry.is_symlink():
                yield from _linked(path, real_root, place)
            elif entry.is_dir(follow_symlinks=False):
                yield path
            elif entry.is_file(follow_symlinks=False):
                yield Source(path, named=False, place=place)
            else:
                yield Source(path, named=False, passed_over=_NO_FILE)
        except OSError as error:
            yield Source(path, named=False, problem=reason_of(error))


def _linked(path: Path, real_root: Path, place: Place) -> Iterator[Source]:
    """A link as a file, where it leads to one inside the folder. A folder inside is met under its own name."""
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):  # RuntimeError: links that lead in a circle, before Python 3.13
        yield Source(path, named=False, passed_over="a link that leads nowhere")
        return
    if not target.is_relative_to(real_root):
        yield Source(path, named=False, passed_over=_OUTSIDE)
    elif target.is_file():
        yield Source(path, named=False, place=place)
    elif not target.is_dir():
        yield Source(path, named=False, passed_over=_NO_FILE)


def reason_of(error: Exception) -> str:
    """Why the system refused, and what to do about it."""
    if isinstance(error, FileNotFoundError):
        return "no such file; check the path"
    number = getattr(error, "errno", None) or 0
    if number == errno.ELOOP:
        return "a link that leads in a circle; name a file"
    reason = getattr(error, "strerror", None) or "not a valid path on this system"
    return f"cannot be read ({reason}); {_REMEDIES.get(number, 'check the path')}"
