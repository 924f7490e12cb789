"""Codings and canonical URLs: absolute systems, and codes and displays of the code systems that FHIR, a package or the document defines."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.checks import registries
from touchstone.scorers.clinical.checks.display_tables import plain
from touchstone.scorers.clinical.checks.displays import is_of_another_code
from touchstone.scorers.clinical.checks.json_access import Json, numbered
from touchstone.scorers.clinical.checks.languages import SYSTEM as LANGUAGES
from touchstone.scorers.clinical.checks.terminology import code_system
from touchstone.scorers.clinical.formats.fhir.bindings import STATUS_ELEMENTS
from touchstone.scorers.clinical.formats.fhir.concept_maps import Membership, Systems, check_maps
from touchstone.scorers.clinical.formats.fhir.document import Document, Frame, Place
from touchstone.scorers.clinical.formats.fhir.profiles.value_sets import system_displays, system_facts
from touchstone.scorers.clinical.formats.fhir.references import is_absolute, relative_type
from touchstone.scorers.clinical.formats.fhir.tables import OWN_SYSTEMS, Field, code_systems, definitions, grows, later_codes, terminology_edition

_UCUM = "http://unitsofmeasure.org"
#: Codings kept as good beyond their document, and characters of one.
_GOOD_MAX = 50_000
_GOOD_CHARS_MAX = 300
_DISPLAY: dict[str, Severity] = {"error": "major", "warning": "minor"}
_SEPARATORS = re.compile(r"[\s_-]+")
#: In the address of each table of HL7 v2, whose codes R4 does not declare to be case-sensitive.
_V2_TABLE = "/v2-"
#: URL of a code system → code → its display and designations; None if unknown.
Displays = Callable[[str], Mapping[str, tuple[str, ...]] | None]


def check_codings(document: Document, installed: Systems, member: Membership, displays: Displays = lambda _: None) -> None:
    """Check every Coding and canonical URL of a document. `installed`, `member`, `displays`: code systems, value sets and displays of packages."""
    rules = _CodingRules(document, installed, displays)
    rules.check_all()
    for frame in document.frames:
        for value, place, found in frame.canonicals:
            document.report.fired("canonicals")
            _canonical(document, frame, value, place, found)
    _systems(document)
    check_maps(document, rules.facts, member)


@cache
def _lower_case_codes(system: str) -> frozenset[str]:
    return frozenset(code.lower() for code in code_systems()[system])


@cache
def _slips(system: str) -> Mapping[str, str]:
    """Other ways to write the codes of a system, without capitals and separators → code: the code itself where capitals count, and its display.

    Whatever a later edition adds, it gives no second code such a name. Ways that mean two codes are left out.
    """
    meant: dict[str, set[str]] = {}
    for code, display in code_systems()[system].items():
        for way in {_folded(display)} if _V2_TABLE in system else {_folded(code), _folded(display)}:
            meant.setdefault(way, set()).add(code)
    return {way: codes.pop() for way, codes in meant.items() if way and len(codes) == 1}


def _folded(text: str) -> str:
    return _SEPARATORS.sub("", text.casefold())


class _CodingRules:
    def __init__(self, document: Document, installed: Systems, displays: Displays) -> None:
        self._document = document
        self._installed = installed
        self._displays = displays
        systems = [frame for frame in document.frames if frame.type == "CodeSystem" and frame.text("url")]
        self._own_facts = {frame.text("url"): system_facts(frame.resource) for frame in systems}
        self._own_displays = {frame.text("url"): system_displays(frame.resource) for frame in systems}
        tags = {id(frame.place): frame.text("language").lower() for frame in document.frames}
        #: Identity of a resource's place → True if its language is not English. Empty if all are English.
        self._foreign = {place: not tag.startswith("en") for place, tag in tags.items() if tag}
        if not any(self._foreign.values()):
            self._foreign = {}

    def facts(self, url: Any) -> tuple[frozenset[str] | None, bool] | None:
        """Return the codes of a code system and whether it is a supplement: of the document itself, else of the packages."""
        return (self._own_facts.get(url) or self._installed(url)) if isinstance(url, str) else None

    def check_all(self) -> None:
        """Check every coding; equal ones are reported once per document."""
        good, reported = self._document.good_codings, set[tuple[Any, Any, Any]]()
        undefined: set[Any] = set()
        self._document.report.fired("codings", len(self._document.codings))
        for coding, place in self._document.codings:
            key = (coding.get("system"), coding.get("code"), coding.get("display"))
            try:
                if key in good:
                    if key[0] not in undefined and self.facts(key[0]) is None:
                        undefined.add(key[0])
                    if key[0] in undefined:
                        continue
                if key in reported:
                    continue
            except TypeError:
                continue  # A list or object instead of text, which the structure rules report.
            if not self._is_good(coding, place):
                reported.add(key)
            elif sum(len(part) for part in key if isinstance(part, str)) <= _GOOD_CHARS_MAX:
                if len(good) > _GOOD_MAX:
                    good.clear()
                good.add(key)

    def _is_good(self, coding: Json, place: Place) -> bool:
        """Check one coding. Returns True if it has no findings in any document."""
        document, system, code = self._document, coding.get("system"), coding.get("code")
        if not isinstance(system, str):
            return True
        if not is_absolute(system):
            if not system.startswith("#"):
                document.add(
                    "major",
                    "fhir.codings.system",
                    (place, "system", None),
                    "the system of a Coding must be an absolute URI",
                    suggestion="Give the whole URL of the code system, such as http://loinc.org",
                )
            return False
        if system in definitions().value_sets or system.startswith(OWN_SYSTEMS + "ValueSet/"):
            document.add("major", "fhir.codings.value-set", (place, "system", None), "this is the URL of a value set, not of a code system")
            return False
        if registries.is_decided(system) and isinstance(code, str) and code_system(system) is None:
            problem = registries.problem_of(system, code)
            if problem is not None:
                rule = "fhir.bindings.language" if system == LANGUAGES else "fhir.codings.unknown"
                document.add(problem[0], rule, (place, "code", None), problem[1], value=code)
                return False
        if system not in code_systems():
            return self._is_good_elsewhere(coding, system, place)
        return not isinstance(code, str) or self._is_good_code(system, code, coding.get("display"), place)

    def _is_good_code(self, system: str, code: str, display: Any, place: Place) -> bool:
        """Check a code of a system that is in the tables."""
        codes, at = code_systems()[system], (place, "code", None)
        if code in codes:
            later = later_codes().get(system, {}).get(code)
            return self._is_good_display(display, (codes[code], later or ""), place)
        slip = _slips(system).get(_folded(code))
        if _V2_TABLE in system and code.lower() in _lower_case_codes(system):
            self._document.add("minor", "fhir.codings.case", at, "the code system writes this code with other capitals")
        elif slip:
            message = "the code system writes this code otherwise; this is its display, or has other capitals or separators"
            # The binding of such a status tells it too, and the specification rates that as minor.
            level: Severity = "minor" if place[0] is not None and place[0][1] in STATUS_ELEMENTS else "major"
            self._document.add(level, "fhir.codings.written", at, message, value=code, suggestion=f"Use {slip!r}")
        elif grows(system):
            message = f"the code system has no such code as of {terminology_edition()}; a later edition may have it"
            self._document.add("minor", "fhir.codings.unknown", at, message, value=code)
        else:
            self._document.add("major", "fhir.codings.unknown", at, "the code system has no such code", value=code)
        return False

    def _is_good_elsewhere(self, coding: Json, system: str, place: Place) -> bool:
        """Check a coding of a system that is not in the tables. False also if the document or a package defines it: the answer holds for this document only."""
        document, code, display = self._document, coding.get("code"), coding.get("display")
        if is_of_another_code(system, code, display):
            level = _DISPLAY.get(document.options.displays)
            if level is not None:
                message, remedy = "the display is that of another code of this code system", "Correct whichever of code and display is not meant"
                document.add(level, "fhir.codings.display", (place, "display", None), message, suggestion=remedy, value=display)
            return False
        facts = self.facts(system)
        if facts is None:
            return True
        codes, is_supplement = facts
        if is_supplement:
            document.add("major", "fhir.codings.supplement", (place, "system", None), "this is a supplement of a code system, not a code system")
        elif codes is not None and isinstance(code, str) and code not in codes:
            document.add("major", "fhir.codings.unknown", (place, "code", None), "the code system has no such code", value=code)
        elif isinstance(code, str) and (wanted := ((self._own_displays.get(system) or self._displays(system)) or {}).get(code)):
            self._is_good_display(display, wanted, place)
        return False

    def _is_good_display(self, display: Any, wanted: tuple[str, ...], place: Place) -> bool:
        """Check a display against those of its code. `wanted`: the code's own display first; "" if it has none."""
        if not isinstance(display, str) or not wanted[0] or plain(display) in {plain(one) for one in wanted}:
            return True
        level = _DISPLAY.get(self._document.options.displays)
        if self._is_foreign(place):
            self._document.skip("displays in other languages than English", "the tables have few of them")
        elif level is not None:
            message = "the display differs from the code system's"
            self._document.add(level, "fhir.codings.display", (place, "display", None), message, suggestion=f"Use {wanted[0][:100]!r}")
        return False

    def _is_foreign(self, place: Place | None) -> bool:
        """True if the innermost resource around a place that states a language states another than English."""
        while place is not None and self._foreign:
            if (foreign := self._foreign.get(id(place))) is not None:
                return foreign
            place = place[0]
        return False


