"""Narratives: each by itself, and the links between them (R4: narrative.html)."""

from __future__ import annotations

from touchstone.scorers.clinical.checks.json_access import objects
from touchstone.scorers.clinical.formats.fhir.document import Document, shown_name
from touchstone.scorers.clinical.formats.fhir.narrative_fast_path import scan

#: Links without a target that one finding names.
LINKS_NAMED_MAX = 8
_TEXT_LINK = "http://hl7.org/fhir/StructureDefinition/textLink"


def check_narratives(document: Document) -> None:
    """Check every narrative of a document."""
    anchors: list[set[str]] = []
    links: list[list[str]] = []
    for text, place in document.narratives:
        seen = scan(text)
        for code, message in seen.problems:
            document.add("major", code, place, message)
        anchors.append(seen.anchors)
        links.append(seen.links)
    if document.narratives:
        document.report.fired("narrative", len(document.narratives))
    _links(document, anchors, links)
    _text_links(document, anchors)


def _text_links(document: Document, anchors: list[set[str]]) -> None:
    """The id that a textLink extension names must be in the narrative."""
    known = None
    for value, place, _ in document.extensions:
        for part in objects(value.get("extension")) if value.get("url") == _TEXT_LINK else ():
            known = set().union(*anchors) if known is None else known
            if part.get("url") == "htmlid" and isinstance(part.get("valueString"), str) and part["valueString"] not in known:
                document.add("major", "fhir.narrative.link", place, "no element of the narrative has the id that this extension names")


def _links(document: Document, anchors: list[set[str]], links: list[list[str]]) -> None:
    """A link inside the page must name an anchor of a narrative, an element id, or a resource of the document."""
    if not any(links):
        return
    known = set().union(*anchors)
    for frame in document.frames:
        known.update(frame.ids)
        identity = frame.resource.get("id")
        if isinstance(identity, str):
            known.update({identity, f"{frame.type}/{identity}"} if frame.container is not None or frame.entry is not None else {identity})
    for (_, place), found in zip(document.narratives, links, strict=True):
        wrong = [number for number, link in enumerate(found) if link not in known]
        if wrong:
            # The name of an anchor may be patient text; the number of the link is not.
            listed = [str(number + 1) + (f" (#{shown_name(found[number])})" if document.context.quote else "") for number in wrong[:LINKS_NAMED_MAX]]
            more = f" and {len(wrong) - LINKS_NAMED_MAX} more" if len(wrong) > LINKS_NAMED_MAX else ""
            lead = "links" if len(wrong) > 1 else "link"
            verb = "lead" if len(wrong) > 1 else "leads"
            told = f"{lead} {', '.join(listed)}{more} of {len(found)} inside this narrative {verb} nowhere: nothing in the document has the id that is named"
            document.add("major", "fhir.narrative.link", place, told, suggestion="Give the id to the element that is meant, or take the link out")
