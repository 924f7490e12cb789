"""Identities: assigning authorities, provider numbers, patient identifiers, names, addresses and telephones (Priorities 2 and 5)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Literal

from touchstone.scorers.clinical.checks.identifiers import NPI_OID, check_assigning_authority
from touchstone.scorers.clinical.checks.registries import POSTAL_STATES
from touchstone.scorers.clinical.formats.hl7v2.escapes import unescape
from touchstone.scorers.clinical.formats.hl7v2.findings import Findings, Problem, Recorder
from touchstone.scorers.clinical.formats.hl7v2.lexer import Segment, part
from touchstone.scorers.clinical.formats.hl7v2.tables import VERSIONS, Version, load
from touchstone.scorers.clinical.formats.memory import Memory
from touchstone.scorers.clinical.report import Context

Kind = Literal["CX", "XCN", "XON", "HD"]
#: Segment → fields whose authority is checked, and their data type.
AUTHORITIES: Mapping[str, tuple[tuple[int, Kind], ...]] = {
    "MSH": ((3, "HD"), (4, "HD"), (5, "HD"), (6, "HD")),
    "PID": ((3, "CX"), (18, "CX")),
    "PV1": ((7, "XCN"), (8, "XCN"), (9, "XCN"), (17, "XCN"), (19, "CX")),
    "ORC": ((12, "XCN"),),
    "OBR": ((16, "XCN"),),
    "OBX": ((23, "XON"),),
}
#: Data type → components of the identifier, the authority and the identifier's type.
PLACES: Mapping[Kind, tuple[int, int, int]] = {"CX": (1, 4, 5), "XCN": (1, 9, 13), "XON": (10, 6, 7)}
#: PID field → the data types that are checked.
PATIENT_TYPES: Mapping[int, frozenset[str]] = {3: frozenset({"CX"}), 5: frozenset({"XPN", "PN"}), 11: frozenset({"XAD"}), 13: frozenset({"XTN"})}
_IDENTIFIERS, _CX_TYPE = 3, 5
#: Components of a value that are checked.
COMPONENTS_MAX = 24
REPETITIONS_MAX = 50
#: Table 0200: names that are withheld; no part of them is required.
WITHHELD_NAMES = frozenset({"U", "S"})
UNITED_STATES = frozenset({"", "US", "USA", "840"})
STATE = re.compile(r"[A-Za-z]{2}")
#: Provinces and territories of Canada, whose messages often leave the country out.
_PROVINCES = "AB BC MB NB NL NS NT NU ON PE QC SK YT"
PROVINCES = frozenset(_PROVINCES.split())
NULL = '""'
_NAMELESS = "Give the name, or U (unspecified) in XPN.7 if it is withheld"
#: An e-mail address or a URL, by its outer form.
ADDRESS = re.compile(r"\s*+(?:mailto:)?[^@\s]++@[^@\s]++\s*+|[A-Za-z][A-Za-z0-9+.\-]*+:\S++")
ZIP = re.compile(r"\d{5}(?:-?\d{4})?", re.ASCII)


def repetitions(segment: Segment, position: int) -> list[tuple[str, str]]:
    """(path, text) of each repetition of a field that is not empty."""
    return repetitions_of(segment.field(position), f"{segment.path}-{position}")


def repetitions_of(value: str, path: str) -> list[tuple[str, str]]:
    """(path, text) of each repetition of a value that is not empty."""
    if not value or value == '""':
        return []
    if "~" not in value:
        return [(path, value)]
    return [(f"{path}[{index}]", text) for index, text in enumerate(value.split("~", REPETITIONS_MAX)[:REPETITIONS_MAX], start=1) if text and text != '""']


@lru_cache(maxsize=4_096)
def is_known_oid(universal_id: str) -> bool:
    """True if an OID is well formed and has a known root, so that it has no finding."""
    parts = {"identifier": "", "universal_id": universal_id, "universal_id_type": "ISO", "type_code": ""}
    return len(universal_id) <= 64 and not check_assigning_authority("", Context(), **parts)


def check_authorities(segment: Segment, findings: Findings) -> int:
    """Report malformed universal ids and provider numbers; returns how many values were checked."""
    checked = 0
    fields = segment.fields
    size = len(fields)
    for position, kind in AUTHORITIES[segment.name]:
        if position >= size or not fields[position]:
            continue
        value = fields[position]
        if "^" not in value or ("&" not in value and kind != "HD" and "NPI" not in value):
            # Neither a universal id nor a provider number: nothing to check, only to count.
            checked += (value != '""') if "~" not in value else len(repetitions(segment, position))
            continue
        if kind in _ORGANISATIONS and not findings.context.quote:
            count, problems = _ORGANISATIONS[kind][value]
            checked += count
            for severity, code, where, message, suggestion, _ in problems:
                findings.add(severity, code, f"{segment.path}-{position}{where}", message, suggestion=suggestion)
        else:
            checked += _check_authority(value, f"{segment.path}-{position}", kind, findings)
    return checked


def _check_authority(value: str, field: str, kind: Kind, findings: Findings) -> int:
    """Check the authorities of one field's value; returns how many there are."""
    checked = 0
    for path, text in repetitions_of(value, field):
        checked += 1
        if kind == "HD":
            authority, identifier, type_code, separator = text, "", "", "^"
        else:
            at_identifier, at_authority, at_type = PLACES[kind]
            parts = text.split("^", COMPONENTS_MAX)
            count = len(parts)
            identifier = parts[at_identifier - 1] if count >= at_identifier else ""
            authority = parts[at_authority - 1] if count >= at_authority else ""
            type_code = parts[at_type - 1] if count >= at_type else ""
            separator = "&"
        if separator not in authority and type_code != "NPI":
            continue
        universal_id, universal_type = part(authority, separator, 2), part(authority, separator, 3)
        if universal_type and not universal_id:
            message = "The authority has a universal id type (HD.3) and no universal id (HD.2); they go together"
            findings.add("major", "identifiers.universal-id", path, message, suggestion="Give the OID in HD.2")
        if type_code != "NPI" and universal_id != NPI_OID and universal_type == "ISO" and is_known_oid(universal_id):
            continue
        if universal_id or type_code == "NPI":
            written = {"identifier": identifier, "universal_id": universal_id, "universal_id_type": universal_type, "type_code": type_code}
            findings.add_all(check_assigning_authority(path, findings.context, **written))
    return checked


