"""Codings and canonical URLs: systems that are systems, codes and displays of the code systems that FHIR itself defines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.checks.displays import is_of_another_code, plain
from touchstone.scorers.clinical.checks.languages import SYSTEM as LANGUAGES
from touchstone.scorers.clinical.checks.languages import language_problem
from touchstone.scorers.clinical.formats.fhir.concept_maps import Membership, Systems, check_maps
from touchstone.scorers.clinical.formats.fhir.document import Document, Place
from touchstone.scorers.clinical.formats.fhir.profiles.value_sets import system_displays, system_facts
from touchstone.scorers.clinical.formats.fhir.references import is_absolute, relative_type
from touchstone.scorers.clinical.formats.fhir.tables import OWN_SYSTEMS, code_systems, definitions, grows, later_codes, terminology_edition

_UCUM = "http://unitsofmeasure.org"
#: Codings that are kept as settled, and the characters of one: they outlive their document.
_SETTLED_MAX = 50_000
_SETTLED_CHARS_MAX = 300
_DISPLAY: dict[str, Severity] = {"error": "major", "warning": "minor"}
#: URL of a code system → code → its display and designations; None where nothing is known of it.
Displays = Callable[[str], Mapping[str, tuple[str, ...]] | None]


def check_codings(document: Document, installed: Systems, member: Membership, displays: Displays = lambda _: None) -> None:
    """Check every Coding and every canonical URL of a document.

    `installed`: code systems of the packages on this machine; `member`: their value sets; `displays`: their displays.
    """
    defined, texts = _defined_here(document, installed), _texts_here(document, displays)
    languages = _foreign(document)
    settled, told = document.settled, set[tuple[Any, Any, Any]]()
    undefined: set[Any] = set()
    document.report.fired("codings", len(document.codings))
    for coding, place in document.codings:
        key = (coding.get("system"), coding.get("code"), coding.get("display"))
        try:
            if key in settled:
                if key[0] in undefined:
                    continue
                if defined(key[0]) is None:
                    undefined.add(key[0])
                    continue
            if key in told:
                continue
        except TypeError:
            continue  # A list or object where text belongs: the structure rules reported it.
        if _coding(document, coding, place, defined, texts, is_foreign=bool(languages) and _language(place, languages)):
            if sum(len(part) for part in key if isinstance(part, str)) > _SETTLED_CHARS_MAX:
                continue
            if len(settled) > _SETTLED_MAX:
                settled.clear()
            settled.add(key)
        else:
            told.add(key)  # once per document and coding
    for frame in document.frames:
        for value, place, found in frame.canonicals:
            document.report.fired("canonicals")
            if value.startswith("#") and len(value) > 1 and value[1:] not in {inner.text("id") for inner in frame.root.contained}:
                document.say("major", "fhir.canonicals.fragment", place, "no contained resource has this id")
            _canonical(document, value, place, found.targets, frame.container is not None and found.name == "url")
    _systems(document)
    check_maps(document, defined, member)


def _defined_here(document: Document, installed: Systems) -> Systems:
    """Code systems of the document itself, else of the packages."""
    own = {frame.text("url"): system_facts(frame.resource) for frame in document.frames if frame.type == "CodeSystem" and frame.text("url")}

    def defined(url: Any) -> tuple[frozenset[str] | None, bool] | None:
        return (own.get(url) or installed(url)) if isinstance(url, str) else None

    return defined


def _texts_here(document: Document, displays: Displays) -> Displays:
    """Displays of the code systems of the document itself, else of the packages."""
    own = {frame.text("url"): system_displays(frame.resource) for frame in document.frames if frame.type == "CodeSystem" and frame.text("url")}
    return lambda url: own.get(url) or displays(url)


def _foreign(document: Document) -> dict[int, bool]:
    """Places of resources (by identity) → whether they are in another language than English; empty where none is."""
    tags = {id(frame.place): frame.text("language").lower() for frame in document.frames}
    foreign = {place: not tag.startswith("en") for place, tag in tags.items() if tag}
    return foreign if any(foreign.values()) else {}


def _language(place: Place | None, languages: dict[int, bool]) -> bool:
    """Whether what stands at a place is in another language: by the innermost resource that states one."""
    while place is not None:
        if (foreign := languages.get(id(place))) is not None:
            return foreign
        place = place[0]
    return False


@cache
def _small(system: str) -> frozenset[str]:
    """The codes of one of the tables' code systems in small letters."""
    return frozenset(code.lower() for code in code_systems()[system])


