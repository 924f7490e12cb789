"""A text or its writer as the subject of a verb of saying: "the article discusses", "the text does not say", "the author is silent"."""

from collections.abc import Sequence

from touchstone.scorers.summary.hard_fails.commentary.nouns import Noun, past_adverbs
from touchstone.scorers.summary.hard_fails.commentary.source_places import past_source
from touchstone.scorers.summary.hard_fails.commentary.vocabulary import (
    ACTED_ON,
    APPEARED,
    ARTICLE,
    AUTHOR,
    AUTHORS,
    BASES,
    DEEDS,
    DEVICES,
    DISCUSSING,
    DOCUMENT,
    KINDS,
    LACKED,
    NO_PART_SPEAKS,
    NOTHING,
    OBJECTS,
    OF_CONTENT,
    OF_FACT,
    ORDERED,
    PAPER_DEEDS,
    PAPERS,
    PAST,
    PIECE,
    READER,
    RECAPS,
    REMARKS,
    SPEAKER,
    STATING,
    SUMMARY,
    TEXT,
    THIRD,
    WITH,
)

_TO_SAY = frozenset(("say", "show", "tell", "convey", "explain"))
_CALLS = frozenset(("calls", "sees", "names", "terms", "dubs", "puts", "attributes", "considers"))


def speaks(words: Sequence[str], noun: Noun) -> bool:
    """True if the noun is the subject of a verb of saying: "The article discusses", "the text does not say"."""
    at = _verb_place(words, noun)
    if at < 0:
        return False
    verb, following = words[at] if at < len(words) else "", words[at + 1 : at + 6]
    if verb in OF_FACT and following[:1] and following[0] in (LACKED if verb == "lacks" else NOTHING):
        return noun.kind in {DOCUMENT, ARTICLE, TEXT} or noun.pointed
    if verb in {"does", "do", "doesn't", "don't", "did", "didn't"}:
        return is_silent(words, at) and noun.kind not in {SUMMARY, AUTHORS} and (verb not in {"did", "didn't"} or noun.pointed)
    if verb in _CALLS and words[noun.start - 1 : noun.start] in (["which"], ["whom"], ["what"], ["as"]):
        return noun.kind in {ARTICLE, TEXT, AUTHOR, PIECE} or noun.pointed
    if verb in {"is", "was", "are", "were", "has", "will", "can"}:
        return _is_said_to_be(words, noun, at)
    base = _base(words, noun, verb)
    if base is None:
        return _does_otherwise(noun, verb, following)
    no_object = {"was", "were", "are", "have", "had", "and", "from"} | ({"of"} if base not in {"tell", "warn", "complain", "speak"} else set())
    if following[:1] and following[0] in no_object:
        return False  # a noun, not a verb: "the text notes of the organist"
    return _says(noun, base, following)


def _base(words: Sequence[str], noun: Noun, verb: str) -> str | None:
    """The base form of a verb of saying in the form that fits the noun; None for other verbs."""
    plural = noun.kind == AUTHORS or (noun.kind == READER and words[noun.at].endswith("s"))
    return (BASES if plural else THIRD).get(verb) or (PAST.get(verb) if noun.pointed else None)


def _does_otherwise(noun: Noun, verb: str, following: Sequence[str]) -> bool:
    """True for verbs that speak of a text only with this noun or these words: "the provided text contains", "the author wants to show"."""
    if noun.pointed and verb in {"contains", "includes", "provides", "offers", "gives", "shows", "concerns", "covers", "consists"}:
        return True
    if verb == "wants" and noun.kind in {AUTHOR, TEXT, SPEAKER}:
        return list(following[:1]) in (["us"], ["readers"]) or (list(following[:1]) == ["to"] and not _TO_SAY.isdisjoint(following[1:2]))
    if verb in {"learns", "learn", "discovers", "discover"} or (verb == "finds" and list(following[:1]) == ["out"]):
        return noun.kind == READER and not {"that", "how", "why", "who", "about", "of"}.isdisjoint(following[:2])
    # Any other verb: a plural noun in its place ("the text files of …") is hardly ever followed by an object.
    verbal = len(verb) > 3 and verb.endswith("s") and not verb.endswith(("ss", "us")) and verb.islower() and verb not in DEEDS
    speaks_alone = noun.kind == TEXT or (noun.pointed and noun.kind in {ARTICLE, DOCUMENT, PIECE})
    return verbal and speaks_alone and bool(following) and (following[0] in OBJECTS or following[0][0].isdigit())


