"""Names, identifiers and postal codes as they compare across formats."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from touchstone.scorers.clinical.checks.identifiers import NPI_OID, NPI_SYSTEM
from touchstone.scorers.clinical.consistency.codes import folded
from touchstone.scorers.clinical.consistency.record import Identifier, Name

_WORD: Final = re.compile(r"[^\W_]+")
_NOT_ALNUM: Final = re.compile(r"[\W_]+")
_OID: Final = re.compile(r"(?:urn:oid:)?([0-2](?:\.\d+)+)", re.ASCII | re.IGNORECASE)
_VALUE_LENGTH_MAX: Final = 256
_EXTENSION: Final = re.compile(r";|,|x|ext")
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
#: The uses of names that are neither legal nor usual.
NICKNAME: Final = "nickname"
MAIDEN: Final = "maiden"
OTHER: Final = "other"
_USES: Final = {"nickname": NICKNAME, "n": NICKNAME, "maiden": MAIDEN, "m": MAIDEN, "br": MAIDEN}
#: How letters of one name are written in plain ones: Müller as Muller and Mueller, Ångström as Angstrom and Aangstroem.
_WRITTEN_OUT: Final = re.compile(r"(?<=[aou])e|(?<=a)a")
#: English first names and their short forms, which stand for each other in records.
_SHORT_FORMS: Final = tuple(
    frozenset(line.split())
    for line in (
        "robert bob bobby rob robbie",
        "william bill billy will willie",
        "richard dick rick ricky rich",
        "james jim jimmy jamie",
        "john jack johnny",
        "joseph joe joey",
        "michael mike mick mickey",
        "thomas tom tommy",
        "charles charlie chuck",
        "edward ed eddie ted ned",
        "david dave davey",
        "daniel dan danny",
        "matthew matt",
        "andrew andy drew",
        "anthony tony",
        "steven stephen steve",
        "christopher chris",
        "nicholas nick",
        "benjamin ben benny",
        "samuel sam sammy",
        "alexander alex sandy",
        "alexandra alex sandra",
        "katherine catherine kathryn kate katie kathy cathy",
        "elizabeth liz beth betty eliza lisa",
        "margaret maggie meg peggy",
        "patricia pat patty tricia",
        "patrick pat",
        "jennifer jen jenny",
        "susan sue susie",
        "deborah debra deb debbie",
        "barbara barb",
        "rebecca becky",
        "victoria vicky",
        "theodore ted",
        "gerald jerry",
        "lawrence larry",
        "ronald ron",
        "donald don",
        "kenneth ken",
        "timothy tim",
        "gregory greg",
        "jeffrey jeff",
        "frederick fred",
        "francis frank",
        "peter pete",
        "philip phil",
        "raymond ray",
        "leonard len",
    )
)
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
    return Name(surname, first, "official" if plain in _OFFICIAL else _USES.get(plain, OTHER), path)


def name_of_text(text: str, path: str) -> Name | None:
    """A name written as one text, of which nobody knows which words are the family's."""
    found = tuple(word for word in words(text) if word not in _TITLES)
    return Name((), found, TEXT, path) if found else None


def is_same_name(one: Name, other: Name) -> bool:
    """Whether two names may be the same: the family's words of one stand in the other, and so do the given names, their initials or short forms."""
    if TEXT in (one.use, other.use):
        return _within(one.family + one.given, other.family + other.given)
    return _within(one.family, other.family, is_family=True) and _within(one.given, other.given)


def may_be_same_name(one: Name, other: Name) -> bool:
    """Whether two names may be one person's: also a nickname, or the name of another time, that has one part in common with the other."""
    if is_same_name(one, other):
        return True
    if NICKNAME in (one.use, other.use):
        return _within(one.family, other.family, is_family=True)
    return MAIDEN in (one.use, other.use) and _within(one.given, other.given)


def script_of(one: Name) -> str:
    """The script that a name is written in: names in two scripts do not compare."""
    letter = next((letter for word in (*one.family, *one.given) for letter in word if letter.isalpha()), "a")
    return unicodedata.name(letter, "?").split(" ", 1)[0]


def _within(ours: tuple[str, ...], theirs: tuple[str, ...], *, is_family: bool = False) -> bool:
    """Whether all words of the shorter stand in the longer, each once, in full or as initials; an absent part fits everything. Words may be joined."""
    shorter, longer = sorted((ours, theirs), key=len)
    joined = "".join(shorter)
    if joined and any(_is_same_word(joined, "".join(longer[:count])) for count in range(1, len(longer) + 1)):
        return True
    left = list(longer)
    initials = []
    for word in shorter:
        found = next((other for other in left if _is_same_word(word, other) or (not is_family and _is_short_form(word, other))), None)
        if found is None:
            initials.append(word)
        else:
            left.remove(found)
    for word in initials:
        found = next((other for other in left if 1 in (len(word), len(other)) and word[0] == other[0]), None)
        if found is None:
            return False
        left.remove(found)
    return True


def _is_short_form(one: str, other: str) -> bool:
    """Whether two first names are forms of one."""
    return any(one in forms and other in forms for forms in _SHORT_FORMS)


def _is_same_word(one: str, other: str) -> bool:
    """Whether two folded words are the same, one of them perhaps with letters written out."""
    return one == other or (len(one) != len(other) and _WRITTEN_OUT.sub("", one) == _WRITTEN_OUT.sub("", other))


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


def phone(text: object) -> str:
    """The digits of a phone number without its extension and without the country code of North America; empty for what is no phone number."""
    if not isinstance(text, str):
        return ""
    plain = _EXTENSION.split(text[:_VALUE_LENGTH_MAX].casefold(), maxsplit=1)[0].removeprefix("tel:")
    digits = "".join(letter for letter in plain if letter.isdecimal())
    if "@" in plain or not 7 <= len(digits) <= 15:
        return ""
    return digits[1:] if len(digits) == 11 and digits[0] == "1" else digits


def postal_code(text: str) -> str:
    """A postal code without its separators; of the United States' long form, the first five digits."""
    plain = _NOT_ALNUM.sub("", folded(text))
    return plain[:5] if len(plain) == 9 and plain.isdecimal() else plain
