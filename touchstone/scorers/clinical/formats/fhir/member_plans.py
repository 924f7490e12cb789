"""Plans for checking objects, worked out once per type and set of member names.

Unknown and missing elements, choices and most invariants depend only on names, so a good object costs one look-up and a loop over its values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.formats.fhir.bindings import Binding
from touchstone.scorers.clinical.formats.fhir.fhirpath import Verdict, decide
from touchstone.scorers.clinical.formats.fhir.options import may_be_kept
from touchstone.scorers.clinical.formats.fhir.remedies import remedy_of
from touchstone.scorers.clinical.formats.fhir.tables import Field, Invariant, Type

#: Plans kept per type. Plans outlive documents, which may have any number of shapes.
PLANS_MAX: Final = 2_000

UNKNOWN: Final = "fhir.structure.unknown-element"
LEVELS: Final[dict[str, Severity]] = {"error": "major", "warning": "minor"}
#: Types whose objects are checked again after the walk, and how they are collected.
REFERENCES, CODINGS, OTHERS = 1, 2, 3
_COLLECTED = {"Reference": REFERENCES, "Coding": CODINGS} | dict.fromkeys(
    ("Extension", "Attachment", "Identifier", "Quantity", "Age", "Duration", "SampledData", "Signature"), OTHERS
)
#: Three counts in one number, so that one addition counts all: members, rules decided by names, required bindings.
COUNT_BITS: Final = 40
_NOTHING: Final = frozenset[str]().__contains__
_NO_KINDS: Final = frozenset[type]()


@dataclass(slots=True)
class Step:
    """What to do with one member.

    `accepts`, `accepts_item`: recognise good texts, as the value or in a list. `plain`: JSON types of which every value is good.
    `below`: plans of the objects in it; `one` and `each` are the same, but only set if such an object needs no more than a walk: it belongs to no
    primitive (`beside`) and has no binding. `resource`: the field, if its value is a resource. `many`: the element repeats.
    """

    field: Field | None
    key: str
    accepts: Callable[[str], Any] = _NOTHING
    accepts_item: Callable[[str], Any] = _NOTHING
    plain: frozenset[type] = _NO_KINDS
    one: Plans | None = None
    each: Plans | None = None
    below: Plans | None = None
    resource: Field | None = None
    binding: Binding | None = None
    beside: str = ""
    noted: bool = False
    many: bool = False


class Problem(NamedTuple):
    """A fault in the member names of an object. `name`: the member, empty for the object."""

    severity: Severity
    code: str
    name: str
    message: str
    remedy: str | None = None


@dataclass(slots=True)
class Plan:
    """The plan for a set of member names: a step per member, faults, and the invariants that need values.

    `counts`: members, rules decided, and bound steps, each COUNT_BITS further up.
    """

    steps: tuple[Step, ...]
    problems: tuple[Problem, ...]
    invariants: tuple[Invariant, ...]
    counts: int


class Plans:
    """The plans of one type. `make`: (type, key) → step, or None if there is no such element.

    `more`: invariants of an element of this type, besides those of the type.
    """

    __slots__ = ("_make", "_more", "_steps", "collected", "kept", "type")

    def __init__(self, of: Type, make: Callable[[Type, str], Step | None], more: tuple[Invariant, ...] = ()) -> None:
        self.type = of
        self.kept: dict[tuple[str, ...], Plan] = {}
        self.collected = _COLLECTED.get(of.name, 0)
        self._make = make
        self._more = more
        self._steps: dict[str, Step] = {}

    def step(self, key: str) -> Step | None:
        """Return the step of a member by its key, or None where the type has no such element."""
        step = self._steps.get(key)
        if step is None:
            made = self._make(self.type, key)
            if made is None:
                return None
            step = self._steps[key] = made
        return step

    def plan(self, keys: tuple[str, ...]) -> Plan:
        """Work out the plan for a set of member names, and keep it."""
        made = self._plan(keys)
        if len(self.kept) < PLANS_MAX and may_be_kept(keys):
            self.kept[keys] = made
        return made

    def _plan(self, keys: tuple[str, ...]) -> Plan:
        problems: list[Problem] = []
        steps, present = [], set()
        for key in keys:
            step = self.step(key)
            if step is None:
                problems.append(Problem("major", UNKNOWN, key, "FHIR R4 has no such element"))
                steps.append(Step(None, "?"))
                continue
            steps.append(step)
            if step.field is not None:
                present.add(step.field.element)
        if not keys or (set(keys) <= {"id"} and self.type.name != "Element"):
            problems.append(Problem("major", "fhir.invariants.ele-1", "", "an element must have a value or children"))
        self._cardinality(set(keys), problems)
        rules, decided = self._invariants(frozenset(name.removesuffix("[x]") for name in present), problems)
        bound = sum(1 for step in steps if step.binding is not None and step.binding.decides)
        return Plan(tuple(steps), tuple(problems), rules, len(keys) | decided << COUNT_BITS | bound << 2 * COUNT_BITS)

    def _cardinality(self, keys: set[str], problems: list[Problem]) -> None:
        here = {key[1:] if key[:1] == "_" else key for key in keys}
        for element, options in self.type.required.items():
            if here.isdisjoint(options):
                problems.append(Problem("major", "fhir.structure.missing", element, "this element is required and absent"))
        for element, options in self.type.choices.items():
            if len(here.intersection(options)) > 1:
                problems.append(Problem("major", "fhir.structure.choice", element, "only one type of this choice may be present"))
        if self.type.name == "Extension" and ("extension" in here) == any(name.startswith("value") for name in here):
            problems.append(Problem("major", "fhir.invariants.ext-1", "", "an extension must have either extensions or a value, not both"))

    def _invariants(self, present: frozenset[str], problems: list[Problem]) -> tuple[tuple[Invariant, ...], int]:
        """Return the invariants that names do not decide, and how many rules were evaluated. Broken ones are added to the problems."""
        left = []
        for rule in (*self.type.invariants, *self._more):
            verdict = decide(rule.tree, present)
            if verdict in {Verdict.FALSE, Verdict.EMPTY}:
                problems.append(Problem(LEVELS[rule.severity], f"fhir.invariants.{rule.key}", "", rule.human, remedy_of(rule.human)))
            elif verdict is not Verdict.TRUE:
                left.append(rule)
        return tuple(left), len(self.type.invariants) + 1 + sum(1 for rule in self._more if rule not in left)
