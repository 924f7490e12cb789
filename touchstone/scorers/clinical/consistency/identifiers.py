"""Identifiers of patients, phone numbers and postal codes as they compare across formats."""

from __future__ import annotations

import re
from typing import Final

from touchstone.scorers.clinical.checks.identifiers import NPI_OID, NPI_SYSTEM
from touchstone.scorers.clinical.consistency.code_systems import NOT_ALNUM, OID
from touchstone.scorers.clinical.consistency.record import Identifier
from touchstone.scorers.clinical.consistency.wording import folded

_VALUE_LENGTH_MAX: Final = 256
_EXTENSION: Final = re.compile(r";|,|x|ext")
_SSN: Final = "us-ssn"
#: Every name of a well-known assigning authority → one.
_AUTHORITIES: Final = {
    "http://hl7.org/fhir/sid/us-ssn": _SSN, "2.16.840.1.113883.4.1": _SSN, NPI_SYSTEM: "us-npi", NPI_OID: "us-npi",
    "http://hl7.org/fhir/sid/us-medicare": "us-medicare", "2.16.840.1.113883.4.338": "us-medicare",
}  # fmt: skip
#: Codes of one identifier type: the social security number has two.
_KINDS: Final = {"SB": "SS"}


def identifier(system: object, kind: object, value: object, path: str) -> Identifier | None:
    """An identifier by the name of its authority (URL, OID, namespace) and its type; None without a value."""
    if not isinstance(value, str) or not value.strip() or len(value) > _VALUE_LENGTH_MAX:
        return None
    authority, is_public = authority_of(system)
    typed = kind.strip().upper() if isinstance(kind, str) else ""
    text = value.strip()
    if text.casefold().startswith("urn:uuid:"):
        text, authority, is_public = text[9:], "", False
    elif text.casefold().startswith("urn:oid:"):
        text, authority, is_public = text[8:], "", False
    plain = folded(text)
    if authority == _SSN or _KINDS.get(typed, typed) == "SS":
        plain = NOT_ALNUM.sub("", plain)
    return Identifier(authority, is_public, _KINDS.get(typed, typed), plain, path)


def authority_of(system: object) -> tuple[str, bool]:
    """The canonical name of an assigning authority, and whether it is the same everywhere."""
    if not isinstance(system, str) or not (text := system.strip()) or len(text) > _VALUE_LENGTH_MAX:
        return "", False
    oid = OID.fullmatch(text)
    known = _AUTHORITIES.get(oid[1] if oid else text)
    if known is not None:
        return known, True
    if oid:
        return oid[1], True
    if text == "urn:ietf:rfc:3986":
        return "", False
    if "://" in text:
        return text.rstrip("/").casefold(), True
    return f"local:{NOT_ALNUM.sub('', text).casefold()}", False


def is_one_authority(one: Identifier, other: Identifier) -> bool:
    """True if two identifiers name one authority: in the same words, or as a namespace that ends the other's URL."""
    if not one.authority or not other.authority:
        return False
    if one.authority == other.authority:
        return True
    local, public = (one, other) if other.is_public else (other, one)
    return not local.is_public and public.is_public and local.authority == f"local:{NOT_ALNUM.sub('', public.authority.rpartition('/')[2])}"


def may_be_one_authority(one: Identifier, other: Identifier) -> bool:
    """True unless both identifiers name an authority in the same manner (both an OID, or both a URL), and the two differ."""
    if one.authority == other.authority or not one.authority or not other.authority:
        return True
    if one.is_public != other.is_public:
        return True
    # A URL and an OID may name the same authority.
    return one.is_public and one.authority[:1].isdigit() != other.authority[:1].isdigit()


def phone(text: object) -> str:
    """The digits of a phone number without extension and North American country code; empty if it is none."""
    if not isinstance(text, str):
        return ""
    plain = _EXTENSION.split(text[:_VALUE_LENGTH_MAX].casefold(), maxsplit=1)[0].removeprefix("tel:")
    digits = "".join(letter for letter in plain if letter.isdecimal())
    if "@" in plain or not 7 <= len(digits) <= 15:
        return ""
    return digits[1:] if len(digits) == 11 and digits[0] == "1" else digits


def postal_code(text: str) -> str:
    """A postal code without separators; of a ZIP+4 code, the first five digits."""
    plain = NOT_ALNUM.sub("", folded(text))
    return plain[:5] if len(plain) == 9 and plain.isdecimal() else plain
