"""Checks of single values against a profile: bounds, invariants, targets of references, bindings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Final

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.formats.fhir.attachments import stated_size
from touchstone.scorers.clinical.formats.fhir.document import Document, Frame, Place
from touchstone.scorers.clinical.formats.fhir.fhirpath import Environment, Verdict, decide
from touchstone.scorers.clinical.formats.fhir.fhirpath.values import CHOICE_TYPES, NO_CHOICES, Extended, plain
from touchstone.scorers.clinical.formats.fhir.options import may_be_kept
from touchstone.scorers.clinical.formats.fhir.profiles.constraints import BASE, Constraint, Profile, shown_text
from touchstone.scorers.clinical.formats.fhir.profiles.library import Library
from touchstone.scorers.clinical.formats.fhir.profiles.matching import absent, codes_of, differ_in_kind, is_amount, ordered
from touchstone.scorers.clinical.formats.fhir.profiles.message_texts import amount_text, found_text, limit_text, members_text, named
from touchstone.scorers.clinical.formats.fhir.profiles.narrative_controls import SOURCES, language_fault, without_source
from touchstone.scorers.clinical.formats.fhir.profiles.relative_bounds import against_now
from touchstone.scorers.clinical.formats.fhir.references import Resolver, rest_parts
from touchstone.scorers.clinical.formats.fhir.remedies import remedy_of
from touchstone.scorers.clinical.formats.fhir.tables import Invariant, definitions

_REMEDY: Final = "Change the document, or do not claim the profile"
LEVELS: Final[dict[str, Severity]] = {"fatal": "major", "error": "major", "warning": "minor"}
#: Sets of member names for which a constraint keeps its undecided invariants.
_SHAPES_MAX: Final = 1_000


class ValueChecks(ABC):
    """Checks single values of one document against profiles."""

    def __init__(self, document: Document, resolver: Resolver, definitions_at_hand: Library) -> None:
        self._document = document
        self._resolver = resolver
        self._values = definitions_at_hand.values
        self.find = definitions_at_hand.profile
        self._allowed: dict[tuple[str, ...], frozenset[str] | None] = {}
        self._conforming: dict[tuple[int, str], bool] = {}
        self._frame: Frame
        self._profile: Profile

    def _add(self, code: str, place: Place, message: str, *, remedy: str | None = None, value: object = None, level: Severity = "major") -> None:
        """Report a breach of the current profile, by the profile's name."""
        suggestion = remedy or _REMEDY
        self._document.add(level, code, place, f"profile {self._profile.title} {message}", suggestion=suggestion, value=value)

    @abstractmethod
    def _conforms(self, frame: Frame, url: str) -> bool:
        """True if a resource conforms to a profile, or if that cannot be decided."""

    def _bounds(self, rule: Constraint, value: Any, place: Place) -> None:
        held = plain(value)
        if rule.length is not None and isinstance(held, str) and len(held) > rule.length:
            asked = f"allows {rule.length} characters here; found {len(held)}"
            self._add("fhir.profiles.length", place, asked, remedy=f"Shorten it to {rule.length} characters")
        if rule.shortest is not None and isinstance(held, str) and len(held) < rule.shortest:
            asked = f"asks for {rule.shortest} characters here; found {len(held)}"
            self._add("fhir.profiles.length", place, asked, remedy=f"Give at least {rule.shortest} characters")
        if held is None and value.__class__ is Extended:
            self._replaced(rule, value, place)
        sides = ("no earlier than", "no later than") if isinstance(held, str) else ("at least", "at most")
        for bound, wrong, limit in ((rule.low, -1, sides[0]), (rule.high, 1, sides[1])):
            is_relative = isinstance(held, str) and isinstance(bound, dict)
            if is_relative:
                order = against_now(held, bound, self._document.context.now(), wrong)
            else:
                order = ordered(held, bound) if bound is not None and held is not None else 0
            if order is None and isinstance(held, dict) and isinstance(bound, dict) and differ_in_kind(held, bound):
                unit = shown_text(str(bound.get("code")))
                asked = f"asks for {limit} {amount_text(bound)} here, and this unit cannot be converted to {unit}"
                self._add("fhir.profiles.range", place, asked, remedy=f"Give an amount in {unit}", value=value)
            elif order is None:
                self._document.skip("bounds of a profile", "a value and its bound cannot be ordered")
            elif order == wrong and is_relative:
                limit = limit_text(bound, wrong)
                self._add("fhir.profiles.range", place, f"asks for a date {limit}", remedy=f"Correct the date: {limit}", value=value)
            elif order == wrong:
                shown = amount_text(bound)
                self._add("fhir.profiles.range", place, f"asks for {limit} {shown} here", remedy=f"Give {limit} {shown}", value=value)

    def _controls(self, rule: Constraint, value: dict[str, Any], place: Place) -> None:
        """Check the size of an attachment, and the sections and sources of a narrative."""
        size = stated_size(value) if rule.size is not None else None
        if rule.size is not None and size is not None and size > rule.size:
            self._add("fhir.profiles.length", place, f"allows {rule.size:.0f} bytes here; found {size}", remedy=f"Shorten it to {rule.size:.0f} bytes")
        div = value.get("div")
        if not isinstance(div, str):
            return
        fault = language_fault(div, rule.languages, self._frame.resource.get("language")) if rule.languages else None
        if fault is not None:
            self._add("fhir.profiles.narrative", (place, "div", None), fault, remedy='Put each language into a div of its own: <div lang="en" xml:lang="en">')
        level = LEVELS.get(str(rule.sources)) if rule.sources not in {None, "success", "information"} else None
        bare = without_source(div) if level is not None else 0
        if level is not None and bare:
            asked = f"asks each part of this narrative for a class that gives its source ({', '.join(sorted(SOURCES))}); without one: {bare}"
            self._add("fhir.profiles.narrative", (place, "div", None), asked, remedy='Add the class, such as <p class="generated">', level=level)

    def _replaced(self, rule: Constraint, value: Extended, place: Place) -> None:
        """Check what stands in place of a primitive's value (R5, ElementDefinition.mustHaveValue and valueAlternatives)."""
        given = value.beside.get("extension")
        urls = {one.get("url") for one in given if isinstance(one, dict)} if isinstance(given, list) else set()
        if rule.must_have_value:
            self._add("fhir.profiles.value", place, "asks for a value here, which no extension may replace", remedy="Give a value")
        elif rule.alternatives and urls.isdisjoint(rule.alternatives):
            listed = ", ".join(map(shown_text, rule.alternatives))
            self._add("fhir.profiles.value", place, f"asks for a value here, or one of the extensions {listed} in its place", remedy="Give a value")

    def _invariants(self, rule: Constraint, value: Any, place: Place) -> None:
        kind = place[1].lstrip("_")[len(rule.short) :] or None if rule.choice else None
        for invariant in rule.invariants if value.__class__ is not dict else _undecided(rule, (*value,)):
            self._invariant(invariant, value, place, kind, of=self._profile.title)

    def _invariant(self, invariant: Invariant, value: Any, place: Place, kind: str | None, *, of: str, level: Severity | None = None) -> None:
        frame = self._frame
        if invariant.shortcut is not None and invariant.shortcut(value, frame.resource):
            return
        environment = Environment(frame.resource, frame.root.resource, value, self._resolve, kind, self._member)
        verdict = invariant.holds(value, environment)
        if verdict is False:
            message = f"profile {of}: {invariant.human}"
            severity, code = level or LEVELS.get(invariant.severity, "minor"), f"fhir.invariants.{shown_text(invariant.key)}"
            self._document.add(severity, code, place, message, suggestion=remedy_of(invariant.human))
        elif verdict is None:
            self._document.skip(f"invariant {shown_text(invariant.key)}", "the document alone cannot tell")

    def _member(self, value: Any, url: str) -> bool | None:
        """True if one of a value's codes is in a value set; None if the set cannot be expanded."""
        verdicts = [self._values.holds(url, system, code) for system, code in codes_of(value)]
        return True if True in verdicts else None if None in verdicts or not verdicts else False

    def _resolve(self, _: Any, reference: str) -> Any:
        target = self._resolver.anywhere(self._frame, reference)
        if target is not None:
            return target.resource
        parts = rest_parts(reference) or rest_parts("http://server/" + reference)
        return None if parts is None else {"resourceType": parts[1]}

    def _target(self, value: dict[str, Any], targets: tuple[str, ...], place: Place) -> None:
        reference = value.get("reference")
        if not isinstance(reference, str):
            return
        if targets not in self._allowed:
            self._allowed[targets] = self._types_of(targets)
        allowed = self._allowed[targets]
        if allowed is None:
            return
        target = self._resolver.anywhere(self._frame, reference)
        # What a Bundle or containment resolves must keep the profile (R4, profiling.html#reference); a namesake elsewhere may be another resource.
        inside = target if reference.startswith("#") else self._resolver.in_bundle(self._frame, reference)
        parts = None if target is not None else rest_parts(reference) or rest_parts("http://server/" + reference)
        actual = target.type if target is not None else parts[1] if parts is not None else None
        if actual is not None and "Resource" not in allowed and actual not in allowed:
            listed = " or ".join(sorted(allowed))
            # Only the type of a resource outside the document is known, so this is not counted against the document.
            level: Severity = "major" if target is not None or self._document.options.rest_references else "minor"
            message = f"does not allow a reference to {actual} here; allowed: {listed}"
            self._add("fhir.profiles.target", place, message, level=level, remedy=f"Refer to {listed}")
        elif inside is not None and not any(self._target_conforms(inside, one) for one in targets):
            allows = ", ".join(named(one) for one in targets)
            message = f"asks for a resource that conforms to {allows}, and the {'contained one' if reference.startswith('#') else 'entry'} does not"
            self._add("fhir.profiles.target", place, message, remedy=f"See the profile {allows}")

    def _target_conforms(self, frame: Frame, url: str) -> bool:
        """True if a target conforms to a profile. Each pair is asked once; a circle of references is taken to conform where it closes."""
        key = (id(frame.resource), url)
        if key not in self._conforming:
            self._conforming[key] = True
            self._conforming[key] = self._conforms(frame, url)
        return self._conforming[key]

    def _types_of(self, targets: tuple[str, ...]) -> frozenset[str] | None:
        """The types that some profiles are for; None if one of them is not at hand."""
        allowed = set()
        for target in targets:
            tail = target.removeprefix(BASE)
            profile = None if tail in definitions().types else self.find(target)
            if tail not in definitions().types and profile is None:
                return None
            allowed.add(profile.type if profile is not None else tail)
        return frozenset(allowed)

    def _binding(self, binding: tuple[str, str], value: Any, place: Place) -> None:
        strength, value_set = binding
        codes = list(codes_of(value))
        verdicts = [self._values.holds(value_set, system, code) for system, code in codes]
        remedy = f"Use a code of {shown_text(value_set.partition('|')[0])}"
        if True in verdicts:
            return
        if None in verdicts:
            self._document.skip(f"binding {shown_text(value_set)}", "the value set cannot be expanded from what is installed")
        elif strength == "required" and (codes or (isinstance(value, dict) and not is_amount(value))) and not absent(value):
            message = f"requires a code of the value set {named(value_set)}{members_text(value_set)}{found_text(value)}"
            self._add("fhir.profiles.binding", place, message, remedy=remedy, value=value)
        elif strength == "extensible" and codes:
            message = f"asks for a code of the value set {named(value_set)} where one fits{found_text(value)}"
            self._add("fhir.profiles.binding-extensible", place, message, remedy=f"{remedy} where one fits", level="info")

    def _in_one_repeat(self, rule: Constraint, values: list[Any], place: Place) -> None:
        """One repeat at least must have a code of a value set (R5, ElementDefinition.binding.additional.any)."""
        for value_set in rule.in_one_repeat:
            verdicts = [self._member(value, value_set) for value in values if any(True for _ in codes_of(value))]
            if True in verdicts:
                continue
            if None in verdicts:
                self._document.skip(f"binding {shown_text(value_set)}", "the value set cannot be expanded from what is installed")
            elif not all(map(absent, values)):
                message = f"requires a code of the value set {named(value_set)} in one {rule.short} at least{members_text(value_set)}"
                self._add("fhir.profiles.binding", place, message, remedy=f"Add a code of {shown_text(value_set.partition('|')[0])}")


def _undecided(rule: Constraint, keys: tuple[str, ...]) -> tuple[Invariant, ...]:
    """The invariants of a constraint that member names alone do not decide; kept per set of names."""
    undecided = rule.undecided.get(keys)
    if undecided is None:
        present = frozenset(name for key in keys for name in _names(key.removeprefix("_")))
        undecided = tuple(one for one in rule.invariants if decide(one.tree, present) is not Verdict.TRUE)
        if len(rule.undecided) < _SHAPES_MAX and may_be_kept(keys):
            rule.undecided[keys] = undecided
    return undecided


def _names(key: str) -> set[str]:
    """The names of a member in FHIRPath: its key, and that without a type."""
    return {key} if key in NO_CHOICES else {key} | {key[:size] for size in range(1, len(key)) if key[size:] in CHOICE_TYPES}
