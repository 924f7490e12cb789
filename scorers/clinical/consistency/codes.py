"""Codes and names as they compare across formats: canonical code systems, folded texts, and the code maps of v2-to-FHIR and C-CDA on FHIR.

The maps are written from HL7's own (v2-to-FHIR concept maps, C-CDA on FHIR terms): administrative sex, marital status, patient class, allergy
severity and criticality.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final, Literal

from touchstone.scorers.clinical.checks.terminology import CVX, ICD10CM, NDC, code_system
from touchstone.scorers.clinical.consistency.record import Code

TEXT_LENGTH_MAX: Final = 400
WORDS_MAX: Final = 40
_CODE_LENGTH_MAX: Final = 128
_OID: Final = re.compile(r"(?:urn:oid:)?([0-2](?:\.\d+)+)", re.ASCII | re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W_]+")
_NOT_ALNUM: Final = re.compile(r"[\W_]+")
#: The semantic tag at the end of a SNOMED CT name.
_TAG: Final = re.compile(r"\s*\((?:disorder|finding|situation|procedure|substance|product|observable entity|medicinal product|event|qualifier value)\)\s*$")
#: Systems beside the ones that the terminology checks know: names and OIDs, in upper case → canonical name.
_MORE_SYSTEMS: Final = {
    "I9": "icd-9-cm", "I9C": "icd-9-cm", "ICD9": "icd-9-cm", "ICD9CM": "icd-9-cm", "ICD-9-CM": "icd-9-cm", "2.16.840.1.113883.6.103": "icd-9-cm",
    "2.16.840.1.113883.6.2": "icd-9-cm", "HTTP://HL7.ORG/FHIR/SID/ICD-9": "icd-9-cm", "HTTP://HL7.ORG/FHIR/SID/ICD-9-CM": "icd-9-cm",
    "I10": "icd-10", "ICD10": "icd-10", "ICD-10": "icd-10", "2.16.840.1.113883.6.3": "icd-10", "HTTP://HL7.ORG/FHIR/SID/ICD-10": "icd-10",
    "C4": "cpt", "CPT": "cpt", "CPT4": "cpt", "CPT-4": "cpt", "2.16.840.1.113883.6.12": "cpt", "HTTP://WWW.AMA-ASSN.ORG/GO/CPT": "cpt",
    "UNII": "unii", "2.16.840.1.113883.4.9": "unii", "HTTP://FDASIS.NLM.NIH.GOV": "unii",
    "2.16.840.1.113883.6.59": CVX.key,
    "NDFRT": "ndf-rt", "2.16.840.1.113883.3.26.1.5": "ndf-rt", "HTTP://HL7.ORG/FHIR/NDFRT": "ndf-rt",
}  # fmt: skip
#: One code in two editions of ICD-10 may stand in a message under either name.
_FAMILIES: Final = {"icd-10": ICD10CM.key}
#: Words that say nothing of what a thing is.
_FILLERS: Final = frozenset(
    [
        "a",
        "an",
        "and",
        "as",
        "at",
        "by",
        "for",
        "from",
        "in",
        "into",
        "of",
        "on",
        "or",
        "the",
        "to",
        "with",
        "unspecified",
        "nos",
        "other",
        "mg",
        "ml",
        "mcg",
        "g",
        "oral",
        "tablet",
        "tablets",
        "tab",
        "capsule",
        "capsules",
        "cap",
        "solution",
        "injection",
        "history",
        "disease",
        "disorder",
        "finding",
        "product",
        "daily",
        "due",
        "current",
    ]
)
#: Texts that name no thing.
_EMPTY_TEXTS: Final = frozenset({"unknown", "no information", "none", "n/a", "not available", "see text"})
#: Codes that say that there is no allergy, of any kind or of one.
NO_KNOWN: Final = frozenset({"716186003", "409137002", "428607008", "429625007", "160244002", "1003774007", "160245001"})
_NO_KNOWN_TEXT: Final = re.compile(r"\s*(?:no known|no active|no current|nka\b|nkda\b|nil known|denies)", re.IGNORECASE)

_SEX: Final = {
    "m": "male", "male": "male", "man": "male", "f": "female", "female": "female", "woman": "female",
    "o": "other", "a": "other", "n": "other", "other": "other", "x": "other", "un": "other", "u": "unknown", "unk": "unknown", "unknown": "unknown",
}  # fmt: skip
#: HL70002 → v3 MaritalStatus, as v2-to-FHIR maps it. Separated is no code of its own there.
_MARITAL_V2: Final = {
    "A": "L", "E": "L", "D": "D", "M": "M", "S": "S", "W": "W", "C": "C", "G": "T", "P": "T", "R": "T", "N": "A", "I": "I", "B": "U",
}  # fmt: skip
_MARITAL_V3: Final = {"A": "A", "C": "C", "D": "D", "I": "I", "L": "L", "M": "M", "P": "P", "S": "S", "T": "T", "U": "U", "W": "W"}
#: Equal for a comparison: never married and unmarried; common law, which C-CDA on FHIR makes a domestic partner.
_MARITAL_ALIKE: Final = {"U": "S", "C": "T"}
_CLASS: Final = {
    "I": "IMP", "E": "EMER", "O": "AMB", "P": "PRENC", "IMP": "IMP", "ACUTE": "IMP", "NONAC": "IMP", "EMER": "EMER", "AMB": "AMB", "PRENC": "PRENC",
    "VR": "VR", "HH": "HH", "FLD": "FLD", "SS": "SS", "OBSENC": "OBSENC",
}  # fmt: skip
_SEVERITY: Final = {
    "SV": "severe", "MO": "moderate", "MI": "mild", "severe": "severe", "moderate": "moderate", "mild": "mild", "24484000": "severe", "6736007": "moderate",
    "255604002": "mild", "high": "severe", "low": "mild", "CRITH": "severe", "CRITL": "mild",
}  # fmt: skip

Relation = Literal["same", "other", "unknown"]


def canonical_system(name: object) -> tuple[str, bool]:
    """The canonical name of a code system by URL, OID or HL7 v2 name, and whether that name is the same everywhere. Empty where none is named."""
    if not isinstance(name, str) or not name.strip() or len(name) > _CODE_LENGTH_MAX * 2:
        return "", False
    known = code_system(name)
    if known is not None:
        return known.key, True
    text = name.strip()
    oid = _OID.fullmatch(text)
    more = _MORE_SYSTEMS.get((oid[1] if oid else text).upper())
    if more is not None:
        return _FAMILIES.get(more, more), True
    if oid:
        return oid[1], True
    # Local names, and URLs of local systems: converters make one of the other, and what both end with stays.
    tail = re.split(r"[/:#]", text.rstrip("/"))[-1]
    return f"local:{_NOT_ALNUM.sub('', tail).upper()}", False


def code_of(system: object, code: object) -> Code | None:
    """A coding as it compares; None where there is no code."""
    if not isinstance(code, str):
        return None
    text = code.strip()
    if not text or len(text) > _CODE_LENGTH_MAX:
        return None
    name, is_public = canonical_system(system)
    folded = text.upper()
    if name in {ICD10CM.key, "icd-9-cm"}:
        folded = folded.replace(".", "")
    elif name == NDC.key:
        folded = folded.replace("-", "")
    return Code(name, folded, is_public)


def relation(ours: Iterable[Code], theirs: Iterable[Code]) -> Relation:
    """Whether two lists of codes name the same thing: by one code in common; another, where they share a system and no code of it; else unknown."""
    mine, yours = tuple(ours), tuple(theirs)
    shared = False
    for one in mine:
        for other in yours:
            # Two codes without a system are taken for codes of one.
            is_same_system = one.system == other.system
            if one.code == other.code and (is_same_system or not (one.is_public and other.is_public)):
                return "same"
            shared = shared or is_same_system
    return "other" if shared else "unknown"


def folded(text: str) -> str:
    """A text without case, accents and blanks around it."""
    decomposed = unicodedata.normalize("NFKD", text[:TEXT_LENGTH_MAX].casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character)).strip()


def words_of(text: object) -> frozenset[str]:
    """The words of a name that say what it is; empty where it says nothing."""
    if not isinstance(text, str) or not text.strip():
        return frozenset()
    plain = _TAG.sub("", folded(text))
    if plain in _EMPTY_TEXTS:
        return frozenset()
    found = _WORD.findall(plain)[:WORDS_MAX]
    kept = frozenset(word for word in found if word not in _FILLERS)
    return kept or frozenset(found)


def texts_of(texts: Iterable[object]) -> tuple[frozenset[str], ...]:
    """The words of several names, each once, without the empty ones."""
    return tuple(dict.fromkeys(words for text in texts if (words := words_of(text))))


def is_same_text(ours: Iterable[frozenset[str]], theirs: Iterable[frozenset[str]]) -> bool:
    """Whether a name of one says the same as a name of the other: all words of the shorter stand in the longer."""
    others = tuple(theirs)
    return any(one <= other or other <= one for one in ours for other in others)


def is_alike_text(ours: Iterable[frozenset[str]], theirs: Iterable[frozenset[str]]) -> bool:
    """Whether two names may mean the same: they share a word of weight."""
    others = tuple(theirs)
    return any(len(word) > 3 for one in ours for other in others for word in one & other)


def is_none_known(codes: Iterable[Code], texts: Iterable[object]) -> bool:
    """Whether an entry says that there is nothing to say."""
    return any(code.code in NO_KNOWN for code in codes) or any(isinstance(text, str) and _NO_KNOWN_TEXT.match(text[:80]) is not None for text in texts)


def sex_of(value: object) -> str:
    """FHIR's administrative gender of a code or word of any format; empty for what is none."""
    return _SEX.get(value.strip().casefold(), "") if isinstance(value, str) else ""


def marital_of(value: object, *, is_v2: bool) -> str:
    """The marital status as v3 code; empty where it is unknown or unmapped."""
    if not isinstance(value, str):
        return ""
    mapped = (_MARITAL_V2 if is_v2 else _MARITAL_V3).get(value.strip().upper(), "")
    return _MARITAL_ALIKE.get(mapped, mapped)


def class_of(value: object) -> str:
    """An encounter's class as v3 code; empty for classes that have no counterpart."""
    return _CLASS.get(value.strip().upper(), "") if isinstance(value, str) else ""


def severity_of(value: object) -> str:
    """`severe`, `moderate` or `mild`; empty for what is none of them."""
    return _SEVERITY.get(value.strip(), "") if isinstance(value, str) else ""
