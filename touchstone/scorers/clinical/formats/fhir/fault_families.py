"""Findings of several rules that may report the same fault."""

from __future__ import annotations

#: Codes outside the value set of an element, a profile or the specification, and codes that their code system does not have.
CODES = frozenset({
    "fhir.bindings.required", "fhir.bindings.status", "fhir.bindings.us-core", "fhir.codings.case", "fhir.codings.unknown", "fhir.codings.written",
    "fhir.profiles.binding", "fhir.profiles.binding-extensible", "valuesets.code",
})  # fmt: skip
NPIS = frozenset({"fhir.invariants.us-core-16", "fhir.invariants.us-core-17", "identifiers.npi-form", "identifiers.npi-check-digit"})
ABSENT = frozenset({"fhir.structure.missing", "fhir.profiles.missing"})
#: A missing slice includes its missing element.
MISSING, SLICE_MISSING = "fhir.profiles.missing", "fhir.profiles.slice-missing"
#: Families of findings about one fault: at the same place or, if True, also below it.
FAMILIES = ((CODES, True), (NPIS, True), (ABSENT, False))
#: Invariant → the member that it requires: a profile that requires the member too reports the same fault.
REQUIRES = {"fhir.invariants.cpt-2": "system", "fhir.invariants.qty-3": "system"}
#: Several profiles of a resource may require the same.
PROFILES, INVARIANTS = "fhir.profiles.", "fhir.invariants."
#: Prefixes of the codes that may repeat another finding.
SHARED_FAULTS = (PROFILES, INVARIANTS, *sorted(CODES | NPIS | ABSENT))
