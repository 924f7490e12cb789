"""Applies the rules that are bound to one element: predicates, conformance statements, value sets."""

from __future__ import annotations

from typing import Final, cast

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.formats.hl7v2.nist.evaluation import Evaluator, place_at
from touchstone.scorers.clinical.formats.hl7v2.nist.expressions import Expression
from touchstone.scorers.clinical.formats.hl7v2.nist.model import Binding, Element, Predicate, Rules, Statement
from touchstone.scorers.clinical.formats.hl7v2.nist.paths import read_path
from touchstone.scorers.clinical.formats.hl7v2.nist.sink import Sink
from touchstone.scorers.clinical.formats.hl7v2.nist.tree import NULL, Node
from touchstone.scorers.clinical.formats.hl7v2.nist.value_sets import Library

#: A value set of at most so many codes is listed in the suggestion.
LISTED_MAX: Final = 12
NOT_USED: Final = frozenset({"X", "W"})
#: Components of coded data types: identifier and alternate identifiers, with their systems two places on.
_CODED: Final = frozenset({"CE", "CWE", "CNE", "CF"})


class Content:
    """The rules of one profile, applied to nodes of one message."""

    def __init__(self, library: Library, sink: Sink) -> None:
        self.library, self.sink = library, sink
        self.evaluator = Evaluator(self._in_set)

    def apply(self, rules: Rules, node: Node) -> None:
        """Apply all rules that are bound to a node's definition."""
        self.sink.fired += len(rules.predicates) + len(rules.statements) + len(rules.bindings)
        for predicate in rules.predicates:
            self._predicate(predicate, node)
        for statement in rules.statements:
            self._statement(statement, node)
        for binding in rules.bindings:
            self.binding(binding, node)

    def _statement(self, statement: Statement, node: Node) -> None:
        held = self.evaluator.holds(statement.assertion, node)
        if held is None:
            self.sink.undecided.add(statement.id or "a statement without an id")
        elif not held:
            where = f" ({statement.section})" if statement.section else ""
            text = f"{self.sink.title}, statement {statement.id}{where}: {statement.text}"
            self.sink.add(cast("Severity", statement.severity), "profile.statement", self.evaluator.blamed(statement.assertion, node), text)

    def _predicate(self, predicate: Predicate, node: Node) -> None:
        """A conditional element. Nothing is asked of it where its parent is missing or null."""
        held = self.evaluator.holds(predicate.condition, node)
        step, parents = predicate.target[-1:], [one for one in node.find(predicate.target[:-1]) if one.text != NULL]
        if held is None:
            self.sink.undecided.add(f"the condition of {place_at(node, predicate.target)}")
            return
        usage = predicate.if_true if held else predicate.if_false
        truth = "holds" if held else "does not hold"
        why = f"C({predicate.if_true}/{predicate.if_false}), and this {truth}: {predicate.text.strip() or 'its condition'}"
        for parent in parents:
            found = parent.find(step)
            path = place_at(parent, step)
            if usage == "R" and not found:
                self.sink.add("major", "profile.conditional", path, f"{self.sink.title} requires this element: {why}")
            elif usage in NOT_USED:
                for one in found:
                    text = f"{self.sink.title} does not support this element here: {why}"
                    self.sink.add("major" if usage == "X" else "minor", "profile.conditional", one.path, text, suggestion="Leave it out")

    def _in_set(self, node: Node, expression: Expression) -> bool | None:
        """True if a code of a node is in the value set of an expression; None if the profile does not list the set."""
        name, _, location = expression.values
        return self._membership(node, Binding((), "R", locations(node, location), (name,)))[0]

    def binding(self, binding: Binding, node: Node) -> None:
        """Check the codes that a binding is about."""
        for target in node.find(binding.target):
            used = not isinstance(target.place, Element) or target.place.usage not in NOT_USED
            if used and target.text != NULL:
                self._bound(binding, target)

    def _bound(self, binding: Binding, target: Node) -> None:
        answer, problem, at = self._membership(target, binding)
        if answer is None and binding.sets:
            self.sink.sets.update(binding.sets)
        if answer is not False:
            return
        names = ", ".join(binding.sets)[:120]
        sets = [found for name in binding.sets if (found := self.library.known(name)) is not None]
        severity: Severity = "info"
        if binding.strength == "R" or binding.code is not None:
            severity = "minor" if any(one.is_open for one in sets) else "major"
        elif binding.strength == "U":
            self.sink.sets.update(binding.sets)
            return
        codes = [code.value for one in sets for entries in one.codes.values() for code in entries if code.usage != "E"]
        suggestion = f"Valid values: {', '.join(codes)}" if 0 < len(codes) <= LISTED_MAX and problem == "code" else None
        if binding.code is not None:
            text, suggestion = f"{self.sink.title} asks for one code here", f"Write {binding.code[0]} of {binding.code[1]}"
        elif problem == "code":
            text = f"{self.sink.title}: the code is not in the value set {names}"
        else:
            text = f"{self.sink.title}: the code is in the value set {names}, and its coding system is {problem}"
        self.sink.add(severity, "profile.value-set" if problem == "code" else "profile.code-system", at.path, text, suggestion=suggestion)

    def is_member(self, target: Node, binding: Binding) -> bool | None:
        """True if a code of an element is what a binding asks for, False if not, None if the profile does not list its value sets."""
        return self._membership(target, binding)[0]

    def _membership(self, target: Node, binding: Binding) -> tuple[bool | None, str, Node]:
        """(a member, or not, or not known; `code`, or what is wrong with the system; the element of the code)."""
        known = [found for name in binding.sets if (found := self.library.known(name)) is not None]
        is_whole = len(known) == len(binding.sets)
        problem, at, seen = "code", target, False
        for code_path, system_path in binding.places or locations(target, binding.at):
            code = next(iter(target.find(code_path)), None)
            if code is None:
                continue
            if not code.is_simple:
                return None, "", target
            system = next((one.value for one in target.find(system_path)[:1] if one.is_simple), "") if system_path is not None else None
            if not seen:
                at = code
            seen = True
            if binding.code is not None:
                if code.value == binding.code[0] and system in {None, binding.code[1]}:
                    return True, "", code
                continue
            entries = [entry for one in known for entry in one.entries(code.value) if entry.usage != "E"]
            if any(system is None or not entry.system or entry.system == system for entry in entries):
                return True, "", code
            if entries and problem == "code":
                problem, at = "another" if system else "missing", code
            is_whole = is_whole and not any(one.is_undecided(code.value) for one in known)
        return (None if not seen or not (is_whole or binding.code) else False), problem, at


def locations(node: Node, text: str) -> tuple[tuple[tuple[tuple[int, int | None], ...], tuple[tuple[int, int | None], ...] | None], ...]:
    """Binding locations of the older form: `1`, or `1:4`, positions of components."""
    definition = node.definition
    if node.is_simple:
        return (((), None),)
    is_coded = getattr(definition, "name", "") in _CODED
    parts = [part for part in text.split(":") if part.isascii() and part.isdigit() and int(part) > 0]
    return tuple((read_path(part), read_path(str(int(part) + 2)) if is_coded else None) for part in parts)
