"""Identifiers: OID, NPI, UUID, URI, and how FHIR, HL7v2 and C-CDA use them (specification, Priority 5)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from touchstone.schemas.result import Finding, Severity
from touchstone.scorers.clinical.checks.scalars import shown, text_of
from touchstone.scorers.clinical.report import Context

OID_LENGTH_MAX: Final = 255
URI_LENGTH_MAX: Final = 4096
NPI_SYSTEM: Final = "http://hl7.org/fhir/sid/us-npi"
URI_SYSTEM: Final = "urn:ietf:rfc:3986"

#: Roots of OIDs and their owners.
KNOWN_OID_ROOTS: Final[Mapping[str, str]] = {
    "0": "ITU-T",
    "1.0": "ISO standard",
    "1.2": "ISO member body",
    "1.2.840": "ISO US",
    "1.2.840.10008": "DICOM",
    "1.2.840.114350": "Epic",
    "1.3.6.1.4.1": "Enterprise",
    "2.5": "ITU-T X.500",
    "2.16": "ISO joint country assignments",
    "2.16.578": "Norway",
    "2.16.756": "Switzerland",
    "2.16.840": "ISO US",
    "2.16.840.1.101.3": "US government",
    "2.16.840.1.113883": "HL7",
    "2.16.840.1.113883.3": "HL7 registered organisations",
    "2.16.840.1.113883.4.1": "US Social Security number",
    "2.16.840.1.113883.4.6": "US National Provider Identifier",
    "2.16.840.1.113883.5": "HL7 v3 code systems",
    "2.16.840.1.113883.6": "HL7 external code systems",
    "2.16.840.1.113883.10.20": "HL7 CDA templates",
    "2.16.840.1.113883.12": "HL7 v2 tables",
    "2.16.840.1.113883.19": "Synthetic (HL7 examples)",
    "2.16.840.1.114222": "US CDC PHIN",
    "2.16.840.1.113762": "US NLM VSAC",
    "2.25": "UUID",
}
#: Shorter roots name an organisation, not a registry of healthcare.
_STANDARD_ARCS_MIN: Final = 3
NPI_OID: Final = "2.16.840.1.113883.4.6"
_IDENTIFIER_TYPES: Final = ("http://terminology.hl7.org/CodeSystem/v2-0203", "http://hl7.org/fhir/v2/0203")

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_RUID: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
_BLANK_IN_URI: Final = re.compile(r"[\x00-\x20\x7f\ud800-\udfff]")
_UNESCAPED_IN_URI: Final = re.compile(r"[<>\"{}|\\^`]")


def oid_problem(value: object) -> str | None:
    """Return the fault of an OID, or None (X.660: arcs of digits, the first 0–2, the second below 40 unless the first is 2)."""
    text = text_of(value, OID_LENGTH_MAX)
    if text is None:
        return f"OID must be text of at most {OID_LENGTH_MAX} characters"
    if not text:
        return "OID is empty"
    arcs = text.split(".")
    if len(arcs) < 2 or not all(arcs):
        return "OID must be numbers separated by single dots"
    if not all(arc.isascii() and arc.isdigit() for arc in arcs):
        return "OID may hold digits and dots only"
    if any(len(arc) > 1 and arc[0] == "0" for arc in arcs):
        return "OID arc must not have a leading zero"
    if arcs[0] not in {"0", "1", "2"}:
        return "OID first arc must be 0, 1, or 2"
    if arcs[0] != "2" and (len(arcs[1]) > 2 or int(arcs[1]) > 39):
        return "OID second arc must be 0-39 when the first is 0 or 1"
    return None


def identify_oid_root(oid: str) -> str | None:
    """Return the name of the longest known root of an OID, or None."""
    return next(_known_roots(oid, 1), None)


def has_standard_root(oid: str) -> bool:
    """Return True if an OID is below a known root of healthcare or of registered organisations."""
    return oid.split(".")[:2] == ["2", "25"] or any(_known_roots(oid, _STANDARD_ARCS_MIN))


def _known_roots(oid: str, arcs_min: int) -> Iterator[str]:
    """The names of the known roots of an OID, longest first."""
    arcs = oid[:OID_LENGTH_MAX].split(".")
    prefixes = (".".join(arcs[:length]) for length in range(len(arcs), arcs_min - 1, -1))
    return (KNOWN_OID_ROOTS[prefix] for prefix in prefixes if prefix in KNOWN_OID_ROOTS)


def luhn_digit(digits: str) -> int:
    """Return the check digit that completes ASCII `digits` by the Luhn test (ISO/IEC 7812-1)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        number = int(digit) * 2 if place % 2 == 0 else int(digit)
        total += number - 9 if number > 9 else number
    return -total % 10


