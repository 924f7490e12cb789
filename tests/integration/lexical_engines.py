"""Loss V3 with engines that need no model: words in common stand for entailment, hashed words for meaning. For worker processes of tests.

The suite `summary_lexical` has its entry point in a folder that a test makes. `LEXICAL_S`: seconds that a round takes.
"""

import asyncio
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np

from touchstone.scorers.base import Reading
from touchstone.scorers.engines.batcher_metrics import Counts
from touchstone.scorers.summary import SUITE as REAL
from touchstone.scorers.summary.golds import load_golds
from touchstone.scorers.summary.scorer import SummaryLossScorer

DIMENSIONS = 64


def words(text: str) -> list[str]:
    return [word.strip(".,;:").casefold() for word in text.split()]


class LexicalNli:
    model = "lexical@1"

    def __init__(self) -> None:
        self.pairs = 0

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Any:
        await asyncio.sleep(float(os.environ.get("LEXICAL_S", "0")))
        self.pairs += len(pairs)
        rows = []
        for premise, hypothesis in pairs:
            inside, asked = set(words(premise)), words(hypothesis)
            share = sum(word in inside for word in asked) / len(asked)
            rows.append((share, (1 - share) * 0.9, (1 - share) * 0.1))
        return np.array(rows, dtype=np.float32).reshape(-1, 3)


class LexicalEmbedder:
    model = "words@1"

    async def embed(self, texts: Sequence[str]) -> Any:
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in words(text):
                vectors[row, crc32(word.encode()) % DIMENSIONS] += 1
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)

    async def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


class LexicalEngines:
    def __init__(self) -> None:
        self.nli, self.embedder = LexicalNli(), LexicalEmbedder()

    def readings(self) -> Iterable[Reading]:
        counts = Counts("nli")
        counts.tokens = self.nli.pairs
        return list(counts.readings(depth=0, limit=65_536, budget=8_192, up=True))

    async def close(self) -> None:
        """Nothing to give back."""


def build(settings: Any) -> SummaryLossScorer:
    plain = settings.model_copy(update={"support": "nli"})  # a calibration belongs to a model
    return SummaryLossScorer(LexicalEngines(), plain, load_golds(plain.gold) if plain.gold else {})


SUITE = replace(REAL, name="summary_lexical", build=build)
