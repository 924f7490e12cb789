"""Sentence embeddings over a loaded encoder: `Embedder.embed` on the shared micro-batcher."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from touchstone.scorers.base import Reading
from touchstone.scorers.engines.batcher import Batcher, ItemFailed, Work
from touchstone.scorers.engines.tokens import Lru, Tokenizer, Tokens, rectangle

if TYPE_CHECKING:
    from touchstone.schemas.settings.engines import EngineSettings
    from touchstone.scorers.engines.base import Floats
    from touchstone.scorers.engines.loaded_model import RunningEncoder


class Chunk(NamedTuple):
    """A part of a text that fits the model's window."""

    text: Tokens
    start: int
    stop: int


class EmbedderEngine:
    """`Embedder` over one encoder. `name`: its name in results."""

    def __init__(self, running: RunningEncoder, settings: EngineSettings, *, name: str) -> None:
        self._name = name
        self._running = running
        self._template = running.words.template(pair=False)
        self._tokenizer = Tokenizer(running.words, settings.text_cache_items)
        self._vectors: Lru[Floats] = Lru(settings.text_cache_items)
        self._before, self._after = (np.array(ids, dtype=np.int64) for ids in (self._template.before, self._template.after))
        self._batcher: Batcher[Chunk, Any, Floats] = Batcher(
            "embedder", self._prepare, self._forward, running.limits(settings), is_out_of_memory=running.is_out_of_memory, release=running.release
        )
        self.dimensions = running.dimensions

    @property
    def model(self) -> str:
        """Name and content digest of the model."""
        return self._name

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
        """Tokens of each text, special ones and a prompt not counted."""
        known = await self._tokens(list(texts))
        return [len(known[text]) for text in texts]

    def readings(self) -> Iterable[Reading]:
        """The engine's current readings."""
        yield from self._batcher.readings()
        yield from self._tokenizer.readings("embedder")
        yield Reading("engine_vectors_remembered", "counter", "texts whose vector was cached", self._vectors.hits, (("engine", "embedder"),))

    async def close(self) -> None:
        """Finish what is in flight, refuse what is new."""
        await self._batcher.close()

    def warm_up(self) -> None:
        """Run the model once, so that the first case does not pay for first-use initialisation."""
        words = Tokens(-1, np.full(16, self._tokenizer.pad_id, dtype=np.int64))
        for count in (1, 8):
            self._forward(self._prepare([Chunk(words, 0, 16)] * count))

    async def _tokens(self, texts: Sequence[str]) -> dict[str, Tokens]:
        known, missing = self._tokenizer.known.find(texts)
        if missing:
            known |= await asyncio.to_thread(self._tokenizer.tokens, missing)
        return known

    async def _embedded(self, texts: Sequence[str]) -> dict[str, Floats]:
        # sentence-transformers strips a text before it reads it, so the same must be done here to get its vectors.
        asked = {text: self._running.prompt + text.strip() for text in texts}
        known = await self._tokens(list(asked.values()))
        works: list[Work[Chunk]] = []
        owners: list[str] = []
        for text, prompted in asked.items():
            tokens = known[prompted]
            for start, stop in self._chunks(len(tokens)):
                works.append(Work((tokens.number, start), Chunk(tokens, start, stop), stop - start + self._template.specials))
                owners.append(text)
        rows = np.stack(await self._batcher.ask(works))
        if not np.isfinite(rows).all():
            raise ItemFailed("NotANumber")
        sums = {text: np.zeros(rows.shape[1], dtype=np.float32) for text in texts}
        for text, row, work in zip(owners, rows, works, strict=True):
            sums[text] += row * np.float32(max(1, work.item.stop - work.item.start))
        return {text: total / max(float(np.linalg.norm(total)), 1e-12) for text, total in sums.items()}

    def _chunks(self, length: int) -> list[tuple[int, int]]:
        """Spans of nearly equal size that fit the window; one, empty, for an empty text."""
        room = self._running.window - self._template.specials
        count = max(1, -(-length // room))
        edges = [round(index * length / count) for index in range(count + 1)]
        return list(itertools.pairwise(edges))

    def _prepare(self, chunks: Sequence[Chunk]) -> Any:
        rows = [(self._before, text.ids[start:stop], self._after) for text, start, stop in chunks]
        firsts = [len(self._before)] * len(rows)
        return self._running.inputs(rectangle(rows, firsts, self._template, pad_id=self._tokenizer.pad_id, step=self._running.step))

    def _forward(self, inputs: Any) -> Sequence[Floats]:
        return list(self._running.rows(inputs))
