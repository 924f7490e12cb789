"""The form of a verdict: the JSON schema of its pydantic model, and how a server is asked for it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel

Way = Literal["json_schema", "tools", "text"]
#: From the most binding to the least. A server that cannot do one is asked in the next.
WAYS: Final[tuple[Way, ...]] = ("json_schema", "tools", "text")
#: The name of the form, and of the function that the judge is to call.
NAME: Final = "verdict"
#: Comes before the case's key on the line above a verdict in words.
MARK: Final = "VERDICT"
#: Keywords that strict servers accept. Pydantic checks what the other keywords say.
_STRICT_KEYWORDS: Final = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "description", "$ref", "$defs", "minimum", "maximum"}
    | {"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern", "minItems", "maxItems"}
)
#: Keywords that strict servers refuse.
_OPEN_KEYWORDS: Final = frozenset({"allOf", "oneOf", "not", "prefixItems", "patternProperties"})


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a verdict. `strict`: a server can enforce it, because every key and type is named. `text`: the schema for a judge that only reads."""

    schema: Mapping[str, Any]
    strict: bool
    text: str

    def request(self, way: Way, *, strict: bool = True) -> dict[str, Any]:
        """The part of a request's body that asks for the form."""
        enforced = {"strict": True} if strict and self.strict else {}
        if way == "json_schema":
            return {"response_format": {"type": "json_schema", "json_schema": {"name": NAME, "schema": self.schema, **enforced}}}
        if way == "tools":
            function = {"name": NAME, "description": "Give the verdict.", "parameters": self.schema, **enforced}
            return {"tools": [{"type": "function", "function": function}], "tool_choice": {"type": "function", "function": {"name": NAME}}}
        return {}

    def instruction(self, key: str) -> str:
        """The words that ask for the form. `key`: of the case."""
        return (
            f"Answer with one JSON object of this schema, below a line `{MARK} {key}`. Words, if any, come above that line; nothing comes after the object:\n"
            f"{self.text}"
        )


def form_of(verdict: type[BaseModel]) -> Form:
    """The form of a pydantic model."""
    schema = verdict.model_json_schema()
    strict = not _is_open(schema)
    sent = _strict_schema(schema, schema.get("$defs", {})) if strict else schema
    return Form(sent, strict, json.dumps(sent, separators=(",", ":"), ensure_ascii=False))


def _is_open(schema: Any) -> bool:
    """True if some object of a schema may have keys that it does not name, or some part has no type."""
    if isinstance(schema, list):
        return any(map(_is_open, schema))
    if not isinstance(schema, Mapping):
        return False
    if schema.get("type") == "object" and (schema.get("additionalProperties") or "properties" not in schema):
        return True
    if schema.keys() & _OPEN_KEYWORDS:
        return True
    inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *([schema["items"]] if "items" in schema else [])]
    if any(isinstance(part, Mapping) and not part.keys() & {"type", "$ref", "anyOf", "enum", "const"} for part in inner):
        return True
    return any(map(_is_open, inner)) or _is_open(schema.get("anyOf"))


def _strict_schema(schema: Mapping[str, Any], definitions: Mapping[str, Any], above: tuple[str, ...] = ()) -> dict[str, Any]:
    """A schema as strict servers accept it: every key required, no others allowed, and only keywords that they know."""
    reference = schema.get("$ref")
    if isinstance(reference, str):
        name = reference.rpartition("/")[2]
        if len(schema) == 1 or name in above:
            return {"$ref": reference}
        # Strict servers allow nothing beside a reference, so its definition is written out.
        inline = {**definitions[name], **{key: value for key, value in schema.items() if key != "$ref"}}
        return _strict_schema(inline, definitions, (*above, name))
    strict: dict[str, Any] = {}
    for key, value in schema.items():
        if key in {"properties", "$defs"}:
            strict[key] = {name: _strict_schema(part, definitions, above) for name, part in value.items()}
        elif key == "items":
            strict[key] = _strict_schema(value, definitions, above)
        elif key == "anyOf":
            strict[key] = [_strict_schema(part, definitions, above) for part in value]
        elif key in _STRICT_KEYWORDS:
            strict[key] = value
    if "properties" in strict:
        strict["required"] = list(strict["properties"])
        strict["additionalProperties"] = False
    return strict
