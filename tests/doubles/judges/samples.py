"""Values made from a JSON schema: the simplest that fits it, and one that differs from another."""

from collections.abc import Mapping
from typing import Any

_DEPTH_MAX = 20


def sample(schema: Mapping[str, Any]) -> Any:
    """The simplest value that fits: first members of enumerations, lower bounds, lists as short as allowed, every property."""
    return _sample(schema, schema, 0)


def differing(value: Any, schema: Mapping[str, Any] | None) -> Any:
    """The value with everything changed that can be changed within the schema: numbers moved by one, truth inverted, another member of an enumeration."""
    return _differing(value, schema or {}, schema or {})


def _resolve(part: Mapping[str, Any], whole: Mapping[str, Any]) -> Mapping[str, Any]:
    for _ in range(_DEPTH_MAX):
        target = part.get("$ref")
        if not isinstance(target, str) or not target.startswith("#/"):
            break
        found: Any = whole
        for step in target[2:].split("/"):
            found = found.get(step, {}) if isinstance(found, Mapping) else {}
        part = found
    choices = part.get("anyOf") or part.get("oneOf") or part.get("allOf")
    if choices:
        return _resolve(next((choice for choice in choices if choice.get("type") != "null"), choices[0]), whole)
    return part


def _sample(part: Mapping[str, Any], whole: Mapping[str, Any], depth: int) -> Any:
    part = _resolve(part, whole)
    if "const" in part:
        return part["const"]
    if part.get("enum"):
        return part["enum"][0]
    kind = part.get("type", "object" if "properties" in part else "string")
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), "null")
    if kind == "object":
        return {name: _sample(inner, whole, depth + 1) for name, inner in part.get("properties", {}).items()} if depth < _DEPTH_MAX else {}
    if kind == "array":
        return [_sample(part.get("items", {}), whole, depth + 1) for _ in range(part.get("minItems", 0))] if depth < _DEPTH_MAX else []
    if kind in {"integer", "number"}:
        least = part.get("minimum", part.get("exclusiveMinimum", -1) + 1)
        return int(least) if kind == "integer" else float(least)
    if kind == "string":
        return "sample".ljust(int(part.get("minLength", 0)), ".")[: int(part.get("maxLength", 1000))]
    return False if kind == "boolean" else None


def _differing(value: Any, part: Mapping[str, Any], whole: Mapping[str, Any]) -> Any:
    part = _resolve(part, whole)
    others = [each for each in part.get("enum", ()) if each != value]
    if others:
        return others[0]
    if isinstance(value, Mapping):
        properties = part.get("properties", {})
        return {name: _differing(inner, properties.get(name, {}), whole) for name, inner in value.items()}
    if isinstance(value, list):
        return [_differing(inner, part.get("items", {}), whole) for inner in value]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value - 1 if value - 1 >= part.get("minimum", 1) else value + 1
    return value
