"""Reads `config/selftest.yaml`: safe YAML within bounds, checked against the specification's names, errors with key and line."""

import difflib
import json
import re
import shlex
import types
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from touchstone.scorers.base import ConfigError
from touchstone.scorers.installing import install_extras
from touchstone.scorers.json_documents import read_bounded, read_text
from touchstone.scorers.selftest.settings import Scenario, SelftestSettings
from touchstone.scorers.selftest.system_settings import COMPLETE, CommandSystem, HttpSystem, KafkaSystem, PythonSystem, RequestSystem, SystemSettings
from touchstone.scorers.settings import bare_type

DEFAULT_PATH: Final = Path("config/selftest.yaml")
#: A larger or deeper file is not a configuration.
NODES_MAX: Final = 10_000
CHARS_MAX: Final = 262_144
_DEPTH_MAX: Final = 20
_DEEP: Final = re.compile(r"[\[{](?:\s*[\[{]){20}")
_ADAPTERS: Final = {"http": HttpSystem, "request": RequestSystem, "command": CommandSystem, "python": PythonSystem, "kafka": KafkaSystem}
#: What `--system` takes.
SYSTEMS: Final = "an http(s) URL, command:PROGRAM ARGUMENTS, python:module:function or kafka:REQUEST_TOPIC,REPLY_TOPIC"
REQUESTS_BYTES_MAX: Final = 16 * 1024 * 1024
REQUESTS_MAX: Final = 1_000

Path_ = tuple[str, ...]


def packaged() -> str:
    """The text of the configuration that comes with Touchstone."""
    return files("touchstone.scorers.selftest").joinpath("selftest.yaml").read_text(encoding="utf-8")


def load(path: Path | None = None) -> tuple[SelftestSettings, str]:
    """The settings and the name of their source: the given file, else `config/selftest.yaml`, else the packaged file. Raises `ConfigError`."""
    if path is None and not DEFAULT_PATH.exists():
        return parse(packaged(), "the packaged configuration"), "the packaged configuration"
    path = path or DEFAULT_PATH
    return parse(read_text(path, "check --config"), str(path)), str(path)


def parse(text: str, name: str) -> SelftestSettings:
    """Settings of a YAML text. Raises `ConfigError` that names the key and the line, never a value."""
    document, lines = _read(text, name)
    try:
        # As JSON, so that strict types accept a list as a list, and a date as text.
        return SelftestSettings.model_validate_json(json.dumps(document, default=str))
    except ValidationError as error:
        raise ConfigError("; ".join(_described(error, lines, name))) from None


def read_requests(path: Path) -> list[Scenario]:
    """The fixed requests of a file, one JSON object a line. Raises `ConfigError` that names the line and the key, never a value."""
    data = read_bounded(path, REQUESTS_BYTES_MAX, remedy="check --requests", too_large="give fewer requests")
    found = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            raise ConfigError(f'{path}, line {number}: no JSON; write one request a line: {{"prompt": "…"}}') from None
        if not isinstance(document, dict) or "prompt" not in document:
            raise ConfigError(f'{path}, line {number}: no request; write {{"prompt": "…"}}')
        known = {"id": f"request-{number}", "description": "A fixed request", "expected_status": COMPLETE, "requires_reply": bool(document.get("reply_flow"))}
        try:
            found.append(Scenario.model_validate_json(json.dumps(known | document)))
        except ValidationError as error:
            mistakes = [(item, tuple(map(str, item["loc"]))) for item in _errors(error)]
            told = (f"{'.'.join(loc)}: {_mistake(item, ('scenarios', '0', *loc))}" for item, loc in mistakes)
            raise ConfigError(f"{path}, line {number}: {'; '.join(told)}") from None
        if len(found) > REQUESTS_MAX:
            raise ConfigError(f"{path}: more than {REQUESTS_MAX} requests; split the file")
    if not found:
        raise ConfigError(f'{path}: holds no request; write one a line: {{"prompt": "…"}}')
    return found


def system_of(text: str, answer: str | None = None, body: str | None = None) -> Any:
    """The system that `--system` names (`SYSTEMS`). With `answer` or `body` a URL gets one request a turn. Raises `ConfigError`."""
    document: dict[str, Any]
    templated = {"answer": answer} if answer is not None else {}
    if text.startswith(("http://", "https://")) and (answer is not None or body is not None):
        document = {"adapter": "request", "url": text, **templated, **({"body": _json_of(body)} if body is not None else {})}
    elif text.startswith("command:"):
        try:
            document = {"adapter": "command", "command": shlex.split(text.removeprefix("command:")), **templated}
        except ValueError:
            raise ConfigError("--system command: a quotation mark is not closed") from None
        if not document["command"]:
            raise ConfigError("--system command: names no program; write command:PROGRAM ARGUMENTS")
        if body is not None:
            raise ConfigError("--body: belongs to an http(s) URL; set `input` of a command in the file")
    elif answer is not None or body is not None:
        raise ConfigError("--answer and --body belong to an http(s) URL; this system has a form of its own")
    elif text.startswith(("http://", "https://")):
        document = {"adapter": "http", "url": text}
    elif text.startswith("python:"):
        document = {"adapter": "python", "function": text.removeprefix("python:")}
    elif text.startswith("kafka:"):
        topics = text.removeprefix("kafka:").split(",")
        if len(topics) != 2:
            raise ConfigError("--system kafka: give two topics: kafka:selftest.requests,selftest.replies")
        document = {"adapter": "kafka", "request_topic": topics[0], "reply_topic": topics[1]}
    else:
        raise ConfigError(f"--system: give {SYSTEMS}")
    try:
        return TypeAdapter(SystemSettings).validate_python(document)
    except ValidationError as error:
        raise ConfigError("; ".join(": ".join(("--system", *map(str, item["loc"][1:]), _mistake(item, item["loc"]))) for item in _errors(error))) from None


