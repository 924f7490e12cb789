"""Escape sequences of HL7 v2 text (chapter 2.7)."""

from __future__ import annotations

import re

#: The sequences that the standard defines, with the standard escape character; `\Z…\` is free for local use.
SEQUENCE = re.compile(
    r"\\(?:[FSTREHNP]|X(?:[0-9A-Fa-f]{2})++|Z[^\\]*+|C[0-9A-Fa-f]{4}|M[0-9A-Fa-f]{4}(?:[0-9A-Fa-f]{2})?"
    r"|\.(?:br|fi|nf|ce|(?:sp|sk|in|ti)[+-]?\d{0,4}))\\"
)
DELIMITERS = {"F": "|", "S": "^", "T": "&", "R": "~", "E": "\\", "P": "#"}


def has_stray(text: str) -> bool:
    """True if an escape character is not part of a defined sequence."""
    return "\\" in text and "\\" in SEQUENCE.sub("", text)


def _meaning(found: re.Match[str]) -> str:
    body = found[0][1:-1]
    if body in DELIMITERS:
        return DELIMITERS[body]
    if body.startswith("X"):
        return bytes.fromhex(body[1:]).decode("utf-8", "replace")
    if body.startswith((".br", ".sp", ".sk")):
        return "\n" if body != ".sk" else " "
    return ""


def unescape(text: str) -> str:
    """Resolve escape sequences; those for highlighting, indentation, local use and character sets are removed."""
    return SEQUENCE.sub(_meaning, text) if "\\" in text else text
