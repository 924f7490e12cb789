"""Filters of value sets (R4, ValueSet.compose.include.filter), over code systems whose content is at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from touchstone.scorers.clinical.checks import registries
from touchstone.scorers.clinical.checks.json_access import Json, objects
from touchstone.scorers.clinical.checks.languages import SYSTEM as LANGUAGES
from touchstone.scorers.clinical.checks.languages import read_tag
from touchstone.scorers.clinical.formats.fhir.profiles.members import Codes, Rule
from touchstone.scorers.clinical.formats.fhir.tables import code_systems, grows, hierarchy

#: The parts of a language tag that a filter may ask for.
_PARTS = {"ext-lang": "extlangs", "script": "script", "variant": "variants", "region": "region"}
_HIERARCHICAL = ("is-a", "descendent-of", "is-not-a")


class Systems:
    """The concepts of code systems, from a package or the tables, with the codes above each."""

    def __init__(self, find: Callable[[str], Json | None]) -> None:
        self._find = find
        self._read: dict[str, dict[str, Json] | None] = {}

    def concepts(self, system: str) -> dict[str, Json] | None:
        """Code → {parents, property …}; None if no list at hand is complete."""
        if system not in self._read:
            self._read[system] = self._from_tables(system) or self._from_package(system)
        return self._read[system]

    def _from_tables(self, system: str) -> dict[str, Json] | None:
        codes, above = code_systems().get(system), hierarchy().get(system, {})
        return None if codes is None else {code: {"parents": above.get(code, ())} for code in codes}

    def _from_package(self, system: str) -> dict[str, Json] | None:
        definition = self._find(system)
        if definition is None or definition.get("content") != "complete" or "supplements" in definition or definition.get("compositional") is True:
            return None
        found: dict[str, Json] = {}
        is_nested = definition.get("hierarchyMeaning") in {None, "is-a"}
        waiting: list[tuple[Json, str]] = [(one, "") for one in objects(definition.get("concept"))]
        while waiting:
            concept, parent = waiting.pop()
            code = str(concept.get("code"))
            given = {
                str(one.get("code")): next((held for name, held in one.items() if name.startswith("value")), None) for one in objects(concept.get("property"))
            }
            above = [parent, *(str(one.get("valueCode")) for one in objects(concept.get("property")) if one.get("code") in {"subsumedBy", "parent"})]
            found[code] = {"parents": [one for one in above if one], "property": given}
            waiting += [(one, code if is_nested else "") for one in objects(concept.get("concept"))]
        return found


def filtered(system: str, filters: Sequence[Json], systems: Systems) -> Codes | None:
    """Return the codes of a system that all filters let through; None if what is at hand does not decide one of them."""
    if registries.is_decided(system):
        tests = [_rule(system, one) for one in filters]
        known = [test for test in tests if test is not None]
        return None if len(known) < len(tests) else Rule(lambda code: _all([registries.holds(system, code), *(test(code) for test in known)]))
    concepts = systems.concepts(system)
    if concepts is None:
        return None
    codes = set(concepts)
    for one in filters:
        kept = _kept(one, concepts)
        if kept is None:
            return None
        codes &= kept
    is_open = system in code_systems() and grows(system)
    return Rule(lambda code: True if code in codes else False if code in concepts else None) if is_open else codes


def _all(verdicts: list[bool | None]) -> bool | None:
    return False if False in verdicts else None if None in verdicts else True


def _rule(system: str, one: Json) -> Callable[[str], bool | None] | None:
    """A test of codes that a registry decides, or None."""
    name, operation, value = one.get("property"), one.get("op"), str(one.get("value"))
    if system == LANGUAGES and operation == "exists" and name in (*_PARTS, "extension", "private-use"):
        return lambda code: _has_part(code, str(name)) is (value == "true")
    if system == registries.RACES and name == "concept" and operation in _HIERARCHICAL:
        return lambda code: _related(registries.has_race(code, value), code == value, operation)
    if system == registries.COUNTRIES and operation == "regex" and value in _LENGTHS:
        return lambda code: len(code) == _LENGTHS[value][0] and code.isdigit() is _LENGTHS[value][1]
    if system == registries.REGIONS and (name, operation, value) == ("class", "=", "region"):
        return registries.is_region
    return None


#: R4's own patterns for the codes of countries: characters, and whether they are digits.
_LENGTHS = {"[A-Z]{2}": (2, False), "[A-Z]{3}": (3, False), "[0-9]{3}": (3, True)}


def _has_part(code: str, name: str) -> bool:
    tag = read_tag(code)
    if tag is None:
        return name == "private-use"
    return bool(getattr(tag, _PARTS[name]) if name in _PARTS else tag.more)


def _related(is_below: bool | None, is_same: bool, operation: Any) -> bool | None:
    if is_below is None:
        return None
    return is_below and not is_same if operation == "descendent-of" else is_below is (operation == "is-a")


def _kept(one: Json, concepts: dict[str, Json]) -> set[str] | None:
    """The codes that a filter lets through; None if it is of a kind that is not decided."""
    name, operation, value = str(one.get("property")), one.get("op"), str(one.get("value"))
    if name in {"concept", "code"}:
        if operation in _HIERARCHICAL and value in concepts:
            below = _below(value, concepts)
            chosen = below | {value} if operation != "descendent-of" else below
            return set(concepts) - chosen if operation == "is-not-a" else chosen
        wanted = {"=": {value}, "in": set(value.split(","))}.get(str(operation))
        return None if wanted is None else wanted & set(concepts)
    # What `false` says of concepts without the property is left open.
    if (
        operation not in {"=", "in", "exists"}
        or (operation == "=" and value == "false")
        or not any(name in held.get("property", ()) for held in concepts.values())
    ):
        return None
    if operation == "exists":
        return {code for code, held in concepts.items() if (name in held["property"]) is (value == "true")}
    values = {value} if operation == "=" else set(value.split(","))
    return {code for code, held in concepts.items() if _text(held["property"].get(name)) in values}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _below(top: str, concepts: dict[str, Json]) -> set[str]:
    children: dict[str, list[str]] = {}
    for code, held in concepts.items():
        for parent in held["parents"]:
            children.setdefault(parent, []).append(code)
    found, waiting = set[str](), [top]
    while waiting:
        for code in children.get(waiting.pop(), ()):
            if code not in found:
                found.add(code)
                waiting.append(code)
    return found
