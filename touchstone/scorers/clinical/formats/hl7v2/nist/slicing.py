"""Slices: the flavor of a segment or field repetition by its number, or by an assertion about it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from touchstone.scorers.clinical.formats.hl7v2.nist.evaluation import Evaluator
from touchstone.scorers.clinical.formats.hl7v2.nist.expressions import ExpressionReader
from touchstone.scorers.clinical.formats.hl7v2.nist.model import GroupPlace, Profile, SegmentFlavor, Slice, Slicings
from touchstone.scorers.clinical.formats.hl7v2.nist.rule_reader import child
from touchstone.scorers.clinical.formats.hl7v2.nist.sink import Sink
from touchstone.scorers.clinical.formats.hl7v2.nist.tree import Node, Tree
from touchstone.scorers.clinical.formats.hl7v2.nist.xml_files import local

if TYPE_CHECKING:
    from lxml.etree import _Element


class SlicingReader:
    """Reads a ProfileSlicing into `slicings`; a slice whose flavor is not defined, or that cannot be read, is counted in `unknown`."""

    def __init__(self, profile: Profile) -> None:
        self.profile, self.slicings = profile, profile.slicings
        self.unknown: Counter[str] = profile.unknown
        self.expressions = ExpressionReader(profile.unknown)

    def read(self, root: _Element) -> None:
        """Add the slices of segments (by message, group and position) and of fields (by segment flavor and position)."""
        for section in root:
            if local(section) == "SegmentSlicing":
                for message in section:
                    for context in message:
                        for at, slices in self._positions(context, set(self.profile.segments)):
                            self.slicings.segments[message.get("ID", ""), context.get("ID", ""), at] = slices
            elif local(section) == "FieldSlicing":
                for context in section:
                    for at, slices in self._positions(context, set(self.profile.datatypes)):
                        self.slicings.fields[context.get("ID", ""), at] = slices
            elif local(section) != "MetaData":
                self.unknown[local(section)] += 1

    def _positions(self, context: _Element, flavors: set[str]) -> list[tuple[int, tuple[Slice, ...]]]:
        found = []
        for slicing in context:
            position = slicing.get("Position", "")
            slices = [self._slice(one, flavors) for one in slicing]
            known = local(slicing) in {"AssertionSlicing", "OccurrenceSlicing"} and position.isascii() and position.isdigit() and len(position) < 6
            if not known or None in slices:
                self.unknown[f"{local(slicing)} that cannot be read"] += 1
            else:
                found.append((int(position), tuple(one for one in slices if one is not None)))
        return found

    def _slice(self, element: _Element, flavors: set[str]) -> Slice | None:
        flavor, occurrence, assertion = element.get("Ref", ""), element.get("Occurrence", ""), child(element, "Assertion")
        if flavor not in flavors or not (assertion is not None or (occurrence.isascii() and occurrence.isdigit() and len(occurrence) < 6)):
            return None
        return Slice(flavor, None, self.expressions.assertion(assertion)) if assertion is not None else Slice(flavor, int(occurrence), None)


class Slicer:
    """Gives the segments and fields of a tree the flavors of their slices; what fits no slice keeps its own."""

    def __init__(self, slicings: Slicings, evaluator: Evaluator, sink: Sink) -> None:
        self.slicings, self.evaluator, self.sink = slicings, evaluator, sink

    def apply(self, tree: Tree) -> None:
        """Slice the segments now, and the fields of each segment when they are made."""
        if self.slicings.fields:
            tree.slice_field = self._field
        if self.slicings.segments:
            self._group(tree.root, tree)

    def _group(self, group: Node, tree: Tree) -> None:
        definition = group.definition
        for position, nodes in group.parts().items():
            slices = self.slicings.segments.get((tree.message_id, getattr(definition, "id", ""), position), ())
            for node in nodes:
                if isinstance(node.definition, GroupPlace):
                    self._group(node, tree)
                elif (flavor := self._chosen(slices, node)) is not None:
                    node.definition = tree.profile.segments[flavor]
                    node.forget()

    def _field(self, flavor: SegmentFlavor, node: Node) -> None:
        slices = self.slicings.fields.get((flavor.id, node.position), ())
        chosen = self._chosen(slices, node)
        if chosen is not None:
            node.definition = node.tree.profile.datatypes[chosen]
            node.forget()

    def _chosen(self, slices: tuple[Slice, ...], node: Node) -> str | None:
        """The flavor of the first slice that fits."""
        for one in slices:
            if one.assertion is None:
                fits: bool | None = one.occurrence == node.instance
            else:
                fits = self.evaluator.holds(one.assertion, node)
                if fits is None:
                    self.sink.undecided.add(f"the slice {one.flavor}")
                    return None
            if fits:
                self.sink.fired += 1
                return one.flavor
        return None
