"""A linear model of commentary: which words for texts, writers and their doings, in which order, speak of the text given or of the summary.

Words outside a small vocabulary (function words, and words of texts, saying, asking and summarising) count by their form alone, so what a summary is about
does not matter. Features are runs of one to four such classes that hold at least one from the vocabulary, and for each noun of a text what stands around
it. The weights are learned by `python -m touchstone.ops.lab build commentary` and ship beside this module; reading a sentence takes pure Python only.
"""

import json
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from importlib.resources import files
from itertools import accumulate

from touchstone.scorers.summary.hard_fails.commentary.nouns import Noun, noun_at, verb_class, word_kind
from touchstone.scorers.summary.hard_fails.commentary.vocabulary import VOCABULARY

_SILENT = frozenset(("Word", "Words", "Name", "Number", "ed", "ing", "ly", "w-w", ",", "."))
_RUN_MAX = 4


def score(words: Sequence[str], introduced: AbstractSet[str]) -> float:
    """The log odds that words (as `nouns.tokens` gives them) are commentary, over the threshold: positive for commentary."""
    weights, bias = _weights()
    return bias + sum(weights.get(feature, 0.0) for feature in features(words, introduced))


def features(words: Sequence[str], introduced: AbstractSet[str]) -> set[str]:
    """The features of a sentence."""
    classes = ["^", *(_class(word, first=at == 0) for at, word in enumerate(words)), "$"]
    found = set(_runs(classes))
    for at in range(len(words)):
        if noun := noun_at(words, at):
            found.update(_around(classes, noun, noun.kind in introduced))
    return found


def _class(word: str, *, first: bool) -> str:
    """The class of a word; itself where it belongs to the vocabulary."""
    bare = word.removesuffix("'s")
    if kind := word_kind(bare):
        return f"<{kind}>" + ("'s" if bare != word else "")
    if word in VOCABULARY or not word[0].isalnum():
        return word
    if saying := verb_class(word):
        return saying
    if word[0].isdigit():
        return "Number"
    if word[0].isupper() and not first:
        return "Name"
    for ending in ("ly", "ing", "ed"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return ending
    return "w-w" if "-" in word else "Words" if word.endswith("s") else "Word"


def _runs(classes: Sequence[str]) -> Iterator[str]:
    """Runs of classes that hold more than words by their form."""
    silent = [0, *accumulate(part in _SILENT for part in classes)]
    for size in range(1, _RUN_MAX + 1):
        most = max(0, size - 2)
        for at in range(len(classes) - size + 1):
            if silent[at + size] - silent[at] <= most:
                yield " ".join(classes[at : at + size])


def _around(classes: Sequence[str], noun: Noun, introduced: bool) -> Iterator[str]:
    """A noun with its article, the word before it, and the verb after it."""
    at = noun.after + 1
    while at < len(classes) - 1 and (classes[at] == "ly" or classes[at] in {"also", "then", "first", "now", "only", "just"}):
        at += 1
    before = classes[noun.start] if noun.start else "^"
    before = "w" if before in _SILENT and before not in ",." else before
    negated = "not " if at + 1 < len(classes) and classes[at] in {"does", "do", "did"} and classes[at + 1] == "not" else ""
    at += 2 if negated else 0
    verb = "doesn't" if negated and at >= len(classes) else classes[at] if at < len(classes) else "$"
    verb = negated + ("w" if verb in _SILENT and verb not in ",." else verb)
    tense = verb.rsplit(":", 1)[-1]
    following = classes[at + 1] if at + 1 < len(classes) else "$"
    kind = noun.kind + ("'s" if noun.possessive else "")
    how = ("known " if introduced else "") + ("pointed" if noun.pointed else "kind" if noun.genre else "other" if noun.modified else "")
    how = f"{'a' if noun.determiner in _INDEFINITE else noun.determiner} {how}"
    yield f"N {kind}"
    yield f"NH {kind}|{how}"
    yield f"NHV {kind}|{how}|{verb}"
    yield f"HV {how}|{verb}"
    yield f"HT {how}|{tense}"
    yield f"NV {kind}|{verb}"
    yield f"BN {before}|{kind}"
    yield f"BH {before}|{how}"
    yield f"BNH {before}|{kind}|{how}"
    yield f"BNV {before}|{kind}|{verb}"
    yield f"VF {verb}|{following}"
    yield f"NHF {kind}|{how}|{classes[noun.after + 1] if noun.after + 1 < len(classes) else '$'}"


_INDEFINITE = frozenset(("a", "an", "his", "her", "their", "its", "each", "every", "another", "one", "some", "two"))


@lru_cache(maxsize=1)
def _weights() -> tuple[dict[str, float], float]:
    """The weights that ship, and the bias less the threshold."""
    stored = json.loads(files(__package__).joinpath("weights.json").read_text(encoding="utf-8"))
    return stored["weights"], stored["bias"] - stored["threshold"]
