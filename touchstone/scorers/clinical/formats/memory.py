"""A cache of answers about short texts, because the same few codes and canonical URLs make up most of what documents hold.

Only for texts that are codes with their system and name, or URLs of definitions, never for names, identifiers, dates or free text; and only for
answers that depend on the text alone, not on the clock or the caller. What is kept outlives its document, so number and length are bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

#: Longer texts are not kept.
TEXT_LENGTH_MAX = 160
#: Texts of one memory; a full one is cleared.
TEXTS_MAX = 512
#: Memories in one process: with the two bounds above, a hundred MiB if someone tried to fill them all.
MEMORIES_MAX = 512

Answer = TypeVar("Answer")
_made: list[int] = [0]


class Memory(dict[str, Answer], Generic[Answer]):
    """A table from texts to answers that computes missing ones by `ask`. `memory[text]` costs one look-up for a known text."""

    __slots__ = ("ask", "length_max", "texts_max")

    def __init__(self, ask: Callable[[str], Answer], texts_max: int = TEXTS_MAX, length_max: int = TEXT_LENGTH_MAX) -> None:
        super().__init__()
        self.ask = ask
        self.texts_max = texts_max
        self.length_max = length_max

    def __missing__(self, text: str) -> Answer:
        found = self.ask(text)
        if len(text) <= self.length_max:
            if len(self) >= self.texts_max:
                self.clear()
            self[text] = found
        return found


def remembering(ask: Callable[[str], Answer]) -> Callable[[str], Answer]:
    """`ask` with a memory of its own, while there are not too many memories."""
    if _made[0] >= MEMORIES_MAX:
        return ask
    _made[0] += 1
    return Memory(ask).__getitem__
