"""Words and numbers as reports print them."""

import re
from typing import Final

from touchstone.scorers.reporting.words import counted, percent, visible

__all__ = ["WIDTH_MIN", "counted", "percent", "visible", "wrapped"]

_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
#: Narrower terminals are left to break lines themselves.
WIDTH_MIN: Final = 40


def wrapped(line: str, width: int | None) -> str:
    """A line broken between words, with what follows indented two cells more. Longer words stay whole; `width`: None breaks nothing."""
    if width is None or width < WIDTH_MIN or len(line) <= width:
        return line
    indent = " " * (len(line) - len(line.lstrip(" ")) + 2)
    lines, cells = [""], 0
    for word in line.split(" "):
        long = len(_COLOURS.sub("", word))
        if cells + long > width and lines[-1].strip():
            lines.append(indent + word)
            cells = len(indent) + long + 1
        else:
            lines[-1] += word if cells == 0 else f" {word}"
            cells += long + 1
    return "\n".join(lines)
