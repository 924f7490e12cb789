"""What a reviewer says of a case, in the specification's two shapes: a record of `annotations.json`, and an entry of a trace's own `annotations`."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.types import StringConstraints

NOTES_CHARS_MAX = 20_000
ISSUES_MAX = 50
PASS_MAX = 1_000_000
Name = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f]+$")]
Issue = Annotated[str, StringConstraints(min_length=1, max_length=256)]


def _in_utc(value: Any) -> Any:
    """A time without an offset counts as UTC: the specification's viewer writes such."""
    if isinstance(value, str):
        try:
            read = datetime.fromisoformat(value)
        except ValueError:
            return value
        return read if read.tzinfo is not None else read.replace(tzinfo=UTC)
    return value


Moment = Annotated[AwareDatetime, BeforeValidator(_in_utc)]


class AnnotationRecord(BaseModel):
    """One annotation. `failure_mode`: the category that a person gave it, null while it has none; `review_pass`: the cycle of review it belongs to.

    Fields that the specification does not have are refused, so that nobody believes that they were kept.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, populate_by_name=True)

    trace_id: Name = Field(validation_alias=AliasChoices("traceId", "trace_id"))
    reviewer: Name = Field(validation_alias=AliasChoices("reviewer", "reviewerId"))
    at: Moment = Field(validation_alias=AliasChoices("timestamp", "annotatedAt", "annotated_at"))
    review_pass: int = Field(1, ge=1, le=PASS_MAX, validation_alias=AliasChoices("reviewPass", "review_pass"))
    verdict: Literal["pass", "fail"] | None = None
    notes: str | None = Field(None, max_length=NOTES_CHARS_MAX, pattern=r"^[^\x00]*$")
    failure_mode: Name | None = Field(None, validation_alias=AliasChoices("failureMode", "failure_mode"))
    severity_tag: Name | None = Field(None, validation_alias=AliasChoices("severityTag", "severity_tag"))
    quality_rating: Annotated[int, Field(ge=1, le=5)] | Name | None = Field(None, validation_alias=AliasChoices("qualityRating", "quality_rating"))
    common_issues: tuple[Issue, ...] | None = Field(None, max_length=ISSUES_MAX, validation_alias=AliasChoices("commonIssues", "common_issues"))

    def content(self) -> dict[str, Any]:
        """What the reviewer says, in the specification's names."""
        return {
            "verdict": self.verdict,
            "notes": self.notes,
            "failureMode": self.failure_mode,
            "severityTag": self.severity_tag,
            "qualityRating": self.quality_rating,
            "commonIssues": list(self.common_issues) if self.common_issues is not None else None,
        }

    def record(self) -> dict[str, Any]:
        """The record of `annotations.json`; rating and issues, which are of the other shape, only where there are any."""
        said = self.content()
        extra = {name: said.pop(name) for name in ("qualityRating", "commonIssues")}
        return {
            "traceId": self.trace_id,
            **said,
            "reviewer": self.reviewer,
            "timestamp": self.at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
            "reviewPass": self.review_pass,
            **{name: value for name, value in extra.items() if value is not None},
        }
