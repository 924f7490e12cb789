"""HL7 v2: an own lexer, and a validator over HL7's tables of versions 2.1 to 2.8.2 (docs/hl7v2.md)."""

from touchstone.scorers.clinical.formats.hl7v2.charset import decode
from touchstone.scorers.clinical.formats.hl7v2.codings import Coding, codings
from touchstone.scorers.clinical.formats.hl7v2.lexer import Document, Message, Segment, read
from touchstone.scorers.clinical.formats.hl7v2.validator import validate

__all__ = ["Coding", "Document", "Message", "Segment", "codings", "decode", "read", "validate"]
