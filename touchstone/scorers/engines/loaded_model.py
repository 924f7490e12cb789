"""What an engine asks of a loaded model, whichever library computes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from touchstone.schemas.settings.engines import EngineSettings
    from touchstone.scorers.engines.base import Floats
    from touchstone.scorers.engines.pending_calls import Limits
    from touchstone.scorers.engines.tokens import Rectangle, Words


class Running(Protocol):
    """A model in memory, with its tokenizer's words: arrays of ids in, rows of numbers out.

    `window`: tokens that an input may have, special ones counted; `step`: lengths are padded to multiples of it.
    """

    words: Words
    window: int
    step: int

    def limits(self, settings: EngineSettings) -> Limits:
        """The bounds of a batcher before it."""
        ...

    def inputs(self, batch: Rectangle) -> Any:
        """The batch as `rows` takes it; called beside the computation of another batch."""
        ...

    def rows(self, inputs: Any) -> Floats:
        """One row per text or pair. Raises: `Unavailable` where the device is lost; else what the library raises."""
        ...

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Whether the memory was too small, by any of the names that the library gives it."""
        ...

    def release(self) -> None:
        """Give cached memory back after such an error."""
        ...


class RunningNli(Running, Protocol):
    """Its rows: the probabilities of `labels` (column → label)."""

    labels: Mapping[int, str]


class RunningEncoder(Running, Protocol):
    """Its rows: vectors of length 1 with so many `dimensions`. `prompt`: what the model wants before each text."""

    dimensions: int
    prompt: str
