"""The request that a trace goes to the judge with: made by the clinical worker for its topic, and by the judge's suite for a trace from a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from touchstone.schemas.judging import Asked, JudgeRequest
from touchstone.schemas.result import Scorecard
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.clinical.requests.cascade import Reason, stopped, validated_of
from touchstone.scorers.clinical.requests.extracts import extract
from touchstone.scorers.clinical.settings import ClinicalSettings


def request_of(
    trace: ProductionTrace, event_id: str, card: Scorecard, settings: ClinicalSettings, version: str, config_digest: str
) -> tuple[JudgeRequest, Reason | None]:
    """The request for a trace whose validators' result is `card`, and why it is not to be made, if so."""
    validated = validated_of(card, version, config_digest)
    reason = stopped(validated, event_id, settings.judge)
    request = JudgeRequest(
        id=event_id,
        timestamp=trace.timestamp,
        source=trace.source,
        correlation=trace.correlation,
        trace_id=trace.trace_id,
        test_case_id=trace.test_case_id,
        day=_text(card.attributes.get("day")),
        asked=extract(trace, settings.judge, settings.formats) if reason is None else Asked(),
        validated=validated,
    )
    return request, reason


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def record_of(request: JudgeRequest) -> Mapping[str, Any]:
    """The request as an event carries it."""
    return request.model_dump(mode="json", exclude_none=True)
