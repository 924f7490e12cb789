"""Touchstone's FHIR validator beside the official one: the same documents, both verdicts, and where they differ."""
