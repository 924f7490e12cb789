"""Value sets out of packages and the R4 tables: member, not a member, or not known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from touchstone.scorers.clinical.formats.fhir.profiles.packages import KEPT_MAX, URL_CHARS_MAX, Json, Packages
from touchstone.scorers.clinical.formats.fhir.tables import code_systems, definitions, grows, listed_sets
from touchstone.scorers.clinical.formats.memory import Memory

#: Value sets inside value sets.
DEPTH_MAX = 8
#: system → codes; None as codes means every code of the system.
Members = dict[str, set[str] | None]


class Growing(set[str]):
    """All codes of a system that has editions of its own: a code that is not among them may have been published since."""


class ValueSets:
    """Expands value sets as far as what is on this machine allows."""

    def __init__(self, packages: Packages) -> None:
        self._packages = packages
        self._expanded = Memory(lambda canonical: self._expand(canonical, 0), KEPT_MAX, URL_CHARS_MAX)

    def holds(self, canonical: str, system: str | None, code: str) -> bool | None:
        """Return whether a code is in a value set; None where that cannot be decided. `system` None: the element is a bare code."""
        return _among(self._expanded[canonical], system, code)

    def holds_in(self, definition: Json, system: str | None, code: str) -> bool | None:
        """Return whether a code is in a value set that came with the document."""
        return _among(self._compose(definition, 0), system, code)

    def _expand(self, canonical: str, depth: int) -> Members | None:
        known = definitions().values.get(canonical.partition("|")[0])
        if known is not None:
            return {system: set(codes) for system, codes in known.items()}
        listed = listed_sets().get(canonical.partition("|")[0])
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
            members: Members = {}
            for other in others[:1] if len(others) == 1 else ():
                inner = self._expand(str(other), depth + 1)
                if inner is None:
                    return None
                members |= inner
            return members if len(others) == 1 else None
        if isinstance(system, str) and others is None:
            return self._system(system)
        return None

    def _system(self, system: str) -> Members:
        known = code_systems().get(system)
        if known is not None:
            return {system: _whole(system, known)}
        definition = self._packages.find("CodeSystem", system)
        codes = system_facts(definition)[0] if definition is not None else None
        if codes is not None and not isinstance(codes, Folded):
            return {system: set(codes)}
        return {system: None}  # Any code of that system: whether it exists is another question.


class Folded(frozenset[str]):
    """Codes of a system that does not mind capitals; held in small letters."""

    __slots__ = ()

    def __contains__(self, code: object) -> bool:
        """Whether a code is one of them, however it is written."""
        return super().__contains__(code.casefold() if isinstance(code, str) else code)


def system_facts(definition: Json) -> tuple[frozenset[str] | None, bool]:
    """Return the codes of a CodeSystem, None where it does not hold all of them, and whether it is a supplement."""
    if "supplements" in definition or definition.get("content") == "supplement":
        return None, True
    if definition.get("content") != "complete" or definition.get("compositional") is True:
        return None, False
    codes: set[str] = set()
    waiting = [definition]
    while waiting:
        concepts = waiting.pop().get("concept")
        for concept in concepts if isinstance(concepts, list) else ():
            if isinstance(concept, dict):
                codes.add(str(concept.get("code")))
                waiting.append(concept)
    return (Folded(one.casefold() for one in codes) if definition.get("caseSensitive") is False else frozenset(codes)), False


def system_displays(definition: Json) -> dict[str, tuple[str, ...]]:
    """Return code → display and designations of a CodeSystem, for the codes that have a display."""
    found: dict[str, tuple[str, ...]] = {}
    waiting = [definition]
    while waiting:
        concepts = waiting.pop().get("concept")
        for concept in concepts if isinstance(concepts, list) else ():
            if not isinstance(concept, dict):
                continue
            waiting.append(concept)
            code, display, designations = concept.get("code"), concept.get("display"), concept.get("designation")
            if isinstance(code, str) and isinstance(display, str):
                others = (one.get("value") for one in designations if isinstance(one, dict)) if isinstance(designations, list) else ()
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
    """A published expansion, where it is not a part of one."""
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
