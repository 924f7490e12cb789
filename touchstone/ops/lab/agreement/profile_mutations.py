"""Breaks the rules of HL7 v2 conformance profiles one by one in real messages: each mutation breaks one rule for certain, by the profile itself.

An operator reads the profile, not the checks: it looks for a place where a rule asks for something, and takes that away. Places whose rule leaves the outcome
open (usages RE, O, B and C without a predicate, weak bindings, sets that the profile does not list) are never mutated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from touchstone.scorers.clinical.formats.hl7v2.findings import Findings
from touchstone.scorers.clinical.formats.hl7v2.lexer import Message
from touchstone.scorers.clinical.formats.hl7v2.nist.checking import Check
from touchstone.scorers.clinical.formats.hl7v2.nist.co_constraints import Tables
from touchstone.scorers.clinical.formats.hl7v2.nist.content import locations
from touchstone.scorers.clinical.formats.hl7v2.nist.model import (
    Binding,
    Cell,
    Datatype,
    Element,
    GroupPlace,
    Predicate,
    Row,
    Rules,
    SegmentFlavor,
    SegmentPlace,
)
from touchstone.scorers.clinical.formats.hl7v2.nist.selection import Candidate
from touchstone.scorers.clinical.formats.hl7v2.nist.sink import Sink
from touchstone.scorers.clinical.formats.hl7v2.nist.slicing import Slicer
from touchstone.scorers.clinical.formats.hl7v2.nist.tree import NULL, Node, Tree, tree_of
from touchstone.scorers.clinical.report import Context, Report

#: In no value set, no constant, and of no data type's form.
ODD = "ZZZ-nowhere"
_SEPARATORS = "~^&"


@dataclass(frozen=True, slots=True)
class Spot:
    """A text of a message: a line, and from there a field, a repetition (from 1; 0 is all of them), a component and a subcomponent; 0 ends it."""

    line: int
    field: int = 0
    repetition: int = 0
    component: int = 0
    part: int = 0

    def inside(self, position: int) -> Spot:
        """The spot of a part of the text."""
        return replace(self, component=position) if not self.component else replace(self, part=position)


@dataclass(frozen=True, slots=True)
class Mutation:
    """One rule of a profile, broken at one place of a message."""

    operator: str
    path: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Held:
    """A node with its spot."""

    node: Node
    spot: Spot


def written(lines: Sequence[str], spot: Spot, text: str) -> tuple[str, ...]:
    """The lines with another text at a spot; what lies before it is made."""
    found = list(lines)
    fields = found[spot.line].split("|")
    at = spot.field - fields[0].startswith(("MSH", "FHS", "BHS"))
    fields += [""] * (at + 1 - len(fields))
    fields[at] = _put(fields[at], [spot.repetition, spot.component, spot.part], text, _SEPARATORS)
    found[spot.line] = "|".join(fields)
    return tuple(found)


def _put(whole: str, steps: Sequence[int], text: str, separators: str) -> str:
    if not any(steps):
        return text
    parts = whole.split(separators[0])
    at = max(steps[0], 1) - 1
    parts += [""] * (at + 1 - len(parts))
    parts[at] = _put(parts[at], steps[1:], text, separators[1:])
    return separators[0].join(parts)


class Breaking:
    """The mutations of one message by its profile."""

    def __init__(self, candidate: Candidate, message: Message, lines: Sequence[str]) -> None:
        self.profile, self.lines = candidate.profile, lines
        findings = Findings(Context(), Report())
        tree = tree_of(message, self.profile, candidate.message.id, candidate.message.root)
        self._check = Check(tree, Sink(self.profile, findings))
        self.evaluator, self.content = self._check.content.evaluator, self._check.content
        Slicer(self.profile.slicings, self.evaluator, self._check.sink).apply(tree)
        self.tree: Tree = tree
        self._line_of = {id(segment): segment.line - 1 for segment in message.segments}

    def mutations(self) -> Iterator[Mutation]:
        """Every rule of the profile at every place of the message where it asks for something."""
        yield from self._group(self.tree.root)
        yield from self._tables()

    def _group(self, group: Node) -> Iterator[Mutation]:
        definition = group.definition
        assert isinstance(definition, GroupPlace)
        for child in definition.children:
            nodes = group.parts().get(child.position, [])
            if isinstance(child, SegmentPlace):
                # A segment with which a group begins makes the group: without it, what follows belongs to another one, and with it twice, there are two.
                begins = group is not self.tree.root and child.segment in definition.first
                if child.usage == "R" and len(nodes) == 1 and child.segment != "MSH" and not begins:
                    yield self._without("segment-gone", nodes)
                if nodes and child.repeats.most is not None and len(nodes) == child.repeats.most and not begins:
                    yield self._twice("segment-once-more", nodes[-1])
                for node in nodes:
                    yield from self._segment(node, child)
            else:
                for node in nodes:
                    yield from self._group(node)

    def _line(self, node: Node) -> int:
        assert node.segment is not None
        return self._line_of[id(node.segment)]

    def _without(self, operator: str, nodes: Sequence[Node]) -> Mutation:
        gone = {self._line(node) for node in nodes}
        return Mutation(operator, nodes[0].path, tuple(line for number, line in enumerate(self.lines) if number not in gone))

    def _twice(self, operator: str, node: Node) -> Mutation:
        at = self._line(node)
        return Mutation(operator, node.path, (*self.lines[: at + 1], *self.lines[at:]))

    def _segment(self, node: Node, place: SegmentPlace) -> Iterator[Mutation]:
        flavor, line = node.definition, self._line(node)
        assert isinstance(flavor, SegmentFlavor)
        own = self.profile.segments[place.flavor]
        sliced = "" if flavor is own else "slice-"
        base = {element.position: element.usage for element in own.fields}
        for element in flavor.fields:
            if (flavor.name, element.position) in {("MSH", 1), ("MSH", 2)}:
                continue
            nodes, spot, path = node.parts().get(element.position, []), Spot(line, element.position), f"{node.path}-{element.position}"
            stricter = sliced if element.usage != base.get(element.position) else ""
            if nodes and element.usage == "R":
                yield Mutation(f"{stricter}field-gone", path, written(self.lines, spot, ""))
                if element.repeats.least <= 1:
                    yield Mutation(f"{stricter}field-null", path, written(self.lines, spot, NULL))
            if not nodes and element.usage == "X":
                yield Mutation(f"{stricter}field-not-supported", path, written(self.lines, spot, "1"))
            if nodes and element.usage not in {"X", "W"} and element.repeats.most is not None and len(nodes) == element.repeats.most:
                last = self.lines[line].split("|")[element.position - (flavor.name == "MSH")]
                yield Mutation("field-once-more", path, written(self.lines, spot, f"{last}~{nodes[-1].text}"))
            for one in nodes if element.usage not in {"X", "W"} else ():
                if one.text != NULL:
                    yield from self._value(_Held(one, Spot(line, element.position, one.instance)), element)
        yield from self._ruled(self.profile.rules.of("Segment", flavor.id, flavor.name), _Held(node, Spot(line)))

    def _value(self, held: _Held, element: Element) -> Iterator[Mutation]:
        definition = held.node.definition
        assert isinstance(definition, Datatype)
        if not definition.components:
            if element.constant is not None and held.node.value == element.constant:
                yield self._set("constant", held, ODD)
            if element.length is not None and element.length.most is not None and 0 < len(held.node.text) <= element.length.most:
                yield self._set("too-long", held, held.node.text + "9" * (element.length.most + 1 - len(held.node.text)))
            return
        base = self.profile.datatypes.get(element.datatype)
        sliced = "slice-" if base is not None and base.id != definition.id else ""
        asked = {one.position: one.usage for one in base.components} if base is not None else {}
        for component in definition.components:
            nodes, spot = held.node.parts().get(component.position), held.spot.inside(component.position)
            stricter = sliced if asked.get(component.position) != component.usage else ""
            path = f"{held.node.path}.{component.position}"
            if nodes and component.usage == "R" and len(held.node.parts()) > 1:
                yield Mutation(f"{stricter}component-gone", path, written(self.lines, spot, ""))
            elif not nodes and component.usage == "X":
                yield Mutation(f"{stricter}component-not-supported", path, written(self.lines, spot, "1"))
            elif nodes and component.usage not in {"X", "W"} and not (held.spot.part and component.position):
                yield from self._value(_Held(nodes[0], spot), component)
        yield from self._ruled(self.profile.rules.of("Datatype", definition.id, definition.name), held)

    def _set(self, operator: str, held: _Held, text: str) -> Mutation:
        return Mutation(operator, held.node.path, written(self.lines, held.spot, text))

    def _ruled(self, rules: Rules | None, held: _Held) -> Iterator[Mutation]:
        for predicate in rules.predicates if rules is not None else ():
            yield from self._predicate(predicate, held)
        for binding in rules.bindings if rules is not None else ():
            for target in self._found(held, binding.target):
                yield from self._bound(binding, target)

    def _found(self, held: _Held, path: Sequence[tuple[int, int | None]]) -> list[_Held]:
        """The simple and composite nodes at a path below a segment or a value, with their spots."""
        found = [held]
        for position, instance in path:
            deeper = []
            for one in found:
                if one.node.is_simple:
                    deeper += [one] if position == 1 else []
                    continue
                for part in one.node.parts().get(position, ()):
                    if instance is None or part.instance == instance:
                        spot = replace(one.spot, field=position, repetition=part.instance) if not one.spot.field else one.spot.inside(position)
                        deeper.append(_Held(part, spot))
            found = deeper
        return found

    def _predicate(self, predicate: Predicate, held: _Held) -> Iterator[Mutation]:
        answer = self.evaluator.holds(predicate.condition, held.node)
        usage = {True: predicate.if_true, False: predicate.if_false}.get(answer) if answer is not None else None
        step = predicate.target[-1:]
        for parent in [one for one in self._found(held, predicate.target[:-1]) if one.node.text != NULL and not one.node.is_simple]:
            there = self._found(parent, step)
            siblings = len(parent.node.parts())
            if usage == "R" and there and (parent.spot.field == 0 or siblings > 1):
                spot = replace(there[0].spot, repetition=0) if parent.spot.field == 0 else there[0].spot
                yield Mutation("predicate-required", there[0].node.path, written(self.lines, spot, ""))
            elif usage == "X" and not there and step[0][1] in {None, 1}:
                spot = replace(parent.spot, field=step[0][0], repetition=1) if not parent.spot.field else parent.spot.inside(step[0][0])
                yield Mutation("predicate-not-supported", f"{parent.node.path}-{step[0][0]}", written(self.lines, spot, "1"))

    def _bound(self, binding: Binding, target: _Held) -> Iterator[Mutation]:
        """Codes that a strong binding asks for: another code, and the right code of another system."""
        is_used = not isinstance(target.node.place, Element) or target.node.place.usage not in {"X", "W"}
        sets = [self.content.library.known(name) for name in binding.sets]
        if (
            binding.strength != "R"
            or not is_used
            or None in sets
            or any(one.is_open for one in sets if one)
            or not self.content.is_member(target.node, binding)
        ):
            return
        places = binding.places or locations(target.node, binding.at)
        codes = [(code, self._found(target, system) if system is not None else []) for place, system in places for code in self._found(target, place)]
        lines = tuple(self.lines)
        for code, _ in codes:
            lines = written(lines, code.spot, ODD)
        yield Mutation("code-of-no-set", target.node.path, lines)
        entries = [entry for code, _ in codes for one in sets if one for entry in one.entries(code.node.value)]
        if entries and all(entry.system for entry in entries) and all(systems for _, systems in codes):
            lines = tuple(self.lines)
            for _, systems in codes:
                lines = written(lines, systems[0].spot, ODD)
            yield Mutation("code-of-another-system", target.node.path, lines)

    def _tables(self) -> Iterator[Mutation]:
        """Co-constraints: a value that a row asks for, a row that is required, a row once too often."""
        for table in self.profile.tables:
            for context in self.tree.root.find(table.context) if table.message == self.tree.message_id else ():
                if table.condition is not None and self.evaluator.holds(table.condition, context) is not True:
                    continue
                segments = context.find(table.segments)
                for row in (*table.rows, *(one for group in table.groups for one in (group.primary, *group.rows))):
                    yield from self._row(row, segments, is_grouped=row not in table.rows)

    def _row(self, row: Row, segments: Sequence[Node], *, is_grouped: bool) -> Iterator[Mutation]:
        matched = [one for one in segments if all(self._fits(cell, one) for cell in row.selectors)]
        for segment in matched:
            for cell in row.constraints:
                held = _Held(segment, Spot(self._line(segment)))
                targets = [one for binding in cell.bindings or (None,) for one in self._cell_codes(held, cell.path, binding)]
                if targets and self._fits(cell, segment):
                    lines = tuple(self.lines)
                    for one in targets:
                        lines = written(lines, one.spot, ODD)
                    yield Mutation("co-constraint-value", f"{segment.path} {cell.name}", lines)
        if not is_grouped and row.usage == "R" and matched:
            yield self._without("co-constraint-row-gone", matched)
        if not is_grouped and matched and row.repeats.most is not None and len(matched) == row.repeats.most:
            yield self._twice("co-constraint-row-once-more", matched[-1])

    def _fits(self, cell: Cell, segment: Node) -> bool:
        return Tables(self.content).holds(cell, segment) is True

    def _cell_codes(self, held: _Held, path: Sequence[tuple[int, int | None]], binding: Binding | None) -> list[_Held]:
        found = self._found(held, path)
        if binding is None:
            return [one for one in found if one.node.is_simple]
        targets = [target for one in found for target in self._found(one, binding.target)]
        return [code for target in targets for place, _ in binding.places or locations(target.node, binding.at) for code in self._found(target, place)]
