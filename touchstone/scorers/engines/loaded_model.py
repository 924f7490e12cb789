"""The interface of a loaded model: what an engine needs of it, whichever library computes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from touchstone.scorers.engines.base import Floats
    from touchstone.scorers.engines.tokens import Rectangle, Words

#: Measured on two cores: a layer's results for 4,096 tokens stay in the caches (5 to 15 % quicker than 8,192), and padding is less.
CPU_BATCH_TOKENS = 4_096


class LoadedModel(Protocol):
    """A model in memory with its tokenizer: arrays of ids in, rows of numbers out.

    `window`: tokens that an input may have, special ones counted. `step`: lengths are padded to multiples of it. `batch_tokens`: padded tokens of a
    batch, unless the settings name a number.
    """

    words: Words
    window: int
    step: int
    batch_tokens: int

    def inputs(self, batch: Rectangle) -> Any:
        """The batch as `rows` takes it; called while another batch is computed."""
        ...

    def rows(self, inputs: Any) -> Floats:
        """One row per text or pair. Raises: `Unavailable` where the device is lost, else the library's own errors."""
        ...

    def is_out_of_memory(self, error: BaseException) -> bool:
        """True if the error says that memory is short."""
        ...

    def release(self) -> None:
        """Give cached memory back after such an error."""
        ...


class LoadedClassifier(LoadedModel, Protocol):
    """Its rows are the probabilities of `labels` (column → label)."""

    labels: Mapping[int, str]


class LoadedEncoder(LoadedModel, Protocol):
    """Its rows are vectors of length 1 with `dimensions` numbers. `prompt`: a text that the model expects before each input."""

    dimensions: int
    prompt: str
