"""Bytes → parsed JSON, inside bounds, with a clear word where it is not JSON.

orjson refuses what RFC 8259 refuses: NaN, numbers beyond a double (1e400), lone surrogates, invalid UTF-8, nesting beyond 1024. It takes the last
of duplicate members silently, so those are looked for here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from touchstone.scorers.clinical.formats.fhir.document import Document, Place
from touchstone.scorers.clinical.formats.fhir.xml import read_xml

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
#: Bytes in which the first character is looked for.
_START = 1_000
_SPACED_COLON = re.compile(rb'"[ \t\r\n]+:')
_MEMBER = re.compile(rb'"(?:[^"\\]|\\.)*+"[ \t\r\n]*+(:?)', re.DOTALL)
_COMMENT = re.compile(rb'("(?:[^"\\]|\\.)*+")|//[^\n]*|/\*.*?\*/', re.DOTALL)
#: Lines of an NDJSON document.
LINES_MAX = 1_000_000


class Parsed(NamedTuple):
    """One parsed document. `text`: its bytes of JSON; None where it was XML. `line`: its line of the NDJSON file, from 1."""

    value: Any
    text: bytes | None
    line: int | None = None


def parse(data: bytes, document: Document) -> Sequence[Parsed] | None:
    """Return the parsed documents: one, or one per line of NDJSON that can be read; None where there is none. A finding says what cannot be read."""
    if len(data) > document.options.bytes_max:
        document.say("critical", "fhir.json.size", None, f"larger than {document.options.bytes_max:,} bytes: not read")
        return None
    data = data.removeprefix(_BOM)
    if data[:_START].lstrip().startswith(b"<"):
        resource = read_xml(data, document)
        return None if resource is None else [Parsed(resource, None)]
    try:
        return [Parsed(orjson.loads(data), data)]
    except orjson.JSONDecodeError as error:
        error_at = error.lineno, error.colno
    lines = _lines(data)
    if lines and all(isinstance(line, Parsed) for line in lines):
        return _readable(lines, document)
    bare = _COMMENT.sub(lambda match: match[1] or b" ", data) if b"/" in data else data
    if bare != data:
        try:
            parsed = orjson.loads(bare)
        except orjson.JSONDecodeError:
            parsed = None
        if parsed is not None:
            if not document.options.comments:
                document.say("major", "fhir.json.comment", None, "JSON has no comments")
            return [Parsed(parsed, bare)]
    if data.startswith(_UTF16):
        document.say("critical", "fhir.json.encoding", None, "UTF-16, and JSON is UTF-8: not read", suggestion="Encode the resource as UTF-8")
        return None
    if lines:
        return _readable(lines, document)
    if data.count(b"\n") > LINES_MAX and data.lstrip().startswith(b"{"):
        document.say("critical", "fhir.json.size", None, f"more than {LINES_MAX:,} lines: not read", suggestion="Split the NDJSON into several files")
        return None
    _say_not_json(_Broken(data, error_at), None, document)
    return None


class _Broken(NamedTuple):
    """What is not JSON. `error_at`: line and column of it, from 1. `line`: the line of the file that it begins in, from 1."""

    text: bytes
    error_at: tuple[int, int]
    line: int = 1


def _lines(data: bytes) -> list[Parsed | _Broken]:
    """Return the lines of NDJSON; none where the data is not NDJSON: its first line is a whole object, or each line begins one and some are whole."""
    if data.count(b"\n") > LINES_MAX:
        return []
    lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    if len(lines) < 2 or not lines[0][1].lstrip().startswith(b"{"):
        return []
    first = _line(*lines[0])
    if isinstance(first, _Broken) and not all(line.lstrip().startswith(b"{") for _, line in lines):
        return []
    read = [first, *(_line(*line) for line in lines[1:])]
    return read if any(isinstance(line, Parsed) for line in read) else []


def _line(number: int, text: bytes) -> Parsed | _Broken:
    try:
        return Parsed(orjson.loads(text), text, number)
    except orjson.JSONDecodeError as error:
        return _Broken(text, (error.lineno, error.colno), number)


def _readable(lines: Sequence[Parsed | _Broken], document: Document) -> list[Parsed]:
    """The lines that can be read; a finding names each of the others."""
    for line in lines:
        if isinstance(line, _Broken):
            _say_not_json(line, (None, "Line", line.line), document)
    return [line for line in lines if isinstance(line, Parsed)]


def _say_not_json(broken: _Broken, place: Place | None, document: Document) -> None:
    """Tell where text stops being UTF-8, or else JSON, as a line and a column of the file."""
    try:
        broken.text.decode()
    except UnicodeDecodeError as wrong:
        line = broken.line + broken.text.count(b"\n", 0, wrong.start)
        byte = wrong.start - broken.text.rfind(b"\n", 0, wrong.start)
        message = f"not UTF-8, at byte {byte} of line {line}: not read"
        document.say("critical", "fhir.json.encoding", place, message, suggestion="Encode the resource as UTF-8")
        return
    line, column = broken.line + broken.error_at[0] - 1, broken.error_at[1]
    what = "cut off, malformed, or a number or nesting beyond what JSON readers take"
    document.say("critical", "fhir.json.syntax", place, f"not JSON, at line {line} column {column}: {what}")


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
