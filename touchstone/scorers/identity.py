"""Ids of events and results, and the digest of a configuration; the same from a file, from Kafka and from Python.

The id of an event without one is derived from its content, so that the same case has the same id everywhere and a changed output
is a new event. A result's id is derived from the event, the suite, its version and its configuration, so that a replay overwrites.
"""

import hashlib
import json
import uuid
from collections.abc import Mapping
from typing import Any

import orjson

from touchstone.schemas.case import Case

#: Namespace of every deterministic id of this project.
NAMESPACE = uuid.uuid5(uuid.NAMESPACE_OID, "touchstone")
_NAMESPACE_BYTES = NAMESPACE.bytes
#: Documents that arrive as bytes are found within this many levels of a record.
BYTES_DEPTH = 4
#: Fields that are not part of a case's content: its id, and when and by whom it was sent.
NOT_CONTENT = frozenset({"id", "kind", "timestamp", "source", "correlation"})


def deterministic_id(name: str) -> str:
    """UUIDv5 of a name in Touchstone's namespace. Equal to `uuid.uuid5`, at a fifth of its cost: this runs for every event."""
    digits = hashlib.sha1(_NAMESPACE_BYTES + name.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-{'89ab'[int(digits[16], 16) & 3]}{digits[17:20]}-{digits[20:32]}"


def event_id(model: type[Case], record: Mapping[str, Any]) -> str:
    """The id of an event: its own `id`, else UUIDv5 of its names and its content.

    `model.id_names` and `model.id_content` list these fields. Raises `TypeError` for values that JSON cannot carry.
    """
    if record.get("id") is not None:
        return str(record["id"])
    fields = model.id_content or tuple(sorted(record.keys() - NOT_CONTENT - set(model.id_names)))
    content = [record.get(name) for name in fields]
    try:
        written = orjson.dumps(content[0] if len(content) == 1 else content, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        content = [_plain(value) for value in content]
        written = _written(content[0] if len(content) == 1 else content)
    digest = hashlib.sha256(written).hexdigest()
    names = [record.get(name) for name in model.id_names]
    return deterministic_id(orjson.dumps([model.id_prefix or model.model_fields["kind"].default, *names, digest], option=orjson.OPT_SORT_KEYS).decode())


def _plain(value: Any, depth: int = BYTES_DEPTH) -> Any:
    """Replace documents that arrived as bytes (a file that is not UTF-8) by text, so that they get an id too."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if depth and isinstance(value, dict) and any(isinstance(item, bytes | dict) for item in value.values()):
        return {key: _plain(item, depth - 1) for key, item in value.items()}
    return value


def _written(value: Any) -> bytes:
    """Canonical JSON of a value. The standard library takes over beyond the 254 levels that orjson writes."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError as error:
        if "recursion" not in str(error).casefold():
            raise
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
    except RecursionError:
        raise TypeError("nested too deep") from None


class ResultIds:
    """Makes the ids of one suite's results, in one version and configuration."""

    def __init__(self, suite: str, version: str, digest: str) -> None:
        # As JSON, so that no two different quadruples give the same name.
        self._suffix = json.dumps([suite, version, digest], separators=(",", ":"))

    def of(self, event_id: str) -> str:
        """UUIDv5 of (event, suite, version, configuration)."""
        return deterministic_id(f"{event_id}\n{self._suffix}")


def config_digest(fingerprint: Mapping[str, Any]) -> str:
    """The first 16 hex digits of SHA-256 over a configuration's canonical JSON."""
    canonical = json.dumps(fingerprint, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]
