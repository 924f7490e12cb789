"""The definition that a resource names by its canonical: contained in it, in its document, or in the packages at hand."""

from __future__ import annotations

from typing import Any

from touchstone.scorers.clinical.formats.fhir.document import Document, Frame
from touchstone.scorers.clinical.formats.fhir.profiles.library import Library


def named_definition(document: Document, frame: Frame, kind: str, canonical: str, at_hand: Library) -> dict[str, Any] | None:
    """Return the definition of a kind (Questionnaire, Measure) that a resource names; None where it is not at hand."""
    if canonical.startswith("#"):
        return next((one.resource for one in frame.root.contained if one.type == kind and one.text("id") == canonical[1:]), None)
    url, _, version = canonical.partition("|")
    for one in document.frames:
        if one.type == kind and one.text("url") == url and version in {"", one.text("version")}:
            return one.resource
    return at_hand.packages.find(kind, canonical)
