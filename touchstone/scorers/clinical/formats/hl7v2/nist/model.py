"""NIST conformance profiles as data: messages, groups, segments, fields, data types, and the rules bound to them.

The names follow the XML that NIST's tools (IGAMT, TCAMT) export: a *flavor* is a data type or segment with an id of its own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from touchstone.scorers.clinical.formats.hl7v2.nist.expressions import Expression
from touchstone.scorers.clinical.formats.hl7v2.nist.paths import Path, Range
from touchstone.scorers.clinical.formats.hl7v2.nist.value_sets import Library

#: What a component may be: it does not repeat.
ONCE = Range(0, 1)
#: Usages that the reader knows; C is decided by predicates, B (backward compatible) and O ask for nothing.
USAGES = frozenset({"R", "RE", "O", "C", "CE", "X", "W", "B"})


@dataclass(frozen=True, slots=True)
class Element:
    """A field of a segment or a component of a data type.

    `conformance_length`: characters that every receiver handles; `may_truncate`: a receiver may cut what is longer (`#`).
    """

    position: int
    name: str
    usage: str
    datatype: str
    repeats: Range = ONCE
    length: Range | None = None
    conformance_length: int | None = None
    may_truncate: bool = False
    constant: str | None = None


@dataclass(frozen=True, slots=True)
class Datatype:
    """A data type flavor; a primitive one has no components."""

    id: str
    name: str
    components: tuple[Element, ...] = ()


@dataclass(frozen=True, slots=True)
class Mapping:
    """The data type of a field whose type varies (OBX-5), by the values of one or two other elements."""

    position: int
    reference: Path
    second: Path | None
    cases: dict[tuple[str | None, str | None], str]


@dataclass(frozen=True, slots=True)
class SegmentFlavor:
    """A segment flavor."""

    id: str
    name: str
    version: str
    fields: tuple[Element, ...]
    mappings: tuple[Mapping, ...] = ()


@dataclass(frozen=True, slots=True)
class SegmentPlace:
    """A segment in a message's structure. `flavor`: its id."""

    position: int
    flavor: str
    segment: str
    usage: str
    repeats: Range


@dataclass(frozen=True, slots=True)
class GroupPlace:
    """A group of segments, or a whole message. `first`: segments it may begin with; `holds`: every segment in it."""

    position: int
    id: str
    name: str
    usage: str
    repeats: Range
    children: tuple[SegmentPlace | GroupPlace, ...]
    first: frozenset[str] = frozenset()
    holds: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class MessageProfile:
    """One message of a profile. `type`, `event`, `structure`: MSH-9; `identifiers`: what MSH-21 may name it by."""

    id: str
    name: str
    type: str
    event: str
    structure: str
    root: GroupPlace
    identifier: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """A conformance statement: an assertion about one element. `severity`: of a finding if it does not hold."""

    id: str
    text: str
    section: str
    severity: str
    assertion: Expression


@dataclass(frozen=True, slots=True)
class Predicate:
    """The usage of a conditional element: one if the condition holds, another if not."""

    target: Path
    if_true: str
    if_false: str
    text: str
    condition: Expression


@dataclass(frozen=True, slots=True)
class Binding:
    """Value sets for the codes of an element. `strength`: R, S, U or none; `places`: paths of code and coding system, from the target."""

    target: Path
    strength: str
    places: tuple[tuple[Path, Path | None], ...]
    sets: tuple[str, ...]
    #: One code that is required, with its system, in place of value sets.
    code: tuple[str, str] | None = None
    #: Components of the codes, as the older form writes them, in place of `places`.
    at: str = ""


@dataclass(slots=True)
class Rules:
    """What is bound to one group, segment or data type."""

    statements: list[Statement] = field(default_factory=list)
    predicates: list[Predicate] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Slice:
    """One slice: the flavor of an occurrence, or of what fits an assertion."""

    flavor: str
    occurrence: int | None
    assertion: Expression | None


@dataclass(frozen=True, slots=True)
class Slicings:
    """`segments`: (message, group, position) → slices; `fields`: (segment flavor, position) → slices. The first that fits counts."""

    segments: dict[tuple[str, str, int], tuple[Slice, ...]] = field(default_factory=dict)
    fields: dict[tuple[str, int], tuple[Slice, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cell:
    """One test of a segment: a text, or bindings (a code, or value sets) of which one must hold."""

    name: str
    path: Path
    said: str
    text: str | None
    bindings: tuple[Binding, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One co-constraint: segments that all selectors fit, how many of them there are, and what holds for each."""

    usage: str
    repeats: Range
    selectors: tuple[Cell, ...]
    constraints: tuple[Cell, ...]

    @property
    def said(self) -> str:
        """The selectors in words."""
        return " and ".join(f"{cell.name} {cell.said}" for cell in self.selectors)


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Segments that share a group id: a primary one and those that go with it."""

    name: str
    usage: str
    repeats: Range
    primary: Row
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The co-constraints of some segments. `context`, `segments`: their paths; `ids`: where a group id is, the preferred place first."""

    message: str
    context: Path
    segments: Path
    condition: Expression | None
    ids: tuple[Path, ...]
    rows: tuple[Row, ...]
    groups: tuple[RowGroup, ...]


@dataclass(slots=True)
class RuleBook:
    """The rules of a profile by kind (Datatype, Segment, Group, Message) and by id or name."""

    by_id: dict[tuple[str, str], Rules] = field(default_factory=dict)
    by_name: dict[tuple[str, str], Rules] = field(default_factory=dict)
    _merged: dict[tuple[str, str], Rules | None] = field(default_factory=dict)

    def of(self, kind: str, own: str, name: str) -> Rules | None:
        """All rules of one element: those bound to its name, then those bound to its id. None if there are none."""
        key = (kind, own)
        if key not in self._merged:
            found = [rules for rules in (self.by_name.get((kind, name)), self.by_id.get(key)) if rules is not None]
            merged = Rules()
            for rules in found:
                merged.statements += rules.statements
                merged.predicates += rules.predicates
                merged.bindings += rules.bindings
            self._merged[key] = merged if found else None
        return self._merged[key]

    def at(self, kind: str, key: str, *, is_name: bool = False) -> Rules:
        """The rules of one element, made if there are none yet."""
        return (self.by_name if is_name else self.by_id).setdefault((kind, key), Rules())


@dataclass(slots=True)
class Profile:
    """One profile as loaded. `unknown`: constructs that the reader does not know, with how often they occur.

    `identifiers`: what its rules demand in MSH-21; `without_predicate`: elements of usage C that no predicate decides.
    """

    title: str
    folder: str
    messages: tuple[MessageProfile, ...]
    segments: dict[str, SegmentFlavor]
    datatypes: dict[str, Datatype]
    rules: RuleBook = field(default_factory=RuleBook)
    library: Library = field(default_factory=Library)
    tables: list[Table] = field(default_factory=list)
    slicings: Slicings = field(default_factory=Slicings)
    unknown: Counter[str] = field(default_factory=Counter)
    identifiers: frozenset[str] = frozenset()
    without_predicate: int = 0
