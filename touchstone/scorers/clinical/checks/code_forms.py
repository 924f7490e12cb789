"""The form of codes, which can be checked without the content of their code system. Each function returns the fault, or None."""

from __future__ import annotations

import re
from typing import Final

from touchstone.scorers.clinical.checks.identifiers import luhn_digit

CODE_LENGTH_MAX: Final = 64

#: Verhoeff's check digit: multiplication in the dihedral group D5, and the permutation of each place (SNOMED CT technical guide).
_TIMES: Final = (
    "0123456789",
    "1234067895",
    "2340178956",
    "3401289567",
    "4012395678",
    "5987604321",
    "6598710432",
    "7659821043",
    "8765932104",
    "9876543210",
)
_PLACES: Final = ("0123456789", "1576283094", "5803796142", "8916043527", "9453126870", "4286573901", "2793806415", "7046913258")
_INVERSE: Final = "0432156789"

_ICD10CM: Final = re.compile(r"[A-Z][0-9][0-9A-Z](?:\.?[0-9A-Z]{1,4})?")
_RXNORM: Final = re.compile(r"[1-9][0-9]{0,7}")
_LOINC: Final = re.compile(r"([0-9]{1,7})-([0-9])")
_LOINC_PART: Final = re.compile(r"(?:LP|LA|LL|LG)[0-9]{1,9}-[0-9]")
_SNOMED: Final = re.compile(r"[1-9][0-9]{5,17}")
_SNOMED_EXPRESSION: Final = frozenset("|:+={}(), ")
_CVX: Final = re.compile(r"[0-9]{2,3}")
_NDC: Final = re.compile(r"[0-9]{4,5}-[0-9]{3,4}-[0-9]{1,2}|[0-9]{10,11}|[0-9]{4,5}-[0-9]{3,4}")
#: SNOMED CT partitions: short and long forms of concept, description and relationship.
_PARTITIONS: Final = {"00": "concept", "10": "concept", "01": "description", "11": "description", "02": "relationship", "12": "relationship"}
_LONG_FORM_MIN: Final = 11


def verhoeff_digit(digits: str) -> int:
    """Return the check digit that completes ASCII `digits` by Verhoeff's test."""
    state = 0
    for place, digit in enumerate(reversed(digits), start=1):
        state = int(_TIMES[state][int(_PLACES[place % 8][int(digit)])])
    return int(_INVERSE[state])


def icd10cm_problem(code: str) -> str | None:
    """Check the form of an ICD-10-CM code, including case and dot."""
    if _ICD10CM.fullmatch(code) is None:
        if _ICD10CM.fullmatch(code.upper()) is not None:
            return "ICD-10-CM codes are written in upper case"
        return "not of the form of an ICD-10-CM code (a letter, a digit, a digit or letter, then a dot and up to four more)"
    if len(code) > 3 and code[3] != ".":
        return "ICD-10-CM codes have a dot after the third character"
    return None


def rxnorm_problem(code: str) -> str | None:
    """Check the form of an RxNorm concept identifier."""
    return None if _RXNORM.fullmatch(code) else "RxNorm concept identifiers are numbers of at most 8 digits without leading zero"


def loinc_problem(code: str) -> str | None:
    """Check the form of a LOINC code and its check digit (Luhn's); of parts and answers (LP, LA, LL, LG) the form only."""
    match = _LOINC.fullmatch(code)
    if match is None:
        if _LOINC_PART.fullmatch(code):
            return None
        return "not of the form of a LOINC code (up to 7 digits, a hyphen, a check digit)"
    return None if luhn_digit(match[1]) == int(match[2]) else "LOINC check digit is wrong"


def snomed_problem(code: str) -> str | None:
    """Check a SNOMED CT concept identifier: length, partition, check digit. Expressions are not checked."""
    if _SNOMED.fullmatch(code) is None:
        if any(character in _SNOMED_EXPRESSION for character in code) and code[:1].isdigit():
            return None
        return "SNOMED CT identifiers are numbers of 6 to 18 digits without leading zero"
    if verhoeff_digit(code[:-1]) != int(code[-1]):
        return "SNOMED CT check digit is wrong"
    partition = _PARTITIONS.get(code[-3:-1])
    if partition is None or (code[-3] == "1" and len(code) < _LONG_FORM_MIN):
        return "SNOMED CT partition identifier is none that is in use"
    return None if partition == "concept" else f"SNOMED CT identifier is that of a {partition}, not of a concept"


def is_snomed_expression(code: str) -> bool:
    """Return True if a code is a post-coordinated expression, not an identifier."""
    return _SNOMED.fullmatch(code) is None and snomed_problem(code) is None


def cvx_problem(code: str) -> str | None:
    """Check the form of a CVX code."""
    return None if _CVX.fullmatch(code) else "CVX codes are two or three digits, with a leading zero below 10"


def ndc_problem(code: str) -> str | None:
    """Check the form of a National Drug Code: 10 or 11 digits, with or without hyphens, or labeler and product only."""
    return None if _NDC.fullmatch(code) else "NDC codes are 10 or 11 digits, in three groups where hyphenated"
