"""Scores from findings: checks, dimensions and overall, 0–100, with their label (specification, Scoring Approach).

A check starts at 100 and loses a penalty per finding, down to 0. A dimension is the mean of its checks; overall is the weighted mean of the dimensions
that exist, and names the missing ones (corrections, Clinical 5 and 7). If no rule was evaluated there is no score, and never a pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, Literal

from touchstone.schemas.result import Finding, Label, Severity
from touchstone.scorers.clinical.report import Report
from touchstone.scorers.reporting.findings import LABEL_BOUND
from touchstone.scorers.reporting.words import score_text

Dimension = Literal["format", "terminology", "clinical"]

PENALTIES: Final[Mapping[Severity, float]] = {"critical": 20.0, "major": 10.0, "minor": 2.0, "info": 0.0}
WEIGHTS: Final[Mapping[Dimension, float]] = {"format": 0.25, "terminology": 0.25, "clinical": 0.50}
#: Weights of the clinical judge's dimensions.
CLINICAL_WEIGHTS: Final[Mapping[str, float]] = {
    "medication_condition_alignment": 0.25,
    "lab_value_plausibility": 0.20,
    "narrative_coherence": 0.25,
    "temporal_consistency": 0.15,
    "demographic_appropriateness": 0.15,
}
PASS_MIN: Final = 80.0
WARN_MIN: Final = 60.0
WORST_FIRST: Final[tuple[Label, ...]] = ("Fail", "unscored", "Warn", "Review", "Pass")
#: In the details of a lowered overall score: the weighted mean that it would be by its parts alone.
WEIGHTED: Final = "overall_weighted"
#: Label → the highest overall score beside it, to the one decimal that people see.
OVERALL_MAX: Final[Mapping[Label, float]] = {"Pass": 100.0, "Warn": 79.9, "Review": 79.9, "Fail": 59.9}
#: Checks of the dimension Terminology; all others belong to Format.
TERMINOLOGY_CHECKS: Final = frozenset({"terminology"})
#: Group of rules → its check, so that a format with many groups is not scored more mildly than one with few. None: informs only, no score.
CHECK_OF_GROUP: Final[Mapping[str, str | None]] = {
    **dict.fromkeys(("json", "xml", "bundle", "references", "extensions", "narrative", "invariants", "canonicals", "texts", "definitions"), "structure"),
    "questionnaires": "structure",
    "primitives": "data_types",
    "bindings": "valuesets",
    "codings": "terminology",
    **dict.fromkeys(("internal", "must-support", "watermarks"), None),
    # C-CDA: recommendations, and rules of another release than the document's.
    **dict.fromkeys(("recommendations", "other-release"), None),
}
#: First parts of codes that name a format.
FORMATS: Final = frozenset({"fhir", "hl7v2", "ccda"})
_RATING_MIN, _RATING_MAX = 1.0, 5.0


@dataclass(frozen=True, slots=True)
class CheckScore:
    """One check of one document: its score, evaluated rules, and findings by severity."""

    name: str
    score: float
    rules_fired: int
    findings: Mapping[Severity, int]


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of one document; None if there is nothing to score. `components_missing` names the dimensions without a score."""

    format: float | None
    terminology: float | None
    clinical: float | None
    overall: float | None
    label: Label
    components_missing: tuple[Dimension, ...] = ()
    checks: tuple[CheckScore, ...] = field(default=())

    @property
    def values(self) -> dict[str, float]:
        """The scores that exist, as a Scorecard's values."""
        named = {"overall": self.overall, "format": self.format, "terminology": self.terminology, "clinical": self.clinical}
        return {name: score for name, score in named.items() if score is not None}


def check_score(counts: Mapping[Severity, int]) -> float:
    """Return 100 minus the penalties of the findings, at least 0."""
    return max(0.0, 100.0 - sum(PENALTIES[severity] * times for severity, times in counts.items())) if counts else 100.0


@lru_cache(maxsize=4_096)
def check_of(code: str) -> str | None:
    """Return the check of a finding's code, by its first part after the format's name (`fhir.primitives.date` → data_types)."""
    first, _, rest = code.partition(".")
    group = rest.partition(".")[0] if first in FORMATS and rest else first
    return CHECK_OF_GROUP.get(group, group)


def score_checks(report: Report) -> tuple[CheckScore, ...]:
    """Return the checks with evaluated rules or findings, by name."""
    fired: dict[str, int] = {}
    for group, times in report.rules_fired.items():
        name = CHECK_OF_GROUP.get(group, group)
        if name is not None and times > 0:
            fired[name] = fired.get(name, 0) + times
    found: dict[str, dict[Severity, int]] = {name: {} for name in fired}
    for (code, severity), times in report.counts().items():
        if (name := check_of(code)) is not None:
            counts = found.setdefault(name, {})
            counts[severity] = counts.get(severity, 0) + times
    return tuple([CheckScore(name, check_score(found[name]), fired.get(name, 0), found[name]) for name in sorted(found)])


