"""Value sets from packages and the R4 tables: a code is a member, is not, or it is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from touchstone.scorers.clinical.checks.json_access import Json, objects
from touchstone.scorers.clinical.formats.fhir.profiles.packages import KEPT_MAX, URL_CHARS_MAX, Packages
from touchstone.scorers.clinical.formats.fhir.tables import code_systems, definitions, grows, listed_sets
from touchstone.scorers.clinical.formats.memory import Memory

#: Value sets inside value sets.
DEPTH_MAX = 8
#: system → codes; None as codes means every code of the system.
Members = dict[str, set[str] | None]


class Growing(set[str]):
    """All codes of a system with editions of its own: other codes may have been published later."""


class ValueSets:
    """Expands value sets as far as the packages and tables allow."""

    def __init__(self, packages: Packages) -> None:
        self._packages = packages
        self._expanded = Memory(lambda canonical: self._expand(canonical, 0), KEPT_MAX, URL_CHARS_MAX)

    def holds(self, canonical: str, system: str | None, code: str) -> bool | None:
        """Return True if a code is in a value set, None if unknown. `system` is None for an element that has a code only."""
        return _among(self._expanded[canonical], system, code)

    def holds_in(self, definition: Json, system: str | None, code: str) -> bool | None:
        """Return True if a code is in a value set of the document itself, None if unknown."""
        return _among(self._compose(definition, 0), system, code)

    def _expand(self, canonical: str, depth: int) -> Members | None:
        url = canonical.partition("|")[0]
        known = definitions().values.get(url)
        if known is not None:
            return {system: set(codes) for system, codes in known.items()}
        listed = listed_sets().get(url)
        if listed is not None:
            return {system: set(codes) if codes is not None else _whole(system, code_systems().get(system, ())) for system, codes in listed.items()}
        definition = self._packages.find("ValueSet", canonical)
        if definition is None or depth > DEPTH_MAX:
            return None
        return self._compose(definition, depth)

    def _compose(self, definition: Json, depth: int) -> Members | None:
        compose = definition.get("compose")
        if not isinstance(compose, dict) or compose.get("exclude"):
            return _expansion(definition)
        members: Members = {}
        for include in compose.get("include") or ():
            part = self._include(include, depth) if isinstance(include, dict) else None
            if part is None:
                return _expansion(definition)
            for system, codes in part.items():
                held = members.get(system, set())
                members[system] = None if codes is None or held is None else _joined(held, codes)
        return members

    def _include(self, include: Json, depth: int) -> Members | None:
        if include.get("filter"):
            return None
        system, concepts = include.get("system"), include.get("concept")
        if isinstance(concepts, list) and isinstance(system, str):
            return {system: {one["code"] for one in concepts if isinstance(one, dict) and isinstance(one.get("code"), str)}}
        others = include.get("valueSet")
        if isinstance(others, list) and system is None:
            return self._expand(str(others[0]), depth + 1) if len(others) == 1 else None
        return self._system(system) if isinstance(system, str) and others is None else None

    def _system(self, system: str) -> Members:
        known = code_systems().get(system)
        if known is not None:
            return {system: _whole(system, known)}
        definition = self._packages.find("CodeSystem", system)
        codes = system_facts(definition)[0] if definition is not None else None
        if codes is not None and not isinstance(codes, CaseInsensitive):
            return {system: set(codes)}
        return {system: None}  # every code of the system, known or not


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


def _among(members: Members | None, system: str | None, code: str) -> bool | None:
    if members is None:
        return None
    asked = list(members.values()) if system is None else [members.get(system, set())]
    if any(codes is None or code in codes for codes in asked):
        return True
    return None if any(isinstance(codes, Growing) for codes in asked) else False


def _whole(system: str, codes: Iterable[str]) -> set[str]:
    return Growing(codes) if grows(system) else set(codes)


def _joined(one: set[str], other: set[str]) -> set[str]:
    return Growing(one | other) if isinstance(one, Growing) or isinstance(other, Growing) else one | other


def _expansion(definition: Json) -> Members | None:
    """A published expansion, unless it is only a part."""
    expansion = definition.get("expansion")
    if not isinstance(expansion, dict) or not isinstance(expansion.get("contains"), list):
        return None
    members: Members = {}
    waiting: list[Any] = list(expansion["contains"])
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting.extend(one.get("contains") or ())
            codes = members.setdefault(str(one.get("system")), set())
            if codes is not None and isinstance(one.get("code"), str):
                codes.add(one["code"])
    total = expansion.get("total")
    return members if total is None or sum(len(codes or ()) for codes in members.values()) >= total else None
