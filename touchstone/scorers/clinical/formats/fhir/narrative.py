"""The narratives of a document: each by itself, and the links into them (R4: narrative.html)."""

from __future__ import annotations

from touchstone.scorers.clinical.formats.fhir.document import Document
from touchstone.scorers.clinical.formats.fhir.narrative_fast_path import look

_TEXT_LINK = "http://hl7.org/fhir/StructureDefinition/textLink"


def check_narratives(document: Document) -> None:
    """Check every narrative of a document."""
    anchors: list[set[str]] = []
    links: list[list[str]] = []
    for text, place, _ in document.narratives:
        seen = look(text)
        for code, message in seen.problems:
            document.say("major", code, place, message)
        anchors.append(seen.anchors)
        links.append(seen.links)
    if document.narratives:
        document.report.fired("narrative", len(document.narratives))
    _links(document, anchors, links)
    _text_links(document, anchors)


def _text_links(document: Document, anchors: list[set[str]]) -> None:
    """An extension that links data with a part of the narrative (textLink) names an id that the narrative has."""
    known = None
    for value, place, _ in document.extensions:
        if value.get("url") != _TEXT_LINK:
            continue
        if known is None:
            known = set().union(*anchors)
        parts = value.get("extension")
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and part.get("url") == "htmlid" and isinstance(part.get("valueString"), str) and part["valueString"] not in known:
                document.say("major", "fhir.narrative.link", place, "the narrative has no element with the id that this link names")


def _links(document: Document, anchors: list[set[str]], links: list[list[str]]) -> None:
    """A link into the page must find an anchor in some narrative, an element id or a contained resource of the document."""
    if not any(links):
        return
    known = set().union(*anchors)
    for frame in document.frames:
        known.update(frame.ids)
        identity = frame.resource.get("id")
        if isinstance(identity, str):
            known.update({identity, f"{frame.type}/{identity}"} if frame.container is not None or frame.entry is not None else set())
    for (_, place, _), found in zip(document.narratives, links, strict=True):
        for link in found:
            if link not in known:
                document.say("major", "fhir.narrative.link", place, "a link into the narrative finds no anchor there")
