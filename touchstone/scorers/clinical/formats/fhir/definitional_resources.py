"""Rules that R4 states only in prose, for resources that define things: search parameters, code systems, value sets, structures and others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from touchstone.scorers.clinical.checks.json_access import Json, numbered, objects
from touchstone.scorers.clinical.formats.fhir.document import Document, Frame, Place
from touchstone.scorers.clinical.formats.fhir.fhirpath import FhirPathError, Node, parse
from touchstone.scorers.clinical.formats.fhir.filter_rules import BEYOND, Find, check_filter, parameters_of
from touchstone.scorers.clinical.formats.fhir.references import is_absolute
from touchstone.scorers.clinical.formats.fhir.structure_definitions import check_structure
from touchstone.scorers.clinical.formats.fhir.tables import definitions

#: Canonical URL of a search parameter → its code, type and bases, where R4 or a package defines it.
_Searches = Callable[[Any], tuple[Any, Any, Sequence[Any]] | None]


def check_definitions(document: Document, installed: Callable[[str, str], Json | None]) -> None:
    """Check every resource that defines something. `installed`: (type, canonical URL) → definition in the installed packages."""
    own = {(frame.type, frame.text("url")): frame.resource for frame in document.frames if frame.type in {"CodeSystem", "ValueSet"}}

    def find(system: str) -> Json | None:
        return own.get(("CodeSystem", system)) or installed("CodeSystem", system)

    def is_value_set(url: str) -> bool:
        return url in definitions().value_sets or (find(url) is None and bool(own.get(("ValueSet", url)) or installed("ValueSet", url)))

    def search(url: Any) -> tuple[Any, Any, Sequence[Any]] | None:
        if not isinstance(url, str):
            return None
        known = definitions().searches.get(url.split("|")[0])
        definition = None if known is not None else installed("SearchParameter", url)
        if definition is None:
            return known
        bases = definition.get("base")
        return definition.get("code"), definition.get("type"), bases if isinstance(bases, list) else ["Resource"]

    for frame in document.frames:
        rule = _RULES.get(frame.type)
        if rule is not None:
            document.report.fired("definitions")
            rule(document, frame)
        elif frame.type in _OF_SEARCHES:
            document.report.fired("definitions")
            _OF_SEARCHES[frame.type](document, frame, search)
        elif frame.type == "ValueSet":
            document.report.fired("definitions")
            _value_set(document, frame, find, is_value_set)
        url = frame.resource.get("url")
        if isinstance(url, str) and not is_absolute(url) and not url.startswith("#") and _is_canonical(frame.type):
            document.add("major", "fhir.canonicals.url", (frame.place, "url", None), "the url by which others refer to this definition must be absolute")
        if not document.options.experimental and frame.resource.get("experimental") is True:
            document.add("major", "fhir.definitions.experimental", frame.place, "experimental definitions are not allowed here")


def _is_canonical(kind: str) -> bool:
    """True if resources of this type are referred to by their url."""
    fields = definitions().types[kind].fields
    return "url" in fields and fields["url"].type == "uri" and {"version", "status"} <= fields.keys()


def _search_parameter(document: Document, frame: Frame, search: _Searches) -> None:
    resource, kind = frame.resource, frame.resource.get("type")
    if kind == "composite" and sum(1 for _ in numbered(resource, "component")) < 2:
        document.add("major", "fhir.definitions.search", frame.place, "a composite search parameter must define two or more components")
    _expression(document, frame)
    _components(document, frame, search)
    origin = resource.get("derivedFrom")
    known = search(origin)
    if known is None:
        return
    if isinstance(kind, str) and kind != known[1]:
        document.add("major", "fhir.definitions.search", (frame.place, "type", None), "differs from the type of the search parameter it is derived from")
    if isinstance(resource.get("code"), str) and resource["code"] != known[0]:
        document.add("minor", "fhir.definitions.search", (frame.place, "code", None), "differs from the code of the search parameter it is derived from")
    bases = resource.get("base")
    wider = {one for one in known[2] if isinstance(one, str)}
    if isinstance(bases, list) and not {one for one in bases if isinstance(one, str)} <= wider and not {"Resource", "DomainResource"} & wider:
        document.add("major", "fhir.definitions.search", (frame.place, "base", None), "not among the bases of the search parameter it is derived from")


def _components(document: Document, frame: Frame, search: _Searches) -> None:
    """The parts of a composite parameter: each has an expression in FHIRPath, and a parameter of a simple type that describes it."""
    for index, one in numbered(frame.resource, "component"):
        place: Place = (frame.place, "component", index)
        _read(document, one.get("expression"), (place, "expression", None))
        definition = one.get("definition")
        known = search(definition)
        if known is None and isinstance(definition, str):
            document.skip("components of search parameters", "their definitions are not at hand")
        elif known is not None and known[1] == "composite":
            told = "a component is described by a search parameter that is composite itself"
            document.add("minor", "fhir.definitions.search", (place, "definition", None), told, suggestion="Name a parameter of a simple type")
        elif known is not None and not _share_base(known[2], frame.resource.get("base")):
            told = "a component is described by a search parameter for other types of resources"
            document.add("minor", "fhir.definitions.search", (place, "definition", None), told, suggestion="Name a parameter of one of the bases")


def _share_base(one: Sequence[Any], other: Any) -> bool:
    bases = {base for base in other if isinstance(base, str)} if isinstance(other, list) else set()
    mine = {base for base in one if isinstance(base, str)}
    return bool(mine & bases) or bool({"Resource", "DomainResource"} & (mine | bases)) or not bases


def _read(document: Document, text: Any, place: Place) -> Node | None:
    """An expression of a search parameter; None if it cannot be read, which is reported."""
    try:
        return parse(text) if isinstance(text, str) else None
    except FhirPathError:
        if BEYOND.search(text):
            document.skip("expressions of search parameters", "quantities and special variables are beyond what is read")
        else:
            document.add("major", "fhir.definitions.expression", place, "not an expression that can be read as FHIRPath")
    return None


def _expression(document: Document, frame: Frame) -> None:
    """The expression must be FHIRPath, and begin with types that the parameter is for."""
    bases, place = frame.resource.get("base"), (frame.place, "expression", None)
    tree = _read(document, frame.resource.get("expression"), place)
    if tree is None or not isinstance(bases, list):
        return
    wide = {"Resource", "DomainResource"}
    if not wide & {one for one in bases if isinstance(one, str)} and any(name not in bases and name not in wide for name in _roots(tree)):
        document.add("major", "fhir.definitions.expression", place, "begins with a type that is none of the bases")


def _roots(node: Node | None) -> Iterator[str]:
    """The resource types at the start of an expression's alternatives."""
    while node is not None and node.kind not in {"operator", "literal"}:
        if node.kind == "member" and node.parts[0] is None:
            if node.text in definitions().resources:
                yield node.text
            return
        node = node.parts[0] if node.parts else None
    if node is not None and node.kind == "operator":
        for part in node.parts:
            yield from _roots(part)


