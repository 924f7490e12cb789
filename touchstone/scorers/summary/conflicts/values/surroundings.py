"""The words around a value, which show whether two texts are about the same thing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from touchstone.scorers.summary.conflicts.values.extraction import read
from touchstone.scorers.summary.conflicts.values.stems import stem
from touchstone.scorers.summary.conflicts.values.tokens import Tokens
from touchstone.scorers.summary.conflicts.values.value import Value
from touchstone.scorers.summary.lexical import STOPWORDS
from touchstone.scorers.summary.word_lists import word_lists

_LISTS = word_lists(__file__, "words")

_BREAKS = frozenset({",", ";", ":", ".", "(", ")", "!", "?", "and", "but", "while", "whereas", "or", "then", "versus", "with"})
#: Words that do not show what a value measures.
_EMPTY = frozenset(["per", "cent", "percent", "total", "number", "said", "day", "today", "every", "each", "one", "first", "second", "new", "times", "time"])
_MEDICINE = _LISTS["medicine"]
_SETTING = _LISTS["setting"]
_DRUG = re.compile(
    r"^[a-z]{2,20}(?:pril|sartan|olol|statin|cillin|mycin|azole|xaban|parin|gliptin|gliflozin|formin|floxacin|dipine|thiazide|semide|mab|tinib|cetamol|profen|oxine|pram|oxetine|solone|sone)$"
)
_DOSED = frozenset({"tablet", "capsul", "puff", "drop", "dose", "spray", "patch", "inject", "ampoul", "sachet", "unit"})


_MEASURED = frozenset(map(stem, _LISTS["measured"]))
#: Readings of texts that are kept: of one case most are asked for again.
READINGS_KEPT = 4_096
#: Words on each side that are taken for a value's own.
BESIDE = 3
#: Words on each side that are compared to see whether a sentence is a copy there.
FRAME = 2
#: Words of a sentence's part further from a value than this are not its own: of a long sentence much is about something else.
OWN_WORDS = 9


class Placed(NamedTuple):
    """A value with the stems around it: `near` in its part of the sentence, `far` in all of it. `beside`: the few words next to it as they are.

    `left` and `right`: the words before and behind it, in their order.
    """

    value: Value
    near: frozenset[str]
    far: frozenset[str]
    beside: frozenset[str]
    left: tuple[str, ...] = ()
    right: tuple[str, ...] = ()

    def framed_as(self, other: Placed) -> bool:
        """True if the words before and behind both values are the same, content words among them: one sentence copies the other there."""
        if self.left[-1:] != other.left[-1:] or self.right[:1] != other.right[:1]:
            return False
        before, behind = _content(self.left[::-1], other.left[::-1]), _content(self.right, other.right)
        return (before >= 1 and behind >= 1) or (before + behind >= 1 and self.left == other.left and self.right == other.right)


class TextValues(NamedTuple):
    """A text that was read: its values, the stems of its content words, the words that show what it is about."""

    values: tuple[Placed, ...]
    stems: frozenset[str]
    words: frozenset[str]

    @property
    def medicinal(self) -> bool:
        """True if it is about medicines or measurements of patients."""
        return bool(self.words & _MEDICINE) or any(_DRUG.match(word) for word in self.words)

    @property
    def clinical(self) -> bool:
        """True if it is about patients or medicines."""
        return bool(self.words & _SETTING) or self.medicinal


@lru_cache(maxsize=READINGS_KEPT)
def look(text: str) -> TextValues:
    """Reads a text and the surroundings of each of its values."""
    tokens, values = read(text)
    inside = {place for value in values for place in range(value.first, value.after)}
    content = {place: stem(token.text) for place, token in enumerate(tokens.items) if place not in inside and _is_content(token.kind, token.text)}
    parts = _parts(tokens, inside)
    stems: dict[int, list[tuple[int, str]]] = {}
    for place, word in content.items():
        stems.setdefault(parts[place], []).append((place, word))
    everything = frozenset(content.values())
    placed = []
    for value in values:
        part = parts[value.first]
        own = stems.get(part) or stems.get(part - 1) or stems.get(part + 1) or ()
        near = frozenset(word for place, word in own if value.first - OWN_WORDS <= place < value.after + OWN_WORDS)
        beside = (tokens.text(place) for place in _around(value, BESIDE))
        left = tuple(tokens.text(place) for place in range(value.first - FRAME, value.first))
        right = _behind(tokens, value.after)
        placed.append(Placed(value, near, everything, frozenset(beside), left, right))
    return TextValues(tuple(placed), everything, frozenset(token.text for token in tokens.items if token.kind in {"word", "code"}))


def _behind(tokens: Tokens, place: int) -> tuple[str, ...]:
    """The words behind a value; a closing mark counts as the end of the text."""
    words = [tokens.text(one) for one in range(place, place + FRAME)]
    return ("", "") if words[0] in {".", ";", "!"} and not words[-1] else tuple(words)


def _around(value: Value, count: int) -> Iterator[int]:
    """The places of `count` tokens before and behind a value."""
    yield from range(value.first - count, value.first)
    yield from range(value.after, value.after + count)


def _content(mine: Sequence[str], its: Sequence[str]) -> int:
    """How many words of content are equal, place by place."""
    return sum(one == other and len(one) > 1 and one not in STOPWORDS and not one[0].isdigit() for one, other in zip(mine, its, strict=False))


def laboratory(placed: Placed) -> bool:
    """True if a bare number or a share is a result of the laboratory or of the bedside: INR, saturation, ejection fraction."""
    return bool(placed.near & _MEASURED)


def dosed(value: Value) -> bool:
    """True if a number counts tablets, puffs and the like."""
    return bool(value.heads & _DOSED - {"unit"})


def _is_content(kind: str, text: str) -> bool:
    return kind in {"word", "code"} and text not in STOPWORDS and text not in _EMPTY and len(text) > 1


def _parts(tokens: Tokens, inside: set[int]) -> list[int]:
    """The number of each token's part of the sentence; signs and joining words separate parts."""
    parts, part = [], 0
    for place, token in enumerate(tokens.items):
        if token.text in _BREAKS and place not in inside:
            part += 1
        parts.append(part)
    return parts