def dimension_score(checks: Iterable[CheckScore]) -> float | None:
    """Return the mean of the checks' scores; None without a check."""
    scores = [check.score for check in checks]
    return sum(scores) / len(scores) if scores else None


def clinical_score(ratings: Mapping[str, float]) -> float | None:
    """Return the judge's ratings (1–5 per dimension of `CLINICAL_WEIGHTS`) as 0–100. Weights of missing ratings are left out."""
    known = {name: min(max(rating, _RATING_MIN), _RATING_MAX) for name, rating in ratings.items() if name in CLINICAL_WEIGHTS}
    weight = sum(CLINICAL_WEIGHTS[name] for name in known)
    if not known:
        return None
    return sum(CLINICAL_WEIGHTS[name] * (rating - _RATING_MIN) * 25.0 for name, rating in known.items()) / weight


def overall_score(format_score: float | None, terminology: float | None, clinical: float | None) -> tuple[float | None, tuple[Dimension, ...]]:
    """Return the weighted mean of the dimensions that exist, and the names of the missing ones."""
    named: dict[Dimension, float | None] = {"format": format_score, "terminology": terminology, "clinical": clinical}
    present = {name: score for name, score in named.items() if score is not None}
    missing = tuple(name for name in named if name not in present)
    if not present:
        return None, missing
    return sum(WEIGHTS[name] * score for name, score in present.items()) / sum(WEIGHTS[name] for name in present), missing


def label_of(score: float | None) -> Label:
    """Return Pass from 80, Warn from 60, else Fail; `unscored` without a score."""
    if score is None:
        return "unscored"
    if score >= PASS_MIN:
        return "Pass"
    return "Warn" if score >= WARN_MIN else "Fail"


def worst(*labels: Label) -> Label:
    """The worst of some labels."""
    return next(label for label in WORST_FIRST if label in labels)


def bounded_score(overall: float | None, label_max: Label) -> tuple[float | None, Label]:
    """Return the overall score and its label where findings allow `label_max` at best: the score is lowered until both agree.

    A label `unscored` has no overall score, because a document without a score may be worse than the others.
    """
    label = worst(label_of(overall), label_max)
    if overall is None or label == "unscored":
        return None, label
    return min(overall, OVERALL_MAX[label]), label


def bound_finding(overall: float | None, label_max: Label, why: str) -> tuple[Finding, ...]:
    """Return the finding that explains a lowered score; empty if the findings lower nothing. `why`: completes "because …"."""
    bounded, label = bounded_score(overall, label_max)
    if overall is None or label == label_of(overall):
        return ()
    is_bounded = "there is no overall score" if bounded is None else f"the overall score is at most {bounded:g}, as for every {label}"
    message = f"{is_bounded}, because {why}; the weighted mean is {score_text(overall)}"
    return (Finding(severity="info", code=LABEL_BOUND, path="overall", message=message),)


def is_validated(report: Report) -> bool:
    """Return True if any rule was evaluated; else the document was not validated, whatever the findings."""
    return any(times > 0 for times in report.rules_fired.values())


def has_critical(report: Report) -> bool:
    """Return True if there is a critical finding."""
    return any(finding.severity == "critical" for finding in report.findings) or any(severity == "critical" for _, severity in report.beyond)


def score_report(report: Report, *, validated: bool = True, label_max: Label = "Pass") -> Scores:
    """Return the scores of one document. `label_max`: the best label that its findings allow; Fail means that it cannot be read.

    A document that cannot be read scores 0 for its format (corrections, Clinical 7). If it can, and no rule was evaluated (or `validated` is False), there
    is no score, and the label is `unscored`.
    """
    checks = score_checks(report)
    validated = validated and is_validated(report)
    if label_max != "Fail" and not validated:
        return Scores(None, None, None, None, "unscored", tuple(WEIGHTS), checks)
    format_score = dimension_score(check for check in checks if check.name not in TERMINOLOGY_CHECKS) if label_max != "Fail" else 0.0
    terminology = dimension_score(check for check in checks if check.name in TERMINOLOGY_CHECKS) if validated else None
    if not validated:
        checks = tuple(replace(check, score=0.0) for check in checks)
    overall, missing = overall_score(format_score, terminology, None)
    overall, label = bounded_score(overall, label_max)
    return Scores(format_score, terminology, None, overall, label, missing, checks)
