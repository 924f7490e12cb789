"""Texts and writers that belong to the story: what is done with them, what the gold tells of them, and what only people and ways do."""

from collections.abc import Iterable, Sequence

from touchstone.scorers.summary.hard_fails.commentary.nouns import Noun, brought, noun_at, phrase
from touchstone.scorers.summary.hard_fails.commentary.vocabulary import (
    ACTED_ON,
    ADDRESSES,
    ADVERBS,
    AUDIENCE,
    AUTHOR,
    AUTHORS,
    BRINGS,
    FINDINGS,
    READER,
    SHAPES,
    SPEAKER,
    TALKS,
)

_PEOPLE = frozenset((AUTHOR, AUTHORS, SPEAKER, READER))
_POSSESSIVES = frozenset(("his", "her", "their", "its", "my", "our"))
#: Other things that are signed and passed: where one is named, "signed it" may mean that.
_SIGNED = BRINGS | {"bill", "law", "act", "plan", "order", "deal", "budget", "ruling", "proposal", "amendment"}


def belongs(words: Sequence[str], noun: Noun, following: Sequence[str]) -> bool:
    """True if a noun for a text or its writer is part of the story by what is said of it. `following`: the next sentence's words."""
    if noun.pointed:
        return False
    if noun.kind in _PEOPLE:
        return _is_a_person(words, noun) or (noun.kind == AUTHORS and _finds(words, noun))
    return _describes_a_line(words, noun) or _is_acted_on(words, noun, following)


def told(narrative: Iterable[Sequence[str]], source: Iterable[Sequence[str]]) -> frozenset[str]:
    """The texts and writers that a gold tells of, as `nouns.phrase` writes them.

    `narrative`: the words of the sentences of narrative and facts, which are about their subject alone, so that each text in them is part of it.
    `source`: those of the source text, which may speak of itself: in it only a text of its own counts ("a letter", "the article in the Herald").
    """
    found: set[str] = set()
    for own, sentences in ((False, narrative), (True, source)):
        for words in sentences:
            for at in range(len(words)):
                noun = noun_at(words, at)
                if noun and not noun.pointed and (not own or brought(words, noun)):
                    found.add(phrase(words, noun))
    return frozenset(found)


def _verb(words: Sequence[str], noun: Noun) -> int:
    """The place of the word after a noun and adverbs."""
    at = noun.after
    while at < len(words) and (words[at].endswith("ly") or words[at] in ADVERBS):
        at += 1
    return at


def _is_a_person(words: Sequence[str], noun: Noun) -> bool:
    """True for "argues with his neighbour", "speaks to the baker", "tells her sister"; False for "speaks to the reader"."""
    at = _verb(words, noun)
    verb, after = (words[at], list(words[at + 1 : at + 5])) if at < len(words) else ("", [])
    if not after or not AUDIENCE.isdisjoint(after):
        return False
    if verb in ADDRESSES:
        return after[0] in _POSSESSIVES or after[0][0].isupper() or (after[0] in {"the", "a", "an"} and not {"that", "to", "about"}.isdisjoint(after[2:3]))
    return verb in TALKS and after[0] in {"with", "to"} and bool(after[1:]) and (after[1] in _POSSESSIVES | {"the", "a", "an"} or after[1][0].isupper())


def _finds(words: Sequence[str], noun: Noun) -> bool:
    """True for "the authors conclude that", "the authors report no link"."""
    at = _verb(words, noun)
    return at < len(words) and words[at] in FINDINGS


def _describes_a_line(words: Sequence[str], noun: Noun) -> bool:
    """True for "the passage describes a wide arc"."""
    at = _verb(words, noun)
    return words[at + 1 : at + 2] in (["a"], ["an"]) and not SHAPES.isdisjoint(words[at + 2 : at + 5])


def _is_acted_on(words: Sequence[str], noun: Noun, following: Sequence[str]) -> bool:
    """True for "The text states …, and both delegations signed it", also where a sentence of its own says so."""
    rest = words[noun.after :]
    return _SIGNED.isdisjoint(rest) and (_signs_it(rest) or (_SIGNED.isdisjoint(following) and _signs_it(following)))


def _signs_it(words: Sequence[str]) -> bool:
    """True for "signed it", "it was signed"."""
    for at, word in enumerate(words):
        if word in ACTED_ON and (
            words[at + 1 : at + 2] == ["it"] or words[max(0, at - 2) : at] in (["it", "was"], ["it", "is"], ["has", "been"], ["and", "was"])
        ):
            return True
    return False
