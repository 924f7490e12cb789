"""Co-constraints: what else a segment must hold where it has a certain code, how often it occurs, and which segments belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from touchstone.scorers.clinical.formats.hl7v2.nist.content import Content
from touchstone.scorers.clinical.formats.hl7v2.nist.evaluation import both, either, place_at
from touchstone.scorers.clinical.formats.hl7v2.nist.model import Binding, Cell, Profile, Row, RowGroup, Table
from touchstone.scorers.clinical.formats.hl7v2.nist.paths import Path, Range, read_path
from touchstone.scorers.clinical.formats.hl7v2.nist.rule_reader import RuleReader, child
from touchstone.scorers.clinical.formats.hl7v2.nist.tree import Node
from touchstone.scorers.clinical.formats.hl7v2.nist.xml_files import local

if TYPE_CHECKING:
    from lxml.etree import _Element


class TableReader:
    """Reads a CoConstraintContext into the profile's tables; a table that cannot be read is counted as unknown."""

    def __init__(self, profile: Profile, rules: RuleReader) -> None:
        self.profile, self.rules = profile, rules

    def read(self, root: _Element) -> list[Table]:
        """The tables of every message, context and segment."""
        made: list[Table] = []
        for message in root:
            for context in message if local(message) == "ByMessage" else ():
                for segment in context:
                    for table in segment:
                        try:
                            made.append(self._table(message, context, segment, table))
                        except (ValueError, KeyError):
                            self.profile.unknown[f"{local(table)} of co-constraints that cannot be read"] += 1
            if local(message) not in {"ByMessage", "MetaData"}:
                self.profile.unknown[local(message)] += 1
        return made

    def _table(self, message: _Element, context: _Element, segment: _Element, table: _Element) -> Table:
        if local(table) not in {"SimpleTable", "ConditionalTable"}:
            raise ValueError(local(table))
        condition = child(table, "Condition")
        if (condition is None) != (local(table) == "SimpleTable"):
            raise ValueError("condition")
        by = child(table, "CoConstraintGroupId")
        ids = sorted(((int(one.get("Priority", "0")), read_path(one.get("Path", ""))) for one in (() if by is None else by)), key=lambda pair: pair[0])
        return Table(
            message.get("ID", ""),
            read_path(context.get("Path", "")),
            read_path(segment.get("Path", "")),
            None if condition is None else self.rules.expressions.assertion(child(condition, "Assertion")),
            tuple(path for _, path in ids),
            tuple(self._row(one) for one in table if local(one) == "CoConstraint"),
            tuple(self._group(one) for one in table if local(one) == "CoConstraintGroup"),
        )

    def _group(self, element: _Element) -> RowGroup:
        primary = child(element, "Primary")
        if primary is None:
            raise ValueError("primary")
        rows = tuple(self._row(one) for one in element if local(one) == "CoConstraint")
        return RowGroup(element.get("Name", "")[:80], element.get("Usage", "O"), self._repeats(element), self._row(primary), rows)

    @staticmethod
    def _repeats(element: _Element) -> Range:
        most = element.get("Max", "*")
        return Range(int(element.get("Min", "0")), None if most == "*" else int(most))

    def _row(self, element: _Element) -> Row:
        selectors, constraints = child(element, "Selectors"), child(element, "Constraints")
        cells = tuple(self._cell(one) for one in (() if selectors is None else selectors))
        if not cells:
            raise ValueError("selectors")
        return Row(element.get("Usage", "O"), self._repeats(element), cells, tuple(self._cell(one) for one in (() if constraints is None else constraints)))

    def _cell(self, element: _Element) -> Cell:
        name, path, kind = element.get("Name", "")[:40], read_path(element.get("Path", "")), local(element)
        if kind == "PlainText":
            return Cell(name, path, f"is {element.get('Value', '')[:60]}", element.get("Value", ""))
        if kind == "Code":
            places = tuple((read_path(one.get("CodePath", "")), read_path(one.get("CodeSystemPath", ""))) for one in element)
            code = (element.get("Code", ""), element.get("CodeSystem", ""))
            return Cell(name, path, f"is {code[0][:60]} of {code[1][:40]}", None, (Binding((), "R", places, (), code),))
        bindings = [self.rules.binding(one) for one in element] if kind == "ValueSet" else []
        if not bindings or None in bindings:
            raise ValueError(kind)
        whole = tuple(one for one in bindings if one is not None)
        return Cell(name, path, f"is in {', '.join(name for one in whole for name in one.sets)[:120]}", None, whole)


