"""Codings and canonical URLs: systems that are systems, codes and displays of the code systems that FHIR itself defines."""

from __future__ import annotations

import re
from typing import Any

from schemas.result import Severity
from scorers.clinical.formats.fhir.document import Document, Place
from scorers.clinical.formats.fhir.references import is_absolute
from scorers.clinical.formats.fhir.tables import code_systems, definitions

#: Code systems of the FHIR specification itself change only with FHIR; those of terminology.hl7.org have gone on since.
_OWN = "http://hl7.org/fhir/"
_SPACES = re.compile(r"\s+")
_SETTLED_MAX = 50_000
_DISPLAY: dict[str, Severity] = {"error": "major", "warning": "minor"}


def check_codings(document: Document) -> None:
    """Check every Coding and every canonical URL of a document."""
    settled, told = document.settled, set[tuple[Any, Any, Any]]()
    document.report.fired("codings", len(document.codings))
    for coding, place in document.codings:
        key = (coding.get("system"), coding.get("code"), coding.get("display"))
        try:
            if key in settled or key in told:
                continue
        except TypeError:
            continue  # A list or object where text belongs: the structure rules told it.
        if _coding(document, coding, place):
            if len(settled) > _SETTLED_MAX:
                settled.clear()
            settled.add(key)
        else:
            told.add(key)  # once per document and coding
    for frame in document.frames:
        for value, place, found in frame.canonicals:
            document.report.fired("canonicals")
            _canonical(document, value, place, found.targets, frame.container is not None and found.name == "url")
    _systems(document)


def _coding(document: Document, coding: dict[str, Any], place: Place) -> bool:
    """Check one Coding; return whether there was nothing to say."""
    system, code, display = coding.get("system"), coding.get("code"), coding.get("display")
    if not isinstance(system, str):
        return True
    if not is_absolute(system):
        if not system.startswith("#"):
            document.say("major", "fhir.codings.system", (place, "system", None), "the system of a Coding must be an absolute URI")
        return False
    if system in definitions().value_sets or system.startswith(_OWN + "ValueSet/"):
        document.say("major", "fhir.codings.value-set", (place, "system", None), "this is the URL of a value set, not of a code system")
        return False
    known = code_systems().get(system)
    if known is None or not isinstance(code, str):
        return True
    if code not in known:
        if any(code.lower() == one.lower() for one in known):
            document.say("minor", "fhir.codings.case", (place, "code", None), "the code system writes this code with other capitals")
            return False
        own = system.startswith(_OWN)
        told = "the code system has no such code" if own else "the code system has no such code in the edition of R4"
        document.say("major" if own else "minor", "fhir.codings.unknown", (place, "code", None), told, value=code)
        return False
    return _display(document, display, known[code], place)


def _display(document: Document, display: Any, wanted: str, place: Place) -> bool:
    if not isinstance(display, str) or not wanted or _fold(display) == _fold(wanted):
        return True
    level = _DISPLAY.get(document.options.displays)
    if level is None:
        return False
    document.say(level, "fhir.codings.display", (place, "display", None), "the display differs from the code system's", suggestion=f"Use {wanted[:100]!r}")
    return False


def _fold(text: str) -> str:
    return _SPACES.sub(" ", text).strip().casefold()


def _canonical(document: Document, value: str, place: Place, targets: tuple[str, ...], own: bool) -> None:
    if value.startswith("#"):
        return
    if not is_absolute(value):
        document.say("major", "fhir.canonicals.relative", place, "a canonical URL must be absolute, or a fragment that names a contained resource")
        return
    bare = value.split("|", maxsplit=1)[0]
    table = definitions()
    actual = (
        "ValueSet" if bare in table.value_sets else "SearchParameter" if bare in table.searches else "StructureDefinition" if bare in table.profiles else None
    )
    if actual is not None and targets and actual not in targets and "Resource" not in targets and not own:
        document.say("major", "fhir.canonicals.type", place, f"this is the canonical URL of a {actual}; allowed: {', '.join(targets[:8])}")


def _systems(document: Document) -> None:
    """Systems of value set includes must be absolute (a contained code system is named by its full URL)."""
    for frame in document.frames:
        if frame.type != "ValueSet":
            continue
        compose = frame.resource.get("compose")
        for part in ("include", "exclude"):
            parts = compose.get(part) if isinstance(compose, dict) else None
            for index, one in enumerate(parts if isinstance(parts, list) else []):
                system = one.get("system") if isinstance(one, dict) else None
                if isinstance(system, str) and not is_absolute(system):
                    document.say("major", "fhir.codings.system", (((frame.place, "compose", None), part, index), "system", None), "must be an absolute URI")
