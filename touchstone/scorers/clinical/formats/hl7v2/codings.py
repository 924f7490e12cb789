"""The codes of a document with their coding systems, for the terminology checks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from touchstone.scorers.clinical.formats.hl7v2.code_membership import CODED
from touchstone.scorers.clinical.formats.hl7v2.lexer import Document, Segment
from touchstone.scorers.clinical.formats.hl7v2.tables import Version, load, nearest
from touchstone.scorers.clinical.formats.hl7v2.terminology import pairs

CODINGS_MAX = 10_000


class Coding(NamedTuple):
    """One code as the document writes it. `system`: its name in table 0396, or an OID; `path` leads to the value, as findings do."""

    path: str
    system: str
    code: str


def _positions(version: Version, segment: Segment) -> Iterator[int]:
    """The coded fields of a segment, OBX-5 among them where OBX-2 says so."""
    for element in version.segments.get(segment.name, ()):
        if element.position >= len(segment.fields):
            return
        is_coded = element.datatype in CODED or (element.datatype == "varies" and segment.component(2, 1) in CODED)
        if is_coded and segment.fields[element.position]:
            yield element.position


def codings(document: Document) -> Iterator[Coding]:
    """The identifiers and alternate identifiers that name their coding system, in the document's order, CODINGS_MAX at most."""
    left = CODINGS_MAX
    for message in document.messages:
        prefix = f"message[{message.number}]/" if len(document.messages) > 1 else ""
        version = load(nearest(message.segments[0].component(12, 1)))
        for segment in message.segments:
            for position in _positions(version, segment):
                for path, system, code in pairs(segment, position):
                    if left == 0:
                        return
                    left -= 1
                    yield Coding(prefix + path, system, code)
