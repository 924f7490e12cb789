"""Displays that HL7's packages state for codes of CVX, RxNorm, ISO 3166 and a few systems of HL7's own that C-CDA names by OID.

SNOMED CT and the provider taxonomy are left out, because their licences do not allow it; LOINC's documents, because their names changed over the years.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from touchstone.ops.lab.build.tables.clinical.value_sets import read_package

#: Systems whose displays are in the packages' value sets.
_STATED: Final = ("http://hl7.org/fhir/sid/cvx", "http://www.nlm.nih.gov/research/umls/rxnorm", "urn:iso:std:iso:3166")
#: Code systems of the core package, with the OID by which C-CDA names them.
_WHOLE: Final = {
    "CodeSystem-v3-AdministrativeGender": "2.16.840.1.113883.5.1",
    "CodeSystem-v3-MaritalStatus": "2.16.840.1.113883.5.2",
    "CodeSystem-v3-ObservationInterpretation": "2.16.840.1.113883.5.83",
    "CodeSystem-v3-RouteOfAdministration": "2.16.840.1.113883.5.112",
}
#: System → the only codes of it that are kept.
_CLASSES: Final = ("CodeSystem-v3-ActCode", "2.16.840.1.113883.5.4", frozenset({"AMB", "EMER", "FLD", "HH", "IMP", "ACUTE", "NONAC", "OBSENC", "SS", "VR"}))
_RACES: Final = ("ValueSet-omb-race-category", "ValueSet-omb-ethnicity-category")
_RACE: Final = "2.16.840.1.113883.6.238"


def compile_displays(core: Path, us_core: Path) -> bytes:
    """The table's file from the packages hl7.fhir.r4.core 4.0.1 and hl7.fhir.us.core 3.1.1: URL or OID of a system → code → displays."""
    resources, profiles = read_package(core), read_package(us_core)
    found: dict[str, dict[str, list[str]]] = {}
    for package in (resources, profiles):
        for name in sorted(package):
            if name.startswith("ValueSet-"):
                for system, concept in _enumerated(package[name]):
                    if system in _STATED:
                        _add(found, system, concept)
    for name, oid in _WHOLE.items():
        for concept in _flat(resources[name]["concept"]):
            _add(found, oid, concept)
    name, oid, wanted = _CLASSES
    for concept in _flat(resources[name]["concept"]):
        if concept["code"] in wanted:
            _add(found, oid, concept)
    for name in _RACES:
        for system, concept in _enumerated(profiles[name]):
            if system.endswith(_RACE):
                _add(found, _RACE, concept)
    note = "HL7 FHIR R4 4.0.1 and US Core 3.1.1; NOTICE.md"
    text = json.dumps({"notice": note, "systems": found}, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    return lzma.compress(text.encode(), preset=9)


def _enumerated(value_set: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for include in value_set.get("compose", {}).get("include", ()):
        for concept in include.get("concept", ()):
            yield include.get("system", ""), concept


def _flat(concepts: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for concept in concepts:
        yield concept
        yield from _flat(concept.get("concept", ()))


def _add(found: dict[str, dict[str, list[str]]], system: str, concept: dict[str, Any]) -> None:
    displays = found.setdefault(system, {}).setdefault(concept["code"], [])
    for text in (concept.get("display"), *(one.get("value") for one in concept.get("designation", ()))):
        if text and text not in displays:
            displays.append(text)
