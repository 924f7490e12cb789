"""Narratives: references from entries resolve, ids are unique, and nothing can run code."""

from __future__ import annotations

import re
from typing import Any, Final

from touchstone.scorers.clinical.formats.ccda.document import Document
from touchstone.scorers.clinical.formats.ccda.elements import below, child, is_null, local

#: Beginnings of links that a browser would run.
_RUNS: Final = ("javascript:", "vbscript:", "data:text/html", "data:image/svg")
#: A character that an address or file name has.
_ADDRESS: Final = re.compile(r"[:/.]")
#: Characters that browsers remove from a link.
_IGNORED: Final = re.compile(r"[\x00-\x20]+")
#: Elements that run or load code, in any namespace.
_RUNNING: Final = frozenset({"script", "iframe", "object", "embed", "applet", "form", "base", "meta"})


def check_narrative(document: Document) -> None:
    """Check narratives, and the references into them."""
    report, root = document.report, document.root
    ids: set[str] = set()
    for element in document.having("ID"):
        name = element.get("ID")
        report.fired("narrative")
        if name in ids:
            document.add("major", "ccda.narrative.id", element, "another element has the same ID; references to it are of two places", value=name, at="ID")
        ids.add(name)
    _check_references(document, ids)
    _check_links(document, ids)
    for section in below(root, "section"):
        text = child(section, "text")
        if text is None:
            continue
        report.fired("narrative")
        if section.get("nullFlavor") is None and not len(text) and not (text.text or "").strip():
            document.add("minor", "ccda.narrative.empty", text, "an empty narrative: readers see nothing of this section")
        _check_runs(document, text)
    for title in (child(root, "title"), *(child(section, "title") for section in below(root, "section"))):
        if title is not None and not is_null(title) and not "".join(title.itertext()).strip():
            document.add("minor", "ccda.narrative.title", title, "an empty title: readers do not see what this is")


def _check_references(document: Document, ids: set[str]) -> None:
    """Check references from entries. Minor, although C-CDA says SHALL: HL7's own examples break it, and no official rule tests it."""
    for reference in below(document.root, "reference"):
        value = reference.get("value")
        # A reference to another act or document has no value.
        if value is None or local(reference.getparent()) not in {"text", "originalText"}:
            continue
        document.report.fired("narrative")
        suggestion = None
        if value.startswith("#"):
            message = "" if value[1:] in ids else "refers to an ID that no element of the document has"
        elif value in ids:
            message, suggestion = "names an ID without #, and so refers to nothing in this document", "Write # before it"
        else:
            message = "" if _ADDRESS.search(value) else "names neither an ID of this document (#...) nor an address"
        if message:
            document.add("minor", "ccda.narrative.reference", reference, message, suggestion=suggestion, value=value, at="value")


def _check_links(document: Document, ids: set[str]) -> None:
    for link in below(document.root, "linkHtml"):
        document.report.fired("narrative")
        href = _IGNORED.sub("", link.get("href") or "")
        if href.lower().startswith(_RUNS):
            document.add("major", "ccda.narrative.script", link, "a link that runs code where it is shown", at="href")
        elif href.startswith("#") and href[1:] not in ids:
            document.add("minor", "ccda.narrative.link", link, "links to an ID that no element of the document has", at="href")


def _check_runs(document: Document, text: Any) -> None:
    """Report elements and attributes of a narrative that can run code."""
    for one in text.iter("*"):
        if local(one).lower() in _RUNNING:
            document.add("major", "ccda.narrative.script", one, "an element that runs code, or brings some in, where the narrative is shown", value=local(one))
        for name in one.keys():  # noqa: SIM118 - an element's keys are its attributes, itself its children
            if name[:2].lower() == "on":
                document.add("major", "ccda.narrative.script", one, "an attribute that runs code where the narrative is shown", value=name)
