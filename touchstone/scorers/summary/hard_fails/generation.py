"""The text of a generation: the content of its code fence or of its JSON."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

#: Objects inside objects: deeper ones are left out of the text.
DEPTH_MAX = 32

#: Characters that nobody sees: soft hyphen, blank without width, word joiner, byte order mark. Inside "300 mg" they would make other numbers of it.
_INVISIBLE = str.maketrans(dict.fromkeys("\u00ad\u200b\u2060\ufeff"))
_FENCE_OPENING = re.compile(r"```[\w+-]*[ \t]*\r?")


class Unreadable(Exception):
    """Structured output that cannot be parsed."""


class Generation(NamedTuple):
    """The text that is scored. `leaves`: it consists of the strings of a structure, which end as list items do."""

    text: str
    leaves: bool = False


def read_generation(generated: str, structured_output_requested: bool) -> Generation:
    """The text of a generation: the content of one enclosing code fence, or the text inside JSON, without invisible characters. Raises `Unreadable`.

    Of JSON: a string is the text; of an object with a string `summary`, that; else every string in it, in order, one per line.
    """
    text, leaves = _read(generated, structured_output_requested)
    return Generation(text.translate(_INVISIBLE), leaves)


def _read(generated: str, structured_output_requested: bool) -> Generation:
    """The same with every character."""
    bare = _unfenced(generated)
    if not structured_output_requested:
        return Generation(bare)
    try:
        document = json.loads(bare, parse_constant=_refuse, parse_int=float)  # only the strings count, and a number may have any length
    except (ValueError, RecursionError):
        raise Unreadable from None
    if isinstance(document, str):
        return Generation(document)
    if isinstance(document, dict) and isinstance(document.get("summary"), str):
        return Generation(document["summary"])
    return Generation("\n".join(_leaves(document, DEPTH_MAX)), leaves=True)


def _unfenced(generated: str) -> str:
    """The content of one enclosing code fence; a text without one unchanged. Takes linear time."""
    opening, newline, rest = generated.strip().partition("\n")
    if not newline or not rest.endswith("```") or not _FENCE_OPENING.fullmatch(opening):
        return generated
    inner = rest.removesuffix("```").rstrip(" \t").removesuffix("\n").removesuffix("\r")
    return generated if "```" in inner else inner


def _leaves(value: Any, depth: int) -> Iterator[str]:
    """The strings of a structure in order, keys left out."""
    if isinstance(value, str):
        if value.strip():
            yield value.strip()
    elif depth:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        for item in inner:
            yield from _leaves(item, depth - 1)


def _refuse(constant: str) -> NoReturn:
    """Refuse NaN and infinities, which are not JSON."""
    raise ValueError(constant)
