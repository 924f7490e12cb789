"""What a reviewer says of a case, in the specification's two shapes: a record of `annotations.json`, and an entry of a trace's own `annotations`."""

from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

from pydantic import AliasChoices, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.types import StringConstraints
from pydantic_core import PydanticCustomError

NOTES_CHARS_MAX: Final = 20_000
ISSUES_MAX: Final = 50
MARKS_MAX: Final = 100
PASS_MAX: Final = 1_000_000
OFFSET_MAX: Final = 1_000_000_000
Name = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f]+$")]
Issue = Annotated[str, StringConstraints(min_length=1, max_length=256)]
Offset = Annotated[int, Field(ge=0, le=OFFSET_MAX)]
#: How a case came into a queue: by the queue's filter, or by chance. Rates can be estimated from those by chance alone.
Arm = Literal["chosen", "random"]


def _in_utc(value: Any) -> datetime:
    """A moment in ISO 8601. Without an offset it counts as UTC: the specification's viewer writes such. A number is none: nobody knows its unit."""
    try:
        read = datetime.fromisoformat(value)
        return read.astimezone(UTC) if read.tzinfo is not None else read.replace(tzinfo=UTC)
    except (ValueError, TypeError, OverflowError):
        raise PydanticCustomError("moment", "is no date and time as in 2026-01-31T12:00:00Z") from None


Moment = Annotated[AwareDatetime, BeforeValidator(_in_utc, json_schema_input_type=str)]


#: False says no more than nothing: answers of the API have it, and clients send them back.
Flag = Annotated[Literal[True] | None, BeforeValidator(lambda value: None if value is False else value, json_schema_input_type=bool | None)]


class Mark(BaseModel):
    """A place that a reviewer marked. `field`: the path of the text within the event; `start`, `end`: in characters of it; `digest`: of that text.

    It quotes nothing: with the digest, whoever has the text knows whether it is still the same.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    field: Name
    start: Offset
    end: Offset
    digest: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16,64}$")]

    @model_validator(mode="after")
    def _spans(self) -> "Mark":
        if self.end <= self.start:
            raise PydanticCustomError("span", "ends before it begins")
        return self


class Said(BaseModel):
    """What an annotation says. Fields that there are not are refused, so that nobody believes that they were kept.

    `failure_mode`: the category that a person gave it, null while it has none. `marks`: places in the case. `suite`: whose result was judged, null for the
    case as a whole. `guideline`: the version of the text that says what passes, as `NAME@NUMBER`. `queue`, `arm`: of the review that it was written in.
    `settled`: the verdict that counts after reviewers disagreed. `withdrawn`: the reviewer took back what was said before, and says nothing.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, populate_by_name=True)

    verdict: Literal["pass", "fail"] | None = None
    notes: str | None = Field(None, max_length=NOTES_CHARS_MAX, pattern=r"^[^\x00]*$")
    failure_mode: Name | None = Field(None, validation_alias=AliasChoices("failureMode", "failure_mode"))
    severity_tag: Name | None = Field(None, validation_alias=AliasChoices("severityTag", "severity_tag"))
    quality_rating: Annotated[int, Field(ge=1, le=5)] | Name | None = Field(None, validation_alias=AliasChoices("qualityRating", "quality_rating"))
    common_issues: tuple[Issue, ...] | None = Field(None, max_length=ISSUES_MAX, validation_alias=AliasChoices("commonIssues", "common_issues"))
    marks: tuple[Mark, ...] | None = Field(None, max_length=MARKS_MAX)
    suite: Name | None = None
    guideline: Name | None = None
    queue: Name | None = None
    arm: Arm | None = None
    settled: Flag = None
    withdrawn: Flag = None

    def content(self) -> dict[str, Any]:
        """What the reviewer says, in the specification's names. What the specification does not have is there only where it was said."""
        return {
            "verdict": self.verdict,
            "notes": self.notes,
            "failureMode": self.failure_mode,
            "severityTag": self.severity_tag,
            "qualityRating": self.quality_rating,
            "commonIssues": list(self.common_issues) if self.common_issues is not None else None,
        } | self.model_dump(mode="json", include={"marks", "suite", "guideline", "queue", "arm", "settled", "withdrawn"}, exclude_none=True)


class AnnotationRecord(Said):
    """One annotation of a trace. `review_pass`: the cycle of review that it belongs to."""

    trace_id: Name = Field(validation_alias=AliasChoices("traceId", "trace_id"))
    reviewer: Name = Field(validation_alias=AliasChoices("reviewer", "reviewerId"))
    at: Moment = Field(validation_alias=AliasChoices("timestamp", "annotatedAt", "annotated_at"))
    review_pass: int = Field(1, ge=1, le=PASS_MAX, validation_alias=AliasChoices("reviewPass", "review_pass"))

    def record(self) -> dict[str, Any]:
        """The record of `annotations.json`; what that shape does not have, only where there is any."""
        said = self.content()
        own = {name: said.pop(name) for name in ("verdict", "notes", "failureMode", "severityTag")}
        return {
            "traceId": self.trace_id,
            **own,
            "reviewer": self.reviewer,
            "timestamp": self.at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
            "reviewPass": self.review_pass,
            **{name: value for name, value in said.items() if value is not None},
        }
