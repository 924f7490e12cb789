"""C-CDA: hardened XML reading, HL7's Schematron rules evaluated natively, XSD, and checks of our own. See docs/ccda.md."""

from touchstone.scorers.clinical.formats.ccda.options import Options
from touchstone.scorers.clinical.formats.ccda.validator import is_valid, validate, was_validated

__all__ = ["Options", "is_valid", "validate", "was_validated"]
