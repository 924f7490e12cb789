"""Detects the format of a document from its first bytes."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from touchstone.schemas.trace import ClinicalFormat

#: Leading bytes in which the format is searched.
SNIFFED_BYTES: Final = 65_536
_MLLP_START: Final = b"\x0b"
_HL7V2_HEADERS: Final = (b"MSH", b"FHS", b"BHS")
_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_FIRST_LETTERS: Final = frozenset({b"<", b"M", b"F", b"B"})
_FHIR_NAMESPACE: Final = b"http://hl7.org/fhir"
_CDA_NAMESPACE: Final = b"urn:hl7-org:v3"
#: Brackets, and whole strings and comments, so that brackets inside them do not count.
_JSON_TOKENS: Final = re.compile(rb'(?P<member>"resourceType"\s*:)|"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|[{}\[\]]', re.DOTALL)


def sniff(data: bytes) -> ClinicalFormat | None:
    """The format of a document by its first 64 KiB; None if it is not recognised."""
    head = _head(data)
    if head.startswith(_HL7V2_HEADERS):
        return "hl7v2"
    if head.startswith((b"{", b"[")):
        return "fhir" if _says_resource(head, is_whole=len(data) <= SNIFFED_BYTES) else None
    if head.startswith(b"<"):
        if _CDA_NAMESPACE in head or b"<ClinicalDocument" in head:
            return "ccda"
        return "fhir" if _FHIR_NAMESPACE in head else None
    return None


def _head(data: bytes) -> bytes:
    """The beginning of a document as UTF-8, without byte order marks, blanks and frames."""
    head = data[:SNIFFED_BYTES]
    if head.startswith(_UTF16_MARKS):
        head = head.decode("utf-16", "replace").encode("utf-8", "replace")
    elif (codec := unmarked_utf16(head)) is not None:
        head = head.decode(codec, "replace").encode("utf-8", "replace")
    return head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n" + _MLLP_START)


def unmarked_utf16(head: bytes) -> str | None:
    """The codec of UTF-16 without its mark, by the first letter of XML or HL7 v2 (JSON is UTF-8). UTF-32 has two zero bytes after it, or before."""
    if head[:1] in _FIRST_LETTERS and head[1:2] == b"\0" and head[2:4] != b"\0\0":
        return "utf-16-le"
    return "utf-16-be" if head[:1] == b"\0" and head[1:2] in _FIRST_LETTERS else None


def _says_resource(head: bytes, *, is_whole: bool) -> bool:
    """True if JSON (an object, or a list of objects) has a member `resourceType` at its top level.

    Requests, test cases and exports have it only in deeper levels. If the beginning does not show the whole top level, any `resourceType` counts.
    """
    if b'"resourceType"' not in head:
        return False
    depth, top = 0, 2 if head.startswith(b"[") else 1
    for token in _JSON_TOKENS.finditer(head):
        text = token[0]
        if text in b"{[":
            depth += 1
        elif text in b"}]":
            depth -= 1
            # The end of the first line of NDJSON, or of the document.
            if depth == 0:
                return False
        elif depth == top and token["member"] is not None:
            return True
    return not is_whole


def as_bytes(content: bytes | str | dict[str, Any]) -> bytes:
    """A document's bytes. Lone surrogates are kept, so that the validators can report them."""
    if isinstance(content, bytes):
        return content
    if isinstance(content, str):
        return content.encode("utf-8", "surrogatepass")
    try:
        return json.dumps(content, separators=(",", ":")).encode()
    except (RecursionError, TypeError, ValueError):
        # Nested too deep, or with values that JSON does not have: every validator reports this text as unreadable.
        return b"{" * 1_025
