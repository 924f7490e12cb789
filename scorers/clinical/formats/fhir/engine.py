"""The structural engine: one walk over parsed JSON, driven by the R4 table.

What can be said from the names of an object's members alone (unknown elements, what is missing, choices, most invariants) is
worked out once per type and set of names, and kept as a plan; a well-formed object then costs one look-up and a loop over its values.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple

from schemas.result import Severity
from scorers.clinical.formats.fhir import primitives
from scorers.clinical.formats.fhir.bindings import Binding, binding_of
from scorers.clinical.formats.fhir.document import Document, Frame, Place, shown_name
from scorers.clinical.formats.fhir.fhirpath import Surroundings, Verdict, decide
from scorers.clinical.formats.fhir.options import DEPTH_MAX, PER_CODE_MAX
from scorers.clinical.formats.fhir.tables import Field, Invariant, Type, definitions

#: Plans kept per type, and members an object may have for its plan to be kept: documents may come with any number of shapes.
PLANS_MAX = 2_000
PLAN_MEMBERS_MAX = 80
#: Good values remembered per primitive type, and their length.
GOOD_MAX = 20_000
GOOD_CHARS_MAX = 80

_NOTHING: frozenset[str] = frozenset()
_COLLECTED = frozenset({"Extension", "Coding", "Attachment", "Identifier", "Quantity", "Age", "Duration", "SampledData", "Signature"})
#: How like an element of its type a name must be to be taken for a slip of it.
_LIKENESS = 0.8
_NAME_CHARS_MAX = 64
_UNKNOWN = "fhir.structure.unknown-element"
_LEVELS: dict[str, Severity] = {"error": "major", "warning": "minor"}


@dataclass(slots=True)
class Step:
    """What to do with one member. `good`: string values known to be right; `items`: the same for the items of a list."""

    field: Field | None
    key: str
    good: Any = _NOTHING
    items: Any = _NOTHING
    type: Plans | None = None
    binding: Binding | None = None
    beside: str = ""
    noted: bool = False
    single: bool = False
    checked: bool = False


class Problem(NamedTuple):
    """What is wrong with the names of an object's members. `name`: the member, empty for the object."""

    severity: Severity
    code: str
    name: str
    message: str


@dataclass(slots=True)
class Plan:
    """What the names of an object's members say: a step per member, problems, the invariants whose verdict needs the values, and how many are bound."""

    steps: tuple[Step, ...]
    problems: tuple[Problem, ...]
    invariants: tuple[Invariant, ...]
    settled: int
    bound: int


class Plans:
    """The plans of one type."""

    __slots__ = ("collected", "is_reference", "kept", "owner", "steps", "type")

    def __init__(self, of: Type, owner: Engine) -> None:
        self.type = of
        self.owner = owner
        self.kept: dict[tuple[str, ...], Plan] = {}
        self.steps: dict[str, Step] = {}
        self.is_reference = of.name == "Reference"
        self.collected = of.name in _COLLECTED

    def step(self, key: str) -> Step | None:
        """Return the step of a member by its key, or None where the type has no such element."""
        step = self.steps.get(key)
        if step is None:
            made = self.owner.make_step(self.type, key)
            if made is None:
                return None
            step = self.steps[key] = made
        return step

    def plan(self, keys: tuple[str, ...]) -> Plan:
        """Work out, and keep, the plan for a set of member names."""
        made = self._make(keys)
        if len(self.kept) < PLANS_MAX and len(keys) <= PLAN_MEMBERS_MAX:
            self.kept[keys] = made
        return made

    def _make(self, keys: tuple[str, ...]) -> Plan:
        problems: list[Problem] = []
        steps, present = [], set()
        for key in keys:
            step = self.step(key)
            if step is None:
                problems.append(Problem("major", _UNKNOWN, key, "this element does not exist here in FHIR R4"))
                steps.append(Step(None, "?"))
                continue
            steps.append(step)
            if step.field is not None:
                present.add(step.field.element)
        if not keys or (set(keys) <= {"id"} and self.type.name != "Element"):
            problems.append(Problem("major", "fhir.invariants.ele-1", "", "an element must have a value or children"))
        self._cardinality(set(keys), problems)
        rules, settled = self._invariants(frozenset(name.removesuffix("[x]") for name in present), problems)
        bound = sum(1 for step in steps if step.binding is not None and step.binding.decides)
        return Plan(tuple(steps), tuple(problems), rules, settled, bound)

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
        left = []
        for rule in self.type.invariants:
            verdict = decide(rule.tree, present)
            if verdict in {Verdict.FALSE, Verdict.EMPTY}:
                problems.append(Problem(_LEVELS[rule.severity], f"fhir.invariants.{rule.key}", "", rule.human))
            elif verdict is not Verdict.TRUE:
                left.append(rule)
        return tuple(left), len(self.type.invariants) + 1


