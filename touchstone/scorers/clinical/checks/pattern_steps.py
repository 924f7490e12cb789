"""An upper bound on the steps of Python's backtracking engine for a pattern.

Each part of a pattern has a number of ways in which it may match from one place, and a number of steps to try them all. In a sequence, each part is tried
once for every way of the parts before it; a repeat multiplies its part by itself. A part that is not known here makes the whole unbounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

#: One part of a pattern: groups and flags that are known, escapes, classes, repeats, and any other character.
_PART: Final = re.compile(
    r"""(?P<flags>\(\?[aims]+\)) | (?P<look>\(\?<?[=!]|\(\?>) | (?P<group>\((?!\?)|\(\?(?:[ims]+)?:|\(\?P<\w+>) | (?P<unknown>\(\?) | (?P<close>\)) | (?P<or>\|)
      | (?P<repeat>(?:[*+?]|\{\d+(?:,\d*)?\}|\{,\d*\})[?+]?) | (?P<same>\\[1-9]) | (?P<single>\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.)""",
    re.VERBOSE | re.DOTALL,
)
_COUNTS: Final = re.compile(r"\{(\d*)(,?)(\d*)\}")
_NAMED: Final = {"*": (0, None), "+": (1, None), "?": (0, 1)}


class _Unbounded(Exception):
    """More steps than the limit, or a part that is not known."""


@dataclass(frozen=True, slots=True)
class _Cost:
    """In how many ways a part may match from one place, and how many steps all of them take together."""

    ways: int = 1
    steps: int = 1


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The length of the text, and the limit of steps."""

    chars: int
    limit: int

    def checked(self, ways: int, steps: int) -> _Cost:
        """A cost within the limit; raises _Unbounded beyond it."""
        if ways > self.limit or steps > self.limit:
            raise _Unbounded
        return _Cost(ways, steps)

    def sequence(self, parts: list[_Cost]) -> _Cost:
        """Parts one after the other."""
        ways, steps = 1, 1
        for part in parts:
            steps += ways * part.steps
            ways *= part.ways
            self.checked(ways, steps)
        return _Cost(ways, steps)

    def repeated(self, part: _Cost, least: int, most: int | None) -> _Cost:
        """A part several times. A round that matches nothing ends an open repeat, so that the text's length bounds the rounds."""
        ways, steps, of_rounds = 0, 1, 1
        for number in range((least + self.chars + 1 if most is None else most) + 1):
            if number >= least:
                ways += of_rounds
            steps += of_rounds * (part.steps + 1)
            of_rounds *= part.ways
            self.checked(max(ways, of_rounds), steps)
        return _Cost(ways, steps)


def steps_at_most(regex: str, chars: int, limit: int, *, anywhere: bool = False) -> int | None:
    """Steps for a text of so many characters at most; None if they may be more than the limit. `anywhere`: the match may begin at any place.

    The pattern is one that Python reads. Raises RecursionError for one that is nested too deep.
    """
    bounds = _Bounds(chars, limit)
    try:
        cost = _choice(_PART.finditer(regex), bounds)
        return bounds.checked(1, cost.steps * (chars + 1 if anywhere else 1)).steps
    except _Unbounded:
        return None


def _choice(parts: Iterator[re.Match[str]], bounds: _Bounds) -> _Cost:
    """Reads up to the end of a group, or of the pattern."""
    branches: list[_Cost] = []
    found: list[_Cost] = []
    for part in parts:
        kind = part.lastgroup
        if kind == "close":
            break
        if kind == "or":
            branches.append(bounds.sequence(found))
            found = []
        elif kind == "repeat":
            found[-1:] = [bounds.repeated(one, *_times(part[0])) for one in found[-1:]]
        elif kind == "group":
            found.append(_choice(parts, bounds))
        elif kind == "look":
            # Whatever matches inside, nothing inside is tried again afterwards.
            found.append(_Cost(1, _choice(parts, bounds).steps))
        elif kind == "unknown":
            raise _Unbounded
        elif kind != "flags":
            found.append(_Cost(1, bounds.chars if kind == "same" else 1))
    branches.append(bounds.sequence(found))
    return bounds.checked(sum(one.ways for one in branches), sum(one.steps for one in branches) + 1)


def _times(text: str) -> tuple[int, int | None]:
    """The least and the most rounds of a repeat; None for any number. A mark behind it (reluctant, possessive) adds no ways."""
    counts = _COUNTS.match(text)
    if counts is None:
        return _NAMED[text[0]]
    least = int(counts[1] or 0)
    return least, (int(counts[3]) if counts[3] else None) if counts[2] else least
