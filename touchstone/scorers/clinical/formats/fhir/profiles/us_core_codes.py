"""The codes of US Core's extensions for race, ethnicity and birth sex, because later versions refer to value sets that no package holds.

The lists join those of versions 3.1.1 to 8.0.0. A code that has the form of CDC's system but is in no list is minor (`shared_checks`); other codes are major.
"""

from __future__ import annotations

from touchstone.scorers.clinical.checks.code_forms import loinc_problem
from touchstone.scorers.clinical.checks.json_access import Json, numbered
from touchstone.scorers.clinical.formats.fhir.document import Document, Place

_US_CORE = "http://hl7.org/fhir/us/core/StructureDefinition/us-core-"
_NULL_FLAVORS = "http://terminology.hl7.org/CodeSystem/v3-NullFlavor"
_RACES = "urn:oid:2.16.840.1.113883.6.238"
_CODE = "fhir.bindings.us-core"
_RACE_AND_ETHNICITY = (f"{_US_CORE}race", f"{_US_CORE}ethnicity")
_BIRTH_SEX = f"{_US_CORE}birthsex"
_SEXES = ("F", "M", "UNK", "OTH", "ASKU")
_UNKNOWN = frozenset({"UNK", "ASKU", "OTH", "NI"})


def check_us_core_codes(document: Document) -> None:
    """Check the codes in US Core's extensions for race, ethnicity and birth sex."""
    for value, place, _ in document.extensions:
        url = value.get("url")
        if url == _BIRTH_SEX:
            document.report.fired("bindings")
            code = value.get("valueCode")
            if isinstance(code, str) and code not in _SEXES:
                document.add("major", _CODE, (place, "valueCode", None), f"no code of US Core's birth sex: {', '.join(_SEXES)}", value=code)
        elif url in _RACE_AND_ETHNICITY:
            for index, part in numbered(value, "extension"):
                if part.get("url") in ("ombCategory", "detailed") and isinstance(part.get("valueCoding"), dict):
                    document.report.fired("bindings")
                    _coding(document, part["valueCoding"], ((place, "extension", index), "valueCoding", None))


def _coding(document: Document, coding: Json, place: Place) -> None:
    system, code = coding.get("system"), coding.get("code")
    if not isinstance(code, str):
        return
    if system == _NULL_FLAVORS:
        if code not in _UNKNOWN:
            document.add("major", _CODE, place, "US Core allows no other null flavor here than UNK and ASKU", value=code)
    elif system != _RACES:
        document.add("major", _CODE, place, f"US Core asks for CDC's race and ethnicity codes here ({_RACES})", value=system)
    elif loinc_problem(code) is not None:
        document.add("major", _CODE, place, "no code of CDC's race and ethnicity system: four digits, a hyphen and a check digit", value=code)
