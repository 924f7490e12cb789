"""Definitions that resources name by their canonical URL: contained in the resource, in its document, or in a package."""

from __future__ import annotations

from collections.abc import Iterator

from touchstone.scorers.clinical.checks.json_access import Json
from touchstone.scorers.clinical.formats.fhir.document import Document, Frame
from touchstone.scorers.clinical.formats.fhir.profiles.library import Library


def with_definition(document: Document, of: str, kind: str, check: str, at_hand: Library) -> Iterator[tuple[Frame, Json]]:
    """Yield the resources of a type (MeasureReport), each with the definition (Measure) that it names; report those without one as not checked."""
    for frame in document.frames:
        canonical = frame.text(kind.lower()) if frame.type == of else ""
        definition = _definition(document, frame, kind, canonical, at_hand) if canonical else None
        if definition is not None:
            yield frame, definition
        elif canonical:
            document.skip(check, f"the {kind} is not at hand")


def _definition(document: Document, frame: Frame, kind: str, canonical: str, at_hand: Library) -> Json | None:
    if canonical.startswith("#"):
        return next((one.resource for one in frame.root.contained if one.type == kind and one.text("id") == canonical[1:]), None)
    url, _, version = canonical.partition("|")
    for one in document.frames:
        if one.type == kind and one.text("url") == url and version in {"", one.text("version")}:
            return one.resource
    return at_hand.packages.find(kind, canonical)
