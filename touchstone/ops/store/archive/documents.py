"""What of an event's JSON the archive needs to know: kind, ids, source, moment and depth. Nothing of its text is kept in memory or named in an error."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from touchstone.ops.store.archive.names import case_path, trace_path

TRACE = "trace"
_ID_CHARS_MAX = 256
_SOURCES = frozenset({"production", "eval"})


class NotKept(Exception):
    """A document that the archive refuses. `state`: as in the index. `code`: why, without text of the case."""

    def __init__(self, state: str, code: str) -> None:
        super().__init__(code)
        self.state = state
        self.code = code


@dataclass(frozen=True, slots=True)
class About:
    """What a document says of itself; empty where it says nothing."""

    kind: str
    event_id: str
    trace_id: str
    source: str
    at: datetime | None

    def path(self, event_id: str) -> str:
        """The object of the event."""
        return trace_path(self.trace_id) if self.kind == TRACE and self.trace_id else case_path(self.kind or "unknown", event_id)


def about(data: bytes, *, bytes_max: int, depth_max: int) -> About:
    """Read a document. Raises `NotKept`."""
    if len(data) > bytes_max:
        raise NotKept("too_large", "bytes")
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise NotKept("too_large" if str(error).startswith("depth") else "unreadable", "not_json") from None
    if not isinstance(document, dict):
        raise NotKept("unreadable", "not_an_object")
    if is_deeper(document, depth_max):
        raise NotKept("too_large", "depth")
    trace_id = _text(document.get("traceId"))
    kind = _text(document.get("kind")) or (TRACE if trace_id and "outputs" in document else "")
    source = _text(document.get("source"))
    return About(kind, _text(document.get("id")), trace_id, source if source in _SOURCES else "other" if source else "", _moment(document.get("timestamp")))


def is_deeper(document: Any, depth_max: int) -> bool:
    """True if objects and arrays are nested deeper than this."""
    level = [document]
    for _ in range(depth_max):
        level = [part for one in level for part in (one.values() if isinstance(one, dict) else one) if isinstance(part, dict | list)]
        if not level:
            return False
    return True


def _text(value: Any) -> str:
    return value if isinstance(value, str) and len(value) <= _ID_CHARS_MAX and value.isprintable() else ""


def _moment(value: Any) -> datetime | None:
    if not isinstance(value, str) or len(value) > 64:
        return None
    try:
        moment = datetime.fromisoformat(value)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
