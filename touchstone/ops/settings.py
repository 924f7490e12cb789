"""Touchstone's settings from four layers: command line > environment > touchstone.toml > defaults."""

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from touchstone.schemas.settings.house import KafkaSettings, Settings
from touchstone.scorers.base import ConfigError
from touchstone.scorers.json_documents import read_text
from touchstone.scorers.judges.settings import check_names, judge_names
from touchstone.scorers.settings import COMMAND_LINE, IN_A_FILE, Key, Layer, environment, in_files, merged, nested, settled, text_of, variables

DOCUMENT_NAME = "touchstone.toml"
PREFIX = "TOUCHSTONE_"
#: Variables that are read elsewhere (a judge's by the suites, three by the compose files), or by people's tools, and are therefore not settings.
#: TOUCHSTONE_DATA is the tests'.
NOT_SETTINGS = judge_names() | {
    "TOUCHSTONE_ARCHIVE_KEYS_SOURCE",
    "TOUCHSTONE_CONFIG",
    "TOUCHSTONE_DATA",
    "TOUCHSTONE_DEBUG",
    "TOUCHSTONE_METRICS_TOKEN_FILE",
    "TOUCHSTONE_SERVE_TOKENS_SOURCE",
}
KAFKA_PREFIX = "KAFKA_"
#: The customary names besides Touchstone's own; TOUCHSTONE_KAFKA_… wins over KAFKA_….
CUSTOMARY: dict[str, Key] = {f"{KAFKA_PREFIX}{field.upper()}": ("kafka", field) for field in KafkaSettings.model_fields}
VARIABLES: dict[str, Key] = {**variables(Settings, PREFIX), **CUSTOMARY}
#: How similar a KAFKA_ name must be to a known one to count as a typing mistake; the brokers' own names are below it.
ALIKE_MIN = 0.9


def load_settings(overrides: Mapping[str, Any] | None = None, *, env: Mapping[str, str] | None = None, document: Path | None = None) -> Settings:
    """Merge the layers and validate once.

    `overrides`: dotted name → value from the command line (`{"kafka.bootstrap_servers": …}`); None values are ignored.
    `document`: a TOML file; by default `$TOUCHSTONE_CONFIG`, else `touchstone.toml` where the working directory has one.
    Raises `ConfigError` naming the variable, key or option at fault, never its value.
    """
    return settled(Settings, _layers(overrides, os.environ if env is None else env, document))


def origins(overrides: Mapping[str, Any] | None = None, *, env: Mapping[str, str] | None = None, document: Path | None = None) -> dict[Key, str]:
    """The source of each key that is not at its default; arguments as for `load_settings`."""
    return merged(_layers(overrides, os.environ if env is None else env, document))[1]


def check_variables(env: Mapping[str, str]) -> None:
    """Refuse a TOUCHSTONE_ variable that nothing reads, whatever its value. Raises `ConfigError`."""
    check_names(env)
    # Variables without a value are looked up and then passed over.
    for _ in environment(dict.fromkeys(env, ""), Settings, VARIABLES, PREFIX, ignored=NOT_SETTINGS, read_file=text_of):
        raise AssertionError


def suspicious(env: Mapping[str, str]) -> list[str]:
    """One line for each KAFKA_ variable that is not read but is similar to a known one.

    It is not an error, because other tools use KAFKA_ names too.
    """
    ours = [*CUSTOMARY, *in_files(Settings, CUSTOMARY)]
    endings = {name.removeprefix(KAFKA_PREFIX): name for name in ours}
    lines = []
    for name in sorted(name for name in env if name.startswith(KAFKA_PREFIX) and name not in ours):
        near = difflib.get_close_matches(name.removeprefix(KAFKA_PREFIX), endings, n=1, cutoff=ALIKE_MIN)
        # A path is not a secret, so there is no KAFKA_SSL_CAFILE_FILE.
        stem = [plain] if (plain := name.removesuffix(IN_A_FILE)) in CUSTOMARY else []
        if meant := stem or [endings[ending] for ending in near]:
            lines.append(f"{name}: unknown variable; did you mean {meant[0]}?")
    return lines


def _layers(overrides: Mapping[str, Any] | None, env: Mapping[str, str], document: Path | None) -> list[Layer]:
    """Document, environment and command line, the last one on top."""
    check_names(env)
    return [
        *_document(env, document),
        *environment(env, Settings, VARIABLES, PREFIX, ignored=NOT_SETTINGS, verbatim=True, read_file=text_of),
        *((nested(tuple(dotted.split(".")), value), COMMAND_LINE) for dotted, value in (overrides or {}).items() if value is not None),
    ]


def _document(env: Mapping[str, str], document: Path | None) -> list[Layer]:
    """The TOML layer. An absent default file is no layer."""
    explicit = document or (Path(env["TOUCHSTONE_CONFIG"]) if env.get("TOUCHSTONE_CONFIG") else None)
    path = explicit or Path(DOCUMENT_NAME)
    if explicit is None and not path.exists():
        return []
    try:
        layer = tomllib.loads(read_text(path, "check the path given by --config or TOUCHSTONE_CONFIG"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML ({error})") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deep; this is not a configuration file") from None
    for section, fields in layer.items():
        if not isinstance(fields, dict):
            raise ConfigError(f"{path}: {section}: unknown key outside a section; settings go under [{'], ['.join(Settings.model_fields)}]")
    return [(layer, str(path))]
