"""Watermarks of synthetic data, without which a document may be mistaken for a real patient's (specification, Phase 1: watermarks).

A mark is the security label HTEST (R4: "test health data"), or a tag, security label, meta.source, narrative or extension URL that contains
"synthetic", "test data" or the like.
"""

from __future__ import annotations

import re

from touchstone.scorers.clinical.checks.json_access import objects
from touchstone.scorers.clinical.formats.fhir.document import Document, Frame

_MARK = re.compile(r"\b(synthetic|synthea|simulated|fictitious|test[ _-]?(data|patient|record)|not a real (patient|person))\b|\bHTEST\b", re.IGNORECASE)


def check_marks(document: Document) -> None:
    """Report each resource that stands alone, or Bundle, without a mark of synthetic data."""
    for top in (frame for frame in document.frames if frame.container is None and frame.bundle is None):
        document.report.fired("watermarks")
        if not any(_is_marked(frame) for frame in (top, *(frame for frame in document.frames if frame.bundle is top))):
            message, remedy = "nothing marks this document as synthetic", "Add the security label HTEST to meta"
            document.add("info", "fhir.watermarks.none", top.place, message, suggestion=remedy)


def _is_marked(frame: Frame) -> bool:
    meta = frame.part("meta")
    labels = [*objects(meta.get("tag")), *objects(meta.get("security"))]
    texts = [meta.get("source"), *(one.get(part) for one in labels for part in ("code", "display", "system"))]
    texts += [frame.part("text").get("div"), *(one.get("url") for one in objects(frame.resource.get("extension")))]
    return any(isinstance(text, str) and _MARK.search(text[:20_000]) is not None for text in texts)