def npi_check_digit(prefix: str) -> int:
    """Return the tenth digit of an NPI (45 CFR 162.406: Luhn over 80840 and the first nine). Raises ValueError for other prefixes."""
    if len(prefix) != 9 or not (prefix.isascii() and prefix.isdigit()):
        raise ValueError("an NPI's prefix is nine digits")
    return luhn_digit("80840" + prefix)


def generate_npi(prefix: str) -> str:
    """Return a whole NPI from its first nine digits, for synthetic data. Raises ValueError for other prefixes."""
    return f"{prefix}{npi_check_digit(prefix)}"


def check_npi(value: object, path: str, context: Context) -> list[Finding]:
    """Check an NPI. Length, digits and check digit are major; a first digit other than 1 or 2 alone is minor (corrections, Clinical 3)."""
    text = text_of(value, 64)
    if text is None or len(text) != 10 or not (text.isascii() and text.isdigit()):
        return [context.finding("major", "identifiers.npi-form", path, "NPI must be exactly 10 digits", value=shown(value))]
    if npi_check_digit(text[:9]) != int(text[9]):
        message = "NPI check digit is wrong (Luhn with prefix 80840)"
        return [context.finding("major", "identifiers.npi-check-digit", path, message, suggestion="Check the number for a mistyped digit", value=text)]
    if text[0] not in "12":
        return [context.finding("minor", "identifiers.npi-first-digit", path, "NPI usually starts with 1 or 2", value=text)]
    return []


def check_oid(value: object, path: str, context: Context, *, label: str) -> list[Finding]:
    """Check the syntax of an OID. `label` begins the message, e.g. `Assigning authority`."""
    problem = oid_problem(value)
    if problem is None:
        return []
    message = f"{label} OID invalid - {problem}"
    return [context.finding("major", "identifiers.oid", path, message, suggestion="Write an OID such as 2.16.840.1.113883.4.6", value=shown(value))]


def check_uuid(value: object, path: str, context: Context) -> list[Finding]:
    """Check a UUID. Its form is major; an unknown version or a variant other than RFC 9562's is minor. The nil and max UUIDs pass."""
    text = text_of(value, 64)
    if text is None or _UUID.fullmatch(text) is None:
        message = "UUID must be 36 characters: hexadecimal digits in groups of 8-4-4-4-12"
        return [context.finding("major", "identifiers.uuid", path, message, value=shown(value))]
    if set(text) in ({"0", "-"}, {"-", "f"}, {"-", "F"}):
        return []
    if text[19] not in "89abAB":
        return [context.finding("minor", "identifiers.uuid-variant", path, "UUID variant bits are not those of RFC 9562", value=text)]
    if text[14] not in "12345678":
        return [context.finding("minor", "identifiers.uuid-version", path, "UUID version must be 1 to 8", value=text)]
    return []


def check_uri(value: object, path: str, context: Context, *, severity: Severity = "minor") -> list[Finding]:
    """Check a URI: scheme (`severity`), blanks (major), characters to be encoded (minor); an OID or UUID after `urn:oid:`, `urn:uuid:` (major)."""
    text = text_of(value, URI_LENGTH_MAX)
    if text is None:
        message = f"URI must be text of at most {URI_LENGTH_MAX} characters"
        return [context.finding("major", "identifiers.uri", path, message, value=shown(value))]
    if _SCHEME.match(text) is None:
        message = "URI must contain a scheme (e.g., http:, urn:, oid:)"
        return [context.finding(severity, "identifiers.uri-scheme", path, message, suggestion="Give an absolute URI", value=shown(text))]
    if _BLANK_IN_URI.search(text):
        message = "URI holds a space or a control character"
        return [context.finding("major", "identifiers.uri", path, message, value=shown(text))]
    if _UNESCAPED_IN_URI.search(text):
        # FHIR's pattern accepts these; RFC 3986 does not.
        message = "URI holds a character that must be percent-encoded"
        return [context.finding("minor", "identifiers.uri-characters", path, message, value=shown(text))]
    lowered = text[:9].casefold()
    if lowered.startswith("urn:oid:"):
        return check_oid(text[8:], path, context, label="urn:oid:")
    if lowered == "urn:uuid:":
        return check_uuid(text[9:], path, context)
    return []


