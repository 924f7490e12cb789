"""The rows of labelled sets in files, and samples of them."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from touchstone.scorers.base import ConfigError

SUFFIXES = (".jsonl", ".jsonl.gz")
ROW_BYTES_MAX = 16_777_216


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a set. Raises `ConfigError` with file and line for one that is not a JSON object."""
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            row = None
        if not isinstance(row, dict):
            raise ConfigError(f"{path}, line {number}: is not a JSON object; write one row a line")
        yield row


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, unpacked. Raises `ConfigError` where it cannot be read to its end."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
            while line := lines.readline(ROW_BYTES_MAX):
                yield line
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigError(f"{path}: cannot be read ({type(error).__name__}); fetch it again, or leave it out") from None


def sample(all_rows: list[dict[str, Any]], size: int | None, key: str | None = None) -> list[dict[str, Any]]:
    """At most `size` rows, drawn with a fixed seed; with `key`, whole groups until the size is reached."""
    if size is None or size >= len(all_rows):
        return all_rows
    chance = random.Random(0)  # a sample, not a secret
    if key is None:
        return [all_rows[index] for index in sorted(chance.sample(range(len(all_rows)), size))]
    names = sorted({str(row[key]) for row in all_rows})
    chance.shuffle(names)
    chosen: list[dict[str, Any]] = []
    for name in names:
        chosen += [row for row in all_rows if str(row[key]) == name]
        if len(chosen) >= size:
            break
    return chosen
