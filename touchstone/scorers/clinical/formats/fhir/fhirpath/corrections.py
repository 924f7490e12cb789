"""Published expressions that do not say what their own text says, and what they are read as.

FHIRPath gives no answer (an empty collection) where a part is absent, and an invariant without an answer counts as broken. Expressions that were
written as if nothing were true, or false, or as if their focus were another element, would call conformant resources wrong, or never anything. HL7
corrected most of them in later versions; the corrections of US Core are those of its versions 7 and 8.
"""

from __future__ import annotations

import re

_SPACES = re.compile(r"\s+")
#: Bare names joined by `or`: written for "one of these is there".
_BARE_NAMES = re.compile(r"[a-z][A-Za-z]*( or [a-z][A-Za-z]*)+")
_UCUM = "http://unitsofmeasure.org"
_SNOMED = "http://snomed.info/sct"
#: Texts of expressions, spaces folded, and what they are read as.
_READ_AS = {
    # Absent is not broken.
    "probability is decimal implies (probability as decimal) <= 100": "probability.empty() or (probability is decimal implies (probability as decimal) <= 100)",
    "name.matches('[A-Z]([A-Za-z0-9_]){0,254}')": "name.empty() or name.matches('[A-Z]([A-Za-z0-9_]){0,254}')",
    # A Period or Timing has no length; it was meant for dates only.
    "($this as dateTime).toString().length() >= 8": "$this is dateTime implies $this.toString().length() >= 8",
    # Stated on value[x] itself, where there is no element of this name below.
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
    # "SHOULD have a translation to NDC": the expression asked for its absence.
    "vaccineCode.coding.where(system='http://hl7.org/fhir/sid/ndc').empty()": (
        "vaccineCode.coding.where(system='http://hl7.org/fhir/sid/cvx').exists() implies vaccineCode.coding.where(system='http://hl7.org/fhir/sid/ndc').exists()"
    ),
    "coding.where(system='http://hl7.org/fhir/sid/ndc').empty()": (
        "coding.where(system='http://hl7.org/fhir/sid/cvx').exists() implies coding.where(system='http://hl7.org/fhir/sid/ndc').exists()"
    ),
    # Stated on the element that it asks for: it can never be broken.
    "(($this.agent.who.resolve() is Practitioner) or ($this.agent.who.resolve() is Device)) implies exists()": "true",
}


def repaired(expression: str) -> str:
    """Return what an expression is read as: itself, but for the known slips."""
    text = _SPACES.sub(" ", expression).strip()
    if _BARE_NAMES.fullmatch(text):
        return " or ".join(f"{name}.exists()" for name in text.split(" or "))
    return _READ_AS.get(text, expression)
