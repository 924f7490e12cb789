"""Conformance profiles as NIST's tools export them, applied to messages."""
