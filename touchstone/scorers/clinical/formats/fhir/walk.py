"""One walk over the parsed JSON of one document, driven by plans: structure, primitives, bindings and invariants."""

from __future__ import annotations

from typing import Any, Final

from touchstone.scorers.clinical.checks.json_access import Json, objects
from touchstone.scorers.clinical.formats.fhir.document import Document, Frame, Place
from touchstone.scorers.clinical.formats.fhir.engine import Engine
from touchstone.scorers.clinical.formats.fhir.member_checks import MemberChecks
from touchstone.scorers.clinical.formats.fhir.member_plans import CODINGS, COUNT_BITS, REFERENCES, Plans, Step
from touchstone.scorers.clinical.formats.fhir.options import DEPTH_MAX
from touchstone.scorers.clinical.formats.fhir.tables import Field

_COUNT: Final = (1 << COUNT_BITS) - 1


def _patients(bundle: Json) -> int:
    resources = (one.get("resource") for one in objects(bundle.get("entry")))
    return sum(1 for one in resources if isinstance(one, dict) and one.get("resourceType") == "Patient")


class Walk(MemberChecks):
    """One walk over one document."""

    def __init__(self, engine: Engine, document: Document) -> None:
        super().__init__(engine, document)
        self._codings = document.codings.append
        self._counts = 0

    def run(self, resource: Json, place: Place) -> Frame | None:
        """Walk one resource. Returns its frame, or None if its type is unknown."""
        frame = self._resource(resource, place, None, None, 0)
        document, counts = self._document, self._counts
        members, settled, bound = counts & _COUNT, counts >> COUNT_BITS & _COUNT, counts >> 2 * COUNT_BITS
        document.report.fired("structure", members)
        document.report.fired("primitives", members)
        document.report.fired("invariants", settled + self._fired)
        document.report.fired("bindings", bound)
        document.members += members
        for key in sorted(self._undecided):
            document.skip(f"invariant {key}", "the document alone cannot tell")
        return frame

    def _resource(self, resource: Json, place: Place, container: Frame | None, bundle: Frame | None, depth: int) -> Frame | None:
        name = resource.get("resourceType")
        if not isinstance(name, str):
            self._add("critical", "fhir.structure.resource-type", place, "no resourceType: not a FHIR resource")
            return None
        if name not in self._engine.definitions.resources:
            self._add("critical", "fhir.structure.resource-type", place, "not a resource type of FHIR R4", value=name)
            return None
        frame = Frame(resource, name, place, container, bundle)
        self._document.frames.append(frame)
        outer, self._frame = getattr(self, "_frame", None), frame
        self._object(resource, self._engine.plans(name), place, None, depth)
        if outer is not None:
            self._frame = outer
        return frame

    def _object(self, value: Json, plans: Plans, place: Place, found: Field | None, depth: int) -> None:  # noqa: C901 - a call costs more than a branch
        """Walk one object of a known type. `found`: its field. Most time is spent here, so the common cases come first."""
        keys = (*value,)
        plan = plans.kept.get(keys) or plans.plan(keys)
        self._counts += plan.counts
        if plan.problems:
            self._problems(plan, plans.type, place)
        if plans.collected == CODINGS:
            self._codings((value, place))
        elif plans.collected == REFERENCES:
            self._frame.references.append((value, place, found))
        elif plans.collected:
            self._collect(plans.type.name, value, place)
        for step, member in zip(plan.steps, value.values()):  # noqa: B905 - one step per member
            kind = member.__class__
            if kind is str:
                if not step.accepts(member):
                    self._text(step, member, place)
            elif kind is dict:
                if step.one is not None and depth < DEPTH_MAX:
                    self._object(member, step.one, (place, step.key, None), step.field, depth + 1)
                else:
                    self._nested(step, member, place, value, depth)
            elif kind is list:
                if step.each is not None and member and depth < DEPTH_MAX:
                    each, key, inner = step.each, step.key, step.field
                    for index, one in enumerate(member):
                        if one.__class__ is dict:
                            self._object(one, each, (place, key, index), inner, depth + 1)
                        else:
                            self._item(step, one, (place, key, index), value, depth)
                else:
                    self._list(step, member, place, value, depth)
            elif kind not in step.plain:
                self._other(step, member, place, depth)
        for rule in plan.invariants:
            self._invariant(rule, value, place)

    def _collect(self, name: str, value: Json, place: Place) -> None:
        if name == "Extension":
            self._document.extensions.append((value, place, self._frame))
        else:
            self._document.typed.setdefault(name, []).append((value, place, self._frame))

    def _nested(self, step: Step, member: Json, place: Place, owner: Json, depth: int) -> None:
        if step.resource is not None:
            self._inner_resource(member, (place, step.key, None), step.resource, depth)
            return
        if step.below is None or step.many:
            self._other(step, member, place, depth)
            return
        here: Place = (place, step.key, None)
        if step.beside and owner.get(step.beside) is None:
            self._alone(step, member, here)
        self._child(step, step.below, member, here, depth)

    def _child(self, step: Step, below: Plans, value: Json, place: Place, depth: int) -> None:
        if depth >= DEPTH_MAX:
            self._too_deep(place)
            return
        self._object(value, below, place, step.field, depth + 1)
        if step.binding is not None:
            step.binding.check(self._document, value, place)

    def _text(self, step: Step, value: str, place: Place) -> None:
        found = step.field
        here: Place = (place, step.key, None)
        if found is None:
            return
        if found.kind == "xhtml":
            self._document.narratives.append((value, here))
        elif found.kind == "primitive" and not step.beside and not found.many:
            self._value(step, found, value, here)
        else:
            self._other(step, value, place, 0)

    def _other(self, step: Step, value: Any, place: Place, depth: int) -> None:
        """A member that is neither text nor an object or list where one is allowed: a number, a boolean, null, a resource, or a fault."""
        found = step.field
        here: Place = (place, step.key, None)
        if value is None:
            self._add("major", "fhir.structure.null", here if found is not None else place, "null is only allowed inside a list of primitives")
        elif found is None:
            if step.key == "resourceType":
                self._add("major", "fhir.structure.resource-type", here, "resourceType must be text")
        elif found.many:
            self._add("major", "fhir.structure.list", here, "this element repeats, so it must be a JSON list")
        elif step.beside or found.kind == "complex":
            self._add("major", "fhir.structure.object", here, "must be a JSON object")
        elif found.kind == "resource":
            self._inner_resource(value, here, found, depth)
        elif found.kind == "xhtml":
            self._add("major", "fhir.primitives.type", here, "the narrative must be a JSON string")
        else:
            self._value(step, found, value, here)

    def _list(self, step: Step, values: list[Any], place: Place, owner: Json, depth: int) -> None:
        found, key, below = step.field, step.key, step.below
        if found is None:
            self._other(step, values, place, depth)
            return
        if not found.many:
            self._add("major", "fhir.structure.no-list", (place, key, None), "this element does not repeat, so it must not be a JSON list")
            return
        if not values:
            self._add("major", "fhir.structure.empty-list", (place, key, None), "a list must not be empty")
        for index, value in enumerate(values):
            kind = value.__class__
            if kind is dict and below is not None:
                if step.beside:
                    self._beside(step, value, owner, (place, key, index))
                self._child(step, below, value, (place, key, index), depth)
            elif kind is not str or not step.accepts_item(value):
                self._item(step, value, (place, key, index), owner, depth)

    def _item(self, step: Step, value: Any, at: Place, owner: Json, depth: int) -> None:
        """One item of a list that is neither an object where one is allowed nor a text known to be good."""
        found = step.field
        if found is None:
            return
        if found.kind == "resource":
            self._inner_resource(value, at, found, depth)
        elif value is None and found.kind == "primitive":
            beside = owner.get(step.beside or "_" + step.key)
            index = at[2] or 0
            if not isinstance(beside, list) or index >= len(beside) or beside[index] is None:
                self._add("major", "fhir.structure.null", at, "null in a list needs a value or an extension at the same index of the other list")
        elif step.below is not None:
            self._add("major", "fhir.structure.object", at, "must be a JSON object")
        else:
            self._value(step, found, value, at)

    def _inner_resource(self, value: Any, place: Place, found: Field, depth: int) -> None:
        if value.__class__ is not dict:
            self._add("major", "fhir.structure.object", place, "must be a resource: a JSON object")
            return
        outer = self._frame
        if depth >= DEPTH_MAX:
            self._too_deep(place)
        elif found.name == "contained":
            if outer.container is not None:
                self._add("major", "fhir.invariants.dom-2", place, "a contained resource must not contain resources")
            inner = self._resource(value, place, outer.root, outer.bundle, depth + 1)
            if inner is not None:
                outer.contained.append(inner)
        elif outer.type == "Bundle" and found.name == "resource":
            self._entry(value, place, depth + 1)
        else:
            # Parameters.parameter.resource and the like: an independent resource.
            self._resource(value, place, None, outer.bundle, depth + 1)

    def _entry(self, value: Json, place: Place, depth: int) -> None:
        bundle, outer, name = self._frame, place[0], value.get("resourceType")
        if isinstance(name, str) and name in self._engine.definitions.resources:
            place = self._entry_place(bundle, name)
        inner = self._resource(value, place, None, bundle, depth)
        entries = bundle.resource.get("entry")
        if inner is not None and outer is not None and outer[1] == "entry" and outer[2] is not None and isinstance(entries, list):
            inner.entry, inner.entry_index = entries[outer[2]], outer[2]
            bundle.entries.append(inner)

    def _entry_place(self, bundle: Frame, name: str) -> Place:
        """An entry's resource is shown by its type and its number among those of its type, as in the specification's examples."""
        number = bundle.numbers.get(name, 0)
        bundle.numbers[name] = number + 1
        only = name == "Patient" and number == 0 and _patients(bundle.resource) == 1
        outer = bundle.place if bundle.place[0] is not None or bundle.bundle is not None else None
        return (outer, name, None if only else number)
