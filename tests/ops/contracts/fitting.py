"""Whether a document fits a schema, more strictly than a reader would ask: fields that the schema does not name are faults too."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource

from touchstone.ops.contracts import schemas


def closed(schema: Any) -> Any:
    """A schema whose objects hold nothing that it does not name."""
    if isinstance(schema, dict):
        made = {name: closed(part) for name, part in schema.items()}
        named = isinstance(made.get("properties"), dict) and made.get("type") == "object"
        return made | {"additionalProperties": False} if named and "additionalProperties" not in made else made
    return [closed(part) for part in schema] if isinstance(schema, list) else schema


def faults(document: Any, schema: Mapping[str, Any], *, strictly: bool = True) -> list[str]:
    """Where a document does not fit, and why; empty where it does."""
    written = closed(schema) if strictly else schema
    validator = Draft202012Validator(written, format_checker=FormatChecker(), registry=_referred_to(strictly=strictly))
    return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(document)]


@cache
def _referred_to(*, strictly: bool) -> Any:
    """`result`, `report` and the others without a suite, for the schemas that refer to them."""
    every = schemas([]).values()
    return Registry().with_resources((each["$id"], Resource.from_contents(closed(each) if strictly else each)) for each in every)  # type: ignore[var-annotated]


def headers_of(headers: Any) -> dict[str, str]:
    """Headers as the schemas describe them."""
    return {name: value.decode() for name, value in headers}
