"""Groups of observations: vital signs, laboratory results, or others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from touchstone.scorers.clinical.checks.parameters import find_parameter, property_of
from touchstone.scorers.clinical.checks.terminology import LOINC
from touchstone.scorers.clinical.consistency.record import Code, Group

#: US Core's vital signs and their components.
_VITALS_TEXT: Final = """
8867-4 9279-1 8310-5 8302-2 8306-3 8287-5 9843-4 29463-7 3141-9 39156-5
85354-9 8480-6 8462-4 2708-6 59408-5 8478-0 3140-1 3151-8 3150-6
"""
VITALS: Final = frozenset(_VITALS_TEXT.split())


def group_of(codes: Iterable[Code], named: Group | None = None) -> Group:
    """The group of an observation: `vital` by its LOINC code, else the group that the document names, else by the tables."""
    loincs = [code.code for code in codes if code.system == LOINC.key]
    if any(code in VITALS for code in loincs):
        return "vital"
    known = any(property_of(code) is not None for code in loincs)
    return named if named is not None and not (known and named == "other") else "lab" if known else "other"


def loinc_of(codes: Iterable[Code]) -> str | None:
    """The first LOINC code."""
    return next((code.code for code in codes if code.system == LOINC.key), None)


def parameters_of(codes: Iterable[Code]) -> frozenset[str]:
    """The parameters that LOINC codes measure: body weight has four codes, oxygen saturation two."""
    found = (find_parameter(code.code) for code in codes if code.system == LOINC.key)
    return frozenset(parameter.key for parameter in found if parameter is not None)
