"""The form of a verdict: how a server is asked for it, and how it is found in what comes back.

The repair of text is narrow on purpose: trailing commas, single quotes, Python's constants, fences. Nothing is closed that the judge left open and nothing is
guessed, so a verdict that was cut off, or one that the material holds, never becomes the judge's. That is why no general repairing library is used here.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson
from pydantic import BaseModel, ValidationError

from touchstone.scorers.judges.asking import VerdictT

Way = Literal["json_schema", "tools", "text"]
#: From the most binding to the least; a server that cannot do one is asked by the next.
WAYS: Final[tuple[Way, ...]] = ("json_schema", "tools", "text")
#: The name of the form, and of the function that is to be called.
NAME: Final = "verdict"
_ANSWER_CHARS_MAX: Final = 1_000_000
_DEPTH_MAX: Final = 64
_PLACES_TOLD_MAX: Final = 8
#: What a strict JSON schema may hold; pydantic checks the rest of what it says.
_STRICT_KEYS: Final = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "description", "$ref", "$defs", "minimum", "maximum"}
    | {"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern", "minItems", "maxItems"}
)


@dataclass(frozen=True, slots=True)
class Form:
    """A verdict's form. `strict`: a server can be held to it, because nothing in it is open. `text`: the schema, for a judge that only reads."""

    schema: Mapping[str, Any]
    strict: bool
    text: str

    def request(self, way: Way, *, strict: bool = True) -> dict[str, Any]:
        """What asks for the form in a request's body."""
        bound = {"strict": True} if strict and self.strict else {}
        if way == "json_schema":
            return {"response_format": {"type": "json_schema", "json_schema": {"name": NAME, "schema": self.schema, **bound}}}
        if way == "tools":
            function = {"name": NAME, "description": "Give the verdict.", "parameters": self.schema, **bound}
            return {"tools": [{"type": "function", "function": function}], "tool_choice": {"type": "function", "function": {"name": NAME}}}
        return {}

    def instruction(self) -> str:
        """What asks for the form in words."""
        return f"Answer with one JSON object of this schema, last in your answer, and nothing after it:\n{self.text}"


@dataclass(frozen=True, slots=True)
class Misfit:
    """An answer without a verdict. `code`: as of `Unanswered`. `places`: where in the verdict which kind of mistake is, in words without text of the answer."""

    code: str
    places: str = ""


def form_of(verdict: type[BaseModel]) -> Form:
    """The form of a pydantic model."""
    schema = verdict.model_json_schema()
    definitions: Mapping[str, Any] = schema.get("$defs", {})
    strict = not _is_open(schema)
    told = _bound(schema, definitions) if strict else schema
    return Form(told, strict, json.dumps(told, separators=(",", ":"), ensure_ascii=False))


def _is_open(schema: Any) -> bool:
    """Whether some object of a schema may have keys that it does not name, or something has no type at all."""
    if isinstance(schema, list):
        return any(map(_is_open, schema))
    if not isinstance(schema, Mapping):
        return False
    if schema.get("type") == "object" and (schema.get("additionalProperties") or "properties" not in schema):
        return True
    if schema.keys() & {"allOf", "oneOf", "not", "prefixItems", "patternProperties"}:
        return True
    inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *([schema["items"]] if "items" in schema else [])]
    if any(isinstance(part, Mapping) and not part.keys() & {"type", "$ref", "anyOf", "enum", "const"} for part in inner):
        return True
    return any(map(_is_open, inner)) or _is_open(schema.get("anyOf"))


def _bound(schema: Mapping[str, Any], definitions: Mapping[str, Any], above: tuple[str, ...] = ()) -> dict[str, Any]:
    """A schema as strict servers take it: every key required, none besides, and no keyword that they do not know."""
    reference = schema.get("$ref")
    if isinstance(reference, str):
        name = reference.rpartition("/")[2]
        if len(schema) == 1 or name in above:
            return {"$ref": reference}
        # Beside a reference nothing may stand, so what it refers to is written out.
        return _bound({**definitions[name], **{key: value for key, value in schema.items() if key != "$ref"}}, definitions, (*above, name))
    told: dict[str, Any] = {}
    for key, value in schema.items():
        if key in {"properties", "$defs"}:
            told[key] = {name: _bound(part, definitions, above) for name, part in value.items()}
        elif key == "items":
            told[key] = _bound(value, definitions, above)
        elif key == "anyOf":
            told[key] = [_bound(part, definitions, above) for part in value]
        elif key in _STRICT_KEYS:
            told[key] = value
    if "properties" in told:
        told["required"] = list(told["properties"])
        told["additionalProperties"] = False
    return told


def read_verdict(message: Mapping[str, Any], finish: Any, verdict: type[VerdictT]) -> VerdictT | Misfit:
    """The verdict of a chat message, in whatever way it was given; of several the last counts. `finish`: why the answer ended."""
    if finish == "content_filter" or _text(message.get("refusal")):
        return Misfit("refused")
    if finish == "length":
        return Misfit("truncated")
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        functions = [call["function"] for call in calls if isinstance(call, Mapping) and isinstance(call.get("function"), Mapping)]
        last = next((function for function in reversed(functions) if function.get("name") == NAME), None)
        if last is None:
            return Misfit("wrong_tool", f"the function called was not `{NAME}`")
        arguments = last.get("arguments")
        return verdict_of(json.dumps(arguments) if isinstance(arguments, Mapping) else _text(arguments), verdict)
    return verdict_of(_text(message.get("content")), verdict)


