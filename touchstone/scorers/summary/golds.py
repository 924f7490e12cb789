"""The gold file: JSON or JSON lines of `GoldStandardDatum`, found by `entry.source_id`."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from touchstone.schemas.faults import explain
from touchstone.schemas.gold import GoldStandardDatum
from touchstone.scorers.base import ConfigError
from touchstone.scorers.json_documents import read_bounded
from touchstone.scorers.json_keys import has_key_twice

GOLD_BYTES_MAX = 268_435_456


def load_golds(path: Path) -> Mapping[str, GoldStandardDatum]:
    """Every gold of a file by its source id. Raises `ConfigError` that names line, field and the expected value, without the gold's text."""
    try:
        data = read_bounded(path.expanduser(), GOLD_BYTES_MAX, named="gold: ", remedy="name a file of gold standards", too_large="score its parts one by one")
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"gold: {path}: is not UTF-8; save it as UTF-8") from None
    except RuntimeError as error:
        raise ConfigError(f"gold: {path}: cannot be read ({type(error).__name__}); name a file of gold standards") from None
    golds: dict[str, GoldStandardDatum] = {}
    seen: dict[str, str] = {}
    for where, value in _values(text, str(path)):
        datum = _datum(where, value)
        source_id = datum.entry.source_id
        if source_id in golds:
            raise ConfigError(f"gold: {where}: has the source_id of {seen[source_id]}; a source has one gold")
        golds[source_id], seen[source_id] = datum, where
    if not golds:
        raise ConfigError(f"gold: {path}: holds no gold standard")
    return golds


@lru_cache(maxsize=2)
def _loaded(path: Path, _changed_ns: int, _size: int) -> Mapping[str, GoldStandardDatum]:
    return load_golds(path)


def gold_of(path: Path, source_id: str, digest: str) -> GoldStandardDatum | None:
    """The gold that a result was scored with; None if the file has none of this name now, or another one. Reads the file again when it changes.

    Raises `ConfigError` for a file that cannot be read.
    """
    try:
        about = path.expanduser().stat()
    except OSError:
        return None
    found = _loaded(path, about.st_mtime_ns, about.st_size).get(source_id)
    return found if found is not None and digest_of(found) == digest else None


def digest_of(datum: GoldStandardDatum) -> str:
    """A digest of a gold's content."""
    whole = json.dumps(datum.model_dump(mode="json", by_alias=True), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


def _values(text: str, path: str) -> Iterator[tuple[str, Any]]:
    """Each value with its place: the items of one array, one object, or a value per line. Raises `ConfigError`."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        yield from _lines(text, path)
        return
    _once(text, whole, path)
    if isinstance(whole, list):
        yield from ((f"{path}[{place}]", value) for place, value in enumerate(whole))
    else:
        yield f"{path}:1", whole


def _lines(text: str, path: str) -> Iterator[tuple[str, Any]]:
    """JSON lines; blank ones are passed over."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                column = f", column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
                raise ConfigError(f"gold: {path}:{number}{column}: is not JSON; write an array, or one gold per line") from None
            _once(line, value, f"{path}:{number}")
            yield f"{path}:{number}", value


def _once(text: str, value: Any, where: str) -> None:
    if has_key_twice(text.encode("utf-8", "surrogatepass"), value):
        raise ConfigError(f"gold: {where}: has an object with a key twice; keep one")


def _datum(where: str, value: Any) -> GoldStandardDatum:
    """One gold. Raises `ConfigError`."""
    try:
        return GoldStandardDatum.model_validate(value)
    except ValidationError as error:
        raise ConfigError(f"gold: {where}: {explain(error, GoldStandardDatum).replace('the case ', 'it ', 1)}") from None
