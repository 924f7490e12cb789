"""Cases: the input that suites score, discriminated by `kind`."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, TypeVar
from unicodedata import category

from pydantic import AfterValidator, BeforeValidator, ConfigDict, FailFast, Field, StringConstraints, ValidationError
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from touchstone.schemas.base import Inbound

#: Bounds on what one event may carry. An event past a bound is a dead letter, never a slow worker.
IDENTIFIER_CHARS_MAX = 256
TEXT_CHARS_MAX = 1_000_000
EXPECTATIONS_MAX = 1_000
OUTPUT_ITEMS_MAX = 10_000
CORRELATION_ITEMS_MAX = 64

#: Every kind the specifications define; a user's suite may add more.
SPECIFIED_KINDS = frozenset({"safe", "summary", "trace", "selftest"})

# Identifiers travel into results, headers, file names and logs, so control characters and direction overrides are
# refused here, once.
Identifier = Annotated[str, StringConstraints(min_length=1, max_length=IDENTIFIER_CHARS_MAX, pattern=r"^[^\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]+$")]
#: Unicode categories of invisible characters: blanks, separators, control and format characters.
_UNSEEN = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})
Text = Annotated[str, StringConstraints(max_length=TEXT_CHARS_MAX)]


class TextObject(TypedDict):
    """A text as an object; whatever else it holds is not read."""

    text: Text


def _reject_blank(values: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse an expectation without a visible character: as a substring it would match every output. One call a list: one a string would cost more."""
    for index, value in enumerate(values):
        # The first character decides for nearly every expectation.
        if not value[:1].isalnum() and all(category(character) in _UNSEEN for character in value):
            blank = PydanticCustomError("blank_expectation", "an expected string is empty or blank")
            raise ValidationError.from_exception_data("expectations", [{"type": blank, "loc": (index,), "input": value}], hide_input=True)
    return values


def _text_of(value: Any) -> Any:
    """Read `{text: …}` as its text; anything else is left for the string validator to accept or refuse."""
    return value["text"] if isinstance(value, dict) and "text" in value else value


def _bound_mapping(value: Any) -> Any:
    """Refuse a huge map before its items are looked at: each would cost an error of its own."""
    if isinstance(value, dict) and len(value) > CORRELATION_ITEMS_MAX:
        raise PydanticCustomError("too_long", "a correlation map has at most 64 entries")
    return value


#: What a producer may write: numbers are read as text.
WrittenCorrelation = Annotated[dict[Identifier, Annotated[str, Field(max_length=1024)] | int | float], Field(max_length=CORRELATION_ITEMS_MAX)]
TextItem = Annotated[Text, BeforeValidator(_text_of, json_schema_input_type=Text | TextObject)]
# FailFast: an array of a million wrong items costs one error, not a million.
ExpectedList = Annotated[tuple[Text, ...], FailFast(), Field(max_length=EXPECTATIONS_MAX), AfterValidator(_reject_blank)]
TextList = Annotated[tuple[TextItem, ...], FailFast(), Field(max_length=OUTPUT_ITEMS_MAX)]


class Case(Inbound):
    """One event to score; the fields that every kind shares."""

    #: Keys that only this kind has: how a record without `kind` is recognised.
    signature: ClassVar[frozenset[str]] = frozenset()
    #: What the id of an event without one is made of: fields that name it, and fields that are its content (none: all but the common ones).
    id_names: ClassVar[tuple[str, ...]] = ()
    id_content: ClassVar[tuple[str, ...]] = ()
    #: What such an id begins with; the kind, unless another word was used before the kind had its name.
    id_prefix: ClassVar[str | None] = None
    #: pydantic's error type → the text for it, where this kind has a better one than `schemas.faults`.
    words: ClassVar[Mapping[str, str]] = {}

    kind: str
    id: Identifier | None = None
    timestamp: datetime | None = None
    source: Identifier | None = None
    correlation: Annotated[
        dict[Identifier, Annotated[str, Field(max_length=1024, coerce_numbers_to_str=True)]],
        BeforeValidator(_bound_mapping, json_schema_input_type=WrittenCorrelation),
    ] = Field(default_factory=dict)

    @property
    def case_id(self) -> str | None:
        """The producer's own name for the case, where the kind has one."""
        return None


