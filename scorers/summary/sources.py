"""Whether a sentence makes the text that was given to the summariser its speaker, its place or its subject.

A sentence is read as words and marks. Each word for a text or its writer is looked at with what stands left of it (its article, adjectives, preposition)
and right of it (what qualifies it, the verb). Nouns differ: *passage, text, excerpt* hardly ever are what a summary is about; *article, author* may be,
*document, summary* often are; *report, study, treaty, letter* are the subject unless they are pointed at ("the provided report").
"""

import re
from collections.abc import Sequence, Set
from typing import NamedTuple

_TOKEN = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)*|\d[\d.,]*|[^\w\s]")
#: So many words and marks of a sentence are read.
TOKENS_MAX = 400


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DOCUMENT, ARTICLE, TEXT, SUMMARY, AUTHOR, AUTHORS, READER, PIECE, WORK = "document", "article", "text", "summary", "author", "authors", "reader", "piece", "work"
_NOUNS = {
    **dict.fromkeys(_words("document"), DOCUMENT),
    **dict.fromkeys(_words("article"), ARTICLE),
    **dict.fromkeys(_words("text passage excerpt extract snippet"), TEXT),
    **dict.fromkeys(_words("summary synopsis overview recap"), SUMMARY),
    **dict.fromkeys(_words("author writer narrator"), AUTHOR),
    **dict.fromkeys(_words("authors writers"), AUTHORS),
    **dict.fromkeys(_words("reader readers"), READER),
    **dict.fromkeys(_words("essay transcript content piece story narrative dialogue conversation write-up editorial op-ed"), PIECE),
    **dict.fromkeys(
        _words(
            "post material paragraph chapter section source input information context note notes report study paper letter book record memo speech email e-mail"
            " guide review poem novel statement chart file page blog abstract data case details facts thread message column"
        ),
        WORK,
    ),
}
_POINTING = _words(
    "provided given attached above following original supplied uploaded linked shared submitted aforementioned entire whole full source input preceding pasted"
)
_GENRE = _words("news newspaper magazine research journal scientific academic blog opinion wikipedia encyclopedia clinical medical short long entire whole")
_DETERMINERS = _words("the this that these those a an my your his her its their our each every another one some any no two both such which whose")
_INDEFINITE = _words("a an one two another each every some any his her their its no")
_ADVERBS = _words("also then first now only just here itself even further next briefly mainly never always still again thus therefore however later")
_PREPOSITIONS = _words("in within throughout across inside")

#: Verbs of discussing: third person, base, past. They say what a text does, seldom what a person or a paper in the news does.
_DISCUSS = (
    "discuss describe explain highlight outline cover emphasize emphasise explore examine delve summarize summarise present address detail mention introduce"
    " illustrate analyze analyse elaborate underscore underline stress argue conclude suggest recount narrate concern clarify articulate reiterate contend depict"
    " portray profile compare contrast advocate critique capture convey focus review recommend criticize criticise encapsulate chronicle trace question"
    " investigate evaluate assess propose praise lament celebrate debunk urge quote cite feature follow recall defend"
)
_STATE = "state note claim report list indicate show assert acknowledge maintain cite observe warn reveal record believe think specify remark affirm admit tell say document express advise remind identify demonstrate"
#: Verbs that speak of a text only with the right word after them.
_WITH = {
    "begin": _words("with by"), "start": _words("with by off"), "open": _words("with by"), "close": _words("with by"), "end": _words("with by abruptly on"),
    "conclude": _words("with by that"), "continue": _words("with by to"), "turn": _words("to"), "look": _words("at into back"), "go": _words("on into over through"),
    "point": _words("out to"), "touch": _words("on upon"), "talk": _words("about of"), "deal": _words("with"), "call": _words("for"), "shed": _words("light"),
    "tell": _words("of about how the us"), "walk": _words("through the"), "reflect": _words("on"), "return": _words("to"), "move": _words("on to"), "dive": _words("into"), "zoom": _words("in"),
    "cut": _words("off"), "break": _words("off"), "serve": _words("as"), "aim": _words("to"), "seek": _words("to"), "attempt": _words("to"), "draw": _words("attention"),
    "give": _words("a an details insight insights"), "provide": _words("a an details insight insights information context"), "offer": _words("a an insight insights advice"),
    "contain": _words("information details a"), "include": _words("information details"), "use": _words("the a an"), "make": _words("the"), "ask": _words("the whether how"),
    "set": _words("out forth"), "lay": _words("out"), "spell": _words("out"), "revolve": _words("around"), "center": _words("on around"), "centre": _words("on around"),
    "delve": _words("into deeper"), "expand": _words("on upon"), "comment": _words("on"), "hint": _words("at"), "allude": _words("to"), "refer": _words("to"),
    "fail": _words("to"), "leave": _words("open out unclear"), "wrap": _words("up"), "raise": _words("the concerns questions several"), "seem": _words("to"),
    "appear": _words("to"), "contribute": _words(""), "complain": _words("about that of"), "find": _words("that"),
}  # fmt: skip
_OF_CONTENT = _words("overview summary account description discussion analysis outline insight insights information details look guide glimpse explanation comprehensive detailed balanced")


