"""Simulated reviewers: they know what was planted, miss some of it, object to some good patients, and write it down in words of their own.

They stand in for people where the walk is tested, and for the traces that a reader does not want to review by hand. Their error rates are known, so that
what a calibration says of a judge can be checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

from touchstone.schemas.annotation import AnnotationRecord
from touchstone.scorers.clinical.invented import Sample

#: When the review began. Each trace takes a reviewer about this long.
BEGUN: Final = datetime(2026, 9, 14, 8, 0, tzinfo=UTC)
SECONDS_A_TRACE: Final = 48


@dataclass(frozen=True, slots=True)
class Reviewer:
    """`misses`: share of failures that the reviewer passes; `objects`: share of good traces that the reviewer fails."""

    name: str
    misses: float
    objects: float


REVIEWERS: Final = (Reviewer("ana", 0.03, 0.01), Reviewer("ben", 0.08, 0.03))
#: Settles what the others disagree on.
ARBITER: Final = Reviewer("cleo", 0.0, 0.0)
#: What reviewers write of each kind. {drug} and {condition} are the patient's own.
_NOTES: Final[Mapping[str, tuple[str, ...]]] = {
    "missing_key_lab": (
        "No lab to follow {condition}.",
        "{condition} is listed, but the lab everybody checks for it is missing.",
        "Labs do not include the test that monitors {condition}.",
        "Missing the key lab for {condition}.",
    ),
    "drug_before_onset": (
        "{drug} starts before the diagnosis it is for.",
        "Start date of {drug} is months before the onset of the condition.",
        "Timeline is wrong: {drug} was begun before onset.",
    ),
    "missing_encounter": (
        "Prompt mentions a hospital stay, no such encounter.",
        "No encounter generated for the hospital or emergency visit in the prompt.",
        "The hospitalization of the prompt is missing from the encounters.",
    ),
    "duplicate_therapy": (
        "{drug} and another drug of the same class at once.",
        "Two drugs of one class are active; {drug} duplicates the other.",
        "Duplicate therapy, {drug} was added to the same class.",
    ),
    "drug_without_indication": (
        "{drug} without any reason for it.",
        "Takes {drug}, but no condition explains it.",
        "No indication for {drug} in the problem list.",
    ),
    "occupation_contradicts_prompt": (
        "Prompt gives another job than the persona has.",
        "Occupation does not match the prompt.",
        "The prompt's occupation was changed, persona says {occupation}.",
    ),
    "visit_for_something_else": (
        "Visit reason does not fit the patient: {reason}.",
        "Encounter for {reason}, which this patient does not have.",
        "Why this visit? {reason} is unrelated to the conditions.",
    ),
    "placeholder_name": ("Name is a placeholder: {name}.", "{name} is not a real name.", "Placeholder name used, {name}."),
}
_SEVERITIES: Final[Mapping[str, str]] = {
    "missing_key_lab": "clinician_would_notice",
    "drug_before_onset": "subtle_issue",
    "missing_encounter": "clinician_would_notice",
    "duplicate_therapy": "clinician_would_notice",
    "drug_without_indication": "clinician_would_notice",
    "occupation_contradicts_prompt": "subtle_issue",
    "visit_for_something_else": "clinician_would_notice",
    "placeholder_name": "cosmetic",
}
_OBJECTIONS: Final = ("Clinical picture feels thin.", "Would expect more labs at this age.", "Not convinced by the story.")


def reviews(samples: Sequence[Sample], seed: int, reviewers: Sequence[Reviewer] = REVIEWERS) -> list[AnnotationRecord]:
    """The annotations of every reviewer on every trace, in the order of their time; then, where they disagree, the verdict of a third person, who is right."""
    records = [_said(sample, reviewer, number, seed) for reviewer in reviewers for number, sample in enumerate(samples)]
    verdicts: dict[str, set[str | None]] = {}
    for one in records:
        verdicts.setdefault(one.trace_id, set()).add(one.verdict)
    settled = [
        _said(sample, ARBITER, number + len(samples), seed).model_copy(update={"settled": True})
        for number, sample in enumerate(samples)
        if len(verdicts[sample.trace["traceId"]]) > 1
    ]
    return [*sorted(records, key=lambda one: (one.at, one.reviewer)), *settled]


def _said(sample: Sample, reviewer: Reviewer, number: int, seed: int) -> AnnotationRecord:
    trace_id = sample.trace["traceId"]
    draw = Random(f"{seed}/{reviewer.name}/{trace_id}")  # noqa: S311  # no secret is drawn
    chance = draw.random()
    fails = chance >= reviewer.misses if sample.planted is not None else chance < reviewer.objects
    notes = severity = None
    if fails:
        forms = _OBJECTIONS if sample.planted is None else _NOTES[sample.planted]
        notes = draw.choice(forms).format_map(_named(sample.trace["persona"], sample.planted))
        severity = "subtle_issue" if sample.planted is None else _SEVERITIES[sample.planted]
    at = BEGUN + timedelta(seconds=number * SECONDS_A_TRACE + draw.randint(0, SECONDS_A_TRACE - 1))
    return AnnotationRecord(
        trace_id=trace_id, verdict="fail" if fails else "pass", notes=notes, severity_tag=severity, reviewer=reviewer.name, at=at.isoformat(), review_pass=1
    )


def _named(persona: Mapping[str, Any], planted: str | None) -> dict[str, str]:
    """What a note may name."""
    active = [one for one in persona["conditions"] if one["status"] == "active"]
    drugs, visits = persona["medications"], persona["encounters"]
    followed = ("diabetes", "hypothyroidism", "hyperlipidemia", "kidney", "anemia")
    condition = next((one for one in active if any(word in one["name"].casefold() for word in followed)), active[0])
    drug = min(drugs, key=lambda one: one["startDate"], default=None) if planted == "drug_before_onset" else drugs[-1] if drugs else None
    return {
        "condition": condition["name"],
        "drug": drug["name"] if drug is not None else "a drug",
        "occupation": persona["occupation"],
        "reason": visits[-1]["reason"] if visits else "a visit",
        "name": persona["name"],
    }