def sums_up(words: Sequence[str], noun: Noun) -> bool:
    """True for a paper that is summed up: "This report outlines", "TL;DR: the post explains", "The post, published in May, describes"."""
    if words[noun.at] not in PAPERS or noun.determiner not in {"the", "this"} or (noun.modified and noun.determiner != "this"):
        return False
    at = _verb_place(words, noun)
    base, following = (THIRD.get(words[at]), words[at + 1]) if 0 <= at < len(words) - 1 else (None, "")
    if following in {"", ".", ","} or not (base in REMARKS or (base in {"deal", "tell", "touch", "delve", "look"} and following in WITH[base])):
        return False
    return noun.determiner == "this" or _after_recap(words, noun.start) or (words[noun.at] in {"post", "blog", "page", "thread"} and words[noun.after] == ",")


def _after_recap(words: Sequence[str], start: int) -> bool:
    """True if "TL;DR:" or "In short:" stands before a place and opens the sentence."""
    return list(words[: start - 1]) in RECAPS and not words[start - 1][0].isalnum()


def _past_aside(words: Sequence[str], noun: Noun, at: int) -> int:
    """The place after an aside that tells where a text appeared ("the article, published on Tuesday, …"), or before a verb of discussing; -1 otherwise."""
    if noun.kind not in {ARTICLE, TEXT, PIECE, AUTHOR} and not noun.pointed and words[noun.at] not in PAPERS:
        return -1
    end = next((place for place in range(at + 2, min(at + 18, len(words))) if words[place] == ","), -1)
    if end < 0 or not ACTED_ON.isdisjoint(words[at:end]) or {"sent", "obtained", "seen", "filed"} & set(words[at:end]):
        return -1
    appeared = not APPEARED.isdisjoint(words[at + 1 : at + 6])
    return end + 1 if appeared or THIRD.get(words[past_adverbs(words, end + 1)] if end + 1 < len(words) else "") in DISCUSSING else -1


def _verb_place(words: Sequence[str], noun: Noun) -> int:
    """The place of a noun's verb: after qualifiers, an aside and adverbs; -1 if what follows makes it a text of its own."""
    at = noun.after
    if words[at : at + 1] == ["of"]:
        at = _past_paper(words, at + 1) if noun.kind in {AUTHOR, AUTHORS} else -1
        at = at if at > 0 else past_source(words, noun.after + 1)
        if at < 0:
            return -1
    elif words[at : at + 1] == ["from"] and noun.pointed:
        while at < len(words) and words[at] not in THIRD and at < noun.after + 6:
            at += 1
    if words[at : at + 1] == [","]:
        aside = next((size for size in range(2, 6) if words[at + size : at + size + 1] == [","]), 0)
        if aside and (words[at + 1] in {"in", "for", "however", "then", "too", "like"} or words[at + 1].endswith("ly")):
            at += aside + 1
        elif (past := _past_aside(words, noun, at)) > 0:
            at = past
        else:
            return -1
    return past_adverbs(words, at)


def _past_paper(words: Sequence[str], at: int) -> int:
    """The place after "the paper" in "the authors of the paper argue"; -1 if they do something else than a paper's writers do in it."""
    if words[at : at + 1] not in (["the"], ["this"]) or words[at + 1 : at + 2] not in (["paper"], ["study"], ["report"], ["essay"], ["letter"]):
        return -1
    verb = words[at + 2] if at + 2 < len(words) else ""
    return at + 2 if (BASES.get(verb) or THIRD.get(verb)) in PAPER_DEEDS else -1


