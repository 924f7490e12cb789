"""The case of the suite `clinical_conformance` on its topic: the documents of one trace that validators outside Touchstone are asked about."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field

from touchstone.schemas.base import Inbound
from touchstone.schemas.case import Identifier
from touchstone.schemas.handing import TraceRequest
from touchstone.schemas.trace import DOCUMENTS_MAX, DocumentText

#: Formats that have a validator to ask.
ConformanceFormat = Literal["fhir", "ccda"]


class Asked(Inbound):
    """One document. `place`: where it lies in its trace. `content`: None where it is too large to be handed on; `chars`: how many characters it has."""

    place: Identifier
    format: ConformanceFormat
    content: DocumentText | None = None
    chars: Annotated[int, Field(ge=0)]


EXAMPLE: dict[str, Any] = {
    "kind": "conformance_request",
    "id": "e-4",
    "timestamp": "2026-02-04T14:30:00Z",
    "source": "production",
    "trace_id": "eval-2026-02-04-abc123",
    "documents": [{"place": "outputs.fhir", "format": "fhir", "content": '{"resourceType":"Patient","id":"nobody"}', "chars": 40}],
}


class ConformanceRequest(TraceRequest):
    """The FHIR and C-CDA documents of a trace, handed on by the workers of the validators."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})
    signature: ClassVar[frozenset[str]] = frozenset({"trace_id", "documents"})
    id_content: ClassVar[tuple[str, ...]] = ("documents",)

    kind: Literal["conformance_request"] = "conformance_request"
    documents: Annotated[tuple[Asked, ...], Field(max_length=2 * DOCUMENTS_MAX)]