def _coding(document: Document, coding: dict[str, Any], place: Place, defined: Systems, texts: Displays, *, is_foreign: bool) -> bool:
    """Check one Coding; return whether there was nothing to say, of whatever document. `is_foreign`: it stands in text of another language than English."""
    system, code, display = coding.get("system"), coding.get("code"), coding.get("display")
    if not isinstance(system, str):
        return True
    if not is_absolute(system):
        if not system.startswith("#"):
            document.say("major", "fhir.codings.system", (place, "system", None), "the system of a Coding must be an absolute URI")
        return False
    if system in definitions().value_sets or system.startswith(OWN_SYSTEMS + "ValueSet/"):
        document.say("major", "fhir.codings.value-set", (place, "system", None), "this is the URL of a value set, not of a code system")
        return False
    if system == LANGUAGES and isinstance(code, str):
        problem = language_problem(code)
        if problem is not None:
            document.say(problem[0], "fhir.bindings.language", (place, "code", None), problem[1], value=code)
        return problem is None
    known = code_systems().get(system)
    if known is None:
        if is_of_another_code(system, code, display):
            return _displaced(document, display, place)
        return not _elsewhere(document, coding, place, defined, texts, is_foreign=is_foreign)
    if not isinstance(code, str):
        return True
    if code not in known:
        if code.lower() in _small(system):
            document.say("minor", "fhir.codings.case", (place, "code", None), "the code system writes this code with other capitals")
            return False
        _unknown(document, system, code, (place, "code", None))
        return False
    later = later_codes().get(system, {}).get(code)
    return _display(document, display, (known[code], later or ""), place, is_foreign=is_foreign)


def _unknown(document: Document, system: str, code: str, place: Place) -> None:
    """Report a code that the tables lack: a fault where the system changes only with FHIR, else perhaps published since."""
    if grows(system):
        message = f"the code system has no such code as of {terminology_edition()}; a later edition may have it"
        document.say("minor", "fhir.codings.unknown", place, message, value=code)
    else:
        document.say("major", "fhir.codings.unknown", place, "the code system has no such code", value=code)


def _elsewhere(document: Document, coding: dict[str, Any], place: Place, defined: Systems, texts: Displays, *, is_foreign: bool) -> bool:
    """Check a Coding of a system that a package or the document defines; return whether that is so, for the answer then belongs to this document."""
    system, code = coding["system"], coding.get("code")
    facts = defined(system)
    if facts is None:
        return False
    codes, supplement = facts
    if supplement:
        document.say("major", "fhir.codings.supplement", (place, "system", None), "this is a supplement of a code system, not a code system")
    elif codes is not None and isinstance(code, str) and code not in codes:
        document.say("major", "fhir.codings.unknown", (place, "code", None), "the code system has no such code", value=code)
    elif isinstance(code, str) and (wanted := (texts(system) or {}).get(code)):
        _display(document, coding.get("display"), wanted, place, is_foreign=is_foreign)
    return True


def _display(document: Document, display: Any, wanted: tuple[str, ...], place: Place, *, is_foreign: bool) -> bool:
    """Report a display that is none of the code's (`wanted`, the first of them its own; "" for none); return whether there was nothing to say."""
    if not isinstance(display, str) or not wanted[0] or plain(display) in {plain(one) for one in wanted}:
        return True
    level = _DISPLAY.get(document.options.displays)
    if is_foreign:
        document.skip("displays in other languages than English", "the tables have few of them")
    elif level is not None:
        document.say(
            level, "fhir.codings.display", (place, "display", None), "the display differs from the code system's", suggestion=f"Use {wanted[0][:100]!r}"
        )
    return False


def _displaced(document: Document, display: Any, place: Place) -> bool:
    """Report a display that is another code's; return False, for there was something to say."""
    level = _DISPLAY.get(document.options.displays)
    if level is not None:
        message, remedy = "the display is that of another code of this code system", "Correct whichever of code and display is not meant"
        document.say(level, "fhir.codings.display", (place, "display", None), message, suggestion=remedy, value=display)
    return False


def _canonical(document: Document, value: str, place: Place, targets: tuple[str, ...], own: bool) -> None:
    if value.startswith("#"):
        return
    if not is_absolute(value):
        # Dozens of official examples name a resource of the same server this way: reported, but not counted against the document.
        level: Severity = "minor" if relative_type(value) else "major"
        document.say(level, "fhir.canonicals.relative", place, "a canonical URL must be absolute, or a fragment that names a contained resource")
        return
    bare = value.split("|", maxsplit=1)[0]
    table = definitions()
    actual = (
        "ValueSet" if bare in table.value_sets else "SearchParameter" if bare in table.searches else "StructureDefinition" if bare in table.profiles else None
    )
    if actual is not None and targets and actual not in targets and "Resource" not in targets and not own:
        document.say("major", "fhir.canonicals.type", place, f"this is the canonical URL of a {actual}; allowed: {', '.join(targets[:8])}")


def _systems(document: Document) -> None:
    """Systems of value set includes must be absolute (a contained code system is named by its full URL), and so must those of units."""
    for kind in ("Quantity", "Age", "Duration"):
        for quantity, place, _ in document.typed.get(kind, ()):
            system = quantity.get("system")
            if isinstance(system, str) and system != _UCUM and (not is_absolute(system) or system in definitions().value_sets):
                document.say("major", "fhir.codings.system", (place, "system", None), "the system of a unit must be the absolute URI of a code system")
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
