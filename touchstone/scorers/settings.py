"""The settings engine: merges layers of mappings into one validated model, and reports a mistake with the name of its source.

Callers pass in the document, the environment and a function that reads files. Touchstone's own settings and those of every suite follow the same rules:

* a later layer overrides an earlier one, key by key;
* an unknown key or variable is an error, because it is a typing mistake that would otherwise be ignored;
* an error names the variable, document or option at fault and the expected value, never the actual one.
"""

import difflib
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, TypeGuard, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from touchstone.scorers.base import ConfigError

#: The path of a setting: the names of its sections, then its own, as in the document.
Key = tuple[str, ...]
#: Settings in the form of the document, and the name of their source.
Layer = tuple[Mapping[str, Any], str]
ModelT = TypeVar("ModelT", bound=BaseModel)

#: The source of a command's options.
COMMAND_LINE = "the command line"
#: Ending of a variable that names a file which contains the value.
IN_A_FILE = "_FILE"
#: If there are more known variables, a message lists their sections only.
_NAMES_SHOWN_MAX = 20


@dataclass(frozen=True)
class Resolver(Generic[ModelT]):
    """Makes a suite's settings: the command line overrides the environment, which overrides the document, which overrides the defaults.

    `Suite(…, resolve=Resolver(MySettings, "MY_SUITE_", "my-suite.config.json"))` is all that a suite needs. `variables`: variable →
    key, if a specification names them; by default `variables(model, prefix)`. `read_file`: as in `environment`.
    """

    model: type[ModelT]
    prefix: str
    document_name: str
    variables: Mapping[str, Key] | None = None
    read_file: Callable[[str], str] | None = None

    def __call__(
        self, env: Mapping[str, str], document: Mapping[str, Any] | None, overrides: Mapping[str, Any] | None = None, *, document_name: str | None = None
    ) -> ModelT:
        """The settings. `overrides` has the form of the document. Raises `ConfigError` that names every variable, key and option at fault."""
        known = variables(self.model, self.prefix) if self.variables is None else self.variables
        given = environment(env, self.model, known, self.prefix, read_file=self.read_file)
        return settled(self.model, [(document or {}, document_name or self.document_name), *given, (overrides or {}, COMMAND_LINE)])


def settled(model: type[ModelT], layers: Iterable[Layer]) -> ModelT:
    """Merge the layers and validate them once. Raises `ConfigError` with one line for all mistakes."""
    values, origin = merged(layers)
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise ConfigError(_described(error, origin, model)) from None


def merged(layers: Iterable[Layer]) -> tuple[dict[str, Any], dict[Key, str]]:
    """Merge the layers, later over earlier. Returns the values and the source of each key."""
    values: dict[str, Any] = {}
    origin: dict[Key, str] = {}
    for layer, name in layers:
        _lay(layer, name, values, origin, ())
    return values, origin


def variables(model: type[BaseModel], prefix: str) -> dict[str, Key]:
    """Every variable of a settings model and its key: the prefix and the names of its fields, joined by `_`.

    A setting that one line of text cannot express (a mapping, a list of sections) has none; only the document sets it.
    """
    return {prefix + "_".join(names).upper(): key for names, key in _keys(model)}


def environment(
    env: Mapping[str, str],
    model: type[BaseModel],
    known: Mapping[str, Key],
    prefix: str,
    *,
    ignored: Collection[str] = (),
    verbatim: bool = False,
    read_file: Callable[[str], str] | None = None,
) -> Iterator[Layer]:
    """One small layer per variable that is set. Raises `ConfigError` for an unknown variable that starts with the prefix.

    `known`: variable → key. Variables with the prefix override those without it (`OPENAI_API_KEY`). `ignored`: names with the prefix
    that are not settings. `verbatim`: keep blanks around a value, and empty values; otherwise blanks are dropped and an empty
    variable counts as not set. `read_file`: path → text; with it, the variables of `in_files` are read, too. A value for a
    sequence is split at commas.
    """
    files = in_files(model, known) if read_file else {}
    for name in sorted(env, key=lambda name: (name.startswith(prefix), name)):
        if name not in known and name not in files:
            if name.startswith(prefix) and name not in ignored:
                raise ConfigError(f"{name}: unknown variable; {_known_variables(name, known, prefix)}")
            continue
        text = env[name] if verbatim else env[name].strip()
        if not text and not verbatim:
            continue
        plain = files.get(name, name)
        if plain != name and read_file:
            if env.get(plain, "").strip():
                raise ConfigError(f"{plain} and {name}: both are set; keep one")
            text = _from_file(name, text, read_file)
        key = known[plain]
        yield nested(key, [part.strip() for part in text.split(",")] if _is_sequence(model, key) else text), name


def text_of(path: str) -> str:
    """The text of a file that a variable names: the usual `read_file`. Raises `OSError`, `UnicodeDecodeError`."""
    return Path(path).expanduser().read_text(encoding="utf-8")


def in_files(model: type[BaseModel], known: Mapping[str, Key]) -> dict[str, str]:
    """`NAME_FILE`, which names a file with the value → `NAME`, for every variable whose value is not itself a path."""
    return {name + IN_A_FILE: name for name, key in known.items() if name + IN_A_FILE not in known and _kind(model, key) is not Path}


def nested(key: Key, value: Any) -> dict[str, Any]:
    """A setting in the form of the document."""
    first, *rest = key
    return {first: nested(tuple(rest), value) if rest else value}


