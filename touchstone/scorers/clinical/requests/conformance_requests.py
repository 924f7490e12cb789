"""Requests to external validators: the FHIR and C-CDA documents of sampled traces, as far as they fit one event."""

from __future__ import annotations

import json
from typing import Any, Final

from touchstone.schemas.conformance import Asked, ConformanceFormat, ConformanceRequest
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.clinical.format_detection import as_bytes
from touchstone.scorers.clinical.requests.judge_requests import about
from touchstone.scorers.clinical.settings import ConformanceRequestSettings
from touchstone.scorers.judges.ask.sampling import is_sampled

#: The suite that the sample is drawn for.
SAMPLED: Final = "clinical_conformance"
FORMATS: Final[tuple[ConformanceFormat, ...]] = ("fhir", "ccda")


def documents_request(trace: ProductionTrace, event_id: str, formats: tuple[str, ...], settings: ConformanceRequestSettings) -> ConformanceRequest | None:
    """The request for a trace; None if it has no such document, or is not in the sample. A document that does not fit is named without its content."""
    if not is_sampled(SAMPLED, event_id, settings.sample_rate):
        return None
    found = documents_of(trace, formats)
    return ConformanceRequest(**about(trace, event_id), documents=_fitting(found, settings.request_bytes_max)) if found else None


def documents_of(trace: ProductionTrace, formats: tuple[str, ...]) -> list[tuple[str, ConformanceFormat, Any]]:
    """Place, format and content of each document with an external validator."""
    found: list[tuple[str, ConformanceFormat, Any]] = []
    for form in FORMATS:
        output = trace.outputs.of(form) if form in formats else None
        documents = output.documents if output is not None else ()
        found += [(f"outputs.{form}" if len(documents) == 1 else f"outputs.{form}[{number}]", form, content) for number, content in enumerate(documents)]
    return found


def _fitting(found: list[tuple[str, ConformanceFormat, Any]], bytes_max: int) -> tuple[Asked, ...]:
    """The documents as text; the smallest have their content, as long as there is room."""
    texts = [(place, form, as_bytes(content).decode("utf-8", "replace")) for place, form, content in found]
    sizes = [len(json.dumps(text, ensure_ascii=False).encode()) for _, _, text in texts]
    whole: set[int] = set()
    left = bytes_max
    for number in sorted(range(len(texts)), key=sizes.__getitem__):
        if sizes[number] > left:
            break
        left -= sizes[number]
        whole.add(number)
    return tuple(
        Asked(place=place, format=form, content=text if number in whole else None, chars=len(text)) for number, (place, form, text) in enumerate(texts)
    )
