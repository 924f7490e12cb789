"""Nouns for texts and their writers in a sentence, with their surroundings, and the texts that a story brings up."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from touchstone.scorers.summary.hard_fails.commentary.vocabulary import (
    ACTED_ON,
    ADVERBS,
    ARTICLE,
    AUTHOR,
    AUTHORS,
    BASES,
    BOUNDARY,
    BRINGS,
    BRINGS_AUTHOR,
    DETERMINERS,
    DISCUSSING,
    DOCUMENT,
    GENRE,
    HANDED,
    IN_QUESTION,
    INDEFINITE,
    NEUTRAL,
    NO_TEXT,
    NOUNS,
    PAST,
    PIECE,
    PLAN,
    PLANS,
    POINTING,
    STATING,
    SUMMARY,
    TEXT,
    THIRD,
    WORK,
)

_TOKEN = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)*|\d[\d.,]*|[^\w\s]")
#: So many words and marks of a sentence are read.
TOKENS_MAX = 400


class Noun(NamedTuple):
    """A word for a text or its writer, with its surroundings."""

    kind: str
    at: int
    start: int  # of its noun phrase
    determiner: str
    pointed: bool  # "the provided …", "… you sent", "this …"
    genre: bool
    modified: bool  # by any other word: "the discharge summary"
    possessive: bool
    after: int  # first word after what qualifies it


def tokens(text: str) -> list[str]:
    """The words and marks of a text, in small letters but for names inside it."""
    found = _TOKEN.findall(text)[:TOKENS_MAX]
    lower = [word.lower() for word in found]
    return [
        small if at == 0 or word.isupper() or small in NOUNS or small in DETERMINERS or not (found[at - 1].isalnum() or found[at - 1] in "-'&") else word
        for at, (word, small) in enumerate(zip(found, lower, strict=True))
    ]


def word_kind(word: str) -> str | None:
    """Which kind of text or writer a word denotes; None for other words."""
    return NOUNS.get(word)


def verb_class(word: str) -> str | None:
    """True if a verb discusses, states, or speaks of a text with the right word after it, and its form: "discuss:s"."""
    for form, forms in (("s", THIRD), ("base", BASES), ("ed", PAST)):
        if base := forms.get(word):
            kind = "discuss" if base in DISCUSSING else "state" if base in STATING else "with"
            return f"{kind}:{form}"
    return None


def introduces(words: Sequence[str]) -> frozenset[str]:
    """The kinds of texts that a sentence brings into the story: "a leaked document", "the treaty"."""
    found: frozenset[str] = frozenset()
    for at, word in enumerate(words):
        if word in BRINGS and at and words[at - 1] not in {"i", "he", "she", "it", "they", "we", "who", "that", "which", "to"} and _is_indefinite(words, at):
            found |= {DOCUMENT, TEXT}
        if word in PLANS and not {"a", "an"}.isdisjoint(words[max(0, at - 2) : at]):
            found |= {PLAN}
        if noun := noun_at(words, at):
            found |= brought(words, noun)
        elif word in {"documents", "articles", "texts", "essays", "summaries"}:
            found |= {word.removesuffix("s")}
        if word in BRINGS_AUTHOR:
            found |= {AUTHOR, AUTHORS}
    return found


def _is_indefinite(words: Sequence[str], at: int) -> bool:
    """True if a noun has an article, possessive, name or adjective before it, and is not pointed at."""
    left = list(words[max(0, at - 4) : at])
    return any(word in DETERMINERS for word in left) and not any(word in POINTING or word == "your" for word in left) and left[-1:] != ["this"]


def brought(words: Sequence[str], noun: Noun) -> frozenset[str]:
    """What a noun brings up: a text of its own, "an article in the Herald", "the discharge summary", "signed the text", "the text was adopted"."""
    if noun.pointed or noun.determiner in {"this", "these", "no", "any"} or words[noun.at] in NO_TEXT:
        return frozenset()
    qualified = noun.after < len(words) and words[noun.after] in {"of", "by", "seen", "signed", "published", "filed", "sent", "written", "obtained"}
    acted_on = (noun.start and words[noun.start - 1] in ACTED_ON) or not ACTED_ON.isdisjoint(words[noun.after + 1 : noun.after + 3])
    if (
        noun.determiner in INDEFINITE
        or noun.modified
        or (acted_on and words[noun.after - 1] != "by")
        or (qualified and noun.kind in {DOCUMENT, ARTICLE, TEXT, SUMMARY, PIECE})
    ):
        more = {DOCUMENT, TEXT} if noun.kind in {DOCUMENT, TEXT, WORK, PIECE} else {TEXT} if noun.kind == ARTICLE else set()
        return frozenset({noun.kind, *more})
    return frozenset()


def past_adverbs(words: Sequence[str], at: int) -> int:
    """The first place from one on that holds no adverb."""
    while at < len(words) and (words[at].endswith("ly") or words[at] in ADVERBS):
        at += 1
    return at


def phrase(words: Sequence[str], noun: Noun) -> str:
    """A noun as the texts are written that a gold tells of: "the passage", or "this passage", whatever its number; empty for one that was handed over."""
    if noun.pointed and noun.determiner != "this":
        return ""
    word = words[noun.at].removesuffix("'s").removesuffix("'")
    return f"{'this' if noun.determiner == 'this' else 'the'} {word.removesuffix('s')}"


def noun_at(words: Sequence[str], at: int) -> Noun | None:
    """The noun at a place with its surroundings; None if the word there is not for a text or writer."""
    word = words[at]
    possessive = word.endswith(("'s", "s'"))
    kind = NOUNS.get(word.removesuffix("'s").removesuffix("'"))
    if kind is None:
        return None
    start, pointed, genre, modified = at, False, False, False
    while start and at - start < 5:
        left = words[start - 1]
        if left in DETERMINERS or left in BOUNDARY or not left[0].isalnum():
            break
        if left in POINTING:
            pointed = True
        elif left in GENRE or NOUNS.get(left) in {ARTICLE, TEXT, DOCUMENT, PIECE}:
            genre = True
        elif left not in NEUTRAL and not left.endswith("ly"):
            modified = True
        start -= 1
    determiner = words[start - 1] if start and words[start - 1] in DETERMINERS else ""
    if determiner:
        start -= 1
    elif at != start and not pointed:
        modified = True
    after, handed = _handed(words, at + 1)
    if word == "post" and genre:
        kind, genre = PIECE, False
    return Noun(kind, at, start, determiner, pointed or handed or determiner in {"this", "your"}, genre, modified, possessive, after)


def _handed(words: Sequence[str], after: int) -> tuple[int, bool]:
    """What follows a noun that was handed over, and whether it was: "the text you sent me", "the text above"."""
    first, second = (*words[after : after + 2], "", "")[:2]
    if [first, second] in IN_QUESTION:
        return after + 2, second == "hand"
    you = {"you", "you've"}
    if first in you or (first in {"that", "which"} and second in you):
        after += 1 if first in you else 2
        while after < len(words) and words[after] in HANDED:
            after += 1
        return after, True
    if first in {"provided", "given", "above", "below", "supplied", "presented"} and second and not second.startswith(("by", "to")):
        return after + 1 + (second in {"above", "below", "here"}), True
    return after, False
