"""Texts and writers that belong to the story: those that the gold tells of, that somebody acts on, and that do what only people and ways do."""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from touchstone.scorers.summary.hard_fails.commentary.nouns import Noun, brought, noun_at, past_adverbs, phrase
from touchstone.scorers.summary.hard_fails.commentary.vocabulary import (
    ACTED_ON,
    ADDRESSES,
    AUDIENCE,
    AUTHOR,
    AUTHORS,
    BRINGS,
    BRINGS_AUTHOR,
    CARRIERS,
    DOCUMENT,
    FINDINGS,
    FOREIGN,
    LICENSED,
    NOUNS,
    PLAN,
    READER,
    SHAPES,
    SPEAKER,
    SPEAKERS_BEFORE,
    TALKS,
    TELLS_OF_TEXTS,
    THIRD,
    UNSAID,
)

#: Among what a gold tells of: that it has no text in it, nobody who says "we" or "I", and nothing that is not known.
NOTHING_WRITTEN, NOBODY_SPEAKS, NOTHING_UNSAID = "nothing is written", "nobody speaks", "nothing is unsaid"
_WE = frozenset(("we", "us", "our", "i", "my"))
#: What is not said of a plan or a law, but of the text given.
_REMARKED, _FURTHER = frozenset(("mention", "discuss", "summarize", "summarise", "highlight")), frozenset(("also", "further", "additionally"))
#: Where a way leads.
_WHERE = frozenset(("into", "onto", "under", "beneath", "below", "past", "behind", "across", "alongside", "towards", "between"))
_PEOPLE = frozenset((AUTHOR, AUTHORS, SPEAKER, READER))
_POSSESSIVES = frozenset(("his", "her", "their", "its", "my", "our"))
#: Other things that are signed and passed: where one is named, "signed it" may mean that.
_SIGNED = BRINGS | {"bill", "law", "act", "plan", "order", "deal", "budget", "ruling", "proposal", "amendment"}


def belongs(words: Sequence[str], noun: Noun, following: Sequence[str], introduced: AbstractSet[str]) -> bool:
    """True if a noun for a text or its writer is part of the story by what is said of it.

    `following`: the next sentence's words. `introduced`: kinds of texts that the story has brought up before.
    """
    if noun.pointed:
        return False
    if is_somebodys(words) or is_reported(words, noun):
        return True
    if noun.kind in _PEOPLE:
        return _is_a_person(words, noun) or (noun.kind == AUTHORS and _finds(words, noun))
    if PLAN in introduced and noun.kind == DOCUMENT and _states(words, noun):
        return True
    return _describes_a_line(words, noun) or _is_acted_on(words, noun, following)


def told(narrative: Iterable[Sequence[str]], source: Iterable[Sequence[str]]) -> frozenset[str]:
    """The texts and writers that a gold tells of, as `nouns.phrase` writes them.

    `narrative`: the words of the sentences of narrative and facts, which are about their subject alone, so that each text in them is part of it.
    `source`: those of the source text, which may speak of itself: in it only a text of its own counts ("a letter", "the article in the Herald").
    """
    found: set[str] = {NOTHING_WRITTEN, NOBODY_SPEAKS, NOTHING_UNSAID}
    for own, sentences in ((False, narrative), (True, source)):
        for words in sentences:
            lower = [word.lower() for word in words]
            if not TELLS_OF_TEXTS.isdisjoint(lower):
                found.discard(NOTHING_WRITTEN)
            if not _WE.isdisjoint(lower):
                found.discard(NOBODY_SPEAKS)
            if not UNSAID.isdisjoint(lower):
                found.discard(NOTHING_UNSAID)
            found.update(_brought(words) if own else _named(lower))
            found.update(f"the {word}" for word, by in LICENSED.items() if not own and not by.isdisjoint(lower))
    return frozenset(found)


def _named(words: Sequence[str]) -> Iterator[str]:
    """Every text and writer in words, and those that a carrier of text stands for."""
    for at, word in enumerate(words):
        if word in CARRIERS:
            yield from ("the text", "the document", "the passage")
        elif word in BRINGS_AUTHOR:
            yield from ("the author", "the writer")
        elif word.removesuffix("s") in NOUNS and words[at - 1 : at] != ["this"]:
            yield f"the {word.removesuffix('s')}"


