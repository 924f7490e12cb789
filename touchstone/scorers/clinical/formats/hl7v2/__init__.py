"""HL7 v2: a lexer, and a validator by HL7's tables of versions 2.1 to 2.8.2. See docs/hl7v2.md."""

from touchstone.scorers.clinical.formats.hl7v2.charset import decode
from touchstone.scorers.clinical.formats.hl7v2.lexer import Document, Message, Segment, read
from touchstone.scorers.clinical.formats.hl7v2.nist.loading import load_profiles
from touchstone.scorers.clinical.formats.hl7v2.nist.selection import Profiles
from touchstone.scorers.clinical.formats.hl7v2.validator import validate

__all__ = ["Document", "Message", "Profiles", "Segment", "decode", "load_profiles", "read", "validate"]
