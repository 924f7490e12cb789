"""The codes of US Core's extensions for race, ethnicity and birth sex: later versions of US Core refer to value sets that no package holds.

The lists are those of every version from 3.1.1 to 8.0.0 together. A code that CDC's system may have, and none of the versions lists, is left to the
check of the categories (minor); what can be no code of it is a fault.
"""

from __future__ import annotations

from typing import Any

from touchstone.scorers.clinical.checks.code_forms import loinc_problem
from touchstone.scorers.clinical.formats.fhir.document import Document, Place

_US_CORE = "http://hl7.org/fhir/us/core/StructureDefinition/us-core-"
_NULL_FLAVORS = "http://terminology.hl7.org/CodeSystem/v3-NullFlavor"
_RACES = "urn:oid:2.16.840.1.113883.6.238"
#: Extension → the parts of it that hold a code of CDC's race and ethnicity system.
_PARTS = {f"{_US_CORE}race": frozenset({"ombCategory", "detailed"}), f"{_US_CORE}ethnicity": frozenset({"ombCategory", "detailed"})}
_BIRTH_SEX = f"{_US_CORE}birthsex"
_SEXES = ("F", "M", "UNK", "OTH", "ASKU")
_UNKNOWN = frozenset({"UNK", "ASKU", "OTH", "NI"})


def check_us_core_codes(document: Document) -> None:
    """Check the extensions of a document that US Core defines and whose codes it binds."""
    for value, place, _ in document.extensions:
        url = value.get("url")
        if url == _BIRTH_SEX:
            document.report.fired("bindings")
            code = value.get("valueCode")
            if isinstance(code, str) and code not in _SEXES:
                document.say("major", _CODE, (place, "valueCode", None), f"no code of US Core's birth sex: {', '.join(_SEXES)}", value=code)
        elif isinstance(url, str) and url in _PARTS:
            inner = value.get("extension")
            for index, part in enumerate(inner if isinstance(inner, list) else ()):
                if isinstance(part, dict) and part.get("url") in _PARTS[url] and isinstance(part.get("valueCoding"), dict):
                    document.report.fired("bindings")
                    _coding(document, part["valueCoding"], ((place, "extension", index), "valueCoding", None))


_CODE = "fhir.bindings.us-core"


def _coding(document: Document, coding: dict[str, Any], place: Place) -> None:
    """One coding of a race or ethnicity."""
    system, code = coding.get("system"), coding.get("code")
    if not isinstance(code, str):
        return
    if system == _NULL_FLAVORS:
        if code not in _UNKNOWN:
            document.say("major", _CODE, place, "US Core allows no other null flavor here than UNK and ASKU", value=code)
    elif system != _RACES:
        document.say("major", _CODE, place, f"US Core asks for CDC's race and ethnicity codes here ({_RACES})", value=system)
    elif loinc_problem(code) is not None:
        document.say("major", _CODE, place, "no code of CDC's race and ethnicity system: four digits, a hyphen and a check digit", value=code)
