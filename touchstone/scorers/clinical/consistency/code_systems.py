"""Codes as they compare across formats: canonical code systems, and whether two lists of codes name the same thing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal

from touchstone.scorers.clinical.checks.terminology import CVX, ICD10CM, NDC, SNOMED, code_system
from touchstone.scorers.clinical.consistency.record import Code

_CODE_LENGTH_MAX: Final = 128
OID: Final = re.compile(r"(?:urn:oid:)?([0-2](?:\.\d+)+)", re.ASCII | re.IGNORECASE)
NOT_ALNUM: Final = re.compile(r"[\W_]+")
#: Systems that the terminology checks do not have: names and OIDs in upper case → canonical name.
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
#: A code that two editions of ICD-10 share may appear under either name.
_FAMILIES: Final = {"icd-10": ICD10CM.key}

Relation = Literal["same", "other", "unknown"]


def canonical_system(name: object) -> tuple[str, bool]:
    """The canonical name of a code system (by URL, OID or HL7 v2 name; empty for none), and whether it is the same everywhere."""
    if not isinstance(name, str) or not name.strip() or len(name) > _CODE_LENGTH_MAX * 2:
        return "", False
    text = name.strip().rstrip("/")
    if text.startswith(f"{SNOMED.url}/"):
        return SNOMED.key, True
    known = code_system(text)
    if known is not None:
        return known.key, True
    oid = OID.fullmatch(text)
    more = _MORE_SYSTEMS.get((oid[1] if oid else text).upper())
    if more is not None:
        return _FAMILIES.get(more, more), True
    if oid:
        return oid[1], True
    # Converters make URLs of local names. Both end with the same words.
    tail = re.split(r"[/:#]", text.rstrip("/"))[-1]
    return f"local:{NOT_ALNUM.sub('', tail).upper()}", False


def code_of(system: object, code: object) -> Code | None:
    """A coding in canonical form; None if there is no code."""
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
    """A drug code with its eleven digits. Ten digits without hyphens may have three layouts, so they are a system of their own."""
    parts = code.split("-")
    if len(parts) == 3 and code.replace("-", "").isdecimal():
        return NDC.key, "".join(part.zfill(width) for part, width in zip(parts, (5, 4, 2), strict=True))
    plain = code.replace("-", "")
    return (NDC.key if len(plain) == 11 else f"{NDC.key} of {len(plain)} digits"), plain


def relation(ours: Iterable[Code], theirs: Iterable[Code]) -> Relation:
    """`same` if two lists of codes share a code, `other` if they share only a code system, else `unknown`."""
    mine, yours = tuple(ours), tuple(theirs)
    shared = False
    for one in mine:
        for other in yours:
            # Two codes without a system are taken for codes of the same system.
            is_same_system = one.system == other.system
            if one.code == other.code and (is_same_system or not (one.is_public and other.is_public)):
                return "same"
            if is_same_system and _is_category(one, other):
                return "same"
            shared = shared or is_same_system
    return "other" if shared else "unknown"


def _is_category(one: Code, other: Code) -> bool:
    """True if one ICD-10 code is the three-character category of the other: the same condition in less detail."""
    return one.system == ICD10CM.key and 3 in (len(one.code), len(other.code)) and one.code[:3] == other.code[:3]
