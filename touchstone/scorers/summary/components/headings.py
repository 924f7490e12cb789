"""Headings among outline points ("Conclusions", "Side effects"): a point without a verb says nothing that a text could entail, so its facts stand for it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

import numpy as np

from touchstone.scorers.summary.vectors import Matrix, Vector
from touchstone.scorers.summary.word_lists import word_lists

_LISTS: Final = word_lists(__file__, "headings")
_FINITE, _PAST, _PLAIN, _DOUBTFUL = (_LISTS[name] for name in ("finite", "past", "plain", "doubtful"))
_POINTERS, _PREPOSITIONS, _FOLLOWING, _SUBJECTS = (_LISTS[name] for name in ("pointers", "prepositions", "following", "subjects"))

_WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")
#: What numbers a heading: "1.", "2)", "II.", "a)", "Section 3:", "-".
_NUMBERED = re.compile(r"^\s*(?:[-*•–—#]+\s*)?(?:(?:section|part|chapter|step|article|point)\s+)?(?:(?:\d+|[ivxlc]+|[a-z])(?:\.\d+)*[.):]\s+)?", re.IGNORECASE)
_ENDS = re.compile(r"[.!…。！？?]['\"”’)\]]*\s*$")
#: A point with a full stop and at least so many words is a sentence, whatever its words are; one of more words is too long for a heading.
STOPPED_WORDS_MIN, WORDS_MAX = 4, 14
#: Letters of "red" and "bed", which are no past tenses.
SHORTEST_PAST = 3


def is_heading(point: str) -> bool:
    """True if an outline point has no verb: "Antibiotic treatment", "Closing of the library". Where in doubt it is a sentence, which is asked as it is."""
    text = _NUMBERED.sub("", point, count=1)
    words = _WORD.findall(text)
    if not words or len(words) > WORDS_MAX or (_ENDS.search(text) and len(words) >= STOPPED_WORDS_MIN):
        return False
    return not any(_verbs(words))


def _verbs(words: Sequence[str]) -> Iterator[str]:
    """The words that are verbs, as far as their form and their neighbours tell."""
    folds = [word.casefold().replace("’", "'") for word in words]
    for place, fold in enumerate(folds):
        before, after = folds[place - 1] if place else "", folds[place + 1] if place + 1 < len(folds) else ""
        # Behind a word that points to a noun stands a noun or an adjective; so it often does behind a number or an adverb: "three reports", "newly built".
        is_behind = bool(before) and before not in _POINTERS | _PREPOSITIONS
        is_behind_noun = is_behind and not before.endswith("ly") and not before[0].isdigit()
        leads_on = after in _POINTERS | _FOLLOWING or after.endswith("ly")
        if (
            fold in _FINITE
            or (fold in _SUBJECTS and after not in _PREPOSITIONS | {""})
            or (is_behind and fold in _PAST | _PLAIN)
            or (is_behind_noun and len(fold) > SHORTEST_PAST and fold.endswith("ed") and not fold.endswith("eed"))
            or (not before and fold in _PLAIN and bool(after))
            or ((is_behind_noun or not before) and leads_on and (fold in _DOUBTFUL or _singular(fold) in _DOUBTFUL))
        ):
            yield fold


def _singular(fold: str) -> str:
    """The base form of a verb in the third person."""
    return fold[:-2] if fold.endswith(("shes", "ches", "sses")) else f"{fold[:-3]}y" if fold.endswith("ies") else fold.removesuffix("s")


#: A heading stands for so many facts, those nearest to it: one alone would let a text through that has a single fact of the matter right.
FACTS_NEAREST = 3
#: Weight of a fact that is not near at all, where only the place of a heading is sought.
NEARNESS_MIN = 0.01


def heading_support(points: Sequence[str], facts: Sequence[str], recalled: Sequence[float] | Vector, cosines: Matrix) -> dict[int, float]:
    """Support of each point that is a heading: the mean recall of the facts nearest to it, in [0, 1]. `cosines`: one row per point, one column per fact.

    A text that leaves the facts out, states them wrongly or is about something else gains nothing, because their recall is what counts.
    """
    given = np.asarray(recalled, dtype=np.float64)
    return {index: float(given[nearest_facts(cosines[index])].mean()) for index, point in enumerate(points) if facts and is_heading(point)}


def nearest_facts(cosines: Vector) -> list[int]:
    """The facts that a heading stands for, nearest first; stable, so that equal cosines keep the same facts everywhere."""
    return [int(index) for index in np.argsort(-cosines, kind="stable")[:FACTS_NEAREST]]


def with_headings(outline_support: Matrix, fact_support: Matrix, cosines: Matrix, headings: Collection[int]) -> Matrix:
    """Support of points (rows) by windows (columns), where a heading lies in the windows that state its facts, the nearer ones counting more."""
    support = outline_support.copy()
    for index in headings:
        near = nearest_facts(cosines[index])
        weights = np.clip(cosines[index][near], NEARNESS_MIN, 1.0)
        support[index] = np.maximum(support[index], weights @ fact_support[near] / weights.sum())
    return support
