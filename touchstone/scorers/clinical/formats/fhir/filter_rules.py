"""Filters of ValueSets: property, operator and value against the code system (R4: valueset.html#compositions, codesystem.html#filters)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any, Final

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.checks.json_access import Json, choice, objects
from touchstone.scorers.clinical.checks.patterns import PatternError, read_pattern
from touchstone.scorers.clinical.formats.fhir.document import Document, Place
from touchstone.scorers.clinical.formats.fhir.fhirpath import FhirPathError, parse
from touchstone.scorers.clinical.formats.fhir.profiles.value_sets import system_facts
from touchstone.scorers.clinical.formats.fhir.references import is_absolute
from touchstone.scorers.clinical.formats.fhir.tables import code_systems, grows

#: URL of a code system → its definition, of the document or a package.
Find = Callable[[str], Json | None]
_HL7: Final = "http://hl7.org/fhir/"
_EXPRESSION: Final = _HL7 + "StructureDefinition/cqf-expression"
_PARAMETERS: Final = frozenset({_HL7 + "tools/StructureDefinition/valueset-parameter", _HL7 + "StructureDefinition/valueset-parameter"})
#: Filters whose value is a code of the system, those that take several codes, and those whose value is no value of the property.
_OF_CODES: Final = frozenset({"=", "is-a", "descendent-of", "is-not-a", "generalizes"})
_LISTS: Final = frozenset({"in", "not-in"})
_OF_NO_VALUE: Final = frozenset({"exists", "regex"})
#: Properties that every code system has (codesystem.html#defined-props), and the type of their values.
_DEFINED: Final = {"inactive": "boolean", "notSelectable": "boolean", "deprecationDate": "dateTime", "retirementDate": "dateTime", "effectiveDate": "dateTime"}
#: What is ordered may be compared as in searches (R4, search.html#prefix): lt2.
_PREFIX: Final = "(?:eq|ne|gt|lt|ge|le|sa|eb|ap)?"
_FORMS: Final = {
    "integer": (re.compile(_PREFIX + r"[-+]?\d{1,18}"), "an integer"),
    "decimal": (re.compile(_PREFIX + r"-?\d{1,40}(\.\d{1,40})?([eE][-+]?\d{1,4})?"), "a decimal number"),
    "boolean": (re.compile(r"true|false"), "true or false"),
    "dateTime": (re.compile(_PREFIX + r"\d{4}(-\d\d(-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[-+]\d\d:\d\d)?)?)?)?"), "a date or dateTime"),
}
_EXISTS: Final = frozenset({"true", "false"})
#: FHIRPath beyond our parser: quantities and special variables.
BEYOND: Final = re.compile(r"\d\s*['A-Za-z]|\$(index|total)")
_CODING: Final = re.compile(r"([^|#\s]+)(?:\|[^#]*)?#(.+)")
_TOKEN: Final = re.compile(r"([^|#\s]+)\|([^|#]+)")
_VARIABLE: Final = re.compile(r"%`?([A-Za-z_][\w-]*)")
_VARIABLES: Final = frozenset({"resource", "rootResource", "context", "ucum", "sct", "loinc"})


def check_filter(document: Document, condition: Json, system: str, place: Place, find: Find, parameters: Collection[str]) -> None:
    """Check one filter of an include or exclude. `parameters`: names that the value set declares."""
    _expression(document, condition, place, parameters)
    value, operator, name = condition.get("value"), condition.get("op"), condition.get("property")
    if not isinstance(value, str) or not isinstance(operator, str) or not isinstance(name, str):
        return  # The structure rules report what is missing.
    definition = find(system)
    declared = [one for one in objects((definition or {}).get("filter")) if one.get("code") == name]
    operators = [one.get("operator") for one in declared]
    if declared and not any(isinstance(allowed, list) and operator in allowed for allowed in operators):
        named = sorted({one for allowed in operators if isinstance(allowed, list) for one in allowed if isinstance(one, str)})
        _add(document, place, f"the code system defines this filter for the operators {', '.join(named[:8])} only", f"Use {' or '.join(named[:8])}")
    fault = None if declared else _value_fault(operator, _kind_of(name, definition), value)
    if fault is not None:
        _add(document, place, f"the value of this filter must be {fault}", f"Write {fault}")
    elif name == "concept" and operator in _OF_CODES | _LISTS:
        _codes(document, value.split(",") if operator in _LISTS else [value], system, definition, place)
    elif _kind_of(name, definition) == "Coding" and operator not in _OF_NO_VALUE | _LISTS:
        _coding(document, value, place, find)


def _add(document: Document, place: Place, message: str, remedy: str, level: Severity = "major") -> None:
    document.add(level, "fhir.definitions.filter", place, message, suggestion=remedy)


def _kind_of(name: str, definition: Json | None) -> str | None:
    """The type of a property; None if it is not known."""
    stated = next((one.get("type") for one in objects((definition or {}).get("property")) if one.get("code") == name), _DEFINED.get(name))
    return stated if isinstance(stated, str) else None


def _value_fault(operator: str, kind: str | None, value: str) -> str | None:
    """What the value of a filter must be, and is not."""
    if operator == "exists":
        return None if value in _EXISTS else "true or false"
    if operator == "regex":
        return None if _is_pattern(value) else "a regular expression that can be read"
    form, name = _FORMS.get(kind or "", (None, ""))
    values = value.split(",") if operator in _LISTS else [value]
    return None if form is None or all(form.fullmatch(one.strip()) for one in values) else name


def _is_pattern(text: str) -> bool:
    """True for a pattern that an engine reads, be it slow: it is not tried here."""
    try:
        read_pattern(text)
    except PatternError as error:
        return error.is_readable
    return True


def _codes(document: Document, codes: list[str], system: str, definition: Json | None, place: Place) -> None:
    known: Collection[str] | None = code_systems().get(system)
    if known is None and definition is not None:
        known = system_facts(definition)[0]
    if known is not None and not all(one.strip() in known for one in codes):
        level: Severity = "minor" if system in code_systems() and grows(system) else "major"
        _add(document, place, "the code system has no such code", "Use a code of the system", level)


def _coding(document: Document, value: str, place: Place, find: Find) -> None:
    """The value of a property of type Coding names the code and its system: system(|version)#code (R5, valueset.html#compositions), or as in searches."""
    match = _CODING.fullmatch(value) or _TOKEN.fullmatch(value)
    if match is None or not is_absolute(match[1]):
        told = "the value of this filter must be system#code, because the property is a Coding of another code system"
        _add(document, place, told, "Write the URL of the system, # and the code")
        return
    definition = find(match[1])
    known: Collection[str] | None = code_systems().get(match[1])
    if known is None and definition is not None:
        known = system_facts(definition)[0]
    if known is not None and match[2] not in known:
        level: Severity = "minor" if match[1] in code_systems() and grows(match[1]) else "major"
        _add(document, place, "the code system in the value of this filter has no such code", "Use a code of that system", level)


