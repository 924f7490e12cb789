"""Displays of codes in the tables, by code system."""

from __future__ import annotations

import json
import lzma
import re
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import Final

_NO_WORD: Final = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class DisplaySystem:
    """One code system: code → displays, display → codes that have it; displays without case and punctuation."""

    displays: dict[str, list[str]] = field(default_factory=dict)
    owners: dict[str, set[str]] = field(default_factory=dict)


def plain(text: str) -> str:
    """Return a display without case, punctuation and white space."""
    return _NO_WORD.sub(" ", text.casefold()).strip()


def has_displays(system: str, code: str) -> bool:
    """Return True if the tables have a display of a code."""
    table = display_systems().get(system)
    return table is not None and code in table.displays


@lru_cache(maxsize=1)
def display_systems() -> dict[str, DisplaySystem]:
    """The code systems of the tables, by URL or OID."""
    data = resources.files("touchstone.scorers.clinical.tables").joinpath("displays.json.xz").read_bytes()
    found: dict[str, DisplaySystem] = {}
    for names, listed in json.loads(lzma.decompress(data))["systems"].items():
        system = DisplaySystem()
        for code, displays in listed.items():
            system.displays[code] = [plain(one) for one in displays]
            for one in system.displays[code]:
                system.owners.setdefault(one, set()).add(code)
        found.update(dict.fromkeys(names.split(), system))
    return found
