"""Message structures as automata: exact acceptance in one pass, and the shortest repair for a segment that does not fit.

A structure (sequences, choices, groups, cardinalities) becomes a position automaton (Glushkov) with one state for each place in the grammar.
Sets of states are built as messages need them and remembered, so that each segment costs one look-up. For a segment that does not fit, the
shortest list of missing segments is searched that would make it fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

#: Leaves of the grammar that match any segment.
WILDCARDS = frozenset({"ANYHL7SEGMENT", "ANYZSEGMENT"})
#: Segments that the standard allows anywhere, besides local (Z) segments: continuations and addenda.
ANYWHERE = frozenset({"ADD", "DSC"})
#: Notes and continuations: some structures require them, but most messages have nothing to note.
NEVER_REQUIRED = frozenset({"NTE", "DSC", "ADD"})
#: Missing segments in a row that a repair may assume.
REPAIR_MAX = 6
#: A bounded repetition is unrolled up to this number; hl7apy's structures have only 1 and unbounded.
UNROLL_MAX = 8
REMEMBERED_MAX = 4_000
#: Sequences of segment names whose faults are remembered, and their greatest length.
JUDGED_MAX = 4_000
JUDGED_LENGTH_MAX = 128


class Fault(NamedTuple):
    """A fault of the order. `at`: the index of the segment where it shows (at the end of the message: its length)."""

    kind: str  # missing | unexpected | misplaced
    at: int
    segment: str
    required_by: str = ""


class _Part(NamedTuple):
    """A piece of grammar: whether it may be empty, and the places where it can begin and end."""

    nullable: bool
    first: tuple[int, ...]
    last: tuple[int, ...]


class _Builder:
    """The places of a grammar, and for each the places that may follow."""

    def __init__(self, groups: Mapping[str, Any]) -> None:
        self.groups = groups
        self.labels: list[str] = []
        self.parents: list[str] = []
        self.follow: list[set[int]] = []

    def leaf(self, label: str, parent: str) -> _Part:
        place = len(self.labels)
        self.labels.append(label)
        self.parents.append(parent)
        self.follow.append(set())
        return _Part(nullable=False, first=(place,), last=(place,))

    def join(self, left: _Part, right: _Part) -> _Part:
        for place in left.last:
            self.follow[place].update(right.first)
        first = left.first + right.first if left.nullable else left.first
        last = left.last + right.last if right.nullable else right.last
        return _Part(nullable=left.nullable and right.nullable, first=first, last=last)

    def child(self, row: Sequence[Any], parent: str, depth: int) -> _Part:
        name, least, most, is_group = row
        if name in NEVER_REQUIRED:
            least = 0
        if depth > 20:
            raise ValueError("the grammar is nested too deeply")

        def once() -> _Part:
            if is_group and name in self.groups:
                return self.body(self.groups[name], name, depth + 1)
            return self.leaf(name, parent)

        copies = min(most, UNROLL_MAX) if most > 1 else 1
        made = once()
        if most == -1:
            self.join(made, made)
        for _ in range(copies - 1):
            extra = once()
            made = self.join(made, extra._replace(nullable=True))
        return made._replace(nullable=made.nullable or least == 0)

    def body(self, grammar: Sequence[Any], name: str, depth: int) -> _Part:
        kind, rows = grammar
        parts = [self.child(row, name, depth) for row in rows]
        if kind == "choice":
            return _Part(
                nullable=any(made.nullable for made in parts),
                first=tuple(place for made in parts for place in made.first),
                last=tuple(place for made in parts for place in made.last),
            )
        whole = _Part(nullable=True, first=(), last=())
        for made in parts:
            whole = self.join(whole, made)
        return whole


State = frozenset[int]


@dataclass(slots=True)
class Structure:
    """The automaton of one message structure. Place −1 is the beginning."""

    name: str
    labels: list[str]
    parents: list[str]
    follow: list[tuple[int, ...]]
    first: tuple[int, ...]
    last: frozenset[int]
    alphabet: frozenset[str]

    remembered: dict[tuple[State, str], State] = field(default_factory=dict)
    judged: dict[tuple[str, ...], tuple[Fault, ...]] = field(default_factory=dict)

    def after(self, state: State, name: str) -> State:
        """The places that a segment of that name may take after `state`; empty if it fits nowhere."""
        key = (state, name)
        found = self.remembered.get(key)
        if found is None:
            found = frozenset(
                place
                for origin in state
                for place in (self.follow[origin] if origin >= 0 else self.first)
                if self.labels[place] == name or self.labels[place] in WILDCARDS
            )
            if name in self.alphabet and len(self.remembered) < REMEMBERED_MAX:
                self.remembered[key] = found
        return found

    def repair(self, state: State, name: str | None) -> tuple[list[int], State] | None:
        """The shortest list of places to assume before `name` (None: before the end), and the state after it."""
        paths: dict[int, list[int]] = {origin: [] for origin in state}
        for _ in range(REPAIR_MAX):
            reached: dict[int, list[int]] = {}
            for origin, path in paths.items():
                for place in sorted(self.follow[origin] if origin >= 0 else self.first):
                    if place not in reached and self.labels[place] not in WILDCARDS:
                        reached[place] = [*path, place]
            paths = reached
            for place in sorted(paths):
                if name is None:
                    if place in self.last:
                        return paths[place], frozenset({place})
                else:
                    after = self.after(frozenset({place}), name)
                    if after:
                        return paths[place], after
        return None

    def faults(self, names: Sequence[str]) -> list[Fault]:
        """The faults of the order of these segments; empty if the structure accepts it."""
        sequence = tuple(names)
        known = self.judged.get(sequence)
        if known is not None:
            return list(known)
        found = tuple(self._faults(sequence))
        if len(sequence) <= JUDGED_LENGTH_MAX and len(self.judged) < JUDGED_MAX:
            self.judged[sequence] = found
        return list(found)

    def _faults(self, names: Sequence[str]) -> list[Fault]:
        state: State = frozenset({-1})
        found: list[Fault] = []
        for index, name in enumerate(names):
            after = self.after(state, name)
            if after:
                state = after
                continue
            if name[0] == "Z" or name in ANYWHERE:
                continue
            if name not in self.alphabet:
                found.append(Fault("unexpected", index, name))
                continue
            repaired = self.repair(state, name)
            if repaired is None:
                found.append(Fault("misplaced", index, name))
                continue
            assumed, state = repaired
            found.extend(Fault("missing", index, self.labels[place], self.parents[place]) for place in assumed)
        if not state & self.last and not (-1 in state and not self.first):
            repaired = self.repair(state, None)
            assumed = repaired[0] if repaired else []
            found.extend(Fault("missing", len(names), self.labels[place], self.parents[place]) for place in assumed)
        return found


def build(name: str, grammar: Sequence[Any], groups: Mapping[str, Any]) -> Structure:
    """The automaton of a structure."""
    builder = _Builder(groups)
    whole = builder.body(grammar, name, 0)
    labels = ["ANYHL7SEGMENT" if label.upper() in WILDCARDS else label for label in builder.labels]
    return Structure(
        name=name,
        labels=labels,
        parents=builder.parents,
        follow=[tuple(sorted(places)) for places in builder.follow],
        first=whole.first,
        last=frozenset(whole.last),
        alphabet=frozenset(labels) - WILDCARDS,
    )
