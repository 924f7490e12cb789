"""Bundle rules: fullUrl, duplicates, links, documents and messages (R4: bundle.html, documents.html, messaging.html)."""

from __future__ import annotations

import re
from typing import Any

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.formats.fhir.document import Document, Frame
from touchstone.scorers.clinical.formats.fhir.references import EXCHANGES, Resolver, is_absolute, rest_parts
from touchstone.scorers.clinical.formats.fhir.tables import definitions

_SELF_TYPE = re.compile(r"(?:.*/)?([A-Z][A-Za-z]+)(?:/?\?.*)?$")
#: Link relations that name one page, so that two of them contradict each other.
_SINGLE_LINKS = frozenset({"self", "first", "last", "next", "prev", "previous"})
#: What of a Composition must be in its document (R4: documents.html, content).
_COMPOSITION_PARTS = ("subject", "encounter", "author", "custodian")


def check_bundles(document: Document, resolver: Resolver) -> None:
    """Check every Bundle of a document."""
    for frame in document.frames:
        if frame.type == "Bundle":
            document.report.fired("bundle")
            _links(document, frame)
            _entries(document, frame)
            kind = frame.text("type")
            if kind == "searchset":
                _search(document, frame)
            elif kind in {"document", "message"}:
                _linked(document, frame, resolver, kind)


def _links(document: Document, bundle: Frame) -> None:
    seen: set[str] = set()
    for index, link in enumerate(_dicts(bundle.resource.get("link"))):
        relation = link.get("relation")
        if isinstance(relation, str) and relation in _SINGLE_LINKS:
            if relation in seen:
                document.say("major", "fhir.bundle.link", (bundle.place, "link", index), "this link relation can occur only once")
            seen.add(relation)


def _dicts(values: Any) -> list[dict[str, Any]]:
    return [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []


def _entries(document: Document, bundle: Frame) -> None:
    kind = bundle.text("type")
    optional = kind in EXCHANGES
    seen: set[tuple[str, Any]] = set()
    for frame in bundle.entries:
        document.report.fired("bundle")
        entry = frame.entry or {}
        url = entry.get("fullUrl")
        place = (bundle.place, "entry", frame.entry_index)
        if url is None:
            if not optional and not (kind == "searchset" and frame.type == "OperationOutcome"):  # what happened in a search has no address
                document.say("major", "fhir.bundle.full-url", place, "an entry of this kind of Bundle needs a fullUrl")
            continue
        if not isinstance(url, str):
            continue
        if not is_absolute(url):
            document.say("major", "fhir.bundle.full-url", (place, "fullUrl", None), "a fullUrl must be an absolute URL or URN")
        parts = rest_parts(url)
        identity = frame.resource.get("id")
        if parts is not None and not isinstance(identity, str) and not optional:
            document.say("major", "fhir.bundle.full-url", (place, "fullUrl", None), "a fullUrl that looks like a server's needs a resource with an id")
        elif parts is not None and parts[1] != frame.type and not optional:
            document.say("major", "fhir.bundle.full-url", (place, "fullUrl", None), "a fullUrl that looks like a server's must name the resource's type")
        elif parts is not None and parts[2] != identity and not optional:
            # SHALL in R4, but broken by an official example: reported, but not counted against the document.
            document.say(
                "minor", "fhir.bundle.full-url-id", (place, "fullUrl", None), "a fullUrl that looks like a server's should end in the resource's type and id"
            )
        meta = frame.resource.get("meta")
        version = meta.get("versionId") if isinstance(meta, dict) else None
        key = (url, version if isinstance(version, str) else None)
        if key in seen and kind != "history":
            document.say("major", "fhir.invariants.bdl-7", (place, "fullUrl", None), "two entries have the same fullUrl and version")
        seen.add(key)
    total = bundle.resource.get("total")
    if total is not None and kind not in {"searchset", "history"}:
        document.say("major", "fhir.invariants.bdl-1", bundle.place, "total belongs only to a searchset or a history")


def _search(document: Document, bundle: Frame) -> None:
    """Matches must have ids and be of the type that was searched for."""
    wanted = None
    for link in _dicts(bundle.resource.get("link")):
        url = link.get("url")
        if link.get("relation") == "self" and isinstance(url, str):
            match = _SELF_TYPE.fullmatch(url)
            if match and match[1] in definitions().resources and "_type=" not in url:
                wanted = match[1]
    for frame in bundle.entries:
        search = (frame.entry or {}).get("search")
        mode = search.get("mode") if isinstance(search, dict) else None
        if frame.type == "OperationOutcome":
            continue
        if not isinstance(frame.resource.get("id"), str):
            document.say("major", "fhir.bundle.search", frame.place, "a search result must have an id")
        if wanted is not None and mode == "match" and frame.type != wanted:
            document.say("major", "fhir.bundle.search", frame.place, f"not of the type that was searched for: {wanted}")


def _linked(document: Document, bundle: Frame, resolver: Resolver, kind: str) -> None:
    """The first entry's own references must be in the Bundle, and every entry must be linked with it in some direction."""
    head = "Composition" if kind == "document" else "MessageHeader"
    if not bundle.entries or bundle.entries[0].type != head or bundle.entries[0].entry_index != 0:
        return  # bdl-11 and bdl-12 report it.
    first = bundle.entries[0]
    parts = _COMPOSITION_PARTS if kind == "document" else ("focus",)
    for value, place, _ in first.references:
        reference = value.get("reference")
        if not isinstance(reference, str) or reference.startswith("#"):
            continue
        top = _below(place, first)
        if (top in parts or (kind == "document" and top == "section")) and resolver.in_bundle(first, reference) is None:
            near = resolver.same_id(reference)
            told = "; an entry has this type and id, but not by the rules of fullUrl" if near else ""
            if near or kind == "message" or not is_absolute(reference) or reference.startswith("urn:"):
                document.say("major", "fhir.bundle.unresolved", place, f"this must be in the Bundle and is not{told}")
            else:
                document.say("minor", "fhir.bundle.outside", place, "this should be in the Bundle and is not")
    _reachable(document, bundle, resolver, kind)


def _below(place: Any, frame: Frame) -> str:
    """The name of the element of a resource that a place lies in."""
    name = ""
    while place is not None and place is not frame.place:
        name = place[1]
        place = place[0]
    return name


def _reachable(document: Document, bundle: Frame, resolver: Resolver, kind: str) -> None:
    links: dict[int, set[int]] = {id(frame): set() for frame in bundle.entries}
    for frame in bundle.entries:
        for one in (frame, *frame.contained):
            for value, _, _ in one.references:
                reference = value.get("reference")
                target = resolver.in_bundle(frame, reference) if isinstance(reference, str) else None
                if target is not None:
                    links[id(frame)].add(id(target))
                    links.setdefault(id(target), set()).add(id(frame))
    reached, waiting = {id(bundle.entries[0])}, [id(bundle.entries[0])]
    while waiting:
        for neighbour in links[waiting.pop()] - reached:
            reached.add(neighbour)
            waiting.append(neighbour)
    for frame in bundle.entries:
        if id(frame) not in reached:
            # A document is what its Composition reaches (documents.html); a message may carry more than its header names.
            level: Severity = "major" if kind == "document" else "minor"
            document.say(level, "fhir.bundle.unreachable", frame.place, "no chain of references links this entry with the first one")
