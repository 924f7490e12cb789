"""The case of the suite `clinical_judge` on its topic: what a judge is to read of one trace, and what the validators say of that trace."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, FiniteFloat

from touchstone.schemas.base import Inbound
from touchstone.schemas.case import Identifier, Text
from touchstone.schemas.handing import TraceRequest
from touchstone.schemas.result import Label, Severity

#: Parts of one trace that a judge reads.
PARTS_MAX = 1_000
#: Values of the validators that travel with a request.
VALUES_MAX = 64


class Extract(Inbound):
    """One part of a trace, as far as it is shown. `place`: where it lies. `chars`: what the whole of it has; `shown`: how many of these are in `text`."""

    place: Identifier
    text: Text
    shown: Annotated[int, Field(ge=0)]
    chars: Annotated[int, Field(ge=0)]


class Asked(Inbound):
    """What the judge reads: the request for the patient, the persona, and each generated document; bounded, with what was cut said in the text itself."""

    prompt: Extract | None = None
    persona: Extract | None = None
    outputs: Annotated[tuple[Extract, ...], Field(max_length=PARTS_MAX)] = ()

    @property
    def parts(self) -> tuple[Extract, ...]:
        """All of them, in order."""
        return tuple(part for part in (self.prompt, self.persona) if part is not None) + self.outputs


class Validated(Inbound):
    """What the validators say of the trace: their values (0–100), their label, and how many findings of each severity they made.

    `label_max`: the best label that its documents allow whatever a judge says. `valid`: whether every document keeps its standard; None: not known.
    """

    suite_version: Identifier
    config_digest: Identifier
    label: Label
    label_max: Label = "Pass"
    values: Annotated[dict[Identifier, FiniteFloat], Field(max_length=VALUES_MAX)]
    findings: dict[Severity, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    valid: bool | None = None


EXAMPLE: dict[str, Any] = {
    "kind": "judge_request",
    "id": "e-4",
    "timestamp": "2026-02-04T14:30:00Z",
    "source": "production",
    "trace_id": "eval-2026-02-04-abc123",
    "asked": {
        "prompt": {"place": "prompt", "text": "Create an empty record", "shown": 22, "chars": 22},
        "outputs": [{"place": "outputs.fhir", "text": '{"resourceType":"Patient","id":"nobody"}', "shown": 40, "chars": 40}],
    },
    "validated": {
        "suite_version": "1.0",
        "config_digest": "db679b75c764251c",
        "label": "Warn",
        "label_max": "Warn",
        "values": {"overall": 95.0, "format": 95.0, "terminology": 95.0},
        "findings": {"major": 1},
        "valid": False,
    },
}


class JudgeRequest(TraceRequest):
    """A trace that the validators have let through to the judge. Its `id` is that of the trace's event, so both results are of the same event."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})
    signature: ClassVar[frozenset[str]] = frozenset({"asked", "validated"})
    id_content: ClassVar[tuple[str, ...]] = ("asked",)

    kind: Literal["judge_request"] = "judge_request"
    asked: Asked
    validated: Validated
