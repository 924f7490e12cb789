"""Required bindings: the code must be one of the value set's (R4, terminologies: required)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.checks import registries
from touchstone.scorers.clinical.checks.languages import SYSTEM as LANGUAGES
from touchstone.scorers.clinical.checks.languages import VALUE_SET
from touchstone.scorers.clinical.formats.fhir.document import Document, Place
from touchstone.scorers.clinical.formats.fhir.profiles.value_sets import shipped
from touchstone.scorers.clinical.formats.fhir.tables import Field, definitions

#: Longer lists of codes are not named in messages, only counted.
NAMED_MAX = 24
#: Required value sets that are all of a system that a registry decides.
_REGISTRIES = {
    "http://hl7.org/fhir/ValueSet/mimetypes": (registries.MIME_TYPES, "fhir.bindings.required"),
    "http://hl7.org/fhir/ValueSet/currencies": (registries.CURRENCIES, "fhir.bindings.required"),
    VALUE_SET: (LANGUAGES, "fhir.bindings.language"),
}
_NOT_AT_HAND = "the code system is not in the tables, or a later edition of it may have the code"
#: The specification rates these as minor, although the bindings are required.
STATUS_ELEMENTS = frozenset({"clinicalStatus", "verificationStatus"})


@dataclass(slots=True)
class Binding:
    """One required binding. `systems`: system → codes, None if the tables do not have them. `codes`: all codes, for elements of type code."""

    value_set: str
    systems: dict[str, frozenset[str]] | None
    severity: Severity
    rule: str
    codes: frozenset[str] | None = None
    named: str = ""

    @property
    def decides(self) -> bool:
        """True if codes can be checked, against the list, by their form or by a registry."""
        return self.systems is not None or self.value_set in _REGISTRIES or any(one.systems for one in shipped().members(self.value_set).parts())

    def check_code(self, document: Document, value: Any, place: Place) -> None:
        """Check the value of an element of type code."""
        registry = _REGISTRIES.get(self.value_set)
        if registry is not None:
            problem = registries.problem_of(registry[0], value)
            if problem is not None:
                document.add(problem[0], registry[1], place, problem[1], value=value)
        elif self.codes is None:
            self._decided(document, [(None, value)], place)
        elif value not in self.codes:
            document.add(self.severity, self.rule, place, f"not one of the codes of the required value set{self.named}", value=value)

    def check(self, document: Document, value: dict[str, Any], place: Place) -> None:
        """Check a Coding, CodeableConcept or Quantity."""
        if self.value_set in _REGISTRIES:
            return  # `codings` checks every code that names the system
        codings = value.get("coding") if "coding" in value else [value]
        if not isinstance(codings, list):
            return
        coded = [one for one in codings if isinstance(one, dict) and isinstance(one.get("code"), str)]
        if self.systems is None:
            self._decided(document, [(str(one.get("system")), one["code"]) for one in coded], place)
        elif not any(one["code"] in self.systems.get(str(one.get("system")), ()) for one in coded):
            shown = coded[0]["code"] if coded else None
            document.add(self.severity, self.rule, place, f"no code of the required value set{self.named}", value=shown)

    def _decided(self, document: Document, codes: list[tuple[str | None, str]], place: Place) -> None:
        """Check codes, each with its system or None, against a value set that is decided in part."""
        verdicts = [shipped().holds(self.value_set, system, code) for system, code in codes]
        if None in verdicts and True not in verdicts:
            document.skip(f"binding {self.value_set}", _NOT_AT_HAND)
        elif codes and True not in verdicts:
            document.add(self.severity, self.rule, place, "no code of the required value set", value=codes[0][1])


@lru_cache(maxsize=2_000)
def _binding(value_set: str, element: str, bare: bool) -> Binding:
    systems = definitions().values.get(value_set)
    codes = frozenset().union(*systems.values()) if systems else None
    status = element in STATUS_ELEMENTS and not bare
    named = ""
    if codes is not None:
        named = ": " + ", ".join(sorted(codes)) if len(codes) <= NAMED_MAX else f" ({len(codes)} codes)"
    rule: tuple[Severity, str] = ("minor", "fhir.bindings.status") if status else ("major", "fhir.bindings.required")
    return Binding(value_set, systems, rule[0], rule[1], codes if bare else None, named)


def binding_to(value_set: str, *, bare: bool, severity: Severity = "major") -> Binding:
    """Return the required binding to a value set. `bare`: the value is a code without a system."""
    binding = _binding(value_set, "", bare)
    return binding if severity == binding.severity else replace(binding, severity=severity)


def binding_of(found: Field) -> Binding | None:
    """Return the required binding of a field, or None."""
    return None if found.binding is None else _binding(found.binding, found.element, found.kind == "primitive")
