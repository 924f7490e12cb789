"""The part that both engines share: a tokenizer and a batcher around a loaded model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from touchstone.scorers.engines.batcher import Batcher
from touchstone.scorers.engines.pending_calls import ItemFailed, Limits, Work
from touchstone.scorers.engines.tokens import Rectangle, Tokenizer, Tokens, rectangle

if TYPE_CHECKING:
    from touchstone.schemas.settings.engines import EngineSettings
    from touchstone.scorers.base import Reading
    from touchstone.scorers.engines.base import Floats
    from touchstone.scorers.engines.loaded_model import LoadedModel
    from touchstone.scorers.engines.tokens import Ids

ItemT = TypeVar("ItemT")

WARM_UP_TOKENS = 16


class BatchedEngine(Generic[ItemT]):
    """One loaded model. `engine`: its label in metrics; `name`: its name in results; `pair`: its inputs are pairs of texts."""

    def __init__(self, engine: str, loaded: LoadedModel, settings: EngineSettings, *, name: str, pair: bool) -> None:
        self._engine = engine
        self._name = name
        self._loaded = loaded
        self._template = loaded.words.template(pair=pair)
        self._before, self._between, self._after = (
            np.array(ids, dtype=np.int64) for ids in (self._template.before, self._template.between, self._template.after)
        )
        self._tokenizer = Tokenizer(loaded.words, settings.text_cache_items)
        limits = Limits(
            batch_tokens=settings.batch_tokens or loaded.batch_tokens,
            wait_s=settings.batch_wait_ms_max / 1000,
            look_ahead_items=settings.look_ahead_items,
            queue_items_max=settings.queue_items_max,
            step=loaded.step,
        )
        self._batcher: Batcher[ItemT, Any, Floats] = Batcher(
            engine, self._prepare, self._forward, limits, is_out_of_memory=loaded.is_out_of_memory, release=loaded.release
        )

    @property
    def model(self) -> str:
        """Name and content digest of the model."""
        return self._name

    def readings(self) -> Iterable[Reading]:
        """The engine's current readings."""
        yield from self._batcher.readings()
        yield from self._tokenizer.readings(self._engine)

    async def close(self) -> None:
        """Finish what is in flight, refuse what is new."""
        await self._batcher.close()

    def warm_up(self) -> None:
        """Run the model once, so that the first case does not pay for first-use initialisation."""
        padding = Tokens(-1, np.full(WARM_UP_TOKENS, self._tokenizer.pad_id, dtype=np.int64))
        for count in (1, 8):
            self._forward(self._prepare([self._whole(padding)] * count))

    def layout(self, items: Sequence[ItemT]) -> Rectangle:
        """The batch as the model's own tokenizer would lay it out."""
        raise NotImplementedError

    def _whole(self, text: Tokens) -> ItemT:
        """An input made of one text, for warming up."""
        raise NotImplementedError

    async def _tokens(self, texts: Sequence[str]) -> dict[str, Tokens]:
        """Each text's tokens; texts that are not cached are tokenized in a thread."""
        tokens, missing = self._tokenizer.cache.find(texts)
        if missing:
            tokens |= await asyncio.to_thread(self._tokenizer.tokens, missing)
        return tokens

    async def _rows(self, works: Sequence[Work[ItemT]]) -> Floats:
        """One row per item. Raises: Unavailable, ItemFailed."""
        rows: Floats = np.stack(await self._batcher.ask(works))
        if not np.isfinite(rows).all():
            raise ItemFailed("NotANumber")
        return rows

    def _rectangle(self, rows: Sequence[Sequence[Ids]], firsts: Sequence[int]) -> Rectangle:
        return rectangle(rows, firsts, self._template, pad_id=self._tokenizer.pad_id, step=self._loaded.step)

    def _prepare(self, items: Sequence[ItemT]) -> Any:
        return self._loaded.inputs(self.layout(items))

    def _forward(self, inputs: Any) -> Sequence[Floats]:
        return list(self._loaded.rows(inputs))
