"""The settings of SAFE v0 (§6), and how environment, document and defaults are merged."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from touchstone.schemas.reports.safe import SafeV0Thresholds
from touchstone.scorers.judges.ask.judge import OnBudget
from touchstone.scorers.judges.settings import JudgeSettings, Share, resolver
from touchstone.scorers.settings import Key, merged, variables

DOCUMENT_NAME = "safe.config.json"
ENV_PREFIX = "SAFE_V0_"
METRICS = ("CR", "AH", "AC")
ReportFormat = Literal["json", "console", "markdown", "junit", "html"]
WEIGHT_MIN = 1e-6


def _check_weight(value: float) -> float:
    """Refuse a weight so small that products with it underflow."""
    if 0 < value < WEIGHT_MIN:
        raise PydanticCustomError("weight_too_small", "a weight is 0, or from 0.000001 to 1000000")
    return value


def _in_order(thresholds: SafeV0Thresholds) -> SafeV0Thresholds:
    """Refuse a metric whose lower bound is above its upper bound."""
    faults: list[InitErrorDetails] = []
    for metric in METRICS:
        bounds = getattr(thresholds, metric)
        if bounds.review > bounds.pass_:
            what = f"review {bounds.review:g} is above pass {bounds.pass_:g}; lower review or raise pass"
            faults.append({"type": PydanticCustomError("out_of_order", "{what}", {"what": what}), "loc": (metric,), "input": None})
    if faults:
        raise ValidationError.from_exception_data("thresholds", faults)
    return thresholds


Weight = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False), AfterValidator(_check_weight)]
Thresholds = Annotated[SafeV0Thresholds, AfterValidator(_in_order)]


class Part(BaseModel):
    """A part of the settings: unknown keys are typing mistakes and are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, validate_by_name=True, validate_by_alias=True)


class Weights(Part):
    """How much each metric counts in the composite (§2.1)."""

    CR: Weight = 1.0
    AH: Weight = 1.0
    AC: Weight = 1.0

    @model_validator(mode="after")
    def _something_counts(self) -> Self:
        """Refuse weights that are all zero."""
        if self.CR + self.AH + self.AC <= 0:
            raise ValueError("all are 0; give at least one metric a weight")
        return self


class Rules(Part):
    """Weights and thresholds of one archetype; missing ones are taken from the general settings."""

    weights: Weights = Weights()
    thresholds: Thresholds = SafeV0Thresholds()


class SafeSettings(Part):
    """All settings. `quote`: results may contain expected strings as they were written, and a judge's own words.

    `ah_judge`: ask a judge whether follow-up questions blame or harm, which adds findings and changes no score. `ah_judge_sample_rate`: share of the
    cases with questions that it is asked about; `ah_judge_chars_max`: how much of the questions it sees;
    `on_budget`: what a worker does once the budget is spent.
    """

    thresholds: Thresholds = SafeV0Thresholds()
    weights: Weights = Weights()
    strict_ah: bool = Field(default=False, alias="strictAH")
    archetypes: dict[str, Rules] = Field(default_factory=dict)
    ah_judge: bool = Field(default=False, alias="ahJudge")
    ah_judge_sample_rate: Share = Field(default=1.0, alias="ahJudgeSampleRate")
    ah_judge_chars_max: int = Field(default=8_000, ge=100, le=200_000, alias="ahJudgeCharsMax")
    on_budget: OnBudget = Field(default="wait", alias="onBudget")
    judge: JudgeSettings = JudgeSettings()
    quote: bool = False
    report_formats: tuple[ReportFormat, ...] = Field(default=("console",), alias="reportFormats", min_length=1)
    report_dir: Path = Field(default=Path("reports"), alias="reportDir")
    data_dir: Path = Field(default=Path("data"), alias="dataDir")

    @model_validator(mode="before")
    @classmethod
    def _whole(cls, given: Any) -> Any:
        """Fill missing thresholds from the defaults, and missing parts of an archetype from the general settings."""
        if not isinstance(given, Mapping):
            return given
        general, _ = merged(
            [({"weights": {}, "thresholds": SafeV0Thresholds().model_dump()}, ""), ({part: given[part] for part in _GENERAL if part in given}, "")]
        )
        archetypes = given.get("archetypes", {})
        if isinstance(archetypes, Mapping):
            archetypes = {name: merged([(general, ""), (entry, "")])[0] if isinstance(entry, Mapping) else entry for name, entry in archetypes.items()}
        return {**given, **general, "archetypes": archetypes}

    def rules_of(self, archetype: str) -> Rules:
        """Weights and thresholds for cases of this archetype."""
        return self.archetypes.get(archetype) or Rules(weights=self.weights, thresholds=self.thresholds)


#: The parts that an archetype may set for itself.
_GENERAL = ("weights", "thresholds")
#: The specification's names (§6.1), and Touchstone's own in the same form.
VARIABLES: dict[str, Key] = {
    **{f"{ENV_PREFIX}{metric}_{bound.upper()}": ("thresholds", metric, bound) for metric in METRICS for bound in ("pass", "review")},
    **{f"{ENV_PREFIX}{metric}_WEIGHT": ("weights", metric) for metric in METRICS},
    f"{ENV_PREFIX}AH_STRICT": ("strictAH",),
    f"{ENV_PREFIX}AH_JUDGE": ("ahJudge",),
    f"{ENV_PREFIX}AH_JUDGE_SAMPLE_RATE": ("ahJudgeSampleRate",),
    f"{ENV_PREFIX}AH_JUDGE_CHARS_MAX": ("ahJudgeCharsMax",),
    f"{ENV_PREFIX}ON_BUDGET": ("onBudget",),
    **{name: ("judge", *key) for name, key in variables(JudgeSettings, f"{ENV_PREFIX}JUDGE_").items()},
    f"{ENV_PREFIX}QUOTE": ("quote",),
    f"{ENV_PREFIX}REPORT_FORMATS": ("reportFormats",),
    f"{ENV_PREFIX}REPORT_DIR": ("reportDir",),
    f"{ENV_PREFIX}DATA_DIR": ("dataDir",),
}


resolve = resolver(SafeSettings, ENV_PREFIX, DOCUMENT_NAME, VARIABLES, asks=lambda settings: settings.ah_judge)
