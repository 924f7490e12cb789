"""Traces of a run, in the specification's format: prompt, persona, documents and scores."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from touchstone.ops.evaluation.items import Item
from touchstone.schemas.case import validate_case
from touchstone.schemas.reports.fields import utc_text
from touchstone.schemas.result import Finding
from touchstone.schemas.trace import ClinicalFormat, ProductionTrace
from touchstone.scorers.identity import event_id

OVERALL: Final = "overall"
#: In the details of a result: the overall score by its parts alone, where findings lowered it. Minimum scores are asked of this one.
WEIGHTED: Final = "overall_weighted"


def trace_record(
    item: Item, trace_id: str, made_at: datetime, persona: Mapping[str, Any] | None, contents: Mapping[ClinicalFormat, Any], timing: Mapping[str, float]
) -> dict[str, Any]:
    """A trace as an event carries it, its id included."""
    record: dict[str, Any] = {
        "kind": "trace",
        "traceId": trace_id,
        "timestamp": utc_text(made_at),
        "source": "eval",
        "prompt": item.prompt,
        "testCaseId": item.id,
    }
    if persona is not None:
        record["persona"] = dict(persona)
    record["outputs"] = {form: {"content": content} for form, content in contents.items()}
    record["timing"] = dict(timing)
    record["id"] = event_id(ProductionTrace, record)
    return record


def trace_of(record: dict[str, Any]) -> ProductionTrace:
    """The trace of a record. Raises pydantic's `ValidationError`."""
    return validate_case(ProductionTrace, record)


def trace_text(record: Mapping[str, Any], scores: Mapping[str, float], findings: Sequence[Finding], parts: Sequence[str]) -> str:
    """The file of a trace: the record with the scores and findings of each format and of the whole. Reading it gives the same event.

    `parts`: names of the scores that the overall one is made of; those of a format begin with its name.
    """
    names = (*parts, OVERALL)
    outputs = {}
    for form, output in record["outputs"].items():
        place = f"outputs.{form}"
        of_form = [one for one in findings if one.path == place or one.path.startswith((f"{place}/", f"{place}["))]
        outputs[form] = {
            **output,
            "scores": {name: scores[f"{form}_{name}"] for name in names if f"{form}_{name}" in scores},
            "findings": [one.model_dump(exclude_none=True) for one in of_form],
        }
    whole = {**record, "outputs": outputs, "aggregateScores": {name: scores[name] for name in names if name in scores}}
    return json.dumps(whole, indent=2, ensure_ascii=False, default=_as_text) + "\n"


def _as_text(value: Any) -> str:
    """A document that is not UTF-8 as text, because JSON has no bytes."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
