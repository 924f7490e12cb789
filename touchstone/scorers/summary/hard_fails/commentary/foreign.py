"""Texts, writers and readers that a gold knows nothing of: where it tells of no text at all, the one that speaks can only be the text given."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from touchstone.scorers.summary.hard_fails.commentary.nouns import past_adverbs
from touchstone.scorers.summary.hard_fails.commentary.story import NOBODY_SPEAKS, NOTHING_WRITTEN, is_somebodys, signs_it
from touchstone.scorers.summary.hard_fails.commentary.vocabulary import (
    ARTICLE,
    BASES,
    DOCUMENT,
    FOREIGN,
    FOREIGN_KINDS,
    FOREIGN_REMARKS,
    NOUNS,
    PAST,
    PIECE,
    REMARKS,
    TEXT,
    THIRD,
    WITH,
)

#: So many words an aside after a noun may have.
_ASIDE = 8
#: These are the given text's only with a word before: "press release", "news item".
_WITH_A_KIND = frozenset(("release", "item"))
_SAID_TO_BE = frozenset(("about", "written", "divided", "structured", "titled", "entitled", "silent"))
#: Before the "I" of somebody who writes.
_BEFORE_I = frozenset(("that", "which", "what", "as", "and", "but", "so", "if", "because", "when", "where", "far"))
_TEXTS = frozenset((ARTICLE, TEXT, DOCUMENT, PIECE))
#: What they are said to have done, and a text of the story hardly ever.
_TOLD = REMARKS - {"present", "introduce", "address", "investigate", "argue"} | {"mention", "recount", "narrate", "portray", "depict"}
_ABOUT = frozenset(("the", "a", "an", "how", "why", "what", "who", "whether"))
_LENGTHS, _SIZES = (
    frozenset(("line", "lines", "word", "words", "page", "pages", "paragraph", "paragraphs")),
    frozenset(("long", "only", "just", "half", "barely", "hardly")),
)
#: Between a text and its verb: "the interview with the baker revolves around".
_WITH_WHOM = frozenset(("with", "by", "from", "about", "on"))
_SHOWN = frozenset(("introduced", "shown", "given", "taken", "left"))
_READS = frozenset(("told", "informed", "learn", "read"))


def is_foreign(words: Sequence[str], told: AbstractSet[str]) -> bool:
    """True if a text, a writer or a reader comes up that is not in the gold. `told`: what that tells of (`story.told`); nothing is foreign without it."""
    if is_somebodys(words):
        return False
    if NOBODY_SPEAKS in told and (_reads(words) or _writes(words)):
        return True
    if _has_length(words, told):
        return True
    return (
        NOTHING_WRITTEN in told
        and not signs_it(words)
        and any(
            (word in FOREIGN and _speaks(words, at)) or (NOUNS.get(word) in _TEXTS and _spoke(words, at))
            for at, word in enumerate(words)
            if at and f"the {word}" not in told
        )
    )


def opens_with_it(words: Sequence[str]) -> bool:
    """True for a first sentence "It begins with … and ends with a look at", "It discusses": nothing was named before that "it" could be."""
    at = past_adverbs(words, 1)
    if words[:3] in (["it", "is", "about"], ["this", "is", "about"]) and words[3:4]:
        return words[3] in _ABOUT or words[3][0].isupper()
    if words[:1] != ["it"] or at >= len(words) - 1:
        return False
    base = THIRD.get(words[at])
    return base in REMARKS or (base in {"begin", "start", "open"} and not {"look", "overview", "summary", "description", "account"}.isdisjoint(words[at:]))


def _reads(words: Sequence[str]) -> bool:
    """True for "later on we are told that", "we learn how"."""
    for at, word in enumerate(words):
        if word == "we":
            verb = at + 1 + (words[at + 1 : at + 2] == ["are"])
            if words[verb - 1] == "are" and words[verb : verb + 1] and words[verb] in _SHOWN:
                return True
            if not _READS.isdisjoint(words[verb : verb + 1]) and words[verb + 1 : verb + 2] in (
                ["that"],
                ["how"],
                ["about"],
                ["of"],
                ["why"],
                ["who"],
                ["what"],
            ):
                return True
    return False


def _writes(words: Sequence[str]) -> bool:
    """True for "I could not make out": nobody in the gold says "I". False for "Elizabeth I was"."""
    return any(
        word in {"I", "i"} and (at == 0 or not words[at - 1][0].isalnum() or words[at - 1] in _BEFORE_I) and words[at + 1 : at + 2]
        for at, word in enumerate(words)
    )


def _has_length(words: Sequence[str], told: AbstractSet[str]) -> bool:
    """True for "the item, only a few lines long, announces": what has lines, words or pages is the text given, whatever it is called."""
    for at in range(1, len(words) - 4):
        if words[at] != "," or words[at - 2 : at - 1] not in (["the"], ["this"]) or f"the {words[at - 1]}" in told:
            continue
        end = next((place for place in range(at + 2, min(at + _ASIDE, len(words))) if words[place] == ","), -1)
        if end > 0 and not _LENGTHS.isdisjoint(words[at:end]) and not _SIZES.isdisjoint(words[at:end]):
            return THIRD.get(words[past_adverbs(words, end + 1)] if end + 1 < len(words) else "") is not None
    return False


def _speaks(words: Sequence[str], at: int) -> bool:
    """True for "the advisory adds that", "…, the blog entry reveals", "according to the news item"."""
    kind = words[at - 1] in FOREIGN_KINDS
    start = at - 1 - kind
    if start < 0 or words[start] not in {"the", "this"} or (words[at] in _WITH_A_KIND and not kind):
        return False
    if words[start - 1 : start] == ["to"] and words[max(0, start - 2) : start - 1] == ["according"]:
        return True
    verb = past_adverbs(words, _past_aside(words, at + 1))
    following = words[verb + 1] if verb + 1 < len(words) else "."
    if words[verb : verb + 1] == ["is"]:
        return following in _SAID_TO_BE
    base = (BASES if words[at] == "minutes" else THIRD).get(words[verb]) if verb < len(words) else None
    if base in WITH:
        return following in WITH[base]
    if base not in REMARKS and base not in FOREIGN_REMARKS:
        return False
    return following != "." or (start > 0 and words[start - 1] in {",", "as"})


def _spoke(words: Sequence[str], at: int) -> bool:
    """True for "the article described", "the text mentioned": the past of what such texts do."""
    if words[at - 1] not in {"the", "this"}:
        return False
    verb = past_adverbs(words, _past_aside(words, at + 1))
    return words[verb + 1 : verb + 2] not in ([], ["by"], ["in"], ["."], ["as"]) and PAST.get(words[verb]) in _TOLD


def _past_aside(words: Sequence[str], at: int) -> int:
    """The place after an aside or a qualifier of a few words: "the reporter, visibly moved, depicts", "the interview with the baker revolves"."""
    if words[at : at + 1] and words[at] in _WITH_WHOM:
        return next((place for place in range(at + 2, min(at + _ASIDE, len(words))) if words[place] in THIRD), at)
    if words[at : at + 1] != [","]:
        return at
    return next((place + 1 for place in range(at + 2, at + _ASIDE) if words[place : place + 1] == [","]), at)
