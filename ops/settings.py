"""Settings from four layers: command line > environment > touchstone.toml > defaults."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from touchstone.schemas.settings.house import Settings
from touchstone.scorers.base import ConfigError

DOCUMENT_NAME = "touchstone.toml"
PREFIX = "TOUCHSTONE_"
#: Variables that are read elsewhere, or by people's tools, and are therefore not settings. TOUCHSTONE_DATA is the tests'.
NOT_SETTINGS = frozenset({"TOUCHSTONE_CONFIG", "TOUCHSTONE_DATA", "TOUCHSTONE_DEBUG"})
KAFKA_PREFIX = "KAFKA_"

Layer = dict[str, dict[str, Any]]


def load_settings(overrides: Mapping[str, Any] | None = None, *, env: Mapping[str, str] | None = None, document: Path | None = None) -> Settings:
    """Merge the layers and validate once.

    `overrides`: dotted name → value from the command line (`{"kafka.bootstrap_servers": …}`); None values are ignored.
    `document`: a TOML file; by default `$TOUCHSTONE_CONFIG`, else `touchstone.toml` where the working directory has one.
    Raises `ConfigError` naming the variable, key or option at fault, never its value.
    """
    env = os.environ if env is None else env
    merged: Layer = {}
    origin: dict[str, str] = {}
    for layer, names in (read_document(env, document), read_environment(env), _dotted(overrides or {})):
        for section, fields in layer.items():
            merged.setdefault(section, {}).update(fields)
        origin.update(names)
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        raise ConfigError(describe(error, origin)) from None


def describe(error: ValidationError, origin: Mapping[str, str]) -> str:
    """One line for all that is wrong: where it was set, what is expected; the value itself is left out."""
    parts = []
    for item in error.errors(include_input=False, include_url=False, include_context=False):
        dotted = ".".join(str(step) for step in item["loc"])
        sources = [name for path, name in origin.items() if path == dotted or path.startswith(dotted + ".")]
        where = f"{dotted} (from {', '.join(sorted(set(sources)))})" if sources else dotted
        what = "unknown key" if item["type"] == "extra_forbidden" else item["msg"].removeprefix("Value error, ")
        parts.append(f"{where}: {what}")
    return "; ".join(parts)


def read_document(env: Mapping[str, str], document: Path | None) -> tuple[Layer, dict[str, str]]:
    """The TOML layer, and where each key came from. An absent default file is an empty layer."""
    explicit = document or (Path(env["TOUCHSTONE_CONFIG"]) if env.get("TOUCHSTONE_CONFIG") else None)
    path = explicit or Path(DOCUMENT_NAME)
    if explicit is None and not path.exists():
        return {}, {}
    try:
        layer = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); check the path given by --config or TOUCHSTONE_CONFIG") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML ({error})") from None
    for section, fields in layer.items():
        if not isinstance(fields, dict):
            raise ConfigError(f"{path}: {section}: unknown key outside a section; settings go under [{'], ['.join(Settings.model_fields)}]")
    return layer, {f"{section}.{key}": str(path) for section, fields in layer.items() for key in fields}


def read_environment(env: Mapping[str, str]) -> tuple[Layer, dict[str, str]]:
    """The environment layer: `TOUCHSTONE_<SECTION>_<FIELD>` and, for Kafka, the customary `KAFKA_<FIELD>`.

    A name that ends in `_FILE` gives a secret by file. An unknown TOUCHSTONE_ name is refused; an unknown KAFKA_ name
    belongs to somebody else's tool.
    """
    layer: Layer = {}
    origin: dict[str, str] = {}
    sections = {name: info.annotation for name, info in Settings.model_fields.items()}
    for name, value in env.items():
        if name.startswith(PREFIX) and name not in NOT_SETTINGS:
            section, _, field = name.removeprefix(PREFIX).lower().partition("_")
            known = section in sections
        elif name.startswith(KAFKA_PREFIX):
            section, field, known = "kafka", name.removeprefix(KAFKA_PREFIX).lower(), False
        else:
            continue
        fields = set(getattr(sections.get(section), "model_fields", ()))
        if field not in fields and field.removesuffix("_file") in fields:
            field, value = field.removesuffix("_file"), _read_secret(name, value)
        if field in fields:
            layer.setdefault(section, {})[field] = value
            origin[f"{section}.{field}"] = name
        elif name.startswith(PREFIX):
            known_names = f"fields of {section}: {', '.join(sorted(fields))}" if known else f"sections: {', '.join(sections)}"
            raise ConfigError(f"{name}: unknown setting ({known_names})")
    return layer, origin


def _read_secret(name: str, path: str) -> str:
    """A secret kept in a file; the trailing newline that editors add is not part of it."""
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{name}: the file it names cannot be read ({type(error).__name__})") from None


def _dotted(overrides: Mapping[str, Any]) -> tuple[Layer, dict[str, str]]:
    """The command-line layer."""
    layer: Layer = {}
    origin: dict[str, str] = {}
    for dotted, value in overrides.items():
        if value is None:
            continue
        section, _, field = dotted.partition(".")
        layer.setdefault(section, {})[field] = value
        origin[dotted] = "the command line"
    return layer, origin
