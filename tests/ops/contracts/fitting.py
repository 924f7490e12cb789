"""Whether a document fits a schema, more strictly than a reader would ask: fields that the schema does not name are faults too."""

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker


def closed(schema: Any) -> Any:
    """A schema whose objects hold nothing that it does not name."""
    if isinstance(schema, dict):
        made = {name: closed(part) for name, part in schema.items()}
        named = isinstance(made.get("properties"), dict) and made.get("type") == "object"
        return made | {"additionalProperties": False} if named and "additionalProperties" not in made else made
    return [closed(part) for part in schema] if isinstance(schema, list) else schema


def faults(document: Any, schema: Mapping[str, Any], *, strictly: bool = True) -> list[str]:
    """Where a document does not fit, and why; empty where it does."""
    validator = Draft202012Validator(closed(schema) if strictly else schema, format_checker=FormatChecker())
    return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(document)]


def headers_of(headers: Any) -> dict[str, str]:
    """Headers as the schemas describe them."""
    return {name: value.decode() for name, value in headers}
