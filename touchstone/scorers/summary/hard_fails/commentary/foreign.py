"""Texts, writers and readers that a gold knows nothing of: where it tells of no text at all, the one that speaks can only be the text given."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from touchstone.scorers.summary.hard_fails.commentary.nouns import past_adverbs
from touchstone.scorers.summary.hard_fails.commentary.story import NOBODY_SPEAKS, NOTHING_WRITTEN, is_somebodys, signs_it
from touchstone.scorers.summary.hard_fails.commentary.vocabulary import BASES, FOREIGN, FOREIGN_KINDS, FOREIGN_REMARKS, REMARKS, THIRD, WITH

#: So many words an aside after a noun may have.
_ASIDE = 8
#: These are the given text's only with a word before: "press release", "news item".
_WITH_A_KIND = frozenset(("release", "item"))
_SAID_TO_BE = frozenset(("about", "written", "divided", "structured", "titled", "entitled", "silent"))
_READS = frozenset(("told", "informed", "learn", "read"))


def is_foreign(words: Sequence[str], told: AbstractSet[str]) -> bool:
    """True if a text, a writer or a reader comes up that is not in the gold. `told`: what that tells of (`story.told`); nothing is foreign without it."""
    if is_somebodys(words):
        return False
    if NOBODY_SPEAKS in told and _reads(words):
        return True
    return (
        NOTHING_WRITTEN in told
        and not signs_it(words)
        and any(_speaks(words, at) for at, word in enumerate(words) if word in FOREIGN and at and f"the {word}" not in told)
    )


def _reads(words: Sequence[str]) -> bool:
    """True for "later on we are told that", "we learn how"."""
    for at, word in enumerate(words):
        if word == "we":
            verb = at + 1 + (words[at + 1 : at + 2] == ["are"])
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


def _past_aside(words: Sequence[str], at: int) -> int:
    """The place after an aside of a few words: "the reporter, visibly moved, depicts"."""
    if words[at : at + 1] != [","]:
        return at
    return next((place + 1 for place in range(at + 2, at + _ASIDE) if words[place : place + 1] == [","]), at)
