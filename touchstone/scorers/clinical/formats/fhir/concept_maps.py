"""ConceptMaps: codes must be in the code systems and value sets that the map names (R4: conceptmap.html)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.checks.json_access import Json, numbered
from touchstone.scorers.clinical.formats.fhir.document import Document, Place
from touchstone.scorers.clinical.formats.fhir.tables import code_systems, grows, terminology_edition

#: URL of a code system → (its codes, None if its definition does not hold them all; whether it is a supplement); None if unknown.
Systems = Callable[[Any], tuple[frozenset[str] | None, bool] | None]
#: (canonical URL of a value set, system or None, code) → True if the value set has the code; None if unknown.
Membership = Callable[[str, str | None, str], bool | None]


def check_maps(document: Document, defined: Systems, member: Membership) -> None:
    """Check every ConceptMap of a document, as far as its code systems and value sets are at hand."""
    for frame in document.frames:
        if frame.type != "ConceptMap":
            continue
        sets = [frame.text(f"{end}Canonical") or frame.text(f"{end}Uri") for end in ("source", "target")]
        for index, group in numbered(frame.resource, "group"):
            place: Place = (frame.place, "group", index)
            source, target = (_End(group.get(end), value_set, defined, member) for end, value_set in zip(("source", "target"), sets, strict=True))
            for number, element in numbered(group, "element"):
                at: Place = (place, "element", number)
                source.check(document, element, at)
                for count, one in numbered(element, "target"):
                    target.check(document, one, (at, "target", count))


class _End:
    """One side of a group: its code system, and the value set that the map names for it."""

    def __init__(self, system: Any, value_set: str, defined: Systems, member: Membership) -> None:
        self._system = system if isinstance(system, str) else None
        self._value_set = value_set
        facts = defined(self._system) if self._system is not None and self._system not in code_systems() else None
        self._codes: Collection[str] | None = code_systems().get(self._system or "", facts[0] if facts is not None else None)
        self._member = member
        self._grows = self._system in code_systems() and grows(self._system or "")

    def check(self, document: Document, holder: Json, place: Place) -> None:
        code = holder.get("code")
        if not isinstance(code, str):
            return
        if self._codes is not None and code not in self._codes:
            level: Severity = "minor" if self._grows else "major"
            since = f" as of {terminology_edition()}; a later edition may have it" if self._grows else ""
            document.add(level, "fhir.codings.map", (place, "code", None), f"the code system that is mapped has no such code{since}", value=code)
        elif self._value_set and self._system is not None and self._member(self._value_set, self._system, code) is False:
            document.add("major", "fhir.codings.map", (place, "code", None), "not a code of the value set that is mapped", value=code)
