"""JSON documents that people write by hand: `//` comments are allowed, a key given twice is not."""

import json
from pathlib import Path
from typing import Any

from touchstone.scorers.base import ConfigError

DOCUMENT_BYTES_MAX = 1_048_576


def read_document(path: Path) -> dict[str, Any]:
    """Read one JSON object. Raises `ConfigError` with the file, the line and how to mend it."""
    try:
        with path.open("rb") as stream:
            data = stream.read(DOCUMENT_BYTES_MAX + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); check the path and its permissions") from None
    if len(data) > DOCUMENT_BYTES_MAX:
        raise ConfigError(f"{path}: larger than {DOCUMENT_BYTES_MAX} bytes; this is not a configuration file")
    try:
        document = json.loads(without_comments(data.decode("utf-8-sig")), object_pairs_hook=_unique)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}, line {error.lineno}: not valid JSON ({error.msg})") from None
    except _DuplicateKeyError as error:
        raise ConfigError(f"{path}: {error.args[0]}: given twice; keep one") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deep; this is not a configuration file") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: holds no JSON object; write {{…}}")
    return document


def read_document_if_present(path: Path) -> dict[str, Any] | None:
    """The document of a default path; None where there is no such file."""
    return read_document(path) if path.exists() else None


def without_comments(text: str) -> str:
    """The text with `//` comments blanked out, so that line numbers stay as they were. `//` inside a string stays."""
    kept: list[str] = []
    in_string = escaped = False
    position = 0
    while position < len(text):
        character = text[position]
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif text.startswith("//", position):
            end = text.find("\n", position)
            position = len(text) if end < 0 else end
            continue
        elif character == '"':
            in_string = True
        kept.append(character)
        position += 1
    return "".join(kept)


class _DuplicateKeyError(Exception):
    """A key that stands twice in one object."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are distinct: the second of two would silently win."""
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise _DuplicateKeyError(key)
        result[key] = value
    return result
