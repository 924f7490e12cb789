"""Places of element paths in XML text: `ClinicalDocument/component/section[2]/@code` in C-CDA, `Patient.name[0].family` in FHIR.

The tags are read from the text itself, so that every element keeps its place, and a document that is not well-formed is read as far as it goes.
Nothing is expanded or fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Final

from touchstone.scorers.clinical.formats.fhir.tables import element_names
from touchstone.scorers.clinical.reading.spots import UNKNOWN, Lines, Spot, Step, steps_of

#: Elements that are read.
ELEMENTS_MAX: Final = 400_000
_SDTC: Final = "urn:hl7-org:sdtc"
_TAG: Final = re.compile(r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<[?!][^>]*>|<(/?)([^\s/>\"'<=]+)(?:[^<>\"'/]++|\"[^\"]*\"|'[^']*'|/(?!>))*+(/?)>", re.DOTALL)
_PREFIX: Final = re.compile(r"xmlns:([\w.-]+)\s*=\s*[\"']([^\"']*)[\"']")
#: A step of an XPath as validators write it, with or without a prefix and a position from 1.
_XPATH_STEP: Final = re.compile(r"(?:(?P<prefix>[\w*.-]+):)?(?P<name>[\w.?*-]+)(?:\[(?P<number>\d+)\])?")
_TRAILING_LINE: Final = re.compile(r" (\d{1,11})$")


class _Element:
    """One element. `name`: as in paths, `sdtc:` before HL7's extensions. `start`, `end`: of its start tag."""

    __slots__ = ("_by_name", "_resources", "_unknown", "children", "end", "name", "start")

    def __init__(self, name: str, start: int, end: int) -> None:
        self.name = name
        self.start = start
        self.end = end
        self.children: list[_Element] = []
        self._by_name: dict[str, list[_Element]] | None = None
        self._resources: dict[str, list[_Element]] | None = None
        self._unknown: list[_Element] | None = None

    def named(self, name: str) -> list[_Element]:
        """Its children of one name. Sorted by name once, since many findings may ask for them."""
        if self._by_name is None:
            self._by_name = {}
            for child in self.children:
                self._by_name.setdefault(child.name, []).append(child)
        return self._by_name.get(name, [])

    def resources(self, name: str) -> list[_Element]:
        """The resources of one type in the entries of a Bundle."""
        if self._resources is None:
            self._resources = {}
            for one in (one for entry in self.named("entry") for holder in entry.named("resource") for one in holder.children[:1]):
                self._resources.setdefault(one.name, []).append(one)
        return self._resources.get(name, [])

    def unknown(self, shown: AbstractSet[str]) -> list[_Element]:
        """The first child of each name that paths do not show, but `?` in its place. `shown`: all names that paths show."""
        if self._unknown is None:
            first: dict[str, _Element] = {}
            for child in self.children:
                if child.name not in shown:
                    first.setdefault(child.name, child)
            self._unknown = list(first.values())
        return self._unknown

    @property
    def spot(self) -> Spot:
        """The place of its start tag."""
        return Spot(self.start, self.end)


def _read(text: str) -> _Element:
    """The elements of a text below one that stands for the document."""
    sdtc = {prefix for prefix, address in _PREFIX.findall(text) if address == _SDTC} | {"sdtc"}
    shown: dict[str, str] = {}
    document = here = _Element("", 0, 0)
    around: list[_Element] = []
    left = ELEMENTS_MAX
    for tag in _TAG.finditer(text):
        ends, name, is_empty = tag.groups()
        if name is None:
            continue
        if ends:
            if around:
                here = around.pop()
            continue
        if left == 0:
            break
        left -= 1
        if name not in shown:
            prefix, colon, local = name.partition(":")
            shown[name] = name if not colon else f"sdtc:{local}" if prefix in sdtc else local
        start, end = tag.span()
        element = _Element(shown[name], start, end)
        here.children.append(element)
        if not is_empty:
            around.append(here)
            here = element
    return document


def ccda_spots(text: str, paths: Iterable[str]) -> dict[str, Spot | None]:
    """The place of each path in a C-CDA document; an attribute's is the attribute. None where the text holds no element at all."""
    document = _read(text)
    return {path: _ccda_spot(text, document, path) for path in paths}


def _ccda_spot(text: str, document: _Element, path: str) -> Spot | None:
    line = _TRAILING_LINE.search(path)
    steps, _, attribute = (path[: line.start()] if line is not None else path).strip("/").partition("@")
    here = document
    for step in [one for one in steps.split("/") if one]:
        child = _child(here, step)
        if child is None:
            if here is document:
                return Lines(text).spot(int(line[1])) if line is not None else None
            return here.spot._replace(is_exact=False)
        here = child
    if here is document:
        return None
    return _attribute_spot(text, here, attribute) if attribute else here.spot


def _child(here: _Element, step: str) -> _Element | None:
    found = _XPATH_STEP.fullmatch(step)
    if found is None:
        return None
    name = found["name"] if found["prefix"] != "sdtc" else f"sdtc:{found['name']}"
    same = here.named(name)
    number = int(found["number"] or 1)
    return same[number - 1] if 1 <= number <= len(same) else None


def _attribute_spot(text: str, element: _Element, name: str) -> Spot:
    found = re.compile(rf"(?<=[\s:]){re.escape(name.rpartition(':')[2])}\s*=\s*(?:\"[^\"]*\"|'[^']*')").search(text, element.start, element.end)
    return Spot(found.start(), found.end()) if found is not None else element.spot._replace(is_exact=False)


def fhir_xml_spots(text: str, paths: Iterable[str]) -> dict[str, Spot | None]:
    """The place of each FHIR path in a document of FHIR XML."""
    document = _read(text)
    root = document.children[0] if document.children else None
    wanted = list(paths)
    shown = element_names() | {steps[-1].name for path in wanted if (steps := steps_of(path)[0])}
    return {path: None if root is None else _fhir_spot(text, root, path, shown) for path in wanted}


def _fhir_spot(text: str, root: _Element, path: str, shown: AbstractSet[str]) -> Spot | None:
    steps, is_whole = steps_of(path)
    here = root
    if steps and (steps[0].name == root.name or steps[0].name == "Resource"):
        steps = steps[1:]
    elif not steps or not (root.name == "Bundle" and (steps[0].indices or steps[0].name == "Patient")):
        return None
    for step in steps:
        child = _fhir_child(here, step, shown)
        if child is None:
            is_attribute = step.name in {"id", "url"} and step is steps[-1]  # attributes in FHIR XML, where JSON has members
            return _attribute_spot(text, here, step.name) if is_attribute else here.spot._replace(is_exact=False)
        here = child
    return here.spot._replace(is_exact=is_whole)


def _fhir_child(here: _Element, step: Step, shown: AbstractSet[str]) -> _Element | None:
    index = step.indices[0] if step.indices else 0
    if step.name[:1].isupper() and here.name == "Bundle":
        resources = here.resources(step.name)
        return resources[index] if index < len(resources) else None
    name = step.name.removeprefix("_")
    if name.startswith(UNKNOWN):
        number = int(name.removeprefix(f"{UNKNOWN}_")) if name != UNKNOWN else 1
        unknown = here.unknown(shown)
        return unknown[number - 1] if number <= len(unknown) else None
    stem = name.removesuffix("[x]")
    children = here.named(name) if stem == name else [one for one in here.children if one.name.startswith(stem) and one.name[len(stem) :][:1].isupper()]
    child = children[index] if index < len(children) else None
    if child is not None and name in {"resource", "contained"} and child.children:
        return child.children[0]
    return child