def _organisation(kind: Kind) -> Memory[tuple[int, tuple[Problem, ...]]]:
    """Value → how many authorities it names, and their problems; for reports that quote nothing."""

    def check(value: str) -> tuple[int, tuple[Problem, ...]]:
        recorder = Recorder(is_lasting=True)
        return _check_authority(value, "", kind, recorder), tuple(recorder.problems)

    return Memory(check)


#: Types that name organisations, never people, so that their values may be remembered.
_ORGANISATIONS: Mapping[str, Memory[tuple[int, tuple[Problem, ...]]]] = {"HD": _organisation("HD"), "XON": _organisation("XON")}


@lru_cache(maxsize=len(VERSIONS))
def _typed(version: str) -> frozenset[int]:
    """The fields of PID that have the checked type in this version. CK, AD and TN of 2.1 and 2.2 have other components."""
    types = {element.position: element.datatype for element in load(version).segments["PID"]}
    return frozenset(position for position, kinds in PATIENT_TYPES.items() if types.get(position) in kinds)


@lru_cache(maxsize=len(VERSIONS))
def _requires_type(version: str) -> bool:
    """True if the version itself requires CX.5; then `value_checks.py` reports where it is missing."""
    return any(part.position == _CX_TYPE and part.least for part in load(version).datatypes.get("CX", ()))


