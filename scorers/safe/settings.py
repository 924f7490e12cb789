"""The settings of SAFE v0 (§6): what they are and how environment, document and defaults become one."""

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from touchstone.schemas.reports.safe import SafeV0Thresholds
from touchstone.scorers.base import ConfigError
from touchstone.scorers.settings import environment, merge, merged_with_origin, source_of

DOCUMENT_NAME = "safe.config.json"
ENV_PREFIX = "SAFE_V0_"
METRICS = ("CR", "AH", "AC")
ReportFormat = Literal["json", "console", "markdown", "junit"]


WEIGHT_MIN = 1e-6


def _check_weight(value: float) -> float:
    """Refuse a weight so small that products with it lose their digits, or vanish, and the composite with them."""
    if 0 < value < WEIGHT_MIN:
        raise PydanticCustomError("weight_too_small", "a weight is 0, or from 0.000001 to 1000000")
    return value


Weight = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False), AfterValidator(_check_weight)]


class Part(BaseModel):
    """A part of the settings: unknown keys are typing mistakes and are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, validate_by_name=True, validate_by_alias=True)


class Weights(Part):
    """How much each metric counts in the composite (§2.1)."""

    CR: Weight = 1.0
    AH: Weight = 1.0
    AC: Weight = 1.0


class Rules(Part):
    """Weights and thresholds of one archetype; what its entry leaves out is as for every other."""

    weights: Weights = Weights()
    thresholds: SafeV0Thresholds = SafeV0Thresholds()


class SafeSettings(Part):
    """Everything that can be set. `quote`: results may carry expected strings as they were written."""

    thresholds: SafeV0Thresholds = SafeV0Thresholds()
    weights: Weights = Weights()
    strict_ah: bool = Field(default=False, alias="strictAH")
    archetypes: dict[str, Rules] = Field(default_factory=dict)
    quote: bool = False
    report_formats: tuple[ReportFormat, ...] = Field(default=("console",), alias="reportFormats", min_length=1)
    report_dir: Path = Field(default=Path("reports"), alias="reportDir")
    data_dir: Path = Field(default=Path("data"), alias="dataDir")

    def rules_of(self, archetype: str) -> Rules:
        """Weights and thresholds that hold for a case of this archetype."""
        return self.archetypes.get(archetype) or Rules(weights=self.weights, thresholds=self.thresholds)


VARIABLES: dict[str, tuple[str, ...]] = {
    **{f"{ENV_PREFIX}{metric}_{bound.upper()}": ("thresholds", metric, bound) for metric in METRICS for bound in ("pass", "review")},
    **{f"{ENV_PREFIX}{metric}_WEIGHT": ("weights", metric) for metric in METRICS},
    f"{ENV_PREFIX}AH_STRICT": ("strictAH",),
    f"{ENV_PREFIX}QUOTE": ("quote",),
    f"{ENV_PREFIX}REPORT_FORMATS": ("reportFormats",),
    f"{ENV_PREFIX}REPORT_DIR": ("reportDir",),
    f"{ENV_PREFIX}DATA_DIR": ("dataDir",),
}


def resolve(
    env: Mapping[str, str],
    document: Mapping[str, Any] | None,
    overrides: Mapping[str, Any] | None = None,
    *,
    document_name: str = DOCUMENT_NAME,
) -> SafeSettings:
    """Merge overrides (the command line) over environment over document over defaults, and validate once.

    `overrides` has the form of the document: `{"strictAH": True}`. Raises `ConfigError` that names every variable, key
    and option at fault, and what is expected of it.
    """
    variables = environment(env, VARIABLES, ENV_PREFIX, lambda path: path == ("reportFormats",))
    merged, origin = merged_with_origin(((document or {}, document_name), *variables, (overrides or {}, "the command line")))
    _complete_archetypes(merged)
    try:
        settings = SafeSettings.model_validate(merged)
    except ValidationError as error:
        raise ConfigError(_describe(error, origin)) from None
    _check(settings, origin)
    return settings


def fingerprint(settings: SafeSettings) -> dict[str, Any]:
    """The part that changes scores and labels: not where reports go, their formats, or whether they quote."""
    return settings.model_dump(mode="json", by_alias=True, include={"thresholds", "weights", "strict_ah", "archetypes"})


def _complete_archetypes(merged: dict[str, Any]) -> None:
    """Fill what an archetype or a threshold leaves out from the general settings, so that validation sees whole ones."""
    general: dict[str, Any] = {"weights": {}, "thresholds": SafeV0Thresholds().model_dump()}
    merge(general, {part: merged[part] for part in general if part in merged})
    merged.update(general)
    archetypes = merged.get("archetypes")
    if isinstance(archetypes, Mapping):
        for name, entry in archetypes.items():
            if isinstance(entry, Mapping):
                whole: dict[str, Any] = {}
                merge(whole, general)
                merge(whole, entry)
                archetypes[name] = whole  # type: ignore[index]  # merge made it a dict


def _describe(error: ValidationError, origin: Mapping[str, str]) -> str:
    """One line for all that is wrong, each with where it was set. The values are left out."""
    parts = []
    for item in error.errors(include_input=False, include_url=False, include_context=False):
        dotted = ".".join(str(step) for step in item["loc"])
        what = "unknown key" if item["type"] == "extra_forbidden" else item["msg"]
        parts.append(f"{source_of(dotted, origin)}: {dotted}: {what}{_hint(item['loc']) if what == 'unknown key' else ''}")
    return "; ".join(parts)


def _hint(loc: tuple[int | str, ...]) -> str:
    """The keys that are known where an unknown one stands."""
    if len(loc) == 1:
        known = [info.alias or name for name, info in SafeSettings.model_fields.items()]
    elif loc[-2] in METRICS:
        known = ["pass", "review"]
    else:
        known = list(METRICS) if loc[-2] in {"thresholds", "weights"} else list(Rules.model_fields)
    near = difflib.get_close_matches(str(loc[-1]), known, n=1)
    return f", did you mean {near[0]}?" if near else f" (known: {', '.join(known)})"


def _check(settings: SafeSettings, origin: Mapping[str, str]) -> None:
    """Refuse thresholds out of order and weights that sum to nothing, for every archetype."""
    groups = {"": Rules(weights=settings.weights, thresholds=settings.thresholds)}
    groups |= {f"archetypes.{name}.": rules for name, rules in settings.archetypes.items()}
    for prefix, rules in groups.items():
        for metric in METRICS:
            threshold = getattr(rules.thresholds, metric)
            if threshold.review > threshold.pass_:
                dotted = f"{prefix}thresholds.{metric}"
                sources = sorted({source_of(f"{dotted}.{bound}", origin) for bound in ("pass", "review")})
                raise ConfigError(
                    f"{' and '.join(sources)}: {dotted}: review {threshold.review:g} is above pass {threshold.pass_:g}; lower review or raise pass"
                )
        if rules.weights.CR + rules.weights.AH + rules.weights.AC <= 0:
            raise ConfigError(f"{source_of(prefix + 'weights', origin)}: {prefix}weights: all are 0; give at least one metric a weight")
