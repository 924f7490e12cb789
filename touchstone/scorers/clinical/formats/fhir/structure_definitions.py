"""StructureDefinitions: paths, type, and the differential against the type that it constrains (R4: structuredefinition.html, profiling.html)."""

from __future__ import annotations

from touchstone.scorers.clinical.checks.json_access import Json, numbered, objects
from touchstone.scorers.clinical.formats.fhir.document import Document, Frame, Place
from touchstone.scorers.clinical.formats.fhir.tables import Field, Type, definitions

#: Types that may hold any elements; paths below them are not followed.
_OPEN = frozenset({"Resource", "DomainResource", "Element", "BackboneElement"})
#: Prefix of FHIRPath's system types, which definitions of primitives name.
_SYSTEM = "http://hl7.org/fhirpath/"
_BASE = "http://hl7.org/fhir/StructureDefinition/"
_CODE = "fhir.definitions.element"


def fields_at(path: str) -> list[Field] | None:
    """Return the fields that a path means, one per type of a choice; empty if the type has no such element, None if that cannot be decided."""
    table = definitions()
    root, *names = path.split(".")
    holder: Type | None = table.types.get(root)
    if holder is None or root in _OPEN:
        return None
    found: list[Field] = []
    for name in names:
        if holder is None:
            return None
        short = name.partition(":")[0]
        found = [one for one in holder.fields.values() if one.element == short or (one.name == short and one.element.endswith("[x]"))]
        if not found:
            return [] if short not in {"id", "extension", "modifierExtension", "value"} else None
        kinds = {one.type for one in found}
        only = found[0].type if len(kinds) == 1 else None
        holder = table.types.get(only) if only is not None and only not in _OPEN and found[0].kind == "complex" else None
    return found


def _constraint(document: Document, frame: Frame) -> None:
    """Check a constraint on an R4 type: ids, paths and what it narrows; and where an extension may appear."""
    resource = frame.resource
    if resource.get("baseDefinition") is not None and resource.get("derivation") is None:
        document.add("major", _CODE, (frame.place, "derivation", None), "a definition with a base says how it is derived from it")
    if resource.get("derivation") != "constraint":
        return
    identities: set[str] = set()
    for index, element in numbered(resource.get("differential"), "element"):
        path, place = element.get("path"), ((frame.place, "differential", None), "element", index)
        if not isinstance(path, str):
            continue
        identity = element.get("id")
        if isinstance(identity, str):
            if identity in identities:
                document.add("major", _CODE, (place, "id", None), "two elements have the same id: a slice needs its name in it")
            identities.add(identity)
        found = fields_at(path) if "." in path else None
        if found:
            _narrows(document, element, found, place)
        elif found is not None:
            document.add("major", _CODE, (place, "path", None), "the type has no element at this path")
    for index, context in enumerate(objects(resource.get("context"))):
        expression = context.get("expression")
        if context.get("type") == "element" and isinstance(expression, str) and not _is_place(expression):
            document.add("major", "fhir.definitions.context", (frame.place, "context", index), "R4 has no such element")


def _narrows(document: Document, element: Json, base: list[Field], place: Place) -> None:
    most = element.get("max")
    if isinstance(most, str) and not base[0].many and (most == "*" or (most.isdigit() and int(most) > 1)):
        document.add("major", _CODE, (place, "max", None), "max is greater than the base type allows")
    allowed = {one.type for one in base}
    if base[0].kind == "resource" or allowed & _OPEN or any("." in one for one in allowed):
        return
    for number, one in enumerate(objects(element.get("type"))):
        code = one.get("code")
        if isinstance(code, str) and code not in allowed and not code.startswith(_SYSTEM):
            document.add("major", _CODE, (place, "type", number), "the base type does not allow this type here")
        for profile in one.get("profile") or () if isinstance(one.get("profile"), list) else ():
            tail = profile.removeprefix(_BASE) if isinstance(profile, str) else ""
            if tail not in (profile, code) and tail in definitions().types:  # a code may be anything, a list as well
                document.add("major", _CODE, (place, "type", number), "the profile that it names is for another type of R4")
    for key in element:
        for prefix in ("fixed", "pattern"):
            if key.startswith(prefix) and key[len(prefix) :].lower() not in {one.lower() for one in allowed}:
                document.add("major", _CODE, (place, prefix, None), "a value of a type that this element does not have")


def _is_place(expression: str) -> bool:
    """True if an extension's context names something of R4, or if that cannot be decided."""
    table = definitions()
    root = expression.split(".", maxsplit=1)[0]
    if root not in table.types and root not in table.primitives and root not in {"CanonicalResource", "MetadataResource", "Base", "*"}:
        return "/" in expression or "#" in expression
    return fields_at(expression) != [] or "." not in expression


def check_structure(document: Document, frame: Frame) -> None:
    """Check a StructureDefinition: paths, slicing, its differential, its url if it is an extension, and its type."""
    resource = frame.resource
    kind = resource.get("type")
    root = kind.rsplit("/", 1)[-1] if isinstance(kind, str) else None
    for part in ("snapshot", "differential"):
        for index, element in numbered(resource.get(part), "element"):
            path = element.get("path")
            place: Place = ((frame.place, part, None), "element", index)
            if not isinstance(path, str):
                continue
            if root is not None and path.split(".")[0] != root:
                document.add("major", "fhir.definitions.path", place, "an element's path must begin with the type of the structure")
            if part == "differential" and index == 0 and "." not in path and "slicing" in element:
                document.add("major", "fhir.definitions.slicing", place, "slicing is not allowed at the root of a profile")
            for number, kinds in numbered(element.get("slicing"), "discriminator"):
                if not isinstance(kinds.get("path"), str):
                    document.add("major", "fhir.structure.missing", ((place, "slicing", None), "discriminator", number), "path is required and absent")
    _constraint(document, frame)
    if kind == "Extension" and resource.get("derivation") == "constraint":
        _own_url(document, frame)
    if isinstance(kind, str):
        _known_type(document, frame, kind)


def _own_url(document: Document, frame: Frame) -> None:
    """The fixed url of an extension must be that of its definition."""
    for part in ("snapshot", "differential"):
        for index, element in numbered(frame.resource.get(part), "element"):
            fixed = element.get("fixedUri")
            if element.get("path") == "Extension.url" and isinstance(fixed, str) and frame.text("url") and fixed != frame.text("url"):
                place: Place = ((frame.place, part, None), "element", index)
                document.add("major", "fhir.definitions.extension-url", place, "the fixed url differs from that of the definition")


def _known_type(document: Document, frame: Frame, kind: str) -> None:
    """A constraint names a type of R4; a new type, of a logical model, is named by a URL."""
    own = _BASE + kind
    known = kind in definitions().types or kind in definitions().primitives or own in definitions().profiles
    if not known and "/" not in kind and ":" not in kind:
        document.add("major", "fhir.definitions.type", (frame.place, "type", None), "not a type of FHIR R4; a type beyond those is named by a URL")
    elif known and frame.resource.get("derivation") == "specialization" and frame.text("url") != own:
        document.add("major", "fhir.definitions.type", (frame.place, "type", None), "a type of FHIR R4 can be constrained, but not defined anew")
