"""JSON objects in a text: where each begins and ends, and how it reads as JSON.

The repair is narrow on purpose: trailing commas, single quotes, Python's constants. Nothing is closed that was left open and nothing is guessed, so what
was cut off never becomes whole. That is why no general repairing library is used here.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_DEPTH_MAX: Final = 64


class Found(NamedTuple):
    """An outermost object of a text. `text`: as JSON; None for one that does not end, which is then the last. `begin`, `end`: its place."""

    text: str | None
    begin: int
    end: int


#: How an object begins. A brace in prose is followed by something else.
_BEGIN = re.compile(r"""\{(?=\s*["'}])""")
_TOKEN = re.compile(r"""\s+|[{}\[\]:,]|"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|[A-Za-z]+""", re.DOTALL)
_SINGLE = re.compile(r"'((?:[^'\\]|\\.|'(?!\s*[,:}\]]))*)'", re.DOTALL)
_CONSTANTS: Final = {"True": "true", "False": "false", "None": "null"}


def objects(text: str) -> Iterator[Found]:
    """Every outermost JSON object of a text, tidied."""
    at = 0
    while (begin := _BEGIN.search(text, at)) is not None:
        found = object_at(text, begin.start())
        yield found
        at = found.end


def object_at(text: str, begin: int) -> Found:
    """The object that begins at a place; one that never closes reaches to the end of the text."""
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
            out.append(char)  # no JSON has it: the parser will say so
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
    """Two words side by side stay two words, so that what was no JSON does not become JSON."""
    before = ""
    for part in parts:
        if before and before[-1].isalnum() and part[0].isalnum():
            yield " "
        yield part
        before = part


def _as_double(inside: str) -> str:
    """A single-quoted string as JSON writes it."""
    plain = re.sub(r"\\'", "'", inside)
    return '"' + re.sub(r'(?<!\\)((?:\\\\)*)"', r'\1\\"', plain) + '"'