def _canonical(document: Document, frame: Frame, value: str, place: Place, found: Field) -> None:
    if value.startswith("#"):
        inner = [one.type for one in frame.root.contained if one.text("id") == value[1:]]
        if len(value) > 1 and not inner:
            document.add("major", "fhir.canonicals.fragment", place, "no contained resource has this id")
        elif inner and found.targets and inner[0] not in found.targets and "Resource" not in found.targets:
            message = f"this names a contained {inner[0]}; allowed: {', '.join(found.targets[:8])}"
            document.add("major", "fhir.canonicals.type", place, message, suggestion=f"Name a {' or '.join(found.targets[:8])}")
        return
    if not is_absolute(value):
        # Dozens of official examples name a resource of the same server this way: reported, but not counted against the document.
        level: Severity = "minor" if relative_type(value) else "major"
        document.add(level, "fhir.canonicals.relative", place, "a canonical URL must be absolute, or a fragment that names a contained resource")
        return
    actual, is_own_url = _definition_type(value.split("|", maxsplit=1)[0]), frame.container is not None and found.name == "url"
    if actual is not None and found.targets and actual not in found.targets and "Resource" not in found.targets and not is_own_url:
        document.add("major", "fhir.canonicals.type", place, f"this is the canonical URL of a {actual}; allowed: {', '.join(found.targets[:8])}")