def _third(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "go")) else "s")


def _past(verb: str) -> str:
    irregular = {"say": "said", "set": "set", "find": "found", "leave": "left", "lay": "laid", "tell": "told", "think": "thought", "begin": "began", "deal": "dealt", "go": "went", "give": "gave", "draw": "drew", "show": "showed"}
    if verb in irregular:
        return irregular[verb]
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ied"
    return verb + ("d" if verb.endswith("e") else "ed")


_BASES = {verb: verb for verb in (*_DISCUSS.split(), *_STATE.split(), *_WITH)}
_THIRD = {_third(verb): verb for verb in _BASES}
_PAST = {_past(verb): verb for verb in _BASES} | {"written": "write", "given": "give", "shown": "show", "wrote": "write"}
_THIRD["writes"] = "write"
_DISCUSSING, _STATING = _words(_DISCUSS), _words(_STATE) | {"write"}
_SAID_IN = _words("stated mentioned described noted discussed outlined explained said indicated detailed written given specified reported presented provided highlighted covered included found")
_PARTS = _words(
    "purpose focus tone theme message argument topic subject thesis aim goal idea title conclusion rest remainder beginning end half part section paragraph sentence gist essence scope point"
    " points takeaways ideas themes topics arguments messages facts details highlights insights significance"
)
_KINDS = _words(
    "letter profile summary overview description account discussion analysis story report essay note excerpt guide review biography poem article document piece transcript interview speech"
    " extract narrative tale recipe record abstract passage agreement contract form invoice diary email memo receipt policy manual lease thread blog paper study announcement obituary"
)
_SPEAKERS_BEFORE = _words(
    "said says told tells ruled held claimed claims argued wrote found thinks believes warned added testified insisted denied conceded told complained heard noted stated explained alleged"
)
#: After a text's name, words that make it one of its own: "the document, which was leaked", "the article in the Herald".
_OF_ITS_OWN = _words("by signed filed published seen leaked sent which that who in on drafted released dated obtained written")
#: What brings a text into the story, with an article or a possessive before it: later "the document" is that.
_BRINGS = _words(
    "memo letter contract treaty will agreement manuscript papyrus charter deed affidavit statement email e-mail petition constitution convention prospectus report paper diary lease"
    " accord pact resolution filing warrant dossier pamphlet scroll tablet certificate declaration referral"
)
#: What an author is a person of.
_BRINGS_AUTHOR = _words("novel memoir book autobiography novelist poet playwright interview podcast festival lecture")
#: Words for parts of a text or for what it holds: no text of their own.
_NO_TEXT = _words("section paragraph chapter page information details facts content material input context data case source note notes")
#: What a text, a passage or an author does that no summary remarks on.
_DEEDS = _words(
    "requires prohibits permits grants guarantees forbids obliges protects imposes applies entitles binds allows bans makes declares enters takes dates bears survives exists remains belongs"
    " hangs lies comes weighs measures costs sells runs depends carries has needs gets leads links connects leaves narrows widens crosses works lives teaches plans owns holds denies plays"
    " becomes sits stands stays resides earns faces wins loses dies feels hopes wants is was gives uses moves makes keeps joins faces sues provides opens closes goes spends sees replaces"
)
_OBJECTS = _words("the a an this that how why what whether when where who his her its their several many various both some two three four all no not")


