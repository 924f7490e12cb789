"""Checks of units: valid UCUM, suggestions, style of litre, and dimension by the LOINC code (specification, Priority 8).

Where the specification and UCUM differ, UCUM counts (corrections, Clinical 1): `mg/dl` is valid with a minor hint, `mEq/L` is not valid.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Final

from touchstone.schemas.result import Finding
from touchstone.scorers.clinical.checks.parameters import property_of
from touchstone.scorers.clinical.checks.scalars import shown
from touchstone.scorers.clinical.checks.ucum_reader import UNIT_LENGTH_MAX, conversion, read_unit, reader_installed
from touchstone.scorers.clinical.report import Context

UCUM_SYSTEM: Final = "http://unitsofmeasure.org"
#: How HL7v2 (table 0396), FHIR and C-CDA name UCUM as the coding system of a unit.
UCUM_NAMES: Final = frozenset({"UCUM", "UCUM2", "HTTP://UNITSOFMEASURE.ORG", "2.16.840.1.113883.6.8", "URN:OID:2.16.840.1.113883.6.8"})
NOT_INSTALLED: Final = "the UCUM reader is not installed (extra `clinical`)"
#: A lower-case litre (with a usual prefix) as an atom of its own.
_LITRE: Final = re.compile(r"(?<![A-Za-z\[\]_'%*^])([kdcmunpf]?)l(?![A-Za-z\[\]_'%*^])")
_BLANKS: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class _Table:
    corrections: Mapping[str, str]
    folded: Mapping[str, str]
    misread: Mapping[str, str]
    properties: Mapping[str, tuple[str, ...]]
    atoms: frozenset[str]
    prefixes: frozenset[str]


def suggest_unit(unit: str, loinc: str | None = None) -> str | None:
    """Return a valid UCUM unit for a misspelt unit or, with a LOINC code, a misread one; None if none is known.

    The suggestion comes from Touchstone's tables, so it may be shown even if the unit may not.
    """
    if len(unit) > UNIT_LENGTH_MAX:
        return None
    table = _table()
    if loinc is not None and unit in table.misread and not fits_property(unit, loinc) and fits_property(table.misread[unit], loinc):
        return table.misread[unit]
    return table.corrections.get(unit) or table.folded.get(_fold(unit))


def normalize_ucum_unit(unit: str, loinc: str | None = None) -> str:
    """Return the unit as it should be written; unchanged if nothing better is known. A valid unit stays valid and keeps its meaning.

    Only a LOINC code that excludes its literal meaning changes a valid unit (`K/uL` of a count). Raises ImportError if the parser is not installed.
    """
    if read_unit(unit) is None:
        return suggest_unit(unit) or unit
    if loinc is not None and not fits_property(unit, loinc):
        return suggest_unit(unit, loinc) or unit
    return _with_capital_litre(unit)


def fits_property(unit: str, loinc: str) -> bool:
    """Return True if a unit has a dimension that the LOINC code's property requires, or if either is unknown."""
    kind = property_of(loinc)
    read = read_unit(unit)
    if kind is None or read is None or read.dimension is None:
        return True
    return any(read.dimension == wanted.dimension for example in _table().properties[kind] if (wanted := read_unit(example)) is not None)


def check_unit(unit: object, path: str, context: Context, *, loinc: str | None = None, system: str | None = None) -> list[Finding]:
    """Check a unit. `loinc`: the observation's code; `system`: the coding system that the document names for the unit.

    An empty unit is not checked. Without the parser, only known misspellings are found (callers report `NOT_INSTALLED`).
    """
    if unit is None or unit == "":
        return []
    if not isinstance(unit, str) or len(unit) > UNIT_LENGTH_MAX:
        return [context.finding("major", "units.invalid", path, f"Unit must be text of at most {UNIT_LENGTH_MAX} characters", value=shown(unit))]
    if not reader_installed():
        known = _table().corrections.get(unit)
        return [] if known is None else [_invalid(unit, path, context, system)]
    read = read_unit(unit)
    if read is None:
        return [_invalid(unit, path, context, system)]
    if loinc is not None and not fits_property(unit, loinc):
        return [_wrong_dimension(unit, loinc, path, context)]
    preferred = _with_capital_litre(unit)
    if preferred != unit:
        message = "Unit is valid UCUM; an upper-case L for litre is preferred"
        return [context.finding("minor", "units.style", path, message, suggestion=_instead(preferred, unit), value=unit)]
    # Only without a LOINC code: with one, the unit has been checked.
    table = _table()
    meant, is_common = table.misread.get(unit), read.atoms <= table.atoms and read.prefixes <= table.prefixes
    if (meant is not None or not is_common) and (loinc is None or property_of(loinc) is None):
        suggestion = None if meant is None else f"Use '{meant}' if that is what '{unit}' was meant for"
        return [context.finding("minor", "units.uncommon", path, "Unit not in common list, may need verification", suggestion=suggestion, value=unit)]
    return []


