"""Cause and effect: a sentence turns them round, denies the link, makes one in spite of which, or gives an effect another cause that the gold knows.

A cause that the gold has no word for may be its own cause reworded, and is not judged.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from touchstone.scorers.summary.conflicts.difference import Difference
from touchstone.scorers.summary.conflicts.wording.clauses import ParsedText, read
from touchstone.scorers.summary.conflicts.wording.linked import LINKS_MAX, Event, Link, crossed, linked, same_root, shared, sides, straight

BECAUSE, DESPITE, APART = "because", "despite", "apart"
#: Words behind which the cause stands, by what they say of it.
_EFFECT_CAUSE = {
    BECAUSE: (
        "because of", "because", "due to", "owing to", "as a result of", "on account of", "thanks to", "caused by", "triggered by", "prompted by", "started by",
        "brought on by", "brought about by", "delayed by", "set off by", "resulted from", "stemmed from", "was the result of", "were the result of",
        "blamed on", "attributed to", "put down to",
    ),
    DESPITE: ("despite", "in spite of", "regardless of", "irrespective of"),
    APART: (
        "unrelated to", "not related to", "nothing to do with", "not caused by", "not due to", "not because of", "not because", "for reasons other than",
        "not the result of", "not triggered by",
    ),
}  # fmt: skip
#: Words before which the cause stands.
_CAUSE_EFFECT = (
    "caused", "causes", "triggered", "triggers", "prompted", "prompts", "led to", "leads to", "resulted in", "brought on", "brought about", "gave rise to",
    "was to blame for", "were to blame for", "was the cause of", "was responsible for", "were responsible for", "held up", "set off",
)  # fmt: skip
_SENSES = {phrase: sense for sense, phrases in _EFFECT_CAUSE.items() for phrase in phrases} | dict.fromkeys(_CAUSE_EFFECT, "")
_LINK = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, _SENSES), key=len, reverse=True))})\b", re.IGNORECASE)
_NOT = re.compile(r"\b(?:not|never|no|nor|neither|without|whether|if|may|might|could|didn't|wasn't)\b", re.IGNORECASE)
#: How much of its words an effect with another cause must share with the unit's, both ways, and how many.
SAME_EFFECT, EFFECT_WORDS = 0.6, 2


def find(sentence: ParsedText, units: Sequence[ParsedText]) -> Iterator[Difference]:
    """Links that a unit contradicts, if no unit has them as the sentence does."""
    mine = links(sentence.text)
    if not mine:
        return
    theirs = [links(unit.text) for unit in units]
    for here in mine:
        if any(straight(here, there) and here.sense == there.sense for its in theirs for there in its):
            continue
        for number, its in enumerate(theirs):
            other = next((there for there in its if _contradicts(here, there, units)), None)
            if other is not None:
                yield Difference("relation", here.at, other.at, number)
                break


@lru_cache(maxsize=4_096)
def links(text: str) -> tuple[Link, ...]:
    """Causes and effects of a text. A link that is denied by other words, or uncertain, is none."""
    parsed = read(text)
    found: list[Link] = []
    for match in list(_LINK.finditer(text[:1_200]))[:LINKS_MAX]:
        phrase = match.group().casefold()
        one, other = sides(parsed, *match.span())
        if _NOT.search(text[max(0, match.start() - 20) : match.start()]) or _NOT.match(text[match.end() :].lstrip()):
            continue
        cause, effect = (other, one) if _SENSES[phrase] else (one, other)
        found.extend(linked(cause, effect, match.span(), _SENSES[phrase] or BECAUSE, phrase))
    return tuple(found)


def _contradicts(here: Link, there: Link, units: Sequence[ParsedText]) -> bool:
    """True if two links cannot both hold."""
    if here.sense != there.sense:
        return straight(here, there)
    return here.sense == BECAUSE and (crossed(here, there) or _has_another_cause(here, there, units))


def _has_another_cause(here: Link, there: Link, units: Sequence[ParsedText]) -> bool:
    """True if one effect has a cause that a unit tells of in another connexion, and that no unit joins to the effect or to the unit's own cause."""
    effect = min(shared(here.second, there.second), shared(there.second, here.second))
    worded_alike = here.words == there.words and here.words.endswith(" by")  # the verb is part of the effect: "was delayed by"
    if effect + worded_alike < EFFECT_WORDS or effect < SAME_EFFECT * max(len(here.second), len(there.second)) or shared(here.first, there.first):
        return False
    tells = [unit.whole.stems for unit in units if 2 * shared(here.first, unit.whole.stems) > len(here.first)]
    return bool(tells) and not any(_joins(stems, there.first, there.second) for stems in tells)


def _joins(stems: Event, *others: Event) -> bool:
    """True if a unit speaks of the cause or of the effect too."""
    return any(sum(any(same_root(word, its) for its in stems) for word in other) > 0.5 * len(other) for other in others)
