"""Extensions against their definitions: known, allowed at this place, with a value of an allowed type (R4: extensibility.html)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.checks.json_access import Json, numbered
from touchstone.scorers.clinical.formats.fhir.bindings import binding_to
from touchstone.scorers.clinical.formats.fhir.cross_version_extensions import cross_version
from touchstone.scorers.clinical.formats.fhir.document import HIDDEN, Document, Frame, Place, shown_name
from touchstone.scorers.clinical.formats.fhir.extension_contexts import by_values, in_context
from touchstone.scorers.clinical.formats.fhir.fhirpath.values import CHOICE_TYPES
from touchstone.scorers.clinical.formats.fhir.names import meant
from touchstone.scorers.clinical.formats.fhir.options import PER_CODE_MAX
from touchstone.scorers.clinical.formats.fhir.references import is_absolute
from touchstone.scorers.clinical.formats.fhir.tables import definitions, element_names

#: URLs that need no definition: examples, the tooling's own extensions, and elements of other FHIR versions.
_OPEN = re.compile(r"https?://(www\.)?(example\.(org|com)|acme\.com)/|http://hl7\.org/fhir/tools/")
#: URLs of the extensions that HL7 publishes; the table has all of them.
_PUBLISHED = re.compile(r"http://hl7\.org/fhir/StructureDefinition/[^/]+")
#: A fault: code, place, message.
_Problem = tuple[str, Place, str]


class _Use(NamedTuple):
    """One use of an extension. `names`: the keys from the resource down to it."""

    document: Document
    value: Json
    place: Place
    frame: Frame
    names: tuple[str, ...]

    def add(self, severity: Severity, code: str, message: str, *, value: object = None, remedy: str | None = None) -> None:
        self.document.add(severity, f"fhir.extensions.{code}", self.place, message, value=value, suggestion=remedy)


def check_extensions(document: Document, installed: Callable[[str], Json | None]) -> None:
    """Check every extension of a document. `installed`: URL → definition of an extension in the installed packages."""
    checked: set[tuple[Any, ...]] = set()
    for value, place, frame in document.extensions:
        document.report.fired("extensions")
        url = value.get("url")
        if not isinstance(url, str) or not url:
            continue
        names = tuple(name for name, _ in frame.steps_to(place))
        key = (url, frame.type, names, *value)
        if key not in checked and not _check(_Use(document, value, place, frame, names), url, installed):
            checked.add(key)


def _check(use: _Use, url: str, installed: Callable[[str], Json | None]) -> bool:
    """Check one extension. Returns True if others like it must be checked too: it has findings, or the verdict depends on values."""
    if not is_absolute(url):
        if len(use.names) > 1 and use.names[-2] in {"extension", "modifierExtension"}:
            return False
        use.add("major", "url", "the url of an extension must be absolute", remedy="Give the whole URL of its definition")
        return True
    bare = url.partition("|")[0]
    if bare != url and (bare in definitions().extensions or installed(bare) is not None or use.document.options.extensions == "known"):
        use.add("major", "url", "the url of an extension must not hold a version", remedy="Leave out | and the version")
        return True
    known = definitions().extensions.get(url) or installed(url)
    if known is None:
        problem, known = cross_version(url)
        if problem is not None:
            use.add("major", "cross-version", problem)
            return True
    return _unknown(use, url) if known is None else _defined(use, known)


def _unknown(use: _Use, url: str) -> bool:
    if _OPEN.match(url):
        return False
    if use.document.options.extensions == "known":
        use.add("major", "unknown", "no definition of this extension is at hand", value=url)
        return True
    if _PUBLISHED.fullmatch(url):
        message = f"HL7 published no extension of this name for R4 as of {definitions().edition}; a later edition may have it"
        use.add("minor", "unknown", message, value=url)
        return True
    use.document.skip("extensions without a definition", "their definitions are not at hand")
    return False


def _defined(use: _Use, known: Json) -> bool:
    problems = list(_problems(use, known))
    forbidden = _forbidden_by_r4(use, known) if problems else None
    for code, at, message in problems:
        if forbidden is None or code in forbidden:
            use.document.add("major", code, at, message)
        else:
            use.document.add("minor", code, at, f"{message} (as of {definitions().edition}; a later edition may allow it)")
    for part, value_set in known.get("bindings", {}).items():
        level: Severity = "minor" if _is_newer(known, part) else "major"
        for holder, at in _holders_of(use, part):
            _bound(use.document, holder, value_set, at, level)
    # With codes to look up and parts to count, the keys alone do not show that the next one is as good.
    return bool(problems) or by_values(known) or bool(known.get("bindings")) or bool(known["parts"])


def _forbidden_by_r4(use: _Use, known: Json) -> set[str] | None:
    """The codes of faults by R4's own definition of an extension; None if the definition at hand is final: R4's own or a package's.

    HL7 publishes its extensions in editions, and each allows more places, parts and types. Only what R4, which is final, forbids too is
    certainly a fault.
    """
    r4 = known.get("r4", True)
    if r4 is True:
        return None
    return set() if r4 is False else {code for code, _, _ in _problems(use, r4)}


def _is_newer(known: Json, part: str) -> bool:
    """True if R4 itself does not bind the value of an extension, or of a part of it."""
    r4 = known.get("r4", True)
    return r4 is False or (r4 is not True and part not in r4.get("bindings", {}))


def _problems(use: _Use, known: Json) -> Iterator[_Problem]:
    value, place = use.value, use.place
    if known["modifier"] != (use.names[-1] == "modifierExtension"):
        kind = "modifierExtension" if known["modifier"] else "extension"
        yield "fhir.extensions.modifier", place, f"this extension must be used as {kind}"
    held = next((key for key in value if key.startswith("value")), None)
    # A package's definition is also checked as a profile, which reports types and counts the slices.
    is_ours = value.get("url") in definitions().extensions or "elements" in known
    if is_ours and held is not None and known["values"] is not None and not _is_type(held, known["values"]):
        allowed = ", ".join(known["values"][:8]) or "none, only extensions"
        yield "fhir.extensions.type", place, f"this extension holds a value of another type than its definition allows: {allowed}"
    if known.get("elements"):
        yield from _elements(use, known["elements"])
    if known["parts"]:
        yield from _parts(use, known["parts"], is_ours=is_ours)
    if not in_context(known, place, use.frame, use.document):
        allowed = ", ".join(one for _, one in known["contexts"][:6])
        yield "fhir.extensions.context", place, f"this extension is not allowed here; allowed on: {allowed}"


def _is_type(held: str, types: Sequence[str]) -> bool:
    """True if a key such as valueString is of one of some types."""
    return held[5:].lower() in {one.lower() for one in types}


def _elements(use: _Use, elements: dict[str, list[str] | None]) -> Iterator[_Problem]:
    """The faults of the parts of an element of another FHIR version: an unknown name, and values of types that the element does not have."""
    for index, part in numbered(use.value, "extension"):
        name = part.get("url")
        if not isinstance(name, str) or is_absolute(name):
            continue
        at: Place = (use.place, "extension", index)
        element = _element_of(name, elements)
        held = next((key for key in part if key.startswith("value")), None)
        if element is None:
            listed = ", ".join(list(elements)[:12])
            yield "fhir.extensions.part", at, f"{_shown_part(use.document, name, elements)} is no part of the element that this extension carries: {listed}"
            return
        types = elements[element]
        if held is not None and types is not None and not _is_type(held, types):
            allowed = ", ".join(types[:8]) or "none, only extensions"
            yield "fhir.extensions.type", at, f"the part {shown_name(name)} holds a value of another type; allowed: {allowed}"


def _element_of(name: str, elements: Iterable[str]) -> str | None:
    """The element that a part carries, or None.

    A choice may be named with its [x], without it, or with a type (R4, formats.html#choice): value[x], value, valueQuantity.
    """
    for known in elements:
        bare = known.removesuffix("[x]")
        if name.removesuffix("[x]") == bare or (bare != known and name.startswith(bare) and name[len(bare) :] in CHOICE_TYPES):
            return known
    return None


def _holders_of(use: _Use, part: str) -> Iterator[tuple[Json, Place]]:
    """The extension itself or, if a part is named, its parts of that name."""
    if not part:
        yield use.value, use.place
        return
    for index, one in numbered(use.value, "extension"):
        if one.get("url") == part:
            yield one, (use.place, "extension", index)


def _bound(document: Document, holder: Json, value_set: str, place: Place, level: Severity) -> None:
    """Check the code of a value against the value set of the definition."""
    for key, value in holder.items():
        at: Place = (place, key, None)
        if key == "valueCode" and isinstance(value, str):
            binding_to(value_set, bare=True, severity=level).check_code(document, value, at)
        elif key in {"valueCoding", "valueCodeableConcept"} and isinstance(value, dict):
            binding_to(value_set, bare=False, severity=level).check(document, value, at)


def _shown_part(document: Document, name: str, known: Iterable[str]) -> str:
    """The name of a part that is not one of `known`. A name that is none of the standard's, nor a misspelling of one of these, may be patient text."""
    is_safe = document.named(name) != "?" or name.removesuffix("[x]") in element_names() or meant(name, known) is not None
    return f"the part {shown_name(name)}" if is_safe else f"a part (its name is left out, because {HIDDEN})"


def _parts(use: _Use, known: Json, *, is_ours: bool) -> Iterator[_Problem]:
    """The faults of a complex extension's parts: names and, unless a profile reports them (not `is_ours`), types of values and numbers."""
    value, place = use.value, use.place
    counts = dict.fromkeys(known, 0)
    # Names are compared as long as the finding may be kept; a document can hold any number of them.
    left = 2 * PER_CODE_MAX - sum(times for (code, _), times in use.document.counts.items() if code == "fhir.extensions.part")
    for index, part in numbered(value, "extension"):
        name = part.get("url")
        if not isinstance(name, str) or is_absolute(name):
            continue
        if name not in known:
            left -= 1
            shown = _shown_part(use.document, name, known) if left >= 0 else "a part"
            told = f"{shown} is no part of this extension; its definition has: {', '.join(list(known)[:12])}"
            yield "fhir.extensions.part", (place, "extension", index), told
            continue
        counts[name] += 1
        held = next((key for key in part if key.startswith("value")), None)
        types = known[name][2]
        if is_ours and held is not None and types and not _is_type(held, types):
            at = (place, "extension", index)
            yield "fhir.extensions.type", at, f"the part {shown_name(name)} holds a value of another type; allowed: {', '.join(types[:8])}"
    for name, count in counts.items() if is_ours else ():
        least, most = known[name][:2]
        if count < least or (most != "*" and count > int(most)):
            yield (
                "fhir.extensions.part-count",
                place,
                f"the definition of this extension allows {least} to {most} of the part {shown_name(name)}; found {count}",
            )
