"""Required bindings: the code must be one of the value set's (R4, terminologies: required)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.checks.languages import VALUE_SET, language_problem
from touchstone.scorers.clinical.formats.fhir.document import Document, Place
from touchstone.scorers.clinical.formats.fhir.tables import Field, definitions

#: Longer lists of codes are not named in messages, only counted.
NAMED_MAX = 24
#: R4 accepts json, xml and ttl for the MIME types of its own formats.
_MIME = re.compile(r"[A-Za-z0-9!#$&^_.+\-]+/[A-Za-z0-9!#$&^_.+\-*]+(\s*;.*)?|json|xml|ttl")
_CURRENCY = re.compile(r"[A-Z]{3}")
#: Value sets whose code systems are not in the tables, with the form of their codes.
_FORMS = {
    "http://hl7.org/fhir/ValueSet/mimetypes": (_MIME, "a MIME type such as text/plain"),
    "http://hl7.org/fhir/ValueSet/currencies": (_CURRENCY, "an ISO 4217 code of three capital letters"),
}
#: The specification rates these as minor, although the bindings are required.
_STATUS_ELEMENTS = frozenset({"clinicalStatus", "verificationStatus"})


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
        """True if codes can be checked, against the list or by their form."""
        return self.codes is not None or self.systems is not None or self.value_set in _FORMS or self.value_set == VALUE_SET

    def check_code(self, document: Document, value: Any, place: Place) -> None:
        """Check the value of an element of type code."""
        if self.value_set == VALUE_SET:
            problem = language_problem(value)
            if problem is not None:
                document.add(problem[0], "fhir.bindings.language", place, problem[1], value=value)
        elif self.codes is None:
            form = _FORMS.get(self.value_set)
            if form is None:
                document.skip(f"binding {self.value_set}", "the code system is not in the tables")
            elif not form[0].fullmatch(value):
                document.add("major", "fhir.bindings.required", place, f"not {form[1]}", value=value)
        elif value not in self.codes:
            document.add(self.severity, self.rule, place, f"not one of the codes of the required value set{self.named}", value=value)

    def check(self, document: Document, value: dict[str, Any], place: Place) -> None:
        """Check a Coding, CodeableConcept or Quantity."""
        if self.value_set == VALUE_SET:
            return  # `codings` checks every language tag that names its system
        if self.systems is None:
            document.skip(f"binding {self.value_set}", "the code system is not in the tables")
            return
        codings = value.get("coding") if "coding" in value else [value]
        if not isinstance(codings, list):
            return
        coded = [one for one in codings if isinstance(one, dict) and isinstance(one.get("code"), str)]
        if any(one["code"] in self.systems.get(str(one.get("system")), ()) for one in coded):
            return
        shown = coded[0]["code"] if coded else None
        document.add(self.severity, self.rule, place, f"no code of the required value set{self.named}", value=shown)


@lru_cache(maxsize=2_000)
def _binding(value_set: str, element: str, bare: bool) -> Binding:
    systems = definitions().values.get(value_set)
    codes = frozenset().union(*systems.values()) if systems else None
    status = element in _STATUS_ELEMENTS and not bare
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
