"""Premises short enough for the model to answer for: windows of sentences, and pieces of clauses where a sentence is too long."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from touchstone.scorers.summary.sentences import Span, Window, windows

#: Where a long sentence is cut, the strongest boundary first: between clauses, before a conjunction, at a comma, between words. What looks ahead begins
#: at the first blank of a run alone: begun at each blank, a run of n would take n² steps.
_BOUNDARIES = (
    re.compile(r"(?<=[;:])\s+|(?<!\s)\s+(?=[–—]\s)|\n+"),
    re.compile(r"(?<!\s)\s+(?=(?:and|but|or|so|yet|while|whereas|which|who|because|although|though|after|before|until|when|if)\s)", re.IGNORECASE),
    re.compile(r"(?<=,)\s+"),
    re.compile(r"\s+"),
)
#: Sentences over which a fact may be spread.
NEIGHBOURS = 2
_WORD = re.compile(r"\S+")


def words_in(text: str, start: int, end: int) -> int:
    """How many words a part of a text has."""
    return sum(1 for _ in _WORD.finditer(text, start, end))


def premises(text: str, spans: Sequence[Span], sizes: Sequence[int], words_max: int) -> list[Window]:
    """Windows of at most `words_max` words (0: of any length), by size as given.

    A sentence that is longer becomes pieces of at most half as many words, and its neighbouring pieces two by two. Of two neighbours that are longer
    together, the end of the first with the start of the second is kept, and longer runs are left out: they count only as far as these do.
    """
    every = windows(spans, sizes)
    if not words_max:
        return every
    if spans and len(spans) < min(sizes) and words_in(text, every[0].start, every[0].end) > words_max:
        return premises(text, spans, (1, NEIGHBOURS), words_max)  # the only window of a short text: its sentences stand in for it
    cut: dict[int, list[Span]] = {}
    found: list[Window] = []
    for window in every:
        if words_in(text, window.start, window.end) <= words_max:
            found.append(window)
            continue
        inside = [cut.setdefault(index, pieces(text, spans[index], max(1, words_max // 2))) for index in range(window.first, window.first + window.size)]
        if window.size == 1:
            found += [Window(piece.start, piece.end, window.first, 1) for piece in inside[0]]
            found += [Window(one.start, other.end, window.first, 1) for one, other in pairwise(inside[0])]
        elif window.size == NEIGHBOURS:
            found.append(Window(inside[0][-1].start, inside[1][0].end, window.first, NEIGHBOURS))
    return found


def pieces(text: str, span: Span, words_max: int) -> list[Span]:
    """A span in parts of at most `words_max` words, cut at the strongest boundaries that suffice, and joined again as far as the bound allows."""
    return _cut(text, span, words_max, 0)


def _cut(text: str, span: Span, words_max: int, level: int) -> list[Span]:
    if words_in(text, *span) <= words_max or level == len(_BOUNDARIES):
        return [span]
    parts: list[Span] = []
    start = span.start
    for boundary in _BOUNDARIES[level].finditer(text, span.start, span.end):
        if boundary.start() > start:
            parts.append(Span(start, boundary.start()))
        start = boundary.end()
    if start < span.end:
        parts.append(Span(start, span.end))
    if len(parts) > 1:
        parts = _joined(text, parts, words_max)
    return [short for part in parts for short in _cut(text, part, words_max, level + 1)]


def _joined(text: str, parts: Sequence[Span], words_max: int) -> list[Span]:
    """Neighbouring parts together, from the first, as long as they are within the bound."""
    found: list[Span] = []
    words = 0
    for part in parts:
        count = words_in(text, *part)
        if found and words + count <= words_max:
            found[-1] = Span(found[-1].start, part.end)
            words += count
        else:
            found.append(part)
            words = count
    return found
