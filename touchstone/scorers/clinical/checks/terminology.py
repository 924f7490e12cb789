"""Terminology: code systems by any of their names, the form of their codes, and membership.

Membership has three values; "not checked" has a reason and is never a fault (corrections, Clinical 6). ICD-10-CM is in a table that ships; any system can
be answered by a `MembershipSource` such as a terminology server. SNOMED CT may not be shipped.
"""

from __future__ import annotations

import lzma
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Final, Protocol

from touchstone.schemas.result import Finding
from touchstone.scorers.clinical.checks import code_forms
from touchstone.scorers.clinical.checks.display_tables import has_displays
from touchstone.scorers.clinical.checks.parameters import property_of
from touchstone.scorers.clinical.checks.scalars import Membership, shown, text_of
from touchstone.scorers.clinical.checks.ucum_reader import is_valid_unit, reader_installed
from touchstone.scorers.clinical.checks.unit_checks import UCUM_SYSTEM, check_unit
from touchstone.scorers.clinical.report import Context


@dataclass(frozen=True, slots=True)
class CodeSystem:
    """A known code system. `names`: its other names in documents (OIDs, HL7v2 table 0396), in upper case."""

    key: str
    url: str
    title: str
    names: tuple[str, ...]


_ICD10CM_NAMES: Final = ("2.16.840.1.113883.6.90", "I10C", "ICD10CM", "ICD-10-CM", "ICD10-CM")
_SNOMED_NAMES: Final = ("2.16.840.1.113883.6.96", "SCT", "SNOMED-CT", "SNOMED CT", "SNOMEDCT", "SNOMEDCT_US")
ICD10CM: Final = CodeSystem("icd-10-cm", "http://hl7.org/fhir/sid/icd-10-cm", "ICD-10-CM", _ICD10CM_NAMES)
RXNORM: Final = CodeSystem("rxnorm", "http://www.nlm.nih.gov/research/umls/rxnorm", "RxNorm", ("2.16.840.1.113883.6.88", "RXNORM", "RXN"))
LOINC: Final = CodeSystem("loinc", "http://loinc.org", "LOINC", ("2.16.840.1.113883.6.1", "LN", "LOINC"))
SNOMED: Final = CodeSystem("snomed-ct", "http://snomed.info/sct", "SNOMED CT", _SNOMED_NAMES)
CVX: Final = CodeSystem("cvx", "http://hl7.org/fhir/sid/cvx", "CVX", ("2.16.840.1.113883.12.292", "CVX"))
NDC: Final = CodeSystem("ndc", "http://hl7.org/fhir/sid/ndc", "NDC", ("2.16.840.1.113883.6.69", "NDC"))
UCUM: Final = CodeSystem("ucum", UCUM_SYSTEM, "UCUM", ("2.16.840.1.113883.6.8", "UCUM"))
CODE_SYSTEMS: Final = (ICD10CM, RXNORM, LOINC, SNOMED, CVX, NDC, UCUM)

_FORMS: Final[Mapping[str, Callable[[str], str | None]]] = {
    ICD10CM.key: code_forms.icd10cm_problem,
    RXNORM.key: code_forms.rxnorm_problem,
    LOINC.key: code_forms.loinc_problem,
    SNOMED.key: code_forms.snomed_problem,
    CVX.key: code_forms.cvx_problem,
    NDC.key: code_forms.ndc_problem,
}
#: Spelling errors that leave no doubt which code is meant.
_SPELLING: Final = frozenset({"ICD-10-CM codes are written in upper case", "ICD-10-CM codes have a dot after the third character"})
_NAME_LENGTH_MAX: Final = 128


class MembershipSource(Protocol):
    """A source of code systems' content: a terminology server, or a loaded table."""

    def membership(self, system: str, code: str) -> tuple[Membership, str | None]:
        """Look up a code in a code system (by URL). Returns the answer, and a reason if it was not checked. Blocks; never raises."""
        ...


@dataclass(frozen=True, slots=True)
class CodeCheck:
    """The result of checking one code. `reason`: why membership was not checked; `system`: None if the system is not a known one."""

    findings: tuple[Finding, ...] = ()
    membership: Membership = "not_checked"
    reason: str | None = None
    system: CodeSystem | None = None


def code_system(name: object) -> CodeSystem | None:
    """Return the code system of a URL, OID (bare or `urn:oid:`) or HL7v2 name; None for any other."""
    text = text_of(name, _NAME_LENGTH_MAX)
    if not text:
        return None
    found = _by_name().get(text)
    if found is not None:
        return found
    upper = text.strip().upper()
    return _by_name().get(upper.removeprefix("URN:OID:"))


