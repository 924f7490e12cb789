"""Comparing values with what a profile states: occurrences of elements, fixed and pattern values, codes, bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from touchstone.scorers.clinical.checks.ucum_reader import conversion, is_valid_unit
from touchstone.scorers.clinical.formats.fhir.document import Place
from touchstone.scorers.clinical.formats.fhir.fhirpath.values import CHOICE_TYPES, NO_CHOICES, Undecided, children, compare, plain

_UCUM = "http://unitsofmeasure.org"
_UNIT_CHARS_MAX = 200


def occurrences(owner: dict[str, Any], name: str, place: Place) -> list[tuple[Any, Place]]:
    """Return the occurrences of an element with their places; a choice is found by its name without the type."""
    key, value, beside = name, owner.get(name), owner.get("_" + name)
    if value is None and beside is None and name not in owner and "_" + name not in owner:
        found = choice_key(owner, name)
        if found is None:
            return []
        key, value, beside = found, owner.get(found), owner.get("_" + found)
    if value is not None and beside is None:
        if value.__class__ is list:
            return [(one, (place, key, index)) for index, one in enumerate(one for one in value if one is not None)]
        return [(value, (place, key, None))]
    many = isinstance(value, list) or isinstance(beside, list)
    return [(one, (place, key, index if many else None)) for index, one in enumerate(children(owner, key))]


def choice_key(owner: dict[str, Any], name: str) -> str | None:
    """Return the key of a choice element in an object, or None if it is absent."""
    size = len(name)
    for key in owner:
        bare = key.lstrip("_")
        if bare.startswith(name) and bare[size:] in CHOICE_TYPES and bare not in NO_CHOICES:
            return bare
    return None


def equal(value: Any, wanted: Any) -> bool:
    """Return True if a value is the fixed one: 1 = 1.0, but true is not 1."""
    value = plain(value)
    return bool(value == wanted) and isinstance(value, bool) == isinstance(wanted, bool)


def fits(value: Any, pattern: Any) -> bool:
    """Return True if a value holds everything that a pattern states (R4, ElementDefinition.pattern[x])."""
    value = plain(value)
    if isinstance(pattern, dict):
        return isinstance(value, dict) and all(name in value and fits(value[name], part) for name, part in pattern.items())
    if isinstance(pattern, list):
        return isinstance(value, list) and all(any(fits(one, part) for one in value) for part in pattern)
    return equal(value, pattern)


def codes_of(value: Any) -> Iterator[tuple[str | None, str]]:
    """Yield (system, code) of a code, Coding, CodeableConcept or Quantity; system is None for a bare code."""
    value = plain(value)
    if isinstance(value, str):
        yield None, value
    elif isinstance(value, dict):
        codings = value.get("coding")
        for coding in codings if isinstance(codings, list) else [value]:
            if isinstance(coding, dict) and isinstance(coding.get("code"), str):
                yield str(coding.get("system", "")), coding["code"]


def ordered(value: Any, bound: Any) -> int | None:
    """Return -1, 0 or 1 if a value is below, at or above a bound. Quantities are converted by UCUM. None if they cannot be ordered."""
    if isinstance(value, dict) and isinstance(bound, dict) and value.get("code") != bound.get("code"):
        units = (value.get("code"), bound.get("code"))
        change = conversion(str(units[0]), str(units[1])) if all(isinstance(one, str) and len(one) <= _UNIT_CHARS_MAX for one in units) else None
        amount = value.get("value")
        if change is None or isinstance(amount, bool) or not isinstance(amount, int | float) or not isinstance(bound.get("value"), int | float):
            return None
        value, bound = amount * change[0] + change[1], bound["value"]
    try:
        return compare(value, bound)
    except Undecided:
        return None


def differ_in_kind(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return True if two quantities have UCUM units of different dimensions, so that none is within a bound set by the other."""
    units = [quantity.get("code") for quantity in (one, other) if quantity.get("system") == _UCUM]
    texts = [unit for unit in units if isinstance(unit, str) and len(unit) <= _UNIT_CHARS_MAX]
    return len(texts) == len((one, other)) and all(map(is_valid_unit, texts)) and conversion(texts[0], texts[1]) is None


def absent(value: Any) -> bool:
    """Return True if an extension replaces the value (data-absent-reason)."""
    return isinstance(value, dict) and "extension" in value and not value.get("coding")


def is_amount(value: dict[str, Any]) -> bool:
    """Return True if an object is a Quantity, which needs no code: the binding is about its unit."""
    return not value.keys().isdisjoint({"value", "unit", "comparator"})
