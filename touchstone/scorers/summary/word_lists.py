"""Tables that ship beside the rules that use them: word lists in TOML, rows in text files."""

import tomllib
from pathlib import Path
from typing import Any


def listed(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def table(module: str, name: str) -> dict[str, Any]:
    """The content of `name`.toml beside a module; `module`: its `__file__`."""
    return tomllib.loads(_text(module, f"{name}.toml"))


def word_lists(module: str, name: str) -> dict[str, frozenset[str]]:
    """The strings at the top of `name`.toml beside a module, each as a set of words."""
    return {key: listed(value) for key, value in table(module, name).items() if isinstance(value, str)}


def rows(module: str, name: str) -> list[str]:
    """The lines of `name`.txt beside a module, without comments; an indented line continues the one before it."""
    found: list[str] = []
    for line in _text(module, f"{name}.txt").splitlines():
        if line.startswith(" "):
            found[-1] += line.lstrip()
        elif line and not line.startswith("#"):
            found.append(line)
    return found


def _text(module: str, name: str) -> str:
    return Path(module).with_name(name).read_text(encoding="utf-8")
