"""The compiled FHIR R4 definitions, read once: types, fields, invariants, value sets, code systems, extensions.

The tables are written by `python -m touchstone.ops.lab.build.tables.fhir` from hl7.fhir.r4.core 4.0.1, hl7.fhir.uv.extensions.r4 and hl7.terminology.r4 (HL7,
CC0-1.0). R4 itself is final; the other two have editions, and what a later one may say differently never makes a document invalid.
"""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from touchstone.scorers.clinical.formats.fhir.fhirpath import FhirPathError, Node, Surroundings, Undecided, compile_expression, parse, repaired, truth
from touchstone.scorers.clinical.formats.fhir.fhirpath.environment import Compiled
from touchstone.scorers.clinical.formats.fhir.invariant_shortcuts import HOT, HOT_EXPRESSIONS, Look

FOLDER = Path(__file__).parent / "tables"
#: Code systems of the FHIR specification itself change only with FHIR.
OWN_SYSTEMS = "http://hl7.org/fhir/"
#: Rules that are evaluated by code of their own, where the whole document is in view.
OWN_RULES = frozenset({"dom-2", "dom-3", "dom-4", "dom-5", "dom-6", "ref-1", "txt-1", "txt-2", "bdl-1", "bdl-7"})


@dataclass(slots=True)
class Invariant:
    """One invariant: its key, severity (error or warning), what it asks for, and the compiled expression. `look`: finds where it surely holds."""

    key: str
    severity: str
    human: str
    tree: Node
    run: Compiled
    look: Look | None = None

    def holds(self, item: Any, around: Surroundings) -> bool | None:
        """Return whether the invariant holds for an item; None where the document alone does not decide it."""
        try:
            return truth(self.run(item, around))
        except (Undecided, FhirPathError, RecursionError):
            return None
        except (TypeError, ValueError, OverflowError, AttributeError, IndexError, ZeroDivisionError):
            return None  # The structure rules report values of a wrong type.


@dataclass(slots=True)
class Field:
    """One property that JSON may have: `name` is the key, `element` the element (value[x] for valueString)."""

    name: str
    element: str
    type: str
    many: bool
    least: int
    kind: str  # primitive, complex, resource, xhtml
    binding: str | None = None
    targets: tuple[str, ...] = ()
    invariants: tuple[Invariant, ...] = ()


@dataclass(slots=True)
class Type:
    """One type or backbone element. `required`: element → the keys of which one must be there; `choices`: element → keys of which one may be."""

    name: str
    kind: str
    abstract: bool
    fields: dict[str, Field] = field(default_factory=dict)
    required: dict[str, tuple[str, ...]] = field(default_factory=dict)
    choices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    invariants: tuple[Invariant, ...] = ()


@dataclass(frozen=True, slots=True)
class Definitions:
    """Everything that the definitions table says."""

    types: dict[str, Type]
    resources: frozenset[str]
    primitives: frozenset[str]
    values: dict[str, dict[str, frozenset[str]] | None]
    extensions: dict[str, dict[str, Any]]
    searches: dict[str, tuple[str, str, tuple[str, ...]]]
    bases: dict[str, str]
    value_sets: frozenset[str]
    profiles: frozenset[str]
    uncompiled: tuple[str, ...]
    edition: str


def _read(name: str) -> dict[str, Any]:
    with lzma.open(FOLDER / f"{name}.json.xz") as file:
        table: dict[str, Any] = json.load(file)
    return table


@lru_cache(maxsize=1)
def code_systems() -> dict[str, dict[str, str]]:
    """Return code system URL → {code: display}: the systems that FHIR R4 publishes completely, with what later editions of HL7 Terminology added."""
    systems: dict[str, dict[str, str]] = _read("codes")["systems"]
    for url, added in later_codes().items():
        systems[url] = added | systems.get(url, {})
    return systems


@lru_cache(maxsize=1)
def later_codes() -> dict[str, dict[str, str]]:
    """Return code system URL → {code: display} of what HL7 Terminology says otherwise than, or beyond, FHIR R4."""
    systems: dict[str, dict[str, str]] = _read("terminology")["systems"]
    return systems


@lru_cache(maxsize=1)
def terminology_edition() -> str:
    """Return which edition of HL7 Terminology the code systems are from, and its day."""
    return f"HL7 Terminology {_read('terminology')['edition']}"


def grows(system: str) -> bool:
    """Return whether a code system has editions of its own, so that a code that the tables lack may have been published since."""
    return not system.startswith(OWN_SYSTEMS)


