"""New words in a copied sentence: most of it stands in the gold word for word, and in one place it has words that neither the gold nor its source has.

A denial in other words and another cause look like that ("Nobody was hurt" → "The owner burned his hands"), and so does a light rewording. The words
cannot tell them apart, but the model can: it supports the rewording fully.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from touchstone.scorers.summary.conflicts.unknown.known import Known, plain
from touchstone.scorers.summary.lexical import STOPWORDS, stem

#: A copied sentence that is supported so much is a rewording.
SUPPORTED_MIN = 0.95
#: Least share and number of a sentence's words that a statement begins or ends with, and least number of new words.
COPIED_SHARE_MIN, COPIED_MIN, NEW_MIN = 0.4, 4, 2
#: Most words between the copied ones, of either: beyond that it is another sentence.
BETWEEN_MAX = 14
_WORD = re.compile(r"[^\W_]+(?:[.,'’-][^\W_]+)*")


def changed_words(sentence: str, statements: Sequence[str], known: Known) -> tuple[int, int] | None:
    """The place [start, end) of the new words in a sentence that is otherwise copied from the statement most like it; None if there are none."""
    places = [match.span() for match in _WORD.finditer(sentence)]
    words = [plain(sentence[start:end]) for start, end in places]
    before, behind, other = max((_copied(words, _words(statement)) for statement in statements), key=lambda one: one[0] + one[1], default=(0, 0, 0))
    copied, between = before + behind, range(before, len(words) - behind)
    if copied < max(COPIED_MIN, COPIED_SHARE_MIN * len(words)) or max(len(between), other - copied) > BETWEEN_MAX:
        return None
    new = [at for at in between if _is_new(words[at], known)]
    return (places[new[0]][0], places[new[-1]][1]) if len(new) >= NEW_MIN else None


def _words(text: str) -> list[str]:
    return [plain(word) for word in _WORD.findall(text)]


def _copied(words: Sequence[str], other: Sequence[str]) -> tuple[int, int, int]:
    """How many words both begin with, with how many more they end, and how many the other has."""
    size = min(len(words), len(other))
    before = next((at for at in range(size) if words[at] != other[at]), size)
    behind = next((at for at in range(size - before) if words[-1 - at] != other[-1 - at]), size - before)
    return before, behind, len(other)


def _is_new(word: str, known: Known) -> bool:
    """True for a content word, no number, that is nowhere in the known texts, in no other form either."""
    parts = [part for part in re.split("['’-]", word) if part]
    return len(word) > 2 and stem(word).isalpha() and word not in STOPWORDS and not any({part, stem(part)} & known.words for part in parts)
