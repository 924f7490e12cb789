"""Traces in files: what makes a record a trace, and the id that it has as an event."""

import hashlib
import uuid
from collections.abc import Mapping
from typing import Any, Final

import orjson

from touchstone.streams.wire.codec import NAMESPACE

KIND: Final = "trace"


def is_trace(record: Mapping[str, Any]) -> bool:
    """Whether a record is a trace: it says so, or says nothing and has the key by which traces are named."""
    kind = record.get("kind")
    return kind == KIND or (kind is None and "traceId" in record)


def event_id_for(record: Mapping[str, Any]) -> str:
    """The event id of a trace: its own `id`, else UUIDv5 of its traceId and its outputs.

    What people add later (annotations, feedback) does not count, so the trace with it is the same event; a changed output is a new one.
    """
    if record.get("id") is not None:
        return str(record["id"])
    digest = hashlib.sha256(orjson.dumps(record.get("outputs"), option=orjson.OPT_SORT_KEYS)).hexdigest()
    return str(uuid.uuid5(NAMESPACE, orjson.dumps([KIND, record.get("traceId"), digest]).decode()))


def completed(record: Mapping[str, Any]) -> dict[str, Any]:
    """A trace with its kind and its id."""
    return {**record, "kind": KIND, "id": event_id_for(record)}
