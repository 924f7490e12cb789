"""The text of a document as a reading shows it: decoded, with plain line ends, and indented where it was written on one line."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

import orjson

from touchstone.schemas.trace import ClinicalFormat
from touchstone.scorers.clinical.format_detection import unmarked_utf16
from touchstone.scorers.clinical.formats.hl7v2.charset import decode
from touchstone.scorers.clinical.reading import hl7v2_spots

#: Characters of one document that are shown.
CHARS_MAX: Final = 16_000_000
#: A text whose lines are longer than this on average was not written for people, and is indented.
LINE_CHARS: Final = 2_000
#: A bracket, or a member or value with its comma.
_UNIT: Final = re.compile(r'((?:"(?:[^"\\]|\\.)*+"\s*+:\s*+)?)("(?:[^"\\]|\\.)*+"|[^\s"{}\[\],:]++|[{\[](?:\s*+[}\]])?|[}\]])\s*+(,?)\s*+', re.DOTALL)
_TAG: Final = re.compile(r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>", re.DOTALL)
_INDENTED: Final = "written on one line, shown indented"


class Displayed(NamedTuple):
    """A document's text. `format`: `json`, `xml`, `hl7v2` or `text`. `note`: how it differs from what was generated."""

    text: str
    format: str
    note: str = ""


def displayed(content: str | bytes | dict[str, Any], form: ClinicalFormat | None) -> Displayed:
    """The text of a document. Never fails."""
    if isinstance(content, dict):
        return _bounded(printed(content), "json", "an object inside the event, shown indented")
    if form == "hl7v2":
        return _bounded(hl7v2_spots.displayed(content if isinstance(content, str) else decode(content).text), "hl7v2", "")
    text = (content if isinstance(content, str) else _decoded(content)).replace("\r\n", "\n")
    kind = "xml" if text[:1_000].lstrip("\ufeff \t\r\n").startswith("<") else "json" if form == "fhir" else "text"
    if kind != "text" and len(text) <= CHARS_MAX and text.strip().count("\n") < len(text) / LINE_CHARS:
        indented = _indented_json(text) if kind == "json" else _indented_xml(text)
        if indented is not None and indented != text:
            return _bounded(indented, kind, _INDENTED)
    return _bounded(text, kind, "")


def as_written(content: str | bytes | dict[str, Any], form: ClinicalFormat) -> Displayed:
    """The whole text of a document with its own lines; an object inside an event has none, and is indented by two spaces."""
    if isinstance(content, dict):
        return Displayed(printed(content), "json")
    if form == "hl7v2":
        message = content if isinstance(content, str) else decode(content).text
        # The lexer reads the signs of a frame as line ends.
        return Displayed(hl7v2_spots.displayed(message.replace("\x0b", "").replace("\x1c", "")), "hl7v2")
    text = content.removeprefix("\ufeff") if isinstance(content, str) else _decoded(content)
    return Displayed(text, "xml" if text[:1_000].lstrip(" \t\r\n").startswith("<") else "json" if form == "fhir" else "text")


def printed(value: Any) -> str:
    """A JSON value, indented."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except (orjson.JSONEncodeError, RecursionError):
        try:
            return json.dumps(value, ensure_ascii=False, indent=2)
        except (RecursionError, TypeError, ValueError):
            return "[nested too deep to be shown]"


def whole(text: str) -> str:
    """A text with ? for lone surrogates, which no response can carry."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _bounded(text: str, form: str, note: str) -> Displayed:
    if len(text) > CHARS_MAX:
        note = "; ".join(part for part in (note, f"the first {CHARS_MAX:,} of {len(text):,} characters") if part)
    return Displayed(whole(text[:CHARS_MAX]), form, note)


def _decoded(data: bytes) -> str:
    """The text of XML or JSON bytes, by their mark, else UTF-8, else Latin-1."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if (codec := unmarked_utf16(data)) is not None:
        return data.decode(codec, "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _indented_json(text: str) -> str | None:
    """The JSON with a line for each member; every value as it was written. None if it is not one JSON value."""
    try:
        data = text.encode()
        value = orjson.loads(data)
    except (UnicodeEncodeError, orjson.JSONDecodeError):
        return None
    # Printed again if that changes nothing (1.10 would become 1.1, and a member that appears twice would appear once).
    if orjson.dumps(value) == data.strip():
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    made: list[str] = []
    depth = 0
    begins = ["\n" + "  " * level for level in range(64)]
    for key, part, comma in _UNIT.findall(text):
        sign = part[0]
        if sign in "}]":
            depth -= 1
        made.append(begins[depth] if 0 <= depth < 64 else "\n")
        if key:
            made.append(key.rstrip().removesuffix(":").rstrip() + ": ")
        made.append(part if sign == '"' else "".join(part.split()))
        made.append(comma)
        if part in ("{", "["):
            depth += 1
    return "".join(made).removeprefix("\n")


def _indented_xml(text: str) -> str:
    """The XML with a line break between tags that follow each other directly."""
    made: list[str] = []
    depth = at = 0
    for found in _TAG.finditer(text):
        tag = found[0]
        between = text[at : found.start()]
        is_end = tag.startswith("</")
        if is_end:
            depth -= 1
        made.append(between if between.strip() or not made else "\n" + " " * max(0, min(depth, 32)))
        made.append(tag)
        if not is_end and not tag.endswith("/>") and not tag.startswith(("<?", "<!")):
            depth += 1
        at = found.end()
    return "".join([*made, text[at:]])
