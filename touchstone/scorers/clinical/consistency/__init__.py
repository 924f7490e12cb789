"""Cross-format consistency: one patient in several formats, and the persona that they were made of (specification, Priority 10). See docs/consistency.md."""

from touchstone.scorers.clinical.consistency.check import Given, check_consistency, read_document

__all__ = ["Given", "check_consistency", "read_document"]