class Noun(NamedTuple):
    """A word for a text or its writer, and what stands around it."""

    kind: str
    at: int
    start: int  # of its noun phrase
    determiner: str
    pointed: bool  # "the provided …", "… you sent", "this …"
    genre: bool
    modified: bool  # by any other word: "the discharge summary"
    possessive: bool
    after: int  # first word after what qualifies it


def is_about_its_source(words: Sequence[str], introduced: Set[str]) -> bool:
    """Whether words, quotations taken out, speak of the text given. `introduced`: kinds of texts that the story itself has brought up before."""
    here = introduced
    for at, word in enumerate(words):
        if word in _BRINGS_AUTHOR:
            here = here | {AUTHOR, AUTHORS}
        noun = _noun(words, at)
        if noun is None:
            continue
        if _is_commentary(words, noun, noun.kind in here and not noun.pointed):
            return True
        if brought := _brought(words, noun):
            here = here | brought
    return False


def tokens(text: str) -> list[str]:
    """The words and marks of a text, in small letters but for names inside it."""
    found = _TOKEN.findall(text)[:TOKENS_MAX]
    lower = [word.lower() for word in found]
    return [
        small if at == 0 or word.isupper() or small in _NOUNS or small in _DETERMINERS or not (found[at - 1].isalnum() or found[at - 1] in "-'&") else word
        for at, (word, small) in enumerate(zip(found, lower, strict=True))
    ]


def introduces(words: Sequence[str]) -> frozenset[str]:
    """The kinds of texts that a sentence brings into the story: "a leaked document", "the treaty"."""
    found: frozenset[str] = frozenset()
    for at, word in enumerate(words):
        if word in _BRINGS and at and words[at - 1] not in {"i", "he", "she", "it", "they", "we", "who", "that", "which", "to"} and _is_indefinite(words, at):
            found |= {DOCUMENT, TEXT}
        elif word in {"plan", "order", "act", "bill", "law", "code", "ruling", "proposal"} and not {"a", "an"}.isdisjoint(words[max(0, at - 2) : at]):
            found |= {DOCUMENT, TEXT}
        if noun := _noun(words, at):
            found |= _brought(words, noun)
        elif word in {"documents", "articles", "texts", "essays", "summaries"}:
            found |= {word.removesuffix("s")}
        if word in _BRINGS_AUTHOR:
            found |= {AUTHOR, AUTHORS}
    return found


def _is_indefinite(words: Sequence[str], at: int) -> bool:
    """Whether a noun stands with an article or possessive, or with a name or adjective, and is not pointed at."""
    left = list(words[max(0, at - 4) : at])
    return any(word in _DETERMINERS for word in left) and not any(word in _POINTING or word == "your" for word in left) and left[-1:] != ["this"]


def _brought(words: Sequence[str], noun: Noun) -> frozenset[str]:
    """What a noun brings up: a text of its own, "an article in the Herald", "the discharge summary"."""
    if noun.pointed or noun.determiner in {"this", "these", "no", "any"} or words[noun.at] in _NO_TEXT:
        return frozenset()
    qualified = noun.after < len(words) and words[noun.after] in {"of", "by", "seen", "signed", "published", "filed", "sent", "written", "obtained"}
    if noun.determiner in _INDEFINITE or noun.modified or (qualified and noun.kind in {DOCUMENT, ARTICLE, TEXT, SUMMARY, PIECE}):
        more = {DOCUMENT, TEXT} if noun.kind in {DOCUMENT, TEXT, WORK, PIECE} else {TEXT} if noun.kind == ARTICLE else set()
        return frozenset({noun.kind, *more})
    return frozenset()


