"""Code systems of other bodies that a form or a list at hand decides: languages, MIME types, countries, states, currencies, races, units, diagnoses.

A wrong form is major. A code that a list lacks is minor, and the message names the list's edition: the registry may have got it since.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import resources
from typing import Any, Final

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.checks import terminology
from touchstone.scorers.clinical.checks.code_forms import CODE_LENGTH_MAX, loinc_problem
from touchstone.scorers.clinical.checks.languages import SYSTEM as LANGUAGES
from touchstone.scorers.clinical.checks.languages import Tag, language_problem, read_tag
from touchstone.scorers.clinical.checks.ucum_reader import is_valid_unit, reader_installed

Problem = tuple[Severity, str]
MIME_TYPES: Final = "urn:ietf:bcp:13"
COUNTRIES: Final = "urn:iso:std:iso:3166"
SUBDIVISIONS: Final = "urn:iso:std:iso:3166:-2"
CURRENCIES: Final = "urn:iso:std:iso:4217"
RACES: Final = "urn:oid:2.16.840.1.113883.6.238"
STATES: Final = "https://www.usps.com/"
REGIONS: Final = "http://unstats.un.org/unsd/methods/m49/m49.htm"
#: Longer MIME types, with their parameters, are not read.
_MIME_CHARS_MAX: Final = 255
#: RFC 6838, 4.2: each name begins with a letter or digit and has at most 127 characters. R4 adds the short names of its own formats, and asks for ranges.
_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+\-]{0,126}"
_MIME: Final = re.compile(rf"(?P<top>{_NAME})/(?:{_NAME}|\*)(?:\s*;.*)?|json|xml|ttl", re.ASCII)
#: IANA's top-level media types as of October 2026 (RFC 6838, RFC 8081, RFC 9694, RFC 9695).
_TOP_LEVELS: Final = frozenset({"application", "audio", "example", "font", "haptics", "image", "message", "model", "multipart", "text", "video"})
_COUNTRY: Final = re.compile(r"[A-Z]{2,4}|\d{3}", re.ASCII)
_SUBDIVISION: Final = re.compile(r"[A-Z]{2}-[A-Z0-9]{1,3}", re.ASCII)
_CURRENCY: Final = re.compile(r"[A-Z]{3}", re.ASCII)
#: Postal codes of the states, the District of Columbia, territories, freely associated states and the armed forces (USPS Publication 28, Appendix B).
_POSTAL: Final = (
    "AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY "
    "AS GU MP PR VI UM FM MH PW AA AE AP"
)
POSTAL_STATES: Final = frozenset(_POSTAL.split())


def is_decided(system: str) -> bool:
    """True if a form or a list at hand decides the codes of a system."""
    return system in _RULES


def problem_of(system: str, code: str) -> Problem | None:
    """Return severity and message if a code is not, or may not be, one of a decided system."""
    return _RULES[system](code)


def holds(system: str, code: str) -> bool | None:
    """True if a code is one of a decided system, False if it cannot be, None if the list at hand lacks it and a later edition may have it."""
    problem = _RULES[system](code)
    return True if problem is None else False if problem[0] == "major" else None


def has_race(code: str, ancestor: str) -> bool | None:
    """True if a code of CDC's races and ethnicities is another one or below it; None if the list lacks either."""
    parents: dict[str, str] = _table()["races"]["codes"]
    if code not in parents or ancestor not in parents:
        return None
    while code and code != ancestor:
        code = parents[code]
    return code == ancestor


def _unlisted(what: str, edition: str) -> Problem:
    return "minor", f"{what} as of {edition}; a later edition may have it"


@lru_cache(maxsize=1_024)
def _language(tag: str) -> Problem | None:
    problem, parts = language_problem(tag), read_tag(tag)
    if problem is not None or parts is None:
        return problem
    table = _table()["subtags"]
    for kind, subtag in _subtags(parts):
        if subtag not in _listed(kind):
            return _unlisted(f"IANA's registry of language subtags has no such {_KINDS[kind]}", table["edition"])
    return None


_KINDS: Final = {"language": "language", "extlang": "extended language", "script": "script", "region": "region", "variant": "variant"}


def _subtags(parts: Tag) -> list[tuple[str, str]]:
    single = (("language", parts.language), ("script", parts.script), ("region", parts.region))
    return [*((kind, one) for kind, one in single if one), *(("extlang", one) for one in parts.extlangs), *(("variant", one) for one in parts.variants)]


@lru_cache(maxsize=8)
def _listed(kind: str) -> frozenset[str]:
    """The subtags of a kind, with those of the ranges for private use."""
    found = set[str]()
    for one in _table()["subtags"][kind]:
        first, _, last = one.partition("..")
        found.update(_between(first, last) if last else (first,))
    return frozenset(found)


