"""The interfaces of the engines. Importing them loads no model library, so a scorer can be typed and tested without one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from touchstone.scorers.base import Reading

    Floats = NDArray[np.float32]

#: Columns of `Nli.entail`'s rows, in whatever order the model's own head has them.
ENTAILMENT, NEUTRAL, CONTRADICTION = 0, 1, 2


class TextTooLong(ValueError):
    """A text does not fit the model and cannot be cut without changing its meaning; `tokens` and `tokens_max` say by how much."""

    def __init__(self, tokens: int, tokens_max: int) -> None:
        super().__init__(f"a hypothesis of {tokens} tokens; the model takes {tokens_max}")
        self.tokens = tokens
        self.tokens_max = tokens_max


class Nli(Protocol):
    """Natural language inference, batched over every case in flight."""

    @property
    def model(self) -> str:
        """Name and content digest of the model, for results: two models never share one."""
        ...

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """Probabilities for (premise, hypothesis) pairs, shape (n, 3): entailment, neutral, contradiction; rows sum to 1.

        A premise longer than the model's window is split into overlapping chunks, and the chunk with the highest entailment counts.
        Raises `TextTooLong` for a hypothesis that does not fit, `Unavailable` if the engine is down or closed. A pair on which
        the model fails raises for the calls that contain it and for no others.
        """
        ...


class Embedder(Protocol):
    """Sentence embeddings."""

    @property
    def model(self) -> str:
        """Name and content digest of the model."""
        ...

    async def embed(self, texts: Sequence[str]) -> Floats:
        """One vector of length 1 per text, shape (n, dimensions). A longer text than the model's window is embedded in chunks, averaged by tokens."""
        ...

    async def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text by this model's tokenizer, special tokens not counted."""
        ...


class Engines(Protocol):
    """The handles of one process: opened once, shared by all of its cases."""

    @property
    def nli(self) -> Nli:
        """The inference engine."""
        ...

    @property
    def embedder(self) -> Embedder:
        """The embedding engine."""
        ...

    def readings(self) -> Iterable[Reading]:
        """The engines' current readings, for metrics."""
        ...

    async def close(self) -> None:
        """Finish what is in flight, refuse what is new, end the threads."""
        ...
