"""Names, identifiers and postal codes as they compare across formats."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from touchstone.scorers.clinical.checks.identifiers import NPI_OID, NPI_SYSTEM
from touchstone.scorers.clinical.consistency.codes import folded
from touchstone.scorers.clinical.consistency.record import Identifier, Name

_WORD: Final = re.compile(r"[^\W_]+")
_NOT_ALNUM: Final = re.compile(r"[\W_]+")
_OID: Final = re.compile(r"(?:urn:oid:)?([0-2](?:\.\d+)+)", re.ASCII | re.IGNORECASE)
_VALUE_LENGTH_MAX: Final = 256
_SSN: Final = "us-ssn"
#: Authorities by all of their names.
_AUTHORITIES: Final = {
    "http://hl7.org/fhir/sid/us-ssn": _SSN, "2.16.840.1.113883.4.1": _SSN, NPI_SYSTEM: "us-npi", NPI_OID: "us-npi",
    "http://hl7.org/fhir/sid/us-medicare": "us-medicare", "2.16.840.1.113883.4.338": "us-medicare",
}  # fmt: skip
#: FHIR, HL7 v2 (table 0200) and C-CDA uses of a person's own name.
_OFFICIAL: Final = frozenset({"", "official", "usual", "l", "d", "r"})
#: Kinds of identifiers that are one and the same: the social security number has two codes in use.
_KINDS: Final = {"SB": "SS"}
#: The use of a name that is one text.
TEXT: Final = "text"
_TITLES: Final = frozenset(["mr", "mrs", "ms", "miss", "dr", "prof", "sir", "jr", "sr", "ii", "iii", "iv", "md", "phd"])


def words(text: object) -> tuple[str, ...]:
    """The words of a part of a name, folded."""
    return tuple(_WORD.findall(folded(text))) if isinstance(text, str) else ()


def name(family: object, given: Iterable[object], use: object, path: str) -> Name | None:
    """A name of its parts; None where it has none."""
    surname = words(family)
    first = tuple(word for part in given for word in words(part))
    if not surname and not first:
        return None
    plain = use.strip().casefold() if isinstance(use, str) else ""
    return Name(surname, first, "official" if plain in _OFFICIAL else "other", path)


def name_of_text(text: str, path: str) -> Name | None:
    """A name written as one text, of which nobody knows which words are the family's."""
    found = tuple(word for word in words(text) if word not in _TITLES)
    return Name((), found, TEXT, path) if found else None


def is_same_name(one: Name, other: Name) -> bool:
    """Whether two names may be the same: the family's words of one stand in the other, and so do the given names or their initials."""
    if TEXT in (one.use, other.use):
        return _within(one.family + one.given, other.family + other.given)
    if not _within(one.family, other.family) and not (one.family and other.family and "".join(one.family) == "".join(other.family)):
        return False
    return _within(one.given, other.given)


def _within(ours: tuple[str, ...], theirs: tuple[str, ...]) -> bool:
    """Whether all words of the shorter stand in the longer, each once, in full or as initials; an absent part fits everything."""
    shorter, longer = sorted((ours, theirs), key=len)
    left = list(longer)
    initials = []
    for word in shorter:
        if word in left:
            left.remove(word)
        else:
            initials.append(word)
    for word in initials:
        found = next((other for other in left if 1 in (len(word), len(other)) and word[0] == other[0]), None)
        if found is None:
            return False
        left.remove(found)
    return True


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
        plain = _NOT_ALNUM.sub("", plain)
    return Identifier(authority, is_public, _KINDS.get(typed, typed), plain, path)


def authority_of(system: object) -> tuple[str, bool]:
    """The canonical name of an assigning authority, and whether it is the same everywhere."""
    if not isinstance(system, str) or not (text := system.strip()) or len(text) > _VALUE_LENGTH_MAX:
        return "", False
    oid = _OID.fullmatch(text)
    known = _AUTHORITIES.get(oid[1] if oid else text)
    if known is not None:
        return known, True
    if oid:
        return oid[1], True
    if text == "urn:ietf:rfc:3986":
        return "", False
    if "://" in text:
        return text.rstrip("/").casefold(), True
    return f"local:{_NOT_ALNUM.sub('', text).casefold()}", False


def is_one_authority(one: Identifier, other: Identifier) -> bool:
    """Whether two identifiers name one authority: in the same words, or as a namespace with which the other's URL ends."""
    if not one.authority or not other.authority:
        return False
    if one.authority == other.authority:
        return True
    local, public = (one, other) if other.is_public else (other, one)
    return not local.is_public and public.is_public and local.authority == f"local:{_NOT_ALNUM.sub('', public.authority.rpartition('/')[2])}"


def may_be_one_authority(one: Identifier, other: Identifier) -> bool:
    """Whether two identifiers may be of one authority: unless both name one in the same manner, and another."""
    if one.authority == other.authority or not one.authority or not other.authority:
        return True
    if one.is_public != other.is_public:
        return True
    # A URL and an OID may both name one authority.
    return one.is_public and one.authority[:1].isdigit() != other.authority[:1].isdigit()


def postal_code(text: str) -> str:
    """A postal code without its separators; of the United States' long form, the first five digits."""
    plain = _NOT_ALNUM.sub("", folded(text))
    return plain[:5] if len(plain) == 9 and plain.isdecimal() else plain
