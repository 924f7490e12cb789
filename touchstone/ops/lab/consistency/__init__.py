"""Measures the cross-format check: pairs of documents of one patient, changed in one place, or rewritten so that they say the same."""