def _definition_type(url: str) -> str | None:
    """The type of the R4 definition with this URL; None if R4 has none."""
    table = definitions()
    if url in table.value_sets:
        return "ValueSet"
    if url in table.searches:
        return "SearchParameter"
    return "StructureDefinition" if url in table.profiles else None


def _systems(document: Document) -> None:
    """Check that the systems of units and of value set includes are absolute; a contained code system too is named by its full URL."""
    for kind in ("Quantity", "Age", "Duration"):
        for quantity, place, _ in document.typed.get(kind, ()):
            system = quantity.get("system")
            if isinstance(system, str) and system != _UCUM and (not is_absolute(system) or system in definitions().value_sets):
                document.add("major", "fhir.codings.system", (place, "system", None), "the system of a unit must be the absolute URI of a code system")
    for frame in document.frames:
        for part in ("include", "exclude") if frame.type == "ValueSet" else ():
            for index, one in numbered(frame.resource.get("compose"), part):
                if isinstance(system := one.get("system"), str) and not is_absolute(system):
                    at = ((frame.place, "compose", None), part, index)
                    document.add(
                        "major",
                        "fhir.codings.system",
                        (at, "system", None),
                        "the system of an include must be an absolute URI",
                        suggestion="Give the whole URL of the code system",
                    )
