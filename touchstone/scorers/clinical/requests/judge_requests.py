"""Requests to the judge: made by the clinical worker for the judge's topic, and by the judge's suite for a trace from a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from touchstone.schemas.handing import TraceRequest
from touchstone.schemas.judging import Asked, JudgeRequest
from touchstone.schemas.result import Scorecard
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.clinical.requests.judge_extracts import extract
from touchstone.scorers.clinical.requests.judge_selection import Reason, stopped, validated_of
from touchstone.scorers.clinical.settings import ClinicalSettings
from touchstone.scorers.clinical.trace_scoring import day_of


def request_of(
    trace: ProductionTrace, event_id: str, card: Scorecard, settings: ClinicalSettings, version: str, config_digest: str
) -> tuple[JudgeRequest, Reason | None]:
    """The request for a trace whose validators' result is `card`, and the reason why it is not sent, if there is one."""
    validated = validated_of(card, version, config_digest)
    reason = stopped(validated, event_id, settings.judge)
    request = JudgeRequest(
        **about(trace, event_id),
        asked=extract(trace, settings.judge, settings.formats) if reason is None else Asked(),
        validated=validated,
    )
    return request, reason


def about(trace: ProductionTrace, event_id: str) -> dict[str, Any]:
    """The fields that every request has of its trace."""
    return {
        "id": event_id,
        "timestamp": trace.timestamp,
        "source": trace.source,
        "correlation": trace.correlation,
        "trace_id": trace.trace_id,
        "test_case_id": trace.test_case_id,
        "day": day_of(trace),
    }


def record_of(request: TraceRequest) -> Mapping[str, Any]:
    """The request as an event carries it."""
    return request.model_dump(mode="json", exclude_none=True)
