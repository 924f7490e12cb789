"""Results and problems of a run, in order, to be read again and again; in memory while they are few, else in a temporary file."""

import os
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import IO, Final

from touchstone.ops.batch.packing import is_problem, packed, unpacked
from touchstone.schemas.result import Problem
from touchstone.scorers.reporting.report import Entry

#: Bytes of entries that are held in memory; a usual batch is less, and is never written down.
HELD_BYTES_MAX: Final = 8 * 1024 * 1024
_PIECE_BYTES: Final = 1024 * 1024


class Entries:
    """The results and problems of a run. The temporary file is private, has no name, and goes with this object."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._file: IO[bytes] | None = None
        self._count = 0

    def add(self, entry: Entry) -> None:
        """Keep one entry."""
        self.add_packed(packed(entry).line)

    def add_packed(self, line: bytes) -> None:
        """Keep one entry that is packed already."""
        self._count += 1
        if self._file is not None:
            self._file.write(line + b"\n")
            return
        self._held.append(line)
        self._held_bytes += len(line)
        if self._held_bytes > HELD_BYTES_MAX:
            self._file = TemporaryFile()  # noqa: SIM115  # open as long as this object
            self._file.writelines(held + b"\n" for held in self._held)
            self._held.clear()

    def __len__(self) -> int:
        """How many there are."""
        return self._count

    def __iter__(self) -> Iterator[Entry]:
        """Every entry, in the order in which they came."""
        return map(unpacked, self._lines())

    def problems(self) -> Iterator[Problem]:
        """The problems alone, in order; it costs little if there are few."""
        for line in self._lines():
            if is_problem(line):
                entry = unpacked(line)
                assert isinstance(entry, Problem)
                yield entry

    def _lines(self) -> Iterator[bytes]:
        if self._file is None:
            yield from list(self._held)
            return
        # A place of its own for each reader: two may read at a time, while entries are added.
        place, rest = 0, b""
        while True:
            self._file.flush()
            piece = os.pread(self._file.fileno(), _PIECE_BYTES, place)
            if not piece:
                return
            place += len(piece)
            *lines, rest = (rest + piece).split(b"\n")
            yield from lines
