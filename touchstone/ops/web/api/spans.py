"""The steps of a generation, as a kept event tells them: its `spans`, in the names of OpenTelemetry or of its exporters, and a trace's `timing`.

Producers write these freely, so nothing here is refused: what cannot be read is null. Attributes are not shown, because they hold prompts and answers.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

from touchstone.schemas.trace import TIMINGS_MAX

#: Spans that are shown of one case; `spans_total` counts all.
SPANS_MAX: Final = 200
NAME_CHARS_MAX: Final = 200
#: Steps that the specification names. Other names come from the payload, and are shown only to those who may read it.
SPECIFIED: Final = frozenset({"personaGeneration", "total"})
_NUMBER_MAX: Final = 2**53
_STARTS: Final = ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime", "started_at")
_ENDS: Final = ("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime", "ended_at")
_DURATIONS: Final = ("duration_ms", "durationMs", "latency_ms")
_STATUS: Final[Mapping[Any, str]] = {
    **dict.fromkeys((1, "1", "OK", "STATUS_CODE_OK"), "ok"), **dict.fromkeys((2, "2", "ERROR", "STATUS_CODE_ERROR"), "error"),
}  # fmt: skip
_MODELS: Final = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")
_TOKENS_IN: Final = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
_TOKENS_OUT: Final = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion")


def spans_of(document: Any, *, has_text: bool) -> tuple[list[dict[str, Any]], int]:
    """The first spans of an event, then the steps of its timing; and how many there are. `has_text`: the client may read the payload."""
    if not isinstance(document, dict):
        return [], 0
    given, timing = document.get("spans"), document.get("timing")
    spans = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    steps = list(timing.items()) if isinstance(timing, dict) and len(timing) <= TIMINGS_MAX else []
    shown = [_span(one, has_text=has_text) for one in islice(spans, SPANS_MAX)]
    shown += [_empty(name, has_text=has_text) | {"duration_ms": _ms(value)} for name, value in steps[: SPANS_MAX - len(shown)]]
    return shown, len(spans) + len(steps)


def _span(span: Mapping[str, Any], *, has_text: bool) -> dict[str, Any]:
    start, end = _first(span, _STARTS), _first(span, _ENDS)
    begun, ended = _ns(start), _ns(end)
    between = (ended - begun) / 1e6 if begun is not None and ended is not None else None
    attributes = _attributes(span.get("attributes"))
    status = span.get("status")
    code = status.get("code", status.get("status_code")) if isinstance(status, dict) else status
    model = _first(attributes, _MODELS)
    return _empty(span.get("name"), has_text=has_text) | {
        "started_at": _moment(begun),
        "duration_ms": _ms(_first(span, _DURATIONS)) if between is None else _ms(between),
        "status": _STATUS.get(code.upper() if isinstance(code, str) else code) if isinstance(code, str | int) else None,
        "model": model[:NAME_CHARS_MAX] if has_text and isinstance(model, str) else None,
        "input_tokens": _count(_first(attributes, _TOKENS_IN)),
        "output_tokens": _count(_first(attributes, _TOKENS_OUT)),
    }


def _empty(name: Any, *, has_text: bool) -> dict[str, Any]:
    is_shown = isinstance(name, str) and (has_text or name in SPECIFIED)
    return {"name": name[:NAME_CHARS_MAX] if is_shown else None} | dict.fromkeys(
        ("started_at", "duration_ms", "status", "model", "input_tokens", "output_tokens")
    )


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _attributes(given: Any) -> Mapping[str, Any]:
    """Attributes as a map, or as OTLP's list of `{key, value: {intValue: …}}`."""
    if isinstance(given, dict):
        return given
    if not isinstance(given, list):
        return {}
    pairs = ((one.get("key"), one.get("value")) for one in islice(given, 1_000) if isinstance(one, dict))
    return {key: next(iter(value.values()), None) for key, value in pairs if isinstance(key, str) and isinstance(value, dict)}


def _ns(given: Any) -> int | None:
    """A moment in nanoseconds since the epoch: OTLP's number (often written as text), or ISO 8601; without a zone, UTC."""
    if isinstance(given, str) and given.isascii() and given.isdecimal() and len(given) <= 19:
        given = int(given)
    if isinstance(given, int) and not isinstance(given, bool):
        return given if 0 < given < 2**63 else None
    if not isinstance(given, str):
        return None
    try:
        read = datetime.fromisoformat(given)
        since = (read if read.tzinfo is not None else read.replace(tzinfo=UTC)) - datetime.fromtimestamp(0, UTC)
    except (ValueError, OverflowError):
        return None
    return (since.days * 86_400_000_000 + since.seconds * 1_000_000 + since.microseconds) * 1_000


def _moment(ns: int | None) -> str | None:
    if ns is None:
        return None
    try:
        return datetime.fromtimestamp(ns / 1e9, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return None


def _ms(given: Any) -> float | None:
    """A duration; null if it is no finite number, or negative."""
    is_number = isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given < _NUMBER_MAX
    return float(given) if is_number else None


def _count(given: Any) -> int | None:
    """A number of tokens; OTLP writes it as text."""
    if isinstance(given, str) and given.isascii() and given.isdecimal() and len(given) <= 15:
        given = int(given)
    return given if isinstance(given, int) and not isinstance(given, bool) and 0 <= given < _NUMBER_MAX else None
