"""Extensions against their definitions: known, allowed in this place, of an allowed type (R4: extensibility.html)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.formats.fhir.bindings import binding_to
from touchstone.scorers.clinical.formats.fhir.cross_version_extensions import cross_version
from touchstone.scorers.clinical.formats.fhir.document import Document, Frame, Place
from touchstone.scorers.clinical.formats.fhir.extension_contexts import by_values, in_context
from touchstone.scorers.clinical.formats.fhir.references import is_absolute
from touchstone.scorers.clinical.formats.fhir.tables import definitions

#: Namespaces in which anything goes: examples, the tooling's own extensions, and elements of other FHIR versions.
_OPEN = re.compile(r"https?://(www\.)?(example\.(org|com)|acme\.com)/|http://hl7\.org/fhir/(tools/|[1-6]\.0/StructureDefinition/extension-)")
#: Where HL7 publishes its own extensions for all: the table holds them.
_PUBLISHED = re.compile(r"http://hl7\.org/fhir/StructureDefinition/[^/]+")


def check_extensions(document: Document, installed: Callable[[str], dict[str, Any] | None]) -> None:
    """Check every extension of a document. `installed`: what the packages on this machine say of an extension, by URL."""
    told: set[tuple[Any, ...]] = set()
    for value, place, frame in document.extensions:
        document.report.fired("extensions")
        url = value.get("url")
        if not isinstance(url, str) or not url:
            continue
        names = _names(place, frame)
        key = (url, frame.type, names, *value)
        if key in told:
            continue
        if not _check(document, value, url, place, frame, names, installed):
            told.add(key)


def _names(place: Place, frame: Frame) -> tuple[str, ...]:
    """The keys from a resource down to an extension, without indices."""
    names: list[str] = []
    at: Place | None = place
    while at is not None and at is not frame.place:
        names.append(at[1])
        at = at[0]
    return tuple(reversed(names))


def _check(
    document: Document,
    value: dict[str, Any],
    url: str,
    place: Place,
    frame: Frame,
    names: tuple[str, ...],
    installed: Callable[[str], dict[str, Any] | None],
) -> bool:
    """Check one extension; return whether another one like it must be checked, too: something was said, or it depends on values."""
    nested = len(names) > 1 and names[-2] in {"extension", "modifierExtension"}
    if not is_absolute(url):
        if not nested:
            document.say("major", "fhir.extensions.url", place, "the url of an extension must be absolute")
            return True
        return False
    bare = url.partition("|")[0]
    if bare != url and (bare in definitions().extensions or installed(bare) is not None or document.options.extensions == "known"):
        document.say("major", "fhir.extensions.url", place, "the url of an extension must not hold a version")
        return True
    known = definitions().extensions.get(url) or installed(url)
    if known is None:
        problem, known = cross_version(url)
        if problem is not None:
            document.say("major", "fhir.extensions.cross-version", place, problem)
            return True
    if known is None:
        return _unknown(document, url, place)
    return _defined(document, value, known, place, frame, names)


def _unknown(document: Document, url: str, place: Place) -> bool:
    if _OPEN.match(url):
        return False
    if document.options.extensions == "known":
        document.say("major", "fhir.extensions.unknown", place, "no definition of this extension is at hand", value=url)
        return True
    if _PUBLISHED.fullmatch(url):
        message = f"HL7 published no extension of this name for R4 as of {definitions().edition}; a later edition may have it"
        document.say("minor", "fhir.extensions.unknown", place, message, value=url)
        return True
    document.skip("extensions without a definition", "their definitions are not at hand")
    return False


#: What is wrong with an extension: code, place, words.
_Problem = tuple[str, Place, str]


def _defined(document: Document, value: dict[str, Any], known: dict[str, Any], place: Place, frame: Frame, names: tuple[str, ...]) -> bool:
    problems = list(_problems(document, value, known, place, frame, names))
    if problems:
        grave = _grave(document, value, known, place, frame, names)
        for code, at, message in problems:
            if grave is None or code in grave:
                document.say("major", code, at, message)
            else:
                document.say("minor", code, at, f"{message} (as of {definitions().edition}; a later edition may allow it)")
    for part, value_set in known.get("bindings", {}).items():
        level: Severity = "minor" if _is_newer(known, part) else "major"
        for holder, at in _valued(value, place, part):
            _bound(document, holder, value_set, at, level)
    # With codes to look up and parts to count, names alone do not say that the next one is as good.
    return bool(problems) or by_values(known) or bool(known.get("bindings")) or bool(known["parts"])


def _grave(document: Document, value: dict[str, Any], known: dict[str, Any], place: Place, frame: Frame, names: tuple[str, ...]) -> set[str] | None:
    """The codes of what R4 itself forbids of an extension; None for all, where its definition is a package's or is R4's own.

    HL7 publishes its extensions in editions of their own, which allow more places, parts and types each time: only what R4, which is final, forbids
    too is surely a fault.
    """
    r4 = known.get("r4", True)
    if r4 is True:
        return None
    return set() if r4 is False else {code for code, _, _ in _problems(document, value, r4, place, frame, names)}


def _is_newer(known: dict[str, Any], part: str) -> bool:
    """Whether R4 itself does not bind the value of an extension, or of a part of it."""
    r4 = known.get("r4", True)
    return r4 is False or (r4 is not True and part not in r4.get("bindings", {}))


def _problems(document: Document, value: dict[str, Any], known: dict[str, Any], place: Place, frame: Frame, names: tuple[str, ...]) -> Iterator[_Problem]:
    """What is wrong with an extension by one definition of it."""
    if known["modifier"] != (names[-1] == "modifierExtension"):
        kind = "modifierExtension" if known["modifier"] else "extension"
        yield "fhir.extensions.modifier", place, f"this extension must be used as {kind}"
    held = next((key for key in value if key.startswith("value")), None)
    if held is not None and known["values"] is not None and (not known["values"] or not any(held[5:].lower() == one.lower() for one in known["values"])):
        allowed = ", ".join(known["values"][:8]) or "none, only extensions"
        yield "fhir.extensions.type", place, f"this extension does not hold a value of this type; allowed: {allowed}"
    if strange := _strange(value.get("extension"), known.get("elements", ())):
        yield "fhir.extensions.part", place, f"the element has no such part; it has: {', '.join(strange)}"
    if known["parts"]:
        # What a package defines is held to its definition as a profile, which counts its slices.
        yield from _parts(value.get("extension"), known["parts"], place, counted=value.get("url") in definitions().extensions)
    if not in_context(known, place, frame, names, document):
        allowed = ", ".join(one for _, one in known["contexts"][:6])
        yield "fhir.extensions.context", place, f"this extension is not allowed here; allowed on: {allowed}"


def _strange(inner: Any, elements: Sequence[str]) -> Sequence[str]:
    """The parts that an element of another version has, where one that it does not have stands in its extension."""
    names = {one.get("url") for one in inner if isinstance(one, dict)} if isinstance(inner, list) else set()
    return elements[:12] if any(isinstance(name, str) and not is_absolute(name) and name not in elements for name in names) and elements else ()


def _valued(value: dict[str, Any], place: Place, part: str) -> Iterator[tuple[dict[str, Any], Place]]:
    """An extension, or its parts of a name."""
    if not part:
        yield value, place
        return
    inner = value.get("extension")
    for index, one in enumerate(inner if isinstance(inner, list) else ()):
        if isinstance(one, dict) and one.get("url") == part:
            yield one, (place, "extension", index)


def _bound(document: Document, holder: dict[str, Any], value_set: str, place: Place, level: Severity) -> None:
    """The code of a value must be from the value set of the definition."""
    for key, value in holder.items():
        at: Place = (place, key, None)
        if key == "valueCode" and isinstance(value, str):
            binding_to(value_set, bare=True, severity=level).check_code(document, value, at)
        elif key in {"valueCoding", "valueCodeableConcept"} and isinstance(value, dict):
            binding_to(value_set, bare=False, severity=level).check(document, value, at)


def _parts(inner: Any, known: dict[str, Any], place: Place, *, counted: bool) -> Iterator[_Problem]:
    """The parts of a complex extension: which there are, how many where that is `counted` here, and the types of their values."""
    counts = dict.fromkeys(known, 0)
    for index, part in enumerate(inner if isinstance(inner, list) else ()):
        name = part.get("url") if isinstance(part, dict) else None
        if not isinstance(name, str) or is_absolute(name):
            continue
        at: Place = (place, "extension", index)
        if name not in known:
            yield "fhir.extensions.part", place, "the definition of this extension has no such part"
            continue
        counts[name] += 1
        held = next((key for key in part if key.startswith("value")), None)
        types = known[name][2]
        if held is not None and types and not any(held[5:].lower() == one.lower() for one in types):
            yield "fhir.extensions.type", at, f"this part does not hold a value of this type; allowed: {', '.join(types[:8])}"
    for name, count in counts.items() if counted else ():
        least, most = known[name][:2]
        if count < least or (most != "*" and count > int(most)):
            yield "fhir.extensions.part-count", place, f"the definition of this extension allows {least} to {most} of one part; found {count}"
