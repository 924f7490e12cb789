"""JSON documents that people write by hand: `//` comments are allowed, a key given twice is not."""

import json
import re
from pathlib import Path
from typing import Any

from touchstone.scorers.base import ConfigError

DOCUMENT_BYTES_MAX = 1_048_576
#: A string, whole or cut off by the end, or a comment. Whatever opens is matched, so the search never goes back.
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]+|\\.)*"?|//[^\n]*', re.DOTALL)


def read_document(path: Path) -> dict[str, Any]:
    """Read one JSON object. Raises `ConfigError` with the file, the line and how to fix it."""
    try:
        document = json.loads(without_comments(read_text(path)), object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}, line {error.lineno}: not valid JSON ({error.msg})") from None
    except _DuplicateKeyError as error:
        raise ConfigError(f"{path}: {error.args[0]}: given twice; keep one") from None
    except ValueError:
        raise ConfigError(f"{path}: a number has too many digits; write a smaller one") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deep; this is not a configuration file") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: is not a JSON object; write {{…}}")
    return document


def read_document_if_present(path: Path) -> dict[str, Any] | None:
    """The document of a default path; None if there is no such file."""
    return read_document(path) if path.exists() else None


def read_bounded(path: Path, bytes_max: int, *, remedy: str, too_large: str, named: str = "") -> bytes:
    """The bytes of a file within a bound. Raises `ConfigError`.

    `remedy`: what to do if it cannot be read; `too_large`: if it has more bytes; `named`: text before the path in the message, such as an option.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(bytes_max + 1)
    except OSError as error:
        raise ConfigError(f"{named}{path}: cannot be read ({error.strerror}); {remedy}") from None
    if len(data) > bytes_max:
        raise ConfigError(f"{named}{path}: larger than {bytes_max} bytes; {too_large}")
    return data


def read_text(path: Path, remedy: str = "check the path and its permissions") -> str:
    """The text of a configuration file. Raises `ConfigError`; `remedy`: what to do if it cannot be read."""
    data = read_bounded(path, DOCUMENT_BYTES_MAX, remedy=remedy, too_large="this is not a configuration file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8") from None


def without_comments(text: str) -> str:
    """The text without its `//` comments; line numbers stay as they were, and so does `//` inside a string."""
    return _STRING_OR_COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else "", text)


class _DuplicateKeyError(Exception):
    """A key that occurs twice in one object."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are distinct: the second of two would silently win."""
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise _DuplicateKeyError(key)
        result[key] = value
    return result
