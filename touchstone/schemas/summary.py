"""The case of the suite `summary_loss`: one generated summary and its gold standard."""

from datetime import datetime
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, StrictBool

from touchstone.schemas.case import Case, Identifier, Text
from touchstone.schemas.gold import GoldStandardDatum

EXAMPLE: dict[str, Any] = {
    "kind": "summary",
    "id": "e-2",
    "gold_ref": "library-0417",
    "generated": "The library opened in March and lent 1,200 books in its first week.",
    "model": "writer-b",
    "structured_output_requested": False,
    "generated_at": "2026-01-15T10:30:00Z",
}


class SummaryCase(Case):
    """A generated summary to compare with its gold, which is included (`datum`) or looked up (`gold_ref`, an entry's `source_id`)."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})
    signature: ClassVar[frozenset[str]] = frozenset({"generated"})
    id_names: ClassVar[tuple[str, ...]] = ("model",)
    id_content: ClassVar[tuple[str, ...]] = ("datum", "gold_ref", "generated", "structured_output_requested")

    kind: Literal["summary"] = "summary"
    datum: GoldStandardDatum | None = None
    gold_ref: Identifier | None = None
    generated: Text = ""
    structured_output_requested: StrictBool = False
    generated_at: datetime | None = None
    model: Identifier | None = None

    @property
    def case_id(self) -> str | None:
        """The source document's id."""
        return self.datum.entry.source_id if self.datum is not None else self.gold_ref
