"""The part of a trace that a judge sees: the prompt, the persona and each document, bounded, with a note at every cut.

The validators' findings are not part of it: a judge that knows of faults looks for them, and its scores would count the same faults twice.
"""

from __future__ import annotations

import contextlib
import json
import re
from typing import Any, Final

from touchstone.schemas.judging import PARTS_MAX, Asked, Extract
from touchstone.schemas.trace import CLINICAL_FORMATS, ClinicalFormat, ProductionTrace
from touchstone.scorers.clinical.settings import JudgeRequestSettings
from touchstone.scorers.judges.ask.sampling import cut, shares

#: A longer text inside a JSON document (an attachment, a picture) is cut, because it is not a readable clinical statement.
STRING_CHARS_MAX: Final = 2_000
#: Members of FHIR resources that say nothing about the patient.
_NOT_CLINICAL: Final = frozenset({"meta", "fullUrl", "implicitRules"})
_BETWEEN_TAGS: Final = re.compile(r">\s+<")
_DEPTH_MAX: Final = 200


def extract(trace: ProductionTrace, bounds: JudgeRequestSettings, formats: tuple[ClinicalFormat, ...] = CLINICAL_FORMATS) -> Asked:
    """The parts of a trace that a judge reads. Never raises for what the trace holds."""
    return Asked(
        prompt=None if not trace.prompt else _cut("prompt", trace.prompt, bounds.prompt_chars_max),
        persona=None if not trace.persona else _cut("persona", _json(trace.persona), bounds.persona_chars_max),
        outputs=_outputs(trace, formats, bounds.outputs_chars_max),
    )


def _outputs(trace: ProductionTrace, formats: tuple[ClinicalFormat, ...], chars_max: int) -> tuple[Extract, ...]:
    """The documents. They share the available characters: short ones are whole, and long ones get equal parts of the rest."""
    texts: list[tuple[str, str]] = []
    for form in formats:
        output = trace.outputs.of(form)
        documents = output.documents if output is not None else ()
        for number, content in enumerate(documents):
            place = f"outputs.{form}" if len(documents) == 1 else f"outputs.{form}[{number}]"
            texts.append((place, _text(content, form)))
    texts = texts[:PARTS_MAX]
    parts = shares([len(text) for _, text in texts], chars_max)
    return tuple(_cut(place, text, part) for (place, text), part in zip(texts, parts, strict=True))


def _cut(place: str, text: str, chars_max: int) -> Extract:
    """The beginning of a text, and how much is missing."""
    return Extract(place=place, text=cut(text, chars_max), shown=min(len(text), chars_max), chars=len(text))


def _text(content: str | bytes | dict[str, Any], form: ClinicalFormat) -> str:
    """A document for a judge: JSON without blanks and non-clinical members, one segment a line, markup without blanks between tags."""
    if isinstance(content, bytes):
        content = content.decode("utf-8", "replace")
    if isinstance(content, str) and form == "fhir":
        with contextlib.suppress(ValueError, RecursionError):  # it is shown as it is
            content = json.loads(content)
    if not isinstance(content, str):
        return _json(content)
    if form == "hl7v2":
        return _sendable(content.replace("\r\n", "\n").replace("\r", "\n").strip())
    return _sendable(_BETWEEN_TAGS.sub("><", content).strip())


def _json(value: Any) -> str:
    try:
        return json.dumps(_clinical(value), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace").decode()
    except (RecursionError, TypeError, ValueError):
        return "[a document that is nested too deep to be shown]"


def _sendable(text: str) -> str:
    """The text without lone surrogates, which no request can carry."""
    return text.encode("utf-8", "replace").decode()


def _clinical(value: Any, depth: int = 0) -> Any:
    """A JSON value without non-clinical members, and with long texts cut."""
    if depth > _DEPTH_MAX:
        return "[nested too deep to be shown]"
    if isinstance(value, dict):
        return {name: _clinical(part, depth + 1) for name, part in value.items() if name not in _NOT_CLINICAL}
    if isinstance(value, list | tuple):
        return [_clinical(part, depth + 1) for part in value]
    if isinstance(value, str) and len(value) > STRING_CHARS_MAX:
        return f"{value[:STRING_CHARS_MAX]}[cut here: {len(value) - STRING_CHARS_MAX} of {len(value)} characters are not shown]"
    return value
