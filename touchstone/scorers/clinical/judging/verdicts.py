"""The form of the judge's answer: a score from 1 to 5, a rationale and findings for each of five dimensions (specification, Phase 2)."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field

from touchstone.schemas.result import Severity
from touchstone.scorers.judges.ask.verdict_fields import LOWER, RATIONALE_CHARS_MAX, WORDS_CHARS_MAX, VerdictPart, cut_text
from touchstone.scorers.reporting.findings import SEVERITIES

Dimension = Literal["medication_condition_alignment", "lab_value_plausibility", "narrative_coherence", "temporal_consistency", "demographic_appropriateness"]
DIMENSIONS: Final[tuple[Dimension, ...]] = get_args(Dimension)
#: Findings of one dimension that are kept: the gravest.
FINDINGS_MAX: Final = 20


def _score(value: Any) -> Any:
    """Read words for "no score" as null; refuse true and false."""
    if isinstance(value, bool):
        raise ValueError("write a whole number from 1 to 5, or null")  # noqa: TRY004  # pydantic takes ValueError for a fault of the value
    return None if isinstance(value, str) and value.strip().casefold() in {"", "n/a", "na", "none", "null", "not applicable"} else value


class JudgeFinding(VerdictPart):
    """One fault in the trace."""

    severity: Annotated[Severity, LOWER] = Field(description="critical: dangerous or impossible; major: wrong; minor: unusual; info: a remark")
    what: Annotated[str, cut_text(WORDS_CHARS_MAX)] = Field(description="the fault, in one sentence")
    where: Annotated[str, cut_text(WORDS_CHARS_MAX)] = Field("", description="where it shows: prompt, persona or the name of the document, then the element")


def _gravest(found: tuple[JudgeFinding, ...]) -> tuple[JudgeFinding, ...]:
    """As many as are kept, in their order. A critical one counts wherever the judge wrote it."""
    kept = sorted(range(len(found)), key=lambda index: SEVERITIES.index(found[index].severity))[:FINDINGS_MAX]
    return tuple(found[index] for index in sorted(kept))


class DimensionVerdict(VerdictPart):
    """One dimension."""

    rationale: Annotated[str, cut_text(RATIONALE_CHARS_MAX)] = Field(
        "", description="what the score rests on, in one to three sentences; written before the score"
    )
    findings: Annotated[tuple[JudgeFinding, ...], BeforeValidator(lambda value: () if value is None else value), AfterValidator(_gravest)] = Field(
        description="every fault of this dimension; empty where there is none"
    )
    score: Annotated[Annotated[int, Field(ge=1, le=5)] | None, BeforeValidator(_score)] = Field(
        description="1 to 5 by the rubric's anchors; null where the record holds nothing that this dimension is about"
    )


class CoherenceVerdict(VerdictPart):
    """The whole verdict. A dimension that does not apply has no score, and is there."""

    medication_condition_alignment: DimensionVerdict
    lab_value_plausibility: DimensionVerdict
    narrative_coherence: DimensionVerdict
    temporal_consistency: DimensionVerdict
    demographic_appropriateness: DimensionVerdict

    def of(self, dimension: Dimension) -> DimensionVerdict:
        """The verdict on one dimension."""
        found: DimensionVerdict = getattr(self, dimension)
        return found

    @property
    def scores(self) -> dict[Dimension, int]:
        """Dimension → score, of those that have one."""
        return {name: score for name in DIMENSIONS if (score := self.of(name).score) is not None}