def check_patient(segment: Segment, version: Version, findings: Findings) -> int:
    """Report what is missing from a patient's identifiers, names, addresses and telephones; returns how many values were checked."""
    checked = 0
    fields = segment.fields
    typed = _typed(version.name)
    for position, check, plain in PATIENT:
        if position >= len(fields) or not fields[position] or position not in typed:
            continue
        if plain.fullmatch(fields[position]):
            checked += 1
            continue
        for path, text in repetitions(segment, position):
            checked += 1
            parts = text.split("^", COMPONENTS_MAX)
            check(path, parts, findings)
            if position == _IDENTIFIERS and not _holds(parts, _CX_TYPE) and not _requires_type(version.name):
                message = "CX.5 (Identifier Type Code) is recommended"
                findings.add("minor", "data_types.cx-type", path, message, suggestion="Use table 0203, for example MR or PI")
    return checked


def _holds(parts: list[str], position: int) -> bool:
    return len(parts) >= position and parts[position - 1] not in {"", '""'}


def check_cx(path: str, parts: list[str], findings: Findings) -> None:
    """A patient identifier: its number, and who assigned it."""
    if not _holds(parts, 1):
        findings.add("major", "data_types.cx-id", path, "CX.1 (ID) is required", suggestion="Give the identifier in CX.1, or take the repetition out")
    if not _holds(parts, 4) or not parts[3].strip("&"):
        findings.add(
            "major", "data_types.cx-authority", path, "CX.4 (Assigning Authority) is required for patient matching", suggestion="Give NAMESPACE&OID&ISO"
        )


def check_xpn(path: str, parts: list[str], findings: Findings) -> None:
    """A patient's name: a family name and a given name, unless it is withheld."""
    kind = parts[6] if len(parts) > 6 else ""
    if kind in WITHHELD_NAMES:
        return
    has_family = _holds(parts, 1) and bool(parts[0].strip("&"))
    has_given = _holds(parts, 2)
    if not has_family and not has_given:
        findings.add("major", "data_types.xpn-name", path, "XPN.1 (Family Name) or XPN.2 (Given Name) is required", suggestion=_NAMELESS)
    elif not has_given:
        findings.add("minor", "data_types.xpn-given", path, "XPN.2 (Given Name) is missing", suggestion="Give the given name in XPN.2")
    elif not has_family:
        findings.add("minor", "data_types.xpn-family", path, "XPN.1 (Family Name) is missing", suggestion="Give the family name in XPN.1")
    if not kind:
        findings.add("info", "data_types.xpn-type", path, "XPN.7 (Name Type Code) not specified", suggestion="Use table 0200, for example L")


def check_xad(path: str, parts: list[str], findings: Findings) -> None:
    """An address: its type, and for the United States the forms of state and ZIP code."""
    if not _holds(parts, 7):
        findings.add("info", "data_types.xad-type", path, "XAD.7 (Address Type) not specified")
    if not _holds(parts, 1) and not _holds(parts, 2):
        findings.add("info", "data_types.xad-street", path, "XAD.1 (Street Address) not specified")
    if not _holds(parts, 3):
        findings.add("info", "data_types.xad-city", path, "XAD.3 (City) not specified")
    country = parts[5].upper() if len(parts) > 5 else ""
    if country not in UNITED_STATES:
        return
    # Without a country, a postal code of another form, or a Canadian province alone, says that the address is elsewhere.
    is_elsewhere = not country and (ZIP.fullmatch(parts[4]) is None if _holds(parts, 5) else _holds(parts, 4) and parts[3].upper() in PROVINCES)
    if _holds(parts, 4) and STATE.fullmatch(parts[3]) is None and not is_elsewhere:
        findings.add("minor", "data_types.xad-state", path, "XAD.4 (State) is not a two-letter code", suggestion="Use the postal code", value=parts[3])
    elif _holds(parts, 4) and parts[3].upper() not in POSTAL_STATES and not is_elsewhere:
        suggestion = "Correct the state, or name the country in XAD.6 if the address is elsewhere"
        findings.add("minor", "data_types.xad-state", path, "XAD.4 (State) is no postal code of a US state or territory", suggestion=suggestion, value=parts[3])
    is_canadian = not country and _holds(parts, 4) and parts[3].upper() in PROVINCES
    if _holds(parts, 5) and ZIP.fullmatch(parts[4]) is None and not is_canadian:
        suggestion = "Write 12345 or 12345-6789" + ("" if country else ", or name the country in XAD.6 if the address is elsewhere")
        findings.add("minor", "data_types.xad-zip", path, "XAD.5 (Zip Code) is not in the US form", suggestion=suggestion, value=parts[4])


