"""Pairs per second: the live suite, the bare engine and `CrossEncoder.predict`, in turn on the same pairs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from touchstone.ops.lab.bench.nli.models import counts, difference, entail_all
from touchstone.ops.lab.bench.nli.suite import pairs_of
from touchstone.ops.lab.bench.nli.workload import note_events, values_of

if TYPE_CHECKING:
    from touchstone.ops.lab.bench.nli.models import CrossEncoderContender, Pairs
    from touchstone.ops.lab.bench.nli.suite import LiveSuite
    from touchstone.scorers.engines.base import Embedder, Floats
    from touchstone.scorers.engines.nli import NliEngine
    from touchstone.scorers.summary.settings import SummarySettings

ENGINE, SUITE, PER_EVENT, ONE_CALL = "engine", "live suite", "CrossEncoder per event", "CrossEncoder, one call"
#: The engine on torch, if the settings' own runs on ONNX Runtime.
BESIDE = "engine on torch"
PLAIN_ENGINE, PLAIN_PER_EVENT, PLAIN_ONE_CALL = "engine, float32", "CrossEncoder per event, float32", "CrossEncoder, one call, float32"
#: Name of a ratio → (numerator, denominator). "As it comes": the library's own default is float32 on every device.
COMPARISONS = {
    "suite over engine": (SUITE, ENGINE),
    "engine over per event": (ENGINE, PER_EVENT),
    "engine over one call": (ENGINE, ONE_CALL),
    "engine over engine on torch": (ENGINE, BESIDE),
    "engine on torch over per event": (BESIDE, PER_EVENT),
    "engine on torch over one call": (BESIDE, ONE_CALL),
    "float32: engine over per event": (PLAIN_ENGINE, PLAIN_PER_EVENT),
    "float32: engine over one call": (PLAIN_ENGINE, PLAIN_ONE_CALL),
    "as it comes: engine over per event, float32": (ENGINE, PLAIN_PER_EVENT),
    "as it comes: engine over one call, float32": (ENGINE, PLAIN_ONE_CALL),
}
Work = Callable[[], Awaitable[int]]


@dataclass(slots=True)
class Rates:
    """The times of the contenders, one entry a repeat. `pairs`: as asked; `counted`: as each contender counted them; `cpu_s`: processor seconds."""

    events: int = 0
    pairs: list[int] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    cpu_s: dict[str, list[float]] = field(default_factory=dict)
    counted: dict[str, list[int]] = field(default_factory=dict)

    def rate(self, contender: str) -> float:
        """Pairs per second, the median of the repeats."""
        return statistics.median(pairs / spent for pairs, spent in zip(self.counted[contender], self.seconds[contender], strict=True))

    def cpu_ms(self, contender: str) -> float:
        """Processor milliseconds per pair, the median of the repeats."""
        return statistics.median(spent / pairs * 1000 for pairs, spent in zip(self.counted[contender], self.cpu_s[contender], strict=True))

    def ratios(self, one: str, other: str) -> list[float]:
        """How many times as fast `one` was as `other`, in each repeat."""
        rates = zip(self.counted[one], self.seconds[one], self.counted[other], self.seconds[other], strict=True)
        return [pairs / spent * other_spent / other_pairs for pairs, spent, other_pairs, other_spent in rates]

    def ratio(self, one: str, other: str) -> float | None:
        """The median of `ratios`; None if one of them did not run."""
        return statistics.median(self.ratios(one, other)) if {one, other} <= self.seconds.keys() else None

    async def race(self, contenders: dict[str, Work], turn: int) -> None:
        """Run each once; every repeat begins with another one, so that a drifting machine hurts all alike."""
        names = list(contenders)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            begun, cpu = time.perf_counter(), time.process_time()
            asked = await contenders[name]()
            self.cpu_s.setdefault(name, []).append(time.process_time() - cpu)
            self.seconds.setdefault(name, []).append(time.perf_counter() - begun)
            self.counted.setdefault(name, []).append(asked)


@dataclass(slots=True)
class Agreement:
    """The difference of two answers to the same pairs. `labels`: share of pairs with the same most likely label."""

    difference_max: float
    labels: float

    @classmethod
    def of(cls, one: Sequence[Floats], other: Sequence[Floats]) -> Agreement:
        """Compare."""
        here, there = np.concatenate(one), np.concatenate(other)
        return cls(float(np.abs(here - there).max()), float((here.argmax(-1) == there.argmax(-1)).mean()))


@dataclass(slots=True)
class Contest:
    """The contenders. `plain`, `plain_engine`: the same in float32, if the device's own type is another.

    `beside`: the engine on torch, if the settings' own runs on ONNX Runtime.
    """

    settings: SummarySettings
    embedder: Embedder
    engine: NliEngine
    baseline: CrossEncoderContender
    plain_engine: NliEngine | None = None
    beside: NliEngine | None = None
    plain: CrossEncoderContender | None = None
    suite: LiveSuite | None = None
    answers: dict[str, list[Floats]] = field(default_factory=dict)
    asked: list[Pairs] = field(default_factory=list)

    async def run(self, make: Callable[[int, str], list[dict[str, Any]]], count: int, repeats: int, seed: str) -> Rates:
        """Repeat the race, each time over events with unseen sentences."""
        rates = Rates(events=count)
        # A small event first, uncounted: first-use initialisation must not count.
        await self._race(Rates(), note_events(1, f"{seed}-warm"), 0)
        for turn in range(repeats):
            await self._race(rates, make(count, f"{seed}-{turn}"), turn)
        return rates

    async def _race(self, rates: Rates, events: list[dict[str, Any]], turn: int) -> None:
        self.asked = list(await pairs_of(events, self.settings, self.embedder))
        rates.pairs.append(sum(map(len, self.asked)))
        await rates.race(self._contenders(events), turn)

    def agreement(self, one: str, other: str) -> Agreement | None:
        """How far the answers of the last repeat agree; None if one of them did not run."""
        return Agreement.of(self.answers[one], self.answers[other]) if {one, other} <= self.answers.keys() else None

    def _contenders(self, events: list[dict[str, Any]]) -> dict[str, Work]:
        works = {ENGINE: self._engine(ENGINE, self.engine), **self._library(PER_EVENT, ONE_CALL, self.baseline)}
        if self.beside is not None:
            works[BESIDE] = self._engine(BESIDE, self.beside)
        if self.suite is not None:
            works[SUITE] = self._suite(self.suite, values_of(events))
        if self.plain is not None and self.plain_engine is not None:
            works[PLAIN_ENGINE] = self._engine(PLAIN_ENGINE, self.plain_engine)
            works |= self._library(PLAIN_PER_EVENT, PLAIN_ONE_CALL, self.plain)
        return works

    def _engine(self, name: str, engine: NliEngine) -> Work:
        async def work() -> int:
            self.answers[name] = await entail_all(engine, self.asked)
            return sum(map(len, self.asked))

        return work

    def _library(self, per_event: str, one_call: str, model: CrossEncoderContender) -> dict[str, Work]:
        """The library's own call, once for each event and once for all."""

        async def for_each() -> int:
            self.answers[per_event] = [model.predict(pairs) for pairs in self.asked]
            return sum(map(len, self.asked))

        async def at_once() -> int:
            pairs = [pair for pairs in self.asked for pair in pairs]
            self.answers[one_call] = [model.predict(pairs)]
            return len(pairs)

        return {per_event: for_each, one_call: at_once}

    def _suite(self, suite: LiveSuite, values: Sequence[bytes]) -> Work:
        async def work() -> int:
            before = counts(suite.engines.readings())
            await suite.run(values)
            counted = difference(counts(suite.engines.readings()), before)
            return round(counted["batch_size_items"] + counted["collapsed_items"])

        return work


@dataclass(frozen=True, slots=True)
class Batches:
    """How the engine batched the pairs. Shares: of padded tokens, of identical pairs answered once, of texts that had to be tokenised."""

    padding_share: float
    collapsed_share: float
    tokenized_share: float
    pairs_per_batch: float
    tokens_per_pair: float

    @classmethod
    def of(cls, counted: dict[str, float]) -> Batches:
        """From the engine's counts."""
        items, tokens, padding = counted["batch_size_items"], counted["tokens"], counted["padding_tokens"]
        mentioned = 2 * (items + counted["collapsed_items"])
        return cls(
            padding_share=padding / max(1.0, tokens + padding),
            collapsed_share=counted["collapsed_items"] / max(1.0, items + counted["collapsed_items"]),
            tokenized_share=counted["texts_tokenized"] / max(1.0, mentioned),
            pairs_per_batch=items / max(1.0, counted["batch_size_items.count"]),
            tokens_per_pair=tokens / max(1.0, items),
        )
