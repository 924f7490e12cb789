"""Reads the structure of a profile: messages, groups, segments and data types (the file whose root is ConformanceProfile)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.formats.hl7v2.nist.model import (
    USAGES,
    Binding,
    Datatype,
    Element,
    GroupPlace,
    Mapping,
    MessageProfile,
    SegmentFlavor,
    SegmentPlace,
)
from touchstone.scorers.clinical.formats.hl7v2.nist.paths import Range, read_path
from touchstone.scorers.clinical.formats.hl7v2.nist.xml_files import local

if TYPE_CHECKING:
    from lxml.etree import _Element

GROUP_DEPTH_MAX = 30
#: What the tools write where nothing was entered.
NOTHING = frozenset({"", "na", "null", "no org info", "no version info", "no date info"})


def said(text: str | None) -> str:
    """A text of the profile; empty for the words that stand for nothing."""
    text = " ".join((text or "").split())
    return "" if text.casefold() in NOTHING else text


class StructureReader:
    """Reads one ConformanceProfile. Raises `ConfigError` for a reference that leads nowhere; counts usages that it does not know in `unknown`."""

    def __init__(self, path: Path, root: _Element, unknown: Counter[str]) -> None:
        self._path, self._root, self._unknown = path, root, unknown
        self.bindings: list[tuple[str, str, Binding]] = []
        self.datatypes = {one.id: one for one in map(self._datatype, self._all("Datatypes", "Datatype"))}
        self.segments = {one.id: one for one in map(self._segment, self._all("Segments", "Segment"))}
        self.messages = tuple(map(self._message, self._all("Messages", "Message")))
        if not self.messages:
            raise ConfigError(f"{path} describes no message; export the profile again, with at least one message")
        self._check_references()

    def _all(self, parent: str, name: str) -> list[_Element]:
        return [child for section in self._root if local(section) == parent for child in section if local(child) == name]

    def _number(self, element: _Element, name: str) -> int | None:
        """A whole number; None for `*`, `NA` and nothing. Raises `ConfigError` for anything else."""
        text = element.get(name, "").strip()
        if text == "*" or text.upper() == "NA" or not text:
            return None
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise ConfigError(f"{self._path}, line {element.sourceline}: {name} is no number; correct it in the profile")
        return int(text)

    def _usage(self, element: _Element) -> str:
        usage = str(element.get("Usage", "")).strip().upper()
        if usage not in USAGES:
            self._unknown[f"usage {usage or 'missing'}"] += 1
            return "O"
        return usage

    def _repeats(self, element: _Element) -> Range:
        least, most = self._number(element, "Min") or 0, self._number(element, "Max")
        return Range(least, most if element.get("Max") is not None else 1)

    def _element(self, position: int, element: _Element) -> Element:
        """A field or a component. Lengths are given as MinLength and MaxLength, or as ConfLength: `20#` may be cut, `20=` may not."""
        conformance = element.get("ConfLength", "").strip()
        bare = conformance.rstrip("#=")
        least, most = self._number(element, "MinLength"), self._number(element, "MaxLength")
        has_length = element.get("MinLength", "NA").strip().upper() != "NA" or most is not None
        return Element(
            position,
            said(element.get("Name")),
            self._usage(element),
            element.get("Datatype", ""),
            self._repeats(element),
            Range(least or 0, most) if has_length else None,
            int(bare) if bare.isascii() and bare.isdigit() and len(bare) < 10 else None,
            conformance.endswith("#"),
            element.get("ConstantValue") or None,
        )

    def _bound(self, kind: str, own: str, position: int, element: _Element) -> Element:
        """An element with the value set that the older form binds to it by attributes: `Binding`, and the components `1` or `1:4`."""
        made = self._element(position, element)
        sets = tuple(name for name in element.get("Binding", "").split(":") if name)
        if sets:
            # The places are those of the element's data type, so they are found when a message is checked.
            binding = Binding(((position, None),), element.get("BindingStrength", "")[:1].upper(), (), sets, at=element.get("BindingLocation", "1"))
            self.bindings.append((kind, own, binding))
        return made

    def _datatype(self, element: _Element) -> Datatype:
        components = [child for child in element if local(child) == "Component"]
        own = element.get("ID", "")
        return Datatype(own, element.get("Name", own), tuple(self._bound("Datatype", own, at, child) for at, child in enumerate(components, start=1)))

    def _segment(self, element: _Element) -> SegmentFlavor:
        fields = [child for child in element if local(child) == "Field"]
        mappings = [child for group in element if local(group) == "DynamicMapping" for child in group if local(child) == "Mapping"]
        return SegmentFlavor(
            element.get("ID", ""),
            element.get("Name", ""),
            said(element.get("Version")),
            tuple(self._bound("Segment", element.get("ID", ""), at, child) for at, child in enumerate(fields, start=1)),
            tuple(self._mapping(one) for one in mappings),
        )

    def _mapping(self, element: _Element) -> Mapping:
        second = element.get("SecondReference")
        try:
            reference, other = read_path(element.get("Reference", "")), read_path(second) if second else None
            position = int(element.get("Position", ""))
        except ValueError:
            raise ConfigError(f"{self._path}, line {element.sourceline}: a dynamic mapping names no field; correct it in the profile") from None
        cases = {(one.get("Value") or None, one.get("SecondValue") or None): one.get("Datatype", "") for one in element if local(one) == "Case"}
        return Mapping(position, reference, other, cases)

    def _message(self, element: _Element) -> MessageProfile:
        own = element.get("ID", "")
        root = self._group(element, own, element.get("StructID", ""), 0, 0)
        return MessageProfile(
            own,
            said(element.get("Name")),
            element.get("Type", ""),
            element.get("Event", ""),
            element.get("StructID", ""),
            root,
            said(element.get("Identifier")),
        )

    def _group(self, element: _Element, own: str, name: str, position: int, depth: int) -> GroupPlace:
        if depth > GROUP_DEPTH_MAX:
            raise ConfigError(f"{self._path}, line {element.sourceline}: groups are nested more than {GROUP_DEPTH_MAX} deep; correct the profile")
        children: list[SegmentPlace | GroupPlace] = []
        for child in element:
            at = len(children) + 1
            if local(child) == "Segment":
                flavor = child.get("Ref", "")
                if flavor not in self.segments:
                    raise ConfigError(f"{self._path}, line {child.sourceline}: no segment {flavor!r} is defined; export the profile again")
                children.append(SegmentPlace(at, flavor, self.segments[flavor].name, self._usage(child), self._repeats(child)))
            elif local(child) == "Group":
                children.append(self._group(child, child.get("ID", ""), child.get("Name", ""), at, depth + 1))
            else:
                self._unknown[local(child)] += 1
        usage, repeats = ("R", Range(1, 1)) if depth == 0 else (self._usage(element), self._repeats(element))
        first: set[str] = set()
        for one in children:
            first |= {one.segment} if isinstance(one, SegmentPlace) else one.first
            if one.usage == "R":
                break
        holds = frozenset().union(*({one.segment} if isinstance(one, SegmentPlace) else one.holds for one in children))
        return GroupPlace(position, own, name, usage, repeats, tuple(children), frozenset(first), holds)

    def _check_references(self) -> None:
        """Refuse a profile whose fields or components name data types that it does not define: they would check nothing."""
        used = {element.datatype: f"{flavor.id}-{element.position}" for flavor in self.segments.values() for element in flavor.fields}
        used |= {element.datatype: f"{datatype.id}.{element.position}" for datatype in self.datatypes.values() for element in datatype.components}
        used |= {datatype: flavor.id for flavor in self.segments.values() for mapping in flavor.mappings for datatype in mapping.cases.values()}
        absent = sorted(set(used) - set(self.datatypes))
        if absent:
            raise ConfigError(f"{self._path}: no data type {absent[0]!r} is defined ({used[absent[0]]} has it); export the profile again")
        self._check_circles()

    def _check_circles(self) -> None:
        """Refuse a data type that contains itself: its parts would have no end."""
        left = {own: {element.datatype for element in one.components} for own, one in self.datatypes.items()}
        while True:
            used = {part for parts in left.values() for part in parts}
            circle = {own: parts & left.keys() for own, parts in left.items() if own in used and parts & left.keys()}
            if len(circle) == len(left):
                break
            left = circle
        if left:
            raise ConfigError(f"{self._path}: the data type {min(left)!r} contains itself; correct its components in the profile")
