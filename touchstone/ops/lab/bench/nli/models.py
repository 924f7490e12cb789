"""The same NLI model twice: behind the engine, and in a folder that `sentence_transformers.CrossEncoder` loads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from touchstone.schemas.settings.engines import EngineSettings
from touchstone.scorers.base import Reading

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from touchstone.scorers.engines.base import Floats
    from touchstone.scorers.engines.nli import NliEngine

Pairs = Sequence[tuple[str, str]]


def quiet() -> None:
    """No progress bars and no advice from the libraries between the lines of a table."""
    from transformers.utils import logging

    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]


class Merged:
    """A folder with the whole model of some settings: weights in float32, an adapter merged in, the tokenizer beside them."""

    def __init__(self, settings: EngineSettings, folder: Path) -> None:
        from transformers import AutoTokenizer

        from touchstone.scorers.engines.catalogue import answering, locate
        from touchstone.scorers.engines.open_engines import open_nli

        # The name of the model that is used here: on a CPU, `default` may mean another.
        model = answering(settings)
        named = model.name if model is not None else settings.nli_model
        plain = settings.model_copy(update={"nli_model": named, "runtime": "torch", "dtype": "float32", "device": "cpu", "warm_up": False})
        engine: Any = open_nli(plain)
        engine._loaded._model.save_pretrained(folder)  # noqa: SLF001 -- exactly the weights of the engine
        # A fresh tokenizer: the engine's own does neither truncate nor pad. An adapter's base has it.
        AutoTokenizer.from_pretrained(locate(plain).base, local_files_only=True).save_pretrained(folder)
        self.folder = folder
        self.config = engine._loaded._model.config  # noqa: SLF001 -- same
        self.columns = engine._columns  # noqa: SLF001 -- same

    def cross_encoder(self, device: str, dtype: str) -> CrossEncoderContender:
        """The baseline on a device; `dtype`: float32, bfloat16 or float16."""
        return CrossEncoderContender(self, device, dtype)


class CrossEncoderContender:
    """`CrossEncoder.predict` as people call it, with its answers in Touchstone's order of columns."""

    def __init__(self, merged: Merged, device: str, dtype: str) -> None:
        import torch
        from sentence_transformers import CrossEncoder

        self._model: Any = CrossEncoder(str(merged.folder), device=device, local_files_only=True, model_kwargs={"dtype": getattr(torch, dtype)})
        self._columns = merged.columns
        self.dtype = dtype

    def predict(self, pairs: Pairs, *, batch_size: int = 32) -> Floats:
        """Probabilities of one call, shape (n, 3): entailment, neutral, contradiction."""
        scores = self._model.predict(list(pairs), batch_size=batch_size, apply_softmax=True, show_progress_bar=False)
        return np.stack([scores[:, each[0]] if each else np.zeros(len(scores), dtype=np.float32) for each in self._columns], axis=1).astype(np.float32)


@asynccontextmanager
async def opened(settings: EngineSettings) -> AsyncIterator[NliEngine]:
    """An engine of its own, with nothing remembered; closed at the end."""
    from touchstone.scorers.engines.open_engines import open_nli

    engine = open_nli(settings)
    engine.warm_up()
    try:
        yield engine
    finally:
        await engine.close()


async def entail_all(engine: NliEngine, events: Sequence[Pairs]) -> list[Floats]:
    """Submit the pairs of every event at once, as a perfect caller would."""
    return list(await asyncio.gather(*(engine.entail(pairs) for pairs in events)))


def counts(readings: Iterable[Reading], engine: str = "nli") -> dict[str, float]:
    """The counts of an engine so far: counters by name, histograms by their number and sum."""
    found: dict[str, float] = {}
    for each in readings:
        if ("engine", engine) not in each.labels or each.kind == "gauge":
            continue
        reason = dict(each.labels).get("reason")
        name = each.name.removeprefix("engine_") + (f".{reason}" if reason else "")
        found[name] = each.value
        if each.buckets:
            found[f"{name}.count"] = each.buckets[-1][1]
    return found


def difference(after: dict[str, float], before: dict[str, float]) -> dict[str, float]:
    """The counts in between."""
    return {name: value - before.get(name, 0.0) for name, value in after.items()}
