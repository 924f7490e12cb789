"""Lexical containment: the share of a statement's content words that a text uses, by light stems. Pure and fast."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

#: Numbers with their separators, ideographs and kana one by one, other words with inner apostrophes; the percent sign is a word.
_WORD = re.compile(r"\d+(?:[.,:/]\d+)*|[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]|[^\W\d_]+(?:['’][^\W\d_]+)*|%")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
#: Words that carry no content of their own. Negations are content: a statement with one and a text without differ.
_STOPWORDS_WRITTEN = """a about above after again all also am among an and any are as at be because been before being below between both but by can
    could did do does doing down during each either else ever for from further had has have having he her here hers herself
    him himself his how however i if in into is it its itself just let may me might more most must my myself of off on once
    only or other our ours ourselves out over own per quite rather same shall she should so some such than that the their
    theirs them themselves then there therefore these they this those though through thus to too under until up upon us very
    was we were what when where whether which while who whom whose why will with within would yet you your yours yourself
    yourselves"""
STOPWORDS = frozenset(_STOPWORDS_WRITTEN.split())
_NEGATIONS = frozenset({"no", "not", "never", "none", "nor", "neither", "without", "cannot"})
_TO_TWENTY = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"
_TENS = "thirty forty fifty sixty seventy eighty ninety"
_NUMBERS = {word: str(value) for value, word in enumerate(_TO_TWENTY.split())} | {word: str(10 * tens) for tens, word in enumerate(_TENS.split(), 3)}
_SINGULAR = {"men": "man", "women": "woman", "children": "child", "people": "person", "feet": "foot", "lives": "life", "wives": "wife", "data": "datum"}
_PRESENT_WRITTEN = """became:become began:begin begun:begin bought:buy broke:break broken:break brought:bring built:build came:come caught:catch chose:choose
    chosen:choose died:die dying:die drew:draw drawn:draw drove:drive driven:drive fell:fall fallen:fall fed:feed felt:feel fought:fight found:find
    gave:give given:give got:get gotten:get grew:grow grown:grow heard:hear held:hold kept:keep knew:know known:know laid:lay led:lead left:leave lent:lend
    lost:lose lying:lie made:make meant:mean met:meet paid:pay ran:run rose:rise risen:rise said:say sat:sit saw:see seen:see sent:send shot:shoot
    shown:show sold:sell sought:seek spent:spend spoke:speak spoken:speak stood:stand stolen:steal stole:steal struck:strike taken:take taught:teach
    thought:think told:tell took:take tried:try understood:understand went:go gone:go won:win wore:wear worn:wear wrote:write written:write"""
_PRESENT = dict(pair.split(":") for pair in _PRESENT_WRITTEN.split())
_DOUBLED = re.compile(r"([bdfgkmnprtv])\1$")
_VOWEL = re.compile(r"[aeiouy]")


def containment(premise: str, hypothesis: str) -> float:
    """Share of the hypothesis's distinct content words that the premise has, in [0, 1]; 0 for a hypothesis without a word."""
    return share(words(premise), words(hypothesis))


def share(premise: frozenset[str], hypothesis: frozenset[str]) -> float:
    """`containment` of word sets that are known already."""
    return len(premise & hypothesis) / len(hypothesis) if hypothesis else 0.0


def shares(premises: Sequence[frozenset[str]], hypotheses: Sequence[frozenset[str]]) -> list[list[float]]:
    """`share` of each premise for each hypothesis: one row per hypothesis."""
    return [[share(premise, hypothesis) for premise in premises] for hypothesis in hypotheses]


def words(text: str) -> frozenset[str]:
    """The stems of a text's content words; of all its words where none has content."""
    found = [_THOUSANDS.sub("", word) for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold())]
    return frozenset(stem(word) for word in found if word not in STOPWORDS) or frozenset(map(stem, found))


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A word without its inflection; crude, but usually the same for a text and a statement about it."""
    if not word[0].isalpha():
        return "percent" if word == "%" else word
    word = word.replace("’", "'").removesuffix("'s")
    if word in _NEGATIONS or word.endswith("n't"):
        return "not"
    if word in _NUMBERS:
        return _NUMBERS[word]
    word = _PRESENT.get(word) or _SINGULAR.get(word) or word
    if not word.isascii() or len(word) < 4:
        return word
    return _without_ending(_without_plural(word))


def _without_plural(word: str) -> str:
    """Plurals: bodies → body, boxes → box, patients → patient; not: process, virus, diagnosis."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _without_ending(word: str) -> str:
    """Verbs and adverbs: treated, treating → treat; stopped → stop; diagnosed, diagnose → diagnos; studied → study; rapidly → rapid."""
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed", "ly"):
        bare = word.removesuffix(ending)
        if bare != word and len(bare) >= 3 and _VOWEL.search(bare):
            word = _DOUBLED.sub(r"\1", bare) if ending != "ly" else bare
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word
