"""Settings in layers: which environment variables a settings model has, how layers merge, and who set what is wrong."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar, get_origin

from pydantic import BaseModel, ValidationError

from touchstone.scorers.base import ConfigError

Layer = tuple[Mapping[str, Any], str]
ModelT = TypeVar("ModelT", bound=BaseModel)


def variables(model: type[BaseModel], prefix: str, *, path: tuple[str, ...] = ()) -> dict[str, tuple[str, ...]]:
    """Every variable of a settings model → the path of its key: the prefix and the key's names, joined by `_`."""
    found: dict[str, tuple[str, ...]] = {}
    for name, info in model.model_fields.items():
        kind = info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            found |= variables(kind, prefix, path=(*path, name))
        else:
            found[prefix + "_".join((*path, name)).upper()] = (*path, name)
    return found


def environment(env: Mapping[str, str], known: Mapping[str, tuple[str, ...]], prefix: str, is_list: Callable[[tuple[str, ...]], bool]) -> Iterator[Layer]:
    """One small layer per variable, in name order. A variable that is set to nothing counts as not set. Raises `ConfigError` for an unknown one.

    `known`: variable → path of its key. A value for a key that `is_list` is split at commas.
    """
    for name in sorted(key for key in env if key.startswith(prefix)):
        path = known.get(name)
        if path is None:
            near = difflib.get_close_matches(name, known, n=1)
            raise ConfigError(f"{name}: unknown variable; " + (f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"))
        if not (text := env[name].strip()):
            continue
        value: Any = [part.strip() for part in text.split(",")] if is_list(path) else text
        for key in reversed(path):
            value = {key: value}
        yield value, name


def is_sequence(model: type[BaseModel], path: tuple[str, ...]) -> bool:
    """Whether the key at a path holds a sequence."""
    return get_origin(_annotation(model, path)) is tuple


def merged_with_origin(layers: Iterable[Layer]) -> tuple[dict[str, Any], dict[str, str]]:
    """The layers merged, later over earlier, and who set each key."""
    merged: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for layer, name in layers:
        merge(merged, layer)
        origin.update((dotted, name) for dotted in _dotted(layer))
    return merged, origin


def settled(model: type[ModelT], layers: Iterable[Layer]) -> ModelT:
    """Merge the layers, later over earlier, and validate once. Raises `ConfigError` that names every place at fault; values are left out."""
    merged, origin = merged_with_origin(layers)
    try:
        return model.model_validate(merged)
    except ValidationError as error:
        raise ConfigError(_describe(error, origin, model)) from None


def _annotation(model: type[BaseModel], path: tuple[str, ...]) -> Any:
    """The type of a key."""
    *above, last = path
    for name in above:
        inner = model.model_fields[name].annotation
        assert isinstance(inner, type)
        model = inner
    return model.model_fields[last].annotation


def merge(into: dict[str, Any], layer: Mapping[str, Any]) -> None:
    """Lay one layer over another, key by key; what is no mapping replaces."""
    for key, value in layer.items():
        if isinstance(value, Mapping):
            below = into.get(key)
            into[key] = dict(below) if isinstance(below, Mapping) else {}
            merge(into[key], value)
        else:
            into[key] = value


def _dotted(layer: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Every key of a layer with its path."""
    for key, value in layer.items():
        yield f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _dotted(value, f"{prefix}{key}.")


def source_of(dotted: str, origin: Mapping[str, str]) -> str:
    """Who set this key, or the nearest key above it, or keys below it."""
    steps = dotted.split(".")
    while any(steps):
        if name := origin.get(".".join(steps)):
            return name
        steps.pop()
    return "default"


def _describe(error: ValidationError, origin: Mapping[str, str], model: type[BaseModel]) -> str:
    """One line for all that is wrong, each with where it was set."""
    parts = []
    for item in error.errors(include_input=False, include_url=False, include_context=False):
        dotted = ".".join(str(step) for step in item["loc"])
        where = f"{source_of(dotted, origin)}: {dotted}" if dotted else " and ".join(sorted(set(origin.values())))
        if item["type"] == "extra_forbidden":
            parts.append(f"{where}: unknown key{_hint(item['loc'], model)}")
        else:
            parts.append(f"{where}: {item['msg'].removeprefix('Value error, ')}")
    return "; ".join(parts)


def _hint(loc: tuple[int | str, ...], model: type[BaseModel]) -> str:
    """The keys that are known where an unknown one stands."""
    for step in loc[:-1]:
        inner = model.model_fields[str(step)].annotation if str(step) in model.model_fields else None
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return ""
        model = inner
    near = difflib.get_close_matches(str(loc[-1]), model.model_fields, n=1)
    return f", did you mean {near[0]}?" if near else f" (known: {', '.join(model.model_fields)})"
