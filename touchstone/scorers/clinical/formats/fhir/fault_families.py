"""Findings by which several rules tell of the same fault."""

from __future__ import annotations

#: Codes outside the element's value set, the profile's, the specification's, and of their code system.
CODES = frozenset({
    "fhir.bindings.required", "fhir.bindings.status", "fhir.bindings.us-core", "fhir.codings.case", "fhir.codings.unknown", "fhir.profiles.binding",
    "fhir.profiles.binding-extensible", "valuesets.code",
})  # fmt: skip
NPIS = frozenset({"fhir.invariants.us-core-16", "fhir.invariants.us-core-17", "identifiers.npi-form", "identifiers.npi-check-digit"})
ABSENT = frozenset({"fhir.structure.missing", "fhir.profiles.missing"})
#: A slice that is missing says all that a missing element says.
MISSING, SLICE_MISSING = "fhir.profiles.missing", "fhir.profiles.slice-missing"
#: Findings of one fault: where one stands at the place of the other, or (True) also below it.
FAMILIES = ((CODES, True), (NPIS, True), (ABSENT, False))
#: Several profiles of a resource may ask for the same.
PROFILES, INVARIANTS = "fhir.profiles.", "fhir.invariants."
#: How codes of findings begin that may be another's double.
DOUBLED = (PROFILES, INVARIANTS, *sorted(CODES | NPIS | ABSENT))
