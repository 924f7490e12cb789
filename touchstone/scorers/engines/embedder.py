"""Sentence embeddings over a loaded encoder: `Embedder.embed` on the shared batcher."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from touchstone.scorers.base import Reading
from touchstone.scorers.engines.batched_engine import BatchedEngine
from touchstone.scorers.engines.pending_calls import Work
from touchstone.scorers.engines.tokens import Lru, Rectangle, Tokens

if TYPE_CHECKING:
    from touchstone.schemas.settings.engines import EngineSettings
    from touchstone.scorers.engines.base import Floats
    from touchstone.scorers.engines.loaded_model import LoadedEncoder


class Chunk(NamedTuple):
    """A part of a text that fits the model's window."""

    text: Tokens
    start: int
    stop: int


class EmbedderEngine(BatchedEngine[Chunk]):
    """`Embedder` over one encoder. `name`: its name in results."""

    def __init__(self, loaded: LoadedEncoder, settings: EngineSettings, *, name: str) -> None:
        super().__init__("embedder", loaded, settings, name=name, pair=False)
        self._prompt = loaded.prompt
        self._vectors: Lru[Floats] = Lru(settings.text_cache_items)
        self.dimensions = loaded.dimensions

    async def embed(self, texts: Sequence[str]) -> Floats:
        """One vector of length 1 per text, shape (n, dimensions); a long text's is the mean of its chunks', weighted by their tokens.

        Raises: Unavailable, ItemFailed.
        """
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        vectors, missing = self._vectors.find(texts)
        if missing:
            vectors |= self._vectors.keep(await self._embedded(missing))
        return np.stack([vectors[text] for text in texts])

    async def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without special tokens and without a prompt."""
        tokens = await self._tokens(list(texts))
        return [len(tokens[text]) for text in texts]

    def readings(self) -> Iterable[Reading]:
        """The engine's current readings."""
        yield from super().readings()
        yield Reading("engine_vectors_remembered", "counter", "texts whose vector was cached", self._vectors.hits, (("engine", self._engine),))

    def layout(self, items: Sequence[Chunk]) -> Rectangle:
        """The batch as the model's own tokenizer would lay it out."""
        rows = [(self._before, text.ids[start:stop], self._after) for text, start, stop in items]
        return self._rectangle(rows, [len(self._before)] * len(rows))

    def _whole(self, text: Tokens) -> Chunk:
        return Chunk(text, 0, len(text))

    async def _embedded(self, texts: Sequence[str]) -> dict[str, Floats]:
        # sentence-transformers strips a text before it reads it, so the same must be done here to get its vectors.
        prompted = {text: self._prompt + text.strip() for text in texts}
        tokens_of = await self._tokens(list(prompted.values()))
        works: list[Work[Chunk]] = []
        owners: list[str] = []
        for text in texts:
            tokens = tokens_of[prompted[text]]
            for start, stop in self._chunks(len(tokens)):
                works.append(Work((tokens.number, start), Chunk(tokens, start, stop), stop - start + self._template.specials))
                owners.append(text)
        rows = await self._rows(works)
        sums = {text: np.zeros(rows.shape[1], dtype=np.float32) for text in texts}
        for text, row, work in zip(owners, rows, works, strict=True):
            sums[text] += row * np.float32(max(1, work.item.stop - work.item.start))
        return {text: total / max(float(np.linalg.norm(total)), 1e-12) for text, total in sums.items()}

    def _chunks(self, length: int) -> list[tuple[int, int]]:
        """Spans of nearly equal size that fit the window; one, empty, for an empty text."""
        room = self._loaded.window - self._template.specials
        count = max(1, -(-length // room))
        edges = [round(index * length / count) for index in range(count + 1)]
        return list(itertools.pairwise(edges))
