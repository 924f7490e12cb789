"""Names of things as they compare across formats: the words that say what a thing is, and entries that say that there is none."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from touchstone.scorers.clinical.consistency.record import Code

TEXT_LENGTH_MAX: Final = 400
WORDS_MAX: Final = 40
WORD: Final = re.compile(r"[^\W_]+")
#: The semantic tag at the end of a SNOMED CT name.
_TAG: Final = re.compile(r"\s*\((?:disorder|finding|situation|procedure|substance|product|observable entity|medicinal product|event|qualifier value)\)\s*$")
#: Words that do not say what a thing is.
_FILLERS_TEXT: Final = """
a an and as at by for from in into of on or the to with unspecified nos other mg ml mcg g oral tablet tablets
tab capsule capsules cap solution injection disease disorder finding product daily due current
"""
_FILLERS: Final = frozenset(_FILLERS_TEXT.split())
#: Words that change the meaning: of a relative, of a suspicion, of other kinds of pressure, of what is gone.
_TURNING_TEXT: Final = """
family familial mother father maternal paternal sibling history suspected possible risk screening exposure
gestational pulmonary portal ocular intracranial non not no ruled absent pre
"""
_TURNING: Final = frozenset(_TURNING_TEXT.split())
#: Words that very different things share.
_COMMON_TEXT: Final = """
acute chronic severe mild moderate type stage primary secondary essential syndrome disease disorder infection
failure injury pain kidney heart lung liver blood high extended release hydrochloride sodium potassium calcium
acetate succinate tartrate sulfate phosphate citrate maleate mesylate besylate drug drugs medication
medications unspecified complications complication without with left right upper lower bilateral twice once
every hours hour weekly needed tablet capsule injection acid
"""
_COMMON: Final = frozenset(_COMMON_TEXT.split())
#: Texts that name no thing.
_EMPTY_TEXTS: Final = frozenset({"unknown", "no information", "none", "n/a", "not available", "see text"})
#: Codes that say that there is none → of what.
NO_KNOWN: Final = {
    "716186003": "all", "160244002": "all", "160245001": "all", "787481004": "all", "409137002": "medication", "428607008": "environment",
    "429625007": "food", "1003774007": "environment",
}  # fmt: skip
_NO_KNOWN_TEXT: Final = re.compile(
    r"\s*(?:(?:the )?(?:patient|pt) (?:has |reports |states )?)?"
    r"(?:nkd?a\b|nkfa\b|nil known\b|none(?: known| reported)?\s*\.?$|"
    r"(?:denies|no)(?: any| known| active| current| significant| other| (?=\w))+ *(?P<what>\w+))",
    re.IGNORECASE,
)
#: Beginnings of what is denied → of what there is none; any other word is one thing alone.
_GENERAL: Final[dict[str, tuple[str, ...]]] = {
    "medication": ("drug", "medic", "prescription"),
    "food": ("food",),
    "environment": ("environment", "latex"),
    "all": ("allerg", "problem", "condition", "disease", "diagnos", "illness", "health", "chronic", "adverse", "intoleranc"),
}
#: Letters that Unicode does not decompose.
_PLAIN_LETTERS: Final = str.maketrans({
    "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t", "’": "'", "‘": "'", "ʼ": "'",
})  # fmt: skip


def folded(text: str) -> str:
    """A text without case, accents and blanks around it."""
    decomposed = unicodedata.normalize("NFKD", text[:TEXT_LENGTH_MAX].casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character)).strip().translate(_PLAIN_LETTERS)


def words_of(text: object) -> frozenset[str]:
    """The significant words of a name; empty if it names no thing."""
    if not isinstance(text, str) or not text.strip():
        return frozenset()
    plain = _TAG.sub("", folded(text))
    if plain in _EMPTY_TEXTS:
        return frozenset()
    found = WORD.findall(plain)[:WORDS_MAX]
    kept = frozenset(word for word in found if word not in _FILLERS)
    return kept or frozenset(found)


def texts_of(texts: Iterable[object]) -> tuple[frozenset[str], ...]:
    """The significant words of each name, without duplicates and empty ones."""
    return tuple(dict.fromkeys(words for text in texts if (words := words_of(text))))


def is_same_text(ours: Iterable[frozenset[str]], theirs: Iterable[frozenset[str]]) -> bool:
    """True if two names have the same meaning: the longer has all words of the shorter, and no extra word that changes the meaning."""
    others = tuple(theirs)
    return any((one <= other or other <= one) and _TURNING.isdisjoint(one ^ other) for one in ours for other in others)


def is_alike_text(ours: Iterable[frozenset[str]], theirs: Iterable[frozenset[str]]) -> bool:
    """True if two names may have the same meaning: they share a distinctive word."""
    others = tuple(theirs)
    return any(len(word) > 3 and word not in _COMMON for one in ours for other in others if _TURNING.isdisjoint(one ^ other) for word in one & other)


def denial_of(codes: Iterable[Code], texts: Iterable[object]) -> str | None:
    """What an entry denies: `all`, `medication`, `food`, `environment`, or `one` (one thing alone); None if it names something."""
    for code in codes:
        if code.code in NO_KNOWN:
            return NO_KNOWN[code.code]
    for text in texts:
        if isinstance(text, str) and (found := _NO_KNOWN_TEXT.match(text[:120])) is not None:
            return _denied(found)
    return None


def _denied(found: re.Match[str]) -> str:
    what, rest = (found["what"] or "").casefold(), found.string[found.end() :].casefold()
    if not what:
        return "medication" if "nkd" in found[0].casefold() else "food" if "nkf" in found[0].casefold() else "all"
    general = next((category for category, begins in _GENERAL.items() if what.startswith(begins)), None)
    if general is None or " of " in rest or " to " in rest:
        return "one"
    return general
