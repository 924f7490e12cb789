"""Watermarks: whether a message says that it is synthetic (specification, Phase 1: watermarks)."""

from __future__ import annotations

import re
from typing import Final

from touchstone.scorers.clinical.formats.hl7v2.findings import Findings
from touchstone.scorers.clinical.formats.hl7v2.lexer import Message

#: MSH-11: training and debugging (HL7 table 0103); P is production.
_NOT_PRODUCTION: Final = frozenset({"T", "D"})
_SAYS: Final = re.compile(r"\b(synthetic|synthea|simulated|fictitious|test[ _-]?(?:data|patient|record))\b", re.IGNORECASE)
#: Segments and fields in which a producer describes the data: sender, software, patient identifiers, name, and notes.
_PLACES: Final = {"MSH": (3, 4), "SFT": (1, 3), "PID": (3, 5), "NTE": (3,)}
_CHARS_MAX: Final = 2_000
#: Each of those words holds one of these. Few texts do, and the test is cheap.
_HINTS: Final = ("synthe", "simulated", "fictitious", "test")


def check_marks(message: Message, findings: Findings) -> None:
    """Report, for information, a message without a mark that it is not a real patient's."""
    findings.report.fired("watermarks")
    if message.segments[0].component(11, 1) in _NOT_PRODUCTION:
        return
    for segment in message.segments:
        for position in _PLACES.get(segment.name, ()):
            if position < len(segment.fields) and _says(segment.fields[position]):
                return
    findings.add("info", "watermarks.none", "MSH-11", "Nothing marks this message as synthetic", suggestion="Send T (training) in MSH-11")


def _says(text: str) -> bool:
    """True if a text says that its subject is not a real patient."""
    begun = text[:_CHARS_MAX]
    lowered = begun.lower()
    return (not begun.isascii() or any(hint in lowered for hint in _HINTS)) and _SAYS.search(begun) is not None
