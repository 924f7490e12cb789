"""Paths of NIST profiles: `3[1].1[*]`, positions with the repetition that is meant, from an element down to its parts."""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

#: (position, repetition; None for every one), …; empty for the element itself.
Path: TypeAlias = tuple[tuple[int, int | None], ...]

_STEP = re.compile(r"([1-9]\d{0,4})(?:\[([1-9]\d{0,5}|\*)\])?", re.ASCII)
STEPS_MAX = 12


class Range(NamedTuple):
    """A number of repetitions or characters. `most`: None for no limit."""

    least: int
    most: int | None

    def holds(self, number: int) -> bool:
        """True if the number lies in the range."""
        return number >= self.least and (self.most is None or number <= self.most)


def read_path(text: str) -> Path:
    """A path as written; a step without a repetition means the first. Raises ValueError for anything else."""
    text = text.strip()
    if text == ".":
        return ()
    steps: list[tuple[int, int | None]] = []
    for part in text.split("."):
        found = _STEP.fullmatch(part)
        if found is None or len(steps) >= STEPS_MAX:
            raise ValueError(f"{text[:60]!r} is no path")
        steps.append((int(found[1]), None if found[2] == "*" else int(found[2] or 1)))
    return tuple(steps)
