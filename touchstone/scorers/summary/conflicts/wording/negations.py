"""Negations in a clause, and the words that they negate."""

import re
from itertools import pairwise
from typing import NamedTuple

from touchstone.scorers.summary.conflicts.wording.clauses import NO_CLAUSE, Clause
from touchstone.scorers.summary.word_lists import listed, word_lists

_LISTS = word_lists(__file__, "words")

NOT = listed("not non no never without cannot none nobody nothing nor neither lacks lacked lacking")
_NOBODY = frozenset({"nobody", "none", "nothing"})
_SOFTENED = _LISTS["softened"]
_SOFT_BEFORE = frozenset({"whether", "or", "if", "why", "little", "but"})
#: Two words that negate together: the first, then the second within the next two words.
_PAIRS = {
    "fail": {"to"},
    "refus": {"to"},
    "declin": {"to"},
    "rul": {"out"},
    "rule": {"out"},
    "negativ": {"for"},
    "fre": {"of"},
    "lack": {"of"},
    "absenc": {"of"},
    "unabl": {"to"},
    "refrain": {"from"},
}
_DISMISSES = frozenset({"reject", "dismiss", "rebut", "refut"})
_ARGUMENTS = listed("argument claim allegation contention suggestion view idea notion theory assertion objection")
#: What these exclude is not there.
_EXCLUDING = frozenset({"ct", "mri", "scan", "test", "xray", "ultrasound", "imag", "echo", "ecg", "biopsy", "radiograph", "angiography", "examination"})
_OBJECT_BEFORE = frozenset({"rul", "rule"})
_ASKED = frozenset({"", "i", "you", "we", "they", "he", "she", "it"})
#: What is not known is so all the same.
_FACTIVE = frozenset({"know", "knew", "realiz", "realis", "notic", "remember", "forget", "regret", "understand", "awar", "mind"})
_HELPS = listed("do does did has have had will can could would")
_DENIES = frozenset({"deny", "denied", "denies", "denying"})
_PATIENT = listed("patient pt he she they man woman boy girl mother father child infant who and")
_PREFIXED = _LISTS["prefixed"]
_PREFIX = re.compile(r"(?:un|non|in|im|il|ir|dis|a)")


class Cue(NamedTuple):
    """One negation: words `first` to `last` of a clause. `heads`: stems of what it negates; `soft`: it does not say the opposite."""

    first: int
    last: int
    heads: tuple[str, ...]
    soft: bool = False
    prefixed: bool = False


def cues(clause: Clause, other: Clause) -> list[Cue]:
    """The negations of a clause, by words; and by the beginnings of words that `other` has without them (unsafe, non-smoker)."""
    found: list[Cue] = []
    words = clause.words
    skip = -1
    for index, word in enumerate(words):
        if index <= skip or not word.stem:
            continue
        cue = _cue(clause, index, other) or _prefixed(clause, index, other)
        if cue is not None:
            skip = cue.last
            found.append(cue)
    return found


def cue_at(clause: Clause, index: int) -> Cue | None:
    """The negation that begins at a word, None if none does."""
    return _cue(clause, index, NO_CLAUSE) if clause.words[index].stem else None


def _cue(clause: Clause, index: int, other: Clause) -> Cue | None:
    """The negation that begins at a word; a word that both clauses have makes no difference between them."""
    word = clause.words[index]
    if word.fold in _DENIES:
        return _denial(clause, index)
    for last in range(index + 1, min(index + 3, len(clause.words))):
        if clause.words[last].fold in _PAIRS.get(word.stem, ()):
            if word.stem in other.all_stems and not any(a.stem == word.stem and b.fold in _PAIRS[a.stem] for a, b in pairwise(other.words)):
                return None  # "negative for alcohol", "the tests for alcohol were negative"
            heads = clause.next_content(last, 3)
            if word.stem in _OBJECT_BEFORE and not heads:
                heads = clause.last_content(index, 3)
            return Cue(index, last, tuple(heads))
    if word.stem in _DISMISSES and (that := _dismissed(clause, index)) is not None:
        return Cue(index, that, tuple(clause.next_content(that, 3)))
    if (
        word.stem == "exclud"
        and "exclud" not in other.all_stems
        and _EXCLUDING & set(clause.last_content(index, 4))
        and (index + 1 == len(clause.words) or clause.words[index + 1].fold != "from")
    ):
        return Cue(index, index, tuple(clause.next_content(index, 3)))
    if word.fold not in NOT and word.stem != "not":
        return None
    after = clause.words[index + 1].fold if index + 1 < len(clause.words) else ""
    if word.fold == "no" and after[:1].isdigit():
        return None  # No. 5
    if word.fold == "no" and after == "one":
        return Cue(index, index + 1, tuple(clause.next_content(index + 1, 3)))
    if after == "longer":
        return Cue(index, index + 1, tuple(clause.next_content(index + 1, 3)), soft="still" not in other.folds)
    heads = clause.next_content(index, 3) or clause.last_content(index, 3)
    return Cue(index, index, tuple(heads), softened(clause, index))


def _dismissed(clause: Clause, index: int) -> int | None:
    """The place of "that" in "rejected the argument that …"."""
    after = [word.fold for word in clause.words[index + 1 : index + 5]]
    if _ARGUMENTS & set(after) and "that" in after:
        return index + 1 + after.index("that")
    return None


def softened(clause: Clause, index: int) -> bool:
    """True if a negation does not say the opposite of what follows: "not only", "may or may not", "don't you?", "did not know that …", "not 5 but 2"."""
    word = clause.words[index]
    earlier, before = (clause.words[index - back].fold if index >= back else "" for back in (2, 1))
    after = clause.words[index + 1].fold if index + 1 < len(clause.words) else ""
    if word.fold == "no" and after == "one":
        return False
    if word.fold == "no" and not index and after in _ASKED:
        return True  # an answer: "No, I did"
    if after in _SOFTENED or before in _SOFT_BEFORE or earlier == "or" or after[:1].isdigit():
        return True
    if (word.fold.endswith("n't") and after in _ASKED) or (word.fold in _NOBODY and after in {"", "but", "other", "except"}):
        return True
    if word.fold == "not" and clause.ends == "but" and before not in _HELPS:
        return True
    return bool(_FACTIVE & set(clause.next_content(index, 1)))


def _denial(clause: Clause, index: int) -> Cue | None:
    """A patient denies a symptom: there is none. What others deny may be so."""
    before = [word.fold for word in clause.words[:index]]
    if len(before) > 4 or (before and not _PATIENT & set(before)):
        return None
    after = clause.words[index + 1].fold if index + 1 < len(clause.words) else ""
    if after in {"that", "the", "it", "all", "this", "being"}:
        return None
    last = index + 1 if after in {"any", "having", "a", "history"} else index
    return Cue(index, last, tuple(clause.next_content(last, 3)))


def _prefixed(clause: Clause, index: int, other: Clause) -> Cue | None:
    """A word that is another's opposite by its beginning, where the other clause has that other word."""
    word = clause.words[index]
    match = _PREFIX.match(word.fold)
    if match is None or len(word.fold) < 5 or word.fold in other.folds:
        return None
    if not word.fold.startswith(("un", "non")) and word.fold not in _PREFIXED:
        return None
    root = word.stem[match.end() :]
    if len(root) < 3 or root not in other.all_stems or root in clause.all_stems:
        return None
    return Cue(index, index, (root,), prefixed=True)