def _noun(words: Sequence[str], at: int) -> Noun | None:
    """The noun at a place, None where no word for a text or writer stands there, or one that only qualifies another noun."""
    word = words[at]
    possessive = word.endswith("'s") or word.endswith("s'")
    kind = _NOUNS.get(word[:-2] if word.endswith("'s") else word.removesuffix("'"))
    if kind is None:
        return None
    start, pointed, genre, modified = at, False, False, False
    while start and at - start < 5:
        left = words[start - 1]
        if left in _DETERMINERS or not left[0].isalnum() or left in _PREPOSITIONS or left in {"of", "to", "by", "from", "on", "as", "and", "or", "for", "with", "while", "that", "but"}:
            break
        if left in _POINTING:
            pointed = True
        elif left in _GENRE or _NOUNS.get(left) in {ARTICLE, TEXT, DOCUMENT, PIECE}:
            genre = True
        elif left.endswith("ly") or left in {"overall", "same", "very"}:
            pass
        else:
            modified = True
        start -= 1
    determiner = words[start - 1] if start and words[start - 1] in _DETERMINERS else ""
    if determiner:
        start -= 1
        if determiner.endswith("'s"):
            modified = True
    elif at != start and not pointed:
        modified = True
    pointed = pointed or determiner in {"this", "your"}
    after = at + 1
    here = words[after : after + 8]
    if here[:1] and (here[0] in {"you", "you've"} or (here[0] in {"that", "which"} and here[1:2] and here[1] in {"you", "you've"})):
        pointed = True
        after += 2 if here[0] in {"you", "you've"} else 3
        while after < len(words) and words[after] in {"me", "have", "had", "provided", "shared", "sent", "gave", "given", "uploaded", "pasted", "above", "supplied", "submitted"}:
            after += 1
    elif here[:1] and here[0] in {"provided", "given", "above", "below", "supplied", "presented"} and here[1:2] and not here[1].startswith(("by", "to")):
        pointed = True
        after += 1
        if after < len(words) and words[after] in {"above", "below", "here"}:
            after += 1
    if word == "post" and genre:
        kind, genre = PIECE, False
    return Noun(kind, at, start, determiner, pointed, genre, modified, possessive, after)


def _is_commentary(words: Sequence[str], noun: Noun, introduced: bool) -> bool:
    """Whether a noun is the text given, as speaker, place or subject."""
    if noun.kind == WORK and not (noun.pointed and noun.determiner != "this"):
        return False
    if words[noun.at] in {"story", "narrative"} and not (noun.pointed or noun.genre):
        return False
    if noun.determiner in _INDEFINITE or noun.determiner in {"that", "those", "which", "whose", "our", "my"} or (noun.modified and not noun.pointed):
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
        if words[at] in _SPEAKERS_BEFORE and not any(words[before] in _NOUNS for before in range(max(0, at - 3), at)):
            return words[noun.start - 1] in {"that", "whether", words[at], "the", "a", "and", "how", "whether", "an"} or words[at + 1 : at + 2] == ["that"]
    return False


def _possesses(words: Sequence[str], noun: Noun) -> bool:
    """ "The article's main argument", "the author's point"."""
    following = words[noun.at + 1 : noun.at + 4]
    return any(word in _PARTS or word in {"author", "writer"} for word in following)


def _speaks(words: Sequence[str], noun: Noun) -> bool:
    """Whether the noun is what a verb of saying is about: "The article discusses", "the text does not say"."""
    at = noun.after
    if words[at : at + 1] == ["of"]:
        at = _past_source(words, at + 1)
        if at < 0:
            return False
    elif words[at : at + 1] == ["from"] and noun.pointed:
        while at < len(words) and words[at] not in _THIRD and at < noun.after + 6:
            at += 1
    if words[at : at + 2] == [",", "as"] or words[at : at + 1] == [","]:
        return False
    while at < len(words) and (words[at].endswith("ly") or words[at] in _ADVERBS):
        at += 1
    verb, following = words[at] if at < len(words) else "", words[at + 1 : at + 6]
    if verb in {"does", "do", "doesn't", "don't", "did", "didn't"}:
        return _is_silent(words, at) and noun.kind not in {SUMMARY, AUTHORS} and (verb not in {"did", "didn't"} or noun.pointed)
    if verb in {"is", "was", "are", "were", "has", "will"}:
        return _is_said_to_be(words, noun, at)
    third = _BASES.get(verb) if noun.kind in {AUTHORS} or (noun.kind == READER and words[noun.at].endswith("s")) else _THIRD.get(verb)
    base = third or (_PAST.get(verb) if noun.pointed else None)
    if base is None:
        if noun.pointed and verb in {"contains", "includes", "provides", "offers", "gives", "shows", "concerns", "covers", "consists"}:
            return True
        # Any other verb: a plural noun in its place ("the text files of …") is hardly ever followed by an object.
        verbal = len(verb) > 3 and verb.endswith("s") and not verb.endswith(("ss", "us")) and verb.islower() and verb not in _DEEDS
        open_kind = noun.kind in {TEXT, AUTHOR} or (noun.pointed and noun.kind in {ARTICLE, DOCUMENT, PIECE})
        return verbal and open_kind and bool(following) and (following[0] in _OBJECTS or following[0][0].isdigit())
    if following[:1] and following[0] in {"was", "were", "are", "have", "had", "and", "from"} | ({"of"} if base != "tell" else set()):
        return False  # a noun, not a verb: "the text notes of the organist"
    return _says(noun, base, following)


