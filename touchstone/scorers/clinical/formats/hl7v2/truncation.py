"""Messages that are cut off: a header alone, or a text that ends without a segment terminator where more is required.

Neither is proof, and both are told as critical: a message of which a part never came must not pass for one with a missing segment.
"""

from __future__ import annotations

import re
from typing import Final

from touchstone.scorers.clinical.formats.hl7v2.findings import Notes
from touchstone.scorers.clinical.formats.hl7v2.lexer import Document, Message, Segment

CODE: Final = "structure.cut"
_ENDS: Final = ("\r", "\n", "\x1c")
_WHOLE: Final = "Send the whole message, and end each segment with a carriage return"
#: What is wrong with a value, or a segment, that stops in its middle.
_BROKEN: Final = frozenset({"structure.required-field", "structure.segment-name", "datetimes.malformed", "data_types.datatype"})
_POSITION: Final = re.compile(r"\d+")


def is_open(text: str, padding: str) -> bool:
    """Whether a text ends without a segment terminator; what old systems fill files with does not count."""
    return not text.rstrip(padding).endswith(_ENDS)


def check_header_alone(message: Message, notes: Notes) -> None:
    """Report a message of which only the header is there."""
    if len(message.segments) == 1:
        notes.add("critical", CODE, "MSH", "The message holds a header and nothing else: it is cut off, or empty", suggestion=_WHOLE)


def check_end(document: Document, notes: Notes, since: int) -> None:
    """Report the last message of an open text if it lacks something after its last value. `since`: the number of findings before it was checked."""
    message = document.messages[-1]
    tail = message.segments[-1]
    lines = [segment.line for segment in (*document.envelope, *document.strays)]
    if len(message.segments) == 1 or any(line > tail.line for line in lines):
        return
    place, last = notes.prefix + (tail.path if tail.name != "?" else f"line {tail.line}"), _last_value(tail)
    if notes.lacks_end or any(one.code in _BROKEN and _is_at_end(one.path, place, last) for one in notes.report.findings[since:]):
        what = "The text ends here without a segment terminator, and lacks what is required next: the message may be cut off"
        notes.add("critical", CODE, place.removeprefix(notes.prefix), what, suggestion=_WHOLE)


def _last_value(segment: Segment) -> int:
    """The position of the last field that holds something."""
    return max((position for position, value in enumerate(segment.fields) if value), default=0)


def _is_at_end(path: str, place: str, last: int) -> bool:
    """Whether a path leads to the last value of a segment at a place, or beyond it, or to the segment itself."""
    if not path.startswith(place):
        return False
    position = _POSITION.match(path.removeprefix(place).removeprefix("-"))
    return path == place or (position is not None and int(position[0]) >= last)
