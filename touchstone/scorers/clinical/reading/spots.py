"""Places of findings in the text of a document, and the steps of the paths that name them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Final, NamedTuple

#: A name, a slice of a profile (which is no part of the document), and positions in lists. `[x]` is the end of a choice's name, as in `value[x]`.
_STEP: Final = re.compile(r"([A-Za-z_?][\w-]*)(\[x\])?(?::[\w-]+)?((?:\[\d+\])*)(?:\.|$)")
_NUMBER: Final = re.compile(r"\d+")
#: The name, in paths, of a member whose own may be patient text.
UNKNOWN: Final = "?"
#: Steps of a path that are followed: documents are nested less deep.
STEPS_MAX: Final = 400


class Spot(NamedTuple):
    """Characters `start` to `end` of a text. `is_exact`: False if the element is not in the document, and this is its nearest enclosing one.

    `name`: of the element that is marked, as the path has it (`identifier[1]`); empty where it is not known.
    """

    start: int
    end: int
    is_exact: bool = True
    name: str = ""


#: Path → its place; None if the document has no such place.
Spots = Mapping[str, Spot | None]


class Step(NamedTuple):
    """One step of a FHIR path: a member's name (`value[x]` for any type of a choice) and positions in lists, from 0."""

    name: str
    indices: tuple[int, ...]


def steps_of(path: str) -> tuple[list[Step], bool]:
    """The steps of a FHIR path as far as they can be read, and whether that is all of it."""
    steps: list[Step] = []
    at = 0
    while at < len(path) and len(steps) < STEPS_MAX and (found := _STEP.match(path, at)) is not None:
        steps.append(Step(found[1] + (found[2] or ""), tuple(int(one) for one in _NUMBER.findall(found[3]))))
        at = found.end()
    return steps, at >= len(path)


def numbered_unknown(paths: Iterable[tuple[str, str]]) -> list[str]:
    """The paths of findings, given as (code, path), with numbers for those of one code that end with the same `?`: `Patient.?`, `Patient.?_2`.

    Each is about another member whose name is not shown, in the order of the document.
    """
    times: Counter[tuple[str, str]] = Counter()
    numbered = []
    for code, path in paths:
        if path.endswith(f".{UNKNOWN}"):
            times[code, path] += 1
        numbered.append(f"{path}_{times[code, path]}" if times[code, path] > 1 else path)
    return numbered


def unknown_name(number: int) -> str:
    """The name of an object's member of that number among those whose names are not shown."""
    return UNKNOWN if number == 1 else f"{UNKNOWN}_{number}"


class Lines:
    """The lines of a text, to turn places into line and column."""

    def __init__(self, text: str) -> None:
        self._length = len(text)
        self._begins = list(accumulate(map((1).__add__, map(len, text.split("\n")[:-1])), initial=0))

    def line_and_column(self, at: int) -> tuple[int, int]:
        """Line and column of a character, both from 1."""
        line = bisect_right(self._begins, at)
        return line, at - self._begins[line - 1] + 1

    def spot(self, line: int, column: int = 1) -> Spot | None:
        """The place of a line from a column to the line's end; None if there is no such line. A column beyond the line is its last character."""
        if not 1 <= line <= len(self._begins):
            return None
        begin = self._begins[line - 1]
        end = max(begin, self._begins[line] - 1 if line < len(self._begins) else self._length)
        return Spot(min(begin + max(column, 1) - 1, max(begin, end - 1)), end)