def _is_silent(words: Sequence[str], at: int) -> bool:
    """ "… does not say"."""
    following = words[at + 1 : at + 6]
    rest = [word for word in following if word != "not" and not word.endswith("ly")]
    negated = words[at : at + 1] and (words[at].endswith("n't") or (words[at] in {"does", "do", "did"} and following[:1] == ["not"]))
    base = rest[0] if rest else ""
    return bool(negated) and (base in _DISCUSSING or base in _STATING or base in {"provide", "give", "include", "contain", "go", "make"})


def _says(noun: Noun, base: str, following: Sequence[str]) -> bool:
    """Whether a noun of this kind with this verb is the text given or its writer."""
    if base in _WITH and not (base in {"conclude", "tell"} and noun.pointed):
        fits = bool(following) and following[0] in _WITH[base]
        if base in {"give", "provide", "offer", "contain", "include"} and not noun.pointed:
            fits = fits and any(word in _OF_CONTENT for word in following[:5])
        if base in {"use", "make", "ask", "call", "draw"}:
            fits = fits and noun.kind in {AUTHOR}
        if base in {"seem", "appear"}:
            fits = fits and any(word in {"cut", "incomplete", "truncated", "missing", "end", "about", "discuss", "describe"} for word in following)
        if base == "fail":
            fits = fits and any(word in _DISCUSSING or word in _STATING or word in {"provide", "give"} for word in following[1:3])
        if base == "find":
            fits = fits and noun.kind not in {AUTHOR, AUTHORS, DOCUMENT}
        if base == "serve":
            fits = fits and any(word in _KINDS for word in following)
        return fits or (base == "conclude" and noun.kind in {AUTHOR, AUTHORS, ARTICLE})
    if noun.kind == SUMMARY:
        return base in _DISCUSSING - {"mention", "detail", "recommend", "suggest"} or noun.pointed
    if noun.kind == PIECE and not noun.pointed and not noun.genre:
        return base in _DISCUSSING 
    if noun.kind == AUTHORS and not noun.pointed:
        return base not in {"say", "tell", "claim", "report", "propose", "follow", "warn", "urge"}
    if noun.kind == READER:
        return base in {"tell", "say"}
    return True


def _is_said_to_be(words: Sequence[str], noun: Noun, at: int) -> bool:
    """ "The text is about bees", "This document is a discharge letter", "the reader is told"."""
    following = words[at + 1 : at + 7]
    if not following:
        return False
    if noun.kind == READER:
        return following[0] in {"told", "introduced", "left", "given", "shown", "learn", "find", "reminded", "invited"}
    if noun.kind in {AUTHOR, AUTHORS, SUMMARY} and not noun.pointed:
        return False
    if following[0] in {"about", "concerned", "focused", "centered", "centred", "incomplete", "truncated"} or following[:2] in (["cut", "off"], ["written", "as"]):
        return words[at] in {"is", "are"} or noun.pointed
    if following[0] in {"divided", "organized", "organised", "structured", "split"} and "into" in following[:3]:
        return words[at] in {"is", "are"} and (noun.kind in {DOCUMENT, ARTICLE, TEXT, PIECE} or noun.pointed)
    if following[0] == "between" and words[noun.at] in {"conversation", "dialogue", "transcript"}:
        return words[at] == "is"
    if following[0] in {"a", "an"} and words[at] == "is":
        kind = any(word in _KINDS for word in following[1:5])
        return kind and (noun.pointed or noun.kind in {TEXT, ARTICLE, PIECE})
    return False


def _past_source(words: Sequence[str], at: int) -> int:
    """The place after another word for the text given ("the author of the article"); -1 where something else stands there."""
    for end in range(at, min(at + 6, len(words))):
        if (noun := _noun(words, end)) and noun.start == at and noun.determiner in {"the", "this"} and (noun.kind in {DOCUMENT, ARTICLE, TEXT, PIECE, SUMMARY} or noun.pointed):
            return noun.after
    return -1


