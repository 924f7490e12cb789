"""The scorecard of a judged trace: Format and Terminology from the validators, Clinical from the judge (specification, Scoring Approach).

`Overall = 0.25 Format + 0.25 Terminology + 0.50 Clinical`. Missing components are named, and their weight is shared by the others.
A judge that did not answer is missing, never a zero; but if it was asked, the label is `Warn` at best.
Its words quote the patient, so results have them only if `quote` is set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from touchstone.schemas.judging import Asked, JudgeRequest, Validated
from touchstone.schemas.result import Failure, Finding, Label, NotChecked, Scorecard, Severity
from touchstone.scorers.clinical.checks.scores import CLINICAL_WEIGHTS, WEIGHTED, bound_finding, bounded_score, clinical_score, overall_score, worst
from touchstone.scorers.clinical.judging.verdicts import DIMENSIONS, CoherenceVerdict, Dimension, JudgeFinding
from touchstone.scorers.clinical.requests.judge_selection import WHY, Reason
from touchstone.scorers.clinical.trace_scoring import WHY_BOUND
from touchstone.scorers.judges.ask.consult import Unjudged, judge_details, why_bound, withheld
from touchstone.scorers.judges.ask.judge import Answer
from touchstone.scorers.reporting.words import score_text

#: The value of one dimension, 0–100.
VALUE: Final = "clinical_{}"
WORDS: Final[Mapping[Dimension, str]] = {
    "medication_condition_alignment": "medications and conditions do not fit each other",
    "lab_value_plausibility": "a laboratory value or vital sign is not plausible for this patient",
    "narrative_coherence": "the parts of the patient's story do not agree",
    "temporal_consistency": "dates or their order do not agree",
    "demographic_appropriateness": "something does not fit the patient's age or sex",
}
#: The beginning of a finding's place, which names a part of the trace; the rest is in the judge's own words.
_PLACE: Final = re.compile(r"\s*(prompt|persona|outputs\.(?:fhir|hl7v2|ccda)(?:\[\d{1,4}\])?)(?!\w)")
_WHERE_CHARS_MAX: Final = 120
#: Best label of the documents → severity and code of the finding that says so.
_OF_DOCUMENTS: Final[Mapping[Label, tuple[Severity, str]]] = {
    "Fail": ("critical", "documents.unreadable"),
    "Warn": ("major", "documents.invalid"),
    "unscored": ("info", "documents.not_validated"),  # reports show what of severity info explains a case without a score
}
_RATING_MAX: Final = 5


def skipped(reason: Reason) -> Unjudged:
    """The outcome of a trace that the cascade stopped."""
    return Unjudged(reason, WHY[reason])


def compose(request: JudgeRequest, judged: Answer[CoherenceVerdict] | Unjudged, *, quote: bool) -> Scorecard:
    """The scorecard of one trace.

    `values`, each 0–100: `overall`, `format`, `terminology`, `clinical`, and `clinical_<dimension>` for each dimension that the judge scored. `details`: the
    source of each part, what the judge was shown, and what it cost.
    """
    if isinstance(judged, Unjudged):
        not_asked = [NotChecked(check="clinical", reason=judged.why)]
        return _card(request, None, {}, (), not_asked, judge_details(judged), {}, judged.failure, why_bound(judged))
    verdict = judged.verdict
    scores = verdict.scores
    left_out = [name for name in DIMENSIONS if name not in scores]
    not_checked = [NotChecked(check=f"coherence.{name}", reason="the judge gave no score: left out, its weight shared by the others") for name in left_out]
    findings = tuple(_finding(name, found, quote=quote) for name in DIMENSIONS for found in verdict.of(name).findings)
    failure = None if scores else Failure(component="clinical", kind="judge", code="no_dimension")
    details = {**judge_details(judged, failure), "dimensions": _dimensions(verdict, quote=quote)}
    ratings = {str(name): float(score) for name, score in scores.items()}
    models = {"judge": judged.model}
    return _card(request, clinical_score(ratings), ratings, findings, not_checked, details, models, failure, why_bound(judged, failure))


def _card(
    request: JudgeRequest,
    clinical: float | None,
    ratings: Mapping[str, float],
    findings: tuple[Finding, ...],
    not_checked: list[NotChecked],
    judged: dict[str, Any],
    models: dict[str, str],
    failure: Failure | None,
    in_vain: str,
) -> Scorecard:
    """The scorecard. `in_vain`: why the judge was asked in vain, if it was."""
    validated = request.validated
    form, terminology = validated.values.get("format"), validated.values.get("terminology")
    overall, missing = overall_score(form, terminology, clinical)
    if form is None and terminology is None:
        overall = None  # nothing was validated, and the judge's score alone is no verdict on a trace
    named = {"overall": overall, "format": form, "terminology": terminology, "clinical": clinical}
    is_critical = any(finding.severity == "critical" for finding in findings)
    of_documents = worst(validated.label_max, validated.label if clinical is None else "Pass")
    label_max = worst(of_documents, "Warn" if is_critical or in_vain else "Pass")
    bound = bound_finding(overall, label_max, WHY_BOUND.get(label_max, "") if label_max == of_documents else in_vain or "the judge found something critical")
    weighted = {WEIGHTED: overall} if bound else {}
    named["overall"], label = bounded_score(overall, label_max)
    if label != "Pass" and failure is None and not any(finding.severity != "info" for finding in findings):
        findings += _why_not_passed(label, validated, ratings, named)
    return Scorecard(
        label=label,
        values={name: value for name, value in named.items() if value is not None} | {VALUE.format(name): (score - 1) * 25 for name, score in ratings.items()},
        findings=findings + bound,
        failures=() if failure is None else (failure,),
        components_missing=missing,
        not_checked=tuple(not_checked),
        details={
            "parts": {name: "judge" if name == "clinical" else "validators" for name in ("format", "terminology", "clinical") if named[name] is not None},
            "weights": _weights(ratings),
            "judge": judged,
            **weighted,
            "shown": _shown(request.asked),
            "validators": _validators(validated),
        },
        attributes={"trace_id": request.trace_id, "source": request.source, "test_case_id": request.test_case_id, "day": request.day},
        models=models,
    )


def _why_not_passed(label: Label, validated: Validated, ratings: Mapping[str, float], named: Mapping[str, float | None]) -> tuple[Finding, ...]:
    """The finding that explains a label which neither the judge's findings nor a failure explain. `named`: the scores of the trace."""
    see = "Score the trace with the suite clinical, whose findings name the document and the place"
    if validated.label_max in _OF_DOCUMENTS:
        severity, code = _OF_DOCUMENTS[validated.label_max]
        return (Finding(severity=severity, code=code, path="outputs", message=WHY_BOUND[validated.label_max], suggestion=see),)
    scores = ", ".join(f"{name.capitalize()} {score_text(score)}" for name in ("format", "terminology", "clinical") if (score := named[name]) is not None)
    lowest = ", ".join(f"{name} {rating:g}" for name, rating in sorted(ratings.items(), key=lambda one: one[1]) if rating < _RATING_MAX)
    message = f"the scores alone give {label}: {scores}" + (f"; the judge rated, of {_RATING_MAX}: {lowest}" if lowest else "")
    low = named["clinical"] is None or min(named["format"] or 0, named["terminology"] or 0) < named["clinical"]
    return (Finding(severity="major" if label == "Fail" else "minor", code="scores.low", path="overall", message=message, suggestion=see if low else None),)


