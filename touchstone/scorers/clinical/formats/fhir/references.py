"""References and contained resources (R4: references.html, ref-1, dom-2 to dom-5; bundle.html: resolving references in Bundles)."""

from __future__ import annotations

import re
from typing import Any

from touchstone.scorers.clinical.formats.fhir.document import Document, Frame, Place
from touchstone.scorers.clinical.formats.fhir.tables import Field, definitions

_RELATIVE = re.compile(r"([A-Z][A-Za-z]+)/([A-Za-z0-9\-.]{1,64})(?:/_history/[A-Za-z0-9\-.]{1,64})?(?:#.*)?")
_CONDITIONAL = re.compile(r"([A-Z][A-Za-z]+)\?.*")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
#: Without the fragment: a pattern that looks for one behind every slash takes quadratic time.
_REST = re.compile(r"(https?://.+/)([A-Z][A-Za-z]+)/([A-Za-z0-9\-.]{1,64})(?:/_history/[A-Za-z0-9\-.]{1,64})?")
_SPACE = re.compile(r"\s")
#: Bundles in which a server resolves a search in place of a reference.
_CONDITIONAL_IN = frozenset({"transaction", "batch"})
_URN = re.compile(r"urn:(uuid|oid):")
#: Prefixes of a fullUrl whose form needs no check.
_FULL = ("urn:uuid:", "http://", "https://")
#: Requests and responses may refer to what only the server has.
EXCHANGES = frozenset({"batch", "transaction", "batch-response", "transaction-response"})


def is_absolute(url: str) -> bool:
    """Return True if a URL has a scheme."""
    return _ABSOLUTE.match(url) is not None


def rest_parts(url: str) -> tuple[str, str, str] | None:
    """Return (base, type, id) of the RESTful URL of a resource, or None for any other text."""
    match = _REST.fullmatch(url.partition("#")[0]) if "\n" not in url else None
    if match is None or match[2] not in definitions().resources:
        return None
    return match[1], match[2], match[3]


def relative_type(reference: str) -> str | None:
    """Return the type in a reference of the form Type/id, or None for any other text."""
    match = _RELATIVE.fullmatch(reference)
    return match[1] if match is not None and match[1] in definitions().resources else None


class Resolver:
    """Finds the targets of references inside one document."""

    def __init__(self, document: Document) -> None:
        self._by_url: dict[int, dict[str, Frame]] = {}
        self._by_version: dict[tuple[int, str, str | None], tuple[int, Frame]] = {}
        self._by_id: dict[str, Frame] = {}
        self._inside: dict[int, dict[str, Frame]] = {}
        self._frames = document.frames
        self._by_resource: dict[int, Frame] = {}
        for number, frame in enumerate(document.frames):
            if frame.container is not None:
                continue
            identity = frame.resource.get("id")
            if isinstance(identity, str):
                self._by_id.setdefault(f"{frame.type}/{identity}", frame)
            url = frame.entry.get("fullUrl") if frame.entry is not None else None
            if isinstance(url, str) and frame.bundle is not None:
                self._by_url.setdefault(id(frame.bundle), {}).setdefault(url, frame)
                # A history has thousands of versions of one URL; each is found by its version.
                self._by_version.setdefault((id(frame.bundle), url, frame.version), (number, frame))

    def frame_of(self, resource: Any) -> Frame | None:
        """Return the frame of a resource of the document."""
        if not self._by_resource:
            self._by_resource = {id(frame.resource): frame for frame in self._frames}
        return self._by_resource.get(id(resource))

    def entries(self, frame: Frame) -> dict[str, Frame] | None:
        """Return the first entry for each fullUrl of the Bundle around a resource; None if it is in no Bundle."""
        bundle = frame.root.bundle
        return None if bundle is None else self._by_url.get(id(bundle), {})

    def contained(self, frame: Frame, fragment: str) -> Frame | None:
        """Return the target of a fragment reference; '#' alone is the container."""
        root = frame.root
        if fragment == "#":
            return root
        inside = self._inside.get(id(root))
        if inside is None:
            ids = ((inner.resource.get("id"), inner) for inner in root.contained)
            inside = self._inside[id(root)] = {identity: inner for identity, inner in ids if isinstance(identity, str)}
        return inside.get(fragment[1:])

    def in_bundle(self, frame: Frame, reference: str) -> Frame | None:
        """Return the entry that a reference points to by the rules of Bundles, or None."""
        root = frame.root
        if root.bundle is None:
            return None
        entries = self._by_url.get(id(root.bundle), {})
        bare = reference.split("#", maxsplit=1)[0]
        if not is_absolute(bare):
            url = root.entry.get("fullUrl") if root.entry is not None else None
            parts = rest_parts(url) if isinstance(url, str) else None
            if parts is None:
                return None
            bare = parts[0] + bare
        plain, _, version = bare.partition("/_history/")
        if bare in entries or not version:
            return entries.get(bare) or entries.get(plain)
        versions = (self._by_version.get((id(root.bundle), plain, one)) for one in (version, None))
        return min((one for one in versions if one is not None), key=lambda found: found[0], default=(0, None))[1]

    def anywhere(self, frame: Frame, reference: str) -> Frame | None:
        """Return the target of a reference, even if only type and id match."""
        if reference.startswith("#"):
            return self.contained(frame, reference)
        return self.in_bundle(frame, reference) or self.by_id(reference)

    def by_id(self, reference: str) -> Frame | None:
        """Return the resource of the document with the type and id of a relative reference, or None."""
        match = _RELATIVE.fullmatch(reference)
        return self._by_id.get(f"{match[1]}/{match[2]}") if match else None


