"""Coded values: coding systems (table 0396), which tables are closed, and membership with three answers."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.formats.hl7v2.primitives import trie
from touchstone.scorers.clinical.formats.hl7v2.tables import Version, code_tables

CODED = frozenset({"CE", "CWE", "CNE", "CF"})
SYSTEMS = "HL70396"
#: Tables that HL7 extends between versions and that senders use ahead of their version: any version's code is welcome.
GROWING = frozenset({"HL70003", "HL70061", "HL70076", "HL70078", "HL70125", "HL70203", "HL70211", "HL70301", "HL70354", SYSTEMS})
#: Tables that decide how a receiver treats the message or the result: a code outside them is a major finding.
CLOSED = frozenset({
    "HL70003", "HL70008", "HL70038", "HL70076", "HL70085", "HL70103", "HL70104", "HL70119", "HL70123", "HL70125", "HL70136", "HL70155", "HL70287", "HL70354",
})  # fmt: skip
#: Coding systems that senders use and table 0396 lists under another name, or lists only after 2.8.2.
SYSTEMS_MORE = frozenset({"SCT", "LOINC", "SNOMED-CT", "ICD10", "ICD-10-CM", "CDCREC", "C5", "CPT", "I10C", "PHIN", "NULLFL", "ISO+", "LA", "99"})
OID = re.compile(r"[012](?:\.(?:0|[1-9]\d*+))+", re.ASCII)
SYSTEM_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9+_.\-/]{0,39}")
Membership = Literal["member", "other", "not-checked"]


def growing(table: str) -> bool:
    """Whether codes of any version are welcome."""
    return table in GROWING


@lru_cache(maxsize=64)
def _pattern(words: frozenset[str], patterns: tuple[str, ...]) -> str:
    return "|".join([*patterns, trie(words)])


def coding_system_pattern() -> str:
    """The coding systems that pass without a word: every version's, since senders use them ahead of theirs, and OIDs, which guides prescribe."""
    table = code_tables()[SYSTEMS]
    return _pattern(frozenset(table.codes) | SYSTEMS_MORE, (OID.pattern, *(pattern.pattern for pattern in table.patterns)))


@lru_cache(maxsize=1)
def _systems() -> re.Pattern[str]:
    return re.compile(coding_system_pattern(), re.ASCII)


def coding_system_fault(system: str) -> tuple[Severity, str] | None:
    """How severe and why a coding system is not one of table 0396; None where it is."""
    if _systems().fullmatch(system):
        return None
    if SYSTEM_FORM.fullmatch(system.strip()):
        return "minor", "The coding system is not in table 0396; local ones begin with 99 or are L"
    return "major", "The coding system is not a code: table 0396 has none with such characters"


def membership(version: Version, table: str | None, code: str) -> Membership:
    """Whether a code is in a table as this version has it."""
    if table is None:
        return "not-checked"
    codes = version.codes(table)
    if codes is None:
        return "not-checked"
    if code in codes or code == '""':
        return "member"
    known = code_tables()[table]
    if growing(table) and known.matches(code):
        return "member"
    return "member" if any(pattern.fullmatch(code) for pattern in known.patterns) else "other"


def listed_later(table: str, code: str) -> bool:
    """Whether some other version lists the code."""
    known = code_tables().get(table)
    return known is not None and known.matches(code)


def severity_of(table: str) -> Severity:
    """How severe a code outside of an HL7-defined table is."""
    return "major" if table in CLOSED else "minor"


def examples(version: Version, table: str, at_most: int = 12) -> str:
    """The first codes of a table, for a suggestion."""
    codes = sorted(version.codes(table) or code_tables()[table].codes)
    return ", ".join(codes[:at_most]) + (", …" if len(codes) > at_most else "")
