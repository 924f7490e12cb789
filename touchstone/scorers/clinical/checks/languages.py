"""Language tags: the form of BCP 47 (RFC 5646), and the two-letter languages of ISO 639-1. `registries` asks for their subtags."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from touchstone.schemas.result import Severity

SYSTEM = "urn:ietf:bcp:47"
VALUE_SET = "http://hl7.org/fhir/ValueSet/all-languages"
#: Longer ones are not tags.
_TAG_CHARS_MAX = 64
_PRIVATE = r"x(?:-[a-z0-9]{1,8})+"
_TAG = re.compile(
    r"(?P<language>[a-z]{2,3}(?:-[a-z]{3}){0,3}|[a-z]{4}|[a-z]{5,8})(?:-(?P<script>[a-z]{4}))?(?:-(?P<region>[a-z]{2}|\d{3}))?"
    rf"(?P<variants>(?:-(?:[a-z0-9]{{5,8}}|\d[a-z0-9]{{3}}))*)(?P<more>(?:-[0-9a-wy-z](?:-[a-z0-9]{{2,8}})+)*(?:-{_PRIVATE})?)|{_PRIVATE}|i-[a-z]{{3,8}}",
    re.ASCII | re.IGNORECASE,
)
#: Registered before RFC 4646, with another form.
_IRREGULAR = frozenset({"en-gb-oed", "sgn-be-fr", "sgn-be-nl", "sgn-ch-de"})
#: ISO 639-1 with withdrawn codes: first letter → second letters. It is closed: new languages get three letters.
_TWO_LETTERS = {
    "a": "abefkmnrsvyz", "b": "aeghimnors", "c": "aehorsuvy", "d": "aevz", "e": "elnostu", "f": "afijory", "g": "adlnuv", "h": "aeiortuyz",
    "i": "adegiknostuw", "j": "aivw", "k": "agijklmnorsuvwy", "l": "abginotuv", "m": "ghiklnorsty", "n": "abdeglnorvy", "o": "cjmrs",
    "p": "ailst", "q": "u", "r": "mnouw", "s": "acdeghiklmnoqrstuvw", "t": "aeghiklnorstwy", "u": "gkrz", "v": "eio", "w": "ao", "x": "h",
    "y": "io", "z": "ahu",
}  # fmt: skip


class Tag(NamedTuple):
    """The subtags of a language tag, in lower case; "" for what it does not have. `more`: extensions and private use."""

    language: str
    extlangs: tuple[str, ...]
    script: str
    region: str
    variants: tuple[str, ...]
    more: str


def read_tag(tag: str) -> Tag | None:
    """Return the subtags of a text; None if it is no tag, or one that was registered whole or is for private use."""
    found = _TAG.fullmatch(tag.lower()) if len(tag) <= _TAG_CHARS_MAX else None
    if found is None or found["language"] is None:
        return None
    language, *extlangs = found["language"].split("-")
    return Tag(language, tuple(extlangs), found["script"] or "", found["region"] or "", tuple(found["variants"].split("-")[1:]), found["more"] or "")


@lru_cache(maxsize=1_024)
def language_problem(tag: str) -> tuple[Severity, str] | None:
    """Return severity and message if a text is not a language tag. No registered language has more than three letters, so `english` is not a tag."""
    found = _TAG.fullmatch(tag) if len(tag) <= _TAG_CHARS_MAX else None
    if found is None and tag.lower() not in _IRREGULAR:
        return "major", "not a language tag of BCP 47, such as en or en-US"
    language = found["language"].lower() if found is not None and found["language"] else ""
    if len(language) > 3 and "-" not in language:
        return "major", "not a language tag of BCP 47: no language has more than three letters"
    if len(language) == 2 and language[1] not in _TWO_LETTERS.get(language[0], ""):
        return "major", "no language has this two-letter code (ISO 639-1, which is closed)"
    return None