def parameters_of(value_set: Json) -> set[str]:
    """The names of the parameters that a value set declares (HL7's tools, extension valueset-parameter)."""
    found = set()
    for one in objects(value_set.get("extension")):
        for part in objects(one.get("extension")) if one.get("url") in _PARAMETERS else ():
            held = choice(part) if part.get("url") == "name" else None
            if held is not None and isinstance(held[1], str):
                found.add(held[1])
    return found


def _expression(document: Document, condition: Json, place: Place, parameters: Collection[str]) -> None:
    """An expression may stand in place of a filter's value (extension cqf-expression): FHIRPath over the parameters of the value set."""
    beside = condition.get("_value")
    stated = [choice(one) for one in objects(beside.get("extension")) if one.get("url") == _EXPRESSION] if isinstance(beside, dict) else []
    for held in stated:
        content: Any = held[1] if held is not None else None
        if not isinstance(content, dict):
            continue
        if "value" in condition:
            _add(document, place, "a filter has a value or an expression for it, not both", "Leave out one of them")
        if content.get("language") != "text/fhirpath":
            _add(document, place, "the expression of a filter must be in FHIRPath (text/fhirpath)", "Write it in FHIRPath")
            continue
        text = content.get("expression")
        if not isinstance(text, str):
            continue
        names = set(_VARIABLE.findall(text)) - _VARIABLES
        try:
            parse(_VARIABLE.sub("%context", text))
        except FhirPathError:
            if BEYOND.search(text):
                document.skip("expressions of filters", "quantities and special variables are beyond what is read")
            else:
                _add(document, place, "the expression of this filter cannot be read as FHIRPath", "Correct the expression")
            continue
        if not names <= set(parameters):
            told = "the expression of this filter names a parameter that the value set does not declare"
            _add(document, place, told, "Declare it (extension valueset-parameter)")
