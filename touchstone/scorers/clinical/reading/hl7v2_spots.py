"""Places of HL7 v2 paths in a message's text: `PID-5[2].3` is component 3 of the second repetition of field 5."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import accumulate
from typing import Final, TypeAlias

from touchstone.scorers.clinical.formats.hl7v2 import lexer
from touchstone.scorers.clinical.reading.spots import Spot

_PATH: Final = re.compile(
    r"(?:message\[(?P<message>\d+)\]/)?"
    r"(?:line (?P<line>\d+)|(?P<name>[A-Z?][A-Z0-9]{0,2})(?:\[(?P<number>\d+)\])?)"
    r"(?:-(?P<field>\d+)(?:\[(?P<repetition>\d+)\])?(?:\.(?P<component>\d+)(?:\.(?P<part>\d+))?)?)?"
)


#: (message, name of the segment, its number) → its line, from 1, and the delimiters.
_Segments: TypeAlias = dict[tuple[int, str, int], tuple[int, str]]
#: A header with the delimiters that nearly all messages have: HL7 recommends them.
_USUAL_HEADER: Final = f"MSH{lexer.USUAL[0]}{lexer.USUAL[1:]}{lexer.USUAL[0]}"


def displayed(text: str) -> str:
    """The text of messages with a line for each segment, as the lexer counts them."""
    return "\n".join(lexer.lines_of(text, []))


def hl7v2_spots(text: str, paths: Iterable[str]) -> dict[str, Spot | None]:
    """The place of each path in displayed messages; a segment that is absent has its message's header as the nearest one. None for what is no such path."""
    lines = text.split("\n")
    begins = list(accumulate(map((1).__add__, map(len, lines[:-1])), initial=0))
    segments = _of_usual_lines(lines) or _of_any(text)
    return {path: _spot(text, begins, segments, path) for path in paths}


def _of_any(text: str) -> _Segments:
    """The segments of any messages, as the lexer reads them."""
    read = lexer.read(text)
    segments: _Segments = {}
    for message in read.messages:
        for segment in message.segments:
            segments[message.number, segment.name, segment.number] = segment.line, message.delimiters
    for segment in (*read.envelope, *read.strays):
        segments.setdefault((1, segment.name, segment.number), (segment.line, lexer.USUAL))
    return segments


def _of_usual_lines(lines: list[str]) -> _Segments | None:
    """The same for one message with the usual delimiters, whose lines are all segments of it: most findings are in such; None for any other text."""
    if not lines[0].startswith(_USUAL_HEADER) or len(lines) > lexer.SEGMENTS_MAX:
        return None
    segments: _Segments = {(1, "MSH", 1): (1, lexer.USUAL)}
    counts: dict[str, int] = {"MSH": 1}
    for number, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        name = line[:3]
        if line[3:4] != "|" or not lexer.is_inner(name):
            return None
        counts[name] = count = counts.get(name, 0) + 1
        segments[1, name, count] = number, lexer.USUAL
    return segments


def _spot(text: str, begins: list[int], segments: _Segments, path: str) -> Spot | None:
    found = _PATH.match(path)
    if found is None:
        return None
    if found["line"] is not None:
        number = int(found["line"])
        return _line(text, begins, number) if 1 <= number <= len(begins) else None
    message = int(found["message"] or 1)
    held = segments.get((message, found["name"], int(found["number"] or 1)))
    if held is None:
        header = segments.get((message, "MSH", 1))
        return _name_of(_line(text, begins, header[0] if header is not None else 1), is_exact=False)
    number, delimiters = held
    line = _line(text, begins, number)
    if found["field"] is None:
        return _name_of(line)
    return _field(text, line, found["name"], delimiters, [int(found[name]) if found[name] else None for name in ("field", "repetition", "component", "part")])


def _line(text: str, begins: list[int], number: int) -> Spot:
    begin = begins[number - 1]
    end = begins[number] - 1 if number < len(begins) else len(text)
    indent = len(text[begin:end]) - len(text[begin:end].lstrip(" \t\ufeff"))
    return Spot(begin + indent, end)


def _name_of(line: Spot, *, is_exact: bool = True) -> Spot:
    return Spot(line.start, min(line.start + 3, line.end), is_exact)


def _field(text: str, line: Spot, name: str, delimiters: str, wanted: list[int | None]) -> Spot:
    """A field, or a part of it; the nearest enclosing one where it is absent or empty."""
    position, repetition, component, part = wanted
    separator, between, repeats, _, inner = (*delimiters, *lexer.USUAL[len(delimiters) :])[:5]
    if name in lexer.HEADERS:
        if position == 1:
            return Spot(line.start + 3, min(line.start + 4, line.end))
        position = (position or 1) - 1
    here = _part(text, line, separator, (position or 0) + 1)
    if here is None:
        return _name_of(line, is_exact=False)
    if name in lexer.HEADERS and position == 1:
        return here
    for sign, number in ((repeats, repetition), (between, component), (inner, part)):
        if number is None:
            # A component is that of the first repetition, unless the path names another.
            if sign == repeats and component is not None:
                here = _part(text, here, repeats, 1) or here
            continue
        inside = _part(text, here, sign, number)
        if inside is None:
            return _visible(here, is_exact=False)
        here = inside
    return _visible(here, is_exact=here.end > here.start)


def _visible(spot: Spot, *, is_exact: bool) -> Spot:
    """A place of at least one character: an empty field is shown with the separator before it."""
    return Spot(spot.start - (spot.end == spot.start), spot.end, is_exact)


def _part(text: str, spot: Spot, sign: str, number: int) -> Spot | None:
    """The part with a number, counted from 1; None if there are fewer."""
    begin = spot.start
    for _ in range(number - 1):
        at = text.find(sign, begin, spot.end)
        if at < 0:
            return None
        begin = at + 1
    end = text.find(sign, begin, spot.end)
    return Spot(begin, spot.end if end < 0 else end)
