"""Sentences about the text that was given to the summariser: as speaker, as place, or as subject.

A sentence is read as words and marks. Each word for a text or its writer is judged by the words left of it (article, adjectives, preposition) and right
of it (qualifiers, the verb). Nouns differ: *passage, text, excerpt* hardly ever are what a summary is about; *article, author* may be,
*document, summary* often are; *report, study, treaty, letter* are the subject unless they are pointed at ("the provided report").
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from touchstone.scorers.summary.hard_fails.commentary.nouns import Noun, brought, noun_at
from touchstone.scorers.summary.hard_fails.commentary.source_places import is_place, is_whole_of
from touchstone.scorers.summary.hard_fails.commentary.source_verbs import is_silent, part_speaks, speaks, sums_up
from touchstone.scorers.summary.hard_fails.commentary.story import is_reported
from touchstone.scorers.summary.hard_fails.commentary.vocabulary import (
    ARTICLE,
    AUTHOR,
    AUTHORS,
    BRINGS_AUTHOR,
    DOCUMENT,
    INDEFINITE,
    NO_SUPPLY,
    PARTS,
    PARTS_SPEAKING,
    PIECE,
    READER,
    SUPPLIED,
    TEXT,
    THIRD,
    WORK,
)


def is_about_its_source(words: Sequence[str], introduced: AbstractSet[str], own: AbstractSet[int] = frozenset()) -> bool:
    """True if words, quotations taken out, speak of the text given.

    `introduced`: kinds of texts that the story itself has brought up before. `own`: places of nouns that belong to the story.
    """
    here = introduced
    for at, word in enumerate(words):
        if word in BRINGS_AUTHOR:
            here = here | {AUTHOR, AUTHORS}
        if word in PARTS_SPEAKING and DOCUMENT not in here and part_speaks(words, at):
            return True
        noun = noun_at(words, at)
        if noun is None or at in own:
            continue
        if _is_commentary(words, noun, noun.kind in here and not noun.pointed):
            return True
        here = here | brought(words, noun)
    return False


def _is_commentary(words: Sequence[str], noun: Noun, introduced: bool) -> bool:
    """True if a noun is the text given, as speaker, place or subject."""
    if _is_supplied(words, noun):
        return True
    if noun.kind == WORK and not (noun.pointed and noun.determiner != "this") and not sums_up(words, noun):
        return False
    if words[noun.at] in {"story", "narrative"} and not (noun.pointed or noun.genre):
        return False
    if noun.determiner in INDEFINITE or noun.determiner in {"that", "those", "which", "whose", "our", "my"} or (noun.modified and not noun.pointed):
        return False
    if not noun.determiner and not noun.pointed and noun.kind != READER:
        return False
    if introduced:
        return noun.kind == TEXT and is_silent(words, noun.after)
    if noun.genre and noun.kind not in {ARTICLE, PIECE, WORK, AUTHOR, AUTHORS} and not noun.pointed:
        return False
    if is_reported(words, noun):
        return False
    if noun.possessive:
        return _possesses(words, noun)
    return speaks(words, noun) or is_place(words, noun) or is_whole_of(words, noun)


def _is_supplied(words: Sequence[str], noun: Noun) -> bool:
    """True for "the provided notes", "the uploaded transcript", anywhere."""
    if noun.determiner not in {"the", "this", "your"} or noun.kind == READER or words[noun.at] in NO_SUPPLY:
        return False
    following = words[noun.at + 1] if noun.at + 1 < len(words) else ""
    return following not in {"field", "box", "by", "file", "editor"} and not SUPPLIED.isdisjoint(words[noun.start : noun.at])


def _possesses(words: Sequence[str], noun: Noun) -> bool:
    """True for "The article's main argument", "the author's point"."""
    following = words[noun.at + 1 : noun.at + 4]
    if any(word in {"author", "writer"} for word in following):
        return any(word in THIRD for word in words[noun.at + 2 : noun.at + 5])
    return any(word in PARTS for word in following)
