"""Messages that are cut off: a header alone, or a text that ends without a segment terminator where more is required.

Neither is proof. Both are critical findings, because half a message must not pass for one with a missing segment.
"""

from __future__ import annotations

import re
from typing import Final

from touchstone.scorers.clinical.formats.hl7v2.findings import Findings
from touchstone.scorers.clinical.formats.hl7v2.lexer import Document, Message

CODE: Final = "structure.cut"
_ENDS: Final = ("\r", "\n", "\x1c")
_WHOLE: Final = "Send the whole message, and end each segment with a carriage return"
#: Codes of findings that a value or segment has if it stops in its middle.
_BROKEN: Final = frozenset({"structure.required-field", "structure.segment-name", "datetimes.malformed", "data_types.datatype"})
_POSITION: Final = re.compile(r"\d+")


def is_open(text: str, padding: str) -> bool:
    """True if a text ends without a segment terminator. `padding`: characters that old systems fill files with, which do not count."""
    return not text.rstrip(padding).endswith(_ENDS)


def check_header_alone(message: Message, findings: Findings) -> None:
    """Report a message that has only a header."""
    if len(message.segments) == 1:
        findings.add("critical", CODE, "MSH", "The message holds a header and nothing else: it is cut off, or empty", suggestion=_WHOLE)


def check_end(document: Document, findings: Findings, since: int) -> None:
    """Report the last message of an open text if something is missing after its last value. `since`: the number of findings before it was checked."""
    message = document.messages[-1]
    tail = message.segments[-1]
    lines = [segment.line for segment in (*document.envelope, *document.strays)]
    if len(message.segments) == 1 or any(line > tail.line for line in lines):
        return
    place = findings.prefix + (tail.path if tail.name != "?" else f"line {tail.line}")
    last = max((position for position, value in enumerate(tail.fields) if value), default=0)
    if findings.lacks_end or any(one.code in _BROKEN and _is_at_end(one.path, place, last) for one in findings.report.findings[since:]):
        text = "The text ends here without a segment terminator, and lacks what is required next: the message may be cut off"
        findings.add("critical", CODE, place.removeprefix(findings.prefix), text, suggestion=_WHOLE)


def _is_at_end(path: str, place: str, last: int) -> bool:
    """True if a path leads to the segment at `place` itself, to its last value (field `last`), or beyond it."""
    if not path.startswith(place):
        return False
    position = _POSITION.match(path.removeprefix(place).removeprefix("-"))
    return path == place or (position is not None and int(position[0]) >= last)