def _brought(words: Sequence[str]) -> Iterator[str]:
    """The texts and writers of their own in words."""
    for at in range(len(words)):
        if (noun := noun_at(words, at)) and not noun.pointed and brought(words, noun):
            yield phrase(words, noun)


def sums_up_itself(words: Sequence[str], noun: Noun) -> bool:
    """True for "the text under review first summarises …": even a treaty that the gold tells of does not do that."""
    at = past_adverbs(words, noun.after)
    return at < len(words) and THIRD.get(words[at]) in {"summarise", "summarize"}


def is_somebodys(words: Sequence[str]) -> bool:
    """True if somebody is said to have said the whole at its end: "…, the rabbi argued.", "…, says the coach."."""
    start = next((place for place in range(len(words) - 3, max(len(words) - 9, 0), -1) if words[place] == ","), -1)
    tail = words[start + 1 :]
    if start < 0 or tail[-1] != "." or any(word.lower() in NOUNS or word in FOREIGN for word in tail):
        return False
    return (tail[0] in SPEAKERS_BEFORE and tail[1] != "that") or tail[-2] in SPEAKERS_BEFORE


def is_reported(words: Sequence[str], noun: Noun) -> bool:
    """True if somebody in the story speaks of the text: "the judge ruled that the document …"."""
    if noun.start > 2 and words[noun.start - 1] == "whether":
        return True
    for at in range(max(0, noun.start - 10), noun.start):
        if words[at] in SPEAKERS_BEFORE and not any(words[before] in NOUNS for before in range(max(0, at - 3), at)):
            return words[noun.start - 1] in {"that", "whether", words[at], "the", "a", "and", "how", "an"} or words[at + 1 : at + 2] == ["that"]
    return False


def _is_a_person(words: Sequence[str], noun: Noun) -> bool:
    """True for "argues with his neighbour", "speaks to the baker", "tells her sister"; False for "speaks to the reader"."""
    at = past_adverbs(words, noun.after)
    verb, after = (words[at], list(words[at + 1 : at + 5])) if at < len(words) else ("", [])
    if not after or not AUDIENCE.isdisjoint(after):
        return False
    if verb in ADDRESSES:
        return after[0] in _POSSESSIVES or after[0][0].isupper() or (after[0] in {"the", "a", "an"} and not {"that", "to", "about"}.isdisjoint(after[2:3]))
    return verb in TALKS and after[0] in {"with", "to"} and bool(after[1:]) and (after[1] in _POSSESSIVES | {"the", "a", "an"} or after[1][0].isupper())


def _finds(words: Sequence[str], noun: Noun) -> bool:
    """True for "the authors conclude that", "the authors report no link"."""
    at = past_adverbs(words, noun.after)
    return at < len(words) and words[at] in FINDINGS


def _states(words: Sequence[str], noun: Noun) -> bool:
    """True for "the document states", False for "the document also mentions"."""
    at = past_adverbs(words, noun.after)
    return at < len(words) and THIRD.get(words[at], "mention") not in _REMARKED and _FURTHER.isdisjoint(words[noun.after : at])


def _describes_a_line(words: Sequence[str], noun: Noun) -> bool:
    """True for "the passage describes a wide arc", "the passage opens into a cave"."""
    at = past_adverbs(words, noun.after)
    if (
        words[noun.at] == "passage"
        and words[at + 1 : at + 2]
        and words[at + 1] in _WHERE
        and THIRD.get(words[at]) not in {"delve", "look", "dive", "go", "move"}
    ):
        return True
    return words[at + 1 : at + 2] in (["a"], ["an"]) and not SHAPES.isdisjoint(words[at + 2 : at + 5])


def _is_acted_on(words: Sequence[str], noun: Noun, following: Sequence[str]) -> bool:
    """True for "The text states …, and both delegations signed it", also where a sentence of its own says so."""
    rest = words[noun.after :]
    return _SIGNED.isdisjoint(rest) and (signs_it(rest) or (_SIGNED.isdisjoint(following) and signs_it(following)))


def signs_it(words: Sequence[str]) -> bool:
    """True for "signed it", "it was signed"."""
    for at, word in enumerate(words):
        if word in ACTED_ON and (
            words[at + 1 : at + 2] == ["it"] or words[max(0, at - 2) : at] in (["it", "was"], ["it", "is"], ["has", "been"], ["and", "was"])
        ):
            return True
    return False