def _between(first: str, last: str) -> list[str]:
    """The texts of small letters from one to another of its length: `qaa` to `qtz`."""
    found = [first]
    while found[-1] != last:
        text = found[-1].rstrip("z")
        found.append((text[:-1] + chr(ord(text[-1]) + 1)).ljust(len(first), "a"))
    return found


def _mime(code: str) -> Problem | None:
    found = _MIME.fullmatch(code) if len(code) <= _MIME_CHARS_MAX else None
    if found is None:
        return "major", "not a MIME type such as text/plain (RFC 6838, 4.2)"
    if found["top"] is not None and found["top"].lower() not in _TOP_LEVELS:
        return _unlisted(f"{found['top'].lower()[:40]} is no registered top-level MIME type; IANA has {', '.join(sorted(_TOP_LEVELS))}", "October 2026")
    return None


def _country(code: str) -> Problem | None:
    if _COUNTRY.fullmatch(code) is None:
        if _COUNTRY.fullmatch(code.upper()) is not None:
            return "minor", "country codes are written in upper case (ISO 3166-1)"
        if _SUBDIVISION.fullmatch(code) is not None:
            return "minor", f"this is a code of ISO 3166-2, whose system is {SUBDIVISIONS}"
        return "major", "not a country code such as US, USA or 840 (ISO 3166-1)"
    if len(code) == 2 and code.lower() not in _listed("region"):
        return _unlisted("ISO 3166-1 has no such country (IANA's registry of language subtags, regions)", _table()["subtags"]["edition"])
    return None  # No list of the codes with three letters or digits is at hand.


def _region(code: str) -> Problem | None:
    return None if len(code) == 3 and code.isascii() and code.isdigit() else ("major", "not a code of three digits such as 840 or 021 (UN M49)")


def is_region(code: str) -> bool | None:
    """True if a code of UN M49 is one of a region; None for others, which may be those of countries, or newer."""
    return True if code in _listed("region") else None


def _subdivision(code: str) -> Problem | None:
    if _SUBDIVISION.fullmatch(code) is None:
        return "major", "not a code of a subdivision such as US-MA (ISO 3166-2)"
    country, _, state = code.partition("-")
    return _country(country) or (_state(state) if country == "US" else None)


def _state(code: str) -> Problem | None:
    if code in POSTAL_STATES:
        return None
    if len(code) == 2 and code.isascii() and code.isalpha():
        return _unlisted("the Postal Service has no such state", "Publication 28, Appendix B")
    return "major", "not a state of two capital letters such as MA (USPS Publication 28, Appendix B)"


def _currency(code: str) -> Problem | None:
    if _CURRENCY.fullmatch(code) is None:
        return "major", "not an ISO 4217 code of three capital letters"
    table = _table()["currencies"]
    return None if code in table["codes"] else _unlisted("ISO 4217 has no such currency in use", table["edition"])


def _race(code: str) -> Problem | None:
    if loinc_problem(code) is not None:
        return "major", "no code of CDC's race and ethnicity system: four digits, a hyphen and a check digit"
    table = _table()["races"]
    return None if code in table["codes"] else _unlisted("CDC's race and ethnicity system has no such code", table["edition"])


def _unit(code: str) -> Problem | None:
    if not reader_installed():
        return "minor", "the UCUM reader is not installed (extra `clinical`)"
    return None if is_valid_unit(code) else ("minor", "not a unit of UCUM")  # `unit_checks` rates it


def _diagnosis(code: str) -> Problem | None:
    return None if terminology.in_icd10cm(code) else _unlisted("ICD-10-CM has no such code", terminology.icd10cm_edition())


def _bounded(rule: Callable[[str], Problem | None]) -> Callable[[str], Problem | None]:
    return lambda code: rule(code) if len(code) <= CODE_LENGTH_MAX else ("major", f"longer than {CODE_LENGTH_MAX} characters")


_RULES: Final[Mapping[str, Callable[[str], Problem | None]]] = {
    LANGUAGES: _language,
    MIME_TYPES: _mime,
    COUNTRIES: _bounded(_country),
    SUBDIVISIONS: _bounded(_subdivision),
    CURRENCIES: _currency,
    RACES: _bounded(_race),
    STATES: _bounded(_state),
    REGIONS: _bounded(_region),
    terminology.UCUM.url: _bounded(_unit),
    terminology.ICD10CM.url: _bounded(_diagnosis),
}


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    data = resources.files("touchstone.scorers.clinical.tables").joinpath("registries.json.xz").read_bytes()
    table: dict[str, Any] = json.loads(lzma.decompress(data))
    return table
