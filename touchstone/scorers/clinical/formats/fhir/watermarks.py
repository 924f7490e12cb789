"""Watermarks: does a document say of itself that it is synthetic? (specification, Phase 1: watermarks).

Known marks: a security label HTEST (R4: "test health data"), and a tag or security label, a meta.source, or an identifier system whose own
text says synthetic, test data, generated or simulated. A trace of synthetic data without one may be mistaken for a patient's.
"""

from __future__ import annotations

import re
from typing import Any

from touchstone.scorers.clinical.formats.fhir.document import Document, Frame

_SAYS = re.compile(r"\b(synthetic|synthea|simulated|fictitious|test[ _-]?(data|patient|record)|not a real (patient|person))\b|\bHTEST\b", re.IGNORECASE)


def check_marks(document: Document) -> None:
    """Tell where a document that stands by itself carries no mark of synthetic data."""
    tops = [frame for frame in document.frames if frame.container is None and frame.bundle is None]
    for top in tops:
        document.report.fired("watermarks")
        family = [top, *(frame for frame in document.frames if frame.bundle is top)]
        if not any(_marked(frame) for frame in family):
            document.say(
                "info", "fhir.watermarks.none", top.place, "nothing marks this document as synthetic", suggestion="Add the security label HTEST to meta"
            )


def _marked(frame: Frame) -> bool:
    meta = frame.resource.get("meta")
    if isinstance(meta, dict):
        lists = [meta.get("tag"), meta.get("security")]
        labels = [one for labels in lists if isinstance(labels, list) for one in labels if isinstance(one, dict)]
        if any(_says(one.get(part)) for one in labels for part in ("code", "display", "system")) or _says(meta.get("source")):
            return True
    text = frame.resource.get("text")
    if isinstance(text, dict) and _says(text.get("div")):
        return True
    extensions = frame.resource.get("extension")
    return any(_says(one.get("url")) for one in extensions if isinstance(one, dict)) if isinstance(extensions, list) else False


def _says(value: Any) -> bool:
    return isinstance(value, str) and _SAYS.search(value[:20_000]) is not None