def check_references(document: Document, resolver: Resolver) -> None:
    """Check every reference of a document: form, fragment, target type, and resolution where the document can answer."""
    count = 0
    for frame in document.frames:
        count += len(frame.references)
        entries = resolver.entries(frame)
        for value, place, found in frame.references:
            reference = value.get("reference")
            if isinstance(reference, str) and reference and not _is_certainly_good(document, entries, value, reference, found):
                _reference(document, resolver, frame, value, reference, (place, "reference", None), found)
        _contained(document, frame)
    document.report.fired("references", count)


def _is_certainly_good(document: Document, entries: dict[str, Frame] | None, value: dict[str, Any], reference: str, found: Field | None) -> bool:
    """True for the two commonest good references: the fullUrl of another entry, or Type/id outside of a Bundle."""
    if "type" in value or "#" in reference:
        return False
    if entries is not None:
        target = entries[reference].type if reference in entries and reference.startswith(_FULL) else None
    else:
        match = _RELATIVE.fullmatch(reference) if document.options.references != "exists" else None
        target = match[1] if match is not None and match[1] in definitions().resources else None
    return target is not None and (found is None or not found.targets or target in found.targets or "Resource" in found.targets)


def check_identifiers(document: Document) -> None:
    """The system of an Identifier must be an absolute URI. A breach is minor by the specification, but still invalid R4."""
    for value, place, _ in document.typed.get("Identifier", ()):
        system = value.get("system")
        if isinstance(system, str) and not is_absolute(system):
            message = "URI must contain a scheme (e.g., http:, urn:, oid:)"
            document.add("minor", "fhir.identifiers.system", (place, "system", None), message, suggestion="Give an absolute URI", value=system)


def _reference(document: Document, resolver: Resolver, frame: Frame, value: dict[str, Any], reference: str, place: Place, found: Field | None) -> None:
    stated = value.get("type")
    target: str | None = None
    if reference.startswith("#"):
        inner = resolver.contained(frame, reference)
        if inner is None or (reference == "#" and frame.container is None):
            document.add("major", "fhir.invariants.ref-1", place, "no contained resource has this id")
            return
        target, seen = inner.type, True
    else:
        target = _target_type(document, resolver, frame, reference, place)
        seen = resolver.anywhere(frame, reference) is not None or document.options.rest_references
    if target is None:
        if found is not None and found.targets and "Resource" not in found.targets and not isinstance(stated, str):
            document.skip("types of references", "neither the document nor the URL tells what they refer to")
        return
    if isinstance(stated, str) and stated != target:  # Reference.type: only types beyond FHIR's own are given by their URL
        document.add("major", "fhir.references.type", place, "the type stated beside the reference differs from the type it points to")
    if found is not None and found.targets and "Resource" not in found.targets and target not in found.targets:
        allowed = ", ".join(found.targets) if len(found.targets) < 12 else f"{len(found.targets)} types"
        # A RESTful URL implies a type (R4, references.html#literal). Of a resource outside the document no more is known, so it does not count.
        document.add("major" if seen else "minor", "fhir.references.target", place, f"a reference to {target} is not allowed here; allowed: {allowed}")


