"""The case of the suite `clinical`: a trace of one synthetic patient, generated in up to three formats."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field, FiniteFloat, Strict, StringConstraints
from pydantic_core import PydanticCustomError

from touchstone.schemas.base import Inbound
from touchstone.schemas.case import Case, Identifier, Text

#: Characters of one generated document: what a file may hold; the event's own bound is usually lower.
CONTENT_CHARS_MAX = 104_857_600
#: Documents of one format in one trace.
DOCUMENTS_MAX = 1_000
TIMINGS_MAX = 64

ClinicalFormat = Literal["fhir", "hl7v2", "ccda"]
#: In the order of the results.
CLINICAL_FORMATS: tuple[ClinicalFormat, ...] = ("fhir", "hl7v2", "ccda")

DocumentText = Annotated[str, StringConstraints(max_length=CONTENT_CHARS_MAX)]
#: A document as it was written, or, for FHIR, as the JSON object that it is; as bytes only from a file that is not UTF-8, which no event can carry.
Content = DocumentText | dict[str, Any] | Annotated[bytes, Strict(), Field(max_length=CONTENT_CHARS_MAX)]


def _bound_timing(value: Any) -> Any:
    """Refuse a huge map before its items are looked at: each would cost an error of its own."""
    if isinstance(value, dict) and len(value) > TIMINGS_MAX:
        raise PydanticCustomError("too_long", "a timing map has at most 64 entries")
    return value


class TraceOutput(Inbound):
    """What was generated in one format: a document, or several. Scores and findings in it are the producer's own and are not read."""

    content: Content | Annotated[tuple[Content, ...], Field(max_length=DOCUMENTS_MAX)] | None = None

    @property
    def documents(self) -> tuple[str | bytes | dict[str, Any], ...]:
        """The documents, in order."""
        if self.content is None:
            return ()
        return self.content if isinstance(self.content, tuple) else (self.content,)


class TraceOutputs(Inbound):
    """The outputs per format; each is optional."""

    fhir: TraceOutput | None = None
    hl7v2: TraceOutput | None = None
    ccda: TraceOutput | None = None

    def of(self, form: ClinicalFormat) -> TraceOutput | None:
        """The output in one format."""
        output: TraceOutput | None = getattr(self, form)
        return output


EXAMPLE: dict[str, Any] = {
    "kind": "trace",
    "id": "e-4",
    "traceId": "eval-2026-02-04-abc123",
    "timestamp": "2026-02-04T14:30:00Z",
    "source": "production",
    "prompt": "Create an empty record",
    "outputs": {
        "fhir": {"content": {"resourceType": "Patient", "id": "nobody"}},
        "hl7v2": {"content": "MSH|^~\\&|A|B|C|D|20260204143000+0000||ADT^A01|1|P|2.5.1"},
    },
    "timing": {"personaGeneration": 6482, "total": 18647},
}


class ProductionTrace(Case):
    """One generated patient: prompt, persona, the outputs per format and how long they took (specification, Production Trace Format).

    Keys are the specification's own, in camelCase. `annotations` and `feedback` are comments of people on the trace; they are kept
    by other parts and change no score. `timing`: step → milliseconds.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})
    signature: ClassVar[frozenset[str]] = frozenset({"traceId", "outputs"})
    # What people add later (annotations, feedback) is not content: the trace with it is the same event.
    id_names: ClassVar[tuple[str, ...]] = ("traceId",)
    id_content: ClassVar[tuple[str, ...]] = ("outputs",)

    kind: Literal["trace"] = "trace"
    trace_id: Identifier = Field(alias="traceId")
    prompt: Text | None = None
    test_case_id: Identifier | None = Field(None, alias="testCaseId")
    persona: dict[str, Any] | None = None
    outputs: TraceOutputs
    timing: Annotated[dict[Identifier, FiniteFloat], BeforeValidator(_bound_timing)] = Field(default_factory=dict)

    @property
    def case_id(self) -> str:
        """The trace's id."""
        return self.trace_id