def verdict_of(text: str, verdict: type[VerdictT]) -> VerdictT | Misfit:
    """The verdict that a text ends with: its last JSON object, which must have the form. An earlier one never stands in for it."""
    if not text.strip():
        return Misfit("empty", "the answer was empty")
    if len(text) > _ANSWER_CHARS_MAX:
        return Misfit("wrong_form", "the answer is longer than any verdict")
    if text[:1] == "{" and _is_object(text):
        return _validated(text, verdict)
    last: str | None = None
    for last in _objects(text):
        if last is None:
            return Misfit("wrong_form", "the last JSON object does not end")
    if last is None:
        return Misfit("no_json", "the answer held no JSON object")
    return _validated(last, verdict)


def _is_object(text: str) -> bool:
    """Whether a text is one JSON object and nothing else, as most answers are; orjson is strict."""
    try:
        return isinstance(orjson.loads(text), dict)
    except ValueError:
        return False


def _validated(text: str, verdict: type[VerdictT]) -> VerdictT | Misfit:
    """The verdict that an object is, or that it wraps as models wrap the arguments of a function."""
    try:
        found = json.loads(text, strict=False, parse_constant=_no_number)
        plain = json.dumps(found)
    except (ValueError, RecursionError):
        return Misfit("wrong_form", "the last JSON object is not valid JSON")
    try:
        return verdict.model_validate_json(plain)
    except ValidationError as error:
        misfit = Misfit("wrong_form", _places(error))
    inner = found.get("arguments", found.get("parameters")) if found.get("name") == NAME else found.get(NAME) if len(found) == 1 else None
    if isinstance(inner, str):
        try:
            inner = json.loads(inner, strict=False, parse_constant=_no_number)
        except (ValueError, RecursionError):
            return misfit
    if not isinstance(inner, dict):
        return misfit
    try:
        return verdict.model_validate_json(json.dumps(inner))
    except ValidationError as error:
        return Misfit("wrong_form", _places(error))


def _places(error: ValidationError) -> str:
    """Where the mistakes are and of which kind they are, without any of the values. A key that the form does not have is not told: it may be text."""
    told = []
    for item in error.errors(include_url=False, include_context=False, include_input=False)[:_PLACES_TOLD_MAX]:
        steps = item["loc"][:-1] if item["type"] == "extra_forbidden" else item["loc"]
        told.append(f"{'.'.join(map(str, steps)) or 'the object'}: {item['type']}")
    return "; ".join(told)


def _no_number(_: str) -> float:
    raise ValueError("not a number of JSON")


def _text(value: Any) -> str:
    """Text of a message; some servers send it in parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(part["text"] for part in value if isinstance(part, Mapping) and isinstance(part.get("text"), str))
    return ""


#: How an object begins. A brace in prose is followed by something else.
_BEGIN = re.compile(r"""\{(?=\s*["'}])""")
_TOKEN = re.compile(r"""\s+|[{}\[\]:,]|"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|[A-Za-z]+""", re.DOTALL)
_SINGLE = re.compile(r"'((?:[^'\\]|\\.|'(?!\s*[,:}\]]))*)'", re.DOTALL)
_CONSTANTS: Final = {"True": "true", "False": "false", "None": "null"}


def _objects(text: str) -> Iterator[str | None]:
    """Every outermost JSON object of a text, tidied; None for one that does not end, which is then the last."""
    at = 0
    while (begin := _BEGIN.search(text, at)) is not None:
        found, at = _tidied(text, begin.start())
        yield found
        if found is None and at >= len(text):
            return


def _tidied(text: str, at: int) -> tuple[str | None, int]:
    """The object that begins at a place, as JSON, and where it ends. None, and the end of the text, for one that never closes."""
    out: list[str] = []
    open_: list[str] = []
    while at < len(text):
        char = text[at]
        if char == "'":
            single = _SINGLE.match(text, at)
            if single is None:
                break
            out.append(_as_double(single[1]))
            at = single.end()
            continue
        token = _TOKEN.match(text, at)
        if token is None:
            out.append(char)  # no JSON has it: the parser will say so
            at += 1
            if char == '"':
                break
            continue
        part, at = token[0], token.end()
        if part in "}]" and out and out[-1] == ",":
            out.pop()
        if part.isspace():
            continue
        out.append(_CONSTANTS.get(part, part))
        if part in "{[":
            open_.append(part)
            if len(open_) > _DEPTH_MAX:
                break
        elif part in "}]" and open_:
            open_.pop()
            if not open_:
                return "".join(_spaced(out)), at
    return None, len(text)


def _spaced(parts: list[str]) -> Iterator[str]:
    """Two words side by side stay two words, so that what was no JSON does not become JSON."""
    before = ""
    for part in parts:
        if before and before[-1].isalnum() and part[0].isalnum():
            yield " "
        yield part
        before = part


def _as_double(inside: str) -> str:
    """A single-quoted string as JSON writes it."""
    plain = re.sub(r"\\'", "'", inside)
    return '"' + re.sub(r'(?<!\\)((?:\\\\)*)"', r'\1\\"', plain) + '"'