def _capabilities(document: Document, frame: Frame, searches: _Searches) -> None:
    for rest_index, rest in numbered(frame.resource, "rest"):
        rest_place: Place = (frame.place, "rest", rest_index)
        for index, resource in numbered(rest, "resource"):
            for number, search in numbered(resource, "searchParam"):
                known = searches(search.get("definition"))
                if known is not None and isinstance(search.get("type"), str) and search["type"] != known[1]:
                    place = ((rest_place, "resource", index), "searchParam", number)
                    document.add("major", "fhir.definitions.search", place, f"the search parameter it names is of type {known[1]}")


def _code_system(document: Document, frame: Frame) -> None:
    kinds = {one["code"]: one.get("type") for one in objects(frame.resource.get("property")) if isinstance(one.get("code"), str)}
    concepts = list(_concepts(frame))
    seen: set[str] = set()
    for code in (concept.get("code") for concept, _ in concepts):
        if isinstance(code, str):
            if code in seen:
                document.add("major", "fhir.definitions.code", frame.place, "two concepts have the same code")
            seen.add(code)
    for concept, place in concepts if kinds else ():
        for index, one in numbered(concept, "property"):
            kind = kinds.get(str(one.get("code")))
            held = next((key for key in one if key.startswith("value")), None)
            if isinstance(kind, str) and held is not None and held[5:].lower() != kind.lower():
                document.add("major", "fhir.definitions.property", (place, "property", index), "not of the type that the code system states for this property")
    content, count = frame.resource.get("content"), frame.resource.get("count")
    if content == "supplement" and not frame.resource.get("supplements"):
        document.add("major", "fhir.definitions.content", (frame.place, "supplements", None), "a supplement names the code system that it supplements")
    if content != "supplement" and content is not None and frame.resource.get("supplements"):
        message = "names a code system that it supplements, so its content must be 'supplement'"
        document.add("major", "fhir.definitions.content", (frame.place, "content", None), message)
    if content == "not-present" and concepts:
        document.add("major", "fhir.definitions.content", (frame.place, "content", None), "no concepts are said to be present, and there are some")
    if content == "complete" and isinstance(count, int) and not isinstance(count, bool) and count != len(concepts):
        message = "the code system is complete, and its count is not its number of concepts"
        document.add("major", "fhir.definitions.count", (frame.place, "count", None), message)