def _weights(ratings: Mapping[str, float]) -> dict[str, float]:
    """The weight that each dimension had in Clinical."""
    total = sum(CLINICAL_WEIGHTS[name] for name in ratings)
    return {name: round(CLINICAL_WEIGHTS[name] / total, 6) for name in ratings}


def _finding(dimension: Dimension, found: JudgeFinding, *, quote: bool) -> Finding:
    """A finding of the judge. Without `quote` its path is the part of the trace, and its message is that of the dimension."""
    at = _PLACE.match(found.where)
    where = " ".join(found.where.split())[:_WHERE_CHARS_MAX] if quote else at[1] if at is not None else ""
    words = " ".join(found.what.split())
    return Finding(severity=found.severity, code=f"coherence.{dimension}", path=where or "trace", message=words if quote and words else WORDS[dimension])


def _dimensions(verdict: CoherenceVerdict, *, quote: bool) -> dict[str, Any]:
    """Score, rationale and number of findings of each dimension in the judge's answer."""
    return {
        name: {"score": one.score, "rationale": one.rationale if quote else withheld(one.rationale), "findings": len(one.findings)}
        for name, one in ((name, verdict.of(name)) for name in DIMENSIONS)
    }


def _shown(asked: Asked) -> dict[str, Any]:
    """Part of the trace → characters that the judge was shown, and characters that it has."""
    return {part.place: {"shown": part.shown, "chars": part.chars} for part in asked.parts}


def _validators(validated: Validated) -> dict[str, Any]:
    """The validators' result in short."""
    return {
        "suite_version": validated.suite_version,
        "config_digest": validated.config_digest,
        "label": validated.label,
        "overall": validated.values.get("overall"),
        "findings": dict(validated.findings),
        "valid": validated.valid,
    }