def check_quantity_unit(
    path: str, context: Context, *, unit: object = None, code: object = None, system: object = None, loinc: str | None = None
) -> list[Finding]:
    """Check the unit of a FHIR Quantity at `path`: its `code`, if that is of UCUM.

    `unit` is a label for people (R4, datatypes.html#Quantity) and never invalid. Without any code it is the only thing that says the unit, so a label
    that is no UCUM is a minor finding, and one that is UCUM of another dimension than the LOINC code's a major one.
    """
    if code is not None:
        return check_unit(code, f"{path}.code", context, loinc=loinc, system=UCUM_SYSTEM) if system == UCUM_SYSTEM else []
    found = check_unit(unit, f"{path}.unit", context, loinc=loinc)
    return [_label(one, unit, context) if one.code == "units.invalid" else one for one in found]


def _label(finding: Finding, unit: object, context: Context) -> Finding:
    """The finding about a label that is not UCUM, beside which there is no code."""
    suggested = suggest_unit(unit) if isinstance(unit, str) else None
    code = "the unit's UCUM code" if suggested is None else f"code '{suggested}'"
    message = "The quantity has no coded unit, and its label is not UCUM, so that programs cannot compute with the value"
    return context.finding("minor", "units.label", finding.path, message, suggestion=f"Add system '{UCUM_SYSTEM}' and {code}", value=unit)


def _invalid(unit: str, path: str, context: Context, system: str | None) -> Finding:
    suggested = suggest_unit(unit)
    suggestion = "Write the unit in UCUM" if suggested is None else _instead(suggested, unit)
    if system and system.upper() not in UCUM_NAMES:
        message = "Unit is of another coding system and not valid UCUM"
        return context.finding("minor", "units.other-system", path, message, suggestion=suggestion, value=unit)
    return context.finding("major", "units.invalid", path, "Invalid UCUM unit", suggestion=suggestion, value=unit)


def _wrong_dimension(unit: str, loinc: str, path: str, context: Context) -> Finding:
    kind = property_of(loinc)
    assert kind is not None
    suggested = suggest_unit(unit, loinc)
    message = f"Unit is valid UCUM but not of the dimension that the LOINC code asks for (property {kind}, e.g. {_table().properties[kind][0]})"
    suggestion = None if suggested is None or not fits_property(suggested, loinc) else _instead(suggested, unit)
    return context.finding("major", "units.dimension", path, message, suggestion=suggestion, value=unit)


def _instead(suggested: str, unit: str) -> str:
    """A suggestion. It names the unit found only if that spelling is in the tables."""
    table = _table()
    if unit in table.corrections or unit in table.misread:
        return f"Use '{suggested}' instead of '{unit}'"
    if unit.casefold() == suggested.casefold():
        return f"Use '{suggested}' instead (UCUM is case-sensitive)" if read_unit(unit) is None else f"Use '{suggested}'"
    return f"Use '{suggested}' instead"


def _with_capital_litre(unit: str) -> str:
    """The unit with L for l, if that is the same unit. Units with an annotation are unchanged, because its text must not be repeated."""
    if "{" in unit or "l" not in unit:
        return unit
    changed = _LITRE.sub(r"\1L", unit)
    return changed if changed != unit and conversion(unit, changed) == (1.0, 0.0) else unit


def _fold(unit: str) -> str:
    """The unit without blanks, case and final full stop, with u for the micro signs."""
    folded = _BLANKS.sub("", unit).casefold().replace("µ", "u").replace("μ", "u").removesuffix(".")
    return folded.replace("mcl", "ul").replace("mcg", "ug")


@lru_cache(maxsize=1)
def _table() -> _Table:
    text = resources.files("touchstone.scorers.clinical.tables").joinpath("units.toml").read_text("utf-8")
    table = tomllib.loads(text)
    corrections: dict[str, str] = table["corrections"]
    # Common units in any case: `MG/DL` means `mg/dL`. Corrections come last, because they are more certain.
    folded = {_fold(unit): unit for unit in table["spelled"]["units"]}
    folded.update({_fold(wrong): right for wrong, right in reversed(corrections.items())})
    properties = {kind: tuple(examples) for kind, examples in table["properties"].items()}
    common = table["common"]
    return _Table(corrections, folded, table["misread"], properties, frozenset(common["atoms"]), frozenset(common["prefixes"]))