def _concepts(frame: Frame) -> Iterator[tuple[Json, Place]]:
    """The concepts of a CodeSystem, nested ones included, with their places."""
    waiting: list[tuple[Json, Place]] = [(concept, (frame.place, "concept", index)) for index, concept in numbered(frame.resource, "concept")]
    while waiting:
        concept, place = waiting.pop()
        yield concept, place
        waiting.extend((inner, (place, "concept", index)) for index, inner in numbered(concept, "concept"))


def _value_set(document: Document, frame: Frame, find: Find, is_value_set: Callable[[str], bool]) -> None:
    """Systems are code systems, named without a version; filters fit the code system."""
    compose, parameters = frame.resource.get("compose"), parameters_of(frame.resource)
    for part in ("include", "exclude"):
        for index, one in numbered(compose, part):
            place: Place = ((frame.place, "compose", None), part, index)
            system = one.get("system")
            if not isinstance(system, str):
                continue
            if is_value_set(system):
                document.add(
                    "major",
                    "fhir.definitions.system",
                    (place, "system", None),
                    "this is the URL of a value set, not of a code system",
                    suggestion="Give the URL of the code system",
                )
            elif "|" in system:
                document.add(
                    "major",
                    "fhir.definitions.system",
                    (place, "system", None),
                    "the version of a code system belongs in version, not in its URL",
                    suggestion="Move what follows | into version",
                )
            for number, condition in numbered(one, "filter"):
                check_filter(document, condition, system, (place, "filter", number), find, parameters)


def _questionnaire(document: Document, frame: Frame) -> None:
    """Conditions (enableWhen) must name another item of the questionnaire, and none inside the item itself."""
    document.report.fired("questionnaires")
    items: list[tuple[Json, Place, tuple[str, ...]]] = []
    waiting: list[tuple[Json, Place, tuple[str, ...]]] = [(item, (frame.place, "item", index), ()) for index, item in numbered(frame.resource, "item")]
    while waiting:
        item, place, above = waiting.pop()
        items.append((item, place, above))
        identity = item.get("linkId")
        chain = (*above, identity) if isinstance(identity, str) else above
        waiting.extend((inner, (place, "item", index), chain) for index, inner in numbered(item, "item"))
    ancestors = {item["linkId"]: set(above) for item, _, above in items if isinstance(item.get("linkId"), str)}
    for item, place, _ in items:
        for index, condition in numbered(item, "enableWhen"):
            question = condition.get("question")
            if not isinstance(question, str):
                continue
            here: Place = (place, "enableWhen", index)
            if question not in ancestors:
                document.add(
                    "major", "fhir.questionnaires.enable", here, "no item of the questionnaire has this linkId", suggestion="Correct question, or add the item"
                )
            elif isinstance(identity := item.get("linkId"), str) and (identity in ancestors[question] or identity == question):
                document.add("major", "fhir.questionnaires.enable", here, "a condition cannot refer to the item itself or to one inside it")


def _measure(document: Document, frame: Frame) -> None:
    """A criterion in CQL names a definition in a library, so the Measure must name a library."""
    if frame.resource.get("library"):
        return
    groups: list[tuple[Json, Place]] = [(group, (frame.place, "group", index)) for index, group in numbered(frame.resource, "group")]
    stated = [(one, (place, part, number)) for group, place in groups for part in ("population", "stratifier") for number, one in numbered(group, part)]
    inner = [(one, (place, "component", number)) for holder, place in stated for number, one in numbered(holder, "component")]
    beside = [(one, (frame.place, "supplementalData", number)) for number, one in numbered(frame.resource, "supplementalData")]
    for holder, place in (*stated, *inner, *beside):
        criteria = holder.get("criteria")
        if isinstance(criteria, dict) and str(criteria.get("language")).startswith("text/cql"):
            document.add(
                "major",
                "fhir.definitions.library",
                (place, "criteria", None),
                "a criterion in CQL, and the Measure names no library",
                suggestion="Name the library that defines it in Measure.library",
            )


_OF_SEARCHES: dict[str, Callable[[Document, Frame, _Searches], None]] = {"SearchParameter": _search_parameter, "CapabilityStatement": _capabilities}
_RULES: dict[str, Callable[[Document, Frame], None]] = {
    "CodeSystem": _code_system,
    "StructureDefinition": check_structure,
    "Questionnaire": _questionnaire,
    "Measure": _measure,
}
