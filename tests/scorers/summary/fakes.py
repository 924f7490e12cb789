"""Engines whose answers are written in the test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from touchstone.schemas.gold import GoldStandardDatum
from touchstone.schemas.summary import SummaryCase
from touchstone.scorers.base import Reading
from touchstone.scorers.summary.components.support import MEAN_WITH_WORDS
from touchstone.scorers.summary.scorer import SummaryLossScorer
from touchstone.scorers.summary.settings import resolve

if TYPE_CHECKING:
    from touchstone.scorers.engines.base import Floats

Answer = Callable[[str, str], tuple[float, float]]


class TableNli:
    """Entailment and contradiction by (premise, hypothesis) of whole sentences: a premise of several has the greatest of its sentences'."""

    model = "table-nli@1"

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.calls: list[list[tuple[str, str]]] = []
        self.raises: Exception | None = None

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        self.calls.append(list(pairs))
        await asyncio.sleep(0)
        if self.raises is not None:
            raise self.raises
        rows = []
        for premise, hypothesis in pairs:
            e, c = self.answer(premise, hypothesis)
            rows.append((e, 1 - e - c, c))
        return np.asarray(rows, dtype=np.float32).reshape(-1, 3)


class WordEmbedder:
    """A vector per text: counts of its words in a few buckets, so that equal texts have equal vectors; or as a table says."""

    model = "table-embedder@1"

    def __init__(self, table: dict[str, Sequence[float]] | None = None) -> None:
        self.table = table or {}
        self.calls: list[list[str]] = []

    async def embed(self, texts: Sequence[str]) -> Floats:
        self.calls.append(list(texts))
        return np.stack([self._vector(text) for text in texts])

    async def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def _vector(self, text: str) -> Floats:
        vector = np.zeros(32, dtype=np.float32)
        if text in self.table:
            vector[: len(self.table[text])] = self.table[text]
        else:
            for word in text.casefold().split():
                vector[sum(map(ord, word)) % 32] += 1
        return vector / (np.linalg.norm(vector) or 1)


class TableEngines:
    """Both, and whether they were closed."""

    def __init__(self, answer: Answer, table: dict[str, Sequence[float]] | None = None) -> None:
        self.nli = TableNli(answer)
        self.embedder = WordEmbedder(table)
        self.closed = False

    def readings(self) -> Iterable[Reading]:
        return [Reading("pairs", "counter", "pairs", 1)]

    async def close(self) -> None:
        self.closed = True


def same_words(premise: str, hypothesis: str) -> tuple[float, float]:
    """Entailed where the hypothesis stands in the premise as it is."""
    return (0.9, 0.0) if hypothesis.strip(".") in premise else (0.0, 0.1)


FACTS = tuple(f"Fact number {name} holds." for name in ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"))


def gold(**changed: object) -> GoldStandardDatum:
    """A gold of ten facts, whose narrative is these facts."""
    entry = {"category": "Test", "source_id": "source-1", "text": "The source.", "token_count": 500}
    summary = {
        "main_theme": "Facts.",
        "summary": " ".join(FACTS),
        "key_facts": FACTS,
        "logical_outline": (FACTS[0], FACTS[4], FACTS[9]),
        "entity_list": (),
    }
    for name, value in changed.items():
        (entry if name in {"token_count", "tokenizer", "category"} else summary)[name] = value
    return GoldStandardDatum.model_validate({"entry": entry, "summary": summary})


def scorer(engines: TableEngines | None = None, **document: object) -> SummaryLossScorer:
    settings = resolve({}, {"support": "nli"} | document)
    calibration = MEAN_WITH_WORDS if settings.supported_by == "nli+lexical" else None
    return SummaryLossScorer(engines or TableEngines(same_words), settings, calibration=calibration)


def case(generated: str, **changed: object) -> SummaryCase:
    return SummaryCase.model_validate({"datum": gold(), "generated": generated, **changed})
