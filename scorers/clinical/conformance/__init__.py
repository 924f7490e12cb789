"""Conformance: validators outside Touchstone are asked about the documents of a trace. See docs/conformance.md."""