def _json_of(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ConfigError('--body: no JSON; write the request\'s body with its places: \'{"question": "{{prompt}}"}\'') from None


def _read(text: str, name: str) -> tuple[Any, dict[Path_, int]]:
    """The document, and the line of each of its keys."""
    if len(text) > CHARS_MAX:
        raise ConfigError(f"{name}: longer than {CHARS_MAX} characters; this is not a self-test configuration")
    if _DEEP.search(text):  # checked before parsing, which would take seconds
        raise ConfigError(f"{name}: nested too deep; this is not a self-test configuration")
    try:
        import yaml
    except ModuleNotFoundError:
        raise ConfigError(f"the self-test needs PyYAML; {install_extras('judge')}") from None
    try:
        depth = 0
        for number, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEPTH_MAX:
                raise ConfigError(f"{name}{_line(event.start_mark)}: nested too deep; this is not a self-test configuration")
            if number > NODES_MAX:
                raise ConfigError(f"{name}: has more than {NODES_MAX} parts; this is not a self-test configuration")
            if isinstance(event, yaml.AliasEvent):
                # A few aliases can expand to a document of any size.
                raise ConfigError(f"{name}{_line(event.start_mark)}: aliases (*name) are not supported; write the value out")
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            lines: dict[Path_, int] = {}
            if node is not None:
                _number(node, (), lines, name)
            document = loader.construct_document(node) if node is not None else None
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        raise ConfigError(f"{name}{_line(error.problem_mark or error.context_mark)}: not valid YAML; check the indentation, quotes and colons there") from None
    except (yaml.YAMLError, ValueError, OverflowError):
        raise ConfigError(f"{name}: not valid YAML; save it as plain UTF-8 text") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{name}: holds no settings; begin with `version: 1`")
    return document, lines


def _line(mark: Any) -> str:
    """The parser's position; empty if unknown."""
    return f", line {mark.line + 1}" if mark is not None else ""


def _number(node: Any, path: Path_, lines: dict[Path_, int], name: str) -> None:
    """Note the line of each key. Raises `ConfigError` for a key that occurs twice in a mapping: the second would silently win."""
    import yaml

    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                raise ConfigError(f"{name}, line {key.start_mark.line + 1}: a key is a plain word")
            below = (*path, key.value)
            if below in lines:
                raise ConfigError(f"{name}, line {key.start_mark.line + 1}: {'.'.join(below)}: given twice; keep one")
            lines[below] = key.start_mark.line + 1
            _number(value, below, lines, name)
    elif isinstance(node, yaml.SequenceNode):
        for place, value in enumerate(node.value):
            _number(value, (*path, str(place)), lines, name)


def _errors(error: ValidationError) -> Sequence[Mapping[str, Any]]:
    return error.errors(include_input=False, include_url=False, include_context=False)


def _described(error: ValidationError, lines: Mapping[Path_, int], name: str) -> list[str]:
    """Each mistake with its line, its key and how to fix it."""
    told = []
    for item in _errors(error):
        loc = tuple(str(step) for step in item["loc"])
        # The adapter's name is in the model's path, not in the file.
        key = ("system", *loc[2:]) if loc[:1] == ("system",) and loc[1:2] and loc[1] in _ADAPTERS else loc
        line = next((lines[key[:end]] for end in range(len(key), -1, -1) if key[:end] in lines), 1)
        shown = ".".join(key)
        told.append(f"{name}, line {line}: {f'{shown}: ' if shown else ''}{_mistake(item, loc)}")
    return told


def _mistake(item: Mapping[str, Any], loc: Path_) -> str:
    """The mistake at a key, in words."""
    kind = item["type"]
    if kind == "extra_forbidden":
        return f"unknown key{_suggested(loc)}"
    if kind == "missing":
        return "is missing; add it"
    if kind == "union_tag_not_found":
        return f"names no adapter; add adapter: {', '.join(_ADAPTERS)}"
    if kind == "union_tag_invalid":
        return f"adapter is none of {', '.join(_ADAPTERS)}"
    if kind == "string_pattern_mismatch" and loc[-1:] and loc[-1].endswith("_topic"):
        return "is no topic of a self-test; one is called selftest, or has it as a part: selftest.requests, team.selftest.replies"
    if kind == "string_pattern_mismatch" and loc[-1:] == ("function",):
        return "is no function; write package.module:function"
    if kind == "string_pattern_mismatch" and loc[-1:] == ("url",):
        return f"is no address; write http(s)://host[:port][/path], without blanks{'' if 'request' in loc else ', query'} or fragment"
    text = str(item["msg"]).removeprefix("Value error, ")
    return text[:1].lower() + text[1:]


def _suggested(loc: Path_) -> str:
    """The nearest valid key, otherwise all valid keys."""
    section = _model_at(SelftestSettings, loc[:-1])
    known = list(section.model_fields) if section is not None else []
    near = difflib.get_close_matches(loc[-1], known, n=1) if loc else []
    return f", did you mean {near[0]}?" if near else f" (known: {', '.join(known)})" if known else ""


def _model_at(kind: Any, path: Path_) -> type[BaseModel] | None:
    """The model that a place of the file is checked against."""
    for step in path:
        kind = bare_type(kind)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            info = kind.model_fields.get(step)
            kind = info.annotation if info is not None else None
        elif get_origin(kind) in {Union, types.UnionType}:
            kind = _ADAPTERS.get(step)
        else:
            kind = next(iter(get_args(kind)), None)
    kind = bare_type(kind)
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None
