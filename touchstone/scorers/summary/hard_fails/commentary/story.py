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
    BASES,
    BRINGS,
    CARRIERS,
    FINDINGS,
    FOREIGN,
    FOREIGN_KINDS,
    FOREIGN_REMARKS,
    NOUNS,
    READER,
    REMARKS,
    SHAPES,
    SPEAKER,
    SPEAKERS_BEFORE,
    TALKS,
    TELLS_OF_TEXTS,
    THIRD,
    WITH,
)

#: What a gold tells of that has no text in it.
NOTHING_WRITTEN = frozenset(("nothing written",))
_PEOPLE = frozenset((AUTHOR, AUTHORS, SPEAKER, READER))
_POSSESSIVES = frozenset(("his", "her", "their", "its", "my", "our"))
#: Other things that are signed and passed: where one is named, "signed it" may mean that.
_SIGNED = BRINGS | {"bill", "law", "act", "plan", "order", "deal", "budget", "ruling", "proposal", "amendment"}


def belongs(words: Sequence[str], noun: Noun, following: Sequence[str]) -> bool:
    """True if a noun for a text or its writer is part of the story by what is said of it. `following`: the next sentence's words."""
    if noun.pointed:
        return False
    if _is_somebodys(words):
        return True
    if noun.kind in _PEOPLE:
        return _is_a_person(words, noun) or (noun.kind == AUTHORS and _finds(words, noun))
    return _describes_a_line(words, noun) or _is_acted_on(words, noun, following)


def told(narrative: Iterable[Sequence[str]], source: Iterable[Sequence[str]]) -> frozenset[str]:
    """The texts and writers that a gold tells of, as `nouns.phrase` writes them.

    `narrative`: the words of the sentences of narrative and facts, which are about their subject alone, so that each text in them is part of it.
    `source`: those of the source text, which may speak of itself: in it only a text of its own counts ("a letter", "the article in the Herald").
    """
    found: set[str] = set()
    any_text = False
    for words in narrative:
        any_text = any_text or not TELLS_OF_TEXTS.isdisjoint(map(str.lower, words))
        for at, word in enumerate(map(str.lower, words)):
            if word in CARRIERS:
                found |= {"the text", "the document", "the passage"}
            elif word.removesuffix("s") in NOUNS and words[at - 1 : at] != ["this"]:
                found.add(f"the {word.removesuffix('s')}")
    for words in source:
        any_text = any_text or not TELLS_OF_TEXTS.isdisjoint(map(str.lower, words))
        found.update(phrase(words, noun) for at in range(len(words)) if (noun := noun_at(words, at)) and not noun.pointed and brought(words, noun))
    return frozenset(found) if any_text or found else NOTHING_WRITTEN


def is_foreign(words: Sequence[str]) -> bool:
    """True if a text or a writer speaks that a gold without texts knows nothing of: "the advisory adds that", "…, the blog entry reveals"."""
    for at, word in enumerate(words):
        if word not in FOREIGN or not at:
            continue
        start = at - 1 if words[at - 1] not in FOREIGN_KINDS else at - 2
        if start < 0 or words[start] != "the":
            continue
        verb = _past_aside(words, at + 1)
        following = list(words[verb + 1 : verb + 2])
        if words[verb : verb + 1] == ["is"] and following and following[0] in {"about", "written", "divided", "structured", "titled", "entitled", "silent"}:
            return True
        base = (BASES if word == "minutes" else THIRD).get(words[verb]) if verb < len(words) else None
        if base in WITH:
            if following and following[0] in WITH[base]:
                return True
        elif base in REMARKS or base in FOREIGN_REMARKS:
            return following != ["."] or words[start - 1 : start] == [","]
    return False


def _past_aside(words: Sequence[str], at: int) -> int:
    """The place after an aside of a few words and adverbs."""
    if words[at : at + 1] == [","]:
        at = next((place + 1 for place in range(at + 2, at + 8) if words[place : place + 1] == [","]), at)
    while at < len(words) and (words[at].endswith("ly") or words[at] in ADVERBS):
        at += 1
    return at


def _verb(words: Sequence[str], noun: Noun) -> int:
    """The place of the word after a noun and adverbs."""
    at = noun.after
    while at < len(words) and (words[at].endswith("ly") or words[at] in ADVERBS):
        at += 1
    return at


def _is_somebodys(words: Sequence[str]) -> bool:
    """True if somebody is said to have said the whole at its end: "…, the rabbi argued."."""
    end = len(words) - 1
    if end < 4 or words[end] != "." or words[end - 1] not in SPEAKERS_BEFORE:
        return False
    start = next((place for place in range(end - 2, max(end - 7, 0), -1) if words[place] == ","), -1)
    return start > 0 and not any(word.lower() in NOUNS or word in FOREIGN for word in words[start:end])


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