CaseModel = TypeVar("CaseModel", bound=Case)
#: Nulls are looked for this deep; every field of every kind lies above it.
NULL_DEPTH = 8


def validate_case(model: type[CaseModel], document: dict[str, Any]) -> CaseModel:
    """Validate one document. A null where a field may be absent counts as absent; many producers write it so.

    Raises pydantic's `ValidationError`. The second attempt is made only after a failure, so that the usual event costs
    nothing extra.
    """
    try:
        return model.model_validate(document)
    except ValidationError:
        stripped = _without_nulls(document, NULL_DEPTH)
        if stripped == document:
            raise
        return model.model_validate(stripped)


def _without_nulls(value: Any, depth: int) -> Any:
    """The same value without the object members that are null, down to a depth. Array items stay, because their place counts."""
    if isinstance(value, dict) and depth:
        return {key: _without_nulls(item, depth - 1) for key, item in value.items() if item is not None}
    return value


class SignalExpectations(Inbound):
    """SAFE v0 §1.1: signals that must be found."""

    must_find_signals: ExpectedList = ()


class FollowupExpectations(Inbound):
    """SAFE v0 §1.2: terms that must not be used."""

    forbidden_terms: ExpectedList = ()


class SummaryExpectations(Inbound):
    """SAFE v0 §1.3: phrases that must be there."""

    must_contain_phrases: ExpectedList = ()


class SafeExpectations(Inbound):
    """What SAFE v0 expects of one generation; each part is optional."""

    signal_generation: SignalExpectations = SignalExpectations()
    followup_questions: FollowupExpectations = FollowupExpectations()
    event_summary: SummaryExpectations = SummaryExpectations()


class SafeOutput(Inbound):
    """What the generator wrote; a signal or question may be a string or `{text: …}`."""

    signals: TextList = ()
    summary: Text = ""
    followup_questions: TextList = ()


SAFE_EXAMPLE: dict[str, Any] = {
    "kind": "safe",
    "id": "e-1",
    "timestamp": "2026-01-15T10:30:00Z",
    "test_id": "I25-BATCH1-001",
    "archetype": "Process_Auditor",
    "concern_id": "I25",
    "batch_id": "I25_batch_1",
    "batch_size": 12,
    "expectations": {
        "signal_generation": {"must_find_signals": ["waited over 24 hours"]},
        "followup_questions": {"forbidden_terms": ["policy"]},
        "event_summary": {"must_contain_phrases": ["second queue"]},
    },
    "output": {"signals": ["waited over 24 hours", {"text": "no ticket"}], "summary": "It waited in a second queue.", "followup_questions": ["Since when?"]},
    "correlation": {"run": "42"},
}


class SafeCase(Case):
    """A SAFE v0 test case with the output to score (one line of a batch file, or one event)."""

    model_config = ConfigDict(json_schema_extra={"examples": [SAFE_EXAMPLE]})
    signature: ClassVar[frozenset[str]] = frozenset({"expectations", "output"})
    id_names: ClassVar[tuple[str, ...]] = ("concern_id", "batch_id", "test_id")
    id_content: ClassVar[tuple[str, ...]] = ("archetype", "expectations", "output")
    id_prefix: ClassVar[str | None] = "case"

    kind: Literal["safe"] = "safe"
    test_id: Identifier
    archetype: Identifier = "unspecified"
    concern_id: Identifier
    batch_id: Identifier
    batch_size: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    expectations: SafeExpectations = SafeExpectations()
    output: SafeOutput = SafeOutput()

    @property
    def case_id(self) -> str:
        """The test id."""
        return self.test_id
