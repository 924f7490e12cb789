"""Entity preservation (Loss V3 §3.B): named alike, and in a context that means the same."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rapidfuzz import fuzz, process

_IDEOGRAPH = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
#: A word, or one ideograph or kana (those scripts write no blanks). A possessive "s" is a word of its own, so that it is not part of a name.
_WORD = re.compile(rf"[{_IDEOGRAPH}]|[^\W{_IDEOGRAPH}]+(?:(?!['’]s\b)[.'’&+/-]+[^\W{_IDEOGRAPH}]+)*")
#: The best mentions of one entity in one text whose contexts are compared.
MENTIONS_MAX = 6
#: Words of an entity beyond which it is a sentence, not a name; it is still compared, by its own count only.
LONG_WORDS = 30
#: Beyond these it is sought word for word: every run of so many words of a text is more than memory holds, for each length anew.
FUZZY_WORDS_MAX = 60


class Mention(NamedTuple):
    """Words `first` up to `last` of a text. `ratio`: likeness to the entity, in [0, 1]."""

    first: int
    last: int
    ratio: float


class Words:
    """A text as words that keep their places."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.places = [match.span() for match in _WORD.finditer(text)]
        self._folded: dict[int, list[str]] = {}

    def runs(self, count: int) -> list[str]:
        """Every run of `count` words, folded; `runs(n)[i]` starts at word i."""
        if count not in self._folded:
            pairs = zip(self.places, self.places[count - 1 :], strict=False)
            self._folded[count] = [fold(self.text[start:end]) for (start, _), (_, end) in pairs]
        return self._folded[count]

    def context(self, mention: Mention, words: int) -> str:
        """The mention with `words` words on each side."""
        first = self.places[max(0, mention.first - words)][0]
        last = self.places[min(len(self.places), mention.last + words) - 1][1]
        return self.text[first:last]


def fold(text: str) -> str:
    """The form that is compared: NFKC, casefolded, runs of white space as one blank, typographic apostrophes as plain ones."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().replace("’", "'").split())


def mentions(entity: str, text: Words, threshold: float) -> list[Mention]:
    """Where a text has something like the entity: spans of about as many words whose ratio is above the threshold, the most similar first."""
    places = [match.span() for match in _WORD.finditer(entity)]
    if not places:
        return []
    wanted = fold(entity[places[0][0] : places[-1][1]])  # spans of the text have no punctuation at their ends either
    count = len(places)
    if count > FUZZY_WORDS_MAX:
        return _verbatim([fold(entity[start:end]) for start, end in places], text)
    found = [mention for size in _sizes(count) if size <= len(text.places) for mention in _alike(wanted, text, size, threshold)]
    found.sort(key=lambda mention: (-mention.ratio, mention.first, mention.last))
    return found[:MENTIONS_MAX]


def _verbatim(wanted: Sequence[str], text: Words) -> list[Mention]:
    """Where a text has just these words; blanks at both ends keep a match from beginning inside a word."""
    words = f" {' '.join(text.runs(1))} "
    sought = f" {' '.join(wanted)} "
    found: list[Mention] = []
    at = words.find(sought)
    while at >= 0 and len(found) < MENTIONS_MAX:
        first = words.count(" ", 0, at)
        found.append(Mention(first, first + len(wanted), 1.0))
        at = words.find(sought, at + 1)
    return found


def _sizes(count: int) -> range:
    """How many words a span may have."""
    return range(count, count + 1) if count > LONG_WORDS else range(max(1, count - 1), count + 2)


def _alike(wanted: str, text: Words, size: int, threshold: float) -> Iterator[Mention]:
    """Spans of one size above the threshold; rapidfuzz gives those that reach it."""
    for _, score, first in process.extract_iter(wanted, text.runs(size), scorer=fuzz.ratio, processor=None, score_cutoff=threshold * 100):
        if score > threshold * 100 or score == 100:
            yield Mention(first, first + size, score / 100)


class Sought(NamedTuple):
    """One entity in both texts: its mentions in the generated summary and in the gold narrative."""

    generated: list[Mention]
    gold: list[Mention]

    @property
    def needs_context(self) -> bool:
        """An entity that the narrative does not name has no context to compare with."""
        return bool(self.generated and self.gold)


def seek(entities: Sequence[str], generated: Words, gold: Words, threshold: float) -> list[Sought]:
    """Every entity in both texts; in the narrative only where the summary has it."""
    found = []
    for entity in entities:
        there = mentions(entity, generated, threshold)
        found.append(Sought(there, mentions(entity, gold, threshold) if there else []))
    return found


def entities_loss(matched: int, count: int) -> float:
    """L_entities = 1 − matched / |E|."""
    return 1.0 - matched / count
