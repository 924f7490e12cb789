"""Files of cases, and suites that need no model, for tests of what reads and scores them."""

import json
from pathlib import Path
from typing import Any

from tests.scorers.safe.cases import record
from touchstone.ops.batch.reading import Record, records_of
from touchstone.ops.batch.sources import Source
from touchstone.schemas.result import Problem, place_of
from touchstone.scorers.base import Place
from touchstone.scorers.safe import SUITE
from touchstone.scorers.safe.settings import SafeSettings

ONE, TWO = record("T1"), record("T2")
#: A stream of samples that needs no settings but these.
QUOTING = SafeSettings(quote=True)


def written(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def lines(path: Path, *records: Any) -> Path:
    """A file of JSON lines; a string is written as it is."""
    return written(path, "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in records))


def read(path: Path, place: Place | None = None) -> list[Record | Problem]:
    """The records and problems of a file, as SAFE v0 reads it."""
    return list(records_of(SUITE, Source(path, place=place or Place()), QUOTING))


def told(entries: list[Record | Problem]) -> list[str]:
    """Test ids, and problems as `file, place: what`."""
    return [f"{place_of(one.source).rpartition('/')[2]}: {one.what}" if isinstance(one, Problem) else one[1]["test_id"] for one in entries]
