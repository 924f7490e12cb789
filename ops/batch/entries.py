"""Results and problems of a run, in order, to be read again and again; in memory while they are few, else in a temporary file."""

from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import IO, Final

from touchstone.schemas.result import Problem, ScoreResult
from touchstone.scorers.reporting.report import Entry

#: Entries, and findings of theirs, that are held in memory; what a report of a usual batch needs is never written down.
HELD_MAX: Final = 4_096
_FINDINGS_HELD_MAX: Final = 65_536
_RESULT, _PROBLEM = b"R", b"P"


class Entries:
    """What a run has yielded. The temporary file is private, has no name, and goes with this object."""

    def __init__(self) -> None:
        self._held: list[Entry] = []
        self._findings = 0
        self._file: IO[bytes] | None = None
        self._count = 0

    def add(self, entry: Entry) -> None:
        """Keep one entry."""
        self._count += 1
        if self._file is None:
            self._held.append(entry)
            self._findings += len(entry.findings)
            if len(self._held) > HELD_MAX or self._findings > _FINDINGS_HELD_MAX:
                self._spill()
        else:
            self._write(self._file, entry)

    def __len__(self) -> int:
        """How many there are."""
        return self._count

    def __iter__(self) -> Iterator[Entry]:
        """Every entry, in the order in which they came."""
        if self._file is None:
            yield from list(self._held)
            return
        # A place of its own for each reader: two may read at a time.
        place = 0
        while True:
            self._file.seek(place)
            line = self._file.readline()
            if not line:
                return
            place = self._file.tell()
            yield ScoreResult.model_validate_json(line[1:]) if line[:1] == _RESULT else Problem.model_validate_json(line[1:])

    def _spill(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115  # open as long as this object
        for entry in self._held:
            self._write(self._file, entry)
        self._held.clear()

    def _write(self, file: IO[bytes], entry: Entry) -> None:
        file.seek(0, 2)
        mark = _RESULT if isinstance(entry, ScoreResult) else _PROBLEM
        file.write(mark + entry.model_dump_json().encode() + b"\n")