class Tables:
    """Applies the tables of one profile to one message."""

    def __init__(self, content: Content) -> None:
        self.content, self.sink = content, content.sink

    def apply(self, tables: list[Table], root: Node, message: str) -> None:
        """Apply each table in each of its contexts."""
        for table in tables:
            for context in root.find(table.context) if table.message == message else ():
                held = True if table.condition is None else self.content.evaluator.holds(table.condition, context)
                if held is None:
                    self.sink.undecided.add("the condition of a table of co-constraints")
                elif held:
                    self._table(table, context)

    def _table(self, table: Table, context: Node) -> None:
        where = place_at(context, table.segments) if not context.find(table.segments) else context.find(table.segments)[0].path.partition("[")[0]
        left = context.find(table.segments)
        for row in table.rows:
            left = self._row(row, left, where)
        for group in table.groups:
            left = self._group(group, left, table.ids, where)

    def _row(self, row: Row, segments: list[Node], where: str) -> list[Node]:
        """Check one co-constraint; returns the segments that it is not about."""
        matched, left = self._split(row, segments)
        self._count(row.usage, row.repeats, len(matched), where, f"a segment where {row.said}")
        self._cells(row, matched)
        return left

    def _split(self, row: Row, segments: list[Node]) -> tuple[list[Node], list[Node]]:
        matched, left = list[Node](), list[Node]()
        for segment in segments:
            fits = both(self.holds(cell, segment) for cell in row.selectors)
            if fits is None:
                self.sink.undecided.add(f"whether {row.said}")
            (matched if fits else left).append(segment)
        return matched, left

    def _cells(self, row: Row, segments: list[Node]) -> None:
        for segment in segments:
            for cell in row.constraints:
                self.sink.fired += 1
                held = self.holds(cell, segment)
                found = segment.find(cell.path)
                if held is False and found:
                    self.sink.add("major", "profile.co-constraint", found[0].path, f"{self.sink.title}: where {row.said}, {cell.name} {cell.said}")
                elif held is None and found:
                    self.sink.undecided.add(f"{cell.name} where {row.said}")

    def holds(self, cell: Cell, segment: Node) -> bool | None:
        """True if a cell fits a segment; an element that is missing does not fit, and breaks no constraint."""
        found = segment.find(cell.path)
        if cell.text is not None:
            return either(one.value == cell.text if one.is_simple else None for one in found)
        targets = [(target, binding) for one in found for binding in cell.bindings for target in one.find(binding.target)]
        # One code: where it is not written, it is another or none. A value set may be one that the profile does not list.
        return either(answer if (answer := self.content.is_member(*pair)) is not None or pair[1].code is None else False for pair in targets)

    def _count(self, usage: str, repeats: Range, count: int, where: str, what: str) -> None:
        self.sink.fired += 1
        if not count and usage == "R":
            self.sink.add("major", "profile.co-constraint", where, f"{self.sink.title} requires {what}")
        elif count and not repeats.holds(count):
            most = "any number" if repeats.most is None else repeats.most
            self.sink.add("major", "profile.co-constraint", where, f"{self.sink.title} allows {repeats.least} to {most} of {what}, and there are {count}")

    def _group(self, group: RowGroup, segments: list[Node], ids: tuple[Path, ...], where: str) -> list[Node]:
        """Check one group of co-constraints: each group id of a primary segment is one occurrence."""
        primaries, others = self._split(group.primary, segments)
        by_id: dict[str, list[Node]] = {}
        for one in primaries:
            if (own := _id_of(one, ids)) is not None:
                by_id.setdefault(own, []).append(one)
        self._count(group.usage, group.repeats, len(by_id), where, f"the group {group.name}, which begins with a segment where {group.primary.said}")
        for own, firsts in by_id.items():
            self._count(group.primary.usage, group.primary.repeats, len(firsts), firsts[0].path, f"a segment where {group.primary.said}")
            self._cells(group.primary, firsts)
            members = [one for one in others if _id_of(one, ids) == own]
            for row in group.rows:
                members = self._row(row, members, firsts[0].path)
        return [one for one in others if _id_of(one, ids) not in by_id]


def _id_of(segment: Node, ids: tuple[Path, ...]) -> str | None:
    """The group id of a segment: the text at the first place that has one."""
    for path in ids:
        found = segment.find(path)
        if len(found) == 1 and found[0].is_simple:
            return found[0].value
    return None
