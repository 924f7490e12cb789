"""Finds JSON objects in prose, and repairs slips of models: trailing commas, single quotes, Python's constants.

The repair is narrow on purpose. It closes nothing that was left open and guesses nothing, so an answer that was cut off never becomes a verdict. General
repair libraries do guess, which is why none is used here.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_DEPTH_MAX: Final = 64


class Found(NamedTuple):
    """An outermost object of a text. `text`: the object as JSON; None for an object without an end, which is then the last. `begin`, `end`: its span."""

    text: str | None
    begin: int
    end: int


#: The beginning of an object. A brace in prose is followed by something else.
_BEGIN = re.compile(r"""\{(?=\s*["'}])""")
_TOKEN = re.compile(r"""\s+|[{}\[\]:,]|"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|[A-Za-z]+""", re.DOTALL)
_SINGLE = re.compile(r"'((?:[^'\\]|\\.|'(?!\s*[,:}\]]))*)'", re.DOTALL)
_CONSTANTS: Final = {"True": "true", "False": "false", "None": "null"}


def objects(text: str) -> Iterator[Found]:
    """Every outermost JSON object of a text, repaired."""
    at = 0
    while (begin := _BEGIN.search(text, at)) is not None:
        found = object_at(text, begin.start())
        yield found
        at = found.end


def object_at(text: str, begin: int) -> Found:
    """The object that begins at an index. An object without an end reaches to the end of the text."""
    at = begin
    out: list[str] = []
    open_: list[str] = []
    while at < len(text):
        char = text[at]
        if char == "'":
            single = _SINGLE.match(text, at)
            if single is None:
                break
            out.append(_as_double(single[1]))
            at = single.end()
            continue
        token = _TOKEN.match(text, at)
        if token is None:
            out.append(char)  # not JSON: the parser will report it
            at += 1
            if char == '"':
                break
            continue
        part, at = token[0], token.end()
        if part in "}]" and out and out[-1] == ",":
            out.pop()
        if part.isspace():
            continue
        out.append(_CONSTANTS.get(part, part))
        if part in "{[":
            open_.append(part)
            if len(open_) > _DEPTH_MAX:
                break
        elif part in "}]" and open_:
            open_.pop()
            if not open_:
                return Found("".join(_spaced(out)), begin, at)
    return Found(None, begin, len(text))


def _spaced(parts: list[str]) -> Iterator[str]:
    """Keep two words apart, so that repairing never turns something else into JSON."""
    before = ""
    for part in parts:
        if before and before[-1].isalnum() and part[0].isalnum():
            yield " "
        yield part
        before = part


def _as_double(inside: str) -> str:
    """A single-quoted string in double quotes."""
    plain = re.sub(r"\\'", "'", inside)
    return '"' + re.sub(r'(?<!\\)((?:\\\\)*)"', r'\1\\"', plain) + '"'
