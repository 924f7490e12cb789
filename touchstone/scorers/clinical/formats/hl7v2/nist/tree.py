"""A message as a tree of its profile's groups, segments, fields, components and subcomponents.

Parts are made when they are asked for. Empty parts do not exist: presence in the sense of a profile is presence in the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from touchstone.scorers.clinical.formats.hl7v2.escapes import unescape
from touchstone.scorers.clinical.formats.hl7v2.lexer import PARTS_MAX, Message, Segment
from touchstone.scorers.clinical.formats.hl7v2.nist.model import Datatype, Element, GroupPlace, Mapping, Profile, SegmentFlavor, SegmentPlace
from touchstone.scorers.clinical.formats.hl7v2.nist.paths import Path

Definition: TypeAlias = GroupPlace | SegmentFlavor | Datatype
#: Separators of components and of subcomponents.
SEPARATORS = ("^", "&")
NULL = '""'
#: Changes the flavor of a field by the slice that it is in.
Slicer: TypeAlias = Callable[[SegmentFlavor, "Node"], None]


class Node:
    """One element of a message.

    `definition`: its group, segment flavor or data type; `place`: how its parent describes it; `instance`: the repetition, from 1;
    `level`: 0 for a field, 1 for a component, 2 for a subcomponent, -1 above. `path`: as findings show it.
    """

    __slots__ = ("_parts", "definition", "instance", "level", "path", "place", "position", "segment", "text", "tree")

    def __init__(
        self,
        tree: Tree,
        definition: Definition,
        place: SegmentPlace | GroupPlace | Element | None,
        position: int,
        instance: int,
        path: str,
        text: str = "",
        level: int = -1,
    ) -> None:
        self.tree, self.definition, self.place = tree, definition, place
        self.position, self.instance, self.path = position, instance, path
        self.text, self.level = text, level
        self.segment: Segment | None = None
        self._parts: dict[int, list[Node]] | None = None

    @property
    def is_simple(self) -> bool:
        """True for a value without components."""
        return self.level >= 0 and isinstance(self.definition, Datatype) and not self.definition.components

    @property
    def value(self) -> str:
        """The text, without escape sequences."""
        return unescape(self.text)

    def parts(self) -> dict[int, list[Node]]:
        """The parts that are present, by position."""
        if self._parts is None:
            self._parts = self._made()
        return self._parts

    def forget(self) -> None:
        """Make the parts again when they are next asked for: the flavor has changed."""
        self._parts = None

    def hold(self, parts: dict[int, list[Node]]) -> None:
        """Have these parts."""
        self._parts = parts

    def add(self, node: Node) -> None:
        """Add a segment or group to a group."""
        if self._parts is None:
            self._parts = {}
        self._parts.setdefault(node.position, []).append(node)

    def _made(self) -> dict[int, list[Node]]:
        definition = self.definition
        if isinstance(definition, SegmentFlavor):
            return self.tree.fields_of(self, definition)
        if isinstance(definition, GroupPlace) or not definition.components:
            return {}
        if self.level >= len(SEPARATORS):
            # A data type nested deeper than HL7 can write: its first component is the text.
            element = definition.components[0]
            inner = self.tree.profile.datatypes[element.datatype]
            return {1: [Node(self.tree, inner, element, 1, 1, self.path, self.text, self.level)]}
        made = {}
        texts = self.text.split(SEPARATORS[self.level], PARTS_MAX)
        for element in definition.components:
            if element.position > len(texts):
                break
            text = texts[element.position - 1]
            if text and (self.level or text.strip("&")):
                inner = self.tree.profile.datatypes[element.datatype]
                path = f"{self.path}.{element.position}"
                made[element.position] = [Node(self.tree, inner, element, element.position, 1, path, text, self.level + 1)]
        return made

    def find(self, path: Path) -> list[Node]:
        """The elements at a path from here. A value without components is its own first component, as HL7 reads it."""
        found = [self]
        for position, instance in path:
            deeper: list[Node] = []
            for node in found:
                if node.is_simple:
                    deeper += [node] if position == 1 and instance in {None, 1} else []
                else:
                    deeper += (part for part in node.parts().get(position, ()) if instance is None or part.instance == instance)
            found = deeper
        return found


class Tree:
    """One message by one profile. `unplaced`: segments that the profile has no place for; `slice_field`: chooses data types by slices."""

    __slots__ = ("message_id", "profile", "root", "slice_field", "unplaced")

    def __init__(self, profile: Profile, message_id: str, group: GroupPlace, slice_field: Slicer | None = None) -> None:
        self.profile, self.message_id, self.slice_field = profile, message_id, slice_field
        self.root = Node(self, group, group, 0, 1, group.name)
        self.unplaced: list[Segment] = []

    def fields_of(self, node: Node, flavor: SegmentFlavor) -> dict[int, list[Node]]:
        """The field repetitions of a segment, each with the data type of its slice, its mapping or its definition."""
        segment = node.segment
        if segment is None:
            return {}
        made: dict[int, list[Node]] = {}
        for element in flavor.fields:
            position = element.position
            if position >= len(segment.fields):
                break
            text = segment.fields[position]
            if not text:
                continue
            base = f"{segment.path}-{position}"
            datatype = self.profile.datatypes[element.datatype]
            if segment.name in {"MSH", "FHS", "BHS"} and position <= 2:
                made[position] = [Node(self, datatype, element, position, 1, base, text, 0)]
                continue
            texts = text.split("~", PARTS_MAX)
            for at, one in enumerate(texts, start=1):
                if one.strip("^&"):
                    path = f"{base}[{at}]" if len(texts) > 1 else base
                    made.setdefault(position, []).append(Node(self, datatype, element, position, at, path, one, 0))
        node.hold(made)
        for mapping in flavor.mappings:
            self._map(node, made, mapping)
        if self.slice_field is not None:
            for repetitions in made.values():
                for repetition in repetitions:
                    self.slice_field(flavor, repetition)
        return made

    def _map(self, node: Node, made: dict[int, list[Node]], mapping: Mapping) -> None:
        """Give the field whose type varies the data type that its reference names; without a case it stays as it is."""
        first = next((one.value for one in node.find(mapping.reference)), None)
        second = next((one.value for one in node.find(mapping.second)), None) if mapping.second else None
        chosen = next((mapping.cases[key] for key in ((first, second), (first, None)) if key in mapping.cases), None)
        if chosen is not None:
            for one in made.get(mapping.position, ()):
                one.definition = self.profile.datatypes[chosen]


class _Frame:
    """An open group: its node, and how far its children have come."""

    __slots__ = ("at", "count", "node")

    def __init__(self, node: Node) -> None:
        self.node, self.at, self.count = node, 0, 0


class _Placer:
    """Gives each segment its place: the next one that fits, in the innermost open group first.

    In turn: a place that keeps the maxima; one that breaks a maximum; one in a group whose required beginning is missing.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.open = [_Frame(tree.root)]
        definition = tree.root.definition
        self.known = definition.holds if isinstance(definition, GroupPlace) else frozenset()

    def place(self, segment: Segment) -> bool:
        """Place one segment; False if the profile has no place for it from here on."""
        if segment.name not in self.known:
            return False
        for begins, keeps in ((True, True), (True, False), (False, True), (False, False)):
            for depth in range(len(self.open) - 1, -1, -1):
                if self._take(depth, segment, begins=begins, keeps=keeps):
                    return True
        return False

    def _take(self, depth: int, segment: Segment, *, begins: bool, keeps: bool) -> bool:
        frame = self.open[depth]
        group = frame.node.definition
        assert isinstance(group, GroupPlace)
        for at in range(frame.at, len(group.children)):
            child = group.children[at]
            count = frame.count if at == frame.at else 0
            if keeps and child.repeats.most is not None and count >= max(child.repeats.most, 1):
                continue
            names = (child.segment,) if isinstance(child, SegmentPlace) else child.first if begins else child.holds
            if segment.name not in names:
                continue
            del self.open[depth + 1 :]
            frame.at, frame.count = at, count + 1
            if isinstance(child, SegmentPlace):
                node = Node(self.tree, self.tree.profile.segments[child.flavor], child, child.position, frame.count, segment.path)
                node.segment = segment
                frame.node.add(node)
                return True
            inner = Node(self.tree, child, child, child.position, frame.count, child.name)
            frame.node.add(inner)
            self.open.append(_Frame(inner))
            return self._take(depth + 1, segment, begins=begins, keeps=False)
        return False


def tree_of(message: Message, profile: Profile, message_id: str, group: GroupPlace) -> Tree:
    """The tree of a message. Lines that are not segments are left out; the reader has reported them."""
    tree = Tree(profile, message_id, group)
    placer = _Placer(tree)
    for segment in message.segments:
        if segment.name != "?" and not placer.place(segment):
            tree.unplaced.append(segment)
    return tree
