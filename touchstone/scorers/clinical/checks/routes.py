"""Routes of administration: a code from a system without routes is a fault; HL7's own route systems are checked as value sets.

SNOMED CT's routes (below 284009009) may not be shipped, and NCI's and EDQM's lists grow: codes of these are not checked.
"""

from __future__ import annotations

from typing import Final

from touchstone.schemas.result import Finding
from touchstone.scorers.clinical.checks.terminology import CVX, ICD10CM, LOINC, NDC, RXNORM, UCUM, code_system
from touchstone.scorers.clinical.report import Context

_WITHOUT_ROUTES: Final = frozenset({CVX.key, ICD10CM.key, LOINC.key, NDC.key, RXNORM.key, UCUM.key})
NOT_CHECKED: Final = ("routes of administration", "which codes of SNOMED CT and of other bodies are routes is in no table that may be shipped")


def check_route(system: object, path: str, context: Context) -> list[Finding]:
    """Report a route coded in a system that has no routes. `system`: a URL, OID or HL7v2 name."""
    known = code_system(system)
    if known is None or known.key not in _WITHOUT_ROUTES:
        return []
    remedy = "Code it in SNOMED CT (below 284009009), HL7's RouteOfAdministration or table 0162"
    return [context.finding("minor", "valuesets.route", path, f"{known.title} has no routes of administration", suggestion=remedy)]
