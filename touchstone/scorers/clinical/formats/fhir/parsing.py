"""Bytes → parsed JSON, within bounds, and a finding that says where the bytes stop being JSON.

orjson refuses what RFC 8259 refuses: NaN, numbers beyond a double (1e400), lone surrogates, invalid UTF-8, nesting beyond 1024. It silently keeps
the last of duplicate members, so duplicates are searched for here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from touchstone.scorers.clinical.format_detection import unmarked_utf16
from touchstone.scorers.clinical.formats.fhir.document import HIDDEN, Document, Place
from touchstone.scorers.clinical.formats.fhir.xml import read_xml

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
#: Bytes in which the first character must appear.
_START = 1_000
_SPACED_COLON = re.compile(rb'"[ \t\r\n]+:')
_MEMBER = re.compile(rb'"(?:[^"\\]|\\.)*+"[ \t\r\n]*+(:?)', re.DOTALL)
_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*+)"[ \t\r\n]*+(:?)|[{}\[\],]', re.DOTALL)
_COMMENT = re.compile(rb'("(?:[^"\\]|\\.)*+")|//[^\n]*|/\*.*?\*/', re.DOTALL)
#: Lines of an NDJSON document.
LINES_MAX = 1_000_000


_DECLARATION = re.compile(r"\s*<\?xml\b[^>]{0,300}\?>")


class Parsed(NamedTuple):
    """One parsed document. `text`: its bytes of JSON, None if it was XML. `line`: its line in an NDJSON file, from 1."""

    value: Any
    text: bytes | None
    line: int | None = None


def parse(data: bytes, document: Document) -> Sequence[Parsed] | None:
    """Return the parsed documents: one, or one per readable line of NDJSON; None if there is none. Findings report what cannot be read."""
    if len(data) > document.options.bytes_max:
        document.add("critical", "fhir.json.size", None, f"larger than {document.options.bytes_max:,} bytes: not read")
        return None
    data = _xml_as_utf8(data.removeprefix(_BOM))
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
    without_comments = _without_comments(data, document)
    if without_comments is not None:
        return [without_comments]
    if data.startswith(_UTF16):
        document.add("critical", "fhir.json.encoding", None, "UTF-16, and JSON is UTF-8: not read", suggestion="Encode the resource as UTF-8")
        return None
    if lines:
        return _readable(lines, document)
    if data.count(b"\n") > LINES_MAX and data.lstrip().startswith(b"{"):
        document.add("critical", "fhir.json.size", None, f"more than {LINES_MAX:,} lines: not read", suggestion="Split the NDJSON into several files")
        return None
    _add_not_json(_Broken(data, error_at), None, document)
    return None


def _xml_as_utf8(data: bytes) -> bytes:
    """XML in UTF-16, with or without its mark, as UTF-8 with blanks for the declaration that names the other encoding; anything else as it is."""
    codec = "utf-16" if data.startswith(_UTF16) else unmarked_utf16(data[:4])
    if codec is None or not data[:_START].decode(codec, "replace").lstrip().startswith("<"):
        return data
    try:
        text = data.decode(codec)
        found = _DECLARATION.match(text)
        # Lines stay where they are.
        return (re.sub(r"[^\n]", " ", found[0]) + text[found.end() :] if found is not None else text).encode()
    except UnicodeError:
        return data


def _without_comments(data: bytes, document: Document) -> Parsed | None:
    """JSON that can be read once its comments are removed; None if it cannot, or has no comments."""
    bare = _COMMENT.sub(lambda match: match[1] or b" ", data) if b"/" in data else data
    try:
        parsed = orjson.loads(bare) if bare != data else None
    except orjson.JSONDecodeError:
        return None
    if parsed is None:
        return None
    if not document.options.comments:
        document.add("major", "fhir.json.comment", None, "JSON has no comments")
    return Parsed(parsed, bare)


class _Broken(NamedTuple):
    """Bytes that are not JSON. `error_at`: line and column of the error, from 1. `line`: the line of the file where the bytes begin, from 1."""

    text: bytes
    error_at: tuple[int, int]
    line: int = 1


def _lines(data: bytes) -> list[Parsed | _Broken]:
    """The lines of NDJSON; none if the data is not NDJSON. It is if its first line is a whole object, or if each line begins one and some are whole."""
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
    """The lines that can be read. A finding names each of the others."""
    for line in lines:
        if isinstance(line, _Broken):
            _add_not_json(line, (None, "Line", line.line), document)
    return [line for line in lines if isinstance(line, Parsed)]


def _add_not_json(broken: _Broken, place: Place | None, document: Document) -> None:
    """Report where text stops being UTF-8 or JSON, by line and column of the file."""
    try:
        broken.text.decode()
    except UnicodeDecodeError as wrong:
        line = broken.line + broken.text.count(b"\n", 0, wrong.start)
        byte = wrong.start - broken.text.rfind(b"\n", 0, wrong.start)
        message = f"not UTF-8, at byte {byte} of line {line}: not read"
        document.add("critical", "fhir.json.encoding", place, message, suggestion="Encode the resource as UTF-8")
        return
    line, column = broken.line + broken.error_at[0] - 1, broken.error_at[1]
    what = "cut off, malformed, a number beyond a double (1e400), or nested deeper than 1,024"
    document.add("critical", "fhir.json.syntax", place, f"not JSON, at line {line} column {column}: {what}")


def check_duplicate_members(data: bytes, members: int, document: Document, place: Place) -> None:
    """Report members that appear twice in one object. `members`: how many members the parsed document has; `place`: that of the whole.

    Normally each member has one quote followed by a colon, so the two numbers are equal. Only if they differ are the tokens counted exactly, and only if
    those differ too are they followed one by one.
    """
    if data.count(b'":') == members and _SPACED_COLON.search(data) is None:
        return
    if sum(1 for match in _MEMBER.finditer(data) if match[1]) == members:
        return
    for holder, name in _duplicates(data, document, place):
        shown = document.named(name)
        what = f"the member {shown}" if shown != "?" else f"a member (its name is left out, because {HIDDEN})"
        at = (holder, shown, None) if shown != "?" else holder
        message = f"{what} appears twice in one object: only the last would be read"
        document.add("major", "fhir.json.duplicate", at, message, suggestion="Keep one of them; an element that repeats is a list")


def _duplicates(data: bytes, document: Document, place: Place) -> Iterator[tuple[Place, str]]:
    """The object and the name of each member whose name an earlier one of the object has. The data is JSON."""
    opened: list[_Open] = []
    for token in _TOKEN.finditer(data):
        sign = data[token.start() : token.start() + 1]
        here = opened[-1] if opened else None
        if sign in {b"{", b"["}:
            inside = place if here is None else here.inside(document)
            opened.append(_Open(inside, set() if sign == b"{" else None))
        elif sign in {b"}", b"]"}:
            opened.pop()
        elif here is not None and sign == b",":
            here.index += 1
        elif here is not None and here.names is not None and token[2]:
            name = token[1].decode() if b"\\" not in token[1] else str(json.loads(data[token.start() : token.start(2)]))
            if name in here.names:
                yield here.place, name
            here.names.add(name)
            here.name = name


@dataclass(slots=True)
class _Open:
    """An object or list that is not closed yet. `names`: those of the object's members; None for a list. `index`: of the element at hand."""

    place: Place
    names: set[str] | None
    name: str = ""
    index: int = 0

    def inside(self, document: Document) -> Place:
        """The place of an object or list that begins here."""
        if self.names is not None:
            return self.place, document.named(self.name), None
        outer, name, _ = self.place
        return outer, name, self.index
