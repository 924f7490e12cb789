"""The compiled FHIR R4 definitions, read once: types, fields, invariants, value sets, code systems, extensions.

`python -m touchstone.ops.lab build tables fhir` writes the tables from hl7.fhir.r4.core 4.0.1, hl7.fhir.uv.extensions.r4 and hl7.terminology.r4
(HL7, CC0-1.0). R4 itself is final. The other two have editions: what a later one may define differently never makes a document invalid.
"""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from touchstone.scorers.clinical.formats.fhir.fhirpath import Environment, FhirPathError, Node, Undecided, compile_expression, corrected, parse, truth
from touchstone.scorers.clinical.formats.fhir.fhirpath.environment import Compiled
from touchstone.scorers.clinical.formats.fhir.invariant_shortcuts import SHORTCUTS, SHORTCUTS_BY_EXPRESSION, Shortcut

FOLDER = Path(__file__).parent / "tables"
#: Code systems of the FHIR specification itself change only with FHIR.
OWN_SYSTEMS = "http://hl7.org/fhir/"
#: Invariants that need the whole document and have code of their own.
OWN_RULES = frozenset({"dom-2", "dom-3", "dom-4", "dom-5", "dom-6", "ref-1", "txt-1", "txt-2", "bdl-1", "bdl-7"})


@dataclass(slots=True)
class Invariant:
    """One invariant: key, severity (error or warning), message, and compiled expression. `shortcut`: recognises common cases in which it holds."""

    key: str
    severity: str
    human: str
    tree: Node
    run: Compiled
    shortcut: Shortcut | None = None

    def holds(self, item: Any, environment: Environment) -> bool | None:
        """Return True or False; None if the document alone does not decide it."""
        try:
            return truth(self.run(item, environment))
        except (Undecided, FhirPathError, RecursionError):
            return None
        except (TypeError, ValueError, OverflowError, AttributeError, IndexError, ZeroDivisionError):
            return None  # Values of a wrong type: the structure rules report them.


@dataclass(slots=True)
class Field:
    """One property that JSON may have: `name` is its key, `element` the element (value[x] for valueString). `kind`: primitive, complex, resource or xhtml."""

    name: str
    element: str
    type: str
    many: bool
    least: int
    kind: str
    binding: str | None = None
    targets: tuple[str, ...] = ()
    invariants: tuple[Invariant, ...] = ()


@dataclass(slots=True)
class Type:
    """One type or backbone element. `required`: element → keys of which one must be present; `choices`: element → keys of which only one may be."""

    name: str
    kind: str
    abstract: bool
    fields: dict[str, Field] = field(default_factory=dict)
    required: dict[str, tuple[str, ...]] = field(default_factory=dict)
    choices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    invariants: tuple[Invariant, ...] = ()


@dataclass(frozen=True, slots=True)
class Definitions:
    """The definitions table."""

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
    """Return code system URL → {code: display}: the systems that FHIR R4 publishes completely, with codes that later editions of HL7 Terminology added."""
    systems: dict[str, dict[str, str]] = _read("codes")["systems"]
    for url, added in later_codes().items():
        systems[url] = added | systems.get(url, {})
    return systems


@lru_cache(maxsize=1)
def later_codes() -> dict[str, dict[str, str]]:
    """Return code system URL → {code: display}: what HL7 Terminology added to FHIR R4, or changed."""
    systems: dict[str, dict[str, str]] = _read("terminology")["systems"]
    return systems


@lru_cache(maxsize=1)
def terminology_edition() -> str:
    """Return the edition of HL7 Terminology in the tables, with its date."""
    return f"HL7 Terminology {_read('terminology')['edition']}"


def grows(system: str) -> bool:
    """Return True if a code system has editions of its own, so that a code may have been published after the tables were made."""
    return not system.startswith(OWN_SYSTEMS)


@lru_cache(maxsize=1)
def listed_sets() -> dict[str, dict[str, Any]]:
    """Return value set URL → {system: codes}: value sets of R4 and of HL7's extensions that no required binding of R4 names.

    `codes`: a list, None for all of a system, or {"grows": list}, to which a later edition may have added.
    """
    sets: dict[str, dict[str, Any]] = _read("valuesets")["sets"]
    return sets


@lru_cache(maxsize=1)
def composed_sets() -> dict[str, dict[str, Any]]:
    """Return value set URL → a ValueSet with no more than its compose: those of R4 that no list states. `withheld` in an include: codes that may not ship."""
    sets: dict[str, dict[str, Any]] = _read("valuesets")["composed"]
    return sets


@lru_cache(maxsize=1)
def hierarchy() -> dict[str, dict[str, list[str]]]:
    """Return code system URL → code → the codes right above it."""
    systems: dict[str, dict[str, list[str]]] = _read("hierarchy")["systems"]
    return systems


@lru_cache(maxsize=1)
def own_profiles() -> dict[str, dict[str, Any]]:
    """Return URL → slim StructureDefinition of the profiles that FHIR R4 itself publishes."""
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
    """Value set → system → codes: R4's, and codes that HL7 Terminology has added to systems that a set includes completely."""
    grown = table.get("grown", {})
    return {
        url: None if sets is None else {system: frozenset(codes).union(grown.get(url, {}).get(system, ())) for system, codes in sets.items()}
        for url, sets in table["values"].items()
    }


@lru_cache(maxsize=1)
def element_names() -> frozenset[str]:
    """Return the names of all members in R4, of all types."""
    return frozenset(name for one in definitions().types.values() for name in one.fields) | {"resourceType"}


def compile_invariant(key: str, severity: str, human: str, expression: str) -> Invariant:
    """Return an invariant ready to evaluate; raise FhirPathError where its expression is not supported."""
    tree = parse(corrected(expression))
    return Invariant(key, severity, human, tree, compile_expression(tree), SHORTCUTS_BY_EXPRESSION.get(expression))


def _invariants(table: dict[str, list[str]]) -> tuple[dict[str, Invariant], list[str]]:
    found, uncompiled = {}, []
    for name, (severity, human, expression) in table.items():
        key = name.split("@")[0]
        if key in OWN_RULES:
            continue
        try:
            found[name] = compile_invariant(key, severity, human, expression)
            found[name].shortcut = SHORTCUTS.get(key)
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
    """The rule of R4's SimpleQuantity, the only profile that R4 names on a type."""
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
