"""Narratives: references from entries that resolve, ids that are unique, nothing that runs."""

from __future__ import annotations

from typing import Final

from touchstone.scorers.clinical.formats.ccda.document import Document
from touchstone.scorers.clinical.formats.ccda.tree import below, child, local

#: What a link in a narrative may begin with that a browser would run.
_RUNS: Final = ("javascript:", "vbscript:", "data:text/html")


def check_narrative(document: Document) -> None:
    """References into narratives, and narratives themselves."""
    report, root = document.report, document.root
    ids: set[str] = set()
    for element in document.elements:
        name = element.get("ID")
        if name is None:
            continue
        report.fired("narrative")
        if name in ids:
            document.say("major", "ccda.narrative.id", element, "another element has the same ID; references to it are of two places", value=name, at="ID")
        ids.add(name)
    # Minor, although C-CDA says SHALL: HL7's own examples break it, and no official rule tests it.
    for reference in below(root, "reference"):
        value = reference.get("value")
        # A reference to another act or document has no value.
        if value is None or local(reference.getparent()) not in {"text", "originalText"}:
            continue
        report.fired("narrative")
        if value.startswith("#") and value[1:] not in ids:
            document.say("minor", "ccda.narrative.reference", reference, "refers to an ID that no element of the document has", value=value, at="value")
        elif not value.startswith("#") and ":" not in value and value in ids:
            message = "names an ID without #, and so refers to nothing in this document"
            document.say("minor", "ccda.narrative.reference", reference, message, suggestion="Write # before it", value=value, at="value")
    for link in below(root, "linkHtml"):
        report.fired("narrative")
        href = (link.get("href") or "").strip().lower()
        if href.startswith(_RUNS):
            document.say("major", "ccda.narrative.script", link, "a link that runs code where it is shown", at="href")
        elif href.startswith("#") and (link.get("href") or "").strip()[1:] not in ids:
            document.say("minor", "ccda.narrative.link", link, "links to an ID that no element of the document has", at="href")
    for section in below(root, "section"):
        text = child(section, "text")
        if text is None or section.get("nullFlavor") is not None:
            continue
        report.fired("narrative")
        if not len(text) and not (text.text or "").strip():
            document.say("minor", "ccda.narrative.empty", text, "an empty narrative: readers see nothing of this section")