def _target_type(document: Document, resolver: Resolver, frame: Frame, reference: str, place: Place) -> str | None:
    """Check a reference that is not a fragment. Returns its target's type as far as it is known."""
    resources = definitions().resources
    hit = resolver.in_bundle(frame, reference)
    if hit is not None:
        return hit.type
    if _SPACE.search(reference):
        document.add("major", "fhir.references.form", place, "a reference holds no whitespace")
        return None
    conditional = _CONDITIONAL.fullmatch(reference)
    if conditional:
        bundle = frame.root.bundle
        if bundle is None or bundle.text("type") not in _CONDITIONAL_IN:
            document.add("major", "fhir.references.conditional", place, "a reference by search is only allowed in a transaction Bundle")
        return conditional[1] if conditional[1] in resources else None
    if is_absolute(reference):
        if _URN.match(reference) and frame.root.bundle is not None and not _may_be_elsewhere(frame):
            document.add("minor", "fhir.references.urn", place, "no entry of the Bundle has this URN as its fullUrl")
        parts = rest_parts(reference)  # Other addresses tell nothing of what lies there.
        return None if parts is None else parts[1]
    match = _RELATIVE.fullmatch(reference)
    if match is None or match[1] not in resources:
        # R4 gives the form and a pattern, but the official validator accepts others: a server may have resource types of its own.
        document.add("minor", "fhir.references.form", place, "a relative reference is ResourceType/id")
        return None
    if frame.root.bundle is not None and frame.root.entry is not None and "fullUrl" not in frame.root.entry and not _may_be_elsewhere(frame):
        document.add("major", "fhir.references.no-base", place, "a relative reference in an entry without a fullUrl cannot be resolved")
    if document.options.references == "exists" and resolver.anywhere(frame, reference) is None:
        document.add("major", "fhir.references.unresolved", place, "nothing in the document has this type and id")
    return match[1]


def _may_be_elsewhere(frame: Frame) -> bool:
    bundle = frame.root.bundle
    return bundle is None or bundle.text("type") in EXCHANGES


def _contained(document: Document, frame: Frame) -> None:
    """Check contained resources: dom-3, dom-4, dom-5, and their ids."""
    if not frame.contained or frame.container is not None:
        return
    family = (frame, *frame.contained)
    used = {named for one in family for value, _, _ in one.references if isinstance(named := value.get("reference"), str)}
    used.update(value for one in family for value, _, _ in one.canonicals)
    fragments: set[str] | None = None
    seen: set[str] = set()
    for inner in frame.contained:
        document.report.fired("contained")
        identity = inner.resource.get("id")
        if not isinstance(identity, str):
            document.add("major", "fhir.invariants.dom-3", inner.place, "a contained resource needs an id to be referred to")
            continue
        if identity in seen:
            document.add("major", "fhir.structure.duplicate-id", inner.place, "two contained resources have the same id")
        seen.add(identity)
        if "#" + identity not in used:
            fragments = _fragments(frame.resource) if fragments is None else fragments
            if "#" + identity not in fragments and not _refers_to_container(inner) and not _is_shown(frame, identity):
                message = "nothing in the resource refers to this contained resource, and it does not refer to the resource"
                document.add("major", "fhir.invariants.dom-3", inner.place, message)
        meta = inner.part("meta")
        if "versionId" in meta or "lastUpdated" in meta:
            document.add("major", "fhir.invariants.dom-4", inner.place, "a contained resource has no meta.versionId and no meta.lastUpdated")
        if "security" in meta:
            document.add("major", "fhir.invariants.dom-5", inner.place, "a contained resource has no security label")


def _is_shown(frame: Frame, identity: str) -> bool:
    """True if the narrative has a contained resource as an image or link (R4, narrative.html#images)."""
    div = frame.part("text").get("div")
    return isinstance(div, str) and any(f"{quote}#{identity}{quote}" in div for quote in "\"'")


def _refers_to_container(inner: Frame) -> bool:
    return any(value.get("reference") == "#" for value, _, _ in inner.references) or any(value == "#" for value, _, _ in inner.canonicals)


def _fragments(resource: Any) -> set[str]:
    """Every text of a resource that begins with "#": elements of type uri and url may refer to contained resources too."""
    found: set[str] = set()
    waiting = [resource]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, str) and one.startswith("#"):
            found.add(one)
    return found
