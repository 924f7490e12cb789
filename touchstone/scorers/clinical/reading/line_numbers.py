"""Line and column of findings in the text of their document. Only a document that has findings is read for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from touchstone.schemas.result import Finding
from touchstone.schemas.trace import ClinicalFormat
from touchstone.scorers.clinical.reading.displayed import as_written
from touchstone.scorers.clinical.reading.locating import finding_spots, place_of
from touchstone.scorers.clinical.reading.spots import Lines


def with_lines(findings: Iterable[Finding], content: str | bytes | dict[str, Any], form: ClinicalFormat, prefix: str = "") -> list[Finding]:
    """The findings of one document, each with the line and column of its place or, where the element is absent, of the one around it.

    `prefix`: what their paths begin with before the path inside the document. A finding about no one place keeps none.
    """
    found = list(findings)
    if not found:
        return found
    document = as_written(content, form)
    lines = Lines(document.text)
    spots = finding_spots(document, lines, [(finding, finding.path.removeprefix(prefix)) for finding in found])
    placed: list[Finding] = []
    for finding, spot in zip(found, spots, strict=True):
        if spot is None or spot.end <= spot.start:
            placed.append(finding)
            continue
        line, column = place_of(lines, finding, spot)
        placed.append(Finding.of_valid({**finding.__dict__, "line": line, "column": column}))
    return placed