def check_canonical(value: object, path: str, context: Context) -> list[Finding]:
    """Check a FHIR canonical: a URI, with an optional version after `|`."""
    return check_uri(value.partition("|")[0] if isinstance(value, str) else value, path, context)


def check_fhir_identifier(identifier: object, path: str, context: Context) -> list[Finding]:
    """Check a FHIR Identifier: its system, its value, and by the system an NPI or a URI."""
    if not isinstance(identifier, Mapping):
        return []
    found: list[Finding] = []
    system, value = identifier.get("system"), identifier.get("value")
    if system is None:
        found.append(context.finding("info", "identifiers.system-missing", f"{path}.system", "Identifier has no system, so it is unique nowhere"))
    else:
        found += check_uri(system, f"{path}.system", context)
    if value is None or value == "":
        # An extension may give the reason (data-absent-reason).
        if "_value" not in identifier and "extension" not in identifier:
            found.append(context.finding("minor", "identifiers.value-missing", f"{path}.value", "Identifier has no value"))
    elif system in (NPI_SYSTEM, f"urn:oid:{NPI_OID}") or _is_typed_npi(identifier.get("type")):  # a set would hash the system, which may be a list
        found += check_npi(value, f"{path}.value", context)
    elif system == URI_SYSTEM:
        found += check_uri(value, f"{path}.value", context, severity="major")
    return found


def _is_typed_npi(kind: object) -> bool:
    codings = kind.get("coding") if isinstance(kind, Mapping) else None
    return isinstance(codings, list) and any(
        isinstance(coding, Mapping) and coding.get("code") == "NPI" and coding.get("system") in _IDENTIFIER_TYPES for coding in codings
    )


def check_assigning_authority(
    path: str,
    context: Context,
    *,
    identifier: str = "",
    universal_id: str = "",
    universal_id_type: str = "",
    type_code: str = "",
) -> list[Finding]:
    """Check the assigning authority of an HL7v2 CX, XCN or XON. The strings are components, empty if absent.

    `universal_id` and `universal_id_type` are HD.2 and HD.3, `type_code` is the identifier type (table 0203).
    """
    found: list[Finding] = []
    kind = universal_id_type.upper() if len(universal_id_type) <= 16 else ""
    if universal_id and kind in {"ISO", ""}:
        looks_like_oid = kind == "ISO" or universal_id[:1].isdigit()
        problem = oid_problem(universal_id)
        if problem is not None and looks_like_oid:
            found += check_oid(universal_id, path, context, label="Assigning authority")
        elif problem is None and not has_standard_root(universal_id):
            found.append(context.finding("info", "identifiers.oid-root", path, "Assigning authority uses non-standard OID root", value=universal_id))
        if not kind and looks_like_oid:
            message = "Assigning authority has a universal id but no type for it"
            found.append(context.finding("minor", "identifiers.universal-id-type", path, message, suggestion="Give ISO for an OID"))
    elif universal_id and kind in {"UUID", "GUID"}:
        found += check_uuid(universal_id, path, context)
    elif universal_id and kind == "URI":
        found += check_uri(universal_id, path, context)
    if identifier and (type_code == "NPI" or universal_id == NPI_OID):
        found += check_npi(identifier, path, context)
    return found


def check_ccda_root(value: object, path: str, context: Context) -> list[Finding]:
    """Check the `root` of a C-CDA identifier: an OID, a UUID, or a name reserved by HL7 (datatype `uid`)."""
    text = text_of(value, OID_LENGTH_MAX)
    if text is not None and _UUID.fullmatch(text):
        return check_uuid(text, path, context)
    problem = oid_problem(value)
    if problem is None:
        assert text is not None
        if identify_oid_root(text) is None:
            return [context.finding("info", "identifiers.oid-root", path, "the root is not below a known OID root", value=text)]
        return []
    if text is not None and _RUID.fullmatch(text):
        message = "root is a name that only HL7 may reserve, not an OID or UUID"
        return [context.finding("minor", "identifiers.root", path, message, value=text)]
    return check_oid(value, path, context, label="root")