def check_code(system: object, code: object, path: str, context: Context, *, source: MembershipSource | None = None) -> CodeCheck:
    """Check the form of a code, then its membership. A wrong form is major (wrong case or dot: minor), and so is a code that is not a member."""
    known = code_system(system)
    text = text_of(code, code_forms.CODE_LENGTH_MAX)
    if known is None:
        # Codes of other systems are only looked up in the source.
        if source is None or not isinstance(system, str) or text is None or len(system) > _NAME_LENGTH_MAX:
            return CodeCheck(reason="no table or server for this code system")
        membership, reason = source.membership(system, text)
        return CodeCheck(_not_member(membership, "its code system", path, context, code), membership, reason)
    if text is None:
        finding = context.finding("major", "terminology.form", path, f"{known.title} code must be text of bearable length", value=shown(code))
        return CodeCheck((finding,), "not_member", system=known)
    if known is UCUM:
        found = check_unit(text, path, context, system=UCUM_SYSTEM)
        if not reader_installed():
            return CodeCheck(tuple(found), reason="the UCUM reader is not installed (extra `clinical`)", system=known)
        return CodeCheck(tuple(found), "member" if is_valid_unit(text) else "not_member", system=known)
    problem = _FORMS[known.key](text)
    if problem is not None and problem not in _SPELLING:
        return CodeCheck((context.finding("major", "terminology.form", path, problem, value=shown(text)),), "not_member", system=known)
    findings: tuple[Finding, ...] = ()
    if problem is not None:
        findings = (context.finding("minor", "terminology.spelling", path, problem, value=shown(text)),)
    membership, reason = _membership(known, text, source)
    findings += _not_member(membership, known.title, path, context, text)
    if known is ICD10CM and membership == "member" and is_icd10cm_header(text):
        message = "ICD-10-CM code is a category, not a billable code"
        findings += (context.finding("info", "terminology.header", path, message, suggestion="Use a more specific code below it", value=shown(text)),)
    return CodeCheck(findings, membership, reason, known)


def in_icd10cm(code: str) -> bool:
    """Return True if the shipped edition of ICD-10-CM has a code, header or billable, with or without its dot."""
    return _plain_icd(code) in _icd10cm().codes


def is_icd10cm_header(code: str) -> bool:
    """Return True if ICD-10-CM has codes below this one."""
    return _plain_icd(code) in _icd10cm().headers


def icd10cm_edition() -> str:
    """Return the name of the shipped edition."""
    return _icd10cm().edition


def _membership(system: CodeSystem, code: str, source: MembershipSource | None) -> tuple[Membership, str | None]:
    if system is ICD10CM:
        if in_icd10cm(code):
            return "member", None
        # The table is one year's edition; a server may have newer and older ones.
        if source is not None:
            answer, reason = source.membership(system.url, code)
            if answer != "not_checked":
                return answer, reason
        return "not_member", None
    if system is SNOMED and code_forms.is_snomed_expression(code):
        return "not_checked", "post-coordinated expressions are not evaluated"
    if system is LOINC and property_of(code) is not None:
        return "member", None
    if source is not None:
        return source.membership(system.url, code)
    if system is CVX:
        return ("member", None) if has_displays(CVX.url, code) else ("not_checked", "R4's list of CVX, of 2019, lacks the code; a later one may have it")
    return "not_checked", f"no table or server for {system.title}"


def _not_member(membership: Membership, title: str, path: str, context: Context, code: object) -> tuple[Finding, ...]:
    if membership != "not_member":
        return ()
    named = icd10cm_edition() if title == ICD10CM.title else title
    return (context.finding("major", "terminology.membership", path, f"Code is not a member of {named}", value=shown(code)),)


def _plain_icd(code: str) -> str:
    return code[: code_forms.CODE_LENGTH_MAX].upper().replace(".", "", 1)


@dataclass(frozen=True, slots=True)
class _Icd10cm:
    edition: str
    codes: frozenset[str]
    headers: frozenset[str]


@lru_cache(maxsize=1)
def _icd10cm() -> _Icd10cm:
    """The table, decompressed at first use (0.1 s, 10 MB)."""
    data = resources.files("touchstone.scorers.clinical.tables").joinpath("icd10cm.txt.xz").read_bytes()
    edition, codes, headers = "", [], []
    before = ""
    for line in lzma.decompress(data).decode("ascii").split("\n"):
        if line.startswith("#"):
            edition = edition or line.removeprefix("# ").split(":", 1)[0]
            continue
        code = before[: int(line[0])] + line[1:]
        # The codes are sorted, so the first child follows its header.
        if before and code.startswith(before):
            headers.append(before)
        codes.append(code)
        before = code
    return _Icd10cm(edition, frozenset(codes), frozenset(headers))


@lru_cache(maxsize=1)
def _by_name() -> Mapping[str, CodeSystem]:
    names = {system.url: system for system in CODE_SYSTEMS}
    names.update({system.url.upper(): system for system in CODE_SYSTEMS})
    names.update({name: system for system in CODE_SYSTEMS for name in system.names})
    return names