class Engine:
    """The plans of all types. Shared between validations; what it keeps is bounded."""

    def __init__(self) -> None:
        self.definitions = definitions()
        self._plans: dict[str, Plans] = {}
        self._good: dict[str, set[str]] = {}
        self.settled: set[tuple[Any, Any, Any]] = set()

    def plans(self, name: str) -> Plans:
        """Return the plans of a type."""
        plans = self._plans.get(name)
        if plans is None:
            plans = self._plans[name] = Plans(self.definitions.types[name], self)
        return plans

    def make_step(self, of: Type, key: str) -> Step | None:
        """Return what to do with a member of a type."""
        if key == "resourceType" and key not in of.fields:
            return Step(None, key, good=frozenset({of.name})) if of.kind == "resource" else None
        if key[:1] == "_":
            found = of.fields.get(key[1:])
            if found is None or found.kind != "primitive":
                return None
            return Step(found, key, type=self.plans("Element"), beside=key[1:], single=not found.many)
        found = of.fields.get(key)
        if found is None:
            return None
        if found.kind == "complex":
            binding = binding_of(found)
            checked = binding is not None or bool(found.invariants)
            return Step(found, key, type=self.plans(found.type), binding=binding, single=not found.many, checked=checked)
        if found.kind == "primitive":
            return self._primitive(of, found)
        return Step(found, key)

    def _primitive(self, of: Type, found: Field) -> Step:
        binding = binding_of(found)
        noted = (
            found.type in {"canonical", "markdown"}
            or (found.name == "id" and of.kind != "resource" and of.name != "ElementDefinition")
            or bool(found.invariants)
        )
        if noted:
            return Step(found, found.name, binding=binding, noted=True)
        # What is good of a type is good of a field only where the field asks for nothing more.
        good = self._good.setdefault(found.type, set()) if binding is None else binding.codes or _NOTHING
        if found.many:
            return Step(found, found.name, items=good, binding=binding)
        return Step(found, found.name, good=good, binding=binding)

    def remember(self, name: str, value: str) -> None:
        """Keep a value that was found good."""
        good = self._good[name]
        if len(good) >= GOOD_MAX:
            good.clear()
        good.add(value)


def _patients(bundle: dict[str, Any]) -> int:
    entries = bundle.get("entry")
    resources = (one.get("resource") for one in entries if isinstance(one, dict)) if isinstance(entries, list) else ()
    return sum(1 for one in resources if isinstance(one, dict) and one.get("resourceType") == "Patient")


