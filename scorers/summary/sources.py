"""Whether a sentence makes the text that was given to the summariser its speaker, its place or its subject.

A sentence is read as words and marks. Each word for a text or its writer is looked at with what stands left of it (its article, adjectives, preposition)
and right of it (what qualifies it, the verb). Nouns differ: *passage, text, excerpt* hardly ever are what a summary is about; *article, author* may be,
*document, summary* often are; *report, study, treaty, letter* are the subject unless they are pointed at ("the provided report").
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from touchstone.scorers.summary.nouns import Noun, brought, noun_at
from touchstone.scorers.summary.source_words import (
    ADVERBS,
    ARTICLE,
    AUTHOR,
    AUTHORS,
    BASES,
    BRINGS_AUTHOR,
    DEEDS,
    DISCUSSING,
    DOCUMENT,
    INDEFINITE,
    KINDS,
    NOUNS,
    OBJECTS,
    OF_CONTENT,
    OF_FACT,
    OF_ITS_OWN,
    OF_PART,
    PARTS,
    PAST,
    PIECE,
    PREPOSITIONS,
    READER,
    SAID_IN,
    SPEAKERS_BEFORE,
    STATING,
    SUMMARY,
    TEXT,
    THIRD,
    WITH,
    WORK,
    WRITERS,
)


def is_about_its_source(words: Sequence[str], introduced: AbstractSet[str]) -> bool:
    """Whether words, quotations taken out, speak of the text given. `introduced`: kinds of texts that the story itself has brought up before."""
    here = introduced
    for at, word in enumerate(words):
        if word in BRINGS_AUTHOR:
            here = here | {AUTHOR, AUTHORS}
        noun = noun_at(words, at)
        if noun is None:
            continue
        if _is_commentary(words, noun, noun.kind in here and not noun.pointed):
            return True
        here = here | brought(words, noun)
    return False


def _is_commentary(words: Sequence[str], noun: Noun, introduced: bool) -> bool:
    """Whether a noun is the text given, as speaker, place or subject."""
    if noun.kind == WORK and not (noun.pointed and noun.determiner != "this"):
        return False
    if words[noun.at] in {"story", "narrative"} and not (noun.pointed or noun.genre):
        return False
    if noun.determiner in INDEFINITE or noun.determiner in {"that", "those", "which", "whose", "our", "my"} or (noun.modified and not noun.pointed):
        return False
    if not noun.determiner and not noun.pointed and noun.kind != READER:
        return False
    if introduced:
        return noun.kind == TEXT and _is_silent(words, noun.after)
    if noun.genre and noun.kind not in {ARTICLE, PIECE, WORK, AUTHOR, AUTHORS} and not noun.pointed:
        return False
    if _is_reported(words, noun):
        return False
    if noun.possessive:
        return _possesses(words, noun)
    return _speaks(words, noun) or _is_place(words, noun) or _is_whole_of(words, noun)


def _is_reported(words: Sequence[str], noun: Noun) -> bool:
    """Whether somebody in the story speaks of the text: "the judge ruled that the document …"."""
    if noun.start > 2 and words[noun.start - 1] == "whether":
        return True
    for at in range(max(0, noun.start - 10), noun.start):
        if words[at] in SPEAKERS_BEFORE and not any(words[before] in NOUNS for before in range(max(0, at - 3), at)):
            return words[noun.start - 1] in {"that", "whether", words[at], "the", "a", "and", "how", "an"} or words[at + 1 : at + 2] == ["that"]
    return False


def _possesses(words: Sequence[str], noun: Noun) -> bool:
    """As in "The article's main argument", "the author's point"."""
    following = words[noun.at + 1 : noun.at + 4]
    return any(word in PARTS or word in {"author", "writer"} for word in following)


def _speaks(words: Sequence[str], noun: Noun) -> bool:
    """Whether the noun is what a verb of saying is about: "The article discusses", "the text does not say"."""
    at = _verb_place(words, noun)
    if at < 0:
        return False
    if words[at + 1 : at + 2] == ["no"] and words[at] in OF_FACT:
        return noun.kind in {DOCUMENT, ARTICLE, TEXT} or noun.pointed
    verb, following = words[at] if at < len(words) else "", words[at + 1 : at + 6]
    if verb in {"does", "do", "doesn't", "don't", "did", "didn't"}:
        return _is_silent(words, at) and noun.kind not in {SUMMARY, AUTHORS} and (verb not in {"did", "didn't"} or noun.pointed)
    if words[noun.start - 1 : noun.start] in (["which"], ["whom"], ["what"], ["as"]) and verb in {
        "calls",
        "sees",
        "names",
        "terms",
        "dubs",
        "puts",
        "attributes",
        "considers",
    }:
        return noun.kind in {ARTICLE, TEXT, AUTHOR, PIECE} or noun.pointed
    if verb in {"is", "was", "are", "were", "has", "will", "can"}:
        return _is_said_to_be(words, noun, at)
    third = BASES.get(verb) if noun.kind == AUTHORS or (noun.kind == READER and words[noun.at].endswith("s")) else THIRD.get(verb)
    base = third or (PAST.get(verb) if noun.pointed else None)
    if base is None:
        if noun.pointed and verb in {"contains", "includes", "provides", "offers", "gives", "shows", "concerns", "covers", "consists"}:
            return True
        # Any other verb: a plural noun in its place ("the text files of …") is hardly ever followed by an object.
        verbal = len(verb) > 3 and verb.endswith("s") and not verb.endswith(("ss", "us")) and verb.islower() and verb not in DEEDS
        open_kind = noun.kind in {TEXT, AUTHOR} or (noun.pointed and noun.kind in {ARTICLE, DOCUMENT, PIECE})
        return verbal and open_kind and bool(following) and (following[0] in OBJECTS or following[0][0].isdigit())
    no_object = {"was", "were", "are", "have", "had", "and", "from"} | ({"of"} if base not in {"tell", "warn", "complain", "speak"} else set())
    if following[:1] and following[0] in no_object:
        return False  # a noun, not a verb: "the text notes of the organist"
    return _says(noun, base, following)


def _verb_place(words: Sequence[str], noun: Noun) -> int:
    """Where the verb of a noun stands: after what qualifies the noun, an aside and adverbs; -1 where what follows makes it a text of its own."""
    at = noun.after
    if words[at : at + 1] == ["of"]:
        at = _past_source(words, at + 1)
        if at < 0:
            return -1
    elif words[at : at + 1] == ["from"] and noun.pointed:
        while at < len(words) and words[at] not in THIRD and at < noun.after + 6:
            at += 1
    if words[at : at + 1] == [","]:
        aside = next((size for size in range(2, 6) if words[at + size : at + size + 1] == [","]), 0)
        if not aside or (words[at + 1] not in {"in", "for", "however", "then", "too", "like"} and not words[at + 1].endswith("ly")):
            return -1
        at += aside + 1
    while at < len(words) and (words[at].endswith("ly") or words[at] in ADVERBS):
        at += 1
    return at


def _is_silent(words: Sequence[str], at: int) -> bool:
    """As in "… does not say"."""
    following = words[at + 1 : at + 6]
    rest = [word for word in following if word != "not" and not word.endswith("ly")]
    negated = words[at : at + 1] and (words[at].endswith("n't") or (words[at] in {"does", "do", "did"} and following[:1] == ["not"]))
    base = rest[0] if rest else ""
    return bool(negated) and (base in DISCUSSING or base in STATING or base in {"provide", "give", "include", "contain", "go", "make"})


def _says(noun: Noun, base: str, following: Sequence[str]) -> bool:
    """Whether a noun of this kind with this verb is the text given or its writer."""
    if base in WITH and not (base in {"conclude", "tell"} and noun.pointed):
        fits = bool(following) and following[0] in WITH[base]
        if base in {"give", "provide", "offer", "contain", "include"} and not (noun.pointed or noun.kind == AUTHOR):
            fits = fits and any(word in OF_CONTENT for word in following[:5])
        if base == "take":
            fits = fits and not {"reader", "readers", "us", "look", "view", "stance"}.isdisjoint(following[1:5])
        if base in {"use", "make", "ask", "call", "draw"}:
            fits = fits and (noun.kind == AUTHOR or (base == "call" and noun.kind in {ARTICLE, TEXT, PIECE}))
        if base in {"seem", "appear"}:
            fits = fits and any(word in {"cut", "incomplete", "truncated", "missing", "end", "about", "discuss", "describe"} for word in following)
        if base == "fail":
            fits = fits and any(word in DISCUSSING or word in STATING or word in {"provide", "give"} for word in following[1:3])
        if base == "find":
            fits = fits and noun.kind not in {AUTHOR, AUTHORS, DOCUMENT}
        if base == "serve":
            fits = fits and any(word in KINDS for word in following)
        return fits or (base == "conclude" and noun.kind in {AUTHOR, AUTHORS, ARTICLE})
    if noun.kind == SUMMARY:
        return base in DISCUSSING - {"mention", "detail", "recommend", "suggest"} or noun.pointed
    if noun.kind == PIECE and not noun.pointed and not noun.genre:
        return base in DISCUSSING
    if noun.kind == AUTHORS and not noun.pointed:
        return base not in {"say", "tell", "claim", "report", "propose", "follow", "warn", "urge"}
    if noun.kind == READER:
        return base in {"tell", "say"}
    return True


def _is_said_to_be(words: Sequence[str], noun: Noun, at: int) -> bool:
    """As in "The text is about bees", "This document is a discharge letter", "the reader is told"."""
    following = words[at + 1 : at + 7]
    if not following:
        return False
    if noun.kind == READER:
        return following[0] in {"told", "introduced", "left", "given", "shown", "learn", "find", "reminded", "invited"}
    if noun.kind in {AUTHOR, AUTHORS, SUMMARY} and not noun.pointed:
        return False
    if words[at] == "can":
        return following[0] == "be" and " ".join(following[1:2]).startswith(("summar", "summed", "condensed"))
    about = {"about", "silent", "vague", "concerned", "focused", "centered", "centred", "incomplete", "truncated"}
    if following[0] in about or list(following[:2]) in (["cut", "off"], ["written", "as"]):
        return words[at] in {"is", "are"} or noun.pointed
    if following[0] in {"divided", "organized", "organised", "structured", "split"} and not {"into", "around", "as"}.isdisjoint(following[:3]):
        return words[at] in {"is", "are"} and (noun.kind in {DOCUMENT, ARTICLE, TEXT, PIECE} or noun.pointed)
    if following[0] == "between" and words[noun.at] in {"conversation", "dialogue", "transcript"}:
        return words[at] == "is"
    if following[0] in {"a", "an"} and words[at] == "is":
        kind = any(word in KINDS for word in following[1:5])
        return kind and (noun.pointed or noun.kind in {TEXT, ARTICLE, PIECE})
    return False


def _past_source(words: Sequence[str], at: int) -> int:
    """The place after another word for the text given ("the author of the article"); -1 where something else stands there."""
    for end in range(at, min(at + 6, len(words))):
        if (
            (noun := noun_at(words, end))
            and noun.start == at
            and noun.determiner in {"the", "this"}
            and (noun.kind in {DOCUMENT, ARTICLE, TEXT, PIECE, SUMMARY} or noun.pointed)
        ):
            return noun.after
    return -1


def _is_place(words: Sequence[str], noun: Noun) -> bool:
    """As in "In this article, …", "according to the text", "as described in the passage"."""
    before = words[noun.start - 1] if noun.start else ""
    earlier = list(words[max(0, noun.start - 9) : max(0, noun.start - 1)])
    following = list(words[noun.after : noun.after + 3])
    if following[:1] == ["of"]:
        return noun.kind in {AUTHOR, AUTHORS} and earlier[-1:] == ["according"] and _past_source(words, noun.after + 1) > 0
    if before in {"in", "by", "within", "from"} and _is_said_in(noun, earlier, following[:1]):
        return noun.kind in {ARTICLE, TEXT, DOCUMENT, PIECE} or (noun.pointed and noun.determiner != "this")
    if not noun.pointed and ((following[:1] and following[0] in OF_ITS_OWN) or (following[:1] == [","] and following[1:2] and following[1] in OF_ITS_OWN)):
        return False
    if (before == "to" and earlier[-1:] in (["according"], ["refer"])) or before == "per":
        named = bool(following) and following[0][0].isupper()
        return not named and (noun.kind in {ARTICLE, TEXT, AUTHOR, AUTHORS, PIECE} or noun.pointed or (earlier[-1:] == ["as"] and noun.kind == DOCUMENT))
    if before == "on" and earlier[-1:] == ["based"]:
        return noun.kind in {ARTICLE, TEXT, PIECE} or noun.pointed
    if before == "from" and noun.kind not in {AUTHOR, AUTHORS, READER}:
        return (
            noun.pointed
            or "unclear" in earlier
            or "clear" in earlier
            or earlier[:3] == ["as", "we", "learn"]
            or (following[:1] == [","] and following[1:2] == ["we"])
        )
    if before not in PREPOSITIONS or noun.kind in {AUTHOR, AUTHORS, READER}:
        return False
    if not (noun.start == 1 or not words[noun.start - 2][0].isalnum() or words[0] == "overall"):
        return False
    if following[:1] == [","]:
        return noun.kind in {ARTICLE, TEXT, PIECE} or noun.pointed or _passive_saying(words[noun.after + 1 : noun.after + 9])
    return bool(following) and (following[0] in {"we", "you", "readers"} or following[:2] in WRITERS)


def _is_said_in(noun: Noun, earlier: Sequence[str], following: Sequence[str]) -> bool:
    """Whether something is said to stand in the text: "as mentioned in the text", "it is not stated in the text who paid"."""
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
    """As in "…, it is explained that", "…, the author describes"."""
    return list(words[:2]) in WRITERS or any(word in SAID_IN and words[at - 1] in {"is", "are"} for at, word in enumerate(words) if at)


def _is_whole_of(words: Sequence[str], noun: Noun) -> bool:
    """As in "The tone of the article", "the rest of the document", "the main points made in the text"."""
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
