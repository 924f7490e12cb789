"""Checks of single members: names, values of primitives, invariants."""

from __future__ import annotations

from typing import Any

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.checks.languages import VALUE_SET as LANGUAGES_SET
from touchstone.scorers.clinical.formats.fhir import primitives
from touchstone.scorers.clinical.formats.fhir.document import HIDDEN, Document, Frame, Place, shown_name
from touchstone.scorers.clinical.formats.fhir.engine import Engine
from touchstone.scorers.clinical.formats.fhir.fhirpath import Environment
from touchstone.scorers.clinical.formats.fhir.member_plans import LEVELS, UNKNOWN, Plan, Step
from touchstone.scorers.clinical.formats.fhir.names import meant
from touchstone.scorers.clinical.formats.fhir.options import DEPTH_MAX, PER_CODE_MAX
from touchstone.scorers.clinical.formats.fhir.remedies import remedy_of
from touchstone.scorers.clinical.formats.fhir.tables import Field, Invariant, Type


class MemberChecks:
    """The part of a walk that goes no deeper."""

    def __init__(self, engine: Engine, document: Document) -> None:
        self._engine = engine
        self._document = document
        self._add = document.add
        self._frame: Frame
        self._fired = 0
        self._undecided: set[str] = set()

    def _problems(self, plan: Plan, of: Type, place: Place) -> None:
        for severity, code, name, message, remedy in plan.problems:
            if code != UNKNOWN:
                self._add(severity, code, (place, name, None) if name else place, message, suggestion=remedy)
                continue
            # The name may be patient text. One like an element of this type gets a suggestion, if the finding will be kept.
            wanted = self._document.counts[code, severity] < PER_CODE_MAX
            near = meant(name, of.fields) if wanted else None
            shown = shown_name(name) if near is not None else self._document.named(name)
            told = f"FHIR R4 has no element {shown} in {of.name}" if shown != "?" else f"{message} in {of.name}; its name is left out, because {HIDDEN}"
            told += f"; did you mean {near}?" if near is not None else ""
            self._add(severity, code, (place, shown, None), told, suggestion=f"Use '{near}'" if near is not None else None)

    def _value(self, step: Step, found: Field, value: Any, here: Place) -> None:
        problem = primitives.CHECKS[found.type](value)
        if problem is not None:
            # For strings R4 says SHOULD; in other types the form is broken.
            should = problem[0] in {primitives.CONTROL, primitives.BLANK} and found.type in {"string", "markdown"}
            level: Severity = "minor" if should else "major"
            self._add(level, problem[0], here, problem[1], value=value)
            return
        if step.binding is not None:
            step.binding.check_code(self._document, value, here)
        elif value.__class__ is str and not step.noted:
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
                self._add("major", "fhir.structure.duplicate-id", here, "this element id appears twice in one resource")
        for rule in found.invariants:
            self._invariant(rule, value, here)

    def _alone(self, step: Step, value: dict[str, Any], at: Place) -> None:
        """Report an object beside a primitive without a value if it has only an id, or if a code is required (R4, terminologies: required)."""
        if value.keys() == {"id"}:
            self._add("major", "fhir.invariants.ele-1", at, "an element must have a value or children")
        elif step.field is not None and step.field.binding not in {None, LANGUAGES_SET} and value:
            message, remedy = (
                "a code of the required value set must be here; an extension does not replace it",
                "Use a code of the value set, if it has one for unknown",
            )
            self._add("major", "fhir.bindings.required", at, message, suggestion=remedy)

    def _beside(self, step: Step, value: dict[str, Any], owner: dict[str, Any], at: Place) -> None:
        values, index = owner.get(step.beside), at[2] or 0
        if not isinstance(values, list) or index >= len(values) or values[index] is None:
            self._alone(step, value, at)

    def _too_deep(self, place: Place) -> None:
        self._add("critical", "fhir.structure.depth", place, f"nested deeper than {DEPTH_MAX} objects; not read further")

    def _invariant(self, rule: Invariant, value: Any, place: Place) -> None:
        self._fired += 1
        resource = self._frame.resource
        verdict = rule.shortcut(value, resource) if rule.shortcut is not None and value.__class__ is dict else False
        if verdict is False:
            verdict = rule.holds(value, Environment(resource, self._frame.root.resource, value))
        if verdict is False:
            self._add(LEVELS[rule.severity], f"fhir.invariants.{rule.key}", place, rule.human, suggestion=remedy_of(rule.human))
        elif verdict is None:
            self._undecided.add(rule.key)
