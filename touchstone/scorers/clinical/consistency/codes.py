"""Codes and names as they compare across formats: canonical code systems, folded texts, and the code maps of v2-to-FHIR and C-CDA on FHIR.

The maps are written from HL7's own (v2-to-FHIR concept maps, C-CDA on FHIR terms): administrative sex, marital status, patient class, allergy
severity and criticality.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final, Literal

from touchstone.scorers.clinical.checks.terminology import CVX, ICD10CM, NDC, SNOMED, code_system
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
    "2.16.840.1.113883.6.59": CVX.key, "HL70292": CVX.key, "SNOMED": SNOMED.key, "SNM": SNOMED.key, "SCTID": SNOMED.key,
    "I10P": "icd-10-pcs", "ICD10PCS": "icd-10-pcs", "ICD-10-PCS": "icd-10-pcs", "2.16.840.1.113883.6.4": "icd-10-pcs",
    "HTTP://WWW.CMS.GOV/MEDICARE/CODING/ICD10": "icd-10-pcs",
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
        "disease",
        "disorder",
        "finding",
        "product",
        "daily",
        "due",
        "current",
    ]
)
#: Words that make a thing another, and are not mere detail: those of a relative, of a suspicion, of other kinds of pressure, of what is gone.
_TURNING: Final = frozenset(
    [
        "family",
        "familial",
        "mother",
        "father",
        "maternal",
        "paternal",
        "sibling",
        "history",
        "suspected",
        "possible",
        "risk",
        "screening",
        "exposure",
        "gestational",
        "pulmonary",
        "portal",
        "ocular",
        "intracranial",
        "non",
        "not",
        "no",
        "ruled",
        "absent",
        "pre",
    ]
)
#: Words that very different things share.
_COMMON: Final = frozenset(
    [
        "acute",
        "chronic",
        "severe",
        "mild",
        "moderate",
        "type",
        "stage",
        "primary",
        "secondary",
        "essential",
        "syndrome",
        "disease",
        "disorder",
        "infection",
        "failure",
        "injury",
        "pain",
        "kidney",
        "heart",
        "lung",
        "liver",
        "blood",
        "high",
        "extended",
        "release",
        "hydrochloride",
        "sodium",
        "potassium",
        "calcium",
        "acetate",
        "succinate",
        "tartrate",
        "sulfate",
        "phosphate",
        "citrate",
        "maleate",
        "mesylate",
        "besylate",
        "drug",
        "drugs",
        "medication",
        "medications",
        "unspecified",
        "complications",
        "complication",
        "without",
        "with",
        "left",
        "right",
        "upper",
        "lower",
        "bilateral",
        "twice",
        "once",
        "every",
        "hours",
        "hour",
        "weekly",
        "needed",
        "tablet",
        "capsule",
        "injection",
        "acid",
    ]
)
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
#: How what is denied begins → of what there is none; anything else is one thing.
_GENERAL: Final[dict[str, tuple[str, ...]]] = {
    "medication": ("drug", "medic", "prescription"),
    "food": ("food",),
    "environment": ("environment", "latex"),
    "all": ("allerg", "problem", "condition", "disease", "diagnos", "illness", "health", "chronic", "adverse", "intoleranc"),
}
#: Codes of SNOMED CT and of HL7, and words, of results that are positive or negative.
_VERDICTS: Final = {
    "10828004": "positive", "260373001": "positive", "11214006": "positive", "52101004": "positive", "POS": "positive", "POSITIVE": "positive",
    "DETECTED": "positive", "REACTIVE": "positive", "PRESENT": "positive",
    "260385009": "negative", "260415000": "negative", "131194007": "negative", "2667000": "negative", "NEG": "negative", "NEGATIVE": "negative",
    "NOT DETECTED": "negative", "NONREACTIVE": "negative", "NON REACTIVE": "negative", "NOT REACTIVE": "negative", "ABSENT": "negative",
    "NONE DETECTED": "negative", "UNDETECTED": "negative",
}  # fmt: skip

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
#: HL7 v2 has one class for patients who come and go, and those observed, or for a short stay, are in either.
_CLASS: Final = {
    "I": "IMP", "E": "EMER", "O": "AMB", "P": "PRENC", "IMP": "IMP", "ACUTE": "IMP", "NONAC": "IMP", "EMER": "EMER", "AMB": "AMB", "PRENC": "PRENC",
    "VR": "AMB", "HH": "AMB", "FLD": "AMB",
}  # fmt: skip
#: Severities of a reaction, and how critical an allergy is (`high`, `low`); HL7 v2 tells both by one code.
_SEVERITY: Final[dict[str, tuple[str, ...]]] = {
    "SV": ("severe", "high"), "MO": ("moderate",), "MI": ("mild", "low"), "severe": ("severe",), "moderate": ("moderate",), "mild": ("mild",),
    "24484000": ("severe",), "6736007": ("moderate",), "255604002": ("mild",), "high": ("high",), "low": ("low",), "CRITH": ("high",), "CRITL": ("low",),
}  # fmt: skip

Relation = Literal["same", "other", "unknown"]
#: Letters that Unicode does not take apart.
_PLAIN_LETTERS: Final = str.maketrans({
    "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t", "’": "'", "‘": "'", "ʼ": "'",
})  # fmt: skip


def canonical_system(name: object) -> tuple[str, bool]:
    """The canonical name of a code system by URL, OID or HL7 v2 name, and whether that name is the same everywhere. Empty where none is named."""
    if not isinstance(name, str) or not name.strip() or len(name) > _CODE_LENGTH_MAX * 2:
        return "", False
    text = name.strip().rstrip("/")
    if text.startswith(f"{SNOMED.url}/"):
        return SNOMED.key, True
    known = code_system(text)
    if known is not None:
        return known.key, True
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
        name, folded = _whole_ndc(folded)
    elif name == CVX.key:
        folded = folded.lstrip("0") or "0"
    return Code(name, folded, is_public)


def _whole_ndc(code: str) -> tuple[str, str]:
    """A drug code in its eleven digits. Ten digits without hyphens may be of three layouts, and compare by name alone."""
    parts = code.split("-")
    if len(parts) == 3 and code.replace("-", "").isdecimal():
        return NDC.key, "".join(part.zfill(width) for part, width in zip(parts, (5, 4, 2), strict=True))
    plain = code.replace("-", "")
    return (NDC.key if len(plain) == 11 else f"{NDC.key} of {len(plain)} digits"), plain


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
            if is_same_system and _is_category(one, other):
                return "same"
            shared = shared or is_same_system
    return "other" if shared else "unknown"


def _is_category(one: Code, other: Code) -> bool:
    """Whether one of two codes of ICD-10 is the category of three characters that the other is in: the same, told with less detail."""
    return one.system == ICD10CM.key and 3 in (len(one.code), len(other.code)) and one.code[:3] == other.code[:3]


def folded(text: str) -> str:
    """A text without case, accents and blanks around it."""
    decomposed = unicodedata.normalize("NFKD", text[:TEXT_LENGTH_MAX].casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character)).strip().translate(_PLAIN_LETTERS)


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
    """Whether a name of one says the same as a name of the other: all words of the shorter stand in the longer, and no other word turns its meaning."""
    others = tuple(theirs)
    return any((one <= other or other <= one) and _TURNING.isdisjoint(one ^ other) for one in ours for other in others)


def is_alike_text(ours: Iterable[frozenset[str]], theirs: Iterable[frozenset[str]]) -> bool:
    """Whether two names may mean the same: they share a word of weight."""
    others = tuple(theirs)
    return any(len(word) > 3 and word not in _COMMON for one in ours for other in others if _TURNING.isdisjoint(one ^ other) for word in one & other)


def denial_of(codes: Iterable[Code], texts: Iterable[object]) -> str | None:
    """What an entry says that there is none of: `all`, `medication`, `food`, `environment`, `one` (one thing alone); None where it names something."""
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


def verdict_of(codes: Iterable[Code], text: object = None) -> str:
    """`positive` or `negative`, of a result that is no number; empty for any other."""
    for code in codes:
        if code.code in _VERDICTS:
            return _VERDICTS[code.code]
    plain = " ".join(_WORD.findall(folded(text))) if isinstance(text, str) and len(text) <= 40 else ""
    return _VERDICTS.get(plain.upper(), "")


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


def severities_of(value: object) -> tuple[str, ...]:
    """`severe`, `moderate` or `mild`, and `high` or `low`; empty for what is none of them."""
    return _SEVERITY.get(value.strip(), ()) if isinstance(value, str) else ()
