"""Access to parsed JSON whose shape is not known to be right: what is not an object or a list is skipped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]


def objects(values: Any) -> list[Json]:
    """Return the objects of a list; empty if it is not a list."""
    return [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []


def numbered(holder: Any, name: str) -> Iterator[tuple[int, Json]]:
    """Yield the objects of a repeating element with their indices."""
    values = holder.get(name) if isinstance(holder, dict) else None
    for index, value in enumerate(values if isinstance(values, list) else ()):
        if isinstance(value, dict):
            yield index, value


def choice(holder: Json, name: str = "value") -> tuple[str, Any] | None:
    """Return (type, value) of a choice element: ("String", "x") for {"valueString": "x"}; None if it is absent."""
    for key, value in holder.items():
        if key.startswith(name) and len(key) > len(name) and key[len(name)].isupper():
            return key[len(name) :], value
    return None
