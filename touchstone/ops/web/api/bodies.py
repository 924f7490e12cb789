"""Bodies of requests: annotations in the specification's shapes, feedback, search. An error names the field and never quotes it."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from touchstone.ops.web.api.calls import Refusal
from touchstone.schemas.annotation import PASS_MAX, Moment, Name, Said
from touchstone.schemas.faults import explain

Rating = Literal["up", "down"]
#: Annotations of one request.
ANNOTATIONS_MAX = 100


class Body(BaseModel):
    """A body of a request: unknown fields are refused, so that nobody believes that they were written."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, populate_by_name=True)
    #: pydantic's error type → the text for it.
    words: ClassVar[Mapping[str, str]] = {
        "tuple_type": "is not an array; write [ … ]",
        "model_type": "is not an object; write { … }",
        "model_attributes_type": "is not an object; write { … }",
        "extra_forbidden": "is not a field of this request; remove it",
    }


class AnnotationBody(Said, Body):
    """One annotation: a record of the specification's `annotations.json`, or of a trace's `annotations` array, or both in one.

    `reviewer`: by default the name of the token.
    """

    reviewer: Name | None = Field(None, validation_alias=AliasChoices("reviewerId", "reviewer"))
    at: Moment | None = Field(None, validation_alias=AliasChoices("annotatedAt", "annotated_at", "timestamp"))
    review_pass: int = Field(1, ge=1, le=PASS_MAX, validation_alias=AliasChoices("reviewPass", "review_pass"))
    trace_id: Name | None = Field(None, validation_alias=AliasChoices("traceId", "trace_id"))

    @model_validator(mode="after")
    def _says_something(self) -> "AnnotationBody":
        """Refuse an annotation without a word, which would hide the one before."""
        about = {"suite", "guideline", "queue", "arm"}
        if all(value is None for name, value in self.content().items() if name not in about):
            raise PydanticCustomError("says_nothing", "says nothing; give a verdict, notes, or another of its fields")
        return self


class FeedbackPart(Body):
    """Thumbs up or down."""

    rating: Rating
    timestamp: Moment | None = None


class PatchBody(Body):
    """What may be changed of a case: what people say of it, and nothing else."""

    annotations: tuple[AnnotationBody, ...] = Field((), max_length=ANNOTATIONS_MAX)
    feedback: FeedbackPart | None = None

    @model_validator(mode="before")
    @classmethod
    def _short_feedback(cls, value: Any) -> Any:
        """Read `"feedback": "up"` like `{"rating": "up"}`."""
        if isinstance(value, dict) and isinstance(value.get("feedback"), str):
            return {**value, "feedback": {"rating": value["feedback"]}}
        return value


class FeedbackBody(FeedbackPart):
    """Thumbs up or down for a trace or an event."""

    trace_id: Name | None = Field(None, validation_alias=AliasChoices("traceId", "trace_id"))
    event_id: Name | None = None

    @model_validator(mode="after")
    def _one_id(self) -> "FeedbackBody":
        """Refuse feedback for nothing, or for two things."""
        if (self.trace_id is None) == (self.event_id is None):
            raise PydanticCustomError("one_id", "needs either trace_id or event_id, and not both")
        return self

    @property
    def id(self) -> str:
        """The id that is rated."""
        return self.trace_id or self.event_id or ""


class SearchBody(Body):
    """A search in the texts of the kept cases. `filter`: parameters as of /api/cases."""

    words: ClassVar[Mapping[str, str]] = {**Body.words, "string_too_short": "has fewer than 2 characters", "string_pattern_mismatch": "is blank"}

    text: str = Field(min_length=2, max_length=256, pattern=r"\S")
    filter: dict[Annotated[str, Field(max_length=64)], str | list[str]] = Field(default_factory=dict, max_length=32)
    cursor: str | None = Field(None, max_length=4_000)


class ViewBody(Body):
    """A saved view: the query part of an address of /cases."""

    query: str = Field(max_length=4_000)


BodyModel = TypeVar("BodyModel", bound=Body)


def read_body(model: type[BodyModel], document: Any) -> BodyModel:
    """Validate a body. Raises `Refusal` (422) with the first fields at fault."""
    if not isinstance(document, dict):
        raise Refusal("the body is not a JSON object", 422)
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise Refusal(explain(error, model, model.words).replace("the case ", "the body "), 422) from None