@lru_cache(maxsize=1)
def listed_sets() -> dict[str, dict[str, list[str] | None]]:
    """Return value set URL → {system: codes, or None for all of a system in `code_systems`}: R4's value sets that no required binding of R4 names."""
    sets: dict[str, dict[str, list[str] | None]] = _read("valuesets")["sets"]
    return sets


@lru_cache(maxsize=1)
def own_profiles() -> dict[str, dict[str, Any]]:
    """Return the profiles that FHIR R4 itself publishes, as slim StructureDefinitions by URL."""
    profiles: dict[str, dict[str, Any]] = _read("profiles")["profiles"]
    return profiles


@lru_cache(maxsize=1)
def definitions() -> Definitions:
    """Return the R4 definitions."""
    table = _read("definitions")
    invariants, uncompiled = _invariants(table["invariants"])
    types = {name: _type(name, facts, table, invariants) for name, facts in table["types"].items()}
    resources = frozenset(name for name, one in types.items() if one.kind == "resource" and not one.abstract)
    return Definitions(
        types=types,
        resources=resources,
        primitives=frozenset(table["primitives"]),
        values=_values(table),
        extensions=table["extensions"],
        searches={url: (one[0], one[1], tuple(one[2])) for url, one in table["searches"].items()},
        bases={name: facts["base"] for name, facts in table["types"].items()},
        value_sets=frozenset("http://hl7.org/fhir/" + tail for tail in table["known"]["ValueSet"]),
        profiles=frozenset(table["profiles"]),
        uncompiled=tuple(uncompiled),
        edition=f"HL7's extensions {table['edition']}",
    )


def _values(table: dict[str, Any]) -> dict[str, dict[str, frozenset[str]] | None]:
    """Value set → system → codes: R4's, and what HL7 Terminology has added since to systems of which a set holds everything."""
    grown = table.get("grown", {})
    return {
        url: None if sets is None else {system: frozenset(codes).union(grown.get(url, {}).get(system, ())) for system, codes in sets.items()}
        for url, sets in table["values"].items()
    }


@lru_cache(maxsize=1)
def element_names() -> frozenset[str]:
    """Return the names of all members that R4 knows, of whatever type."""
    return frozenset(name for one in definitions().types.values() for name in one.fields) | {"resourceType"}


def compile_invariant(key: str, severity: str, human: str, expression: str) -> Invariant:
    """Return an invariant ready to evaluate; raise FhirPathError where its expression is not supported."""
    tree = parse(repaired(expression))
    return Invariant(key, severity, human, tree, compile_expression(tree), HOT_EXPRESSIONS.get(expression))


def _invariants(table: dict[str, list[str]]) -> tuple[dict[str, Invariant], list[str]]:
    found, uncompiled = {}, []
    for name, (severity, human, expression) in table.items():
        key = name.split("@")[0]
        if key in OWN_RULES:
            continue
        try:
            found[name] = compile_invariant(key, severity, human, expression)
            found[name].look = HOT.get(key)
        except FhirPathError:
            uncompiled.append(key)
    return found, uncompiled


def _type(name: str, facts: dict[str, Any], table: dict[str, Any], invariants: dict[str, Invariant]) -> Type:
    made = Type(name, facts["kind"], facts["abstract"], invariants=tuple(invariants[key] for key in facts["invariants"] if key in invariants))
    for short, least, most, types, more in facts["fields"]:
        choice = short.endswith("[x]")
        keys = []
        for code, targets, profiles in types:
            key = short[:-3] + code[0].upper() + code[1:] if choice else short
            keys.append(key)
            kind, type_name = _kind(code, table)
            rules = tuple(invariants[one] for one in more.get("invariants", []) if one in invariants)
            if "SimpleQuantity" in profiles:
                rules = (*rules, _simple_quantity())
            made.fields[key] = Field(key, short, type_name, most != "1", least, kind, more.get("binding"), tuple(targets), rules)
        if least:
            made.required[short] = tuple(keys)
        if choice and len(keys) > 1:
            made.choices[short] = tuple(keys)
    return made


@lru_cache(maxsize=1)
def _simple_quantity() -> Invariant:
    """What R4's profile of a Quantity without a comparator asks for; R4 names no other profile on a type."""
    return compile_invariant("sqty-1", "error", "the comparator is not used on a SimpleQuantity", "comparator.empty()")


def _kind(code: str, table: dict[str, Any]) -> tuple[str, str]:
    if code.startswith("#"):
        return "complex", code[1:]
    if code == "xhtml":
        return "xhtml", code
    if code in table["primitives"]:
        return "primitive", code
    if code in {"Resource", "DomainResource"} or table["types"].get(code, {}).get("kind") == "resource":
        return "resource", code
    return "complex", code
