"""A text as the place of a statement, or as the whole of a part: "in the article, …", "the tone of the passage"."""

from collections.abc import Sequence

from touchstone.scorers.summary.hard_fails.commentary.nouns import Noun, noun_at
from touchstone.scorers.summary.hard_fails.commentary.vocabulary import (
    ARTICLE,
    AUTHOR,
    AUTHORS,
    DOCUMENT,
    OF_ITS_OWN,
    OF_PART,
    PARTS,
    PIECE,
    PREPOSITIONS,
    READER,
    SAID_IN,
    SUMMARY,
    TEXT,
    THIRD,
    WRITERS,
)


def past_source(words: Sequence[str], at: int) -> int:
    """The place after another word for the text given ("the author of the article"); -1 if something else is there."""
    for end in range(at, min(at + 6, len(words))):
        if (
            (noun := noun_at(words, end))
            and noun.start == at
            and noun.determiner in {"the", "this"}
            and (noun.kind in {DOCUMENT, ARTICLE, TEXT, PIECE, SUMMARY} or noun.pointed)
        ):
            return noun.after
    return -1


def is_place(words: Sequence[str], noun: Noun) -> bool:
    """True for "In this article, …", "according to the text", "as described in the passage"."""
    before = words[noun.start - 1] if noun.start else ""
    earlier = list(words[max(0, noun.start - 9) : max(0, noun.start - 1)])
    following = list(words[noun.after : noun.after + 3])
    if following[:1] == ["of"]:
        return noun.kind in {AUTHOR, AUTHORS} and earlier[-1:] == ["according"] and past_source(words, noun.after + 1) > 0
    if before in {"in", "by", "within", "from"} and _is_said_in(noun, earlier, following[:1]):
        return noun.kind in {ARTICLE, TEXT, DOCUMENT, PIECE} or (noun.pointed and noun.determiner != "this")
    if not noun.pointed and _is_of_its_own(following):
        return False
    if before == "per" or (before == "to" and earlier[-1:] in (["according"], ["refer"])):
        return _is_authority(noun, earlier, following)
    if before == "on" and earlier[-1:] == ["based"]:
        return noun.kind in {ARTICLE, TEXT, PIECE} or noun.pointed
    if noun.kind in {AUTHOR, AUTHORS, READER}:
        return False
    if before == "from":
        return _is_taken_from(words, noun, earlier, following)
    return before in PREPOSITIONS and _opens_with_place(words, noun, following)


def _is_of_its_own(following: Sequence[str]) -> bool:
    """True if what follows makes it a text of its own: "the document, which was leaked"."""
    qualifier = following[1:2] if following[:1] == [","] else following[:1]
    return bool(qualifier) and qualifier[0] in OF_ITS_OWN


def _is_authority(noun: Noun, earlier: Sequence[str], following: Sequence[str]) -> bool:
    """True for "according to the text", "per the article", "as per the document"; False for "according to the author Jane Smith"."""
    if following and following[0][0].isupper():
        return False
    return noun.kind in {ARTICLE, TEXT, AUTHOR, AUTHORS, PIECE} or noun.pointed or (earlier[-1:] == ["as"] and noun.kind == DOCUMENT)


def _is_taken_from(words: Sequence[str], noun: Noun, earlier: Sequence[str], following: Sequence[str]) -> bool:
    """True for "from the provided text, …", "it is unclear from the article", "as we learn from the passage"."""
    if noun.pointed:
        opens = noun.start == 1 or not words[noun.start - 2][0].isalnum()
        if opens or not SAID_IN.isdisjoint(earlier) or "given" not in words[noun.start : noun.at]:
            return True
    if list(earlier[-2:]) == ["we", "learn"] and noun.kind in {TEXT, ARTICLE}:
        return True
    return "unclear" in earlier or "clear" in earlier or list(earlier[:3]) == ["as", "we", "learn"] or list(following[:2]) == [",", "we"]


def _opens_with_place(words: Sequence[str], noun: Noun, following: Sequence[str]) -> bool:
    """True if a clause opens with the text as its place: "In the article, …", "Overall, in this document we …"."""
    if not (noun.start == 1 or not words[noun.start - 2][0].isalnum() or words[0] == "overall"):
        return False
    if following[:1] == [","]:
        return noun.kind in {ARTICLE, TEXT, PIECE} or noun.pointed or _passive_saying(words[noun.after + 1 : noun.after + 9])
    return bool(following) and (following[0] in {"we", "you", "readers"} or list(following[:2]) in WRITERS)


def _is_said_in(noun: Noun, earlier: Sequence[str], following: Sequence[str]) -> bool:
    """True if something is said to be in the text: "as mentioned in the text", "it is not stated in the text who paid"."""
    impersonal = "it" in earlier and ("is" in earlier or "was" in earlier)
    if following and following[0][0].isalpha() and not (noun.pointed or impersonal or "as" in earlier):
        return False
    if any(word in SAID_IN or word == "read" for word in earlier[-2:]):
        return True
    if earlier[:2] == ["as", "can"] and noun.kind in {TEXT, ARTICLE}:
        return True
    passive = any(word in SAID_IN and earlier[at - 1] in {"is", "are", "not"} for at, word in enumerate(earlier) if at)
    return passive or ("mention" in earlier and ("no" in earlier or "not" in earlier))


def _passive_saying(words: Sequence[str]) -> bool:
    """True for "…, it is explained that", "…, the author describes"."""
    return list(words[:2]) in WRITERS or any(word in SAID_IN and words[at - 1] in {"is", "are"} for at, word in enumerate(words) if at)


def is_whole_of(words: Sequence[str], noun: Noun) -> bool:
    """True for "The tone of the article", "the rest of the document", "the main points made in the text"."""
    if noun.kind in {READER, AUTHORS} or not noun.start or words[noun.start - 1] not in {"of", "in", "from", "by"}:
        return False
    following = words[noun.after] if noun.after < len(words) else ""
    if following == "of" or (following[:1].isalpha() and following not in OF_PART and not noun.pointed and following not in THIRD):
        return False
    left = noun.start - 2
    if left >= 0 and words[left] in {"raised", "made", "discussed", "covered", "presented", "mentioned", "described", "given"}:
        left -= 1
    if left < 0 or words[left] not in PARTS:
        return False
    while left >= 0 and words[left] not in {"the", "this", "a"} and noun.start - left < 7:
        left -= 1
    return left <= 0 or words[left - 1] in {",", ":", ".", "overall", "and", "are", "is", "were"} or left + 1 == noun.start
