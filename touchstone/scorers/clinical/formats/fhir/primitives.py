"""Primitive values of FHIR R4: JSON type, form, calendar and range (R4, datatypes: primitive types).

Each check returns None for a good value, else (code, message). Messages never quote the value.
"""

from __future__ import annotations

import base64
import binascii
import re
from calendar import monthrange
from collections.abc import Callable
from typing import Any

Problem = tuple[str, str]
#: R4, string: "Strings SHALL NOT exceed 1MB in size".
STRING_CHARS_MAX = 1_048_576
ID_CHARS_MAX = 64

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_DATE = re.compile(r"(\d{4})(?:-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01]))?)?", re.ASCII)
_DATE_TIME = re.compile(
    r"(\d{4})(?:-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01])(?:T([01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(Z|[+-](?:(?:0\d|1[0-3]):[0-5]\d|14:00))?)?)?)?",
    re.ASCII,
)
#: The digits and separators of a date or time, whatever the numbers.
_NUMBERS = re.compile(r"\d{4}-\d\d(?:-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?)?)?", re.ASCII)
_NO_SUCH = "no such month, day, hour, minute, second or offset exists"
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?", re.ASCII)
_CODE = re.compile(r"[^\s]+( [^\s]+)*")
_ID = re.compile(r"[A-Za-z0-9\-.]{1,64}")
_OID = re.compile(r"urn:oid:[0-2](\.(0|[1-9][0-9]*))+")
_UUID = re.compile(r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SPACE = re.compile(r"\s")
#: Dates and times of the usual form, on days that every month has: a match is enough. Other texts are checked in full.
_DAY = r"(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])"
_MOMENT = r"T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:0\d|1[0-3]):[0-5]\d)"
is_plain_date = re.compile(_DAY, re.ASCII).fullmatch
is_plain_time = re.compile(f"{_DAY}(?:{_MOMENT})?", re.ASCII).fullmatch
is_plain_instant = re.compile(_DAY + _MOMENT, re.ASCII).fullmatch
is_id = _ID.fullmatch
_INTEGER_MAX = 2_147_483_647

#: R4: strings SHOULD not be only whitespace; in other types whitespace breaks the form.
BLANK = "fhir.primitives.blank"
#: R4: strings SHOULD NOT contain control characters.
CONTROL = "fhir.primitives.control"
_WRONG_TYPE = "fhir.primitives.type"
_FORM = "fhir.primitives.form"


def _text(value: Any) -> Problem | None:
    if not isinstance(value, str):
        return _WRONG_TYPE, "must be a JSON string"
    if not value:
        return "fhir.primitives.empty", "must not be empty"
    if not value.strip():
        return BLANK, "must hold more than whitespace"
    if len(value) > STRING_CHARS_MAX:
        return _FORM, "longer than the permitted 1 MB"
    if _CONTROL.search(value):
        return CONTROL, "holds a control character, which a FHIR string should not"
    return None


def _of_text(check: Callable[[str], Problem | None]) -> Callable[[Any], Problem | None]:
    """A check of the JSON type and of what all texts must keep, followed by another check."""
    return lambda value: _text(value) or check(value)


def _matching(pattern: re.Pattern[str], message: str) -> Callable[[Any], Problem | None]:
    """A check for texts that must match a pattern."""
    return _of_text(lambda value: None if pattern.fullmatch(value) else (_FORM, message))


@_of_text
def _uri(value: str) -> Problem | None:
    if _SPACE.search(value):
        return _FORM, "a URI holds no whitespace"
    if value.startswith("urn:oid:") and not _OID.fullmatch(value):
        return _FORM, "urn:oid: is not followed by an OID"
    if value.startswith("urn:uuid:") and not _UUID.fullmatch(value.split("#", maxsplit=1)[0].split("|", maxsplit=1)[0]):
        return _FORM, "urn:uuid: is not followed by a lower-case UUID"
    return None


@_of_text
def _id(value: str) -> Problem | None:
    if len(value) > ID_CHARS_MAX:
        return _FORM, "an id has at most 64 characters"
    return None if _ID.fullmatch(value) else (_FORM, "an id holds only letters, digits, '-' and '.'")


def _calendar(match: re.Match[str]) -> Problem | None:
    if match[1] == "0000":
        return _FORM, "there is no year 0000"
    if match[3] and int(match[3]) > monthrange(int(match[1]), int(match[2]))[1]:
        return "fhir.primitives.calendar", "this day does not exist in that month"
    return None


def _misread(value: str, form: str, *, needed: str = "", without: str = "\n") -> str:
    """The fault of a text that is not a date or time: its form, or a number in it. `needed`, `without`: what the form contains, and what it does not."""
    return _NO_SUCH if needed in value and without not in value and _NUMBERS.fullmatch(value) else form


@_of_text
def _date(value: str) -> Problem | None:
    match = _DATE.fullmatch(value)
    return _calendar(match) if match else (_FORM, _misread(value, "a date is YYYY, YYYY-MM or YYYY-MM-DD", without="T"))


@_of_text
def _date_time(value: str) -> Problem | None:
    match = _DATE_TIME.fullmatch(value)
    if match is None:
        return _FORM, _misread(value, "a dateTime is YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DDThh:mm:ss+zz:zz")
    if match[4] and not match[5]:
        return "fhir.primitives.timezone", "a dateTime with a time must have a timezone"
    return _calendar(match)


@_of_text
def _instant(value: str) -> Problem | None:
    match = _DATE_TIME.fullmatch(value)
    if match is None or not match[4]:
        return _FORM, _misread(value, "an instant is YYYY-MM-DDThh:mm:ss.sss+zz:zz", needed="T")
    if not match[5]:
        return "fhir.primitives.timezone", "an instant must have a timezone"
    return _calendar(match)


def _base64(value: Any) -> Problem | None:
    if not isinstance(value, str):
        return _WRONG_TYPE, "must be a JSON string"
    if not value:
        return "fhir.primitives.empty", "must not be empty"
    try:
        base64.b64decode("".join(value.split()) if _SPACE.search(value) else value, validate=True)
    except (binascii.Error, ValueError):
        return _FORM, "not base64"
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _integer(least: int) -> Callable[[Any], Problem | None]:
    def check(value: Any) -> Problem | None:
        if not _is_number(value):
            return _WRONG_TYPE, "must be a JSON number, without quotes"
        if not isinstance(value, int):
            return _FORM, "must be a whole number of at most 32 bits"
        return None if least <= value <= _INTEGER_MAX else (_FORM, f"must lie between {least} and {_INTEGER_MAX}")

    return check


CHECKS: dict[str, Callable[[Any], Problem | None]] = {
    "base64Binary": _base64,
    "boolean": lambda value: None if isinstance(value, bool) else (_WRONG_TYPE, "must be true or false, without quotes"),
    "canonical": _uri,
    "code": _matching(_CODE, "a code has no leading or trailing whitespace and only single spaces inside"),
    "date": _date,
    "dateTime": _date_time,
    "decimal": lambda value: None if _is_number(value) else (_WRONG_TYPE, "must be a JSON number, without quotes"),
    "id": _id,
    "instant": _instant,
    "integer": _integer(-_INTEGER_MAX - 1),
    "markdown": _text,
    "oid": _matching(_OID, "an oid is urn:oid: and an OID"),
    "positiveInt": _integer(1),
    "string": _text,
    "time": _matching(_TIME, "a time is hh:mm:ss, with no timezone"),
    "unsignedInt": _integer(0),
    "uri": _uri,
    "url": _uri,
    "uuid": _matching(_UUID, "a uuid is urn:uuid: and a lower-case UUID"),
}
