"""Corrections of published expressions that contradict their own description.

If a part is absent, FHIRPath's result is empty, and an invariant with an empty result counts as broken. Some expressions treat an absent part as true
or false, or assume another focus, and so would reject conformant resources, or nothing. HL7 corrected most of them in later versions; the corrections
of US Core are those of its versions 7 and 8.
"""

from __future__ import annotations

import re

_SPACES = re.compile(r"\s+")
#: Bare names joined by `or`, meant as "one of these is present".
_BARE_NAMES = re.compile(r"[a-z][A-Za-z]*( or [a-z][A-Za-z]*)+")
_UCUM = "http://unitsofmeasure.org"
_SNOMED = "http://snomed.info/sct"
#: R4's eld-19 and eld-20 mean the whole path, as engines did when R4 was published; since then, a pattern without ^ and $ fits a part.
_WHOLE_PATHS = ("path.matches('[^", "path.matches('[A-Za-z]")
#: Published expression, with single spaces → correction.
_CORRECTIONS = {
    # Absent is not broken.
    "probability is decimal implies (probability as decimal) <= 100": "probability.empty() or (probability is decimal implies (probability as decimal) <= 100)",
    "name.matches('[A-Z]([A-Za-z0-9_]){0,254}')": "name.empty() or name.matchesFull('[A-Z]([A-Za-z0-9_]){0,254}')",
    # Meant for dates only: a Period or Timing has no length.
    "($this as dateTime).toString().length() >= 8": "$this is dateTime implies $this.toString().length() >= 8",
    # Stated on value[x] itself, which has no such child.
    f"valueQuantity.system.empty() or valueQuantity.system = '{_UCUM}'": f"system.empty() or system = '{_UCUM}'",
    f"value.ofType(Quantity).system.empty() or value.ofType(Quantity).system = '{_UCUM}'": (
        f"(value.ofType(Quantity) | ofType(Quantity)).all(system.empty() or system = '{_UCUM}')"
    ),
    f"valueCodeableConcept.coding.system.empty() or valueCodeableConcept.coding.system = '{_SNOMED}'": (
        f"coding.system.empty() or coding.system contains '{_SNOMED}'"
    ),
    f"value.ofType(CodeableConcept).coding.system.empty() or value.ofType(CodeableConcept).coding.system = '{_SNOMED}'": (
        f"ofType(CodeableConcept).coding.system.empty() or ofType(CodeableConcept).coding.system contains '{_SNOMED}'"
    ),
    # "SHOULD have a translation to NDC": the expression requires its absence.
    "vaccineCode.coding.where(system='http://hl7.org/fhir/sid/ndc').empty()": (
        "vaccineCode.coding.where(system='http://hl7.org/fhir/sid/cvx').exists() implies vaccineCode.coding.where(system='http://hl7.org/fhir/sid/ndc').exists()"
    ),
    "coding.where(system='http://hl7.org/fhir/sid/ndc').empty()": (
        "coding.where(system='http://hl7.org/fhir/sid/cvx').exists() implies coding.where(system='http://hl7.org/fhir/sid/ndc').exists()"
    ),
    # Stated on the element that it requires, so it can never be broken.
    "(($this.agent.who.resolve() is Practitioner) or ($this.agent.who.resolve() is Device)) implies exists()": "true",
}


def corrected(expression: str) -> str:
    """Return an expression with known errors corrected."""
    text = _SPACES.sub(" ", expression).strip()
    if _BARE_NAMES.fullmatch(text):
        return " or ".join(f"{name}.exists()" for name in text.split(" or "))
    if text.startswith(_WHOLE_PATHS):
        return expression.replace("path.matches(", "path.matchesFull(", 1)
    return _CORRECTIONS.get(text, expression)
