"""Bundle rules: fullUrl, duplicates, links, documents and messages (R4: bundle.html, documents.html, messaging.html)."""

from __future__ import annotations

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.checks.json_access import objects
from touchstone.scorers.clinical.formats.fhir.document import Document, Frame, Place
from touchstone.scorers.clinical.formats.fhir.references import EXCHANGES, Resolver, is_absolute, rest_parts
from touchstone.scorers.clinical.formats.fhir.tables import definitions

#: Link relations that name one page, so that two of them contradict each other.
_SINGLE_LINKS = frozenset({"self", "first", "last", "next", "prev", "previous"})
#: Elements of a Composition whose targets must be in its document (R4: documents.html, content).
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
    for index, link in enumerate(objects(bundle.resource.get("link"))):
        relation = link.get("relation")
        if isinstance(relation, str) and relation in _SINGLE_LINKS:
            if relation in seen:
                document.add("major", "fhir.bundle.link", (bundle.place, "link", index), "this link relation can occur only once")
            seen.add(relation)


def _entries(document: Document, bundle: Frame) -> None:
    kind = bundle.text("type")
    seen: set[tuple[str, str | None]] = set()
    for frame in bundle.entries:
        document.report.fired("bundle")
        url = (frame.entry or {}).get("fullUrl")
        place = (bundle.place, "entry", frame.entry_index)
        if isinstance(url, str):
            _full_url(document, frame, url, (place, "fullUrl", None), is_exchange=kind in EXCHANGES)
            key = (url, frame.version)
            if key in seen and kind != "history":
                document.add("major", "fhir.invariants.bdl-7", (place, "fullUrl", None), "two entries have the same fullUrl and version")
            seen.add(key)
        elif url is None and kind not in EXCHANGES and not (kind == "searchset" and frame.type == "OperationOutcome"):  # its outcome has no address
            document.add("major", "fhir.bundle.full-url", place, "an entry of this kind of Bundle needs a fullUrl")
    if bundle.resource.get("total") is not None and kind not in {"searchset", "history"}:
        document.add("major", "fhir.invariants.bdl-1", bundle.place, "total belongs only to a searchset or a history")


def _full_url(document: Document, frame: Frame, url: str, place: Place, *, is_exchange: bool) -> None:
    if not is_absolute(url):
        document.add("major", "fhir.bundle.full-url", place, "a fullUrl must be an absolute URL or URN")
    parts = rest_parts(url)
    if parts is None or is_exchange:
        return
    identity = frame.resource.get("id")
    if not isinstance(identity, str):
        document.add(
            "major",
            "fhir.bundle.full-url",
            place,
            "a fullUrl that looks like a server's needs a resource with an id",
            suggestion="Give the resource an id, or use urn:uuid: as its fullUrl",
        )
    elif parts[1] != frame.type:
        document.add(
            "major",
            "fhir.bundle.full-url",
            place,
            "a fullUrl that looks like a server's must name the resource's type",
            suggestion="End it in the type and id of the resource",
        )
    elif parts[2] != identity:
        # SHALL in R4, but broken by an official example: reported, but not counted against the document.
        document.add(
            "minor",
            "fhir.bundle.full-url-id",
            place,
            "a fullUrl that looks like a server's should end in the resource's type and id",
            suggestion="End it in the type and id of the resource",
        )


def _search(document: Document, bundle: Frame) -> None:
    """Search results must have ids, and matches the type that was searched for."""
    wanted = None
    for link in objects(bundle.resource.get("link")):
        url = link.get("url")
        if link.get("relation") == "self" and isinstance(url, str):
            path, mark, _ = url.partition("?")
            name = (path.removesuffix("/") if mark else path).rpartition("/")[2]
            if name in definitions().resources and "_type=" not in url:
                wanted = name
    for frame in bundle.entries:
        search = (frame.entry or {}).get("search")
        mode = search.get("mode") if isinstance(search, dict) else None
        if frame.type == "OperationOutcome":
            continue
        if not isinstance(frame.resource.get("id"), str):
            document.add("major", "fhir.bundle.search", frame.place, "a search result must have an id")
        if wanted is not None and mode == "match" and frame.type != wanted:
            document.add("major", "fhir.bundle.search", frame.place, f"not of the type that was searched for: {wanted}")


def _linked(document: Document, bundle: Frame, resolver: Resolver, kind: str) -> None:
    """What the first entry refers to must be in the Bundle, and a chain of references must link every entry with it."""
    head = "Composition" if kind == "document" else "MessageHeader"
    if not bundle.entries or bundle.entries[0].type != head or bundle.entries[0].entry_index != 0:
        return  # reported by bdl-11 and bdl-12
    first = bundle.entries[0]
    parts = _COMPOSITION_PARTS if kind == "document" else ("focus",)
    for value, place, _ in first.references:
        reference = value.get("reference")
        if not isinstance(reference, str) or reference.startswith("#"):
            continue
        element = next((name for name, _ in first.steps_to(place)), "")
        if (element in parts or (kind == "document" and element == "section")) and resolver.in_bundle(first, reference) is None:
            near = resolver.by_id(reference) is not None
            hint = "; an entry has this type and id, but not by the rules of fullUrl" if near else ""
            if near or kind == "message" or not is_absolute(reference) or reference.startswith("urn:"):
                document.add("major", "fhir.bundle.unresolved", place, f"the resource that this refers to must be in the Bundle, and is not{hint}")
            else:
                document.add("minor", "fhir.bundle.outside", place, "the resource that this refers to should be in the Bundle, and is not")
    _reachable(document, bundle, resolver, kind)


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
            document.add(
                level, "fhir.bundle.unreachable", frame.place, "no chain of references links this entry with the first entry (Composition or MessageHeader)"
            )