def part_speaks(words: Sequence[str], at: int) -> bool:
    """True for "The first paragraph introduces", "the closing lines return to", "the introduction presents"."""
    alone = words[at] in {"introduction", "conclusion"}
    start = at - 1 if alone else at - 2
    if start < 0 or words[start] != "the" or not (alone or words[at - 1] in ORDERED):
        return False
    if start and words[start - 1][0].isalnum() and words[start - 1] not in {"and", "while", "then"}:
        return False
    after = past_adverbs(words, at + 1)
    verb, following = (words[after], words[after + 1 : after + 2]) if after < len(words) else ("", [])
    if verb in {"is", "are"}:
        return list(following) == ["about"]
    base = (BASES if words[at].endswith("s") else THIRD).get(verb)
    if base is None or base in NO_PART_SPEAKS or not following or following[0] in {".", ",", "of", "in"}:
        return False
    if base in STATING and following[0] == "that":
        return True
    return base in DISCUSSING or (base in WITH and following[0] in WITH[base])


def is_silent(words: Sequence[str], at: int) -> bool:
    """True for "… does not say"."""
    following = words[at + 1 : at + 6]
    rest = [word for word in following if word != "not" and not word.endswith("ly")]
    negated = words[at : at + 1] and (words[at].endswith("n't") or (words[at] in {"does", "do", "did"} and following[:1] == ["not"]))
    base = rest[0] if rest else ""
    return bool(negated) and (base in DISCUSSING or base in STATING or base in {"provide", "give", "include", "contain", "go", "make"})


def _says(noun: Noun, base: str, following: Sequence[str]) -> bool:
    """True if a noun of this kind with this verb is the text given or its writer."""
    if base in WITH and not (base in {"conclude", "tell"} and noun.pointed):
        return _says_with(noun, base, following)
    if noun.kind == SPEAKER:
        return base in PAPER_DEEDS or base in {"compare", "criticize", "criticise", "highlight", "stress", "reflect", "illustrate"}
    if noun.kind == SUMMARY:
        return base in DISCUSSING - {"mention", "detail", "recommend", "suggest"} or noun.pointed
    if noun.kind == PIECE and not noun.pointed and not noun.genre:
        return base in DISCUSSING
    if noun.kind == AUTHORS and not noun.pointed:
        return base not in {"say", "tell", "claim", "report", "propose", "follow", "warn", "urge", "advise", "recommend", "suggest", "caution"}
    if noun.kind == READER:
        return base in {"tell", "say"}
    return True


def _says_with(noun: Noun, base: str, following: Sequence[str]) -> bool:
    """True if a verb that needs the right word after it has that: "begins with", "gives an overview"."""
    fits = bool(following) and following[0] in WITH[base]
    if base in {"give", "provide", "offer", "contain", "include"} and not (noun.pointed or noun.kind == AUTHOR):
        fits = fits and any(word in OF_CONTENT for word in following[:5])
    if base == "take":
        fits = fits and not {"reader", "readers", "us", "look", "view", "stance"}.isdisjoint(following[1:5])
    if base in {"use", "give"} and noun.kind == AUTHOR:
        return fits and not (DEVICES | OF_CONTENT | {"reasons", "opinion", "reader", "readers"}).isdisjoint(following[:6])
    if base in {"open", "close"} and noun.kind == DOCUMENT and not noun.pointed:
        fits = fits and not (OF_CONTENT | KINDS | {"call", "warning"}).isdisjoint(following[:4])
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


def _is_said_to_be(words: Sequence[str], noun: Noun, at: int) -> bool:
    """True for "The text is about bees", "This document is a discharge letter", "the reader is told"."""
    following = words[at + 1 : at + 7]
    if not following:
        return False
    if words[at] == "is" and noun.kind in {AUTHOR, TEXT, ARTICLE, SPEAKER}:
        if following[0] in {"saying", "telling", "talking", "describing", "explaining", "arguing"}:
            return following[1:2] != ["goodbye"]
        if following[0] in {"trying", "of"}:
            return not (_TO_SAY | {"prove", "persuade", "convince", "opinion"}).isdisjoint(following[1:4])
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
