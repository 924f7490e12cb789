"""Coded values: coding systems (table 0396), and whether a code is in its table."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.formats.hl7v2.primitives import trie
from touchstone.scorers.clinical.formats.hl7v2.tables import Version, code_tables

CODED = frozenset({"CE", "CWE", "CNE", "CF"})
SYSTEMS = "HL70396"
#: Tables that HL7 extends between versions, and of which senders use new codes early: any version's code is accepted.
GROWING = frozenset({"HL70003", "HL70061", "HL70076", "HL70078", "HL70125", "HL70203", "HL70211", "HL70301", "HL70354", SYSTEMS})
#: Tables that decide how a receiver treats the message or the result: a code outside of them is a major finding.
CLOSED = frozenset({
    "HL70003", "HL70008", "HL70038", "HL70076", "HL70085", "HL70103", "HL70104", "HL70119", "HL70123", "HL70125", "HL70136", "HL70155", "HL70287", "HL70354",
})  # fmt: skip
#: Coding systems that senders use, and that table 0396 lists under another name or only after 2.8.2.
SYSTEMS_MORE = frozenset({"SCT", "LOINC", "SNOMED-CT", "ICD10", "ICD-10-CM", "CDCREC", "C5", "CPT", "I10C", "PHIN", "NULLFL", "ISO+", "LA", "99"})
OID = re.compile(r"[012](?:\.(?:0|[1-9]\d*+))+", re.ASCII)
SYSTEM_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9+_.\-/]{0,39}")
Membership = Literal["member", "other", "not-checked"]


@lru_cache(maxsize=1)
def coding_system_pattern() -> str:
    """A regex for coding systems without findings: those of every version, since senders use new ones early, and OIDs, which guides prescribe."""
    table = code_tables()[SYSTEMS]
    return "|".join([OID.pattern, *(pattern.pattern for pattern in table.patterns), trie(frozenset(table.codes) | SYSTEMS_MORE)])


@lru_cache(maxsize=1)
def _systems() -> re.Pattern[str]:
    return re.compile(coding_system_pattern(), re.ASCII)


def coding_system_fault(system: str) -> tuple[Severity, str] | None:
    """Severity and message for a coding system that table 0396 does not list; None for one that it lists."""
    if _systems().fullmatch(system):
        return None
    if SYSTEM_FORM.fullmatch(system.strip()):
        return "minor", "The coding system is not in table 0396; local ones begin with 99 or are L"
    return "major", "The coding system is not a code: table 0396 has none with such characters"


def membership(version: Version, table: str | None, code: str) -> Membership:
    """Whether this version's table has a code; not-checked if the version leaves the table open or has none."""
    if table is None:
        return "not-checked"
    codes = version.codes(table)
    if codes is None:
        return "not-checked"
    if code in codes or code == '""':
        return "member"
    known = code_tables()[table]
    if table in GROWING and known.matches(code):
        return "member"
    return "member" if any(pattern.fullmatch(code) for pattern in known.patterns) else "other"


def listed_later(table: str, code: str) -> bool:
    """True if some version lists the code."""
    known = code_tables().get(table)
    return known is not None and known.matches(code)


def severity_of(table: str) -> Severity:
    """The severity of a finding for a code outside of an HL7-defined table."""
    return "major" if table in CLOSED else "minor"


def examples(version: Version, table: str, at_most: int = 12) -> str:
    """The first codes of a table, for a suggestion."""
    codes = sorted(version.codes(table) or code_tables()[table].codes)
    return ", ".join(codes[:at_most]) + (", …" if len(codes) > at_most else "")
