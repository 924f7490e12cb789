"""The form of a verdict: how a server is asked for it, and how it is found in what comes back.

In a text the last verdict counts, and it must be the judge's own. A judge may quote the material, and the material may hold a verdict: where an answer in words
is asked for, the verdict stands below a line with the case's key, which no material can hold, and what the material holds word for word is never the judge's.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson
from pydantic import BaseModel, ValidationError

from touchstone.scorers.judges.ask.json_objects import Found, object_at, objects
from touchstone.scorers.judges.ask.judge import VerdictT

Way = Literal["json_schema", "tools", "text"]
#: From the most binding to the least; a server that cannot do one is asked by the next.
WAYS: Final[tuple[Way, ...]] = ("json_schema", "tools", "text")
#: The name of the form, and of the function that is to be called.
NAME: Final = "verdict"
#: What stands with the case's key above a verdict in words.
MARK: Final = "VERDICT"
#: Between that line and the object: blanks, a fence, emphasis.
_BELOW_MARK: Final = re.compile(r"[\s:`*]*(?:json\s*)?")
#: Verdicts of one answer that are compared with its last.
_COMPARED_MAX: Final = 20
_FENCED: Final = re.compile(r"```\w*\s*(\{.*\})\s*```", re.DOTALL)
#: What a quotation may differ in from what it quotes.
_UNQUOTED: Final = re.compile(r"[\s\\]+")
_ANSWER_CHARS_MAX: Final = 1_000_000
#: Prose is looked through sign by sign, and no other case is served meanwhile.
_PROSE_CHARS_MAX: Final = 100_000
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

    def instruction(self, key: str) -> str:
        """What asks for the form in words. `key`: of the case."""
        return f"Answer with one JSON object of this schema, last in your answer, below a line `{MARK} {key}`, and nothing after it:\n{self.text}"


@dataclass(frozen=True, slots=True)
class Case:
    """What tells a judge's own verdict from one that it quotes. `key`: of the case; `material`: what the judge was shown.

    `is_in_words`: a line with the key was asked for, because nothing else holds the answer to its form.
    """

    key: str = ""
    material: str = ""
    is_in_words: bool = False


NO_CASE: Final = Case()


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


def read_verdict(message: Mapping[str, Any], finish: Any, verdict: type[VerdictT], case: Case = NO_CASE) -> VerdictT | Misfit:
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
        return verdict_of(json.dumps(arguments) if isinstance(arguments, Mapping) else _text(arguments), verdict, case)
    return verdict_of(_text(message.get("content")), verdict, case)


def verdict_of(text: str, verdict: type[VerdictT], case: Case = NO_CASE) -> VerdictT | Misfit:
    """The verdict that a text ends with: the object below its last mark, else its last JSON object, which must have the form. No other stands in for it."""
    if not text.strip():
        return Misfit("empty", "the answer was empty")
    if len(text) > _ANSWER_CHARS_MAX:
        return Misfit("wrong_form", "the answer is longer than any verdict")
    whole = fenced[1] if (fenced := _FENCED.fullmatch(text.strip())) is not None else text
    if whole[:1] == "{" and _is_object(whole):
        return _validated(whole, verdict)
    if len(text) > _PROSE_CHARS_MAX:
        return Misfit("wrong_form", "the answer is longer than any verdict")
    if case.key and (marked := _marked(text, case.key)) is not None:
        return marked if isinstance(marked, Misfit) else _validated(marked, verdict)
    found = list(objects(text))
    if not found:
        return Misfit("no_json", "the answer held no JSON object")
    last = found[-1].text
    if last is None:
        return Misfit("wrong_form", "the last JSON object does not end")
    own = _own(found, text, case.material)
    if own[-1:] != [last]:
        return Misfit("wrong_form", "the last JSON object stands in the material")
    told = _validated(last, verdict)
    if isinstance(told, Misfit):
        return told
    if case.is_in_words and any(other != told for other in _verdicts(own[-_COMPARED_MAX:], verdict)):
        return Misfit("wrong_form", f"there are several verdicts, and none below a line `{MARK}` with the key")
    return told


def _marked(text: str, key: str) -> str | Misfit | None:
    """The object below the last line with the mark; None where there is no such line. A mark within an object is part of its text."""
    mark = re.compile(rf"{MARK}[\s:`*]{{1,8}}{re.escape(key)}")
    last: str | Misfit | None = None
    at = 0
    while (line := mark.search(text, at)) is not None:
        below = _BELOW_MARK.match(text, line.end())
        at = line.end() if below is None else below.end()
        found = object_at(text, at) if text[at : at + 1] == "{" else None
        last = Misfit("wrong_form", f"below the line `{MARK}` with the key stands no JSON object") if found is None or found.text is None else found.text
        at = at if found is None else found.end
    return last


def _own(found: Sequence[Found], text: str, material: str) -> list[str]:
    """Those of an answer's objects that the material does not hold word for word, as a quotation would."""
    bare = _UNQUOTED.sub("", material)
    return [one.text for one in found if one.text is not None and not (bare and _UNQUOTED.sub("", text[one.begin : one.end]) in bare)]


def _verdicts(texts: Iterable[str], verdict: type[VerdictT]) -> Iterator[VerdictT]:
    """Those of some objects that have the form."""
    for text in texts:
        if not isinstance(told := _validated(text, verdict), Misfit):
            yield told


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
