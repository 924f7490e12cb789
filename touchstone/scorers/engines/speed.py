"""Measures how many pairs a second an NLI model answers here, in a form that can be kept beside the model."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from statistics import median
from typing import TYPE_CHECKING, Any

from touchstone.scorers.engines.machine import machine

if TYPE_CHECKING:
    from touchstone.scorers.engines.base import Engines

#: About a window of two sentences and a statement.
PREMISE_WORDS, HYPOTHESIS_WORDS = 48, 16
PAIRS_FIRST, PAIRS_MAX = 32, 16_384
ROUNDS = 3
_SENTENCES = (
    "the patient was seen on Monday and a small change of dose after two weeks with no fever or pain in left arm court ruled that city must pay "
    "company sold its northern plant for nine million while council voted to open new road before winter"
)


def made_up(count: int, seed: int) -> list[tuple[str, str]]:
    """Pairs of invented sentences, all different, of common words, each a token or two."""
    chance = random.Random(seed)  # noqa: S311  # made-up text, no secret
    known = _SENTENCES.split()

    def text(words: int) -> str:
        return " ".join(chance.choices(known, k=words))

    return [(text(PREMISE_WORDS), text(HYPOTHESIS_WORDS)) for _ in range(count)]


async def pairs_per_second(engines: Engines, *, seconds: float, say: Callable[[str], None]) -> dict[str, Any]:
    """The median of three rounds of about `seconds` each, with the slowest and the quickest, and the machine."""

    async def round_of(count: int, seed: int) -> float:
        pairs = made_up(count, seed)
        start = time.perf_counter()
        await engines.nli.entail(pairs)
        return count / (time.perf_counter() - start)

    await round_of(PAIRS_FIRST, 0)  # the first call pays for what is made once
    count = min(PAIRS_MAX, max(PAIRS_FIRST, round(seconds * await round_of(PAIRS_FIRST, 1))))
    rates = []
    for number in range(ROUNDS):
        say(f"round {number + 1} of {ROUNDS}: {count:,} pairs")
        rates.append(await round_of(count, 2 + number))
    say("")
    return {
        "model": engines.nli.model,
        "pairs_per_s": round(median(rates), 1),
        "pairs_per_s_min": round(min(rates), 1),
        "pairs_per_s_max": round(max(rates), 1),
        "words_per_pair": PREMISE_WORDS + HYPOTHESIS_WORDS,
        "machine": machine(),
        "when": datetime.now(UTC).date().isoformat(),
    }
