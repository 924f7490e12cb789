"""Headings among outline points ("Conclusions", "Side effects"): a point without a verb says nothing that a text could entail, so its facts stand for it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from touchstone.scorers.summary.vectors import Matrix, Vector
from touchstone.scorers.summary.word_lists import word_lists

_LISTS: Final = word_lists(__file__, "headings")
_VERBS, _PAST, _DOUBTFUL, _SELDOM_PLURAL, _SPLIT = (_LISTS[name] for name in ("verbs", "past", "doubtful", "seldom_plural", "split"))
_POINTERS, _COUNTS, _PREPOSITIONS, _FOLLOWING, _SUBJECTS = (_LISTS[name] for name in ("pointers", "counts", "prepositions", "following", "subjects"))
_DETERMINERS, _PLURALS, _ATTRIBUTIVE = (_LISTS[name] for name in ("determiners", "plurals", "attributive"))


def third_person(base: str) -> str:
    """A verb's third person: "carry", "carries"."""
    if base.endswith("y") and base[-2] not in "aeiou":
        return f"{base[:-1]}ies"
    return f"{base}es" if base.endswith(("s", "sh", "ch", "x", "z", "o")) else f"{base}s"


_FINITE: Final = _LISTS["finite"] | frozenset(map(third_person, _VERBS))
_PLAIN: Final = _VERBS | _LISTS["plain"]
_DOUBTFUL_THIRD: Final = frozenset(map(third_person, _DOUBTFUL))
#: Behind these stands a noun or an adjective.
_LEADING: Final = _POINTERS | _PREPOSITIONS
#: Words that no rule takes for a verb on account of what follows them.
_CLOSED: Final = _LEADING | _FOLLOWING | _LISTS["no_verbs"]

#: A word, or a sign behind which a new phrase begins: "Oslo: the early years".
_WORD = re.compile(r"[^\W_]+(?:[-'’.,][^\W_]+)*%?|[:;()–—/]")
#: What numbers a heading: "1.", "2)", "II.", "a)", "Section 3:", "-".
_NUMBERED = re.compile(r"^\s*(?:[-*•–—#]+\s*)?(?:(?:section|part|chapter|step|article|point)\s+)?(?:(?:\d+|[ivxlc]+|[a-z])(?:\.\d+)*[.):]\s+)?", re.IGNORECASE)
_ENDS = re.compile(r"[.!…。！？?]['\"”’)\]]*\s*$")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
#: A point with a full stop and at least so many words is a sentence, whatever its words are; one of more words is too long for a heading.
STOPPED_WORDS_MIN, WORDS_MAX = 4, 14
#: Letters of "red" and "bed", which are no past tenses.
SHORTEST_PAST = 3


def is_heading(point: str) -> bool:
    """True if an outline point has no verb: "Antibiotic treatment", "Closing of the library". Where in doubt it is a sentence, which is asked as it is."""
    text = _NUMBERED.sub("", point, count=1)
    words = _WORD.findall(text)
    count = sum(word[0].isalnum() for word in words)
    if not count or count > WORDS_MAX or (_ENDS.search(text) and count >= STOPPED_WORDS_MIN):
        return False
    # A capital "A" is an article at the beginning alone: "Vitamin A".
    folds = ["" if not word[0].isalnum() else word if word == "A" and place else word.casefold().replace("’", "'") for place, word in enumerate(words)]
    return not any(_is_verb(folds, place) for place, fold in enumerate(folds) if fold)


def _is_verb(folds: Sequence[str], place: int) -> bool:
    """True for a word that is a verb, as far as its form and its neighbours tell. `folds`: the words of a point; "" for a sign between two phrases."""
    fold, before = folds[place], folds[place - 1] if place else ""
    after, behind = (folds[there] if there < len(folds) else "" for there in (place + 1, place + 2))
    if fold in _FINITE or (fold in _SUBJECTS and after not in _PREPOSITIONS | {""}):
        return True
    if not before or before in _LEADING or before.endswith("'s"):
        return _begins(fold, before, after)
    if fold in _PAST | _PLAIN:
        return True
    if before.endswith("ly") or before[0].isdigit():  # "newly built", "3 reports"
        return False
    if (len(fold) > SHORTEST_PAST and fold.endswith("ed") and not fold.endswith("eed")) or fold in _SELDOM_PLURAL:
        return True
    if fold in _DOUBTFUL and (_is_plural(before) or (fold in _SPLIT and after in _PREPOSITIONS - {"of"})):
        return True
    return _leads_on(fold, after) or (fold in _DOUBTFUL | _DOUBTFUL_THIRD and _is_object(after, behind))


def _begins(fold: str, before: str, after: str) -> bool:
    """True for a verb that begins a phrase ("Remove the old putty", "Replace filters"), or that has a count before it ("Two die")."""
    if before:
        return before in _COUNTS and fold in _VERBS | _PAST
    return bool(after) and (fold in _PLAIN or _leads_on(fold, after))


def _leads_on(fold: str, after: str) -> bool:
    """True if a word is a verb by the one behind it: any word before an article, and those that are nouns too before an adverb or the like."""
    if fold in _DOUBTFUL | _DOUBTFUL_THIRD:
        return after in _POINTERS | _FOLLOWING or after.endswith("ly")
    return after in _DETERMINERS and fold not in _CLOSED and not fold.endswith(("ing", "ly")) and fold.isalpha()


def _is_object(after: str, behind: str) -> bool:
    """True for an amount ("cost 7 million") or an infinitive ("votes to extend"); not for a year or the number of a thing ("Disease stage 4")."""
    if after == "to":
        return behind in _VERBS
    return after.endswith("%") or (bool(after) and bool(behind) and after[0].isdigit() and not _YEAR.fullmatch(after))


def _is_plural(fold: str) -> bool:
    """True for a plural that may be a subject: before it the base form of a verb agrees, and in a compound it would be singular ("cost control")."""
    return fold in _PLURALS or (fold.endswith("s") and not fold.endswith(("ss", "us", "is", "ics")) and fold not in _ATTRIBUTIVE)


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
