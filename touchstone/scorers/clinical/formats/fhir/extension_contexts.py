"""Where an extension is allowed: on the elements, extensions and FHIRPath that its definition names (R4: defining-extensions.html, context)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from touchstone.scorers.clinical.checks.json_access import Json
from touchstone.scorers.clinical.formats.fhir.document import Document, Frame, Place
from touchstone.scorers.clinical.formats.fhir.fhirpath import Environment, FhirPathError, Undecided
from touchstone.scorers.clinical.formats.fhir.fhirpath.values import Extended
from touchstone.scorers.clinical.formats.fhir.tables import Invariant, compile_invariant, definitions

_PRIMITIVE_BASES = {
    **dict.fromkeys(("code", "id", "markdown"), "string"),
    **dict.fromkeys(("canonical", "url", "oid", "uuid"), "uri"),
    **dict.fromkeys(("positiveInt", "unsignedInt"), "integer"),
}
#: Contexts that name an interface or everything; the table does not distinguish these.
_WIDE = frozenset({"Element", "Base", "*", "CanonicalResource", "MetadataResource", "ElementDefinition"})
_EXTENSIONS = frozenset({"extension", "modifierExtension"})


def in_context(known: Json, place: Place, frame: Frame, document: Document) -> bool:
    """Return True if an extension is allowed at a place, or if that cannot be decided. `known`: its definition."""
    steps = frame.steps_to(place)
    if known["contexts"] and not _allowed(known["contexts"], steps, frame):
        return False
    for rule in known.get("rules", ()):
        holder = _holders(steps, frame)[-1]
        compiled = _rule(rule)
        holds = compiled.holds(holder, Environment(frame.resource, frame.root.resource, holder)) if compiled is not None else None
        if holds is None:
            document.skip("context invariants of extensions", "the document alone cannot tell")
        elif not holds:
            return False
    return True


def by_values(known: Json) -> bool:
    """Return True if element names alone do not decide where an extension is allowed."""
    return "rules" in known or any(kind != "element" for kind, _ in known["contexts"])


def _allowed(contexts: list[list[str]], steps: list[tuple[str, int | None]], frame: Frame) -> bool:
    names = [name for name, _ in steps[:-1]]
    wanted = {expression for kind, expression in contexts if kind == "element"}
    if wanted & _WIDE or wanted & _places(frame.type, names):
        return True
    others = [(kind, expression) for kind, expression in contexts if kind != "element"]
    if not others:
        return False
    holders = _holders(steps, frame)
    # The nearest extension around it: a context may be the value of another extension.
    around = next((one.get("url") for one, name in zip(reversed(holders[1:]), reversed(names), strict=False) if name in _EXTENSIONS), None)
    return any(
        around == expression if kind == "extension" else _selected(expression, holders[-1], frame) if kind == "fhirpath" else True
        for kind, expression in others
    )


def _holders(steps: list[tuple[str, int | None]], frame: Frame) -> list[Any]:
    """The values from the resource down to the one that an extension belongs to."""
    found: list[Any] = [frame.resource]
    for name, index in steps[:-1]:
        inner = found[-1].get(name) if isinstance(found[-1], dict) else None
        found.append(inner[index] if index is not None and isinstance(inner, list) and index < len(inner) else inner)
    return found


def _selected(expression: str, holder: Any, frame: Frame) -> bool:
    """True if FHIRPath selects the holder of an extension, or if it cannot be evaluated."""
    made = _rule(expression)
    if made is None:
        return True
    try:
        found = made.run(frame.resource, Environment(frame.resource, frame.root.resource, frame.resource))
    except (Undecided, FhirPathError, RecursionError, TypeError, ValueError, AttributeError, IndexError):
        return True
    return any(one is holder or (one.__class__ is Extended and one.beside is holder) for one in found)


@lru_cache(maxsize=500)
def _rule(expression: str) -> Invariant | None:
    try:
        return compile_invariant("", "error", "", expression)
    except FhirPathError:
        return None


def _places(root: str, names: list[str]) -> set[str]:
    """The names that a definition may use for an element: its paths and its types."""
    table = definitions()
    places, at = {root}, root
    paths = {root}
    for name in names:
        holder = table.types.get(at)
        found = holder.fields.get(name.lstrip("_")) if holder is not None else None
        if found is None:
            return set(_WIDE) | {"*"}
        element = found.element
        options = {element, element.removesuffix("[x]"), found.name}
        paths = {f"{path}.{option}" for path in {*paths, *_with_bases(at)} for option in options}
        places, at = set(paths), found.type
    return places | _with_bases(at)


def _with_bases(name: str) -> set[str]:
    found = {name, "Element"} if name[0].islower() else {name}
    bases = definitions().bases
    while bases.get(name):
        name = bases[name]
        found.add(name)
    if name in _PRIMITIVE_BASES:
        found.add(_PRIMITIVE_BASES[name])
    return found
