"""Words and numbers as reports print them."""

import re
from typing import Final

_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
#: Narrower terminals are left to break lines themselves.
WIDTH_MIN: Final = 40


def counted(count: int, noun: str) -> str:
    """`1 case`, `2 cases`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def percent(ratio: float) -> str:
    """A whole percentage; 0 % and 100 % are only printed where they are exact."""
    if 0 < ratio < 1:
        return f"{min(99, max(1, round(ratio * 100)))}%"
    return f"{ratio:.0%}"


def visible(text: str) -> str:
    """The text with what a terminal would act upon (control characters, direction marks) written as escapes."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else character.encode("unicode_escape", "surrogatepass").decode() for character in text)


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