def source_of(key: Key, origin: Mapping[Key, str]) -> str:
    """The source of this key or of a key below it; else of its neighbours; "default" if none is set."""
    for end in range(len(key), 0, -1):
        if names := {name for path, name in origin.items() if path[:end] == key[:end]}:
            return " and ".join(sorted(names))
    return "default"


def _lay(layer: Mapping[str, Any], name: str, values: dict[str, Any], origin: dict[Key, str], above: Key) -> None:
    """Merge a layer over the others, key by key; anything but a mapping replaces the value below it."""
    for step, value in layer.items():
        key = (*above, step)
        if isinstance(value, Mapping) and isinstance(values.get(step), dict):
            _lay(value, name, values[step], origin, key)
            continue
        for path in [path for path in origin if path[: len(key)] == key]:
            del origin[path]
        if isinstance(value, Mapping) and value:
            values[step] = {}
            _lay(value, name, values[step], origin, key)
        else:
            values[step] = {} if isinstance(value, Mapping) else value
            origin[key] = name


def _described(error: ValidationError, origin: Mapping[Key, str], model: type[BaseModel]) -> str:
    """One line with all mistakes, each with its source."""
    parts = []
    for item in error.errors(include_input=False, include_url=False, include_context=False):
        key = tuple(str(step) for step in item["loc"])
        where = f"{source_of(key, origin)}: {'.'.join(key)}" if key else " and ".join(sorted(set(origin.values()))) or "default"
        what = f"unknown key{_known_keys(key, model)}" if item["type"] == "extra_forbidden" else item["msg"].removeprefix("Value error, ")
        parts.append(f"{where}: {what}")
    return "; ".join(parts)


def _from_file(name: str, path: str, read_file: Callable[[str], str]) -> str:
    """The value in a file, without the newline that editors add. An empty file is an error: nobody has written the value yet."""
    try:
        text = read_file(path).rstrip("\r\n")
    except (OSError, ValueError) as error:
        raise ConfigError(f"{name}: the file it names cannot be read ({type(error).__name__})") from None
    if not text.strip():
        raise ConfigError(f"{name}: the file it names is empty; write the value into it, or unset the variable")
    return text


def _known_variables(name: str, known: Mapping[str, Key], prefix: str) -> str:
    """A hint for an unknown variable: the nearest name, else the names of its section, else all sections and the names in none."""
    starts = dict.fromkeys(f"{prefix}{key[0].upper()}_" if len(key) > 1 else variable for variable, key in known.items())
    # If the section is right, only the rest of the name is compared: else every name of the section looks similar.
    sections = [start for start in starts if start.endswith("_")]
    start = next((start for start in sections if name.startswith(start) and any(other.startswith(start) for other in known)), prefix)
    kin = {other.removeprefix(start): other for other in known if other.startswith(start)}
    typed = name.removeprefix(start).upper()
    if near := difflib.get_close_matches(typed, kin, n=1) or [rest for rest in kin if rest.startswith(typed)]:
        return f"did you mean {kin[near[0]]}?"
    is_short = start != prefix or len(kin) <= _NAMES_SHOWN_MAX
    return f"known: {', '.join(kin.values())}" if is_short else "known: " + ", ".join(f"{start}…" if start.endswith("_") else start for start in starts)


def _known_keys(key: Key, model: type[BaseModel]) -> str:
    """A hint for an unknown key: the nearest one of its section, else all of them."""
    section = _kind(model, key[:-1])
    if not _is_model(section):
        return ""
    known = [info.alias or name for name, info in section.model_fields.items()]
    near = difflib.get_close_matches(key[-1], known, n=1)
    return f", did you mean {near[0]}?" if near else f" (known: {', '.join(known)})"


def _keys(model: type[BaseModel], names: Key = (), above: Key = ()) -> Iterator[tuple[Key, Key]]:
    """Every setting of a model that one line of text can set: the names of its fields, and its key in the document."""
    for name, info in model.model_fields.items():
        path, key, kind = (*names, name), (*above, info.alias or name), bare_type(info.annotation)
        if _is_model(kind):
            yield from _keys(kind, path, key)
        elif get_origin(kind) is not dict and not any(_is_model(bare_type(part)) for part in get_args(kind)):
            yield path, key


def _is_sequence(model: type[BaseModel], key: Key) -> bool:
    """True if a key has several values."""
    return get_origin(_kind(model, key)) in {tuple, list, frozenset, set}


def _kind(kind: Any, key: Key) -> Any:
    """The type at the end of a key, through sections, mappings and sequences; None if there is no such key."""
    for step in key:
        kind = bare_type(kind)
        if _is_model(kind):
            kind = next((info.annotation for name, info in kind.model_fields.items() if step in {name, info.alias}), None)
        elif get_origin(kind) is dict:
            kind = get_args(kind)[1]
        else:
            kind = next(iter(get_args(kind)), None)
    return bare_type(kind)


def bare_type(kind: Any) -> Any:
    """A type without its annotations and without `| None`."""
    if get_origin(kind) is Annotated:
        return bare_type(get_args(kind)[0])
    if get_origin(kind) in {Union, types.UnionType}:
        rest = [part for part in get_args(kind) if part is not type(None)]
        return bare_type(rest[0]) if len(rest) == 1 else kind
    return kind


def _is_model(kind: Any) -> TypeGuard[type[BaseModel]]:
    """True if the type is a section."""
    return isinstance(kind, type) and issubclass(kind, BaseModel)