def _is_place(words: Sequence[str], noun: Noun) -> bool:
    """ "In this article, …", "according to the text", "as described in the passage"."""
    before = words[noun.start - 1] if noun.start else ""
    earlier = list(words[max(0, noun.start - 9) : max(0, noun.start - 1)])
    following = list(words[noun.after : noun.after + 3])
    if following[:1] == ["of"]:
        return noun.kind in {AUTHOR, AUTHORS} and earlier[-1:] == ["according"] and _past_source(words, noun.after + 1) > 0
    if before in {"in", "by", "within", "from"} and _is_said_in(words, noun, earlier, following[:1]):
        return noun.kind in {ARTICLE, TEXT, DOCUMENT, PIECE} or (noun.pointed and noun.determiner != "this")
    if not noun.pointed and (following[:1] and following[0] in _OF_ITS_OWN or (following[:1] == [","] and following[1:2] and following[1] in _OF_ITS_OWN)):
        return False
    if before == "to" and earlier[-1:] in (["according"], ["refer"]) or before == "per":
        named = bool(following) and following[0][0].isupper()
        return not named and (noun.kind in {ARTICLE, TEXT, AUTHOR, AUTHORS, PIECE} or noun.pointed or (earlier[-1:] == ["as"] and noun.kind == DOCUMENT))
    if before == "on" and earlier[-1:] == ["based"]:
        return noun.kind in {ARTICLE, TEXT, DOCUMENT, PIECE} or noun.pointed
    if before == "from" and noun.kind not in {AUTHOR, AUTHORS, READER}:
        return noun.pointed or "unclear" in earlier or "clear" in earlier or (following[:1] == [","] and following[1:2] == ["we"])
    if before not in _PREPOSITIONS or noun.kind in {AUTHOR, AUTHORS, READER}:
        return False
    if not (noun.start == 1 or not words[noun.start - 2][0].isalnum() or words[0] == "overall"):
        return False
    if following[:1] == [","]:
        return noun.kind in {ARTICLE, TEXT, PIECE} or noun.pointed or _passive_saying(words[noun.after + 1 : noun.after + 9])
    return bool(following) and (following[0] in {"we", "you", "readers"} or following[:2] in (["the", "author"], ["the", "reader"], ["the", "authors"], ["the", "writer"]))


def _is_said_in(words: Sequence[str], noun: Noun, earlier: Sequence[str], following: Sequence[str]) -> bool:
    """Whether something is said to stand in the text: "as mentioned in the text", "it is not stated in the document who paid", "no mention of it in the text"."""
    impersonal = "it" in earlier and ("is" in earlier or "was" in earlier)
    if following and following[0][0].isalpha() and not (noun.pointed or impersonal or "as" in earlier):
        return False
    if any(word in _SAID_IN or word == "read" for word in earlier[-2:]):
        return True
    passive = any(word in _SAID_IN and earlier[at - 1] in {"is", "are", "not"} for at, word in enumerate(earlier) if at)
    return passive or ("mention" in earlier and ("no" in earlier or "not" in earlier))


def _passive_saying(words: Sequence[str]) -> bool:
    return any(word in _SAID_IN and words[at - 1] in {"is", "are"} for at, word in enumerate(words) if at) or list(words[:2]) in (["the", "author"], ["the", "authors"], ["the", "writer"])


def _is_whole_of(words: Sequence[str], noun: Noun) -> bool:
    """ "The tone of the article", "the rest of the document", "the main points made in the text"."""
    if noun.kind in {READER, AUTHORS} or not noun.start or words[noun.start - 1] not in {"of", "in", "from", "by"}:
        return False
    following = words[noun.after] if noun.after < len(words) else ""
    if following in {"of"} or (following[:1].isalpha() and following not in {"is", "are", "was", "were", "deals", "describes", "discusses", "covers", "and", "as", "focuses", "explains", "does"} and not noun.pointed and following not in _THIRD):
        return False
    left = noun.start - 2
    if left >= 0 and words[left] in {"raised", "made", "discussed", "covered", "presented", "mentioned", "described", "given"}:
        left -= 1
    if left < 0 or words[left] not in _PARTS:
        return False
    while left >= 0 and words[left] not in {"the", "this", "a"} and noun.start - left < 7:
        left -= 1
    return left <= 0 or words[left - 1] in {",", ":", ".", "overall", "and", "are", "is", "were"} or left + 1 == noun.start
