"""Where the findings of a document are in its displayed text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from touchstone.schemas.reading import Mark
from touchstone.schemas.result import Finding
from touchstone.scorers.clinical.reading.displayed import Displayed
from touchstone.scorers.clinical.reading.hl7v2_spots import hl7v2_spots
from touchstone.scorers.clinical.reading.json_spots import json_spots
from touchstone.scorers.clinical.reading.spots import Lines, Spot, numbered_unknown
from touchstone.scorers.clinical.reading.xml_spots import ccda_spots, fhir_xml_spots
from touchstone.scorers.reporting.plain_reading import STATES

#: A place in the message of a document that cannot be read.
_AT_LINE: Final = re.compile(r"\bat (?:byte (?P<byte>\d+) of )?line (?P<line>\d+)(?:,? column (?P<column>\d+))?")
#: Codes of findings whose message may hold such a place.
_UNREADABLE: Final = re.compile(r"(?:fhir\.(?:json|xml)|ccda\.xml)\.(?:syntax|encoding)\Z")
#: The segment beside which one is missing.
_NEIGHBOUR: Final = re.compile(r"\b(?:before|after) ([A-Z][A-Z0-9]{2}(?:\[\d+\])?)")
#: A type of resource without a number, other than the Patient, inside of a Bundle.
_OF_TYPE: Final = re.compile(r"[A-Z]\w*(?:\.|$)")


class About(NamedTuple):
    """A finding of one document. `number`: its index in the result. `path`: inside the document. `item`: id of the finding's line in the list of findings."""

    number: int
    finding: Finding
    path: str
    item: str


class Located(NamedTuple):
    """Where a finding is: its mark, or None and why not. `words`: the place for people."""

    mark: Mark | None
    words: str


def locate(document: Displayed, of: Sequence[About]) -> list[Located]:
    """The place of each finding in a document's text. Every mark lies inside the text."""
    if not of:
        return []
    lines = Lines(document.text)
    spots = finding_spots(document, lines, [(one.finding, one.path) for one in of])
    return [_located(document, lines, one, spot) for one, spot in zip(of, spots, strict=True)]


def finding_spots(document: Displayed, lines: Lines, of: Sequence[tuple[Finding, str]]) -> list[Spot | None]:
    """The place of each finding, given with its path inside the document; the spots lie inside the text. None for a finding about no one place."""
    paths = numbered_unknown((finding.code, path) for finding, path in of)
    spots = _spots(document, [path for path in paths if path])
    return [_within(document, _spot(document, lines, finding, path, spots.get(path))) for (finding, _), path in zip(of, paths, strict=True)]


def _spots(document: Displayed, paths: Sequence[str]) -> dict[str, Spot | None]:
    match document.format:
        case "json":
            return json_spots(document.text, paths)
        case "hl7v2":
            return hl7v2_spots(document.text, paths)
        case "xml":
            is_ccda = any(path.lstrip("/").startswith("ClinicalDocument") for path in paths)
            return ccda_spots(document.text, paths) if is_ccda else fhir_xml_spots(document.text, paths)
        case _:
            return {}


def _spot(document: Displayed, lines: Lines, finding: Finding, path: str, spot: Spot | None) -> Spot | None:
    """The place of a finding: that of its path, unless its message names a line, or the segment beside which one is missing."""
    named = _AT_LINE.search(finding.message) if _UNREADABLE.match(finding.code) else None
    if named is not None:
        spot = lines.spot(int(named["line"]), int(named["column"] or named["byte"] or 1)) or spot
    neighbour = _NEIGHBOUR.search(finding.message) if finding.code == "structure.missing-segment" else None
    if neighbour is not None:
        message = path[: path.find("/") + 1]
        near = hl7v2_spots(document.text, [message + neighbour[1]])[message + neighbour[1]]
        spot = near._replace(is_exact=False) if near is not None else spot
    return spot


def place_of(lines: Lines, finding: Finding, spot: Spot) -> tuple[int, int]:
    """Line and column of a finding, both from 1: those that its message names, because what is missing at a line's end has no character of its own there."""
    named = _AT_LINE.search(finding.message) if _UNREADABLE.match(finding.code) else None
    if named is not None and named["column"] and lines.spot(int(named["line"])) is not None:
        return int(named["line"]), int(named["column"])
    return lines.line_and_column(spot.start)


def _within(document: Displayed, spot: Spot | None) -> Spot | None:
    if spot is None:
        return None
    start = min(spot.start, max(0, len(document.text) - 1))
    return spot._replace(start=start, end=min(max(spot.end, start + 1), len(document.text)))


def _located(document: Displayed, lines: Lines, one: About, spot: Spot | None) -> Located:
    if spot is None:
        return Located(None, _why(document, one))
    start, end = spot.start, spot.end
    if end <= start:
        return Located(None, "the document is empty")
    line, column = place_of(lines, one.finding, spot)
    state = STATES[one.finding.severity] if spot.is_exact or one.finding.severity == "info" else "missing"
    if spot.is_exact:
        # An object of a list has no name of its own where it begins.
        note = f"in {spot.name}" if end - start == 1 and spot.name else ""
    else:
        note = f"absent; this is {spot.name}, the element around it" if spot.name else "absent; this is the element around it"
    mark = Mark(state=state, start=start, end=end, line=line, column=column, finding=one.number, code=one.finding.code, note=note, to=(one.item,))
    return Located(mark, f"line {line}, column {column}" + (f" ({note})" if note else ""))


def _why(document: Displayed, one: About) -> str:
    """Why a finding has no place."""
    if not one.path:
        return "about the document as a whole"
    if document.format in {"json", "xml"} and _OF_TYPE.match(one.path):
        return "about every resource of this type, so about no one place"
    return "no such place in the document as far as it can be read"
