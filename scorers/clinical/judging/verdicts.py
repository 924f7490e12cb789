"""The form of the judge's answer: a score from 1 to 5, a rationale and findings for each of five dimensions (specification, Phase 2)."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from touchstone.schemas.result import Severity

Dimension = Literal["medication_condition_alignment", "lab_value_plausibility", "narrative_coherence", "temporal_consistency", "demographic_appropriateness"]
DIMENSIONS: Final[tuple[Dimension, ...]] = get_args(Dimension)
#: Bounds of an answer: what a model writes beyond them is cut, because a wordy verdict is still a verdict.
RATIONALE_CHARS_MAX: Final = 1_000
WORDS_CHARS_MAX: Final = 300
FINDINGS_MAX: Final = 20


def _bounded(chars_max: int) -> BeforeValidator:
    """Cut a text that is too long."""
    return BeforeValidator(lambda value: value[:chars_max] if isinstance(value, str) else value)


def _few(value: Any) -> Any:
    """Cut a list that is too long; null is an empty one."""
    return value[:FINDINGS_MAX] if isinstance(value, list) else [] if value is None else value


def _score(value: Any) -> Any:
    """Read the words that models write in place of null; true and false are no scores."""
    if isinstance(value, bool):
        raise ValueError("write a whole number from 1 to 5, or null")  # noqa: TRY004  # pydantic takes ValueError for a fault of the value
    return None if isinstance(value, str) and value.strip().casefold() in {"", "n/a", "na", "none", "null", "not applicable"} else value


def _lower(value: Any) -> Any:
    return value.strip().casefold() if isinstance(value, str) else value


class _Answered(BaseModel):
    """A part of an answer; what it holds beyond the form is passed over, and errors never quote it."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


class JudgeFinding(_Answered):
    """One fault that the judge sees."""

    severity: Annotated[Severity, BeforeValidator(_lower)] = Field(
        description="critical: dangerous or impossible; major: wrong; minor: unusual; info: a remark"
    )
    what: Annotated[str, _bounded(WORDS_CHARS_MAX)] = Field(description="the fault, in one sentence")
    where: Annotated[str, _bounded(WORDS_CHARS_MAX)] = Field("", description="where it shows: prompt, persona or the name of the document, then the element")


class DimensionVerdict(_Answered):
    """One dimension."""

    rationale: Annotated[str, _bounded(RATIONALE_CHARS_MAX)] = Field(
        "", description="what the score rests on, in one to three sentences; written before the score"
    )
    findings: Annotated[tuple[JudgeFinding, ...], BeforeValidator(_few)] = Field((), description="every fault of this dimension; empty where there is none")
    score: Annotated[Annotated[int, Field(ge=1, le=5)] | None, BeforeValidator(_score)] = Field(
        None, description="1 to 5 by the rubric's anchors; null where the record holds nothing that this dimension is about"
    )


class CoherenceVerdict(_Answered):
    """The whole verdict. A dimension that is left out counts as one that does not apply."""

    medication_condition_alignment: DimensionVerdict | None = None
    lab_value_plausibility: DimensionVerdict | None = None
    narrative_coherence: DimensionVerdict | None = None
    temporal_consistency: DimensionVerdict | None = None
    demographic_appropriateness: DimensionVerdict | None = None

    def of(self, dimension: Dimension) -> DimensionVerdict | None:
        """The verdict on one dimension."""
        found: DimensionVerdict | None = getattr(self, dimension)
        return found

    @property
    def scores(self) -> dict[Dimension, int]:
        """Dimension → score, of those that have one."""
        given = {name: self.of(name) for name in DIMENSIONS}
        return {name: one.score for name, one in given.items() if one is not None and one.score is not None}
