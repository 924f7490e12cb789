"""Selects the traces that a judge sees: none that has failed already, and of the others a sample that is always the same."""

from __future__ import annotations

from collections import Counter
from typing import Final, Literal

from touchstone.schemas.judging import Validated
from touchstone.schemas.result import Scorecard, Severity
from touchstone.scorers.clinical.settings import JudgeRequestSettings
from touchstone.scorers.clinical.trace_scoring import LABEL_MAX
from touchstone.scorers.judges.ask.sampling import is_sampled

Reason = Literal["not_validated", "unreadable", "fail", "invalid", "not_sampled"]
#: Why a trace was not judged, for people.
WHY: Final[dict[Reason, str]] = {
    "not_validated": "no document of the trace was validated, so there is nothing to compose a judge's score with",
    "unreadable": "a document cannot be read, which fails the trace whatever a judge says",
    "fail": "the trace has failed already",
    "invalid": "a document is not valid by its standard",
    "not_sampled": "the trace is not in the sample that is judged",
}
#: The suite that the sample is drawn for.
SAMPLED: Final = "clinical_judge"


def stopped(validated: Validated, event_id: str, settings: JudgeRequestSettings) -> Reason | None:
    """The reason why a trace is not judged; None if it is."""
    if settings.stop_at == "nothing":
        return None if is_sampled(SAMPLED, event_id, settings.sample_rate) else "not_sampled"
    if "format" not in validated.values and "terminology" not in validated.values:
        return "unreadable" if validated.label == "Fail" else "not_validated"
    if validated.label_max == "Fail":
        return "unreadable"
    if settings.stop_at != "unreadable" and validated.label == "Fail":
        return "fail"
    if settings.stop_at == "invalid" and validated.valid is False:
        return "invalid"
    return None if is_sampled(SAMPLED, event_id, settings.sample_rate) else "not_sampled"


def validated_of(card: Scorecard, version: str, config_digest: str) -> Validated:
    """The part of the validators' result that the judge's suite needs."""
    counts: Counter[Severity] = Counter(finding.severity for finding in card.findings)
    return Validated(
        suite_version=version,
        config_digest=config_digest,
        label=card.label,
        label_max=card.details.get(LABEL_MAX, card.label),
        values={name: card.values[name] for name in ("overall", "format", "terminology") if name in card.values},
        findings=dict(counts),
        valid=card.details.get("valid"),
    )
