"""Checks one message by one profile: usage, cardinality, length and constants of every element, then the rules bound to it."""

from __future__ import annotations

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.formats.hl7v2.lexer import Segment
from touchstone.scorers.clinical.formats.hl7v2.nist.co_constraints import Tables
from touchstone.scorers.clinical.formats.hl7v2.nist.content import Content
from touchstone.scorers.clinical.formats.hl7v2.nist.model import Datatype, Element, GroupPlace, SegmentFlavor, SegmentPlace
from touchstone.scorers.clinical.formats.hl7v2.nist.sink import Sink
from touchstone.scorers.clinical.formats.hl7v2.nist.slicing import Slicer
from touchstone.scorers.clinical.formats.hl7v2.nist.tree import NULL, Node, Tree
from touchstone.scorers.reporting.words import counted


class Check:
    """Walks the tree of one message."""

    def __init__(self, tree: Tree, sink: Sink) -> None:
        self.tree, self.sink = tree, sink
        self.rules = tree.profile.rules
        self.content = Content(tree.profile.library, sink)
        #: Segments with more fields than the profile describes, by id of the segment in the profile: each is one finding, at the first.
        self._extra: dict[str, list[Node]] = {}

    def run(self) -> None:
        """Check the whole message."""
        Slicer(self.tree.profile.slicings, self.content.evaluator, self.sink).apply(self.tree)
        self._group(self.tree.root)
        Tables(self.content).apply(self.tree.profile.tables, self.tree.root, self.tree.message_id)
        for segment in self.tree.unplaced:
            self._unplaced(segment)
        for nodes in self._extra.values():
            self._more_than_described(nodes)

    def _more_than_described(self, nodes: list[Node]) -> None:
        """Fields beyond those of the profile, said once for all segments of the kind: as often as not, it is the profile that is short."""
        definition, segment = nodes[0].definition, nodes[0].segment
        assert isinstance(definition, SegmentFlavor)
        assert segment is not None
        where = f" in {len(nodes)} segments" if len(nodes) > 1 else ""
        text = f"{self.sink.title} describes {counted(len(definition.fields), 'field')} of {definition.name}, and more are given{where}"
        self.sink.add("minor", "profile.extra", segment.path, text)

    def _unplaced(self, segment: Segment) -> None:
        """A segment that the profile does not have here. A local (Z) one may be a private agreement, so it is minor."""
        is_local = segment.name.startswith("Z")
        text = f"{self.sink.title} has no place for this segment here"
        self.sink.add("minor" if is_local else "major", "profile.unexpected-segment", segment.path if not is_local else f"line {segment.line}", text)

    def _usage(self, place: SegmentPlace | GroupPlace | Element, nodes: list[Node], kind: str, path: str, what: str) -> bool:
        """Check usage and cardinality of one element; True if its occurrences are checked further."""
        usage, sink = place.usage, self.sink
        sink.fired += 1
        if not nodes:
            if usage == "R":
                sink.add("major", f"profile.required-{kind}", path, f"{sink.title} requires {what} (usage R)")
            return False
        if usage in {"X", "W"}:
            severity: Severity = "major" if usage == "X" else "minor"
            word = "does not support" if usage == "X" else "has withdrawn"
            for node in nodes:
                sink.add(severity, "profile.not-supported", node.path, f"{sink.title} {word} {what} (usage {usage}); leave it out")
            return False
        count = nodes[-1].instance
        if kind != "component" and not place.repeats.holds(count):
            least, most = place.repeats
            text = f"{sink.title} allows {_span(least, most)} of {what}, and there are {count}"
            sink.add("major", "profile.cardinality", path, text)
        return True

    def _group(self, node: Node) -> None:
        definition = node.definition
        assert isinstance(definition, GroupPlace)
        parts = node.parts()
        for child in definition.children:
            nodes = parts.get(child.position, [])
            if isinstance(child, SegmentPlace):
                if self._usage(child, nodes, "segment", nodes[-1].path if nodes else child.segment, f"the segment {child.segment}"):
                    for one in nodes:
                        self._segment(one)
            elif self._usage(child, nodes, "group", child.name, f"the group {child.name}"):
                for one in nodes:
                    self._group(one)
        self._apply("Message" if node is self.tree.root else "Group", definition.id, definition.name, node)

    def _apply(self, kind: str, own: str, name: str, node: Node) -> None:
        """Apply the rules of an element, after what is missing of it was reported."""
        rules = self.rules.of(kind, own, name)
        if rules is not None:
            self.content.apply(rules, node)

    def _segment(self, node: Node) -> None:
        definition = node.definition
        assert isinstance(definition, SegmentFlavor)
        parts, segment = node.parts(), node.segment
        assert segment is not None
        for element in definition.fields:
            nodes = parts.get(element.position)
            if nodes is None:
                if element.usage == "R":
                    self._usage(element, [], "field", f"{segment.path}-{element.position}", f"{element.name or 'this field'}")
                else:
                    self.sink.fired += 1
                continue
            path = f"{segment.path}-{element.position}"
            if not self._usage(element, nodes, "field", path, element.name or "this field"):
                continue
            if nodes[0].text == NULL:
                if element.usage == "R":
                    self.sink.add("major", "profile.required-field", path, f"{self.sink.title} requires a value of {element.name} (usage R), and null is given")
                continue
            for one in nodes:
                self._value(one, element)
        if any(segment.fields[len(definition.fields) + 1 :]):
            self._extra.setdefault(definition.id, []).append(node)
        self._apply("Segment", definition.id, definition.name, node)

    def _value(self, node: Node, element: Element) -> None:
        """Check one value and its components."""
        definition = node.definition
        assert isinstance(definition, Datatype)
        if not definition.components:
            self._simple(node, element)
        else:
            self._components(node, definition)
        self._apply("Datatype", definition.id, definition.name, node)

    def _components(self, node: Node, definition: Datatype) -> None:
        parts = node.parts()
        for component in definition.components:
            nodes = parts.get(component.position)
            if nodes is None:
                self.sink.fired += 1
                if component.usage == "R":
                    path = f"{node.path}.{component.position}"
                    name = component.name or "this component"
                    self.sink.add("major", "profile.required-component", path, f"{self.sink.title} requires {name} (usage R of {definition.id})")
            elif self._usage(component, nodes, "component", nodes[0].path, component.name or "this component"):
                self._value(nodes[0], component)

    def _simple(self, node: Node, element: Element) -> None:
        """Check the length of a text, and the constant that it must be."""
        sink = self.sink
        if element.constant is not None:
            sink.fired += 1
            if node.value != element.constant:
                suggestion = f"Write {element.constant[:80]}"
                sink.add("major", "profile.constant", node.path, f"{sink.title} has a fixed value for {element.name or 'this element'}", suggestion=suggestion)
        length = element.length
        if length is not None:
            sink.fired += 1
            if not length.holds(len(node.text)) and not length.holds(len(node.value)):
                allowed = _span(length.least, length.most, "character")
                text = f"{sink.title} allows {allowed} for {element.name or 'this element'}; given: {len(node.value)}"
                sink.add("minor", "profile.length", node.path, text)
        elif element.conformance_length is not None and len(node.text) > element.conformance_length and len(node.value) > element.conformance_length:
            cut = "and receivers may cut the rest" if element.may_truncate else "and receivers need not take more"
            text = f"{sink.title}: the conformance length of {element.name or 'this element'} is {counted(element.conformance_length, 'character')}, {cut}"
            sink.add("info" if element.may_truncate else "minor", "profile.conformance-length", node.path, text)


def _span(least: int, most: int | None, noun: str = "") -> str:
    """`1 character`, `1 to 20 characters`, `at least 2`."""
    spoken = counted(least if most is None else most, noun) if noun else str(least if most is None else most)
    return f"at least {spoken}" if most is None else spoken if least == most else f"{least} to {spoken}"
