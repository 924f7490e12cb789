"""To which group an observation belongs: vital signs, laboratory results, or anything else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from touchstone.scorers.clinical.checks.parameters import find_parameter, property_of
from touchstone.scorers.clinical.checks.terminology import LOINC
from touchstone.scorers.clinical.consistency.record import Code, Group

#: US Core's vital signs, and what they are made of.
VITALS: Final = frozenset(
    [
        "8867-4",
        "9279-1",
        "8310-5",
        "8302-2",
        "8306-3",
        "8287-5",
        "9843-4",
        "29463-7",
        "3141-9",
        "39156-5",
        "85354-9",
        "8480-6",
        "8462-4",
        "2708-6",
        "59408-5",
        "8478-0",
        "3140-1",
        "3151-8",
        "3150-6",
    ]
)


def group_of(codes: Iterable[Code], told: Group | None = None) -> Group:
    """The group of an observation: by its LOINC code where that is a vital sign's, else as the document says, else by what the tables know."""
    loincs = [code.code for code in codes if code.system == LOINC.key]
    if any(code in VITALS for code in loincs):
        return "vital"
    known = any(property_of(code) is not None for code in loincs)
    return told if told is not None and not (known and told == "other") else "lab" if known else "other"


def loinc_of(codes: Iterable[Code]) -> str | None:
    """The first LOINC code."""
    return next((code.code for code in codes if code.system == LOINC.key), None)


def parameters_of(codes: Iterable[Code]) -> frozenset[str]:
    """The parameters that LOINC codes measure: body weight has four codes, and a saturation by pulse oximetry two."""
    found = (find_parameter(code.code) for code in codes if code.system == LOINC.key)
    return frozenset(parameter.key for parameter in found if parameter is not None)
