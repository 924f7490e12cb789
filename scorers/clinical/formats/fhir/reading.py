"""Bytes → parsed JSON, inside bounds, with a clear word where it is not JSON.

orjson refuses what RFC 8259 refuses: NaN, numbers beyond a double (1e400), lone surrogates, invalid UTF-8, nesting beyond 1024. It takes the last
of duplicate members silently, so those are looked for here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import orjson

from scorers.clinical.formats.fhir.document import Document
from scorers.clinical.formats.fhir.xml import read_xml

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
#: Bytes in which the first character is looked for.
_START = 1_000
_SPACED_COLON = re.compile(rb'"[ \t\r\n]+:')
_MEMBER = re.compile(rb'"(?:[^"\\]|\\.)*+"[ \t\r\n]*+(:?)', re.DOTALL)
_COMMENT = re.compile(rb'("(?:[^"\\]|\\.)*+")|//[^\n]*|/\*.*?\*/', re.DOTALL)
#: Lines of an NDJSON document.
LINES_MAX = 1_000_000


def parse(data: bytes, document: Document) -> Sequence[tuple[Any, bytes | None]] | None:
    """Return the parsed documents with their bytes of JSON: one, or one per line of NDJSON; None (and a finding) where there is none."""
    if len(data) > document.options.bytes_max:
        document.say("critical", "fhir.json.size", None, f"larger than {document.options.bytes_max:,} bytes: not read")
        return None
    data = data.removeprefix(_BOM)
    if data[:_START].lstrip().startswith(b"<"):
        resource = read_xml(data, document)
        return None if resource is None else [(resource, None)]
    try:
        return [(orjson.loads(data), data)]
    except orjson.JSONDecodeError as error:
        line, column = error.lineno, error.colno
    lines = _lines(data)
    if lines is not None:
        return lines
    bare = _COMMENT.sub(lambda match: match[1] or b" ", data) if b"/" in data else data
    if bare != data:
        try:
            parsed = orjson.loads(bare)
        except orjson.JSONDecodeError:
            parsed = None
        if parsed is not None:
            if not document.options.comments:
                document.say("major", "fhir.json.comment", None, "JSON has no comments")
            return [(parsed, bare)]
    if data.startswith(_UTF16):
        document.say("critical", "fhir.json.encoding", None, "UTF-16, and JSON is UTF-8: not read", suggestion="Encode the resource as UTF-8")
        return None
    document.say(
        "critical",
        "fhir.json.syntax",
        None,
        f"not JSON, at line {line} column {column}: cut off, malformed, not UTF-8, or a number or nesting beyond what JSON readers take",
    )
    return None


def _lines(data: bytes) -> list[tuple[Any, bytes]] | None:
    """Return the documents of NDJSON, or None where the data is no such thing."""
    if data.count(b"\n") > LINES_MAX:
        return None
    lines = [line for line in data.split(b"\n") if line.strip()]
    if len(lines) < 2 or not all(line.lstrip().startswith(b"{") for line in lines):
        return None
    try:
        return [(orjson.loads(line), line) for line in lines]
    except orjson.JSONDecodeError:
        return None


def look_for_duplicates(data: bytes, members: int, document: Document) -> None:
    """Tell members that appear twice in one object. `members`: how many the parsed document has.

    The number of colons after a quote equals the number of members, unless a text holds such a pair or whitespace stands between: only
    then the tokens are counted exactly, and only where that differs the document is read again, slowly.
    """
    if data.count(b'":') == members and _SPACED_COLON.search(data) is None:
        return
    if sum(1 for match in _MEMBER.finditer(data) if match[1]) == members:
        return

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            seen: set[str] = set()
            for name, _ in pairs:
                if name in seen:
                    document.say(
                        "major", "fhir.json.duplicate", None, f"the member {document.named(name)} appears twice in one object: only the last would be read"
                    )
                seen.add(name)
        return found

    try:
        json.loads(data, object_pairs_hook=note)
    except (ValueError, RecursionError):
        document.skip("duplicate members", "the document could not be read a second time")
