"""Where an extension may stand: elements, other extensions and FHIRPath that its definition names (R4: defining-extensions.html, context)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from touchstone.scorers.clinical.formats.fhir.document import Document, Frame, Place
from touchstone.scorers.clinical.formats.fhir.fhirpath import FhirPathError, Surroundings, Undecided
from touchstone.scorers.clinical.formats.fhir.fhirpath.values import Extended
from touchstone.scorers.clinical.formats.fhir.tables import Invariant, compile_invariant, definitions

_PRIMITIVE_BASES = {"code": "string", "id": "string", "markdown": "string", "canonical": "uri", "url": "uri", "oid": "uri", "uuid": "uri"} | {
    "positiveInt": "integer",
    "unsignedInt": "integer",
}
#: Contexts that name an interface, or all of something: which the table does not distinguish.
_WIDE = frozenset({"Element", "Base", "*", "CanonicalResource", "MetadataResource", "ElementDefinition"})
_EXTENSIONS = frozenset({"extension", "modifierExtension"})


def in_context(known: dict[str, Any], place: Place, frame: Frame, names: tuple[str, ...], document: Document) -> bool:
    """Return whether an extension may stand where it stands; true also where that cannot be decided. `names`: the keys from the resource down to it."""
    contexts = known["contexts"]
    if contexts and not _allowed(contexts, place, frame, names):
        return False
    for rule in known.get("rules", ()):
        holder = _holders(place, frame)[-1]
        verdict = _rule(rule)
        holds = verdict.holds(holder, Surroundings(frame.resource, frame.root.resource, holder)) if verdict is not None else None
        if holds is None:
            document.skip("context invariants of extensions", "the document alone cannot tell")
        elif not holds:
            return False
    return True


def by_values(known: dict[str, Any]) -> bool:
    """Return whether it takes more than the names of elements to say where an extension may stand."""
    return "rules" in known or any(kind != "element" for kind, _ in known["contexts"])


def _allowed(contexts: list[list[str]], place: Place, frame: Frame, names: tuple[str, ...]) -> bool:
    wanted = {expression for kind, expression in contexts if kind == "element"}
    if wanted & _WIDE or wanted & _places(frame.type, names[:-1]):
        return True
    others = [(kind, expression) for kind, expression in contexts if kind != "element"]
    if not others:
        return False
    holders = _holders(place, frame)
    # The nearest extension around it, of which it may stand on the value.
    around = next((one.get("url") for one, name in zip(reversed(holders[1:]), reversed(names[:-1]), strict=False) if name in _EXTENSIONS), None)
    return any(
        around == expression if kind == "extension" else _selected(expression, holders[-1], frame) if kind == "fhirpath" else True
        for kind, expression in others
    )


def _holders(place: Place, frame: Frame) -> list[Any]:
    """The objects from the resource down to what an extension stands on."""
    steps: list[tuple[str, int | None]] = []
    at: Place | None = place
    while at is not None and at is not frame.place:
        steps.append((at[1], at[2]))
        at = at[0]
    found: list[Any] = [frame.resource]
    for name, index in reversed(steps[1:]):
        inner = found[-1].get(name) if isinstance(found[-1], dict) else None
        found.append(inner[index] if index is not None and isinstance(inner, list) and index < len(inner) else inner)
    return found


def _selected(expression: str, holder: Any, frame: Frame) -> bool:
    """Return whether FHIRPath selects what an extension stands on; true also where it cannot be evaluated."""
    made = _rule(expression)
    if made is None:
        return True
    try:
        found = made.run(frame.resource, Surroundings(frame.resource, frame.root.resource, frame.resource))
    except (Undecided, FhirPathError, RecursionError, TypeError, ValueError, AttributeError, IndexError):
        return True
    return any(one is holder or (one.__class__ is Extended and one.beside is holder) for one in found)


@lru_cache(maxsize=500)
def _rule(expression: str) -> Invariant | None:
    try:
        return compile_invariant("", "error", "", expression)
    except FhirPathError:
        return None


def _places(root: str, names: tuple[str, ...]) -> set[str]:
    """Every name under which a definition may speak of an element: its paths and its types."""
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
