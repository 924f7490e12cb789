"""Value sets from packages and the R4 tables: a code is a member, is not, or it is unknown."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from touchstone.scorers.clinical.checks import registries
from touchstone.scorers.clinical.checks.json_access import Json, objects
from touchstone.scorers.clinical.formats.fhir.profiles.filtered_codes import Systems, filtered
from touchstone.scorers.clinical.formats.fhir.profiles.members import Codes, Growing, Members, Rule
from touchstone.scorers.clinical.formats.fhir.profiles.packages import KEPT_MAX, URL_CHARS_MAX, Packages
from touchstone.scorers.clinical.formats.fhir.tables import code_systems, composed_sets, definitions, grows, listed_sets
from touchstone.scorers.clinical.formats.memory import Memory

#: Value sets inside value sets.
DEPTH_MAX = 8


class ValueSets:
    """Expands value sets as far as the packages and tables allow."""

    def __init__(self, packages: Packages) -> None:
        self._packages = packages
        self._expanded = Memory(lambda canonical: self._expand(canonical, 0), KEPT_MAX, URL_CHARS_MAX)
        self._systems = Systems(lambda url: self._packages.find("CodeSystem", url))

    def holds(self, canonical: str, system: str | None, code: str) -> bool | None:
        """Return True if a code is in a value set, None if unknown. `system` is None for an element that has a code only."""
        return self._expanded[canonical].holds(system, code)

    def holds_in(self, definition: Json, system: str | None, code: str) -> bool | None:
        """Return True if a code is in a value set of the document itself, None if unknown."""
        return self._compose(definition, 0).holds(system, code)

    def members(self, canonical: str) -> Members:
        """Return what is known of a value set."""
        return self._expanded[canonical]

    def _expand(self, canonical: str, depth: int) -> Members:
        url = canonical.partition("|")[0]
        known = definitions().values.get(url)
        if known is not None:
            return Members({system: set(codes) for system, codes in known.items()})
        listed = listed_sets().get(url)
        if listed is not None:
            return Members({system: self._listed(system, codes) for system, codes in listed.items()})
        if depth > DEPTH_MAX:
            return Members(lacking={"": f"value sets that are nested more than {DEPTH_MAX} deep"})
        definition = self._packages.find("ValueSet", canonical) or composed_sets().get(url)
        return Members(lacking={"": f"{url} is in no package at hand"}) if definition is None else self._compose(definition, depth)

    def _listed(self, system: str, codes: Any) -> Codes:
        if isinstance(codes, dict):
            return Growing(codes["grows"])
        return self._whole(system) if codes is None else set(codes)

    def _compose(self, definition: Json, depth: int) -> Members:
        compose = definition.get("compose")
        if not isinstance(compose, dict):
            return _expansion(definition) or Members(lacking={"": "the value set states no content"})
        members, excluded = Members(), Members()
        for one in objects(compose.get("include")):
            members.add(self._include(one, depth))
        for one in objects(compose.get("exclude")):
            excluded.add(self._include(one, depth))
        if compose.get("exclude"):
            members.excluded = excluded
        return (_expansion(definition) or members) if any(one.lacking for one in members.parts()) else members

    def _include(self, include: Json, depth: int) -> Members:
        """The members of one include: those of its value sets, and of its system, where both are given."""
        system, others = include.get("system"), include.get("valueSet")
        parts = [self._expand(str(one), depth + 1) for one in others] if isinstance(others, list) else []
        if isinstance(system, str):
            parts.append(self._part(include, system))
        if not parts:
            return Members(lacking={"": "an include names neither a code system nor a value set"})
        # All conditions of an include hold at once (R4, valueset.html#compositions).
        return parts[0] if len(parts) == 1 else Members(both=tuple(parts))

    def _part(self, include: Json, system: str) -> Members:
        concepts = include.get("concept")
        if isinstance(concepts, list):
            return Members({system: {one["code"] for one in concepts if isinstance(one, dict) and isinstance(one.get("code"), str)}})
        if "withheld" in include:
            return Members(lacking={system: "the licence of its codes does not let the tables list them"})
        filters = list(objects(include.get("filter")))
        if not filters:
            return Members({system: self._whole(system)})
        codes = filtered(system, filters, self._systems)
        return Members({system: codes}) if codes is not None else Members(lacking={system: f"its content, for the filter by {filters[0].get('property')}"})

    def _whole(self, system: str) -> Codes:
        if registries.is_decided(system):
            return Rule(lambda code: registries.holds(system, code))
        known = code_systems().get(system)
        if known is not None:
            return Growing(known) if grows(system) else set(known)
        definition = self._packages.find("CodeSystem", system)
        codes = system_facts(definition)[0] if definition is not None else None
        if codes is not None and not isinstance(codes, CaseInsensitive):
            return set(codes)
        return None  # every code of the system, known or not


@lru_cache(maxsize=1)
def shipped() -> ValueSets:
    """The value sets that the tables alone decide."""
    return ValueSets(Packages(()))


class CaseInsensitive(frozenset[str]):
    """Codes of a system that ignores case, held in lower case."""

    __slots__ = ()

    def __contains__(self, code: object) -> bool:
        return super().__contains__(code.casefold() if isinstance(code, str) else code)


def _concepts(definition: Json) -> Iterator[Json]:
    waiting = [definition]
    while waiting:
        for concept in objects(waiting.pop().get("concept")):
            yield concept
            waiting.append(concept)


def system_facts(definition: Json) -> tuple[frozenset[str] | None, bool]:
    """Return the codes of a CodeSystem, None if it does not hold all of them, and whether it is a supplement."""
    if "supplements" in definition or definition.get("content") == "supplement":
        return None, True
    if definition.get("content") != "complete" or definition.get("compositional") is True:
        return None, False
    codes = {str(concept.get("code")) for concept in _concepts(definition)}
    return (CaseInsensitive(one.casefold() for one in codes) if definition.get("caseSensitive") is False else frozenset(codes)), False


def system_displays(definition: Json) -> dict[str, tuple[str, ...]]:
    """Return code → display and designations of a CodeSystem, for codes with a display."""
    found: dict[str, tuple[str, ...]] = {}
    for concept in _concepts(definition):
        code, display = concept.get("code"), concept.get("display")
        if isinstance(code, str) and isinstance(display, str):
            others = (one.get("value") for one in objects(concept.get("designation")))
            found[code] = (display, *(one for one in others if isinstance(one, str)))
    return found


def _expansion(definition: Json) -> Members | None:
    """A published expansion, unless it is only a part."""
    expansion = definition.get("expansion")
    if not isinstance(expansion, dict) or not isinstance(expansion.get("contains"), list):
        return None
    systems: dict[str, set[str]] = {}
    waiting: list[Any] = list(expansion["contains"])
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting.extend(objects(one.get("contains")))
            codes = systems.setdefault(str(one.get("system")), set())
            if isinstance(one.get("code"), str):
                codes.add(one["code"])
    total = expansion.get("total")
    is_whole = total is None or sum(map(len, systems.values())) >= total
    return Members(dict(systems)) if is_whole else None