def check_xtn(path: str, parts: list[str], findings: Findings) -> None:
    """A telephone: the structured form, and what it is used for."""
    is_address = (len(parts) > 2 and parts[2] in {"Internet", "X.400"}) or (len(parts) > 1 and parts[1] == "NET")
    structured = any(_holds(parts, position) for position in (4, 5, 6, 7, 12))
    if _holds(parts, 1) and not structured and not is_address:
        findings.add("info", "data_types.xtn-number", path, "XTN.1 is the deprecated form of a telephone number", suggestion="Use XTN.5 to XTN.8, or XTN.12")
        if not any(sign.isdigit() for sign in parts[0]):
            findings.add("minor", "data_types.xtn-digits", path, "XTN.1 holds no digit", value=parts[0])
    _check_number(path, parts, findings, is_address=is_address)
    if not _holds(parts, 2):
        findings.add("info", "data_types.xtn-use", path, "XTN.2 (Telecommunication Use Code) not specified")
    if not _holds(parts, 3):
        findings.add("info", "data_types.xtn-equipment", path, "XTN.3 (Telecommunication Equipment Type) not specified")


def _check_number(path: str, parts: list[str], findings: Findings, *, is_address: bool) -> None:
    """Report a telephone without a number, and an internet address that is none. A note (XTN.9) or a null stands for a number."""
    if NULL in parts or _holds(parts, 9):
        return
    if is_address:
        # Up to 2.2 and in many systems since, the address stands in XTN.1; from 2.7 on XTN.4 may hold a URL.
        address = next((parts[position - 1] for position in (4, 1, 12) if _holds(parts, position)), "")
        if not address:
            message = "XTN.4 is empty, and XTN.2 or XTN.3 says that it is an internet address"
            findings.add("minor", "data_types.xtn-empty", path, message, suggestion="Give the address in XTN.4, or leave the field empty")
        elif parts[2:3] != ["X.400"] and ADDRESS.fullmatch(unescape(address)) is None:
            message = "This is neither an e-mail address nor a URL"
            suggestion = "Write name@example.org or https://example.org, or correct XTN.2 and XTN.3"
            findings.add("minor", "data_types.xtn-address", f"{path}.{parts.index(address) + 1}", message, suggestion=suggestion, value=address)
    elif not any(_holds(parts, position) for position in (1, 7, 12)):
        message = "No telephone number: XTN.7 and XTN.12 are empty, and so is XTN.1"
        findings.add("minor", "data_types.xtn-empty", path, message, suggestion="Give the number in XTN.7, or leave the field empty")


_SIGN = r'[^~^"]'
_PART = rf"{_SIGN}++"
_MAYBE = rf"{_SIGN}*+"
#: PID field → its check, and a pattern of complete single values, for which that check finds nothing.
PATIENT: tuple[tuple[int, Callable[[str, list[str], Findings], None], re.Pattern[str]], ...] = (
    (3, check_cx, re.compile(rf"{_PART}\^{_MAYBE}\^{_MAYBE}\^(?!&){_PART}\^{_PART}(?:\^{_MAYBE})*+")),
    (5, check_xpn, re.compile(rf"(?!&){_PART}\^{_PART}(?:\^{_MAYBE}){{4}}\^{_PART}(?:\^{_MAYBE})*+")),
    (
        11,
        check_xad,
        re.compile(
            rf"{_PART}\^{_MAYBE}\^{_PART}\^(?:{'|'.join(sorted(POSTAL_STATES))})?\^(?:\d{{5}}(?:-?\d{{4}})?)?\^{_MAYBE}\^{_PART}(?:\^{_MAYBE})*+", re.ASCII
        ),
    ),
    (13, check_xtn, re.compile(rf"\^(?!NET\^){_PART}\^(?!Internet|X\.400){_PART}(?:\^{_MAYBE}){{3}}\^{_PART}(?:\^{_MAYBE})*+")),
)
