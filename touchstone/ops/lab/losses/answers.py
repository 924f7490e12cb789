"""Counts what the models are asked, and keeps their answers in a file, so that an experiment with aggregation asks no model twice."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from touchstone.scorers.base import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from touchstone.scorers.base import Reading
    from touchstone.scorers.engines.base import Embedder, Engines, Floats, Nli

#: Keys of one query; SQLite bounds them.
KEYS_MAX = 500
WAIT_S = 60.0


class Answers:
    """A file of rows of numbers by digest. Several processes may use one file."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it. Raises `ConfigError`."""
        try:
            self._file = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None)
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=OFF")  # a lost answer is asked again
            self._file.execute("CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, row BLOB NOT NULL) WITHOUT ROWID")
        except sqlite3.Error as error:
            raise ConfigError(f"{path}: cannot hold answers ({error}); name a new file, or one that this command made") from None

    def find(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        """The rows that are known, by key."""
        found: dict[bytes, Floats] = {}
        for start in range(0, len(keys), KEYS_MAX):
            part = keys[start : start + KEYS_MAX]
            marks = ",".join("?" * len(part))
            with closing(self._file.execute(f"SELECT key, row FROM answers WHERE key IN ({marks})", part)) as rows:  # question marks alone
                found |= {key: np.frombuffer(row, dtype=np.float32) for key, row in rows}
        return found

    def keep(self, known: Iterable[tuple[bytes, Floats]]) -> None:
        """Add rows."""
        self._file.execute("BEGIN IMMEDIATE")
        self._file.executemany("INSERT OR IGNORE INTO answers VALUES (?, ?)", [(key, np.asarray(row, dtype=np.float32).tobytes()) for key, row in known])
        self._file.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def key_of(model: str, *texts: str) -> bytes:
    """A digest of a model's name, which has its content's digest, and of the texts that it is asked about."""
    return sha256("\0".join((model, *(f"{len(text)}:{text}" for text in texts))).encode("utf-8", "surrogatepass")).digest()[:16]


class CountedEngines:
    """Engines that count what they are asked, and with `answers` ask for nothing twice."""

    def __init__(self, engines: Engines, answers: Answers | None = None) -> None:
        self._engines, self._answers = engines, answers
        self.nli: Nli = CountedNli(engines.nli, answers)
        self.embedder: Embedder = CountedEmbedder(engines.embedder, answers)
        self._started_s = time.process_time()

    def counts(self, summaries: int) -> dict[str, float | None]:
        """Pairs, words in pairs, NLI rounds and processor seconds of a summary. The seconds are None with kept answers: they would not be the models'."""
        nli = self.nli
        assert isinstance(nli, CountedNli)
        seconds = None if self._answers is not None else (time.process_time() - self._started_s) / summaries
        return {
            "pairs": nli.pairs / summaries,
            "pair_words": nli.words / summaries,
            "rounds": nli.rounds / summaries,
            "processor_s": seconds,
        }

    def readings(self) -> Iterable[Reading]:
        """The engines' own."""
        return self._engines.readings()

    async def close(self) -> None:
        """Close engines and file."""
        await self._engines.close()
        if self._answers is not None:
            self._answers.close()


class CountedNli:
    """`Nli` that counts the pairs, their words and the rounds that it is asked."""

    def __init__(self, nli: Nli, answers: Answers | None) -> None:
        self._nli, self._answers = nli, answers
        self.pairs = self.words = self.rounds = 0

    @property
    def model(self) -> str:
        """Name and content digest of the model."""
        return self._nli.model

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """As `Nli.entail`."""
        self.pairs += len(pairs)
        self.rounds += bool(pairs)
        self.words += sum(len(text.split()) for pair in pairs for text in pair)
        if self._answers is None or not pairs:
            return await self._nli.entail(pairs)
        keys = [key_of(self.model, *pair) for pair in pairs]
        known = self._answers.find(keys)
        missing = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in known}
        if missing:
            fresh = dict(zip(missing, await self._nli.entail(list(missing.values())), strict=True))
            self._answers.keep(fresh.items())
            known |= fresh
        return np.stack([known[key] for key in keys])


class CountedEmbedder:
    """`Embedder` over kept vectors."""

    def __init__(self, embedder: Embedder, answers: Answers | None) -> None:
        self._embedder, self._answers = embedder, answers

    @property
    def model(self) -> str:
        """Name and content digest of the model."""
        return self._embedder.model

    async def embed(self, texts: Sequence[str]) -> Floats:
        """As `Embedder.embed`."""
        if self._answers is None or not texts:
            return await self._embedder.embed(texts)
        keys = [key_of(self.model, text) for text in texts]
        known = self._answers.find(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            fresh = dict(zip(missing, await self._embedder.embed(list(missing.values())), strict=True))
            self._answers.keep(fresh.items())
            known |= fresh
        return np.stack([known[key] for key in keys])

    async def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """As `Embedder.count_tokens`; never kept, as it costs little."""
        return await self._embedder.count_tokens(texts)
