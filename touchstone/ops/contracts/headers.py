"""The headers of all messages as JSON Schemas: CloudEvents in binary mode, and those of dead letters."""

from collections.abc import Mapping
from typing import Any, Final

from touchstone.streams.wire import dead_letter as letter

_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "string", "pattern": "^-?[0-9]+$"}
_MOMENT: Final = {"type": "string", "format": "date-time"}
UUID: Final = {"type": "string", "format": "uuid"}


def _described(schema: Mapping[str, Any], description: str) -> dict[str, Any]:
    return {**schema, "description": description}


def event_headers(type: str | None = None, *, subject: str = "what it is about: the event of a result, the batch of a report") -> dict[str, Any]:
    """CloudEvents 1.0 in binary mode, as on every event that Touchstone sends. `type`: the only type; None allows any."""
    any_type = _described(_TEXT, "touchstone.result, touchstone.ledger, touchstone:prevalence:v1, or the type of a suite's report events")
    return {
        "title": "CloudEvents headers",
        "description": "CloudEvents 1.0 in binary mode. Values are UTF-8.",
        "type": "object",
        "properties": {
            "content-type": {"type": "string", "const": "application/json"},
            "ce_specversion": {"type": "string", "const": "1.0"},
            "ce_type": any_type if type is None else {"type": "string", "const": type},
            "ce_id": _described(UUID, "the same for a repetition of the same event"),
            "ce_source": _described({"type": "string", "pattern": "^/touchstone/"}, "the suite or the projector that sent it"),
            "ce_time": _MOMENT,
            "ce_subject": _described(_TEXT, subject),
        },
        "required": ["content-type", "ce_specversion", "ce_type", "ce_id", "ce_source", "ce_time"],
    }


#: Headers of an event to score; all may be absent.
INPUT_HEADERS: Final[Mapping[str, Any]] = {
    "title": "Headers of an event to score",
    "description": "An event may be plain JSON, or a CloudEvent in binary mode (these headers) or structured (content-type application/cloudevents+json).",
    "type": "object",
    "properties": {
        "content-type": _TEXT,
        "ce_specversion": {"type": "string", "const": "1.0"},
        "ce_type": _described(_TEXT, "touchstone.KIND says the kind, where the event does not"),
        "ce_id": _described(_TEXT, "the event's id, where it has none itself"),
        "ce_source": _TEXT,
        "ce_time": _MOMENT,
    },
}

DEAD_LETTER_HEADERS: Final[Mapping[str, Any]] = {
    "title": "Dead-letter headers",
    "description": "Added to the headers of the event itself, named after KIP-1034. They carry codes, paths and numbers, never text of the payload.",
    "type": "object",
    "properties": {
        letter.EXCEPTION: _described({"type": "string", "pattern": "^[a-z0-9_]+$"}, "the code of the fault"),
        letter.MESSAGE: _described(_TEXT, "code and place: a path of declared fields, or a position"),
        letter.TOPIC: _described(_TEXT, "where the event lies"),
        letter.TOPIC_ID: _described(_TEXT, "the id of that topic; empty if its broker gives none"),
        letter.PARTITION: _NUMBER,
        letter.OFFSET: _NUMBER,
        letter.SUITE: _described(_TEXT, "the suite that refused it"),
        letter.SUITE_VERSION: _TEXT,
        letter.TIMESTAMP: _described(_MOMENT, "when it was refused"),
        letter.SOURCE_TIMESTAMP: _described(_NUMBER, "the event's own timestamp, in milliseconds since the epoch; -1: it has none"),
        letter.OMITTED: _described(_TEXT, "only where the payload was left out: the broker refused it for its size"),
        letter.BATCH: _described({"type": "string", "pattern": "^[0-9]+-[0-9]+$"}, "only where the payload is a whole record batch: its offsets, first-last"),
    },
    "patternProperties": {
        "^touchstone\\.original\\.": _described(_TEXT, "a header of the event that has one of these names"),
        "^touchstone\\.unreadable\\.": _described(_TEXT, "a header of the event whose name is not UTF-8; its name in hexadecimal digits"),
    },
    "required": sorted(letter.OURS - {letter.OMITTED, letter.BATCH}),
}

LETTER_ID: Final = {"type": "string", "pattern": "^[0-9]+:[0-9]+$"}
_RESOLUTIONS: Final = {"type": "string", "enum": ["redriven", "discarded"]}
RESOLUTION_HEADERS: Final[Mapping[str, Any]] = {
    "title": "Headers of a resolution",
    "type": "object",
    "properties": {"touchstone.resolution": _RESOLUTIONS, "touchstone.letter": LETTER_ID},
    "required": ["touchstone.letter", "touchstone.resolution"],
}
RESOLUTION: Final[Mapping[str, Any]] = {
    "title": "Resolution",
    "description": "What was decided about a dead letter, on the same topic. `letter`: its partition and offset there.",
    "type": "object",
    "properties": {"letter": LETTER_ID, "resolution": _RESOLUTIONS, "at": _MOMENT},
    "required": ["letter", "resolution", "at"],
    "examples": [{"letter": "0:17", "resolution": "redriven", "at": "2026-01-15T10:30:00+00:00"}],
}
