"""The interface of a system under test: asked over HTTP, or a directory of earlier outputs."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from touchstone.ops.evaluation.items import Item
from touchstone.schemas.trace import ClinicalFormat

Content = str | bytes | dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: a persona, or the content of a document. `attempts`: how many requests it took."""

    value: Any
    attempts: int = 1


class StepFailed(Exception):
    """The system returned nothing usable. `code`: a stable short name; the exception never contains text of the answer."""

    def __init__(self, code: str, attempts: int = 1) -> None:
        super().__init__(code)
        self.code = code
        self.attempts = attempts


class System(Protocol):
    """Generates personas and documents. Raises `StepFailed`."""

    @property
    def where(self) -> str:
        """Host or directory, without credentials."""
        ...

    async def persona(self, item: Item) -> Answer:
        """The persona of a prompt, an object; None if the outputs were kept without it."""
        ...

    async def document(self, item: Item, persona: Mapping[str, Any] | None, form: ClinicalFormat) -> Answer:
        """The content of one format."""
        ...

    def made_at(self, item: Item) -> datetime | None:
        """When the outputs were made; None: now."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...
