"""Bytes to text, by MSH-18 (HL7 table 0211), with a fallback that is always reported."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from touchstone.scorers.clinical.formats.hl7v2.findings import Problem

CODECS = {
    "ASCII": "ascii",
    "ISO IR6": "ascii",
    "8859/1": "latin-1",
    **{f"8859/{part}": f"iso8859-{part}" for part in (*range(2, 10), 15)},
    "UNICODE": "utf-8",
    "UNICODE UTF-8": "utf-8",
    "UTF-8": "utf-8",
    "UTF8": "utf-8",
    "UNICODE UTF-16": "utf-16",
    "UNICODE UTF-32": "utf-32",
    "ISO IR14": "iso2022_jp",
    "ISO IR87": "iso2022_jp",
    "ISO IR159": "iso2022_jp_1",
    "GB 18030-2000": "gb18030",
    "KS X 1001": "euc_kr",
    "BIG-5": "big5",
}
#: Byte order marks, the longest first: UTF-32's begins like UTF-16's.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: Leading bytes in which text of two bytes a character is recognised.
_MARK_LENGTH = 8
#: Characters that change the character set within a text of 7 bits, as ISO 2022 does.
_SHIFTS = (b"\x0e", b"\x0f", b"\x1b")
UNDECLARED = Problem("minor", "structure.charset-undeclared", "MSH-18", "Characters outside ASCII without a declared character set")
UNKNOWN = Problem("minor", "structure.charset-unknown", "MSH-18", "The declared character set cannot be read; UTF-8 or Latin-1 was assumed")
MISMATCH = Problem("major", "structure.charset-mismatch", "MSH-18", "The bytes are not in the declared character set")
HEADER = re.compile(rb"(?:\A|[\r\n\x0b])[ \t]*MSH([^\r\n]{1,4096})")


class Decoded(NamedTuple):
    """A document's text, and the problems of decoding it."""

    text: str
    problems: tuple[Problem, ...] = ()


def declared(data: bytes) -> str | None:
    """The first repetition of the first message's MSH-18; None if there is no header."""
    header = HEADER.search(data)
    if header is None:
        return None
    line = header[1]
    separator = line[:1]
    fields = line.split(separator, 18)
    if len(fields) <= 17:
        return ""
    value = fields[17]
    repetition = line[2:3]
    if repetition and not repetition.isalnum():
        value = value.split(repetition, 1)[0]
    return value.decode("latin-1").strip().upper()


def _fallback(data: bytes) -> str:
    """Decode as UTF-8 if possible, else as Latin-1, which accepts any bytes."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _wide(data: bytes) -> str | None:
    """The codec of UTF-16 text without a byte order mark, recognised by its first letters."""
    head = data[:_MARK_LENGTH].lstrip(b"\x0b")
    if len(head) >= 4 and head[1] == 0 and head[3] == 0:
        return "utf-16-le"
    if len(head) >= 4 and head[0] == 0 and head[2] == 0:
        return "utf-16-be"
    return None


def decode(data: bytes) -> Decoded:
    """The text of a document; never fails."""
    if data.isascii() and not any(sign in data for sign in _SHIFTS) and b"\0" not in data[:_MARK_LENGTH]:  # most documents
        return Decoded(data.decode("ascii"))
    for mark, codec in MARKS:
        if data.startswith(mark):
            try:
                return Decoded(data.decode("utf-8-sig" if codec == "utf-8" else codec))
            except UnicodeDecodeError:
                data = data[len(mark) :]
                break
    wide = _wide(data)
    return _declared_text(data) if wide is None else Decoded(data.decode(wide, "replace"))


def _declared_text(data: bytes) -> Decoded:
    """The text of a document by the character set that MSH-18 declares."""
    name = declared(data)
    if data.isascii() and not (name and name.startswith("ISO IR")):
        return Decoded(data.decode("ascii"))
    if not name:
        return Decoded(_fallback(data), (UNDECLARED,))
    codec = CODECS.get(name)
    if codec is None:
        return Decoded(_fallback(data), (UNKNOWN,))
    try:
        return Decoded(data.decode(codec))
    except (UnicodeDecodeError, LookupError):
        return Decoded(_fallback(data), (MISMATCH,))
