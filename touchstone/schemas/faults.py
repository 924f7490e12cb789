"""Describes what is wrong with a record by field paths and fixed texts; nothing of the record is quoted."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

#: Faults of one record that are listed; the rest is counted.
FAULTS_MAX = 3
#: Texts for pydantic's error types; any other type has pydantic's own text, which names no value.
WORDS: Mapping[str, str] = {
    "missing": "is missing; add it",
    "blank_expectation": "is an empty or blank expected string; remove it or write what is expected",
    "string_type": "is not a string",
    "string_unicode": "holds half of a surrogate pair (\\ud800 to \\udfff alone), which is no text; write the character",
    "string_too_short": "is empty; remove it or write what belongs there",
    "string_pattern_mismatch": "is blank or holds control characters; correct it",
    "string_too_long": "is too long",
    "too_short": "holds too few items",
    "too_long": "holds too many items",
    "literal_error": "is not one of the allowed values; correct it",
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type", "typed_dict_type"), "is not an object; write {…} with its fields"),
    **dict.fromkeys(("tuple_type", "list_type"), "is not a list; write […]"),
    **dict.fromkeys(("int_type", "int_parsing"), "is not a whole number; write it in digits, without quotation marks"),
    "int_from_float": "is not a whole number; write it without a fraction",
    "int_parsing_size": "is a number with too many digits; write a smaller one",
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), "is not a number; write it without quotation marks"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "is not true or false; write one of them without quotation marks"),
    **dict.fromkeys(("datetime_type", "datetime_parsing", "datetime_from_date_parsing"), "is not a time; write it as 2026-01-15T10:30:00Z"),
}


#: What a greatest length is counted in.
_UNITS: Mapping[str, str] = {"string_too_long": "characters are read; shorten it", "too_long": "are read; leave some out"}


def field_names(model: type[BaseModel]) -> set[str]:
    """Every field name of a model and of the models inside it: the only words an error path may contain."""
    names: set[str] = set()
    pending: list[Any] = [model]
    seen: set[Any] = set()
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, type) and issubclass(current, BaseModel):
            for name, info in current.model_fields.items():
                names.add(name)
                aliases = (info.alias, info.validation_alias, *getattr(info.validation_alias, "choices", ()))
                names.update(alias for alias in aliases if isinstance(alias, str))
                pending.append(info.annotation)
        else:
            pending.extend(getattr(current, "__args__", ()))
    return names


def safe_path(location: Sequence[int | str], allowed: frozenset[str]) -> str:
    """A validation location as a path. A step that is not a declared field came from the payload and becomes `*`."""
    return ".".join(str(step) if isinstance(step, int) or step in allowed else "*" for step in location)


def _without_consequences(items: list[Any]) -> list[Any]:
    """Faults without lists that are called too short only because reading stopped at, or left out, an item that has a fault of its own."""
    within = {item["loc"][:depth] for item in items for depth in range(1, len(item["loc"]))}
    return [item for item in items if item["type"] != "too_short" or item["loc"] not in within]


def _bound(item: Any) -> str:
    """The greatest length that a field may have, if that is its fault. Nothing else of the context is used, because it may quote the record."""
    most, unit = item.get("ctx", {}).get("max_length"), _UNITS.get(item["type"])
    return f"; at most {most:,} {unit}" if unit and isinstance(most, int) else ""


def explain(error: ValidationError, model: type[BaseModel], words: Mapping[str, str] | None = None) -> str:
    """What is wrong with a record of a model, in one line. `words`: error type → the model's own text for it."""
    known = {**WORDS, **(words or {})}
    allowed = frozenset(field_names(model))
    parts = []
    items = _without_consequences(error.errors(include_input=False, include_url=False, include_context=True))
    for item in items[:FAULTS_MAX]:
        message = item["msg"]
        message = message.replace("Input should be ", "must be ", 1)
        what = known.get(item["type"]) or message[:1].lower() + message[1:]
        if what == WORDS.get(item["type"]):
            what += _bound(item)
        parts.append(f"{safe_path(item['loc'], allowed) or 'the case'} {what}")
    rest = len(items) - len(parts)
    return "; ".join(parts) + (f"; and {rest} more" if rest > 0 else "")
