"""Code maps between the formats: results in words, sex, marital status, patient class, allergy severity and criticality.

Written from HL7's own maps (v2-to-FHIR concept maps, C-CDA on FHIR terms).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from touchstone.scorers.clinical.consistency.record import Code
from touchstone.scorers.clinical.consistency.wording import WORD, folded

#: SNOMED CT codes, HL7 codes and words for positive and negative results.
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
#: HL70002 → v3 MaritalStatus, as v2-to-FHIR maps it, which has no code for separated.
_MARITAL_V2: Final = {
    "A": "L", "E": "L", "D": "D", "M": "M", "S": "S", "W": "W", "C": "C", "G": "T", "P": "T", "R": "T", "N": "A", "I": "I", "B": "U",
}  # fmt: skip
_MARITAL_V3: Final = {"A": "A", "C": "C", "D": "D", "I": "I", "L": "L", "M": "M", "P": "P", "S": "S", "T": "T", "U": "U", "W": "W"}
#: Codes that compare as equal: never married and unmarried; common law and domestic partner, which C-CDA on FHIR maps it to.
_MARITAL_ALIKE: Final = {"U": "S", "C": "T"}
#: Encounter class → v3 code. HL7 v2 has one class for outpatients, and observation and short stays may have any.
_CLASS: Final = {
    "I": "IMP", "E": "EMER", "O": "AMB", "P": "PRENC", "IMP": "IMP", "ACUTE": "IMP", "NONAC": "IMP", "EMER": "EMER", "AMB": "AMB", "PRENC": "PRENC",
    "VR": "AMB", "HH": "AMB", "FLD": "AMB",
}  # fmt: skip
#: Severity of a reaction, and criticality of an allergy (`high`, `low`); HL7 v2 has one code for both.
_SEVERITY: Final[dict[str, tuple[str, ...]]] = {
    "SV": ("severe", "high"), "MO": ("moderate",), "MI": ("mild", "low"), "severe": ("severe",), "moderate": ("moderate",), "mild": ("mild",),
    "24484000": ("severe",), "6736007": ("moderate",), "255604002": ("mild",), "high": ("high",), "low": ("low",), "CRITH": ("high",), "CRITL": ("low",),
}  # fmt: skip


def verdict_of(codes: Iterable[Code], text: object = None) -> str:
    """`positive` or `negative` for a qualitative result; empty for any other."""
    for code in codes:
        if code.code in _VERDICTS:
            return _VERDICTS[code.code]
    plain = " ".join(WORD.findall(folded(text))) if isinstance(text, str) and len(text) <= 40 else ""
    return _VERDICTS.get(plain.upper(), "")


def sex_of(value: object) -> str:
    """FHIR's administrative gender for a code or word of any format; empty if unknown to the map."""
    return _SEX.get(value.strip().casefold(), "") if isinstance(value, str) else ""


def marital_of(value: object, *, is_v2: bool) -> str:
    """The marital status as v3 code; empty if unknown or unmapped."""
    if not isinstance(value, str):
        return ""
    mapped = (_MARITAL_V2 if is_v2 else _MARITAL_V3).get(value.strip().upper(), "")
    return _MARITAL_ALIKE.get(mapped, mapped)


def class_of(value: object) -> str:
    """An encounter's class as v3 code; empty for a class without a counterpart."""
    return _CLASS.get(value.strip().upper(), "") if isinstance(value, str) else ""


def severities_of(value: object) -> tuple[str, ...]:
    """`severe`, `moderate` or `mild`, and `high` or `low`; empty for any other value."""
    return _SEVERITY.get(value.strip(), ()) if isinstance(value, str) else ()
