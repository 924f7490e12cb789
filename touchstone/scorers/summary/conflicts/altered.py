"""A sentence that is a statement of the gold but for words in one or two places, which the model does not take for what the gold says.

Shared words and near vectors raise the support of such a sentence whatever the other words say: "nobody was hurt" and "the owner burned his hands" look alike
in a sentence that is otherwise copied. So the model alone is asked. It cannot tell an error from a free rewording for certain: what is altered is for a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import chain
from typing import NamedTuple

from touchstone.scorers.summary.conflicts.conflict import ALTERED, Conflict
from touchstone.scorers.summary.conflicts.unknown.known import plain
from touchstone.scorers.summary.lexical import STOPWORDS, share, stem
from touchstone.scorers.summary.lexical import words as _content

#: Least share and number of a sentence's words that stand in the statement in the same order.
SAME_SHARE_MIN, SAME_MIN = 0.4, 3
#: Most places with other words, and most words of one: beyond that it is another sentence.
PLACES_MAX, PLACE_WORDS_MAX = 2, 10
#: Least number of other content words: for a single one ("clear" for "free") there are tables of opposites.
OTHER_MIN = 2
#: Least share of a fact's words in the statement that is altered.
TOLD_SHARE_MIN = 0.6
#: Longer sentences are lists.
WORDS_MAX = 120
_WORD = re.compile(r"[^\W_]+(?:[.,'’-][^\W_]+)*")


class Alteration(NamedTuple):
    """Other words in a copied sentence. `unit`: which statement is copied; `here`, `there`: [start, end) of the words in the sentence and in the statement."""

    unit: int
    here: tuple[int, int]
    there: tuple[int, int]


class _Read(NamedTuple):
    words: list[str]
    places: list[tuple[int, int]]


def altered(sentence: str, statements: Sequence[str]) -> Alteration | None:
    """What the sentence says otherwise than the statement that it copies; None if it copies none, or copies one whole. Words that only moved do not count."""
    mine = _read(sentence)
    if not SAME_MIN < len(mine.words) <= WORDS_MAX:
        return None
    found = [(share, -place, one) for place, text in enumerate(statements) for share, one in _compared(mine, _read(text), place)]
    return max(found, key=lambda each: each[:2])[2] if found else None


def altered_facts(found: Sequence[Conflict], facts: Sequence[str]) -> set[int]:
    """The key facts that a statement tells of which a sentence copies with other words: most of their words are in it, wherever in the gold it stands."""
    told = [_content(one.unit.text) for one in found if one.rule == ALTERED and one.unit is not None]
    return {index for index, fact in enumerate(facts) if told and any(share(text, _content(fact)) >= TOLD_SHARE_MIN for text in told)}


def _read(text: str) -> _Read:
    places = [match.span() for match in _WORD.finditer(text)]
    return _Read([plain(text[start:end]) for start, end in places], places)


def _compared(mine: _Read, theirs: _Read, unit: int) -> Iterator[tuple[float, Alteration | None]]:
    """The share of words that are the same, and what is altered; nothing if this is no copy."""
    if not theirs.words or len(theirs.words) > WORDS_MAX or len(set(mine.words) & set(theirs.words)) < SAME_MIN:
        return
    codes = SequenceMatcher(None, theirs.words, mine.words, autojunk=False).get_opcodes()
    same = sum(last - first for tag, first, last, _, _ in codes if tag == "equal")
    edits = [(range(begin, end), range(first, last)) for tag, first, last, begin, end in codes if tag != "equal"]
    if same < max(SAME_MIN, SAME_SHARE_MIN * len(mine.words)) or len(edits) > PLACES_MAX:
        return
    if any(max(len(here), len(there)) > PLACE_WORDS_MAX for here, there in edits):
        return
    known = set(map(stem, theirs.words))
    others = [{stem(word) for word in mine.words[here.start : here.stop] if word not in STOPWORDS} - known for here, _ in edits]
    said = [edit for edit, other in zip(edits, others, strict=True) if other] if len(set().union(*others)) >= OTHER_MIN else []
    share = same / len(mine.words)
    yield share, Alteration(unit, _span(mine, [here for here, _ in said]), _span(theirs, [there for _, there in said])) if said else None


def _span(text: _Read, runs: Sequence[range]) -> tuple[int, int]:
    """From the first word of the runs to their last; the empty place before a word, or at the end, where they have none."""
    places = list(chain.from_iterable(runs))
    if places:
        return text.places[min(places)][0], text.places[max(places)][1]
    at = text.places[min(runs[0].start, len(text.places) - 1)][1 if runs[0].start >= len(text.places) else 0]
    return at, at
