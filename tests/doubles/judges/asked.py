"""A request as the protocol means it, or the mistake in it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, Literal

import orjson

Form = Literal["json_schema", "json_object", "tool", "text"]
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


class Refused(Exception):
    """A request that is answered with an error. `code` and `param` are null in the body where they are None."""

    def __init__(
        self, status: int, kind: str, message: str, code: str | None = None, param: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
        self.code = code
        self.param = param
        self.headers = headers or {}

    def body(self) -> bytes:
        """The error as OpenAI writes it."""
        return orjson.dumps({"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}})


def _mistake(message: str, param: str | None = None, code: str | None = None) -> Refused:
    return Refused(400, "invalid_request_error", message, code, param)


@dataclass(frozen=True)
class Asked:
    """A request for a completion. `number`: of all requests, from 1; `attempt`: of those with this very body, from 1. `key`: the API key that it came with."""

    number: int
    attempt: int
    key: str
    digest: str
    form: Form
    body: Mapping[str, Any]

    @property
    def model(self) -> str:
        """The model that is asked for."""
        return str(self.body["model"])

    @property
    def messages(self) -> list[Mapping[str, Any]]:
        """The conversation."""
        return list(self.body["messages"])

    @property
    def is_stream(self) -> bool:
        """True if the answer has to be streamed."""
        return self.body.get("stream") is True

    @cached_property
    def text(self) -> str:
        """All that was said to the model, message by message."""
        return "\n".join(piece for message in self.messages for piece in _pieces(message.get("content")))

    @cached_property
    def last(self) -> str:
        """The last message alone."""
        return "\n".join(_pieces(self.messages[-1].get("content")))

    @property
    def turn(self) -> int:
        """Which answer of the conversation is asked for, from 1."""
        return 1 + sum(1 for message in self.messages if message.get("role") == "assistant")

    @property
    def tool(self) -> Mapping[str, Any] | None:
        """The function that is to be called, where one is."""
        return _tool(self.body)

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON schema of the answer, where the request has one."""
        found = self.body["response_format"]["json_schema"].get("schema") if self.form == "json_schema" else (self.tool or {}).get("parameters")
        return found if isinstance(found, Mapping) else None

    @property
    def tokens_max(self) -> int | None:
        """How long the answer may become."""
        found = self.body.get("max_completion_tokens", self.body.get("max_tokens"))
        return int(found) if isinstance(found, int) else None


def digest_of(data: bytes) -> str:
    """A digest that identifies the body."""
    return blake2b(data, digest_size=12).hexdigest()


def read_body(data: bytes) -> tuple[Mapping[str, Any], Form]:
    """The body and the form of the answer it asks for. Raises `Refused` for what OpenAI would refuse."""
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise _mistake("We could not parse the JSON body of your request.") from None
    if not isinstance(body, dict):
        raise _mistake("The body of your request is not a JSON object.")
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise _mistake("you must provide a model parameter", "model")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise _mistake("Invalid 'messages': expected a non-empty array.", "messages")
    for number, message in enumerate(messages):
        if not isinstance(message, dict) or message.get("role") not in _ROLES:
            raise _mistake(f"Invalid value: 'messages[{number}].role'.", f"messages[{number}].role", "invalid_value")
    return body, _form(body)


def _form(body: dict[str, Any]) -> Form:
    wanted = body.get("response_format") or {}
    if not isinstance(wanted, dict):
        raise _mistake("Invalid type for 'response_format': expected an object.", "response_format", "invalid_type")
    kind = wanted.get("type", "text")
    if kind not in {"text", "json_object", "json_schema"}:
        raise _mistake("Invalid value: 'response_format.type'.", "response_format.type", "invalid_value")
    if kind == "json_schema":
        _check_schema(wanted.get("json_schema"), "response_format", "schema")
    tools = body.get("tools")
    if tools is not None:
        if not isinstance(tools, list) or not tools:
            raise _mistake("Invalid 'tools': empty array.", "tools", "empty_array")
        for number, tool in enumerate(tools):
            _check_schema(tool.get("function") if isinstance(tool, dict) else None, f"tools[{number}].function", "parameters")
        choice = body.get("tool_choice", "auto")
        if choice != "none" and (kind == "text" or choice != "auto"):
            if _tool(body) is None:
                raise _mistake("Tool choice names a function that 'tools' does not have.", "tool_choice")
            return "tool"
    if kind == "json_object" and not any("json" in piece.lower() for message in body["messages"] for piece in _pieces(message.get("content"))):
        raise _mistake("'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.", "messages")
    return kind  # type: ignore[no-any-return]


def _tool(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    tools, choice = body.get("tools") or (), body.get("tool_choice", "auto")
    wanted = choice.get("function", {}).get("name") if isinstance(choice, dict) else None
    return next((tool["function"] for tool in tools if choice != "none" and (wanted is None or tool["function"].get("name") == wanted)), None)


def _check_schema(described: Any, param: str, key: str) -> None:
    """The name, and, where the schema is strict, what strictness asks of it."""
    if not isinstance(described, dict) or not _NAME.match(str(described.get("name", ""))):
        raise _mistake(f"Invalid '{param}.name': a name of up to 64 letters, digits, '_' and '-' is needed.", f"{param}.name")
    schema = described.get(key)
    if described.get("strict") is True:
        if not isinstance(schema, dict) or schema.get("type") != "object":
            raise _mistake(f"Invalid schema for '{described['name']}': it must be of type 'object'.", param, "invalid_json_schema")
        for where, part in _objects(schema, ()):
            keys = set(part.get("properties", {}))
            if part.get("additionalProperties") is not False or set(part.get("required", ())) != keys:
                place = ".".join(where) or "()"
                wrong = f"In context={place}, 'additionalProperties' must be false and 'required' must name every key of 'properties'."
                raise _mistake(f"Invalid schema for '{described['name']}': {wrong}", param, "invalid_json_schema")


def _objects(schema: Any, where: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield where, schema
        for name, part in schema.items():
            if name not in {"enum", "const", "default", "examples", "required"}:
                yield from _objects(part, (*where, name))
    elif isinstance(schema, list):
        for number, part in enumerate(schema):
            yield from _objects(part, (*where, str(number)))


def _pieces(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield part["text"]