class Walk:
    """One walk over one document."""

    def __init__(self, engine: Engine, document: Document) -> None:
        self._engine = engine
        self._document = document
        self._say = document.say
        self._frame: Frame
        self._depth = 0
        self._fired = 0
        self._settled = 0
        self._bound = 0
        self._members = 0
        self._undecided: set[str] = set()

    def run(self, resource: dict[str, Any], place: Place) -> Frame | None:
        """Walk one resource that stands by itself; return its frame, or None where it has no known type."""
        frame = self._resource(resource, place, None, None)
        document = self._document
        document.report.fired("structure", self._members)
        document.report.fired("primitives", self._members)
        document.report.fired("invariants", self._settled + self._fired)
        document.report.fired("bindings", self._bound)
        document.members += self._members
        for key in sorted(self._undecided):
            document.skip(f"invariant {key}", "the document alone cannot tell")
        return frame

    def _resource(self, resource: dict[str, Any], place: Place, container: Frame | None, bundle: Frame | None) -> Frame | None:
        name = resource.get("resourceType")
        if not isinstance(name, str):
            self._say("critical", "fhir.structure.resource-type", place, "no resourceType: not a FHIR resource")
            return None
        if name not in self._engine.definitions.resources:
            self._say("critical", "fhir.structure.resource-type", place, "not a resource type of FHIR R4", value=name)
            return None
        frame = Frame(resource, name, place, container, bundle)
        self._document.frames.append(frame)
        outer, self._frame = getattr(self, "_frame", None), frame
        self._object(resource, self._engine.plans(name), place)
        if outer is not None:
            self._frame = outer
        return frame

    def _object(self, value: dict[str, Any], plans: Plans, place: Place, found: Field | None = None) -> None:
        keys = (*value,)
        plan = plans.kept.get(keys) or plans.plan(keys)
        self._members += len(keys)
        self._settled += plan.settled
        self._bound += plan.bound
        if plan.problems:
            self._problems(plan, plans.type, place)
        if plans.is_reference:
            self._frame.references.append((value, place, found))
        elif plans.collected:
            self._collect(plans.type.name, value, place)
        for step, member in zip(plan.steps, value.values(), strict=False):
            kind = member.__class__
            if kind is str:
                if member not in step.good:
                    self._text(step, member, place)
            elif kind is list:
                if step.field is None:
                    self._other(step, member, place)
                else:
                    self._list(step, step.field, member, place, value)
            elif kind is dict and step.single:
                if step.beside and value.get(step.beside) is None:
                    self._alone(member, (place, step.key, None))
                self._child(step, member, (place, step.key, None))
            else:
                self._other(step, member, place)
        for rule in plan.invariants:
            self._invariant(rule, value, place)

    def _problems(self, plan: Plan, of: Type, place: Place) -> None:
        for severity, code, name, message in plan.problems:
            if code != _UNKNOWN:
                self._say(severity, code, (place, name, None) if name else place, message)
                continue
            # The name is the payload's. A slip of an element of this type gets a suggestion: sought only where it will be told.
            wanted = self._document.said[code, severity] < PER_CODE_MAX and len(name) <= _NAME_CHARS_MAX
            near = get_close_matches(name.removeprefix("_"), of.fields, 1, _LIKENESS) if wanted else []
            shown = shown_name(name) if near else self._document.named(name)
            self._say(severity, code, (place, shown, None), message, suggestion=f"Use '{near[0]}'" if near else None)

    def _collect(self, name: str, value: dict[str, Any], place: Place) -> None:
        document = self._document
        if name == "Coding":
            document.codings.append((value, place))
        elif name == "Extension":
            document.extensions.append((value, place, self._frame))
        else:
            document.typed.setdefault(name, []).append((value, place, self._frame))

    def _child(self, step: Step, value: dict[str, Any], place: Place) -> None:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            self._say("critical", "fhir.structure.depth", place, f"nested deeper than {DEPTH_MAX} objects; not read further")
        else:
            plans = step.type
            assert plans is not None  # the caller looked
            self._object(value, plans, place, step.field)
            if step.checked:
                self._checked(step, value, place)
        self._depth -= 1

    def _checked(self, step: Step, value: dict[str, Any], place: Place) -> None:
        """What a field asks of its objects beside their type: a binding, and invariants of the element itself."""
        found = step.field
        if step.binding is not None:
            step.binding.check(self._document, value, place)
        for rule in found.invariants if found is not None else ():
            self._invariant(rule, value, place)

    def _text(self, step: Step, value: str, place: Place) -> None:
        found = step.field
        here: Place = (place, step.key, None)
        if found is None:
            return
        if found.kind == "xhtml":
            self._document.narratives.append((value, here, self._frame))
        elif found.kind == "primitive" and not step.beside and not found.many:
            self._value(step, found, value, here)
        else:
            self._other(step, value, place)

    def _value(self, step: Step, found: Field, value: Any, here: Place) -> None:
        problem = primitives.CHECKS[found.type](value)
        if problem is not None:
            level: Severity = "minor" if problem[0] == primitives.BLANK and found.type in {"string", "markdown"} else "major"
            self._say(level, problem[0], here, problem[1], value=value)
            return
        if step.binding is not None:
            step.binding.check_code(self._document, value, here)
        elif value.__class__ is str and not step.noted and len(value) <= GOOD_CHARS_MAX:
            self._engine.remember(found.type, value)
        if step.noted:
            self._note(found, value, here)

    def _note(self, found: Field, value: Any, here: Place) -> None:
        if found.type == "canonical":
            self._frame.canonicals.append((value, here, found))
        elif found.type == "markdown":
            self._document.markdowns.append((value, here))
        elif found.name == "id":
            self._frame.ids[value] = self._frame.ids.get(value, 0) + 1
            if self._frame.ids[value] == 2:
                self._say("major", "fhir.structure.duplicate-id", here, "this element id appears twice in one resource")
        for rule in found.invariants:
            self._invariant(rule, value, here)

    def _other(self, step: Step, value: Any, place: Place) -> None:
        """A member that is neither a plain text nor a well-placed object or list: a number, a boolean, null, a resource, or something wrong."""
        found = step.field
        here: Place = (place, step.key, None)
        if value is None:
            self._say("major", "fhir.structure.null", here if found is not None else place, "null is only allowed inside a list of primitives")
        elif found is None:
            if step.key == "resourceType":
                self._say("major", "fhir.structure.resource-type", here, "resourceType must be text")
        elif found.many:
            self._say("major", "fhir.structure.list", here, "this element repeats, so it must be a JSON list")
        elif step.beside or found.kind == "complex":
            self._say("major", "fhir.structure.object", here, "must be a JSON object")
        elif found.kind == "resource":
            self._inner_resource(value, here, found)
        elif found.kind == "xhtml":
            self._say("major", "fhir.primitives.type", here, "the narrative must be a JSON string")
        else:
            self._value(step, found, value, here)

    def _list(self, step: Step, found: Field, values: list[Any], place: Place, owner: dict[str, Any]) -> None:
        key = step.key
        if not found.many:
            self._say("major", "fhir.structure.no-list", (place, key, None), "this element does not repeat, so it must not be a JSON list")
            return
        if not values:
            self._say("major", "fhir.structure.empty-list", (place, key, None), "a list must not be empty")
        typed = step.type is not None
        for index, value in enumerate(values):
            kind = value.__class__
            if kind is dict and typed:
                if step.beside:
                    self._beside(step, value, owner, (place, key, index))
                self._child(step, value, (place, key, index))
            elif kind is not str or value not in step.items:
                self._item(step, found, value, (place, key, index), owner)

    def _beside(self, step: Step, value: dict[str, Any], owner: dict[str, Any], at: Place) -> None:
        values, index = owner.get(step.beside), at[2] or 0
        if not isinstance(values, list) or index >= len(values) or values[index] is None:
            self._alone(value, at)

    def _alone(self, value: dict[str, Any], at: Place) -> None:
        """What stands beside a primitive that has no value must hold more than an id."""
        if value.keys() == {"id"}:
            self._say("major", "fhir.invariants.ele-1", at, "an element must have a value or children")

    def _item(self, step: Step, found: Field, value: Any, at: Place, owner: dict[str, Any]) -> None:
        """One item of a list that is neither an object in its place nor a text known to be good."""
        if found.kind == "resource":
            self._inner_resource(value, at, found)
        elif value is None and found.kind == "primitive":
            beside = owner.get(step.beside or "_" + step.key)
            index = at[2] or 0
            if not isinstance(beside, list) or index >= len(beside) or beside[index] is None:
                self._say("major", "fhir.structure.null", at, "null in a list needs a value or an extension at the same index of the other list")
        elif step.type is not None:
            self._say("major", "fhir.structure.object", at, "must be a JSON object")
        else:
            self._value(step, found, value, at)

    def _inner_resource(self, value: Any, place: Place, found: Field) -> None:
        if value.__class__ is not dict:
            self._say("major", "fhir.structure.object", place, "must be a resource: a JSON object")
            return
        self._depth += 1
        outer = self._frame
        if self._depth > DEPTH_MAX:
            self._say("critical", "fhir.structure.depth", place, f"nested deeper than {DEPTH_MAX} objects; not read further")
        elif found.name == "contained":
            if outer.container is not None:
                self._say("major", "fhir.invariants.dom-2", place, "a contained resource must not contain resources")
            inner = self._resource(value, place, outer.root, outer.bundle)
            if inner is not None:
                outer.contained.append(inner)
        elif outer.type == "Bundle" and found.name == "resource":
            self._entry(value, place)
        else:
            # Parameters.parameter.resource and the like: a resource of its own that shares nothing.
            self._resource(value, place, None, outer.bundle)
        self._depth -= 1

    def _entry(self, value: dict[str, Any], place: Place) -> None:
        bundle, outer = self._frame, place[0]
        index = outer[2] if outer is not None and outer[1] == "entry" else None
        entries = bundle.resource.get("entry")
        inner = self._resource(value, self._entry_place(value, place), None, bundle)
        if inner is not None and index is not None and isinstance(entries, list):
            inner.entry, inner.entry_index = entries[index], index
            bundle.entries.append(inner)

    def _entry_place(self, value: dict[str, Any], place: Place) -> Place:
        """An entry's resource is shown by its type and its number among those of its type, as the specification's examples do."""
        name = value.get("resourceType")
        if not isinstance(name, str) or name not in self._engine.definitions.resources:
            return place
        bundle = self._frame
        number = bundle.numbers.get(name, 0)
        bundle.numbers[name] = number + 1
        only = name == "Patient" and number == 0 and _patients(bundle.resource) == 1
        outer = bundle.place if bundle.place[0] is not None or bundle.bundle is not None else None
        return (outer, name, None if only else number)

    def _invariant(self, rule: Invariant, value: Any, place: Place) -> None:
        self._fired += 1
        frame = self._frame
        verdict = rule.holds(value, Surroundings(frame.resource, frame.root.resource, value))
        if verdict is False:
            self._say(_LEVELS[rule.severity], f"fhir.invariants.{rule.key}", place, rule.human)
        elif verdict is None:
            self._undecided.add(rule.key)
